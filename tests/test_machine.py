"""Cores and control groups, read from made-up system files; and pinning, seen by a process that was really pinned."""

import os
import subprocess
import sys

import pytest

from polarbear import machine

PINNING = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="this system lets no process choose its cores"
)
TWO_CORES = pytest.mark.skipif(
    len(getattr(os, "sched_getaffinity", lambda _: ())(0)) < 2, reason="this process may use one core only"
)


def files(root, contents):
    for path, content in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return root


CGROUPS = {
    "nothing known": ({}, None),
    "version 2, in a container": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
    "version 2, without a limit": ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
    "version 2, a limit further up is smaller": (
        {
            "proc/self/cgroup": "0::/system.slice/job-7/step\n",
            "sys/fs/cgroup/system.slice/job-7/step/cpu.max": "max 100000\n",
            "sys/fs/cgroup/system.slice/job-7/cpu.max": "200000 50000\n",
            "sys/fs/cgroup/system.slice/cpu.max": "300000 100000\n",
            "sys/fs/cgroup/other/cpu.max": "10000 100000\n",
        },
        3.0,
    ),
    "version 1": (
        {
            "proc/self/cgroup": "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/elsewhere\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "250000\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/memory/docker/abc/cpu.cfs_quota_us": "100\n",
            "sys/fs/cgroup/memory/docker/abc/cpu.cfs_period_us": "100000\n",
        },
        2.5,
    ),
    "version 1, in a container, where the path is that of the host": (
        {
            "proc/self/cgroup": "4:cpu:/docker/abc\n",
            "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        },
        0.5,
    ),
    "nonsense": ({"proc/self/cgroup": "0::/\nwhat\n\n", "sys/fs/cgroup/cpu.max": "many\n"}, None),
}


@pytest.mark.parametrize("case", CGROUPS)
def test_the_quota_of_control_groups_is_read(tmp_path, case):
    contents, quota = CGROUPS[case]
    assert machine.cpu_quota(files(tmp_path, contents)) == quota


@pytest.mark.parametrize(("quota", "cores"), [("max", 6), ("800000", 6), ("350000", 3), ("100000", 1), ("20000", 1)])
def test_cores_are_those_allowed_or_paid_for(tmp_path, monkeypatch, quota, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {2, 3, 4, 5, 8, 9}, raising=False)
    root = files(tmp_path, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": f"{quota} 100000\n"})
    assert machine.cores(root) == cores


def test_cores_without_affinity_are_those_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert machine.cores(tmp_path) == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.cores(tmp_path) == 1


@PINNING
def test_the_cores_of_this_process_are_those_the_system_tells():
    assert 1 <= machine.cores() <= len(os.sched_getaffinity(0))


def test_second_threads_of_cores_come_last(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 6}, raising=False)
    siblings = {0: "0,2", 2: "0,2", 1: "1,3", 3: "1,3", 6: "6-7"}
    monkeypatch.setattr(machine, "_read", lambda path: siblings[int(path.parts[-3].removeprefix("cpu"))] + "\n")
    assert list(machine._in_turn()) == [0, 1, 6, 2, 3]


IN_A_PROCESS = """
import os, threading
from polarbear import machine
core = sorted(os.sched_getaffinity(0))[{worker}]
assert machine.pin(core)
seen = []
thread = threading.Thread(target=lambda: seen.append(os.sched_getaffinity(0)))
thread.start(); thread.join()
child = os.fork()
if child == 0:
    os._exit(0 if os.sched_getaffinity(0) == {{core}} else 1)
assert os.waitpid(child, 0)[1] == 0
assert seen == [{{core}}] and machine.cores() == 1
print(core, *os.sched_getaffinity(0))
"""


@PINNING
@TWO_CORES
def test_a_pinned_process_runs_on_its_core_alone_with_its_threads_and_children():
    before = os.sched_getaffinity(0)
    found = []
    for worker in range(2):
        done = subprocess.run(
            [sys.executable, "-c", IN_A_PROCESS.format(worker=worker)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        core, *allowed = map(int, done.stdout.split())
        assert allowed == [core]
        found.append(core)
    assert len(set(found)) == 2
    assert set(found) <= before
    assert os.sched_getaffinity(0) == before


TAKES = """
import os, sys
from polarbear import machine
lock, why = machine.take_core()
print(*sorted(os.sched_getaffinity(0)), why and f"({why})", flush=True)
sys.stdin.read()
"""


@PINNING
def test_each_process_takes_a_core_of_its_own_and_frees_it_however_it_ends(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    cores, processes = sorted(map(str, os.sched_getaffinity(0)), key=int)[: machine.cores()], []

    def take():
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        processes.append(subprocess.Popen([sys.executable, "-c", TAKES], text=True, **pipes))
        return processes[-1].stdout.readline().strip()

    try:
        taken = [take() for _ in cores]
        assert sorted(taken, key=int) == cores
        held = "the only core" if len(cores) == 1 else f"all {len(cores)} cores"
        assert take().endswith(f"(other runs occupy {held})")
        processes[0].kill()
        processes[0].wait()
        assert take() == taken[0]
    finally:
        for process in processes:
            process.communicate()


@PINNING
def test_a_core_that_cannot_be_locked_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(machine.tempfile, "gettempdir", lambda: str(tmp_path / "file" / "folder"))
    lock, why = machine.take_core()
    assert lock is None
    assert why.startswith("no core could be reserved for a run (")


@PINNING
def test_a_core_that_is_not_there_pins_nothing():
    before = os.sched_getaffinity(0)
    assert not machine.pin(100_000)
    assert os.sched_getaffinity(0) == before


def test_where_processes_cannot_choose_their_cores_nothing_is_pinned(monkeypatch):
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    assert not machine.pin(0)


@pytest.mark.parametrize(
    ("workers", "load", "said"),
    [
        (4, 0.0, None),
        (2, 2.4, None),
        (4, 0.5, None),
        (5, 0.0, "5 workers share 4 cores: .* use at most 4"),
        (4, 1.2, r"other programs keep about 1\.2 of the machine's 4 cores busy .* leaves 3 for 4 workers.*at most 3$"),
        (1, 6.0, r"leaves none for 1 worker: .* wait for them to end$"),
        (4, None, None),
    ],
)
def test_too_many_workers_and_a_busy_machine_are_told(tmp_path, monkeypatch, workers, load, said):
    def loads():
        if load is None:
            raise OSError
        return load, 9.0, 9.0

    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "getloadavg", loads, raising=False)
    found = machine.oversubscription(workers, root=tmp_path)
    if said is None:
        assert found is None
    else:
        with pytest.raises(AssertionError, match=said):
            raise AssertionError(found)

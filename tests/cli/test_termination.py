"""SIGTERM, as clusters send it when time is up, and locks that killed writers leave."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from polarbear import store
from polarbear.cli.termination import Terminated, terminable
from polarbear.experiment import WorkerPool
from polarbear.store import contents
from polarbear.store.atomic import critical_section
from tests.cli.commands import polarbear, start
from tests.cli.test_cli import OWN, SMALL
from tests.cli.test_plans import PLAN
from tests.store.test_faults import HERE

SLOW = PLAN.replace("repetitions = 3", "repetitions = 2").replace("entrants:descend", "entrants:dawdle")
WRITER = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("store_runs", sys.argv[2])
runs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runs)
import polars
from polarbear import store
from polarbear.cli.termination import terminable
from polarbear.store import contents as contents_module
contents_module.MANY = 6

def opened(path):
    if store.exists(path):
        return store.open(path, write=True, commit_seconds=600)
    return store.create(path, {"a": 1}, commit_seconds=600)

with terminable(), opened(sys.argv[1]) as study:
    print("up", flush=True)
    seed = len(study.keys())
    while True:
        for _ in range(seed % 3 + 1):
            study.append(runs.make_run(seed, size=seed % 50))
            print("appended", seed, flush=True)
            seed += 1
        study.commit()
        if seed % 5 == 0:
            study.append_round({"runs": seed})
"""


def terminate_a_writer(path, rng, *, twice):
    """Let a process write for a random while, end it by SIGTERM, and return how many runs it says were appended."""
    command = [sys.executable, "-c", WRITER, str(path), HERE / "conftest.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        overdue = threading.Timer(60, writer.kill)
        overdue.start()
        assert writer.stdout.readline() == "up\n"
        first = writer.stdout.readline()
        time.sleep(rng.exponential(0.03))
        writer.send_signal(signal.SIGTERM)
        if twice:
            time.sleep(rng.exponential(0.002))
            writer.send_signal(signal.SIGTERM)
        rest, err = writer.stdout.read(), writer.stderr.read()  # `communicate` loses what `readline` has read ahead
        overdue.cancel()
    assert (writer.returncode, err) == (143, "")
    return max(map(int, re.findall(r"^appended (\d+)$", first + rest, re.MULTILINE))) + 1  # a line may be torn


def check_terminations(path, times):
    rng, appended = np.random.default_rng(5), 0
    for number in range(times):
        appended = max(appended, terminate_a_writer(path, rng, twice=bool(number % 2)))
        assert not (path / "lock.json").exists()
        with store.open(path) as study:
            assert study.damaged == ()
            found = study.keys()
            assert [key.seed for key in found] == list(range(len(found)))
            assert appended <= len(found) <= appended + 1
            assert all(each["runs"] <= len(found) for each in study.rounds())


@pytest.mark.slow
def test_a_writer_that_unwinds_on_sigterm_keeps_all_it_appended_and_leaves_no_lock(tmp_path):
    check_terminations(tmp_path / "study", times=200)


@pytest.mark.parametrize("times", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_so_does_one_elsewhere(bucket, times):
    check_terminations(store.place(f"{bucket}/{time.time_ns()}.study"), times)


def begun(path, *command, **options):
    """A command that has committed a run."""
    process = start(*command, **options)
    deadline = time.monotonic() + 60
    while not (store.exists(path) and list((path / "runs").glob("*.parquet"))):
        assert time.monotonic() < deadline, "no run was committed"
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("command", [("run", "plan.toml"), ("race", "race.toml")])
def test_sigterm_ends_a_command_as_ctrl_c_does_with_its_own_code(tmp_path, command):
    (tmp_path / "plan.toml").write_text(SLOW)
    (tmp_path / "race.toml").write_text(SMALL.replace("entrants:crawl", "entrants:dawdle"))
    path = tmp_path / "a.study"
    process = begun(path, *command, "--into", "a.study", "--workers", 2, cwd=tmp_path)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 143
    assert "ended by SIGTERM; every" in err
    assert "is kept. Continue with: polarbear r" in err
    assert "Traceback" not in err
    assert not (path / "lock.json").exists()
    assert all(run.outcome.ok for run in store.read(path))
    if command[0] == "run":
        told = json.loads(polarbear("resume", path, *OWN, "--seconds", 0.001, "--json", cwd=tmp_path)[0])
        assert (told["finished"], told["ran"], told["runs"]) == (False, 0, len(store.read(path)))


@pytest.mark.slow
def test_a_study_elsewhere_is_gone_on_with_after_sigterm_and_after_a_kill_by_taking_over(tmp_path, bucket):
    (tmp_path / "plan.toml").write_text(SLOW)
    path = store.place(f"{bucket}/{time.time_ns()}.study")
    process = begun(path, "run", "plan.toml", "--into", path, cwd=tmp_path)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    process = start("resume", path, *OWN, cwd=tmp_path)
    while not (path / "lock.json").exists():
        assert process.poll() is None
        time.sleep(0.02)
    assert "--take-over" not in polarbear("resume", path, *OWN, "--take-over", code=3)[1].replace(
        "is being written", ""
    )
    process.kill()
    process.communicate(timeout=60)
    for command in (("resume", path, *OWN), ("run", "plan.toml", "--into", path)):
        _, err = polarbear(*command, "--seconds", 0.001, code=3, cwd=tmp_path)
        assert f"process {process.pid} " in err
        assert "which is no longer running. If it has ended, take the lock over (--take-over on the command line" in err
    polarbear("run", "plan.toml", "--into", path, "--seconds", 0.001, "--take-over", cwd=tmp_path)
    polarbear("resume", path, *OWN, "--seconds", 0.001, cwd=tmp_path)


def test_a_race_takes_a_lock_over_where_it_may_and_not_from_recorded_runs(tmp_path, bucket):
    (tmp_path / "race.toml").write_text(SMALL)
    path = store.place(f"{bucket}/{time.time_ns()}.study")
    holder = {"pid": 1, "host": "gone", "user": "ada", "since": "", "renewed": "2026-01-01T00:00:00+00:00"}
    (path / "lock.json").write_bytes(json.dumps(holder).encode())
    command = ("race", "race.toml", "--into", path, "--seconds", 0.001)
    assert "--take-over" in polarbear(*command, code=3, cwd=tmp_path)[1]
    polarbear(*command, "--take-over", cwd=tmp_path)
    assert "cannot be used with --from" in polarbear("race", "--from", path, "--take-over", code=2)[1]


@pytest.fixture
def usual():
    """SIGTERM as it is for new processes."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def test_worker_processes_and_forked_ones_are_ended_by_sigterm_as_ever(usual):
    with terminable():
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        with WorkerPool(1) as pool:
            assert pool.submit(signal.getsignal, signal.SIGTERM).result() is signal.SIG_DFL
        child = os.fork()
        if not child:
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(10)
            finally:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_second_sigterm_does_not_keep_the_first_from_unwinding(usual):
    unwound = []

    def terminated():
        with terminable():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(10)
            except Terminated:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.01)
                unwound.append(True)
                raise

    with pytest.raises(SystemExit) as ended:
        terminated()
    assert unwound
    assert ended.value.code == 143


def test_sigterm_waits_for_the_end_of_a_commit(usual, tmp_path, monkeypatch):
    write, study = contents.write_atomically, store.create(tmp_path / "study", {})

    def slowly(path, data):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.2)
        write(path, data)

    def terminated():
        with terminable(), study:
            study.append_round({"number": 1})
            time.sleep(10)

    monkeypatch.setattr(contents, "write_atomically", slowly)
    with pytest.raises(SystemExit) as ended:
        terminated()
    assert ended.value.code == 143
    assert store.open(tmp_path / "study").rounds() == [{"number": 1}]


def test_sigterm_that_is_ignored_stays_ignored(usual):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with terminable():
        os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN


class Deaf:
    """Python ignores what its end raises."""

    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_sigterm_that_was_ignored_may_come_again(usual):
    def terminated():
        with terminable():
            Deaf()
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)

    with pytest.raises(SystemExit) as ended:
        terminated()
    assert ended.value.code == 143


def test_sigterm_does_not_wait_for_commits_of_other_threads(usual):
    release, begun = threading.Event(), threading.Event()

    def commit():
        with critical_section():
            begun.set()
            release.wait(10)

    def terminated():
        with terminable():
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)

    committing = threading.Thread(target=commit)
    committing.start()
    begun.wait(10)
    try:
        with pytest.raises(SystemExit) as ended:
            terminated()
    finally:
        release.set()
        committing.join()
    assert ended.value.code == 143

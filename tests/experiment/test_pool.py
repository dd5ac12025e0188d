"""The worker pool under real faults: killed, hanging, forking and printing workers."""

import atexit
import ctypes
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import deque
from concurrent.futures import CancelledError, as_completed, wait
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import ExitStack
from itertools import repeat
from pathlib import Path

import cloudpickle
import pytest

from polarbear.experiment import WorkerDied, WorkerPool, WorkersUnavailable, WorkerTimedOut, worker
from polarbear.machine import OversubscriptionWarning

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def worker_id():
    return os.getpid()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"  # a zombie is dead


def gone(pid, within=10.0):
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not alive(pid):
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def pool():
    with WorkerPool(2) as pool:
        yield pool


def test_results_come_in_order_of_map_from_lambdas_and_closures(pool):
    factor = 3
    assert list(pool.map(lambda x: factor * x, range(300))) == [3 * x for x in range(300)]


def test_large_calls_and_results_pass_whole(pool):
    data = os.urandom(5_000_000)
    futures = [pool.submit(lambda d: d[::-1], data) for _ in range(4)]
    assert all(future.result() == data[::-1] for future in futures)


def affinity(seconds=0.0):
    time.sleep(seconds)
    return os.sched_getaffinity(0)


def test_pinned_workers_keep_to_cores_of_their_own(pool, all_cores):
    with WorkerPool(len(all_cores), pinned=True) as pinned:
        found = [call.result() for call in [pinned.submit(affinity, 0.5) for _ in all_cores]]
        assert not pinned.crowded
    assert sorted(found, key=min) == [{core} for core in all_cores]
    assert pool.submit(affinity).result() == affinity()


def test_pinned_workers_of_several_pools_share_no_core_and_free_it_however_they_end(all_cores):
    with ExitStack() as stack:
        pools = [stack.enter_context(WorkerPool(1, pinned=True)) for _ in all_cores]
        taken = [each.submit(affinity).result() for each in pools]
        assert sorted(taken, key=min) == [{core} for core in all_cores]
        with pytest.raises(WorkerDied):
            pools[0].submit(lambda: os.kill(os.getpid(), signal.SIGKILL)).result()
        assert pools[0].submit(affinity).result() == taken[0]
        pools[-1].shutdown()
        with WorkerPool(1, pinned=True) as late:
            assert late.submit(affinity).result() == taken[-1]


def test_a_pinned_worker_that_finds_no_free_core_is_warned_of_once(all_cores):
    workers = len(all_cores) + 1
    with WorkerPool(workers, pinned=True) as crowded:
        found = [call.result() for call in [crowded.submit(affinity, 1.0) for _ in range(workers)]]
        assert affinity() in found
        assert all({core} in found for core in all_cores)
        with pytest.warns(OversubscriptionWarning, match="^other runs occupy .* core.*wait for the others"):
            crowded.warn_if_crowded()
        crowded.warn_if_crowded()  # it is said once


def test_it_is_an_executor(pool):
    futures = [pool.submit(time.sleep, 0.001) for _ in range(20)]
    assert set(as_completed(futures)) == set(futures)
    assert not wait(futures).not_done
    with pytest.raises(FutureTimeout):
        pool.submit(time.sleep, 0.5).result(timeout=0.01)


def test_an_exception_comes_back_with_the_workers_traceback(pool):
    def inner():
        raise LookupError("not there")

    with pytest.raises(LookupError, match="not there") as caught:
        pool.submit(inner).result()
    assert "in inner" in str(caught.value.__cause__)


class Picky(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def raise_picky():
    raise Picky(1, 2)


def test_what_cannot_be_pickled_fails_its_own_call_alone(pool):
    lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot pickle"):
        pool.submit(lambda: lock).result()  # cannot go
    with pytest.raises(TypeError, match="cannot pickle"):
        pool.submit(threading.Lock).result()  # cannot come back
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        pool.submit(raise_picky).result()  # cannot be made anew here
    assert pool.submit(abs, -1).result() == 1


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_even_system_exit_is_the_calls_own(pool, error):
    def leave():
        raise error

    with pytest.raises(type(error)):
        pool.submit(leave).result()
    assert pool.submit(abs, -1).result() == 1


def test_what_workers_print_cannot_mix_with_answers(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import os, subprocess, sys
        from polarbear.experiment import WorkerPool

        def loud(i):
            print(f"printed {i}")
            os.write(1, b"raw\\n")
            subprocess.run(["echo", "from a child"], check=True)
            return sys.stdin.read(), i

        with WorkerPool(2) as pool:  # no __main__ guard
            print(list(pool.map(loud, range(3))))
        """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[('', 0), ('', 1), ('', 2)]\n"
    for line in ("printed 2", "raw", "from a child"):
        assert line in done.stderr


def test_workers_have_one_thread_and_the_drivers_path(pool, monkeypatch):
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "POLARS_MAX_THREADS")
    monkeypatch.setattr(sys, "path", [*sys.path, "/somewhere/of/mine"])
    assert pool.submit(lambda: {os.environ[name] for name in names}).result() == {"1"}
    assert pool.submit(lambda: "/somewhere/of/mine" in sys.path).result()


def test_workers_start_when_needed(pool):
    first = pool.submit(worker_id).result()
    time.sleep(0.1)
    assert pool.submit(worker_id).result() == first
    assert len(set(pool.map(lambda _: (time.sleep(0.3), os.getpid())[1], range(20)))) == 2


@pytest.mark.parametrize(
    ("die", "how"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was killed by SIGKILL"),
        (lambda: os._exit(7), "exited with code 7"),
        (lambda: os.abort(), "was killed by SIGABRT"),
        (lambda: ctypes.string_at(0), "was killed by SIGSEGV"),
    ],
)
def test_a_dying_worker_takes_its_own_call_alone(pool, die, how):
    futures = [pool.submit(die if i == 10 else abs, *([] if i == 10 else [-i])) for i in range(40)]
    for i, future in enumerate(futures):
        if i == 10:
            with pytest.raises(WorkerDied, match=how):
                future.result()
        else:
            assert future.result() == i


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whether a process is about to end")
def test_a_worker_whose_code_closes_its_pipes_is_not_taken_for_killed(pool):
    with pytest.raises(WorkerDied, match="closed its connection"):
        pool.submit(lambda: (os.closerange(3, 50), time.sleep(60))).result(30)
    assert pool.submit(abs, -1).result() == 1


def answer_half(then):
    """Write half of the answer to this call, and then something else."""

    def half(pipe, payload):
        pipe.write(worker.LENGTH.pack(len(payload)) + payload[: len(payload) // 2])
        then()

    worker._write_frame = half
    return bytes(30_000)


def test_a_worker_killed_in_the_midst_of_an_answer_takes_its_own_call_alone(pool):
    futures = [pool.submit(abs, -i) for i in range(20)]
    killed = pool.submit(answer_half, lambda: os.kill(os.getpid(), signal.SIGKILL))
    futures += [pool.submit(abs, -i) for i in range(20, 40)]
    with pytest.raises(WorkerDied, match="was killed by SIGKILL"):
        killed.result(timeout=30)
    assert [future.result(timeout=30) for future in futures] == list(range(40))


def test_a_worker_that_stops_in_the_midst_of_an_answer_is_killed_at_the_time_limit():
    with WorkerPool(1, timeout=0.3, grace=0.2) as pool:
        with pytest.raises(WorkerTimedOut, match=r"not done after 0\.5 s"):
            pool.submit(answer_half, lambda: time.sleep(600)).result(timeout=30)
        assert pool.submit(abs, -1).result(timeout=30) == 1


def test_many_dying_workers_are_replaced(pool):
    futures = [pool.submit(os._exit, 1) if i % 5 == 0 else pool.submit(abs, i) for i in range(50)]
    assert [i for i, future in enumerate(futures) if future.exception()] == list(range(0, 50, 5))


def test_killing_an_idle_worker_is_noticed_and_mended(pool):
    os.kill(pool.submit(worker_id).result(), signal.SIGKILL)
    time.sleep(0.3)
    assert pool.submit(abs, -1).result() == 1


def c_level_hang():
    """Holds the interpreter in C for ever: no signal handler of Python's can run."""
    deque(repeat(0), maxlen=0)


def test_a_hang_in_c_loses_its_worker_at_the_time_limit():
    with WorkerPool(2, timeout=0.3, grace=0.2) as pool:
        begun = time.monotonic()
        hanging, fine = pool.submit(c_level_hang), [pool.submit(abs, -i) for i in range(50)]
        assert [future.result() for future in fine] == list(range(50))
        with pytest.raises(WorkerTimedOut, match=r"not done after 0\.5 s"):
            hanging.result()
        assert 0.5 <= time.monotonic() - begun < 10
        assert pool.submit(abs, -1).result() == 1


def test_waiting_for_a_worker_does_not_count_for_the_time_limit():
    with WorkerPool(1, timeout=0.5, grace=0.1) as pool:
        futures = [pool.submit(time.sleep, 0.2) for _ in range(6)]
        assert [future.exception() for future in futures] == [None] * 6


def fork_and_both_return():
    os.fork()
    return "done"


def fork_and_linger():
    if os.fork() == 0:
        time.sleep(600)
    return os.getpid()


def spawn_child():
    return subprocess.Popen(["sleep", "600"]).pid


def test_a_forked_child_answers_nothing(pool):
    assert [pool.submit(fork_and_both_return).result() for _ in range(5)] == ["done"] * 5
    assert list(pool.map(abs, range(100))) == list(range(100))


def test_a_forked_child_does_not_hide_the_workers_death(pool):
    pid = pool.submit(fork_and_linger).result()
    future = pool.submit(lambda: os.kill(pid, signal.SIGKILL) if os.getpid() == pid else time.sleep(2))
    other = pool.submit(lambda: os.kill(pid, signal.SIGKILL) if os.getpid() == pid else time.sleep(2))
    wait([future, other], timeout=30)
    assert future.done()
    assert other.done()


def test_children_of_workers_end_with_them():
    with WorkerPool(1) as pool:
        child = pool.submit(spawn_child).result()
        assert alive(child)
    assert gone(child)


def test_killing_calls_is_quick_and_leaves_the_pool_usable(pool):
    begun = time.monotonic()
    futures = [pool.submit(time.sleep, 600) for _ in range(5)]
    time.sleep(0.5)
    pool.kill(futures[:4])
    for future in futures[:4]:
        with pytest.raises((WorkerDied, CancelledError)):
            future.result(timeout=10)
    assert not futures[4].done()
    pool.kill()
    assert time.monotonic() - begun < 10
    assert pool.submit(abs, -1).result(timeout=10) == 1


def test_a_queued_call_can_be_cancelled():
    with WorkerPool(1) as pool:
        first, second, third = pool.submit(time.sleep, 0.3), pool.submit(time.sleep, 600), pool.submit(abs, -1)
        assert second.cancel()
        assert third.result(timeout=10) == 1
        assert first.result() is None


def test_shutdown_finishes_what_was_accepted_and_accepts_no_more():
    pool = WorkerPool(2)
    futures = [pool.submit(abs, -i) for i in range(200)]
    pool.shutdown()
    assert [future.result(timeout=0) for future in futures] == list(range(200))
    with pytest.raises(RuntimeError, match="shut down"):
        pool.submit(abs, 1)
    pool.shutdown()


def test_shutdown_can_cancel_what_has_not_begun():
    pool = WorkerPool(1)
    futures = [pool.submit(time.sleep, 0.3) for _ in range(50)]
    while not futures[0].running():
        time.sleep(0.01)
    begun = time.monotonic()
    pool.shutdown(cancel_futures=True)
    assert time.monotonic() - begun < 10
    assert all(future.done() for future in futures)
    assert futures[-1].cancelled()
    assert not futures[0].cancelled()


def test_ctrl_c_inside_the_context_does_not_wait_for_running_calls():
    begun = time.monotonic()
    futures = []

    def interrupted():
        with WorkerPool(2) as pool:
            futures.extend(pool.submit(time.sleep, 600) for _ in range(10))
            time.sleep(0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - begun < 10
    assert all(future.done() for future in futures)


def test_nothing_is_left_after_shutdown():
    threads, descriptors = set(threading.enumerate()), len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(3):
        with WorkerPool(2) as pool:
            pids = set(pool.map(lambda _: (time.sleep(0.05), os.getpid())[1], range(8)))
            pool.submit(os._exit, 1).exception()
        assert all(gone(pid) for pid in pids)
    assert set(threading.enumerate()) <= threads
    assert len(os.listdir("/proc/self/fd")) <= descriptors  # noqa: PTH208


def test_a_pool_that_is_dropped_ends_its_workers():
    threads = set(threading.enumerate())
    pool = WorkerPool(1)
    pid = pool.submit(worker_id).result()
    assert set(threading.enumerate()) - threads
    del pool
    gc.collect()
    assert gone(pid)
    assert set(threading.enumerate()) <= threads


@pytest.mark.parametrize("busy", [time.sleep, "hang"])
@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux to end a worker with its driver")
def test_workers_end_when_their_driver_is_killed(tmp_path, busy):
    call = "time.sleep, 600" if busy is time.sleep else "collections.deque, itertools.repeat(0), 0"
    script = tmp_path / "driver.py"
    script.write_text(
        textwrap.dedent(f"""
        import collections, itertools, os, time
        from polarbear.experiment import WorkerPool
        pool = WorkerPool(2)
        pids = [pool.submit(os.getpid).result()]
        future = pool.submit({call})
        pids.append(pool.submit(os.getpid).result())
        print(*pids, flush=True)
        future.result()
        """)
    )
    driver = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    pids = [int(pid) for pid in driver.stdout.readline().split()]
    assert len(set(pids)) == 2
    driver.kill()
    driver.wait()
    driver.stdout.close()
    assert all(gone(pid) for pid in pids)


def test_a_script_that_forgets_shutdown_ends_all_the_same(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\nfrom polarbear.experiment import WorkerPool\npool = WorkerPool(1)\n"
        "print(pool.submit(os.getpid).result())\npool.submit(time.sleep, 600)\ntime.sleep(0.2)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=60)
    assert gone(int(done.stdout))
    assert not done.stderr


def test_a_worker_that_does_not_end_by_itself_is_killed(monkeypatch):
    monkeypatch.setattr("polarbear.experiment.manager.FAREWELL", 0.3)
    begun = time.monotonic()
    with WorkerPool(1) as pool:
        pid = pool.submit(worker_id).result()
        pool.submit(lambda: atexit.register(time.sleep, 600) and None).result()
    assert time.monotonic() - begun < 10
    assert gone(pid)


def test_workers_that_cannot_come_up_are_not_tried_for_ever(monkeypatch):
    monkeypatch.setattr("polarbear.experiment.process._BOOT", "import sys; sys.exit(9)")
    with WorkerPool(2) as pool:
        futures = [pool.submit(abs, 1) for _ in range(5)]
        for future in futures:
            with pytest.raises(WorkersUnavailable, match="failed to start; the last one exited with code 9"):
                future.result(timeout=30)


def test_a_worker_that_cannot_be_started_is_said(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    with WorkerPool(1) as pool, pytest.raises(WorkersUnavailable, match="no worker process could be started"):
        pool.submit(abs, 1).result(timeout=30)


@pytest.mark.parametrize("arguments", [{"workers": 0}, {"timeout": 0.0}, {"timeout": -1.0}, {"grace": -1.0}])
def test_impossible_settings_are_named(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        WorkerPool(**arguments)

"""Many runs through an executor: whatever happens to a worker, each task gives one run."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import get_context

import cloudpickle
import numpy as np
import pytest

from polarbear.experiment import Limits, Task, WorkerPool, WorkersUnavailable, execute, run_tasks
from polarbear.optimizers import ModularCMAES, PyCMA
from polarbear.problems import FunctionProblem
from polarbear.records import Reason, RunKey
from tests.experiment.misbehaving import die, hang_in_c, hang_in_python

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def hang_for_good(objective, rng):
    """Catches the alarm again and again and never evaluates."""
    while True:
        with suppress(BaseException):
            time.sleep(600)


def raise_error(objective, rng):
    raise ValueError("no good")


def fork(objective, rng):
    os.fork()
    for _ in range(10):
        objective(rng.uniform(-1, 1, 2))


def test_each_fault_is_the_outcome_of_its_own_run(task):
    optimizers = {
        die: (Reason.KILLED, 0),
        hang_in_c: (Reason.TIMED_OUT, 0),
        hang_in_python: (Reason.TIMED_OUT, 1),
        hang_for_good: (Reason.TIMED_OUT, 0),
        raise_error: (Reason.FAILED, 0),
        fork: (Reason.STOPPED, 10),
    }
    tasks = [task(optimizer, seed=seed, evaluations=50, timeout=0.3) for optimizer in optimizers for seed in (0, 1)]
    tasks += [task(seed=seed, evaluations=50, timeout=60.0) for seed in range(20)]
    with WorkerPool(2, timeout=0.3, grace=0.7) as pool:
        runs = {run.key: run for run in run_tasks(tasks, pool)}
    assert set(runs) == {task.key for task in tasks}
    for optimizer, (reason, evaluations) in optimizers.items():
        for seed in (0, 1):
            outcome = runs[task(optimizer, seed=seed).key].outcome
            assert (outcome.reason, outcome.evaluations) == (reason, evaluations), optimizer
    assert runs[task(die).key].outcome.message == "its worker process was killed by SIGKILL"
    assert "not done after 1 s" in runs[task(hang_in_c).key].outcome.message
    assert runs[task(raise_error).key].outcome.message == "ValueError: no good"
    for seed in range(20):
        here = execute(task(seed=seed, evaluations=50))
        there = runs[here.key]
        assert there.outcome.reason is Reason.BUDGET
        assert there.trajectory.values.tolist() == here.trajectory.values.tolist()
        assert there.trajectory.evaluations.tolist() == here.trajectory.evaluations.tolist()


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_do_not_depend_on_the_number_of_workers(task, workers):
    tasks = [task(seed=seed, evaluations=30) for seed in range(30)]
    with WorkerPool(workers) as pool:
        runs = {run.key: run.trajectory.values.tolist() for run in run_tasks(tasks, pool)}
    assert runs == {each.key: execute(each).trajectory.values.tolist() for each in tasks}


def test_tasks_are_drawn_as_there_is_room_for_them(task):
    drawn = 0

    def tasks():
        nonlocal drawn
        for seed in range(200):
            drawn += 1
            yield task(seed=seed, evaluations=3)

    with WorkerPool(2) as pool:
        for done, _ in enumerate(run_tasks(tasks(), pool, in_flight=10), 1):
            assert drawn - done <= 10
    assert done == drawn == 200


def test_no_tasks_no_runs():
    with WorkerPool(1) as pool:
        assert list(run_tasks([], pool)) == []


def test_any_executor_will_do(task):
    tasks = [task(seed=seed, evaluations=30, timeout=60.0) for seed in range(10)]
    with ThreadPoolExecutor(2) as pool:
        runs = list(run_tasks(tasks, pool))
    assert {run.key for run in runs} == {each.key for each in tasks}
    assert {run.outcome.reason for run in runs} == {Reason.BUDGET}


def slow_sphere(x):
    time.sleep(1e-4)
    return float(x @ x)


@pytest.mark.parametrize("one", [ModularCMAES(), PyCMA()])
def test_threads_give_the_runs_of_processes(one):
    problem = FunctionProblem(slow_sphere, -5, 5, dimension=4)
    tasks = [Task(RunKey(problem.name, one.name, seed), problem, one, Limits(evaluations=200)) for seed in range(6)]
    with ThreadPoolExecutor(4) as threads:
        runs = {run.key: run for run in run_tasks(tasks, threads)}
    for each in tasks:
        assert runs[each.key].trajectory.values.tolist() == execute(each).trajectory.values.tolist()
    assert np.random.rand.__self__ is np.random.mtrand._rand  # as NumPy has it


def terminate_all(objective, rng):
    """As one who ends a job does: its worker first, its driver, the parent, a moment later by another signal."""
    objective(rng.uniform(-1, 1, 2))
    subprocess.Popen(["sh", "-c", f"sleep 0.2; kill -USR1 {os.getppid()}"], start_new_session=True)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def test_a_run_whose_worker_is_ended_together_with_the_driver_is_none(task):
    class Ended(BaseException):
        pass

    def end(number, frame):
        raise Ended

    before, runs = signal.signal(signal.SIGUSR1, end), []
    try:
        with WorkerPool(1) as pool, pytest.raises(Ended):
            runs += run_tasks([task(terminate_all)], pool)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert runs == []


def test_a_run_whose_worker_alone_is_ended_says_so(task):
    with WorkerPool(1) as pool:
        (run,) = run_tasks([task(terminate)], pool)
    assert (run.outcome.reason, run.outcome.message) == (Reason.KILLED, "its worker process was killed by SIGTERM")


def terminate(objective, rng):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(60)


def kill_me(_):
    os.kill(os.getpid(), signal.SIGKILL)


class ByValue(ProcessPoolExecutor):
    """The standard pool, with functions by value since its workers cannot import test modules."""

    def submit(self, function, /, *args):
        return super().submit(cloudpickle.loads, cloudpickle.dumps(Call(function, args)))


class Call:
    def __init__(self, function, args):
        self.function, self.args = function, args

    def __reduce__(self):
        return self.function, self.args


def test_when_the_standard_pool_breaks_no_run_is_blamed(task):
    tasks = [task(die, evaluations=5), *(task(seed=seed, evaluations=5) for seed in range(20))]
    runs = []
    with ByValue(1, mp_context=get_context("spawn")) as pool, pytest.raises(BrokenExecutor):
        runs.extend(run_tasks(tasks, pool, in_flight=2))
    assert all(run.outcome.ok for run in runs)


def test_when_no_worker_comes_up_no_run_is_blamed(task, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with WorkerPool(1) as pool, pytest.raises(WorkersUnavailable, match="failed to start"):
        next(run_tasks([task()], pool))


def test_a_task_that_cannot_travel_is_an_error_that_names_it(task):
    lock = threading.Lock()
    with WorkerPool(1) as pool, pytest.raises(TypeError, match="cannot pickle") as caught:
        next(run_tasks([task(lambda objective, rng: lock)], pool))
    assert caught.value.__notes__ == [f"while executing the run of {task(lambda o, r: 0).key}"]


def sleep(objective, rng):
    time.sleep(600)


def nap(objective, rng):
    time.sleep(1)


def test_a_lost_run_lasted_as_long_as_a_worker_had_it(task):
    tasks = [task(nap), task(die), task(hang_in_c, timeout=0.2)]
    with WorkerPool(1, timeout=1.2, grace=0.3) as pool:
        lasted = {run.key.algorithm: run.outcome.seconds for run in run_tasks(tasks, pool)}
    assert 0 < lasted["die"] < 1 <= lasted["nap"]
    assert 1.5 <= lasted["hang_in_c"] < 10


@pytest.mark.parametrize("seconds", [1e300, float("inf")])
def test_a_time_that_never_comes_is_no_limit(task, seconds):
    with WorkerPool(1, timeout=1e300) as pool:
        (run,) = run_tasks([task(evaluations=5, timeout=1e300)], pool, until=time.monotonic() + seconds)
    assert run.outcome.reason is Reason.BUDGET


def test_closing_the_iterator_kills_what_runs(task):
    begun = time.monotonic()
    tasks = [task(evaluations=3), *(task(sleep, seed=seed) for seed in range(30))]
    with WorkerPool(2) as pool:
        runs = run_tasks(tasks, pool)
        next(runs)
        runs.close()
        assert pool.submit(abs, -1).result(timeout=10) == 1
    assert time.monotonic() - begun < 20


def test_ctrl_c_stops_cleanly_and_quickly(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import time
        from polarbear.experiment import Limits, Task, WorkerPool, run_tasks
        from polarbear.records import RunKey

        class Problem:
            name, dimension, lower, upper, optimum, minimize = "p", 1, [0.0], [1.0], None, True
            def build(self): return self
            def raw(self, x): return 1.0

        def sleep(objective, rng):
            try:
                time.sleep(600)
            except BaseException:
                time.sleep(600)

        tasks = [Task(RunKey("p", "sleep", i), Problem(), sleep, Limits()) for i in range(20)]
        try:
            with WorkerPool(2) as pool:
                pool.submit(abs, 1).result()
                print("up", flush=True)
                list(run_tasks(tasks, pool))
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """)
    )
    driver = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert driver.stdout.readline() == "up\n"
    time.sleep(0.5)
    begun = time.monotonic()
    driver.send_signal(signal.SIGINT)
    out, err = driver.communicate(timeout=30)
    assert (out, err, driver.returncode) == ("interrupted\n", "", 0)
    assert time.monotonic() - begun < 10

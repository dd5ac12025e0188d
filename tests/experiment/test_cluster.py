"""Runs on clusters: what a worker, the scheduler or a run does there, and that results stay the same."""

import asyncio
import os
import platform
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import cloudpickle
import pytest
from distributed import Client, LocalCluster

from polarbear import machine
from polarbear.experiment import ClusterLost, DaskExecutor, Isolated, WorkerUnprepared, execute, run_tasks
from polarbear.experiment.cluster import Answer
from polarbear.records import Reason
from tests.experiment.misbehaving import die, hang_in_c, hang_in_python

cloudpickle.register_pickle_by_value(sys.modules[__name__])


def kill_the_worker(objective, rng):
    """Kills the cluster's own worker, to which its process belongs."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def search(objective, rng):
    while True:
        objective(rng.uniform(objective.lower, objective.upper))
        time.sleep(0.001)


@contextmanager
def cluster_client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster_client() as client:
        yield client


@pytest.fixture
def fragile():
    """A cluster whose workers may be killed."""
    with cluster_client() as client:
        yield client


def found(runs):
    return {run.key: (run.outcome.reason, run.trajectory.evaluations.tolist(), run.best) for run in map(Found, runs)}


class Found:
    """A run without its clock."""

    def __init__(self, run):
        self.key, self.outcome, self.trajectory, self.best = run.key, run.outcome, run.trajectory, run.trajectory.best


def test_a_run_is_the_same_on_a_cluster_as_here(client, task):
    tasks = [task(seed=seed, evaluations=200) for seed in range(20)]
    assert found(run_tasks(tasks, DaskExecutor(client))) == found(map(execute, tasks))


def test_runs_of_a_lost_worker_are_run_again_and_come_out_the_same(fragile, task):
    tasks = [task(search, seed=seed, evaluations=100) for seed in range(40)]
    workers = set(fragile.run(os.getpid).values())
    runs = []
    for run in run_tasks(tasks, DaskExecutor(fragile)):
        runs.append(run)
        if len(runs) in {5, 15}:
            os.kill(workers.pop(), signal.SIGKILL)
    assert len(runs) == 40
    assert found(runs) == found(map(execute, tasks))


def test_a_run_that_dies_or_hangs_takes_no_worker_with_it(client, task):
    before = client.run(os.getpid)
    tasks = [task(die), task(hang_in_python, timeout=0.5), task(evaluations=50)]
    reasons = {run.key.algorithm: run.outcome.reason for run in run_tasks(tasks, DaskExecutor(client))}
    assert reasons == {"die": Reason.KILLED, "hang_in_python": Reason.TIMED_OUT, "random_search": Reason.BUDGET}
    assert client.run(os.getpid) == before


@pytest.mark.slow
def test_what_no_alarm_can_interrupt_is_killed_at_its_own_time_limit(client, task):
    runs = run_tasks([task(hang_in_c, timeout=0.5), task(evaluations=50)], DaskExecutor(client))
    assert {run.outcome.reason for run in runs} == {Reason.TIMED_OUT, Reason.BUDGET}


@pytest.mark.slow
def test_a_run_that_kills_worker_after_worker_is_given_up_and_the_others_go_on(fragile, task):
    tasks = [task(kill_the_worker), *(task(search, seed=seed, evaluations=50) for seed in range(4))]
    runs = {run.key: run for run in run_tasks(tasks, DaskExecutor(fragile))}
    assert runs[tasks[0].key].outcome.reason is Reason.KILLED
    assert "Dask workers it ran on died" in runs[tasks[0].key].outcome.message
    assert [runs[each.key].outcome.reason for each in tasks[1:]] == [Reason.BUDGET] * 4


def test_a_lost_scheduler_is_an_error_that_names_it_and_runs_so_far_are_there(task):
    begun = []
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        address = cluster.scheduler_address
        client = Client(address, set_as_default=False)  # as a driver has it, which runs elsewhere than the scheduler
        try:
            with pytest.raises(ClusterLost, match=address):  # noqa: PT012 - it is raised while runs come in
                for run in run_tasks([task(search, seed=k, evaluations=50) for k in range(500)], DaskExecutor(client)):
                    begun.append(run)
                    if len(begun) == 3:
                        cluster.close()
        finally:
            client.close(timeout=10)
    assert len(begun) >= 3


class Underway:
    """A Dask future whose worker was lost while its answer was on the way here, so that it is computed once more."""

    status = "pending"

    def __await__(self):
        yield from ()
        return Answer("the answer", "a host", "")


class LosingClient:
    """A Dask client to whose calls that happens."""

    def __init__(self):
        self.scheduler, self.loop = SimpleNamespace(address="tcp://nowhere"), self

    def submit(self, *_, **__):
        return Underway()

    def add_callback(self, follow, *args):
        asyncio.run(follow(*args))


def test_an_answer_that_came_before_its_worker_was_lost_counts():
    assert DaskExecutor(LosingClient()).submit(abs, -1).result(0) == "the answer"


def test_an_executor_that_was_shut_down_takes_nothing(client):
    executor = DaskExecutor(client)
    future = executor.submit(abs, -1)
    executor.shutdown()
    assert future.result(0) == 1
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(abs, -1)


def test_a_call_to_a_client_that_was_closed_is_a_lost_cluster():
    with LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster:
        with Client(cluster) as client:
            executor = DaskExecutor(client)
        with pytest.raises(ClusterLost, match="Start a cluster and resume"):
            executor.submit(abs, -1).result(5)
        with pytest.raises(ClusterLost, match="the Dask client is closed; give one that is connected"):
            DaskExecutor(client)


WITHOUT_POLARBEAR = """
import sys

class Nowhere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "polarbear":
            raise ModuleNotFoundError("No module named 'polarbear'", name="polarbear")

sys.meta_path.insert(0, Nowhere())
"""


def test_a_worker_without_polarbear_that_comes_later_is_told_of(tmp_path, task):
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_POLARBEAR)
    with LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=50) as cluster, Client(cluster) as client:
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--no-nanny"],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            cwd=tmp_path,
            stderr=subprocess.DEVNULL,
        )
        try:
            with pytest.raises(WorkerUnprepared, match=r"there is no module 'polarbear'.* Install polarbear for all"):
                list(run_tasks([task(evaluations=5)], DaskExecutor(client), until=time.monotonic() + 60))
        finally:
            worker.kill()
            worker.wait()


def test_what_cannot_be_pickled_fails_alone(client):
    executor = DaskExecutor(client)
    with pytest.raises(TypeError, match="cannot pickle"):
        executor.submit(len, threading.Lock()).result(10)
    assert executor.submit(abs, -1).result(30) == 1


def test_nothing_of_a_finished_run_stays_on_the_cluster(client, task):
    before = set(client.futures)
    runs = list(run_tasks([task(seed=seed, evaluations=20) for seed in range(50)], DaskExecutor(client)))
    assert len(runs) == 50
    deadline = time.monotonic() + 10
    while set(client.futures) - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not set(client.futures) - before


def test_a_call_can_be_cancelled(client):
    executor = DaskExecutor(client)
    running = [executor.submit(time.sleep, 0.5) for _ in range(4)]
    assert running[-1].cancel()
    with pytest.raises(CancelledError):
        running[-1].result()
    assert [future.result(timeout=30) for future in running[:-1]] == [None] * 3


def test_an_exception_comes_back_as_it_was_raised(client):
    with pytest.raises(ZeroDivisionError):
        DaskExecutor(client).submit(divmod, 1, 0).result(timeout=30)


def test_any_executors_calls_get_processes_of_their_own(task):
    with Isolated(ThreadPoolExecutor(2)) as executor:
        owners = {executor.submit(os.getpid).result() for _ in range(3)}
        runs = list(run_tasks([task(die), task(evaluations=50)], executor))
    assert os.getpid() not in owners
    assert {run.outcome.reason for run in runs} == {Reason.KILLED, Reason.BUDGET}
    assert all(0 < run.outcome.seconds < 60 for run in runs)


def cores_of(task):
    """The process that executes a run of the task's kind, and the cores it keeps to."""
    time.sleep(1)
    return os.getpid(), tuple(os.sched_getaffinity(0))


def test_runs_measured_in_seconds_keep_to_cores_of_their_own_on_a_cluster(task, all_cores):
    timed = replace(task(), warm_up=True)
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=len(all_cores), **options) as cluster, Client(cluster) as client:
        executor = DaskExecutor(client)
        found = {future.result() for future in [executor.submit(cores_of, timed) for _ in all_cores]}
        assert sorted(core for _, core in found) == [(core,) for core in all_cores]
        assert len({process for process, _ in found}) == len(all_cores)
        assert {len(executor.submit(cores_of, task()).result()[1])} == {len(os.sched_getaffinity(0))}


def test_more_runs_measured_in_seconds_than_cores_are_warned_of(task, all_cores):
    timed, most = replace(task(), warm_up=True), len(all_cores)
    with Isolated(ThreadPoolExecutor(most + 1)) as executor:
        found = [future.result()[1] for future in [executor.submit(cores_of, timed) for _ in range(most + 1)]]
        assert sorted(cores for cores in found if len(cores) == 1)[:most] == [(core,) for core in all_cores]
        with pytest.warns(machine.OversubscriptionWarning, match=f"on {platform.node()} other runs occupy .*core"):
            executor.submit(cores_of, timed).result()
        executor.submit(cores_of, timed).result()  # it is said once


def test_the_threads_of_a_hosts_workers_are_counted_against_its_cores(all_cores):
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=len(all_cores), dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as crowded,
    ):
        told = f"on {platform.node()} {2 * len(all_cores)} workers share {len(all_cores)} core"
        with pytest.warns(machine.OversubscriptionWarning, match=told):
            DaskExecutor(crowded).warn_beforehand()


def test_a_call_to_any_executor_can_be_cancelled_and_fails_as_it_does():
    with Isolated(ThreadPoolExecutor(1)) as executor:
        first, second, third = (executor.submit(time.sleep, 0.5) for _ in range(3))
        assert third.cancel()
        failing = executor.submit(divmod, 1, 0)
        with pytest.raises(CancelledError):
            third.result()
        assert [first.result(30), second.result(30)] == [None, None]
        with pytest.raises(ZeroDivisionError):
            failing.result(30)


MPI = """
from mpi4py.futures import MPIPoolExecutor

from polarbear.experiment import Isolated, Limits, Task, run_tasks
from polarbear.optimizers import RandomSearch
from polarbear.problems import BBOBProblem, FunctionProblem
from polarbear.records import RunKey


def halve(problem, rng):
    here = rng.uniform(problem.lower, problem.upper)
    while True:
        problem(here)
        here = here / 2


def bowl(x):
    return float(x @ x) + 1.0


if __name__ == "__main__":
    sphere = BBOBProblem(1, 1, 5)
    tasks = [Task(RunKey(sphere.name, "r", k), sphere, RandomSearch(), Limits(evaluations=50)) for k in range(20)]
    own = FunctionProblem(bowl, lower=-5, upper=5, dimension=3)
    tasks += [Task(RunKey(own.name, "h", k), own, halve, Limits(evaluations=50)) for k in range(20, 30)]
    with Isolated(MPIPoolExecutor()) as executor:
        for run in sorted(run_tasks(tasks, executor), key=lambda run: run.key.seed):
            print("run", run.key.seed, run.trajectory.best.hex())
"""


def test_runs_over_mpi_come_out_as_here(tmp_path, task):
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    if mpiexec is None:
        pytest.skip("there is no mpiexec")
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(MPI))
    command = [mpiexec, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("run ")]
    expected = {}
    assert len(lines) == 30
    exec(MPI.replace('if __name__ == "__main__":', "if True:").split("    with Isolated")[0], expected)
    assert lines == [[str(each.key.seed), execute(each).trajectory.best.hex()] for each in expected["tasks"]]

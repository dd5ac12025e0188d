"""Plans over Dask: all of BBOB with workers killed on the way, and the command line."""

import inspect
import os
import platform
import re
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

import polarbear as pb
from polarbear.experiment import DaskExecutor, Isolated
from polarbear.study import OversubscriptionWarning, Plan, PlanObserver, run_plan
from tests.cli.commands import ran
from tests.study.entrants import guess
from tests.study.test_plan import found
from tests.study.test_racing import first, where

ROOT = Path(__file__).parents[2]

PLAN = """
[plan]
repetitions = 2
budget = "100*d"

[instances]
suite = "bbob"
functions = "1-24"
dimensions = 2
instances = "1-2"

[[algorithms]]
optimizer = "modular-cmaes-anytime"

[[algorithms]]
optimizer = "random-search"
"""


@contextmanager
def cluster_of_two(**options):
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50, **options) as cluster:
        yield cluster


class Killing(PlanObserver):
    """Kills a worker after some numbers of runs."""

    def __init__(self, workers, *numbers):
        self.workers, self.numbers, self.seen = workers, numbers, 0

    def run_finished(self, run):
        self.seen += 1
        if self.seen in self.numbers:
            os.kill(self.workers.pop(), signal.SIGKILL)


@pytest.mark.slow
def test_all_of_bbob_over_dask_with_two_workers_killed_on_the_way(tmp_path):
    suite = pb.problems.BBOB(dimensions=2, instances=[1, 2])
    plan = Plan([pb.optimizers.ModularCMAES.anytime(), pb.optimizers.RandomSearch()], suite, repetitions=2, budget=200)
    assert plan.size == 24 * 2 * 2 * 2
    run_plan(plan, tmp_path / "here.study", workers=2)
    with cluster_of_two() as cluster, Client(cluster) as client:
        watch = Killing(list(client.run(os.getpid).values()), 10, 60)
        summary = run_plan(plan, tmp_path / "there.study", executor=DaskExecutor(client), observer=watch)
    assert not watch.workers
    assert (summary.ran, summary.failed) == (192, 0)
    assert found(tmp_path / "there.study") == found(tmp_path / "here.study")


def race_in_seconds(path, executor):
    """The cores to which runs kept; -1 for one that kept to none."""
    problem = pb.problems.FunctionProblem(first, lower=-2, upper=1000, dimension=3)
    timed = pb.Race([where, guess], times=[0.01, 0.02], axis="seconds")
    pb.study.race(timed, problem, path, executor=executor, stop=pb.study.StopRules(instances=8))
    return {run.trajectory.best for run in pb.store.read(path) if run.key.algorithm == "where"}


@pytest.mark.filterwarnings("ignore:on .* other programs keep:polarbear.study.OversubscriptionWarning")
def test_over_seconds_each_run_on_a_cluster_keeps_to_a_core(tmp_path, all_cores):
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=len(all_cores), **options) as cluster, Client(cluster) as client:
        assert race_in_seconds(tmp_path / "a.study", DaskExecutor(client)) <= set(all_cores)


@pytest.mark.slow
def test_over_seconds_a_cluster_with_more_threads_than_cores_is_warned_of(tmp_path, all_cores):
    most = len(all_cores)
    options = {"threads_per_worker": most + 1, "dashboard_address": ":0", "silence_logs": 50}
    with LocalCluster(n_workers=1, **options) as cluster, Client(cluster) as client:
        told = f"on {platform.node()} {most + 1} workers share {most} core"
        with pytest.warns(OversubscriptionWarning, match=told) as caught:
            race_in_seconds(tmp_path / "a.study", DaskExecutor(client))
    assert len(caught) == 1


@pytest.mark.slow
def test_over_seconds_other_executors_are_warned_of_once_a_run_finds_no_core(tmp_path, all_cores):
    with (
        Isolated(ThreadPoolExecutor(len(all_cores) + 1)) as executor,
        pytest.warns(OversubscriptionWarning, match=f"on {platform.node()} other runs occupy") as caught,
    ):
        race_in_seconds(tmp_path / "a.study", executor)
    assert len(caught) == 1


@pytest.mark.slow
def test_a_plan_and_a_race_run_on_the_cluster_that_the_command_line_names(tmp_path):
    plan, study = tmp_path / "plan.toml", tmp_path / "race.toml"
    plan.write_text(PLAN.replace('"1-24"', '"1-3"'))
    race = "[race]\ntimes = { first = 10, last = 100, count = 5 }\n[limits]\ninstances = 8\n"
    study.write_text(race + PLAN[PLAN.index("[instances]") :])
    with cluster_of_two() as cluster:
        told = ran("run", plan, "--cluster", cluster.scheduler_address)
        assert told.returncode == 0, told.stderr
        assert len(pb.store.read(tmp_path / "plan.study")) == 3 * 2 * 2 * 2
        told = ran("race", study, "--cluster", cluster.scheduler_address)
        assert told.returncode == 0, told.stderr
        assert len(pb.store.read(tmp_path / "race.study")) >= 2 * 8
        gone = cluster.scheduler_address
    told = ran("resume", tmp_path / "plan.study", "--cluster", gone)  # which looks for it for ten seconds
    assert told.returncode == 2
    assert f"cannot connect to a Dask scheduler at {gone}" in " ".join(told.stderr.replace("│", " ").split())


def told_in_one_line(told):
    """What a command says that finds no fit workers: one line, the exit code for that, and no traceback."""
    assert told.returncode == 5, told.stderr
    assert "Traceback" not in told.stderr
    (line,) = [line for line in told.stderr.splitlines() if line.startswith("polarbear: ")]
    return line


def searching(problem, rng):
    while True:
        problem(rng.uniform(problem.lower, problem.upper))


@pytest.mark.slow
def test_a_module_that_workers_lack_is_named_and_what_is_finished_is_kept(tmp_path):
    """The driver finds the module beside the plan; the scheduler and its workers, other processes, do not."""
    (tmp_path / "beside_the_plan.py").write_text(inspect.getsource(searching))
    own = '[[algorithms]]\noptimizer = "function"\nfunction = "beside_the_plan:searching"\n'
    plan, study = tmp_path / "plan.toml", tmp_path / "plan.study"
    small = PLAN.replace('"1-24"', "1").replace("repetitions = 2", "repetitions = 1")
    plan.write_text(small)
    with cluster_of_two() as cluster, Client(cluster) as client:
        before = client.run(os.getpid)
        assert ran("run", plan, "--cluster", cluster.scheduler_address).returncode == 0
        assert len(pb.store.read(study)) == 4
        plan.write_text(small + own)
        line = told_in_one_line(ran("run", plan, "--cluster", cluster.scheduler_address))
        assert re.search(r"the run of searching on bbob-f0*1-i\d-d0*2 \(seed 0\) did not start: a worker", line), line
        assert (
            f"({sys.executable} on {platform.node()}): there is no module 'beside_the_plan'. Finished runs are kept"
            in line
        )
        assert "Install beside_the_plan for all workers, or put its folder on the PYTHONPATH" in line
        race = "[race]\ntimes = { first = 10, last = 100, count = 5 }\n[limits]\ninstances = 8\n"
        (tmp_path / "race.toml").write_text(race + small[small.index("[instances]") :] + own)
        raced = ran("race", tmp_path / "race.toml", "--cluster", cluster.scheduler_address)
        assert "there is no module 'beside_the_plan'" in told_in_one_line(raced)
        assert client.run(os.getpid) == before  # and the workers live on
    assert {run.key.algorithm for run in pb.store.read(study)} >= {"RandomSearch"}
    assert len(pb.store.read(study)) == 4
    assert ran("run", plan).returncode == 0
    assert len(pb.store.read(study)) == 6


def test_workers_without_polarbear_are_refused_before_anything_is_run(tmp_path):
    (tmp_path / "hide.py").write_text("import sys\nsys.modules['polarbear'] = None\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    with cluster_of_two(preload=str(tmp_path / "hide.py")) as cluster:
        line = told_in_one_line(ran("run", tmp_path / "plan.toml", "--cluster", cluster.scheduler_address))
    assert "polarbear cannot be imported on 2 of the cluster's workers, such as tcp://" in line
    assert f"({sys.executable}: ModuleNotFoundError: " in line
    assert not (tmp_path / "plan.study").exists()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("nonsense", "missing port number in address 'nonsense'; write it like tls://host:8786"),
        ("tcp://127.0.0.1", "missing port number"),
        ("tcp://127.0.0.1:99999", "its port is 99999; it must be from 1 to 65535"),
        ("http://127.0.0.1:8786", "unknown address scheme 'http'"),
        ("tcp://nowhere.invalid:8786", "["),
        ("tls://127.0.0.1:8786", "it needs certificates; give them with --tls-ca-file"),
    ],
)
def test_an_address_that_is_none_is_named_and_no_client_is_left_behind(tmp_path, address, why):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    told = ran("run", plan, "--cluster", address)
    assert told.returncode == 2
    said = " ".join(told.stderr.replace("│", " ").split())
    assert f"cannot connect to a Dask scheduler at {address}: {why}" in said
    assert "Exception ignored" not in said

"""What may happen to a race from outside: a second driver, a full disk, a clock set back, a cluster lost."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed import Client, LocalCluster

import polarbear as pb
from polarbear import store
from polarbear.experiment import ClusterLost, DaskExecutor
from polarbear.store import StudyLocked
from polarbear.study import Observer, Plan, StopRules, run_plan
from tests.experiment.misbehaving import unheeding
from tests.study.entrants import descend, guess
from tests.study.test_plan import found as found_runs
from tests.study.test_racing import PROBLEM, decisions, race, run_script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The same race, never disturbed, in one process."""
    return race(tmp_path_factory.mktemp("whole") / "a.study")


def until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_a_second_driver_is_told_who_the_first_is_and_disturbs_nothing(whole, tmp_path):
    path = tmp_path / "a.study"
    first = run_script(path, wait=False, workers=1)
    until(lambda: store.exists(path))
    first.send_signal(signal.SIGSTOP)  # so that it is not done before the second has come
    try:
        with pytest.raises(StudyLocked, match=f"process {first.pid} on "):
            race(path)
    finally:
        first.send_signal(signal.SIGCONT)
    assert first.wait(120) == 0
    assert decisions(pb.study.load(path).result) == decisions(whole)


FULL_DISK = """
import resource, sys
from tests.study.test_racing import race
from polarbear.study import Observer

class Filling(Observer):
    def round_finished(self, race, round_):
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))

race(sys.argv[1], observer=Filling())
"""


def test_a_disk_that_fills_up_ends_the_race_by_name_and_it_resumes_as_if_nothing_had_been(whole, tmp_path):
    path = tmp_path / "a.study"
    command = [sys.executable, "-c", FULL_DISK, path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert f"{path}/runs/" in last
    assert "Nothing committed before is lost" in last
    with store.open(path) as study:
        assert study.damaged == ()
        assert len(study.rounds()) == 1
    assert decisions(race(path)) == decisions(whole)


BACKWARDS = """
import datetime, itertools, sys, time
steps = itertools.count()
time.time = lambda: 2e9 - 3600.0 * next(steps)
time.time_ns = lambda: int(1e9 * time.time())
from tests.study.test_racing import race
race(sys.argv[1], workers=2)
"""


def test_a_clock_that_is_set_back_changes_nothing(whole, tmp_path):
    path = tmp_path / "a.study"
    command = [sys.executable, "-c", BACKWARDS, path]
    assert subprocess.run(command, timeout=120, cwd=ROOT).returncode == 0
    found = pb.study.load(path).result
    assert decisions(found) == decisions(whole)
    assert all(0 <= round_.seconds < 120 for round_ in found.rounds)


@pytest.mark.parametrize("timeout", [None, 30.0])
def test_an_optimizer_that_catches_everything_ends_with_its_budget_all_the_same(tmp_path, timeout):
    found = []
    for name, one in (("polite", guess), ("unheeding", unheeding)):
        plan = Plan({"one": one, "other": descend}, [PROBLEM], repetitions=3, budget=30, timeout=timeout)
        summary = run_plan(plan, tmp_path / f"{name}.study", workers=2)
        assert (summary.ran, summary.failed) == (6, 0)
        found.append(found_runs(tmp_path / f"{name}.study"))
    assert found[0] == found[1]


@pytest.mark.slow
def test_a_race_with_an_optimizer_that_catches_everything_decides_as_ever(tmp_path):
    found, few = [], StopRules(instances=8)
    for name, one in (("polite", guess), ("unheeding", unheeding)):
        algorithms = {"guess": one, "descend": descend}
        found.append(decisions(race(tmp_path / f"{name}.study", algorithms=algorithms, workers=2, stop=few)))
    assert found[0] == found[1]


class AfterRuns(Observer):
    """Does something after some numbers of runs."""

    def __init__(self, act, *numbers):
        self.act, self.numbers, self.seen = act, numbers, 0

    def run_finished(self, run):
        self.seen += 1
        if self.seen in self.numbers:
            self.act()


@pytest.mark.slow
def test_a_race_over_dask_loses_workers_and_decides_as_ever(whole, tmp_path):
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        Client(cluster) as client,
    ):
        workers = list(client.run(os.getpid).values())
        watch = AfterRuns(lambda: os.kill(workers.pop(), signal.SIGKILL), 5, 30)
        found = race(tmp_path / "a.study", executor=DaskExecutor(client), observer=watch)
    assert not workers
    assert decisions(found) == decisions(whole)


def test_a_race_whose_scheduler_is_lost_says_so_and_resumes_elsewhere(whole, tmp_path):
    path = tmp_path / "a.study"
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        client = Client(cluster.scheduler_address, set_as_default=False)
        try:
            with pytest.raises(ClusterLost, match="committed runs are kept"):
                race(path, executor=DaskExecutor(client), observer=AfterRuns(cluster.close, 12))
        finally:
            client.close(timeout=10)
    with store.open(path) as study:
        assert len(study) >= 12
    assert decisions(race(path)) == decisions(whole)

"""Plans over seconds beside other ones on the same machine: whose core a run takes, and what is said."""

import os
import time
from contextlib import ExitStack

import numpy as np
import pytest

import polarbear as pb
from polarbear import store
from polarbear.experiment import WorkerPool
from polarbear.study import OversubscriptionWarning, Plan, run_plan


@pytest.fixture
def others(all_cores, monkeypatch):
    """Have pools of others take so many cores; gives those that are left."""
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    with ExitStack() as stack:

        def take(count):
            pools = [stack.enter_context(WorkerPool(1, pinned=True)) for _ in range(count)]
            return set(all_cores).difference(*(pool.submit(os.sched_getaffinity, 0).result() for pool in pools))

        yield take


def where(problem, rng):
    """Evaluates the number of the core it may run on; -1 if there are several."""
    cores = list(os.sched_getaffinity(0))
    while True:
        problem(np.full(1, float(cores[0]) if len(cores) == 1 else -1.0))
        time.sleep(0.01)


def first(x):
    return float(x[0])


def cores_of_runs(path):
    """The cores to which the runs of a plan kept; -1 for one that kept to none."""
    problem = pb.problems.FunctionProblem(first, lower=-2, upper=1000, dimension=1)
    run_plan(Plan([where], [problem], repetitions=3, budget=0.05, axis="seconds"), path)
    return {run.trajectory.best for run in store.read(path)}


def test_runs_over_seconds_take_a_core_that_no_run_beside_them_holds(others, all_cores, tmp_path):
    if len(all_cores) < 2:
        pytest.skip("this process may use one core only")
    left = others(len(all_cores) - 1)
    assert len(left) == 1
    assert cores_of_runs(tmp_path / "a.study") == left


def test_runs_over_seconds_that_find_no_free_core_are_warned_of_once(others, all_cores, tmp_path):
    assert not others(len(all_cores))
    with pytest.warns(OversubscriptionWarning, match="other runs occupy .*core.*seconds mean little") as caught:
        found = cores_of_runs(tmp_path / "a.study")
    assert len(caught) == 1
    assert found == ({-1.0} if len(os.sched_getaffinity(0)) > 1 else set(map(float, all_cores)))

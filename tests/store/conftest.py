"""Runs to store, and places to store them."""

import itertools
import uuid

import numpy as np
import pytest

from polarbear import store
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory


def make_run(seed=0, size=20, instance="f1", algorithm="cma", **outcome):
    """A run that depends on nothing but the arguments."""
    rng = np.random.default_rng([seed, size])
    evaluations = np.cumsum(rng.integers(1, 50, size))
    values = np.sort(rng.standard_cauchy(size))[::-1]
    end = int(evaluations[-1]) + 3 if size else 3
    fields = {"reason": Reason.BUDGET, "evaluations": end, "seconds": 2.0 + seed, "message": f"run {seed}"} | outcome
    trajectory = Trajectory(evaluations, np.sort(rng.random(size)), values, Outcome(**fields))
    return Run(RunKey(instance, algorithm, seed), trajectory, None if seed % 2 else float(rng.normal()))


@pytest.fixture
def run():
    """Build a run: ``run(seed, size=, instance=, algorithm=, **outcome)``."""
    return make_run


@pytest.fixture(params=["local", "memory", "s3"])
def fresh(request, tmp_path_factory):
    """New places for studies: each call gives another; on disk, in memory, on an object store."""
    if request.param == "local":
        return lambda: tmp_path_factory.mktemp("studies") / "deep" / "study"
    if request.param == "memory":
        pytest.importorskip("fsspec", reason="what reaches places elsewhere is not installed")
    root = request.getfixturevalue("bucket") if request.param == "s3" else "memory://studies"
    root, numbers = f"{root}/{uuid.uuid4()}", itertools.count()
    return lambda: store.place(f"{root}/{next(numbers)}/deep/study")


@pytest.fixture
def path(fresh):
    """A new place for a study."""
    return fresh()

"""Runs to store, and places to store them."""

import itertools
import uuid

import numpy as np
import pytest

from polarbear import store
from polarbear.records import Outcome, Reason, Run, RunKey, Samples, Trajectory


def make_run(seed=0, size=20, instance="f1", algorithm="cma", sampled=False, **outcome):
    """A run that depends on nothing but the arguments; some have a best point, and if `sampled` others as well."""
    rng = np.random.default_rng([seed, size])
    evaluations = np.cumsum(rng.integers(1, 50, size))
    values = np.sort(rng.standard_cauchy(size))[::-1]
    end = int(evaluations[-1]) + 3 if size else 3
    fields = {"reason": Reason.BUDGET, "evaluations": end, "seconds": 2.0 + seed, "message": f"run {seed}"} | outcome
    trajectory = Trajectory(evaluations, np.sort(rng.random(size)), values, Outcome(**fields))
    target = None if seed % 2 else float(rng.normal())
    solution = (None, rng.normal(size=3), rng.normal(size=(2, 3)))[seed % 3] if size else None
    count = 0 if not sampled or seed % 4 == 0 else seed % 5 + 1
    samples = Samples(np.arange(1, count + 1), rng.normal(size=(count, 3)), rng.normal(size=count)) if count else None
    return Run(RunKey(instance, algorithm, seed), trajectory, target, solution=solution, samples=samples)


@pytest.fixture
def run():
    """Build a run: ``run(seed, size=, instance=, algorithm=, sampled=, **outcome)``."""
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

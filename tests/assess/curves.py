"""Random runs, and where the reference data lie."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from polarbear import Outcome, Reason, Run, RunKey, Trajectory
from polarbear.assess.step_functions import StepFunction

SHARED = Path(os.environ.get("POLARBEAR_SHARED", "../shared")) / "data"
ENDS = (Reason.BUDGET, Reason.STOPPED, Reason.TARGET, Reason.TIMED_OUT, Reason.FAILED)


def shared(folder):
    """The reference data's folder; the test is skipped where it is absent."""
    if not (SHARED / folder).is_dir():
        pytest.skip(f"reference data are not at {SHARED / folder}; set POLARBEAR_SHARED")
    return SHARED / folder


def trajectory(evaluations, values, spent, reason=Reason.STOPPED):
    """A trajectory of one evaluation per tenth of a second."""
    evaluations = np.asarray(evaluations)
    return Trajectory(evaluations, evaluations / 10, np.asarray(values, float), Outcome(reason, spent, spent / 10))


def random_trajectory(rng, spent=100, steps=8, reason=Reason.STOPPED, low=-8.0, high=3.0):
    """Improvements at random evaluations, with values log-uniform between powers of ten."""
    evaluations = np.sort(rng.choice(np.arange(1, spent + 1), int(rng.integers(1, steps + 1)), replace=False))
    return trajectory(evaluations, np.sort(10 ** rng.uniform(low, high, evaluations.size))[::-1], spent, reason)


def run(number, path, **other):
    """A run around a trajectory."""
    return Run(RunKey(f"bbob-f1-i{number + 1}-d2", "A", number), path, **other)


@st.composite
def trajectories(draw, reasons=ENDS, spent=40):
    """Any trajectory of at most six improvements, on coarse values so that runs tie."""
    ended = draw(st.integers(1, spent))
    evaluations = sorted(draw(st.sets(st.integers(1, ended), max_size=6)))
    size = len(evaluations)
    values = sorted(draw(st.sets(st.integers(-10, 50), min_size=size, max_size=size)), reverse=True)
    return trajectory(np.array(evaluations, np.int64), np.array(values) / 4, ended, draw(st.sampled_from(reasons)))


def groups(**options):
    """Groups of one to seven trajectories."""
    return st.lists(trajectories(**options), min_size=1, max_size=7)


def attains(path, time, value):
    """The definition: whether a run found a value at least as good, not later."""
    points = path.points() if isinstance(path, StepFunction) else np.column_stack((path.evaluations, path.values))
    return bool(((points[:, 0] <= time) & (points[:, 1] <= value)).any())

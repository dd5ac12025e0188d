"""What is expected of an optimizer, one function each: it returns what is wrong, or nothing."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable

import cloudpickle
import numpy as np

from polarbear.conformance.probes import NoisySphere, Probe, run_on, sphere
from polarbear.optimizers import Optimizer, describe, from_description
from polarbear.records import FloatArray, Reason, Run

Check = Callable[[Optimizer], str]

SHORT, USUAL, LONG = 60, 400, 2000
"""Evaluations of a run."""


_OFF_CENTRE = Probe(lambda x: sphere(x - 1.0))
_SIDES = np.array([1e-3, 1.0, 10.0, 1e4])


class Refused(Exception):  # noqa: N818 - what a probe raises
    """Raised by the objective of a probe."""


def bounds(optimizer: Optimizer) -> str:
    """It evaluates nothing outside the box."""
    told: list[str] = []
    boxes = {
        "[-5, 5]^5": Probe(sphere),
        "a box far from zero": Probe(lambda x: sphere(x - 1e6), 3, 1e6 - 1, 1e6 + 2),
        "a box of unequal sides": Probe(lambda x: sphere(x / _SIDES), 4, -_SIDES, 2 * _SIDES),
        "a box with the optimum in a corner": Probe(lambda x: float(x.sum()), 5, 0.0, 1.0),
    }
    for where, probe in boxes.items():
        problem = probe.build()
        run, watched = run_on(optimizer, probe, USUAL)
        points = np.array(watched.points).reshape(-1, probe.dimension)
        outside = ((points < problem.lower) | (points > problem.upper)).any(axis=1)
        if outside.any():
            told.append(f"{outside.mean():.1%} of its points lie outside {where}")
        elif fault := _fault(run):
            told.append(f"in {where} {fault}")
    return "; ".join(told)


def budget(optimizer: Optimizer) -> str:
    """It ends when it is stopped, and evaluates nothing afterwards."""
    for evaluations in (1, 2, 7, SHORT, LONG):
        run, watched = run_on(optimizer, Probe(sphere), evaluations)
        if fault := _fault(run):
            return f"with a budget of {evaluations} {fault}"
        if run.outcome.evaluations > evaluations:
            return f"it spent {run.outcome.evaluations} evaluations of {evaluations}"
        if watched.late:
            return f"it asked for {watched.late} more evaluations after it had been stopped at {evaluations}"
    return ""


def seed(optimizer: Optimizer) -> str:
    """Its run follows from its generator alone, and other seeds make other runs."""
    run, watched = run_on(optimizer, _OFF_CENTRE, USUAL, 1)
    if fault := _fault(run):
        return fault
    first = np.array(watched.points)
    state = random.getstate(), np.random.get_state()  # noqa: NPY002 - what is to be disturbed
    try:
        random.seed(7)
        np.random.seed(7)  # noqa: NPY002
        if len(other := _points(optimizer, 2)) > 1 and np.array_equal(first, other):
            return "runs with different seeds evaluate the same points"
        again = _points(optimizer, 1)
    finally:
        random.setstate(state[0])
        np.random.set_state(state[1])  # noqa: NPY002
    if first.shape != again.shape:
        return f"a run repeated with the same seed evaluates {len(again)} points instead of {len(first)}"
    differ = np.flatnonzero((first != again).any(axis=1))
    if differ.size:
        return f"a run repeated with the same seed differs from point {int(differ[0]) + 1} on"
    return ""


def noise(optimizer: Optimizer) -> str:
    """It sees observations of a noisy problem, never the true values."""
    problem = NoisySphere()
    run, watched = run_on(optimizer, problem, USUAL)
    if fault := _fault(run):
        return f"on a noisy problem {fault}"
    if problem.built[0].peeks:
        return f"it asked {problem.built[0].peeks} times for values without noise"
    if watched.values != problem.built[0].told[: len(watched.values)]:
        return "it was told something else than the observations"
    return ""


def nan(optimizer: Optimizer) -> str:
    """It goes on where the objective is NaN, in half of the box or everywhere."""
    return _goes_on(optimizer, np.nan)


def infinity(optimizer: Optimizer) -> str:
    """It goes on where the objective is infinite, in half of the box or everywhere."""
    return _goes_on(optimizer, np.inf)


def plateau(optimizer: Optimizer) -> str:
    """It goes on where the objective is the same everywhere."""
    run, _ = run_on(optimizer, Probe(lambda _: 1.0), USUAL)
    return _fault(run)


def exceptions(optimizer: Optimizer) -> str:
    """An exception of the objective ends its run and is told, or it goes on."""
    calls = 0

    def refuses(x: FloatArray) -> float:
        nonlocal calls
        calls += 1
        if calls == 10:
            raise Refused("the tenth evaluation")
        return sphere(x)

    run, _ = run_on(optimizer, Probe(refuses), USUAL)
    if calls < 10 or run.outcome.reason is not Reason.FAILED or "the tenth evaluation" in run.outcome.traceback:
        return ""
    return f"the objective's exception was replaced by {run.outcome.message}"


def one_variable(optimizer: Optimizer) -> str:
    """It optimizes a function of one variable."""
    run, _ = run_on(optimizer, Probe(sphere, 1), SHORT)
    return _fault(run)


def many_variables(optimizer: Optimizer) -> str:
    """It optimizes a function of 1,000 variables."""
    run, _ = run_on(optimizer, Probe(sphere, 1000), SHORT)
    return _fault(run)


def progress(optimizer: Optimizer) -> str:
    """On the sphere in 5 dimensions 2,000 evaluations improve on the first."""
    run, _ = run_on(optimizer, _OFF_CENTRE, LONG)
    values = run.trajectory.values
    if fault := _fault(run):
        return fault
    return "" if values.size > 1 and values[-1] < 0.9 * values[0] else f"it got from {values[:1]} to {values[-1:]}"


def travel(optimizer: Optimizer) -> str:
    """It can be pickled, and described in a study file."""
    again = pickle.loads(cloudpickle.dumps(optimizer))
    if describe(again) != describe(optimizer):
        return "it changes when it is pickled"
    if describe(from_description(describe(optimizer))) != describe(optimizer):
        return "what a study file would say of it makes another optimizer"
    return ""


CHECKS: dict[str, Check] = {
    "bounds": bounds,
    "budget": budget,
    "seed": seed,
    "noise": noise,
    "nan": nan,
    "infinity": infinity,
    "plateau": plateau,
    "exceptions": exceptions,
    "one-variable": one_variable,
    "many-variables": many_variables,
    "progress": progress,
    "travel": travel,
}
"""All checks by name."""


def _points(optimizer: Optimizer, number: int) -> FloatArray:
    return np.array(run_on(optimizer, _OFF_CENTRE, USUAL, number)[1].points)


def _goes_on(optimizer: Optimizer, value: float) -> str:
    for where, probe in {
        "half of the box": Probe(lambda x: value if x[0] > 0 else sphere(x)),
        "all of the box": Probe(lambda _: value),
    }.items():
        run, _ = run_on(optimizer, probe, USUAL)
        if fault := _fault(run):
            return f"where {where} is {value} {fault}"
    return ""


def _fault(run: Run) -> str:
    """How a run failed, if it did."""
    if run.outcome.reason is Reason.FAILED:
        return f"it fails with {run.outcome.message} after {run.outcome.evaluations} evaluations"
    return "" if run.outcome.evaluations else "it evaluates nothing"

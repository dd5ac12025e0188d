"""What is expected of an optimizer, one function each: it returns what is wrong, or nothing."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from unittest import SkipTest

import cloudpickle
import numpy as np

from polarbear.conformance.probes import NoisySphere, Probe, Watched, objectives_of, run_on, sphere
from polarbear.conformance.second_process import elsewhere, forget
from polarbear.experiment import WorkerError
from polarbear.optimizers import Optimizer, describe, from_description
from polarbear.records import FloatArray, Reason, Run

Check = Callable[[Optimizer], str]

SHORT, USUAL, LARGE, LONG = 60, 400, 1100, 2000
"""Evaluations of a run; `LARGE` is for many variables, and more than a gradient by differences takes there."""
SECONDS = 10.0
"""Seconds after which a long run, or one with many variables, ends all the same."""
TIMEOUT = 60.0
"""Seconds a check may take in a process of its own."""


_OFF_CENTRE = Probe(lambda x: sphere(x - 1.0))
_SIDES = np.array([1e-3, 1.0, 10.0, 1e4])


class Refused(Exception):  # noqa: N818 - what a probe raises
    """Raised by the objective of a probe."""


class Inapplicable(SkipTest):
    """Raised by a check that says nothing about an optimizer; pytest and unittest skip the test."""


def bounds(optimizer: Optimizer) -> str:
    """It evaluates nothing outside the box, for 2,000 evaluations or 10 seconds, whatever comes first."""
    told: list[str] = []
    boxes = {
        "[-5, 5]^5": Probe(sphere),
        "a box far from zero": Probe(lambda x: sphere(x - 1e6), 3, 1e6 - 1, 1e6 + 2),
        "a box of unequal sides": Probe(lambda x: sphere(x / _SIDES), 4, -_SIDES, 2 * _SIDES),
        "a box with the optimum in a corner": Probe(lambda x: float(x.sum()), 5, 0.0, 1.0),
    }
    for where, probe in boxes.items():
        problem = probe.build()
        run, watched = run_on(optimizer, probe, LONG, seconds=SECONDS)
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
    """Its run follows from its generator alone, in another process too, and other seeds make other runs."""
    points, wrong = repeated_here(optimizer)
    return wrong or repeated_elsewhere(optimizer, points, TIMEOUT)


def repeated_here(optimizer: Optimizer) -> tuple[FloatArray, str]:
    """The points of a run, and what is wrong when it is repeated in this process, with its seed and with another."""
    first, wrong = _points(optimizer, 1)
    if wrong:
        return first, wrong
    other, _ = _points(optimizer, 2)
    if len(other) > 1 and np.array_equal(first, other):
        return first, "runs with different seeds evaluate the same points"
    return first, _difference(first, *_points(optimizer, 1))


def repeated_elsewhere(optimizer: Optimizer, first: FloatArray, timeout: float) -> str:
    """What is wrong when the run is repeated in another process.

    If anything is, a new process decides: the one before may know an older state of a module, or have been left in
    disorder by another optimizer.

    Args:
        optimizer: The optimizer.
        first: (evaluations, d) points of the run in this process.
        timeout: Seconds the run may take.
    """
    if wrong := _elsewhere(optimizer, first, timeout):
        forget()
        wrong = _elsewhere(optimizer, first, timeout)
    return wrong


def noise(optimizer: Optimizer) -> str:
    """It sees observations of a noisy problem, never the true values."""
    if objectives_of(optimizer) > 1:
        raise Inapplicable("it takes several objectives only, and there are no noisy problems with several")
    problem = NoisySphere()
    run, watched = run_on(optimizer, problem, USUAL)
    if fault := _fault(run):
        return f"on a noisy problem {fault}"
    if problem.built[0].peeks:
        return f"it asked {problem.built[0].peeks} times for values without noise"
    told = [float(value[0]) for value in watched.values]
    return "" if told == problem.built[0].told[: len(told)] else "it was told something else than the observations"


def nan(optimizer: Optimizer) -> str:
    """It does not fail where half of the box, or all of it, is NaN; it does not give up where half is."""
    return _withstands(optimizer, np.nan)


def infinity(optimizer: Optimizer) -> str:
    """It does not fail where half of the box, or all of it, is inf or -inf; it does not give up where half is inf."""
    return _withstands(optimizer, np.inf) or _withstands(optimizer, -np.inf)


def plateau(optimizer: Optimizer) -> str:
    """It does not fail where the objective is the same everywhere."""
    run, _ = run_on(optimizer, Probe(lambda _: 1.0), USUAL)
    return _fault(run)


def exceptions(optimizer: Optimizer) -> str:
    """An exception of the objective ends its run and is told, or it goes on."""
    calls: list[float] = []

    def refuses(x: FloatArray) -> float:
        calls.append(sphere(x))
        if len(calls) == 10:
            raise Refused("the tenth call")
        return calls[-1]

    run, _ = run_on(optimizer, Probe(refuses), USUAL)
    if len(calls) < 10:
        return _fault(run)
    if run.outcome.reason is Reason.FAILED and "the tenth call" not in run.outcome.traceback:
        return f"the objective's exception was replaced by {run.outcome.message}"
    if run.outcome.reason is Reason.STOPPED and len(calls) == 10:
        return "it ends at the objective's exception as if it were done, and does not tell it"
    return ""


def one_variable(optimizer: Optimizer) -> str:
    """It optimizes a function of one variable, for 400 evaluations."""
    run, _ = run_on(optimizer, Probe(sphere, 1), USUAL)
    return _fault(run)


def many_variables(optimizer: Optimizer) -> str:
    """It optimizes a function of 1,000 variables, for 1,100 evaluations or 10 seconds, whatever comes first."""
    run, _ = run_on(optimizer, Probe(sphere, 1000), LARGE, seconds=SECONDS)
    return _fault(run)


def progress(optimizer: Optimizer) -> str:
    """On a sphere in 5 dimensions, or two spheres, 2,000 evaluations improve the value, or I_HV+, of the first."""
    run, _ = run_on(optimizer, _OFF_CENTRE, LONG)
    values = run.trajectory.values
    if fault := _fault(run):
        return fault
    enough = values.size > 1 and values[-1] < values[0] - 0.1 * abs(values[0])
    return "" if enough else f"it got from {values[:1]} to {values[-1:]}"


def travel(optimizer: Optimizer) -> str:
    """It can be pickled, and described in a study file."""
    try:
        again = pickle.loads(cloudpickle.dumps(optimizer))
    except Exception as error:  # noqa: BLE001 - whatever pickling raises is what is wrong
        return f"it cannot be pickled: {type(error).__name__}: {error}"
    try:
        described = describe(optimizer)
        if describe(again) != described:
            return "it changes when it is pickled"
        if describe(from_description(described)) != described:
            return "what a study file would say of it makes another optimizer"
    except Exception as error:  # noqa: BLE001 - the same for study files
        return f"it cannot be described in a study file: {type(error).__name__}: {error}"
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


def _points(optimizer: Optimizer, number: int) -> tuple[FloatArray, str]:
    """The points (evaluations, d) of a run with seed `number`, and how it failed."""
    run, watched = run_on(optimizer, _OFF_CENTRE, USUAL, number)
    return np.array(watched.points).reshape(-1, _OFF_CENTRE.dimension), _fault(run)


def _difference(first: FloatArray, again: FloatArray, wrong: str) -> str:
    """How a run's repetition differs."""
    if wrong:
        return f"a run repeated with the same seed ends otherwise: {wrong}"
    if first.shape != again.shape:
        return f"a run repeated with the same seed evaluates {len(again)} points instead of {len(first)}"
    differ = np.flatnonzero((first != again).any(axis=1))
    return f"a run repeated with the same seed differs from point {int(differ[0]) + 1} on" if differ.size else ""


def _elsewhere(optimizer: Optimizer, first: FloatArray, timeout: float) -> str:
    try:
        again = elsewhere(timeout, _points, optimizer, 1)
    except WorkerError as error:
        return f"a second process, in which its run is repeated, was lost: {error}"
    except Exception as error:  # noqa: BLE001 - pickling raises whatever it likes
        return f"its run cannot be repeated in another process (see 'travel'): {type(error).__name__}: {error}"
    wrong = _difference(first, *again)
    hint = "hash() of a text, and what modules draw when they are imported, differ between processes"
    return f"in another process {wrong}; {hint}" if wrong else ""


def _withstands(optimizer: Optimizer, value: float) -> str:
    """What a value in half of the box, or in all of it, does to an optimizer; it may end once it found -inf."""
    for where, probe in {
        "the upper half of the box": Probe(lambda x: value if x[0] > 0 else sphere(x)),
        "the lower half of the box": Probe(lambda x: value if x[0] < 0 else sphere(x)),
        "all of the box": Probe(lambda _: value),
    }.items():
        run, watched = run_on(optimizer, probe, USUAL)
        wrong = _fault(run)
        if not wrong and "half" in where and value != -np.inf:
            wrong = _given_up(run, watched)
        if wrong:
            return f"where {where} is {value} {wrong}"
    return ""


def _given_up(run: Run, watched: Watched) -> str:
    """How a run on the sphere with values that are not finite ended too early.

    It is compared to a run without them. It ended too early if the other one goes on for `LONG`; or if the other one is
    longer, and this one ended when it was told the first such value. A local search may converge sooner otherwise.
    """
    if run.outcome.reason is not Reason.STOPPED:
        return ""
    ended = run.outcome.evaluations
    without = run_on(watched.optimizer, Probe(sphere), LONG)[0].outcome
    told = f"it ends after {ended} of {USUAL} evaluations"
    if without.reason is Reason.BUDGET:
        return f"{told}, while it spends all of {LONG:,} on the sphere itself"
    if watched.ended_where_infinite and without.evaluations > ended:
        return f"{told}, at the first such value, but after {without.evaluations:,} on the sphere itself"
    return ""


def _fault(run: Run) -> str:
    """How a run failed, if it did."""
    if run.outcome.reason is Reason.FAILED:
        return f"it fails with {run.outcome.message} after {run.outcome.evaluations} evaluations"
    return "" if run.outcome.evaluations else "it evaluates nothing"

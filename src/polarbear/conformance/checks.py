"""The checks of an optimizer: functions that return what is wrong, or an empty string."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any
from unittest import SkipTest

import cloudpickle
import numpy as np

from polarbear.conformance.probes import (
    ELLIPSOID,
    OFF_CENTRE,
    USUAL,
    NoisySphere,
    Probe,
    Watched,
    fault_of,
    objectives_of,
    run_on,
    sphere,
)
from polarbear.conformance.repetition import repeat_elsewhere, repeat_here
from polarbear.optimizers import Optimizer, Switch, describe, from_description
from polarbear.protocols import starts_from_others
from polarbear.quantities import plural
from polarbear.records import FloatArray, Reason, Run
from polarbear.validation import parse_number, whole_number

Check = Callable[[Optimizer], str]

SHORT, LARGE, LONG = 60, 1100, 2000
"""Numbers of evaluations of a run; `LARGE` is for many variables, and exceeds a gradient by differences there."""
SECONDS = 10.0
"""Maximum number of seconds of a long run, or of one with many variables."""
TIMEOUT = 60.0
"""Maximum number of seconds of a check in its own process."""

SEEDS, FLOOR = 10, 1e-8
"""For a switch with a cost: number of runs, all worse by chance once in 1,024 times, and smallest value that counts."""

_SIDES = np.array([1e-3, 1.0, 10.0, 1e4])


class Refused(Exception):  # noqa: N818 - what a probe raises
    """Raised by the objective of a probe."""


class Inapplicable(SkipTest):
    """Raised by a check that does not apply to an optimizer; pytest and unittest skip the test."""


def bounds(optimizer: Optimizer) -> str:
    """It evaluates nothing outside the box, for 2,000 evaluations or 10 seconds, whichever comes first."""
    faults: list[str] = []
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
            faults.append(f"{outside.mean():.1%} of its points lie outside {where}")
        elif fault := fault_of(run):
            faults.append(f"in {where}, {fault}")
    return "; ".join(faults)


def budget(optimizer: Optimizer) -> str:
    """It ends when it is stopped, and evaluates nothing afterwards."""
    for evaluations in (1, 2, 7, SHORT, LONG):
        run, watched = run_on(optimizer, Probe(sphere), evaluations)
        if fault := fault_of(run):
            return f"with a budget of {evaluations}, {fault}"
        if run.outcome.evaluations > evaluations:
            return f"it used {run.outcome.evaluations} evaluations of a budget of {evaluations}"
        if watched.late:
            return f"it asked for {plural(watched.late, 'more evaluation')} after it had been stopped at {evaluations}"
    return ""


def seed(optimizer: Optimizer) -> str:
    """Its run depends on its generator alone, in another process too, and other seeds give other runs."""
    points, wrong = repeat_here(optimizer)
    return wrong or repeat_elsewhere(optimizer, points, TIMEOUT)


def noise(optimizer: Optimizer) -> str:
    """It sees observations of a noisy problem, never the true values."""
    if objectives_of(optimizer) > 1:
        raise Inapplicable("it only accepts several objectives, and noisy problems have one")
    problem = NoisySphere()
    run, watched = run_on(optimizer, problem, USUAL)
    if fault := fault_of(run):
        return f"on a noisy problem, {fault}"
    if problem.built[0].peeks:
        return f"it asked for values without noise {plural(problem.built[0].peeks, 'time')}"
    seen = [float(value[0]) for value in watched.values]
    return "" if seen == problem.built[0].observations[: len(seen)] else "it sees values other than the observations"


def nan(optimizer: Optimizer) -> str:
    """It does not fail where half of the box, or all of it, is NaN; it does not give up where half is."""
    return _withstands(optimizer, np.nan)


def infinity(optimizer: Optimizer) -> str:
    """It does not fail where half of the box, or all of it, is inf or -inf; it does not give up where half is inf."""
    return _withstands(optimizer, np.inf) or _withstands(optimizer, -np.inf)


def plateau(optimizer: Optimizer) -> str:
    """It does not fail where the objective is the same everywhere."""
    run, _ = run_on(optimizer, Probe(lambda _: 1.0), USUAL)
    return fault_of(run)


def exceptions(optimizer: Optimizer) -> str:
    """An exception of the objective ends its run and is reported, or the run continues."""
    calls: list[float] = []

    def refuses(x: FloatArray) -> float:
        calls.append(sphere(x))
        if len(calls) == 10:
            raise Refused("the tenth call")
        return calls[-1]

    run, _ = run_on(optimizer, Probe(refuses), USUAL)
    if len(calls) < 10:
        return fault_of(run)
    if run.outcome.reason is Reason.FAILED and "the tenth call" not in run.outcome.traceback:
        return f"the objective's exception was replaced by {run.outcome.message}"
    if run.outcome.reason is Reason.STOPPED and len(calls) == 10:
        return "it ends at the objective's exception as if it were done, and does not report it"
    return ""


def one_variable(optimizer: Optimizer) -> str:
    """It optimizes a function of one variable, for 400 evaluations."""
    run, _ = run_on(optimizer, Probe(sphere, 1), USUAL)
    return fault_of(run)


def many_variables(optimizer: Optimizer) -> str:
    """It optimizes a function of 1,000 variables, for 1,100 evaluations or 10 seconds, whichever comes first."""
    run, _ = run_on(optimizer, Probe(sphere, 1000), LARGE, seconds=SECONDS)
    return fault_of(run)


def progress(optimizer: Optimizer) -> str:
    """On a sphere in 5 dimensions, or two spheres, 2,000 evaluations improve the value, or I_HV+, of the first."""
    run, _ = run_on(optimizer, OFF_CENTRE, LONG)
    values = run.trajectory.values
    if fault := fault_of(run):
        return fault
    improved = values.size > 1 and values[-1] < values[0] - 0.1 * abs(values[0])
    return "" if improved else f"its best value was {values[:1]} at the start and {values[-1:]} at the end"


def switch(optimizer: Optimizer) -> str:
    """A switch to itself after 400 evaluations of 800 changes nothing, or loses no more than its `switch_cost`."""
    if objectives_of(optimizer) > 1:
        raise Inapplicable("it only accepts several objectives, and switches need a single one")
    if not starts_from_others(optimizer):
        raise Inapplicable("it cannot start from another optimizer; this needs a method run_from(problem, rng, start)")
    switched = Switch(optimizer, optimizer, at=USUAL, name=optimizer.name)  # the name is part of a run's seed
    stated = getattr(optimizer, "switch_cost", None)
    if stated is not None:
        return _loses(optimizer, switched, _evaluations_of(stated))
    (run, alone), (after, again) = (run_on(each, ELLIPSOID, 2 * USUAL) for each in (optimizer, switched))
    if fault := fault_of(run) or fault_of(after):
        return f"when switched to itself, {fault}"
    first, second = np.array(alone.points), np.array(again.points)
    common = min(len(first), len(second))
    differ = np.flatnonzero((first[:common] != second[:common]).any(axis=1))
    if not differ.size and len(first) == len(second):
        return ""
    return (
        f"a switch to itself after {USUAL} evaluations changes the run from point "
        f"{int(differ[0]) + 1 if differ.size else common + 1} on; let run_from take over start.state, and report "
        "the end of each generation (attribute ends_steps), or give the maximum number of evaluations lost in an "
        'attribute switch_cost, such as 50, "10*d" or "all"'
    )


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
            return "its description in a study file yields a different optimizer"
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
    "switch": switch,
    "travel": travel,
}
"""All checks by name."""


def _evaluations_of(cost: Any) -> int:
    """A cost of switching as a number of evaluations of the probe.

    Raises:
        ValueError: If it is not a cost.
    """
    if cost == "all":
        return USUAL
    if isinstance(cost, str):
        return math.ceil(parse_number(cost, ELLIPSOID.dimension))
    return whole_number(cost, "switch_cost", 0)


def _loses(optimizer: Optimizer, switched: Optimizer, cost: int) -> str:
    """A message if a switch to itself loses more than `cost` evaluations, being worse in each of `SEEDS` runs."""
    for seed in range(SEEDS):
        alone, _ = run_on(optimizer, ELLIPSOID, 2 * USUAL, seed)
        again, _ = run_on(switched, ELLIPSOID, 2 * USUAL + cost, seed)
        if fault := fault_of(alone) or fault_of(again):
            return f"when switched to itself, {fault}"
        if again.trajectory.values[-1] <= max(alone.trajectory.values[-1], FLOOR):
            return ""
    return (
        f"with a switch to itself after {USUAL} evaluations, it is worse in {SEEDS} of {SEEDS} runs, although these "
        f"had {plural(cost, 'more evaluation')}, its switch_cost"
    )


def _withstands(optimizer: Optimizer, value: float) -> str:
    """How an optimizer fails at a value in half or all of the box, if it does; it may end once it has found -inf."""
    for where, probe in {
        "the upper half of the box": Probe(lambda x: value if x[0] > 0 else sphere(x)),
        "the lower half of the box": Probe(lambda x: value if x[0] < 0 else sphere(x)),
        "all of the box": Probe(lambda _: value),
    }.items():
        run, watched = run_on(optimizer, probe, USUAL)
        wrong = fault_of(run)
        if not wrong and "half" in where and value != -np.inf:
            wrong = _ends_early(run, watched)
        if wrong:
            return f"where {where} is {value}, {wrong}"
    return ""


def _ends_early(run: Run, watched: Watched) -> str:
    """How a run on the sphere with non-finite values ended too early, if it did.

    It is compared to a run on the plain sphere. It ended too early if the latter continues for `LONG` evaluations; or
    if the latter is longer, and this run ended at its first such value. Otherwise a local search may converge sooner.
    """
    if run.outcome.reason is not Reason.STOPPED:
        return ""
    ended = run.outcome.evaluations
    without = run_on(watched.optimizer, Probe(sphere), LONG)[0].outcome
    message = f"it ends after {ended} of {USUAL} evaluations"
    if without.reason is Reason.BUDGET:
        return f"{message}, but uses all {LONG:,} on the sphere itself"
    if watched.ended_where_infinite and without.evaluations > ended:
        return f"{message}, at the first such value, but only after {without.evaluations:,} on the sphere itself"
    return ""

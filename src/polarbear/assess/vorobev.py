"""The Vorob'ev expectation, a "mean" convergence curve, and the deviation of runs from it.

López-Ibáñez et al. 2024, section V, after Binois et al. 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polarbear.assess.aocc import aocc, attained_share
from polarbear.assess.attainment import level_curves
from polarbear.assess.step_functions import Bounds, Curve, FloatArray, StepFunction, step_functions


@dataclass(frozen=True, slots=True, eq=False)
class Vorobev:
    """The Vorob'ev expectation of runs and their deviation from it.

    Attributes:
        curve: The expectation: the level curve of the EAF whose AOCC is closest to the runs' mean.
        level: Share of the runs that attain every point of the expectation.
        aocc: Normalized AOCC of the expectation.
        mean_aocc: Mean normalized AOCC of the runs.
        deviation: Mean over runs of the normalized area between the run's curve and the expectation.
    """

    curve: StepFunction
    level: float
    aocc: float
    mean_aocc: float
    deviation: float


def vorobev(runs: Sequence[Curve], *, times: Bounds, values: Bounds) -> Vorobev:
    """The Vorob'ev expectation and deviation within bounds of time and value, on their scales.

    `r` runs have `r` level curves, so the AOCC of the closest one differs slightly from the mean. Of two equally close
    ones the better is taken. `moocore.vorob_t` finds a neighbour of the mean on either side, by bisection, which need
    not be the closest; given the same curve, `moocore.vorob_dev` is the same deviation times the area of the box.

    Args:
        runs: Runs in any form that `step_functions` accepts, known up to `times.high`.
        times: Bounds of the times and their scale.
        values: Bounds of the values and their scale.

    Raises:
        ValueError: If there are no runs, or one is unknown within the bounds of time.
    """
    functions = step_functions(runs)
    areas = aocc(functions, times=times, values=values)
    if np.isnan(areas).any():
        number = int(np.argmax(np.isnan(areas)))
        raise ValueError(
            f"run {number} is unknown from {functions[number].until:g} on; lower times.high (now {times.high:g}), or "
            "extend its last value with step_functions(runs, carry=True)"
        )
    shares = (np.arange(len(functions)) + 1) / len(functions)
    curves = level_curves(functions, shares.tolist())
    levels = aocc(curves, times=times, values=values)
    best = int(np.argmin(np.abs(levels - areas.mean())))
    return Vorobev(
        curves[best],
        float(shares[best]),
        float(levels[best]),
        float(areas.mean()),
        float(np.mean(_distances(functions, curves[best], times, values))),
    )


def _distances(functions: Sequence[StepFunction], curve: StepFunction, times: Bounds, values: Bounds) -> FloatArray:
    """The normalized area between each run and a curve."""
    mean, *runs = attained_share([curve, *functions], values=values)
    return np.array([_difference(run, mean, times.high).mean(times) for run in runs])


def _difference(first: StepFunction, second: StepFunction, end: float) -> StepFunction:
    x = np.union1d(first.x, second.x)
    x = x[x < end]
    return StepFunction(x, np.abs(first(x) - second(x)), abs(first.before - second.before))

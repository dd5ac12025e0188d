"""The empirical attainment function (EAF): the share of runs that have reached a value by a time.

α(t, z) is the share of runs whose best-so-far value V(t) is at most z (López-Ibáñez et al. 2024, section II-B, eq. 2).
`eaf` computes it exactly, as the points at which it steps; `eaf_grid` computes it at the points of a grid.
`eaf_difference` and `eaf_difference_grid` show where one algorithm attains more than another, or than a portfolio
(section IV).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.assess.step_functions import (
    Curve,
    FloatArray,
    IntArray,
    StepFunction,
    runs_making,
    staircase,
    step_functions,
    values_at,
)


@dataclass(frozen=True, slots=True, eq=False)
class Attainment:
    """The EAF, represented by the lower left corners of its level sets.

    Attributes:
        points: (n, 2) times and values, or (n, 3) if the runs have three columns; grouped by count.
        counts: (n,) int64, smallest number of runs that attain the point and everything above and to the right of it.
        runs: Number of runs.
        until: Time from which on some runs are unknown, so that the true counts may be higher.
    """

    points: FloatArray
    counts: IntArray
    runs: int
    until: float = np.inf

    @property
    def fractions(self) -> FloatArray:
        """(n,) `counts` as shares of the runs."""
        return self.counts / self.runs


def eaf(runs: Sequence[Curve], *, levels: Sequence[float] | None = None) -> Attainment:
    """The exact EAF (López-Ibáñez et al. 2024, eq. 2), computed by `moocore.eaf` in O(n log n + n·runs).

    Args:
        runs: Runs in any form that `step_functions` accepts; or arrays (k, 3) of a time and two objectives.
        levels: Shares of the runs, each in [0, 1], whose level sets to compute; 0 stands for the best run. By default
            all level sets are computed.

    Raises:
        ValueError: If there are no runs, points contain NaN or differ in their number of columns, or a level is not in
            [0, 1].
    """
    from moocore import eaf as moocore_eaf

    sets, until = point_sets(runs)
    counts = np.arange(1, len(sets) + 1) if levels is None else np.unique(runs_making(levels, len(sets)))
    points, numbers = stacked(sets)
    steps = moocore_eaf(points, numbers, percentiles=(counts * (100.0 / len(sets))).tolist())
    steps = steps[(steps < np.inf).all(axis=1)]
    return Attainment(steps[:, :-1].copy(), np.rint(steps[:, -1] * len(sets) / 100).astype(np.int64), len(sets), until)


def level_curves(runs: Sequence[Curve], levels: Sequence[float] = (0.0, 0.5, 1.0)) -> tuple[StepFunction, ...]:
    """The level sets of the EAF as convergence curves; by default the best, the median and the worst.

    The curve of a level is the lowest value that at least this share of the runs has reached by each time
    (López-Ibáñez et al. 2024, section V). No single run needs to follow it.

    Args:
        runs: Runs in any form that `step_functions` accepts.
        levels: Shares of the runs, each in [0, 1].

    Raises:
        ValueError: For the same reasons as `eaf`.
    """
    functions = step_functions(runs)
    surface = eaf(functions, levels=levels)
    wanted = runs_making(levels, surface.runs)
    return tuple(staircase(surface.points[surface.counts == count], until=surface.until) for count in wanted)


def eaf_grid(values: ArrayLike, targets: ArrayLike, *, omit_unknown: bool = False) -> FloatArray:
    """The exact EAF at the points of a grid: the share of runs with value ≤ target.

    Row j is the empirical distribution function of the values at time j; its mean over targets is the target-based
    ECDF at that time (López-Ibáñez et al. 2024, eq. 3).

    Args:
        values: (runs, times) best-so-far values, as returned by `values_at`: +inf before the first value, NaN where
            unknown.
        targets: (targets,) finite target values.
        omit_unknown: Whether to take the share among the runs known at a time. By default the EAF is NaN where any run
            is unknown.

    Returns:
        (times, targets) EAF, from 0 to 1; NaN where no run is known.

    Raises:
        ValueError: If the shapes are wrong, or there are no runs.
    """
    best, targets = _grid(values, targets)
    attained = np.zeros((best.shape[1], targets.size), dtype=np.int64)
    for run in best:
        attained += run[:, None] <= targets
    known = (~np.isnan(best)).sum(axis=0)
    enough = known > 0 if omit_unknown else known == best.shape[0]
    return np.where(enough, attained.T / np.maximum(known, 1), np.nan).T


def second_order_eaf(
    runs: Sequence[Curve],
    times: ArrayLike,
    targets: ArrayLike,
    *,
    given: tuple[float, float],
    conditional: bool = False,
) -> FloatArray:
    """The second-order EAF on a grid: the share of runs that attain (t, z) and also a given (t', z').

    It shows whether runs that are good (or late) at one time are also so at another (López-Ibáñez et al. 2024, section
    V, after Fonseca et al. 2005).

    Args:
        runs: Runs in any form that `step_functions` accepts.
        times: (times,) times t.
        targets: (targets,) values z.
        given: The time t' and the value z'.
        conditional: Whether to take the share among the runs that attain (t', z').

    Returns:
        (times, targets) second-order EAF; NaN where a run is unknown at t or t'.

    Raises:
        ValueError: If `conditional` is true and no run attains (t', z').
    """
    time, target = given
    values, earlier = values_at(runs, times), values_at(runs, time)[:, 0]
    if np.isnan(earlier).any():
        return np.full((values.shape[1], np.size(targets)), np.nan)
    attains = earlier <= target
    if conditional and not attains.any():
        raise ValueError(f"no run attains {target!r} by time {time!r}; give a later time or a higher value")
    joint = np.where(attains[:, None] | np.isnan(values), values, np.inf)
    return eaf_grid(joint, targets) / (attains.mean() if conditional else 1.0)


def point_sets(runs: Sequence[Curve]) -> tuple[list[FloatArray], float]:
    """Each run's points, (k, 2) or (k, 3), and the time from which on a run is unknown."""
    if not any(_has_three_columns(run) for run in runs):
        functions = step_functions(runs)
        return [function.points() for function in functions], min(function.until for function in functions)
    sets = [run for run in runs if _has_three_columns(run)]
    if len(sets) < len(runs) or any(np.isnan(points).any() for points in sets):
        raise ValueError("some runs are (k, 3) arrays; then all runs must be, and none may contain NaN")
    return sets, np.inf


def _has_three_columns(run: Any) -> TypeGuard[FloatArray]:
    return isinstance(run, np.ndarray) and np.shape(cast(FloatArray, run))[1:] == (3,)


def stacked(sets: Sequence[FloatArray]) -> tuple[FloatArray, IntArray]:
    """All points, one set after another, and the set of each, in the form that `moocore` takes.

    `moocore` ignores sets without points, so a run without points gets one at infinity, which attains nothing.
    """
    filled = [points if len(points) else np.full((1, points.shape[1]), np.inf) for points in sets]
    return np.concatenate(filled), np.repeat(np.arange(len(filled)), [len(points) for points in filled])


def _grid(values: ArrayLike, targets: ArrayLike) -> tuple[FloatArray, FloatArray]:
    best, levels = floats(values), np.atleast_1d(floats(targets))
    if best.ndim != 2 or not best.shape[0]:
        raise ValueError(f"values have shape {best.shape}; they must be (runs, times), with at least one run")
    if levels.ndim != 1 or not np.isfinite(levels).all():
        raise ValueError(f"targets are {targets!r}; they must be (targets,) and finite")
    return best, levels


@dataclass(frozen=True, slots=True, eq=False)
class AttainmentDifference:
    """The difference of two EAFs: constant on each of n disjoint rectangles, 0 outside them.

    Attributes:
        lower: (n, 2) time and value of each rectangle's lower left corner, which belongs to it.
        upper: (n, 2) time and value of the upper right corner, which does not; inf where it is unbounded.
        difference: (n,) share of the first algorithm's runs that attain it minus that of the second's, from -1 to 1.
        until: Time from which on some runs, and so the difference, are unknown.
    """

    lower: FloatArray
    upper: FloatArray
    difference: FloatArray
    until: float = np.inf


def eaf_difference(first: Sequence[Curve], second: Sequence[Curve]) -> AttainmentDifference:
    """The exact difference of the EAFs of two algorithms, by `moocore.eafdiff`.

    The numbers of runs may differ: `moocore` counts runs, so each run is then repeated up to the least common multiple,
    which leaves both EAFs unchanged.

    Args:
        first: Runs of one algorithm, in any form that `step_functions` accepts.
        second: Runs of the other algorithm, likewise.

    Raises:
        ValueError: If there are no runs, or points are not (k, 2) or contain NaN.
    """
    from moocore import eafdiff

    sides = [point_sets(first), point_sets(second)]
    if any(points.shape[1] != 2 for sets, _ in sides for points in sets):
        raise ValueError(
            "some runs are (k, 3) arrays; for a difference, runs must be (k, 2), each row a time and a value"
        )
    common = lcm(*(len(sets) for sets, _ in sides))
    tables = [np.column_stack(stacked(sets * (common // len(sets)))) for sets, _ in sides]
    runs = [points for sets, _ in sides for points in sets]
    if all(np.array_equal(points, runs[0]) for points in runs):
        rectangles = np.empty((0, 5))  # all level sets coincide, which `eafdiff` of moocore 0.3 cannot return
    else:
        rectangles = eafdiff(tables[0], tables[1], rectangles=True)
    rectangles = rectangles[(rectangles[:, :2] < np.inf).all(axis=1) & (rectangles[:, 4] != 0)]
    return AttainmentDifference(
        rectangles[:, :2], rectangles[:, 2:4], rectangles[:, 4] / common, min(until for _, until in sides)
    )


def eaf_difference_grid(
    first: ArrayLike, portfolio: Sequence[ArrayLike], targets: ArrayLike, *, omit_unknown: bool = False
) -> FloatArray:
    """One algorithm's EAF minus the upper envelope of a portfolio's EAFs, at the points of a grid.

    It is positive where the algorithm attains a target by a time more often than every algorithm of the portfolio.

    Args:
        first: (runs, times) best-so-far values, as returned by `values_at`.
        portfolio: (runs, times) values of each of the other algorithms at the same times; one for a pair of algorithms.
        targets: (targets,) finite target values.
        omit_unknown: As in `eaf_grid`.

    Returns:
        (times, targets) differences from -1 to 1; NaN where any of the EAFs is unknown.

    Raises:
        ValueError: If the portfolio is empty, or the numbers of times differ.
    """
    if not len(portfolio):
        raise ValueError("the portfolio is empty; give at least one algorithm to compare with")
    surface, *others = (eaf_grid(values, targets, omit_unknown=omit_unknown) for values in (first, *portfolio))
    if any(other.shape != surface.shape for other in others):
        raise ValueError(
            f"the algorithms have values at {[len(s) for s in (surface, *others)]} times; give all of them at the same"
        )
    return surface - np.max(others, axis=0)

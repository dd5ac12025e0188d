"""Runs as step functions of time, and the bounds and scales between which they are averaged.

Everything about attainment is computed from best-so-far curves V(t): constant between improvements, +inf before the
first one. `step_functions` turns trajectories or plain points into them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.records import Axis, Run, Trajectory
from polarbear.validation import set_fields

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Bounds:
    """An interval of values or times, and its scale.

    Attributes:
        low: Lower end.
        high: Upper end.
        log: Whether distances are measured on a logarithmic scale, as for COCO's 1e-8 to 100.

    Raises:
        ValueError: Unless low < high, both are finite, and low > 0 on a logarithmic scale.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not -np.inf < self.low < self.high < np.inf:
            raise ValueError(f"bounds need low < high, both finite; got low={self.low!r} and high={self.high!r}")
        if self.log and self.low <= 0:
            raise ValueError(f"a logarithmic scale needs low > 0, got low={self.low!r}; raise it or use log=False")

    @classmethod
    def of(cls, values: ArrayLike, *, log: bool = False) -> Bounds:
        """Bounds at the lowest and the highest finite value; only positive values count on a logarithmic scale."""
        flat = floats(values).ravel()
        inside = flat[np.isfinite(flat) & ((flat > 0) | (not log))]
        if not inside.size:
            raise ValueError(f"no finite {'positive ' if log else ''}value to take bounds from; give low and high")
        return cls(float(inside.min()), float(inside.max()), log)

    def scaled(self, values: ArrayLike) -> FloatArray:
        """Positions of values between the bounds, from 0 to 1, clipped outside; same shape, and NaN stays NaN."""
        inside = np.clip(floats(values), self.low, self.high)
        low, high = self.low, self.high
        if self.log:
            inside, low, high = np.log(inside), np.log(low), np.log(high)
        return (inside - low) / (high - low)

    def spaced(self, count: int) -> FloatArray:
        """`count` values from `low` to `high` inclusive, evenly spaced on the scale."""
        return (np.geomspace if self.log else np.linspace)(self.low, self.high, count)


@dataclass(frozen=True, slots=True, eq=False)
class StepFunction:
    """A right-continuous step function: `y[j]` from `x[j]` up to, but not at, `x[j + 1]`.

    Attributes:
        x: (k,) float64, strictly increasing positions of the steps.
        y: (k,) float64, values from each step on.
        before: Value below `x[0]`.
        until: Position from which on the function is unknown.

    Raises:
        ValueError: If x and y are not 1-D arrays of equal length, x does not increase strictly, or one contains NaN.
    """

    x: FloatArray
    y: FloatArray
    before: float = np.inf
    until: float = np.inf

    def __post_init__(self) -> None:
        x, y = floats(self.x), floats(self.y)
        if x.ndim != 1 or x.shape != y.shape:
            raise ValueError(f"x and y have shapes {x.shape} and {y.shape}; they must be 1-D and of equal length")
        if not (np.diff(x) > 0).all() or np.isnan(x).any():
            raise ValueError("x does not increase strictly; sort the steps and merge those at equal x")
        if np.isnan(y).any():
            raise ValueError(f"y is not a number at entry {int(np.argmax(np.isnan(y)))}")
        set_fields(self, x=x, y=y)

    @classmethod
    def known(cls, x: FloatArray, y: FloatArray, before: float = np.inf, until: float = np.inf) -> StepFunction:
        """Make a step function from arrays that are known to satisfy the rules, without checks."""
        made = object.__new__(cls)
        set_fields(made, x=x, y=y, before=before, until=until)
        return made

    def __call__(self, at: ArrayLike) -> FloatArray:
        """The function's values, of the same shape as `at`; NaN where unknown."""
        at = floats(at)
        values = np.concatenate(([self.before], self.y))[np.searchsorted(self.x, at, side="right")]
        return np.where(at < self.until, values, np.nan)

    def mean(self, over: Bounds) -> float:
        """The mean between bounds, on their scale: the exact area below the function over their width.

        NaN if the function is unknown anywhere between the bounds.
        """
        if self.until < over.high:
            return float("nan")
        widths = np.diff(np.concatenate(([0.0], over.scaled(self.x), [1.0])))
        values = np.concatenate(([self.before], self.y))
        inside = widths > 0
        return float(widths[inside] @ values[inside])

    def points(self) -> FloatArray:
        """(k, 2) the steps as points (x, y)."""
        return np.column_stack((self.x, self.y))


Curve = Run | Trajectory | StepFunction | ArrayLike
"""One run: a `Run`, a `Trajectory`, a `StepFunction`, or (k, 2) points (time, value) in any order."""


def step_functions(
    runs: Sequence[Curve], *, axis: Axis = "evaluations", precision: bool = False, carry: bool = False
) -> tuple[StepFunction, ...]:
    """The runs' best-so-far values as step functions of time.

    A run that was cut short is unknown after its end: from the evaluation after its last, or from the moment it ended.

    Args:
        runs: Runs, trajectories, step functions, or (k, 2) arrays of points (time, value). Points need not be ordered
            or improve; step functions are returned unchanged.
        axis: The unit of the times of runs and trajectories.
        precision: Whether to subtract each run's optimum from its values; all runs must then be of type `Run`.
        carry: Whether to keep the last value of runs that were cut short forever, as if they never improved again.

    Raises:
        ValueError: If there are no runs, points are not (k, 2) or contain NaN, or an optimum is needed and unknown.
    """
    if not len(runs):
        raise ValueError("there are no runs; give at least one")
    return tuple(_step_function(run, number, axis, precision, carry) for number, run in enumerate(runs))


def values_at(runs: Sequence[Curve], times: ArrayLike) -> FloatArray:
    """(runs, times) best-so-far values of `runs` at `times`: +inf before a run's first value, NaN where unknown."""
    at, functions = np.atleast_1d(floats(times)), step_functions(runs)
    levels = np.concatenate([level for each in functions for level in ([each.before], each.y)])
    starts = np.cumsum([0, *(each.y.size + 1 for each in functions[:-1])])
    steps = np.stack([each.x.searchsorted(at, side="right") for each in functions])
    until = np.array([each.until for each in functions])
    return np.where(at < until[:, np.newaxis], levels[starts[:, np.newaxis] + steps], np.nan)


def from_smallest_budget(runs: Sequence[Curve], budgets: Sequence[float]) -> StepFunction:
    """The combined curve of an algorithm that was run separately with several budgets.

    At any time it is the best value found by the run with the smallest budget not yet exhausted, or before by runs with
    smaller budgets (Hansen et al. 2022, section II and footnote 3: "the data from the smallest eligible budget"). Costs
    of the smaller budgets are not added, so that the assessment is optimistic, as noted there.

    Args:
        runs: One run for each budget, in any form that `step_functions` accepts.
        budgets: Increasing positive budgets.

    Raises:
        ValueError: If there is not one budget for each run, or they do not increase.
    """
    functions, limits = step_functions(runs), floats(budgets)
    if limits.shape != (len(functions),) or not (np.diff(limits, prepend=0.0) > 0).all():
        raise ValueError(
            f"budgets are {budgets!r}; give one per run ({len(functions)} in all), positive and increasing"
        )
    points: list[FloatArray] = []
    for run, begin, end in zip(functions, np.concatenate([[0.0], limits[:-1]]), limits, strict=True):
        inside = (run.x > begin) & (run.x <= end)
        points.append(run.points()[inside])
        if not begin:
            continue
        known = float(run(np.nextafter(begin, np.inf)))
        if known < np.inf:  # its value within the smaller budget counts from the next evaluation on
            points.append(np.array([[min(begin + 1, end), known]]))
    return staircase(np.concatenate(points), until=float(np.nextafter(limits[-1], np.inf)))


def breakpoints(runs: Sequence[Curve]) -> FloatArray:
    """All times at which any of the runs improves, increasing; between them nothing changes."""
    return np.unique(np.concatenate([function.x for function in step_functions(runs)]))


def pointwise_mean(functions: Sequence[StepFunction]) -> StepFunction:
    """The exact pointwise mean of step functions with finite values, with a step wherever any of them steps.

    It is unknown as soon as any of them is.

    Raises:
        ValueError: If a function takes an infinite value.
    """
    levels = [np.concatenate(([function.before], function.y)) for function in functions]
    if not all(np.isfinite(level).all() for level in levels):
        raise ValueError("a step function with infinite values has no mean; scale it between bounds first")
    x, where = np.unique(np.concatenate([function.x for function in functions]), return_inverse=True)
    jumps = np.bincount(where, weights=np.concatenate([np.diff(level) for level in levels]), minlength=x.size)
    before = float(np.mean([function.before for function in functions]))
    until = reduce(min, (function.until for function in functions))
    lowest, highest = min(level.min() for level in levels), max(level.max() for level in levels)
    mean = np.clip(before + np.cumsum(jumps) / len(functions), lowest, highest)  # rounding errors may exceed these
    return StepFunction(x, mean, before, until)


def runs_making(shares: ArrayLike, runs: int) -> IntArray:
    """The smallest number of runs that makes up each share, at least one.

    Raises:
        ValueError: If a share is outside [0, 1].
    """
    shares = np.atleast_1d(floats(shares))
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError(f"shares of the runs are {shares.tolist()}; each must be between 0 and 1")
    return np.maximum(np.ceil(shares * runs - 1e-9), 1).astype(np.int64)  # 0.07 * 100 is a little above 7


def staircase(points: ArrayLike, *, until: float = np.inf) -> StepFunction:
    """The best value up to each time among points (time, value), of shape (k, 2) and in any order.

    Raises:
        ValueError: If the shape is not (k, 2) or a point contains NaN.
    """
    points = floats(points)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"points have shape {points.shape}; a run must be (k, 2), each row a time and a value")
    if np.isnan(points).any():
        raise ValueError(f"point {int(np.argmax(np.isnan(points).any(axis=1)))} is not a number")
    return _staircase(points[:, 0], points[:, 1], until)


def _staircase(x: FloatArray, y: FloatArray, until: float) -> StepFunction:
    """The best y up to each x, both without NaN."""
    if (x[1:] > x[:-1]).all() and (y[1:] < y[:-1]).all() and not (y.size and y[0] == np.inf):  # as runs are recorded
        return StepFunction.known(x, y, until=until)
    order = np.lexsort((y, x))
    best = np.minimum.accumulate(y[order])
    improves = best < np.concatenate(([np.inf], best[:-1]))
    return StepFunction.known(x[order][improves], best[improves], until=until)


def _step_function(run: Curve, number: int, axis: Axis, precision: bool, carry: bool) -> StepFunction:
    optimum = _optimum(run, number) if precision else 0.0
    if isinstance(run, Run):
        run = run.trajectory
    if isinstance(run, Trajectory):
        return _staircase(floats(run.along(axis)), run.values - optimum, np.inf if carry else _end(run, axis))
    if isinstance(run, StepFunction):
        return StepFunction(run.x, run.y, run.before) if carry else run
    try:
        return staircase(run)
    except ValueError as error:
        raise ValueError(f"run {number}: {error}") from error


def _end(trajectory: Trajectory, axis: Axis) -> float:
    """The time from which on a trajectory is unknown."""
    outcome = trajectory.outcome
    if not outcome.cut_short:
        return np.inf
    return outcome.evaluations + 1.0 if axis == "evaluations" else float(np.nextafter(outcome.seconds, np.inf))


def _optimum(run: Curve, number: int) -> float:
    optimum = run.optimum if isinstance(run, Run) else None
    if optimum is None:
        name = run.key if isinstance(run, Run) else f"run {number}"
        raise ValueError(f"the optimum of {name} is unknown; give a Run with its optimum, or use precision=False")
    return optimum

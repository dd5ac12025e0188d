"""Units of budgets, and grids of timepoints."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from polarbear.records.arrays import FloatArray

Axis = Literal["evaluations", "seconds"]
"""Unit of budgets: objective evaluations, or wall-clock seconds since the start of the run."""
AXES: tuple[Axis, ...] = get_args(Axis)


def check_axis(axis: str) -> Axis:
    """Return `axis` if it is valid, else raise a ValueError that lists the axes."""
    if axis not in AXES:
        raise ValueError(f"axis is {axis!r}; it must be one of {', '.join(AXES)}")
    return axis


def log_times(first: float, last: float, count: int, axis: Axis = "evaluations") -> FloatArray:
    """Timepoints spaced evenly on a log scale, from `first` to `last` inclusive.

    Evaluations are rounded to whole numbers and repeated ones dropped, so fewer than `count` may remain.

    Args:
        first: The smallest timepoint, positive.
        last: The largest timepoint.
        count: Number of timepoints, at least 2.
        axis: "evaluations", or "seconds", which are not rounded.

    Returns:
        At most `count` timepoints, float64, strictly increasing.

    Raises:
        ValueError: If not 0 < first < last, or count < 2.
    """
    if not 0 < first < last < np.inf:
        raise ValueError(f"log_times needs 0 < first < last, got first={first!r} and last={last!r}")
    return _times(np.geomspace, first, last, count, axis)


def linear_times(first: float, last: float, count: int, axis: Axis = "evaluations") -> FloatArray:
    """Timepoints spaced evenly from `first` to `last` inclusive; otherwise as `log_times`, but `first` may be 0."""
    if not 0 <= first < last < np.inf:
        raise ValueError(f"linear_times needs 0 <= first < last, got first={first!r} and last={last!r}")
    return _times(np.linspace, first, last, count, axis)


def _times(space: Any, first: float, last: float, count: int, axis: Axis) -> FloatArray:
    if count < 2:
        raise ValueError(f"count is {count!r}; at least 2 timepoints are needed to span first to last")
    times = np.asarray(space(first, last, count), dtype=np.float64)
    return np.unique(np.rint(times)) if check_axis(axis) == "evaluations" else times

"""Geometric averages of runtimes and their ratios (Hansen et al. 2022, section V-C)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polarbear.records import FloatArray


def geometric_mean(runtimes: ArrayLike, axis: int | None = None) -> FloatArray:
    """The geometric average of runtimes: eq. 4 with all B equal to 1.

    Args:
        runtimes: Positive numbers; a missing runtime, inf, makes the average inf.
        axis: Along which axis to average; over all by default.

    Raises:
        ValueError: If a runtime is not positive or there are none.
    """
    times = np.asarray(runtimes, dtype=np.float64)
    if not times.size or not (times > 0).all():
        raise ValueError("a geometric average needs at least one runtime, all of them positive")
    return np.exp(np.log(times).mean(axis=axis))


def geometric_mean_ratio(first: ArrayLike, second: ArrayLike, axis: int | None = None) -> FloatArray:
    """Geometric average runtime ratio (eq. 4): how many times longer the first data set's runtimes are.

    It equals the exponential of the area between the two runtime distributions on a logarithmic axis, and depends
    neither on the order of the data nor on a common scale. The sets may differ in size.

    Args:
        first: Positive runtimes A.
        second: Positive runtimes B.
        axis: Along which axis to average; over all by default.

    Returns:
        The ratio; NaN where both sets hold a missing runtime, inf.

    Raises:
        ValueError: If a runtime is not positive or there are none.
    """
    above, below = geometric_mean(first, axis), geometric_mean(second, axis)
    with np.errstate(invalid="ignore"):
        return above / below

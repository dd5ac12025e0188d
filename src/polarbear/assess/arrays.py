"""Convert input to checked arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polarbear.records import FloatArray


def floats(numbers: ArrayLike) -> FloatArray:
    """Numbers of any shape as a float64 array."""
    return np.asarray(numbers, dtype=np.float64)


def without_nan(numbers: ArrayLike, name: str) -> FloatArray:
    """Numbers as a float64 array.

    Raises:
        ValueError: If an entry is NaN; the message has `name` and the entry's index.
    """
    array = floats(numbers)
    if np.isnan(array).any():
        raise ValueError(
            f"there is a NaN in {name} at entry {tuple(map(int, np.argwhere(np.isnan(array))[0]))}; leave it out"
        )
    return array


def checked_runtimes(runtimes: ArrayLike) -> FloatArray:
    """Runtimes as a float64 array.

    Raises:
        ValueError: If the shape is not (runs, targets) with at least one run, or an entry is NaN.
    """
    times = without_nan(runtimes, "runtimes")
    if times.ndim != 2 or not len(times):
        raise ValueError(f"runtimes have shape {times.shape}; they must be (runs, targets) with at least one run")
    return times


def checked_weights(weights: ArrayLike | None, runs: int) -> FloatArray:
    """(runs,) positive weights, all 1 if None.

    Raises:
        ValueError: If there is not one positive number per run.
    """
    if weights is None:
        return np.ones(runs)
    counts = floats(weights)
    if counts.shape != (runs,) or not (np.isfinite(counts) & (counts > 0)).all():
        raise ValueError(f"weights are {counts!r}; give one finite positive number per run, {runs} in all")
    return counts

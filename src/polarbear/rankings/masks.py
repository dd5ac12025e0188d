"""Sets of algorithms as the bits of 64-bit words, and arrays of several timepoints' entries one after another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records import FloatArray, IntArray

MaskArray = NDArray[np.uint64]
MOST_ALGORITHMS = 64
"""Sets of algorithms are kept as the bits of 64-bit words."""


def check_algorithms(algorithms: int) -> None:
    """Raise a ValueError unless sets of so many algorithms can be kept."""
    if not 1 <= algorithms <= MOST_ALGORITHMS:
        raise ValueError(
            f"there are {algorithms} algorithms; rankings are kept for 1 to {MOST_ALGORITHMS}. Rank fewer at once"
        )


def membership(sets: MaskArray, algorithms: int) -> FloatArray:
    """(s, n) float64: 1 where bit i of the set is set, else 0."""
    bits = np.arange(algorithms, dtype=np.uint64)
    return ((sets[:, np.newaxis] >> bits) & np.uint64(1)).astype(np.float64)


def chosen_entries(offsets: IntArray, timepoints: IntArray) -> tuple[IntArray, IntArray]:
    """Which entries some timepoints have, in their order, and the offsets of these among themselves."""
    sizes = np.diff(offsets)[timepoints]
    chosen = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    return np.arange(int(chosen[-1])) + np.repeat(offsets[timepoints] - chosen[:-1], sizes), chosen


def frozen(array: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """A copy that cannot be written to."""
    copy = np.array(array, dtype=dtype)
    copy.flags.writeable = False
    return copy

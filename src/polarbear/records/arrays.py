"""Read-only arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def frozen_vector(array: ArrayLike, dtype: type[np.generic], name: str) -> NDArray[Any]:
    """A read-only copy of a 1-D array; ValueError if it has another shape."""
    frozen = np.array(array, dtype=dtype)
    if frozen.ndim != 1:
        raise ValueError(f"{name} has shape {frozen.shape}; it must be 1-D")
    frozen.flags.writeable = False
    return frozen


def frozen_evaluations(array: ArrayLike) -> IntArray:
    """A read-only copy of evaluation numbers; ValueError unless they start at 1 or later and increase strictly."""
    evaluations = frozen_vector(array, np.int64, "evaluations")
    require(evaluations[:1] >= 1, "evaluations", "starts below 1")
    require(evaluations[1:] > evaluations[:-1], "evaluations", "does not increase strictly")
    return evaluations


def frozen_points(array: ArrayLike) -> FloatArray:
    """A read-only float64 array: the array itself if it is one, else a copy."""
    frozen = np.asarray(array, dtype=np.float64)
    if frozen.flags.writeable:
        frozen = frozen.copy()
        frozen.flags.writeable = False
    return frozen


def require(holds: NDArray[np.bool_], name: str, complaint: str) -> None:
    """Raise a ValueError that names the array and the first entry where a condition does not hold."""
    if np.count_nonzero(holds) < holds.size:  # much faster than `all` for few entries
        raise ValueError(f"{name} {complaint} near entry {int(np.argmin(holds))}")

"""How spread out the points of a run are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polarbear.records import FloatArray


def diversity(points: ArrayLike) -> FloatArray:
    """Mean standard deviation over the variables of populations.

    For the diversity of fitness, give the values as points of one variable.

    Args:
        points: (..., m, d) the m points of each population.

    Returns:
        (...): The mean over the variables of the standard deviation over the points (n in the denominator).

    Raises:
        ValueError: If there are fewer than two axes, or no points.
    """
    array = np.asarray(points, dtype=np.float64)
    if array.ndim < 2 or not array.size:
        raise ValueError(f"points has shape {array.shape}; give (..., m, d), the m points of each population")
    return array.std(axis=-2).mean(axis=-1)

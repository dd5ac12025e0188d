"""How spread out the points of a run are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from polarbear.records import FloatArray, IntArray, Run
from polarbear.validation import whole_number


@dataclass(frozen=True, eq=False)
class RunDiversity:
    """How spread out the populations of a run are (Vermetten 2025, section 5.4).

    Attributes:
        evaluations: (k,) the last evaluation of each population.
        pop_div: (k,) the mean over the variables of the standard deviation of its points.
        fit_div: (k,) the standard deviation of its values; NaN where one is not finite.
    """

    evaluations: IntArray
    pop_div: FloatArray
    fit_div: FloatArray


def run_diversity(run: Run, size: int) -> RunDiversity:
    """The diversity of the points and of the values of a run, population by population.

    Args:
        run: A run of which every point was kept (``points = "all"`` in the log of a plan; read with ``samples=True``).
        size: Points of a population; what remains at the end of the run is left out.

    Raises:
        ValueError: If points were not kept, or not all, or the run is shorter than a population.
    """
    samples = run.samples
    kept = 0 if samples is None else len(samples.points)
    if samples is None or samples.evaluations[-1] != kept:
        raise ValueError(f'{run.key} has {kept} points of its evaluations; keep them all by points = "all" in the log')
    whole_number(size, "size", 2, kept)
    count = kept // size
    points = samples.points[: count * size].reshape(count, size, -1)
    values = samples.values[: count * size].reshape(count, size)
    finite = np.isfinite(values).all(axis=1)
    fit_div = np.where(finite, diversity(np.where(finite[:, np.newaxis], values, 0.0)[..., np.newaxis]), np.nan)
    return RunDiversity(samples.evaluations[size - 1 : count * size : size], diversity(points), fit_div)


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

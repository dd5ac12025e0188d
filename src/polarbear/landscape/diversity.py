"""Diversity of the points of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records import FloatArray, IntArray, Run
from polarbear.validation import whole_number


@dataclass(frozen=True, eq=False)
class RunDiversity:
    """Diversity of the populations of a run (Vermetten 2025, section 5.4).

    Attributes:
        evaluations: (k,) last evaluation of each population.
        pop_div: (k,) standard deviation of its points, averaged over the variables.
        fit_div: (k,) standard deviation of its values; NaN if one is not finite.
    """

    evaluations: IntArray
    pop_div: FloatArray
    fit_div: FloatArray


def run_diversity(run: Run, size: int) -> RunDiversity:
    """The diversity of the points and values of a run, population by population.

    Args:
        run: Run of which every point was kept (``points = "all"`` in the log of a plan; read with ``samples=True``).
        size: Number of points of a population; the remainder at the end of the run is left out.

    Raises:
        ValueError: If points were not kept, or not all of them, or the run is shorter than a population.
    """
    samples = run.samples
    kept = 0 if samples is None else len(samples.points)
    if samples is None or samples.evaluations[-1] != kept:
        raise ValueError(f'{run.key} has only {kept} recorded points; record all with points = "all" in the log')
    whole_number(size, "size", 2, kept)
    count = kept // size
    points = samples.points[: count * size].reshape(count, size, -1)
    values: FloatArray = samples.values[: count * size].reshape(count, size)
    finite: NDArray[np.bool_] = np.all(np.isfinite(values), axis=1)
    fit_div = np.where(finite, diversity(np.where(finite[:, np.newaxis], values, 0.0)[..., np.newaxis]), np.nan)
    return RunDiversity(samples.evaluations[size - 1 : count * size : size], diversity(points), fit_div)


def diversity(points: ArrayLike) -> FloatArray:
    """The standard deviation of the points of populations, averaged over the variables.

    For the diversity of fitness, pass the values as points with one variable.

    Args:
        points: (..., m, d) the m points of each population.

    Returns:
        (...): Standard deviation over the points (n in the denominator), averaged over the variables.

    Raises:
        ValueError: If there are fewer than two axes, or no points.
    """
    array = np.asarray(points, dtype=np.float64)
    if array.ndim < 2 or not array.size:
        raise ValueError(f"points has shape {array.shape}; give (..., m, d), the m points of each population")
    return array.std(axis=-2).mean(axis=-1)

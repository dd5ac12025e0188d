"""Other costs than the number of evaluations (Hansen et al. 2022, section III-B)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.records import FloatArray


def cumulative_costs(runtimes: ArrayLike, costs: Sequence[ArrayLike]) -> FloatArray:
    """Turn runtimes counted in evaluations into cumulative costs; everything downstream stays the same.

    Args:
        runtimes: (runs, targets) evaluations, inf where a target was missed; or (runs,) evaluations spent.
        costs: For each run what each of its evaluations cost, (evaluations of the run,), not negative: seconds, or a
            sum of objective and constraint evaluations.

    Returns:
        The shape of `runtimes`: the summed costs of all evaluations up to each runtime, inf where missed.

    Raises:
        ValueError: If there is not one array per run, a cost is negative or NaN, or a runtime exceeds the evaluations
            whose costs are given.
    """
    times = np.asarray(runtimes, dtype=np.float64)
    if times.ndim not in (1, 2) or len(times) != len(costs):
        raise ValueError(
            f"runtimes have shape {times.shape} and there are costs of {len(costs)} runs; give one for each"
        )
    totals = np.empty(times.shape)
    for row, (counts, each) in enumerate(zip(times, costs, strict=True)):
        steps = np.asarray(each, dtype=np.float64)
        if steps.ndim != 1 or not (steps >= 0).all():
            raise ValueError(f"run {row}: costs have shape {steps.shape}; give one number from 0 for each evaluation")
        finite = np.isfinite(counts)
        if (counts[finite] > steps.size).any():
            raise ValueError(f"run {row}: a runtime exceeds the {steps.size} evaluations whose costs are given")
        sums = np.concatenate([[0.0], np.cumsum(steps), [np.inf]])
        totals[row] = sums[np.where(finite, counts, -1).astype(np.intp)]
    return totals

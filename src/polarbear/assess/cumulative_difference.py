"""The cumulative difference plot: which of two algorithms is better among the good results, and which among the poor.

Both samples are put on one scale, the joint rank from 0 (best) to 1 (worst), on which an equal mixture of the two
algorithms is uniform. G(p) is the share of an algorithm's results up to rank p; where G of the first is larger, its
results are concentrated among the better ones. Source: Arza et al. (2022), Comparing two samples through stochastic
dominance: a graphical approach, Journal of Computational and Graphical Statistics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import without_nan
from polarbear.records import FloatArray
from polarbear.validation import real_number, whole_number


@dataclass(frozen=True, slots=True, eq=False)
class CumulativeDifference:
    """How the results of two algorithms are distributed over their joint ranks.

    Attributes:
        levels: (p,) joint ranks, from 0, the best, to 1, the worst.
        difference: (p,) share of the first algorithm's results up to each rank minus that of the second's, from -1 to
            1. If it is nowhere below 0, the first is at least as good at every level (first-order stochastic
            dominance).
        lower: (p,) lower end of the bootstrap band.
        upper: (p,) upper end of the bootstrap band.
        confidence: Confidence level of the band, pointwise at each level.
        better: Probability that the first has the lower result, ties counting half: 1/2 plus the area below
            `difference`.
    """

    levels: FloatArray
    difference: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    better: float


def cumulative_difference(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator,
    levels: int = 101,
    confidence: float = 0.95,
    resamples: int = 2000,
) -> CumulativeDifference:
    """The cumulative difference of two samples, lower is better, with a bootstrap band.

    Runs are resampled within each algorithm. The package RVCompare draws as many runs as the smaller sample has; here
    each sample keeps its size. Tied results share one interval of ranks, along which both distributions grow linearly.

    Args:
        first: (n,) one number per run: values at a budget or runtimes to a target, inf where the run failed.
        second: (m,) the same for the other algorithm.
        rng: The source of randomness of the bootstrap.
        levels: Number of evenly spaced ranks.
        confidence: Confidence level of the band.
        resamples: Number of bootstrap samples.

    Raises:
        ValueError: If a sample is empty, not one-dimensional or contains NaN, or an option is out of range.
    """
    ours, theirs = _sample(first, "first"), _sample(second, "second")
    real_number(confidence, "confidence", gt=0, lt=1)
    at = np.linspace(0.0, 1.0, whole_number(levels, "levels", 2))
    _, ranks = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    mine, other = ranks[: ours.size], ranks[ours.size :]
    size = int(ranks.max()) + 1
    drawn = np.array(
        [
            _difference(_counts(rng.choice(mine, mine.size), size), _counts(rng.choice(other, other.size), size), at)
            for _ in range(whole_number(resamples, "resamples", 1))
        ]
    )
    lower, upper = np.quantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    counts = _counts(mine, size), _counts(other, size)
    return CumulativeDifference(at, _difference(*counts, at), lower, upper, confidence, _better(*counts))


def _sample(numbers: ArrayLike, name: str) -> FloatArray:
    sample = without_nan(numbers, name)
    if sample.ndim != 1 or not sample.size:
        raise ValueError(f"{name} has shape {sample.shape}; give one number per run, and at least one run")
    return sample


def _counts(ranks: np.ndarray[tuple[int, ...], np.dtype[np.intp]], size: int) -> FloatArray:
    """(size,) share of the runs at each distinct result, from the best to the worst."""
    return np.bincount(ranks, minlength=size) / ranks.size


def _difference(ours: FloatArray, theirs: FloatArray, at: FloatArray) -> FloatArray:
    """G_first - G_second at ranks, linear between the ends of the intervals of distinct results."""
    ends = np.concatenate([[0.0], np.cumsum(ours + theirs) / 2])  # the mixture of both is uniform
    heights = np.concatenate([[0.0], np.cumsum(ours - theirs)])
    ends[-1], heights[-1] = 1.0, 0.0  # in spite of rounding errors
    return np.interp(at, ends, heights)


def _better(ours: FloatArray, theirs: FloatArray) -> float:
    """P(first < second) + P(first = second) / 2."""
    return float(ours @ (1 - np.cumsum(theirs) + theirs / 2))

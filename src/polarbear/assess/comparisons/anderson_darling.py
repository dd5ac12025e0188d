"""The two-sample Anderson–Darling test with p-values of any size.

SciPy's `anderson_ksamp` reports no p-value below 0.001 or above 0.25, which is useless when many pairs are tested.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.records import FloatArray, IntArray

_LIMIT_VARIANCE = 2 * (np.pi**2 - 9) / 3
_STEP = 1 / 16
"""Step of the trapezoidal rule, which converges geometrically: the integrand is analytic up to a distance of 1."""


def anderson_darling_two_sample(first: FloatArray, second: FloatArray) -> tuple[float, float]:
    """The standardized statistic of two samples, with midranks for ties, and its asymptotic p-value."""
    statistics, p_values, _ = anderson_darling_pairs((first, second), np.array([0]), np.array([1]))
    return float(statistics[0]), float(p_values[0])


def anderson_darling_pairs(
    samples: Sequence[FloatArray], first: IntArray, second: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Test pairs of samples.

    The statistic minus its mean 1, divided by its standard deviation under the null hypothesis, is compared with the
    limit distribution, standardized in the same way; for two samples that is the limit of the one-sample statistic. If
    all runs are equal, or there are fewer than 4, the statistic is 0 and the p-value 1.

    Source: Scholz and Stephens (1987), K-sample Anderson–Darling tests, equation 7 (the statistic).

    Args:
        samples: The samples.
        first: (pairs,) index of the first sample of each pair.
        second: (pairs,) index of the second sample.

    Returns:
        (pairs,) standardized statistics; (pairs,) p-values; and (pairs,) the probability that a run of the first sample
        is lower than one of the second, ties counting half, minus 1/2.
    """
    sizes = np.array([sample.size for sample in samples], dtype=np.int64)
    used: NDArray[np.bool_] = np.arange(max(sample.size for sample in samples)) < sizes[:, None]
    padded, together = np.full(used.shape, np.inf), np.concatenate(samples)
    padded[used] = together
    order = np.argsort(together)
    lowest = np.zeros((len(samples), together.size + 1), dtype=np.int64)  # how many of each are among the k lowest
    lowest[np.repeat(np.arange(len(samples)), sizes)[order], np.arange(1, together.size + 1)] = 1
    lowest = np.cumsum(lowest, axis=1)
    below, upto = (  # (samples, samples, runs) how many runs of the first lie below, or not above, each of the second
        lowest[:, np.searchsorted(together[order], padded, side=side)] for side in ("left", "right")
    )
    n, m = sizes[first][:, None], sizes[second][:, None]
    total, pair = n + m, (first, second)
    statistic = np.zeros((first.size, 1))
    for whose in pair:  # equation 7 as a sum over runs: each of l tied ones has a share of 1 / l
        counts = [(below[each, whose], upto[each, whose]) for each in pair]
        middle = sum(low + high for low, high in counts) / 2
        ties = sum(high - low for low, high in counts)
        spread = middle * (total - middle) - total * ties / 4
        weight = np.divide(1.0, spread, out=np.zeros(spread.shape), where=used[whose] & (ties < total))
        for (low, high), size in zip(counts, (n, m), strict=True):
            difference = total * (low + high) / 2 - middle * size
            statistic += (weight * difference**2).sum(axis=1, keepdims=True) / size
    statistic *= (total - 1) / total**2
    of_sizes = {pair: _variance(*pair) for pair in set(zip(n[:, 0].tolist(), m[:, 0].tolist(), strict=True))}
    variance = np.array([of_sizes[pair] for pair in zip(n[:, 0].tolist(), m[:, 0].tolist(), strict=True)])
    differ = sum(upto[each, first, 0] - below[each, first, 0] for each in pair) < total[:, 0]
    sure = differ & (variance > 0)
    standardized = np.where(sure, (statistic[:, 0] - 1) / np.sqrt(np.where(sure, variance, 1.0)), 0.0)
    distinct, where = np.unique(standardized, return_inverse=True)
    p_values = np.where(sure, limit_survival(1 + distinct * math.sqrt(_LIMIT_VARIANCE))[where], 1.0)
    above = (below[second, first] + upto[second, first]) / 2  # number of runs of the second below each run of the first
    higher = np.where(used[first], above, 0.0).sum(axis=1) / (n * m)[:, 0]
    return standardized, p_values, 0.5 - higher


@lru_cache(maxsize=1 << 10)
def _variance(first: int, second: int) -> float:
    """Variance of the statistic for two samples without ties (Scholz and Stephens 1987, with k = 2).

    It is 0 with fewer than 4 runs.
    """
    total = first + second
    if total < 4:
        return 0.0
    inverse = 1 / np.arange(1, total)
    h, big_h = float(inverse.sum()), 1 / first + 1 / second
    tails = np.cumsum(inverse[:0:-1])[::-1]  # at i = 1, …, N-2: the sum of 1/j over i < j < N
    g = float((tails / (total - np.arange(1, total - 1))).sum())
    a = (4 * g - 6) + (10 - 6 * g) * big_h
    b = (2 * g - 4) * 4 + 16 * h + (2 * g - 14 * h - 4) * big_h - 8 * h + 4 * g - 6
    c = (6 * h + 2 * g - 2) * 4 + (4 * h - 4 * g + 6) * 2 + (2 * h - 6) * big_h + 4 * h
    d = (2 * h + 6) * 4 - 8 * h
    return (a * total**3 + b * total**2 + c * total + d) / ((total - 1) * (total - 2) * (total - 3))


def limit_survival(statistic: ArrayLike) -> FloatArray:
    """Probability that the sum of independent χ²₁ variables, the jth divided by j(j+1), exceeds `statistic`.

    The result has the shape of `statistic`. The absolute error is below 1e-12 up to 20; beyond that only the variable
    with the largest weight matters, and the relative error is below 2 %.

    Source: Anderson and Darling (1954), A test of goodness of fit (the series for the limit's distribution).
    """
    from scipy.special import binom, erfc  # slow to import

    x = floats(statistic)
    inside = np.clip(x, 0.03, 20.0).ravel()  # the distribution function is below 1e-15 at 0.03
    total, left = np.zeros(inside.size), np.arange(inside.size)
    for j in range(100):
        rate = (4 * j + 1) ** 2 * np.pi**2 / (8 * inside[left])
        w = _STEP * np.arange(1 + int(np.sqrt(40 / np.min(rate, initial=np.inf)) / _STEP))
        square = 1 + w**2
        heights = np.exp(inside[left, None] / (8 * square) - rate[:, None] * square)
        integral = _STEP * (heights.sum(axis=-1) - heights[:, 0] / 2)
        term = float(binom(-0.5, j)) * (4 * j + 1) * integral
        total[left] += term
        left = left[np.abs(term) >= 1e-14]
        if not left.size:
            break
    series = np.clip(1 - math.sqrt(2 * np.pi) / inside * total, 0.0, 1.0).reshape(x.shape)
    return np.where(
        x > 20, math.sqrt(3) * np.asarray(erfc(np.sqrt(np.maximum(x, 0.0)))), np.where(x > 0.03, series, 1.0)
    )

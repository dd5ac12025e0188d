"""Kolmogorov–Smirnov tests between all pairs of many samples of equal size."""

from __future__ import annotations

from functools import cache
from math import comb
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from polarbear.extras import optional
from polarbear.records import FloatArray


def rejections(samples: ArrayLike, *, alpha: float = 0.05) -> NDArray[np.bool_]:
    """Which pairs of samples differ, by two-sample Kolmogorov–Smirnov tests with Benjamini–Hochberg correction.

    Args:
        samples: (k, n) k samples of n finite numbers.
        alpha: False discovery rate allowed over all pairs.

    Returns:
        (k (k - 1) / 2,): Whether the pairs (0, 1), (0, 2), … differ.

    Raises:
        ExtraMissing: If numba is not installed.
    """
    return false_discovery_control(p_values(samples)) <= alpha


def p_values(samples: ArrayLike) -> FloatArray:
    """(k (k - 1) / 2,) exact p-values of the pairs of (k, n) samples, looked up in a table of n + 1 values.

    Raises:
        ValueError: If there are fewer than two samples, or a number is not finite.
        ExtraMissing: If numba is not installed.
    """
    array = np.asarray(samples, dtype=np.float64)
    if array.ndim != 2 or len(array) < 2 or not array.shape[1] or not np.isfinite(array).all():
        raise ValueError(f"samples have shape {array.shape}; give (k, n) finite numbers, k ≥ 2")
    return _table(array.shape[1])[_compiled()(np.sort(array, axis=1))]


@cache
def _table(n: int) -> FloatArray:
    """P(D ≥ j / n), j = 0 … n, for two samples of size n (Gnedenko & Korolyuk 1951)."""
    paths = comb(2 * n, n)
    tails = [2 * sum((-1) ** (i - 1) * comb(2 * n, n - i * j) for i in range(1, n // j + 1)) for j in range(1, n + 1)]
    return np.array([1.0, *(min(tail / paths, 1.0) for tail in tails)])


@cache
def _compiled() -> Any:
    return optional("numba", "landscape", "the comparison of instances").njit(_distances)


def _distances(ordered: FloatArray) -> NDArray[np.int64]:
    """Maximum distance between the distribution functions of each pair of (k, n) sorted samples, times n."""
    k, n = ordered.shape
    distances = np.zeros(k * (k - 1) // 2, dtype=np.int64)
    pair = 0
    for a in range(k):
        for b in range(a + 1, k):
            i = j = greatest = 0
            while i < n and j < n:
                value = min(ordered[a, i], ordered[b, j])
                while i < n and ordered[a, i] == value:
                    i += 1
                while j < n and ordered[b, j] == value:
                    j += 1
                greatest = max(greatest, abs(i - j))
            distances[pair] = greatest
            pair += 1
    return distances

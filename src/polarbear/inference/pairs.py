"""Counts of the draws in which one rating is above another, or near it, for all pairs of n ratings.

For many algorithms, the positions of the ratings within each draw are compared instead of the ratings: two-byte
integers, many of which are compared at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from polarbear.records import FloatArray, IntArray

_FEW = 128
"""Up to this many algorithms, sorting the draws takes longer than it saves."""
BoolArray = NDArray[np.bool_]


def compared(ratings: FloatArray) -> NDArray[Any]:
    """(n, D) numbers that are ordered within each draw as the ratings (n, D) are, with the same ties."""
    if len(ratings) <= _FEW:
        return ratings
    order = np.argsort(ratings, axis=0)
    ordered = np.take_along_axis(ratings, order, axis=0)
    higher = np.pad(ordered[1:] > ordered[:-1], ((1, 0), (0, 0)))
    positions = np.empty(ratings.shape, np.uint16)
    np.put_along_axis(positions, order, np.cumsum(higher, axis=0, dtype=np.uint16), axis=0)
    return positions


def net_wins(ratings: FloatArray) -> IntArray:
    """(n, n) number of draws of the ratings (n, D) in which i is above j, minus those in which it is below."""
    values, n = compared(ratings), len(ratings)
    net = np.zeros((n, n), np.int64)
    for i in range(n - 1):
        net[i, i + 1 :] = counted(values[i] > values[i + 1 :]) - counted(values[i] < values[i + 1 :])
    return net - net.T


def near(ratings: FloatArray, odds: float) -> IntArray:
    """(n, n) number of draws in which neither of two ratings is more than `odds` times the other."""
    n, draws = ratings.shape
    counts = np.full((n, n), draws)
    if n <= _FEW:
        larger = odds * ratings
        for i in range(n - 1):
            counts[i, i + 1 :] = counted((ratings[i] <= larger[i + 1 :]) & (ratings[i + 1 :] <= larger[i]))
    else:
        values, first, last = np.empty((3, n, draws), np.uint16)
        for d, draw in enumerate(ratings.T):
            ordered = np.sort(draw)
            values[:, d] = np.searchsorted(ordered, draw)
            first[:, d] = np.searchsorted(odds * ordered, draw)
            last[:, d] = np.searchsorted(ordered, odds * draw, side="right")
        for i in range(n - 1):
            counts[i, i + 1 :] = counted((first[i] <= values[i + 1 :]) & (values[i + 1 :] < last[i]))
    return np.minimum(counts, counts.T)


def always_above(draws: FloatArray) -> FloatArray:
    """(n, n) share of the draws (D, T, n) in which i is above j at all timepoints."""
    number, timepoints, n = draws.shape
    values = [compared(np.ascontiguousarray(draws[:, t].T)) for t in range(timepoints)]
    counts = np.zeros((n, n), np.int64)
    for i in range(n - 1):
        ahead, behind = np.ones((2, n - 1 - i, number), np.bool_)
        for here in values:
            ahead &= here[i] > here[i + 1 :]
            behind &= here[i] < here[i + 1 :]
        counts[i, i + 1 :], counts[i + 1 :, i] = counted(ahead), counted(behind)
    return counts / number


def counted(holds: BoolArray) -> IntArray:
    """(k,) number of draws (k, D) in which a statement holds."""
    return np.bitwise_count(np.packbits(holds, axis=1)).sum(axis=1, dtype=np.int64)

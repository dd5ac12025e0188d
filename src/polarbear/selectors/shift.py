"""Whether problems are like those of a selector's training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from polarbear.records import FloatArray

_PERMUTATIONS = 999
_UNLIKE = 0.05
"""Significance level at which sets of problems count as unlike each other."""


def nearest_distances(points: FloatArray, groups: NDArray[np.intp]) -> FloatArray:
    """(P,) distance from each point (P, m) to the nearest point of another group."""
    distances = cdist(points, points)
    distances[groups[:, np.newaxis] == groups] = np.inf
    return distances.min(axis=1)


def nearest_share(points: FloatArray, groups: NDArray[np.intp], new: FloatArray) -> FloatArray:
    """(k,) for each new point, the share of points at least as far from the nearest point of another group.

    A new point counts among them, so that the share is at least 1 / (P + 1): a conformal p-value, if groups are
    exchangeable and of similar size.

    Args:
        points: (P, m) points on comparable scales.
        groups: (P,) group of each point; points of the same group are not independent.
        new: (k, m) new points.
    """
    apart = np.sort(nearest_distances(points, groups))
    nearest: FloatArray = np.asarray(cdist(new, points), dtype=np.float64).min(axis=1)
    nearer = np.searchsorted(apart, nearest, side="left").astype(np.float64)
    return (1 + apart.size - nearer) / (1 + apart.size)


def shift_probability(
    points: FloatArray,
    groups: NDArray[np.intp],
    new: FloatArray,
    new_groups: NDArray[np.intp],
    rng: np.random.Generator,
) -> float:
    """The p-value of the hypothesis that two sets of points have the same distribution; small if they do not.

    It is from a permutation test of the energy distance (Székely and Rizzo 2004) of the groups' means, since points of
    the same group are not independent. The test has little power against a difference in spread in many dimensions.

    Args:
        points: (P, m) points on comparable scales.
        groups: (P,) group of each point; points of the same group are not independent.
        new: (k, m) points of the second set.
        new_groups: (k,) group of each of these.
        rng: Random generator for the permutations.

    Raises:
        ValueError: If there are fewer than two groups in either set.
    """
    means = np.concatenate([_means(points, groups), _means(new, new_groups)])
    first = np.zeros(len(means))
    first[: np.unique(groups).size] = 1.0
    if first.all() or first.sum() < 2 or first.sum() > len(first) - 2:
        raise ValueError(
            f"the two sets have {int(first.sum())} and {int((1 - first).sum())} functions; "
            "a comparison needs at least two in each"
        )
    orders = np.stack([first, *(rng.permuted(first) for _ in range(_PERMUTATIONS))])
    a, b = orders / first.sum(), (1 - orders) / (1 - first).sum()
    energy = -(((a - b) @ cdist(means, means)) * (a - b)).sum(axis=1)
    return float((energy >= energy[0] * (1 - 1e-12)).mean())


def shift_in_words(probability: float | None) -> str | None:
    """A caution for use of a selector, given the p-value of `shift_probability`; None if there is no reason for one."""
    if probability is None or probability >= _UNLIKE:
        return None
    return (
        f"the problems differ from those of the training (p = {probability:.3g}): a selector based on features may "
        "lose more than the single best algorithm"
    )


def _means(points: FloatArray, groups: NDArray[np.intp]) -> FloatArray:
    numbers = np.unique(groups, return_inverse=True)[1].reshape(-1)
    sums = np.zeros((numbers.max() + 1, points.shape[1]))
    np.add.at(sums, numbers, points)
    return sums / np.bincount(numbers)[:, np.newaxis]

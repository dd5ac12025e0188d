"""Expected rank weights: probabilistic elite membership (PEM) of Wang and Lu (2026), equations 18, 19 and 36."""

from __future__ import annotations

import numpy as np

from polarbear.optimizers.noisy.selection import IntArray
from polarbear.records import FloatArray


def mean_weights(values: FloatArray, rank_weights: FloatArray) -> FloatArray:
    """Rank weights averaged over drawn values (eq. 36).

    Args:
        values: (b, λ) values drawn for each candidate.
        rank_weights: (..., λ) the weight of each rank.

    Returns:
        (..., λ) the mean weight of each candidate.
    """
    return superpose(membership(values), rank_weights)


def membership(values: FloatArray) -> FloatArray:
    """(λ, λ) for each candidate and each k, the share of rows of values (b, λ) in which it has rank k."""
    rows, count = values.shape
    cells: IntArray = values.argsort(axis=1, kind="stable")  # the candidate at each rank
    cells += np.arange(0, count * count, count, dtype=np.intp)
    return np.bincount(cells.reshape(-1), minlength=count * count).reshape(count, count).T / rows


def superpose(probabilities: FloatArray, rank_weights: FloatArray) -> FloatArray:
    """(..., λ) expected weights Σₖ P(rank k) w(k) of candidates with rank probabilities (λ, λ) (eq. 18)."""
    return rank_weights @ probabilities.T


def instability(probabilities: FloatArray, rank_weights: FloatArray) -> FloatArray:
    """(λ,) the variance of each candidate's weight w(k), (λ,), given its rank probabilities (λ, λ) (eq. 47)."""
    mean = probabilities @ rank_weights
    return np.maximum(probabilities @ np.square(rank_weights) - np.square(mean), 0.0)


def rank_probabilities(below: FloatArray, mass: FloatArray) -> FloatArray:
    """Exact rank probabilities of independent values, by quadrature.

    Given that candidate i has the value u, its rank is one more than the number of others below u. That number is a sum
    of independent Bernoulli variables, whose distribution is a product of polynomials.

    Args:
        below: (λ, n, λ) the probability that each other candidate (last axis) lies below each node of candidate i.
        mass: (λ, n) the weight of each node under candidate i's distribution, summing to 1.

    Returns:
        (λ, λ) for each candidate and each k, the probability of rank k.
    """
    count = len(below)
    law = np.zeros((*below.shape[:2], count))
    law[..., 0] = 1.0
    for j in range(count):
        p = below[:, :, j, None].copy()
        p[j] = 0.0
        law[..., 1:] = law[..., 1:] * (1 - p) + law[..., :-1] * p
        law[..., :1] *= 1 - p
    return np.einsum("in,ink->ik", mass, law)

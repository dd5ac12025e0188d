"""The Plackett–Luce log-likelihood of log-ratings over time, with derivatives, for many paths at once.

At each timepoint the n log-ratings are μ = Q η, where the columns of Q are the n − 1 Helmert contrasts (appendix A of
Wurth et al. 2026): orthonormal, and orthogonal to the all-ones vector, along which the likelihood is constant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polarbear.inference.batches import IN_CACHE, batches
from polarbear.inference.likelihood.large_ties import TieTerms
from polarbear.rankings import ChoiceCounts, MaskArray, membership
from polarbear.records import FloatArray

_MAX_FILL = 2.0
"""Timepoints share a list of choice sets if that at most doubles the number of counts."""
_MAX_PAIRED = 16
"""Number of algorithms up to which curvatures are sums over pairs: a product with n⁴ entries, faster than matrices for
small n."""
_CERTAIN = 50.0
"""A difference of log-ratings at which the better algorithm practically always wins."""
_SMALLEST = -300.0
"""Log-ratings are clipped this far below the best: lower ones do not matter in a sum, and their squares underflow."""


def helmert(algorithms: int) -> FloatArray:
    """(n, n − 1) Helmert contrasts (eq. 38): orthonormal columns that sum to zero."""
    k = np.arange(1, algorithms)
    contrasts = np.triu(np.tile(np.sqrt(1.0 / (k * (k + 1))), (algorithms, 1)))
    contrasts[k, k - 1] = -np.sqrt(k / (k + 1))
    return contrasts


def ratings(eta: FloatArray, contrasts: FloatArray) -> FloatArray:
    """(..., n, D) ratings that sum to 1, from contrasts (..., n − 1, D)."""
    theta = _relative(eta, contrasts)[1]
    theta /= theta.sum(axis=-2, keepdims=True)
    return theta


class Expansion(NamedTuple):
    """The log-likelihood of K paths, and its derivatives at each timepoint.

    Attributes:
        value: (K,) log-likelihood.
        gradient: (T, n − 1, K) gradient.
        curvature: (K, T, n − 1, n − 1) negative Hessian, positive semi-definite.
    """

    value: FloatArray
    gradient: FloatArray
    curvature: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Timepoints with the same choice sets.

    Attributes:
        times: The slice of these timepoints.
        wins: (m, n, 1) how often each algorithm was chosen.
        members: (s, n) 1 where the algorithm is in the choice set, else 0.
        amounts: (m, s) how often each set was chosen from.
        pairs: (s, n (n + 1) / 2) 1 where both algorithms of a pair are in the choice set; empty if n is large.
    """

    times: slice
    wins: FloatArray
    members: FloatArray
    amounts: FloatArray
    pairs: FloatArray

    def chosen_from(self, theta: FloatArray) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield some sets at a time, their amounts (m, s, 1), and sums (m, s, D) of ratings (m, n, D) over them."""
        for sets in batches(len(self.members), len(theta) * theta.shape[2], IN_CACHE):
            yield sets, self.amounts[:, sets, np.newaxis], self.members[sets] @ theta


class Likelihood:
    """The log-likelihood of the rankings in `counts` for D paths η (T, n − 1, D).

    Args:
        counts: The rankings, of at least two algorithms.
    """

    def __init__(self, counts: ChoiceCounts) -> None:
        n = counts.algorithms
        self.contrasts = helmert(n)
        self.shape = counts.timepoints, n - 1
        self._ties = TieTerms.of(counts.ties, n)
        self._paired = n <= _MAX_PAIRED
        first, second = self._first, self._second = np.triu_indices(n if self._paired else 0)
        self._blocks = self._all_blocks(counts)
        outer = self.contrasts[first, :, np.newaxis] * self.contrasts[second, np.newaxis, :]
        crossed = outer + outer.transpose(0, 2, 1)
        crossed[first == second] *= 0.5
        self._of_pairs = crossed.reshape(-1, (n - 1) ** 2)
        self._of_each = (self.contrasts[:, :, np.newaxis] * self.contrasts[:, np.newaxis, :]).reshape(n, -1)

    def _all_blocks(self, counts: ChoiceCounts) -> list[_Block]:
        """One block for all timepoints if they have most sets in common, else one for each timepoint."""
        timepoints = counts.timepoints
        union, position = np.unique(counts.sets, return_inverse=True, axis=0 if counts.sets.ndim > 1 else None)
        if 0 < len(union) * timepoints <= _MAX_FILL * len(counts.sets):
            amounts = np.zeros((timepoints, len(union)))
            amounts[np.repeat(np.arange(timepoints), np.diff(counts.offsets)), position] = counts.counts
            return [self._block(slice(0, timepoints), counts.wins, union, amounts)]
        each = ((t, *counts.at(t)) for t in range(timepoints))
        return [
            self._block(slice(t, t + 1), wins[np.newaxis], sets, amounts[np.newaxis])
            for t, wins, sets, amounts in each
            if sets.size
        ]

    def _block(self, times: slice, wins: FloatArray, sets: MaskArray, amounts: FloatArray) -> _Block:
        members = membership(sets, wins.shape[1])
        pairs = members[:, self._first] * members[:, self._second]
        return _Block(times, wins[:, :, np.newaxis], members, amounts, pairs)

    @property
    def unanimous(self) -> bool:
        """Whether one order explains all rankings at each timepoint: ratings far apart make them almost certain."""
        gradient = self.slope(np.zeros((*self.shape, 1)))[1]
        order = (self.contrasts @ gradient).argsort(axis=1).argsort(axis=1)
        return bool(self.value(self.contrasts.T @ (_CERTAIN * order))[0] > -1.0)

    def value(self, eta: FloatArray) -> FloatArray:
        """(D,) log-likelihood of paths (T, n − 1, D)."""
        value = np.zeros(eta.shape[2])
        for block, mu, theta in self._parts(eta):
            value += np.einsum("mnd,mnd->d", block.wins, mu)
            for _, amounts, chosen_from in block.chosen_from(theta):
                value -= np.einsum("ms,msd->d", amounts[:, :, 0], np.log(chosen_from, out=chosen_from))
        for ties in self._ties.parts(eta.shape[2]):
            value += ties.value(*_relative(eta[ties.timepoints], self.contrasts))
        return value

    def slope(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log-likelihood (D,) of paths (T, n − 1, D), and its gradient, of the same shape as the paths."""
        value, gradient = np.zeros(eta.shape[2]), np.zeros_like(eta)
        for block, mu, theta in self._parts(eta):
            value += np.einsum("mnd,mnd->d", block.wins, mu)
            expected = np.zeros_like(theta)
            for sets, amounts, chosen_from in block.chosen_from(theta):
                expected += block.members[sets].T @ (amounts / chosen_from)
                value -= np.einsum("ms,msd->d", amounts[:, :, 0], np.log(chosen_from, out=chosen_from))
            gradient[block.times] = self.contrasts.T @ (block.wins - theta * expected)
        for ties in self._ties.parts(eta.shape[2]):
            tie_value, tie_gradient = ties.slope(*_relative(eta[ties.timepoints], self.contrasts))
            value += tie_value
            gradient[ties.timepoints] += self.contrasts.T @ tie_gradient
        return value, gradient

    def expansion(self, eta: FloatArray) -> Expansion:
        """The log-likelihood of paths (T, n − 1, K) to second order.

        For one choice set S with shares p_i = θ_i / Σ_{j in S} θ_j the negative Hessian is diag(p) − p pᵀ. Over all
        sets, Σ_S c_S p_i p_j is θ_i θ_j times a weighted count of the sets that hold both i and j: a matrix product.
        """
        timepoints, q, paths = eta.shape
        value, gradient = np.zeros(paths), np.zeros_like(eta)
        curvature = np.zeros((paths, timepoints, q, q))
        for block, mu, theta in self._parts(eta):
            expected = np.zeros_like(theta)
            shared = np.zeros(
                (len(theta), self._first.size, paths) if self._paired else (paths, *block.wins.shape[:2], q + 1)
            )
            value += np.einsum("mnd,mnd->d", block.wins, mu)
            for sets, amounts, chosen_from in block.chosen_from(theta):
                rates = amounts / chosen_from
                expected += block.members[sets].T @ rates
                _count_pairs(shared, block, sets, rates / chosen_from)
                value -= np.einsum("ms,msd->d", amounts[:, :, 0], np.log(chosen_from, out=chosen_from))
            expected *= theta
            gradient[block.times] = self.contrasts.T @ (block.wins - expected)
            curvature[:, block.times] = (self._by_pairs if self._paired else self._by_matrices)(theta, expected, shared)
        for ties in self._ties.parts(paths * (q + 1)):
            tie_value, tie_gradient, tie_curvature = ties.expansion(*_relative(eta[ties.timepoints], self.contrasts))
            value += tie_value
            gradient[ties.timepoints] += self.contrasts.T @ tie_gradient
            curvature[:, ties.timepoints] += (self.contrasts.T @ tie_curvature @ self.contrasts).transpose(1, 0, 2, 3)
        return Expansion(value, gradient, curvature)

    def _parts(self, eta: FloatArray) -> Iterator[tuple[_Block, FloatArray, FloatArray]]:
        """Yield blocks, or parts of them that fit into the cache, with log-ratings and ratings (m, n, D) there."""
        for block in self._blocks:
            timepoints, sets = block.amounts.shape
            for part in batches(timepoints, sets * eta.shape[2], IN_CACHE):
                times = slice(block.times.start + part.start, block.times.start + part.stop)
                inner = _Block(times, block.wins[part], block.members, block.amounts[part], block.pairs)
                yield inner, *_relative(eta[times], self.contrasts)

    def _by_pairs(self, theta: FloatArray, expected: FloatArray, shared: FloatArray) -> FloatArray:
        """(K, m, n − 1, n − 1) curvature from ratings, expected wins (m, n, K), and counts of pairs (m, pairs, K)."""
        (m, _, paths), q = theta.shape, self.contrasts.shape[1]
        shared *= theta[:, self._first] * theta[:, self._second]
        curvature = expected.transpose(2, 0, 1) @ self._of_each - shared.transpose(2, 0, 1) @ self._of_pairs
        return curvature.reshape(paths, m, q, q)

    def _by_matrices(self, theta: FloatArray, expected: FloatArray, shared: FloatArray) -> FloatArray:
        """The same from counts of pairs (K, m, n, n), in O(n³), for many algorithms."""
        by_path = theta.transpose(2, 0, 1)
        shared *= -by_path[:, :, :, np.newaxis] * by_path[:, :, np.newaxis, :]
        diagonal = np.einsum("kmnn->kmn", shared)
        diagonal += expected.transpose(2, 0, 1)
        return self.contrasts.T @ shared @ self.contrasts


def _count_pairs(shared: FloatArray, block: _Block, sets: slice, rates: FloatArray) -> None:
    """Add some sets, weighted by rates (m, s, K), to the counts of pairs in `Likelihood.expansion`."""
    if block.pairs.size:
        shared += block.pairs[sets].T @ rates
        return
    for root, counts in zip(np.sqrt(rates).transpose(2, 0, 1), shared, strict=True):
        weighted = root[:, :, np.newaxis] * block.members[sets]
        counts += weighted.swapaxes(1, 2) @ weighted


def _relative(eta: FloatArray, contrasts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log-ratings (..., n, D) relative to the best of each column, and their exponentials."""
    mu = contrasts @ eta
    mu -= mu.max(axis=-2, keepdims=True)
    return mu, np.exp(np.maximum(mu, _SMALLEST))

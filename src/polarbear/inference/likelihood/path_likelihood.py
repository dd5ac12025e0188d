"""The Plackett–Luce log-likelihood of log-ratings over time, with derivatives, for many paths at once.

At each timepoint the n log-ratings are μ = Q η, where the columns of Q are the n − 1 Helmert contrasts (appendix A of
Wurth et al. 2026): orthonormal, and orthogonal to the all-ones vector, along which the likelihood is constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from polarbear.inference.likelihood.large_ties import TieTerms
from polarbear.rankings import ChoiceCounts, MaskArray, membership
from polarbear.records import FloatArray

_ENTRIES_AT_ONCE = 1 << 16
_MOST_EMPTY = 2.0
"""Timepoints share a list of choice sets if that at most doubles the number of counts."""
_MOST_PAIRED = 16
"""Algorithms up to which curvatures are sums over pairs: a product with n⁴ entries, faster than matrices while n is
small."""
_FAR = 50.0
"""A difference of log-ratings at which the better algorithm as good as always wins."""
_LEAST = -300.0
"""Log-ratings so far below the best do not matter in a sum, and the squares of their exponentials would vanish."""


def helmert(algorithms: int) -> FloatArray:
    """(n, n − 1) Helmert's contrasts (eq. 38): orthonormal columns that sum to zero."""
    contrasts = np.zeros((algorithms, algorithms - 1))
    for k in range(1, algorithms):
        contrasts[:k, k - 1] = np.sqrt(1.0 / (k * (k + 1)))
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
        gradient: (T, n − 1, K).
        curvature: (K, T, n − 1, n − 1) the negative Hessian, positive semi-definite.
    """

    value: FloatArray
    gradient: FloatArray
    curvature: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Timepoints whose choices are from the same sets.

    Attributes:
        times: Their slice.
        wins: (m, n, 1).
        members: (s, n) 1 where the algorithm is in the choice set, else 0.
        amounts: (m, s) how often each set was chosen from.
        pairs: (s, n (n + 1) / 2) 1 where both algorithms of a pair are in the choice set; empty if n is large.
    """

    times: slice
    wins: FloatArray
    members: FloatArray
    amounts: FloatArray
    pairs: FloatArray

    def parts(self, columns: int) -> Iterator[_Block]:
        """The block in parts whose (m, s, columns) entries fit into the processor's cache."""
        timepoints, sets = self.amounts.shape
        step = max(1, _ENTRIES_AT_ONCE // (sets * columns))
        if step >= timepoints:
            yield self
            return
        for begin in range(0, timepoints, step):
            part = slice(begin, begin + step)
            end = min(self.times.start + part.stop, self.times.stop)
            times = slice(self.times.start + begin, end)
            yield _Block(times, self.wins[part], self.members, self.amounts[part], self.pairs)

    def sets(self, columns: int) -> list[slice]:
        """Slices of the sets whose entries fit into the processor's cache."""
        step = max(1, _ENTRIES_AT_ONCE // (columns * len(self.amounts)))
        return [slice(start, start + step) for start in range(0, len(self.members), step)]


class Likelihood:
    """The log-likelihood of the rankings in `counts` for paths η (T, n − 1, D), D of them.

    Args:
        counts: The rankings, of at least two algorithms.
    """

    def __init__(self, counts: ChoiceCounts) -> None:
        self.contrasts = helmert(counts.algorithms)
        self.shape = counts.timepoints, counts.algorithms - 1
        self._paired = counts.algorithms <= _MOST_PAIRED
        self._first, self._second = np.triu_indices(counts.algorithms if self._paired else 0)
        self._blocks = self._all_blocks(counts)
        self._ties = TieTerms.of(counts.ties, counts.algorithms)
        q = counts.algorithms - 1
        outer = self.contrasts[self._first, :, np.newaxis] * self.contrasts[self._second, np.newaxis, :]
        crossed = outer + outer.transpose(0, 2, 1)
        crossed[self._first == self._second] *= 0.5
        self._of_pairs = crossed.reshape(-1, q * q)
        self._of_each = (self.contrasts[:, :, np.newaxis] * self.contrasts[:, np.newaxis, :]).reshape(-1, q * q)

    def _all_blocks(self, counts: ChoiceCounts) -> list[_Block]:
        """One block for all timepoints if they have most sets in common, else one for each timepoint."""
        union, place = np.unique(counts.sets, return_inverse=True, axis=0 if counts.sets.ndim > 1 else None)
        if 0 < len(union) * counts.timepoints <= _MOST_EMPTY * len(counts.sets):
            amounts = np.zeros((counts.timepoints, len(union)))
            amounts[np.repeat(np.arange(counts.timepoints), np.diff(counts.offsets)), place] = counts.counts
            return [self._block(slice(0, counts.timepoints), counts.wins, union, amounts)]
        blocks: list[_Block] = []
        for t in range(counts.timepoints):
            wins, sets, amounts = counts.at(t)
            if sets.size:
                blocks.append(self._block(slice(t, t + 1), wins[np.newaxis], sets, amounts[np.newaxis]))
        return blocks

    def _block(self, times: slice, wins: FloatArray, sets: MaskArray, amounts: FloatArray) -> _Block:
        members = membership(sets, wins.shape[1])
        pairs = members[:, self._first] * members[:, self._second]
        return _Block(times, wins[:, :, np.newaxis], members, amounts, pairs)

    @property
    def unanimous(self) -> bool:
        """Whether one order explains all rankings at each timepoint: ratings far apart make them almost certain."""
        slope = self.slope(np.zeros((*self.shape, 1)))[1]
        order = (self.contrasts @ slope).argsort(axis=1).argsort(axis=1)
        return bool(self.value(self.contrasts.T @ (_FAR * order))[0] > -1.0)

    def value(self, eta: FloatArray) -> FloatArray:
        """(D,) the log-likelihood of paths (T, n − 1, D)."""
        draws = eta.shape[2]
        value = np.zeros(draws)
        for whole in self._blocks:
            for block in whole.parts(draws):
                mu, theta = _relative(eta[block.times], self.contrasts)
                value += np.einsum("mnd,mnd->d", block.wins, mu)
                for part in block.sets(draws):
                    chosen_from = block.members[part] @ theta
                    np.log(chosen_from, out=chosen_from)
                    value -= np.einsum("ms,msd->d", block.amounts[:, part], chosen_from)
        for ties in self._ties.parts(draws):
            value += ties.value(*_relative(eta[ties.timepoints], self.contrasts))
        return value

    def slope(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The log-likelihood (D,) of paths (T, n − 1, D), and its gradient of the same shape as the paths."""
        draws = eta.shape[2]
        value, gradient = np.zeros(draws), np.zeros_like(eta)
        for whole in self._blocks:
            for block in whole.parts(draws):
                mu, theta = _relative(eta[block.times], self.contrasts)
                value += np.einsum("mnd,mnd->d", block.wins, mu)
                expected = np.zeros_like(theta)
                for part in block.sets(draws):
                    members, amounts = block.members[part], block.amounts[:, part]
                    chosen_from = members @ theta
                    expected += members.T @ (amounts[:, :, np.newaxis] / chosen_from)
                    np.log(chosen_from, out=chosen_from)
                    value -= np.einsum("ms,msd->d", amounts, chosen_from)
                gradient[block.times] = self.contrasts.T @ (block.wins - theta * expected)
        for ties in self._ties.parts(draws):
            added, pull = ties.slope(*_relative(eta[ties.timepoints], self.contrasts))
            value += added
            gradient[ties.timepoints] += self.contrasts.T @ pull
        return value, gradient

    def expansion(self, eta: FloatArray) -> Expansion:
        """The log-likelihood of paths (T, n − 1, K) to second order.

        For one choice set S with shares p_i = θ_i / Σ_{j in S} θ_j the negative Hessian is diag(p) − p pᵀ. Over all
        sets, Σ_S c_S p_i p_j is θ_i θ_j times a weighted count of the sets that hold both i and j: a matrix product.
        """
        timepoints, q, paths = eta.shape
        value, gradient = np.zeros(paths), np.zeros_like(eta)
        curvature = np.zeros((paths, timepoints, q, q))
        for whole in self._blocks:
            for block in whole.parts(paths):
                mu, theta = _relative(eta[block.times], self.contrasts)
                value += np.einsum("mnd,mnd->d", block.wins, mu)
                curve = self._curve_by_pairs if self._paired else self._curve_by_matrices
                expected, curvature[:, block.times], logarithms = curve(block, theta)
                value -= logarithms
                gradient[block.times] = self.contrasts.T @ (block.wins - expected)
        for ties in self._ties.parts(paths * (q + 1)):
            added, pull, bent = ties.expansion(*_relative(eta[ties.timepoints], self.contrasts))
            value += added
            gradient[ties.timepoints] += self.contrasts.T @ pull
            curvature[:, ties.timepoints] += (self.contrasts.T @ bent @ self.contrasts).transpose(1, 0, 2, 3)
        return Expansion(value, gradient, curvature)

    def _curve_by_pairs(self, block: _Block, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of ratings (m, n, K) the expected wins, the curvature (K, m, n − 1, n − 1) and Σ_S c_S log Σ_{j in S} θ_j."""
        (m, _, paths), q = theta.shape, self.contrasts.shape[1]
        both = np.zeros((m, self._first.size, paths))

        def gather(part: slice, rate: FloatArray) -> None:
            nonlocal both
            both += block.pairs[part].T @ rate

        expected, value = _passed(block, theta, gather)
        both *= theta[:, self._first] * theta[:, self._second]
        bent = expected.transpose(2, 0, 1) @ self._of_each - both.transpose(2, 0, 1) @ self._of_pairs
        return expected, bent.reshape(paths, m, q, q), value

    def _curve_by_matrices(self, block: _Block, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The same, by n³ steps where there are many algorithms."""
        m, n, paths = theta.shape
        both = np.zeros((paths, m, n, n))

        def gather(part: slice, rate: FloatArray) -> None:
            for root, shared in zip(np.sqrt(rate).transpose(2, 0, 1), both, strict=True):
                weighted = root[:, :, np.newaxis] * block.members[part]
                shared += weighted.swapaxes(1, 2) @ weighted

        expected, value = _passed(block, theta, gather)
        by_path = theta.transpose(2, 0, 1)
        both *= -by_path[:, :, :, np.newaxis] * by_path[:, :, np.newaxis, :]
        diagonal = np.einsum("kmnn->kmn", both)
        diagonal += expected.transpose(2, 0, 1)
        return expected, self.contrasts.T @ both @ self.contrasts, value


def _passed(
    block: _Block, theta: FloatArray, gather: Callable[[slice, FloatArray], None]
) -> tuple[FloatArray, FloatArray]:
    """Go through the choice sets, a part at a time, of which `gather` is given c_S / (Σ_{j in S} θ_j)² (m, S, K).

    Returns:
        The expected wins (m, n, K), and (K,) Σ_S c_S log Σ_{j in S} θ_j.
    """
    expected, value = np.zeros_like(theta), np.zeros(theta.shape[2])
    for part in block.sets(theta.shape[2]):
        members, amounts = block.members[part], block.amounts[:, part]
        chosen_from = members @ theta
        rate = amounts[:, :, np.newaxis] / chosen_from
        expected += members.T @ rate
        rate /= chosen_from
        gather(part, rate)
        np.log(chosen_from, out=chosen_from)
        value += np.einsum("ms,msd->d", amounts, chosen_from)
    expected *= theta
    return expected, value


def _relative(eta: FloatArray, contrasts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log-ratings (..., n, D) relative to the best one of each column, and their exponentials."""
    mu = contrasts @ eta
    mu -= mu.max(axis=-2, keepdims=True)
    return mu, np.exp(np.maximum(mu, _LEAST))

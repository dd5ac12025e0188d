"""The contribution of large ties to the log-likelihood of log-ratings, with derivatives, for many columns at once.

The integral behind it is explained in `polarbear.rankings.tie_integral`. Ties of the same size k are computed together:
with D draws, m such ties make C = m D columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.batches import IN_MEMORY, batches
from polarbear.rankings import LargeTies, membership, tie_expansion, tie_slope, tie_value
from polarbear.records import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class TieTerms:
    """M ties of n algorithms at t timepoints.

    Log-ratings have shape (t, n, D); ratings are their exponentials, possibly clipped from below.

    Attributes:
        tied: (M, n) whether the algorithm is one of the tied.
        below: (M, n) whether it is ranked below them.
        amounts: (M,) how often the tie occurred.
        position: (M,) position of the tie's timepoint in `timepoints`.
        timepoints: (t,) indices of the timepoints.
    """

    tied: NDArray[np.bool_]
    below: NDArray[np.bool_]
    amounts: FloatArray
    position: IntArray
    timepoints: IntArray

    @classmethod
    def of(cls, ties: LargeTies, algorithms: int) -> TieTerms:
        """All of `ties`, at those timepoints that have any."""
        numbers = np.diff(ties.offsets)
        timepoints = np.flatnonzero(numbers)
        tied, below = (membership(sets, algorithms) > 0 for sets in (ties.tied, ties.below))
        return cls(tied, below, ties.amounts, np.repeat(np.arange(timepoints.size), numbers[timepoints]), timepoints)

    @classmethod
    def at(cls, ties: LargeTies, timepoint: int, algorithms: int) -> TieTerms:
        """The ties at one timepoint alone, given by its index."""
        *sets, amounts = ties.at(timepoint)
        tied, below = (membership(masks, algorithms) > 0 for masks in sets)
        return cls(tied, below, amounts, np.zeros(amounts.size, np.int64), np.array([timepoint]))

    def __len__(self) -> int:
        return len(self.amounts)

    def only(self, chosen: NDArray[np.intp]) -> TieTerms:
        """Some of the ties, by their indices."""
        tied, below = self.tied[chosen], self.below[chosen]
        return TieTerms(tied, below, self.amounts[chosen], self.position[chosen], self.timepoints)

    def of_algorithms(self, chosen: NDArray[np.intp]) -> TieTerms:
        """The ties between some algorithms, or the same ties with algorithms in another order."""
        among = replace(self, tied=self.tied[:, chosen], below=self.below[:, chosen])
        return among.only(np.flatnonzero(among.tied.any(axis=1)))

    def parts(self, columns: int) -> Iterator[TieTerms]:
        """Yield the ties at a few timepoints at a time, fewer the more columns there are."""
        for part in batches(self.timepoints.size, self.tied.shape[1] * columns, IN_MEMORY):
            ties = self.only(np.flatnonzero((self.position >= part.start) & (self.position < part.stop)))
            yield replace(ties, position=ties.position - part.start, timepoints=self.timepoints[part])

    def wins(self) -> FloatArray:
        """(t, n) how often each algorithm was one of the tied."""
        wins = np.zeros((self.timepoints.size, self.tied.shape[1]))
        np.add.at(wins, self.position, self.amounts[:, np.newaxis] * self.tied)
        return wins

    def value(self, log_theta: FloatArray, theta: FloatArray) -> FloatArray:
        """(D,) contribution of the ties to the log-likelihood."""
        value = np.zeros(theta.shape[2])
        for ties in self._by_size(theta.shape[2]):
            value += _log_value(ties, log_theta, tie_value(*_columns(ties, theta)))
        return value

    def slope(self, log_theta: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The contribution (D,) to the log-likelihood, and its derivatives (t, n, D) by the log-ratings."""
        value, gradient = np.zeros(theta.shape[2]), np.zeros_like(theta)
        for ties in self._by_size(theta.shape[2]):
            integral, by_tied, by_below = tie_slope(*_columns(ties, theta))
            value += _log_value(ties, log_theta, integral)
            _add_gradient(ties, gradient, theta, by_tied, by_below)
        return value, gradient

    def expansion(self, log_theta: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As `slope`, and the negative Hessians (t, D, n, n), positive semi-definite.

        These are graph Laplacians: only the off-diagonal entry of each pair of algorithms has to be computed.
        """
        t, n, draws = theta.shape
        value, gradient, shared = np.zeros(draws), np.zeros_like(theta), np.zeros((t, draws, n, n))
        for ties in self._by_size(draws):
            integral = tie_expansion(*_columns(ties, theta))
            value += _log_value(ties, log_theta, integral.value)
            _add_gradient(ties, gradient, theta, integral.tied, integral.below)
            k = len(integral.tied)
            blocks = np.empty((len(ties), draws, k + 1, k + 1))  # the tied one by one, then all those below together
            blocks[:, :, :k, :k] = integral.pairs.reshape(-1, draws, k, k)
            blocks[:, :, :k, k] = blocks[:, :, k, :k] = integral.across.reshape(-1, draws, k)
            blocks[:, :, k, k] = integral.within.reshape(-1, draws)
            for tie, position in enumerate(ties.position):
                share = np.zeros((draws, n, k + 1))
                share[:, np.flatnonzero(ties.tied[tie]), np.arange(k)] = 1.0
                share[:, ties.below[tie], k] = _shares(theta[position, ties.below[tie]]).T
                shared[position] += ties.amounts[tie] * (share @ blocks[tie] @ share.swapaxes(1, 2))
        diagonal = np.arange(n, dtype=np.intp)
        shared[:, :, diagonal, diagonal] = 0.0
        np.negative(shared, out=shared)
        shared[:, :, diagonal, diagonal] = -shared.sum(axis=3)
        return value, gradient, shared

    def _by_size(self, columns: int) -> Iterator[TieTerms]:
        """Yield ties of the same size, not too many at a time."""
        sizes = self.tied.sum(axis=1)
        for size in np.unique(sizes).tolist():
            same = np.flatnonzero(sizes == size)
            for some in np.array_split(same, 1 + same.size * size * columns // IN_MEMORY):
                if some.size:
                    yield self.only(some)


def _of_tied(ties: TieTerms, values: FloatArray) -> FloatArray:
    """(m, k, D) values of the tied, from values (t, n, D)."""
    return values[ties.position[:, np.newaxis], np.nonzero(ties.tied)[1].reshape(len(ties), -1)]


def _columns(ties: TieTerms, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(k, C) ratings of the tied, and (C,) the sum of those below."""
    tied = _of_tied(ties, theta).transpose(1, 0, 2)
    below = np.stack([theta[t][which].sum(axis=0) for t, which in zip(ties.position, ties.below, strict=True)])
    return tied.reshape(len(tied), -1), below.ravel()


def _log_value(ties: TieTerms, log_theta: FloatArray, integral: FloatArray) -> FloatArray:
    """(D,) contribution to the log-likelihood, from the integrals F (C,)."""
    return ties.amounts @ (_of_tied(ties, log_theta).sum(axis=1) - integral.reshape(len(ties), -1))


def _add_gradient(
    ties: TieTerms, gradient: FloatArray, theta: FloatArray, by_tied: FloatArray, by_below: FloatArray
) -> None:
    """Add the derivatives of the value to `gradient` (t, n, D), from those of F (k, C) and (C,)."""
    pulls, pushes = by_tied.reshape(len(by_tied), len(ties), -1), by_below.reshape(len(ties), -1)
    for tie, (position, amount) in enumerate(zip(ties.position, ties.amounts, strict=True)):
        gradient[position, ties.tied[tie]] += amount * (1.0 - pulls[:, tie])
        below = ties.below[tie]
        gradient[position, below] -= amount * pushes[tie] * _shares(theta[position, below])


def _shares(ratings: FloatArray) -> FloatArray:
    """Ratings (b, D) divided by their sums."""
    return ratings / ratings.sum(axis=0) if len(ratings) else ratings

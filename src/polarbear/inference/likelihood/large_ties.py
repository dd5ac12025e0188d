"""What ties of many algorithms add to the log-likelihood of log-ratings, with derivatives, for many columns at once.

The integral behind it is explained in `polarbear.rankings.tie_integral`. Ties of the same size are computed together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polarbear.rankings import LargeTies, membership, tie_expansion, tie_slope, tie_value
from polarbear.records import FloatArray, IntArray

_ENTRIES_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class TieTerms:
    """M ties of n algorithms at t timepoints.

    Log-ratings are (t, n, D), and ratings their exponentials, which may be raised to a least one.

    Attributes:
        tied: (M, n) whether the algorithm is one of the tied.
        below: (M, n) whether it is ranked below them.
        amounts: (M,) how often the tie occurred.
        place: (M,) where among `timepoints` it occurred.
        timepoints: (t,) indices of the timepoints.
    """

    tied: NDArray[np.bool_]
    below: NDArray[np.bool_]
    amounts: FloatArray
    place: IntArray
    timepoints: IntArray

    @classmethod
    def of(cls, ties: LargeTies, algorithms: int) -> TieTerms:
        """The timepoints of `ties` at which there are any."""
        numbers = np.diff(ties.offsets)
        timepoints = np.flatnonzero(numbers)
        place = np.repeat(np.arange(timepoints.size), numbers[timepoints])
        tied, below = (membership(sets, algorithms) > 0 for sets in (ties.tied, ties.below))
        return cls(tied, below, ties.amounts, place, timepoints)

    @classmethod
    def at(cls, ties: LargeTies, timepoint: int, algorithms: int) -> TieTerms:
        """The ties at one timepoint alone, given by its index."""
        tied, below, amounts = ties.at(timepoint)
        place = np.zeros(amounts.size, np.int64)
        members, others = (membership(sets, algorithms) > 0 for sets in (tied, below))
        return cls(members, others, amounts, place, np.array([timepoint]))

    def __len__(self) -> int:
        return len(self.amounts)

    def only(self, chosen: NDArray[np.intp]) -> TieTerms:
        """Some of the ties, by their indices."""
        return replace(
            self,
            tied=self.tied[chosen],
            below=self.below[chosen],
            amounts=self.amounts[chosen],
            place=self.place[chosen],
        )

    def of_algorithms(self, chosen: NDArray[np.intp]) -> TieTerms:
        """The ties between some algorithms, or the same ones in another order."""
        if not len(self):
            return replace(self, tied=self.tied[:, chosen], below=self.below[:, chosen])
        among = replace(self, tied=self.tied[:, chosen], below=self.below[:, chosen])
        return among.only(np.flatnonzero(among.tied.any(axis=1)))

    def parts(self, columns: int) -> Iterator[TieTerms]:
        """The ties at a few timepoints at a time, for so many columns."""
        step = max(1, _ENTRIES_AT_ONCE // (self.tied.shape[1] * columns))
        for start in range(0, self.timepoints.size, step):
            here = self.only(np.flatnonzero((self.place >= start) & (self.place < start + step)))
            yield replace(here, place=here.place - start, timepoints=self.timepoints[start : start + step])

    def wins(self) -> FloatArray:
        """(t, n) how often each algorithm was one of the tied."""
        wins = np.zeros((self.timepoints.size, self.tied.shape[1]))
        np.add.at(wins, self.place, self.amounts[:, np.newaxis] * self.tied)
        return wins

    def value(self, log_theta: FloatArray, theta: FloatArray) -> FloatArray:
        """(D,) what the ties add to the log-likelihood."""
        value = np.zeros(theta.shape[2])
        for some in self._alike(theta.shape[2]):
            value += some.value(log_theta, tie_value(*some.columns(theta)))
        return value

    def slope(self, log_theta: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What the ties add to the log-likelihood (D,), and its derivatives (t, n, D) by the log-ratings."""
        value, gradient = np.zeros(theta.shape[2]), np.zeros_like(theta)
        for some in self._alike(theta.shape[2]):
            total, by_tied, by_below = tie_slope(*some.columns(theta))
            value += some.value(log_theta, total)
            some.add_gradient(gradient, theta, by_tied, by_below)
        return value, gradient

    def expansion(self, log_theta: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """As `slope`, and minus the second derivatives (t, D, n, n), positive semi-definite.

        They are a graph's Laplacian: nothing but what each pair of algorithms shares has to be computed.
        """
        value, gradient = np.zeros(theta.shape[2]), np.zeros_like(theta)
        shared = np.zeros((*theta.shape[:1], theta.shape[2], theta.shape[1], theta.shape[1]))
        for some in self._alike(theta.shape[2]):
            found = tie_expansion(*some.columns(theta))
            value += some.value(log_theta, found.value)
            some.add_gradient(gradient, theta, found.tied, found.below)
            size = found.tied.shape[0]
            several = len(some), theta.shape[2]
            pairs = found.pairs.reshape(*several, size, size)
            across, within = found.across.reshape(*several, size), found.within.reshape(several)
            for tie, (place, amount) in enumerate(zip(some.place, some.amounts, strict=True)):
                tied, below = some.tied[tie], np.flatnonzero(some.below[tie])
                members = np.flatnonzero(tied)
                here = shared[place]
                here[:, members[:, np.newaxis], members] += amount * pairs[tie]
                if below.size:
                    share = theta[place, below].T
                    share = share / share.sum(axis=1, keepdims=True)
                    mixed = amount * across[tie][:, :, np.newaxis] * share[:, np.newaxis, :]
                    here[:, members[:, np.newaxis], below] += mixed
                    here[:, below[:, np.newaxis], members] += mixed.transpose(0, 2, 1)
                    weighted = (amount * within[tie])[:, np.newaxis, np.newaxis] * share[:, :, np.newaxis]
                    here[:, below[:, np.newaxis], below] += weighted * share[:, np.newaxis, :]
        diagonal = np.arange(theta.shape[1], dtype=np.intp)
        shared[:, :, diagonal, diagonal] = 0.0
        np.negative(shared, out=shared)
        shared[:, :, diagonal, diagonal] = -shared.sum(axis=3)
        return value, gradient, shared

    def _alike(self, columns: int) -> Iterator[_Alike]:
        """Ties of the same size, not too many at a time."""
        if not len(self):
            return
        sizes = self.tied.sum(axis=1)
        for size in np.unique(sizes).tolist():
            which = np.flatnonzero(sizes == size)
            for some in np.array_split(which, 1 + which.size * size * columns // _ENTRIES_AT_ONCE):
                if some.size:
                    yield _Alike(self.tied[some], self.below[some], self.amounts[some], self.place[some])


@dataclass(frozen=True, slots=True, eq=False)
class _Alike:
    """m ties of k algorithms each; attributes as of `TieTerms`. With D draws they make C = m D columns."""

    tied: NDArray[np.bool_]
    below: NDArray[np.bool_]
    amounts: FloatArray
    place: IntArray

    def __len__(self) -> int:
        return len(self.amounts)

    def _of_tied(self, values: FloatArray) -> FloatArray:
        """(m, k, D) values of the tied, from values (t, n, D)."""
        return values[self.place[:, np.newaxis], np.nonzero(self.tied)[1].reshape(len(self), -1)]

    def columns(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(k, C) ratings of the tied, and (C,) the sum of those below."""
        tied = self._of_tied(theta).transpose(1, 0, 2)
        below = np.stack([theta[t][which].sum(axis=0) for t, which in zip(self.place, self.below, strict=True)])
        return tied.reshape(len(tied), -1), below.ravel()

    def value(self, log_theta: FloatArray, denominators: FloatArray) -> FloatArray:
        """(D,) from F (C,)."""
        return self.amounts @ (self._of_tied(log_theta).sum(axis=1) - denominators.reshape(len(self), -1))

    def add_gradient(self, gradient: FloatArray, theta: FloatArray, by_tied: FloatArray, by_below: FloatArray) -> None:
        """Add to (t, n, D) the derivatives of the value, from those of F (k, C) and (C,)."""
        pulls, pushes = by_tied.reshape(len(by_tied), len(self), -1), by_below.reshape(len(self), -1)
        for tie, (place, amount) in enumerate(zip(self.place, self.amounts, strict=True)):
            gradient[place, self.tied[tie]] += amount * (1.0 - pulls[:, tie])
            below = self.below[tie]
            if below.any():
                share = theta[place, below]
                gradient[place, below] -= amount * pushes[tie] * share / share.sum(axis=0)

"""The likelihood of each instance's ranking by itself, each distinct ranking computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.rankings.choice import choice_counts
from polarbear.rankings.counts import ChoiceCounts
from polarbear.rankings.instances import InstanceRanks, Ranks
from polarbear.rankings.masks import BITS, MaskArray, membership
from polarbear.records import FloatArray

_ENTRIES_AT_ONCE = 1 << 22
_TIED_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class DistinctRankings:
    """The rankings of P instances at T timepoints, each distinct one kept once.

    Attributes:
        index: (P, T) which of the distinct rankings it is, those without ties first; −1 where fewer than two
            algorithms are ranked.
        chosen: (L, n) 1 for each algorithm that is chosen from others in a ranking without ties, else 0.
        sets: (L, n − 1) the sets that the best, the second, … are chosen from; the empty set fills up the rest. None
            is listed of more than 64 algorithms.
        order: (L, n) of more than 64, the algorithms from the last to the best, after n for each that was not run.
        tied: The rankings with ties, one to a timepoint.
    """

    index: NDArray[np.intp]
    chosen: FloatArray
    sets: MaskArray
    order: NDArray[np.intp]
    tied: ChoiceCounts

    @classmethod
    def of(cls, instances: InstanceRanks) -> DistinctRankings:
        """The distinct ones of the rankings of some instances."""
        count, timepoints, n = instances.ranks.shape
        distinct, inverse = _distinct(instances.ranks.reshape(-1, n))
        run, ordered = distinct >= 0, (distinct >= 0) & (distinct < instances.unordered)
        size, places = np.count_nonzero(run, axis=1), np.count_nonzero(ordered, axis=1)
        strict = np.where(ordered, distinct, 0).sum(axis=1) == places * (places - 1) // 2
        kind = np.where((size < 2) | (places == 0), 2, np.where(strict, 0, 1))
        position = np.full(len(distinct), -1)
        for this in range(2):
            here = kind == this
            position[here] = np.count_nonzero(kind < this) + np.arange(np.count_nonzero(here))
        with_ties = distinct[kind == 1].astype(np.float64)
        with_ties[with_ties < 0] = np.nan
        with_ties[with_ties == instances.unordered] = np.inf
        strict = kind == 0
        return cls(
            index=position[inverse].reshape(count, timepoints),
            chosen=(ordered & (distinct < size[:, np.newaxis] - 1))[strict].astype(np.float64),
            sets=_choice_sets(distinct[strict], places[strict]) if n <= BITS else np.empty((0, n - 1), np.uint64),
            order=_last_to_best(distinct[strict]) if n > BITS else np.empty((0, n), np.intp),
            tied=choice_counts(with_ties[np.newaxis], tail="unordered"),
        )

    @property
    def ranked(self) -> NDArray[np.bool_]:
        """(P, T) whether there is a ranking."""
        return self.index >= 0

    def log_likelihood(self, timepoint: int, log_theta: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
        """The log-likelihood of the rankings at one timepoint; of a tie, its mean over all orders.

        Args:
            timepoint: Its index.
            log_theta: (D, n) log-ratings whose ratings sum to 1.

        Returns:
            (U, D) for each distinct ranking there, and (P,) which of them each instance has, −1 where none.
        """
        strict, tied, which = self._at(timepoint)
        likelihood = np.empty((strict.size + tied.size, len(log_theta)))
        theta = np.exp(log_theta)
        block = max(1, _ENTRIES_AT_ONCE // (len(theta) * log_theta.shape[1]))
        for start in range(0, strict.size, block):
            rows = strict[start : start + block]
            part = self.chosen[rows] @ log_theta.T
            if log_theta.shape[1] > BITS:
                for row, own in zip(rows, part, strict=True):
                    behind = self._behind(row, theta)
                    own -= np.log(behind, out=np.zeros_like(behind), where=behind > 0) @ self._chosen_in_order(row)
            else:
                sets, where = np.unique(self.sets[rows], return_inverse=True)
                sums = membership(sets, log_theta.shape[1]) @ theta.T
                sums[sets == 0] = 1.0
                np.log(sums, out=sums)
                for column in where.reshape(len(rows), -1).T:
                    part -= sums[column]
            likelihood[start : start + len(rows)] = part
        for start in range(0, tied.size, _TIED_AT_ONCE):
            rows = tied[start : start + _TIED_AT_ONCE]
            repeated = np.broadcast_to(theta[:, np.newaxis], (len(theta), rows.size, theta.shape[1]))
            part = self.tied.select(rows).log_likelihood(repeated)
            likelihood[strict.size + start : strict.size + start + rows.size] = part.T
        return likelihood, which

    def scores(self, timepoint: int, theta: FloatArray) -> FloatArray:
        """(P, n) gradient of each instance's log-likelihood by the log-ratings; 0 where there is no ranking.

        Args:
            timepoint: Its index.
            theta: (n,) ratings.
        """
        strict, tied, which = self._at(timepoint)
        expected = (self._expected_by_sets if theta.size <= BITS else self._expected_by_order)(strict, theta)
        none = np.zeros((1, theta.size))
        return np.concatenate([self.chosen[strict] - expected, self.tied.select(tied).scores(theta), none])[which]

    def _expected_by_sets(self, rows: NDArray[np.intp], theta: FloatArray) -> FloatArray:
        """(R, n) how often each algorithm would be chosen in rankings without ties."""
        members = membership(self.sets[rows].reshape(-1), theta.size)
        sums = members @ theta
        rates = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
        return (rates[:, np.newaxis] * members).reshape(rows.size, theta.size - 1, theta.size).sum(axis=1) * theta

    def _expected_by_order(self, rows: NDArray[np.intp], theta: FloatArray) -> FloatArray:
        """The same, without listing choice sets: each is an algorithm that is chosen and all behind it."""
        expected = np.zeros((rows.size, theta.size + 1))
        for row, own in zip(rows, expected, strict=True):
            behind = self._behind(row, theta[np.newaxis])[0]
            rates = np.divide(self._chosen_in_order(row), behind, out=np.zeros_like(behind), where=behind > 0)
            own[self.order[row]] = np.cumsum(rates[::-1])[::-1]
        return expected[:, :-1] * theta

    def _behind(self, row: np.intp, theta: FloatArray) -> FloatArray:
        """(D, n) the sum of the ratings (D, n) of each algorithm and all behind it, from the last to the best."""
        return np.cumsum(np.pad(theta, ((0, 0), (0, 1)))[:, self.order[row]], axis=1)

    def _chosen_in_order(self, row: np.intp) -> FloatArray:
        """(n,) 1 for each algorithm that is chosen, from the last to the best."""
        return np.append(self.chosen[row], 0.0)[self.order[row]]

    def _at(self, timepoint: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """The distinct rankings at a timepoint, without and with ties, and (P,) which of them each instance has."""
        found, inverse = np.unique(self.index[:, timepoint], return_inverse=True)
        without = int(found.size > 0 and found[0] < 0)
        found = found[without:]
        strict = found[found < len(self.chosen)]
        return strict, found[strict.size :] - len(self.chosen), inverse.reshape(-1) - without


def _distinct(ranks: Ranks) -> tuple[Ranks, NDArray[np.intp]]:
    """The distinct rows, and which of them each row is."""
    n = ranks.shape[1]
    if n <= 8:  # rows as numbers of eight bytes: sorted many times faster
        words = np.zeros((len(ranks), 8), np.int8)
        words[:, :n] = ranks
        _, first, inverse = np.unique(words.view(np.uint64)[:, 0], return_index=True, return_inverse=True)
        return ranks[first], inverse
    distinct, inverse = np.unique(ranks, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)


def _last_to_best(ranks: Ranks) -> NDArray[np.intp]:
    """(L, n) as `DistinctRankings.order`, from ranks (L, n)."""
    places = np.where(ranks < 0, np.iinfo(ranks.dtype).max + 1, ranks.astype(np.int64))
    order = np.argsort(-places, axis=1)
    return np.where(np.take_along_axis(ranks, order, axis=1) < 0, ranks.shape[1], order)


def _choice_sets(ranks: Ranks, places: NDArray[np.intp]) -> MaskArray:
    """(L, n − 1) the sets that the best, the second, … are chosen from, in rankings (L, n) of so many places."""
    n = ranks.shape[1]
    sets = np.zeros((len(ranks), max(n - 1, 0)), np.uint64)
    for place in range(n - 1):
        for i in range(n):
            sets[:, place] |= (ranks[:, i] >= place) * np.uint64(1 << i)
        sets[places <= place, place] = 0
    sets[np.bitwise_count(sets) < 2] = 0
    return sets

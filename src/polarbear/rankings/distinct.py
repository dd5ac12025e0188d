"""The likelihood of each instance's ranking by itself, each distinct ranking computed once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.rankings.choice import choice_counts
from polarbear.rankings.counts import ChoiceCounts
from polarbear.rankings.instances import UNORDERED, InstanceRanks
from polarbear.rankings.masks import MaskArray, membership
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
        sets: (L, n − 1) the sets it is chosen from; the empty set fills up the rest.
        tied: The rankings with ties, one to a timepoint.
    """

    index: NDArray[np.intp]
    chosen: FloatArray
    sets: MaskArray
    tied: ChoiceCounts

    @classmethod
    def of(cls, instances: InstanceRanks) -> DistinctRankings:
        """The distinct ones of the rankings of some instances."""
        count, timepoints, n = instances.ranks.shape
        distinct, inverse = _distinct(instances.ranks.reshape(-1, n))
        run, ordered = distinct >= 0, (distinct >= 0) & (distinct < UNORDERED)
        size, places = np.count_nonzero(run, axis=1), np.count_nonzero(ordered, axis=1)
        strict = np.where(ordered, distinct, 0).sum(axis=1) == places * (places - 1) // 2
        kind = np.where((size < 2) | (places == 0), 2, np.where(strict, 0, 1))
        position = np.full(len(distinct), -1)
        for this in range(2):
            here = kind == this
            position[here] = np.count_nonzero(kind < this) + np.arange(np.count_nonzero(here))
        with_ties = distinct[kind == 1].astype(np.float64)
        with_ties[with_ties < 0] = np.nan
        with_ties[with_ties == UNORDERED] = np.inf
        strict = kind == 0
        return cls(
            index=position[inverse].reshape(count, timepoints),
            chosen=(ordered & (distinct < size[:, np.newaxis] - 1))[strict].astype(np.float64),
            sets=_choice_sets(distinct[strict], places[strict]),
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
            sets, where = np.unique(self.sets[rows], return_inverse=True)
            sums = membership(sets, log_theta.shape[1]) @ theta.T
            sums[sets == 0] = 1.0
            np.log(sums, out=sums)
            part = self.chosen[rows] @ log_theta.T
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
        members = membership(self.sets[strict].reshape(-1), theta.size)
        sums = members @ theta
        rates = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
        expected = (rates[:, np.newaxis] * members).reshape(strict.size, theta.size - 1, theta.size).sum(axis=1) * theta
        none = np.zeros((1, theta.size))
        return np.concatenate([self.chosen[strict] - expected, self.tied.select(tied).scores(theta), none])[which]

    def _at(self, timepoint: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """The distinct rankings at a timepoint, without and with ties, and (P,) which of them each instance has."""
        found, inverse = np.unique(self.index[:, timepoint], return_inverse=True)
        without = int(found.size > 0 and found[0] < 0)
        found = found[without:]
        strict = found[found < len(self.chosen)]
        return strict, found[strict.size :] - len(self.chosen), inverse.reshape(-1) - without


def _distinct(ranks: NDArray[np.int8]) -> tuple[NDArray[np.int8], NDArray[np.intp]]:
    """The distinct rows, and which of them each row is."""
    n = ranks.shape[1]
    if n <= 8:  # rows as numbers of eight bytes: sorted many times faster
        words = np.zeros((len(ranks), 8), np.int8)
        words[:, :n] = ranks
        _, first, inverse = np.unique(words.view(np.uint64)[:, 0], return_index=True, return_inverse=True)
        return ranks[first], inverse
    distinct, inverse = np.unique(ranks, axis=0, return_inverse=True)
    return distinct, inverse.reshape(-1)


def _choice_sets(ranks: NDArray[np.int8], places: NDArray[np.intp]) -> MaskArray:
    """(L, n − 1) the sets that the best, the second, … are chosen from, in rankings (L, n) of so many places."""
    n = ranks.shape[1]
    sets = np.zeros((len(ranks), max(n - 1, 0)), np.uint64)
    for place in range(n - 1):
        for i in range(n):
            sets[:, place] |= (ranks[:, i] >= place) * np.uint64(1 << i)
        sets[places <= place, place] = 0
    sets[np.bitwise_count(sets) < 2] = 0
    return sets

"""The likelihood of each instance's ranking, computed once for each distinct ranking."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.rankings.choice import count_choices
from polarbear.rankings.counts import ChoiceCounts
from polarbear.rankings.masks import BITS, MaskArray, membership, packed
from polarbear.rankings.rankings import Rankings, Ranks
from polarbear.records import FloatArray

_ENTRIES_AT_ONCE = 1 << 22
_TIED_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class DistinctRankings:
    """The distinct rankings of P instances at T timepoints.

    Attributes:
        index: (P, T) index of the distinct ranking, those without ties first; −1 where fewer than two algorithms are
            ranked.
        chosen: (L, n) 1 for each algorithm that is chosen from others in a ranking without ties, else 0.
        sets: (L, n − 1) sets that the best, the second, … are chosen from, padded by empty sets; empty for more than 64
            algorithms.
        order: (L, n) for more than 64 algorithms, these from the last to the best, after n for each that was not run.
        tied: The rankings with ties, one per timepoint.
    """

    index: NDArray[np.intp]
    chosen: FloatArray
    sets: MaskArray
    order: NDArray[np.intp]
    tied: ChoiceCounts

    @classmethod
    def of(cls, rankings: Rankings) -> DistinctRankings:
        """Collect the distinct rankings."""
        count, timepoints, n = rankings.ranks.shape
        distinct, inverse = _distinct_rows(rankings.ranks.reshape(-1, n))
        run = distinct >= 0
        ordered = run & (distinct < rankings.unordered)
        size, depth = np.count_nonzero(run, axis=1), np.count_nonzero(ordered, axis=1)
        untied = np.where(ordered, distinct, 0).sum(axis=1) == depth * (depth - 1) // 2
        ranked = (size > 1) & (depth > 0)
        strict, tied = ranked & untied, ranked & ~untied
        position = np.full(len(distinct), -1)
        position[strict] = np.arange(np.count_nonzero(strict))
        position[tied] = np.count_nonzero(strict) + np.arange(np.count_nonzero(tied))
        ranks = distinct[strict]
        return cls(
            index=position[inverse].reshape(count, timepoints),
            chosen=(ordered & (distinct < size[:, np.newaxis] - 1))[strict].astype(np.float64),
            sets=_choice_sets(ranks, depth[strict]) if n <= BITS else np.empty((0, n - 1), np.uint64),
            order=_last_to_best(ranks) if n > BITS else np.empty((0, n), np.intp),
            tied=count_choices(Rankings.of_ranks(distinct[np.newaxis, tied])),
        )

    @property
    def ranked(self) -> NDArray[np.bool_]:
        """(P, T) whether there is a ranking."""
        return self.index >= 0

    def log_likelihood(self, timepoint: int, log_theta: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
        """The log-likelihood of the rankings at one timepoint; for a tie, its mean over all orders.

        Args:
            timepoint: Index of the timepoint.
            log_theta: (D, n) log-ratings whose ratings sum to 1.

        Returns:
            (U, D) log-likelihood of each distinct ranking there, and (P,) index of each instance's ranking among them,
            −1 where there is none.
        """
        strict, tied, which = self._at(timepoint)
        likelihood = np.empty((strict.size + tied.size, len(log_theta)))
        theta = np.exp(log_theta)
        block = max(1, _ENTRIES_AT_ONCE // theta.size)
        for start in range(0, strict.size, block):
            rows = strict[start : start + block]
            part = self.chosen[rows] @ log_theta.T
            if theta.shape[1] > BITS:
                for row, own in zip(rows, part, strict=True):
                    behind = self._behind(row, theta)
                    own -= np.log(behind, out=np.zeros_like(behind), where=behind > 0) @ self._chosen_in_order(row)
            else:
                sets, where = np.unique(self.sets[rows], return_inverse=True)
                sums = membership(sets, theta.shape[1]) @ theta.T
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
        """(P, n) gradient of each instance's log-likelihood in the log-ratings; 0 where there is no ranking.

        Args:
            timepoint: Index of the timepoint.
            theta: (n,) ratings.
        """
        strict, tied, which = self._at(timepoint)
        expected = (self._expected_by_sets if theta.size <= BITS else self._expected_by_order)(strict, theta)
        none = np.zeros((1, theta.size))
        return np.concatenate([self.chosen[strict] - expected, self.tied.select(tied).scores(theta), none])[which]

    def _expected_by_sets(self, rows: NDArray[np.intp], theta: FloatArray) -> FloatArray:
        """(R, n) expected number of times each algorithm is chosen in rankings without ties."""
        members = membership(self.sets[rows].reshape(-1), theta.size)
        sums = members @ theta
        rates = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
        return (rates[:, np.newaxis] * members).reshape(rows.size, theta.size - 1, theta.size).sum(axis=1) * theta

    def _expected_by_order(self, rows: NDArray[np.intp], theta: FloatArray) -> FloatArray:
        """The same without listing choice sets: each is an algorithm that is chosen and all behind it."""
        expected = np.zeros((rows.size, theta.size + 1))
        for row, own in zip(rows, expected, strict=True):
            behind = self._behind(row, theta[np.newaxis])[0]
            rates = np.divide(self._chosen_in_order(row), behind, out=np.zeros_like(behind), where=behind > 0)
            own[self.order[row]] = np.cumsum(rates[::-1])[::-1]
        return expected[:, :-1] * theta

    def _behind(self, row: np.intp, theta: FloatArray) -> FloatArray:
        """(D, n) sums of the ratings (D, n) of each algorithm and all behind it, from the last to the best."""
        return np.cumsum(np.pad(theta, ((0, 0), (0, 1)))[:, self.order[row]], axis=1)

    def _chosen_in_order(self, row: np.intp) -> FloatArray:
        """(n,) 1 for each algorithm that is chosen, from the last to the best."""
        return np.append(self.chosen[row], 0.0)[self.order[row]]

    def _at(self, timepoint: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """The distinct rankings at a timepoint, without and with ties, and (P,) index of each instance's among them."""
        rankings, inverse = np.unique(self.index[:, timepoint], return_inverse=True)
        unranked = int(rankings.size > 0 and rankings[0] < 0)
        rankings = rankings[unranked:]
        strict = rankings[rankings < len(self.chosen)]
        return strict, rankings[strict.size :] - len(self.chosen), inverse.reshape(-1) - unranked


def _distinct_rows(ranks: Ranks) -> tuple[Ranks, NDArray[np.intp]]:
    """The distinct rows, and the index of each row among them."""
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
    keys = np.where(ranks < 0, np.iinfo(ranks.dtype).max + 1, ranks.astype(np.int64))
    order = np.argsort(-keys, axis=1)
    return np.where(np.take_along_axis(ranks, order, axis=1) < 0, ranks.shape[1], order)


def _choice_sets(ranks: Ranks, depth: NDArray[np.intp]) -> MaskArray:
    """(L, n − 1) sets that the best, the second, … are chosen from, in rankings (L, n) down to `depth`."""
    sets = np.zeros((len(ranks), ranks.shape[1] - 1), np.uint64)
    for rank in range(sets.shape[1]):
        sets[:, rank] = packed((ranks >= rank) & (rank < depth)[:, np.newaxis])
    sets[np.bitwise_count(sets) < 2] = 0
    return sets

"""The log-likelihood of each instance's ranking by itself, for many ratings at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.inference.posterior import Posterior
from polarbear.rankings import ChoiceCounts, MaskArray, choice_counts, membership
from polarbear.records import FloatArray

_ENTRIES_AT_ONCE = 1 << 22
_TIED_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class InstanceRankings:
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
    def of(cls, values: FloatArray) -> InstanceRankings:
        """The rankings by values (P, T, n), lower is better, NaN where not run."""
        instances, timepoints, n = values.shape
        ranks = _ranks(values).reshape(-1, n)
        distinct, inverse = np.unique(ranks, axis=0, return_inverse=True)
        size = np.count_nonzero(distinct >= 0, axis=1)
        strict = np.where(distinct >= 0, distinct, 0).sum(axis=1) == size * (size - 1) // 2
        kind = np.where(size < 2, 2, np.where(strict, 0, 1))
        place = np.empty(len(distinct), np.intp)
        for this in range(3):
            here = kind == this
            before = np.count_nonzero(kind < this)
            place[here] = before + np.arange(np.count_nonzero(here)) if this < 2 else -1
        orders, with_ties = distinct[kind == 0], distinct[kind == 1].astype(np.float64)
        with_ties[with_ties < 0] = np.nan
        return cls(
            index=place[inverse.reshape(-1)].reshape(instances, timepoints),
            chosen=((orders >= 0) & (orders < size[kind == 0, np.newaxis] - 1)).astype(np.float64),
            sets=_choice_sets(orders),
            tied=choice_counts(with_ties[np.newaxis]),
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
        found, inverse = np.unique(self.index[:, timepoint], return_inverse=True)
        without = int(found.size > 0 and found[0] < 0)
        found = found[without:]
        strict = found[found < len(self.chosen)]
        likelihood = np.empty((found.size, len(log_theta)))
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
        tied = found[strict.size :] - len(self.chosen)
        for start in range(0, tied.size, _TIED_AT_ONCE):
            rows = tied[start : start + _TIED_AT_ONCE]
            repeated = np.broadcast_to(theta[:, np.newaxis], (len(theta), rows.size, theta.shape[1]))
            part = self.tied.select(rows).log_likelihood(repeated)
            likelihood[strict.size + start : strict.size + start + rows.size] = part.T
        return likelihood, inverse.reshape(-1) - without


def checked_values(posterior: Posterior, values: ArrayLike, precision: float | None) -> FloatArray:
    """Values (P, T, n) that fit a posterior, rounded so that those which tie are equal.

    Raises:
        ValueError: If the shapes do not fit together, or the precision is not positive.
    """
    cells = np.asarray(values, dtype=np.float64)
    wanted = posterior.draws.shape[1:]
    if cells.ndim != 3 or cells.shape[1:] != wanted:
        raise ValueError(
            f"values has shape {cells.shape}; a posterior of {wanted[0]} timepoints and {wanted[1]} algorithms needs "
            f"(instances, {wanted[0]}, {wanted[1]}), the values it was fitted to"
        )
    if precision is None:
        return cells
    if not 0 < precision < np.inf:
        raise ValueError(f"precision is {precision!r}; it must be positive and finite, or None for equality")
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        multiples = np.clip(np.rint(cells / precision), -largest, largest)
    return np.where(np.isfinite(cells), multiples, cells)


def log_ratings(draws: FloatArray, most: int) -> FloatArray:
    """(at most `most`, T, n) logarithms of evenly spaced draws."""
    chosen = np.unique(np.linspace(0, len(draws) - 1, min(most, len(draws))).round().astype(np.intp))
    return np.log(np.maximum(draws[chosen], np.finfo(np.float64).tiny))


def _ranks(values: FloatArray) -> NDArray[np.int8]:
    """(P, T, n) how many values are lower; −1 where there is none."""
    ranks = np.zeros(values.shape, np.int8)
    for theirs in np.moveaxis(values, 2, 0):
        ranks += theirs[..., np.newaxis] < values
    ranks[np.isnan(values)] = -1
    return ranks


def _choice_sets(ranks: NDArray[np.int8]) -> MaskArray:
    """(L, n − 1) the sets that the best, the second, … are chosen from, in rankings (L, n) without ties."""
    n = ranks.shape[1]
    sets = np.zeros((len(ranks), max(n - 1, 0)), np.uint64)
    for place in range(n - 1):
        for i in range(n):
            sets[:, place] |= (ranks[:, i] >= place) * np.uint64(1 << i)
    sets[np.bitwise_count(sets) < 2] = 0
    return sets

"""Choice-set counts: the sufficient statistics of Plackett–Luce rankings at several timepoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.rankings.instances import InstanceRanks
from polarbear.rankings.large_ties import LargeTies, Ties
from polarbear.rankings.masks import (
    MaskArray,
    check_algorithms,
    chosen_entries,
    empty_sets,
    firsts,
    frozen,
    membership,
    order_of,
    resized,
)
from polarbear.rankings.tie_integral import tie_slope, tie_value
from polarbear.records import FloatArray, IntArray

_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceCounts:
    """How often each algorithm was chosen, and how often each set was chosen from, at each timepoint.

    The log-likelihood of ratings θ at timepoint t is

        Σ_i wins[t, i] · log θ_i  −  Σ_s counts[s] · log Σ_{j in sets[s]} θ_j,    s = offsets[t] … offsets[t + 1] − 1,

    and what `ties` adds to it. Choices from a single algorithm say nothing and are left out of both sums, so at each
    timepoint the wins add up to the counts. Small ties make both fractional; large ones are kept apart from both.

    Attributes:
        wins: (T, n) float64, how often each algorithm was chosen from others.
        sets: (S,) uint64, the choice sets of all timepoints; bit i is set if algorithm i could be chosen. Of more than
            64 algorithms they are (S, ⌈n / 64⌉), with bit i mod 64 of word ⌊i / 64⌋ for algorithm i. Within a timepoint
            they increase strictly, the last word counting most.
        counts: (S,) float64, how often each set was chosen from.
        offsets: (T + 1,) int64, where each timepoint's sets begin in `sets`.
        rankings: (T,) int64, number of rankings with at least two algorithms.
        ties: Ties of so many algorithms that their choice sets are not listed; default none.
        instances: The ranking of each instance, of which all else are sums; None if not known. Equality ignores it.

    Raises:
        ValueError: If the shapes do not fit together, or there are no algorithms or more than 32,767.
    """

    wins: FloatArray
    sets: MaskArray
    counts: FloatArray
    offsets: IntArray
    rankings: IntArray
    ties: LargeTies = field(default_factory=lambda: LargeTies.none(0, 1))
    instances: InstanceRanks | None = None

    def __post_init__(self) -> None:
        wins = frozen(self.wins, np.float64)
        fields: dict[str, NDArray[Any]] = {
            "wins": wins,
            "sets": frozen(self.sets, np.uint64),
            "counts": frozen(self.counts, np.float64),
            "offsets": frozen(self.offsets, np.int64),
            "rankings": frozen(self.rankings, np.int64),
        }
        if wins.ndim != 2:
            raise ValueError(f"wins has shape {wins.shape}; it needs (timepoints, algorithms)")
        check_algorithms(wins.shape[1])
        offsets, sets = fields["offsets"], fields["sets"]
        if offsets.shape != (wins.shape[0] + 1,) or fields["rankings"].shape != (wins.shape[0],):
            raise ValueError(
                f"offsets and rankings have shapes {offsets.shape} and {fields['rankings'].shape}; "
                f"{wins.shape[0]} timepoints need ({wins.shape[0] + 1},) and ({wins.shape[0]},)"
            )
        words = empty_sets((), wins.shape[1]).shape
        if sets.shape != (*fields["counts"].shape, *words) or offsets[0] != 0 or offsets[-1] != len(sets):
            raise ValueError(
                f"sets, counts and offsets do not fit together: shapes {sets.shape} and {fields['counts'].shape}, "
                f"offsets from {offsets[0]} to {offsets[-1]}"
            )
        ties = self.ties if self.ties.tied.size else LargeTies.none(*wins.shape)
        if ties.timepoints != wins.shape[0]:
            raise ValueError(f"there are ties at {ties.timepoints} timepoints, and wins at {wins.shape[0]}")
        if ties.tied.shape[1:] != words:
            raise ValueError(f"sets of ties have shape {ties.tied.shape}, and choice sets {sets.shape}")
        if self.instances is not None and self.instances.ranks.shape[1:] != wins.shape:
            raise ValueError(f"the ranks of instances have shape {self.instances.ranks.shape}, and wins {wins.shape}")
        for name, array in fields.items():
            object.__setattr__(self, name, array)
        object.__setattr__(self, "ties", ties)

    @property
    def known_instances(self) -> InstanceRanks:
        """The ranking of each instance.

        Raises:
            ValueError: If it is not known.
        """
        if self.instances is None:
            raise ValueError(
                "the ranking of each instance is needed, and these counts are sums only; make them by "
                "polarbear.rankings.choice_counts"
            )
        return self.instances

    @property
    def algorithms(self) -> int:
        """Number of algorithms n."""
        return self.wins.shape[1]

    @property
    def timepoints(self) -> int:
        """Number of timepoints T."""
        return self.wins.shape[0]

    @classmethod
    def none(cls, timepoints: int, algorithms: int) -> ChoiceCounts:
        """The counts of no ranking at all."""
        return cls(
            wins=np.zeros((timepoints, algorithms)),
            sets=empty_sets((0,), algorithms),
            counts=np.empty(0),
            offsets=np.zeros(timepoints + 1, np.int64),
            rankings=np.zeros(timepoints, np.int64),
            instances=InstanceRanks.of(np.empty((0, timepoints, algorithms))),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ChoiceCounts):
            return NotImplemented
        arrays = zip(self._arrays(), other._arrays(), strict=True)
        return all(np.array_equal(mine, theirs) for mine, theirs in arrays) and self.ties == other.ties

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.wins, self.sets, self.counts, self.offsets, self.rankings

    def at(self, timepoint: int) -> tuple[FloatArray, MaskArray, FloatArray]:
        """Wins (n,), choice sets (s,) and their counts (s,) at one timepoint, given by its index.

        Ties that are not listed as choice sets are found by `ties.at`.
        """
        here = slice(self.offsets[timepoint], self.offsets[timepoint + 1])
        return self.wins[timepoint], self.sets[here], self.counts[here]

    def membership(self) -> FloatArray:
        """(S, n) float64: 1 where the algorithm is in the choice set, else 0."""
        return membership(self.sets, self.algorithms)

    def select(self, timepoints: slice | ArrayLike) -> ChoiceCounts:
        """The counts at some timepoints: a slice, indices, or one truth value per timepoint."""
        every = np.arange(self.timepoints)
        chosen = every[timepoints] if isinstance(timepoints, slice) else every[_indices(timepoints)]
        entries, offsets = chosen_entries(self.offsets, chosen)
        return ChoiceCounts(
            self.wins[chosen],
            self.sets[entries],
            self.counts[entries],
            offsets,
            self.rankings[chosen],
            self.ties.select(chosen),
            self.instances and self.instances.select(chosen),
        )

    def padded(self, algorithms: int) -> ChoiceCounts:
        """The same counts with algorithms added at the end that have never been run.

        Args:
            algorithms: How many there are afterwards.

        Raises:
            ValueError: If that is fewer than now, or more than 32,767.
        """
        if algorithms < self.algorithms:
            raise ValueError(f"cannot pad {self.algorithms} algorithms to {algorithms}; choice sets would be cut")
        wins = np.pad(self.wins, ((0, 0), (0, algorithms - self.algorithms)))
        instances = self.instances and self.instances.padded(algorithms)
        sets, ties = resized(self.sets, algorithms), self.ties.padded(algorithms)
        return ChoiceCounts(wins, sets, self.counts, self.offsets, self.rankings, ties, instances)

    def merged(self, other: ChoiceCounts) -> ChoiceCounts:
        """These counts and those of further rankings of the same algorithms at the same timepoints.

        Raises:
            ValueError: If the numbers of timepoints or algorithms differ.
        """
        if self.wins.shape != other.wins.shape:
            raise ValueError(
                f"cannot merge counts of {self.timepoints} timepoints and {self.algorithms} algorithms with counts of "
                f"{other.timepoints} and {other.algorithms}; pad or select first"
            )
        parts: list[tuple[MaskArray, FloatArray]] = []
        for t in range(self.timepoints):
            (_, sets, counts), (_, more_sets, more_counts) = self.at(t), other.at(t)
            parts.append(summed(np.concatenate([sets, more_sets]), np.concatenate([counts, more_counts])))
        rankings = self.rankings + other.rankings
        instances = self.instances and other.instances and self.instances.merged(other.instances)
        return joined(self.wins + other.wins, parts, rankings, self.ties.merged(other.ties), instances)

    __add__ = merged

    def log_likelihood(self, theta: ArrayLike) -> FloatArray:
        """The log-likelihood of ratings (eq. 7 of Wurth et al. 2026) at each timepoint.

        Args:
            theta: (..., T, n) positive ratings; their scale does not matter.

        Returns:
            (..., T) float64.

        Raises:
            ValueError: If the last two axes are not (T, n).
        """
        ratings = np.asarray(theta, dtype=np.float64)
        if ratings.shape[-2:] != self.wins.shape:
            raise ValueError(f"theta has shape {ratings.shape}; its last two axes need {self.wins.shape}")
        result = np.einsum("...ti,ti->...t", np.log(ratings), self.wins)
        for t in range(self.timepoints):
            _, sets, counts = self.at(t)
            result[..., t] -= np.log(ratings[..., t, :] @ membership(sets, self.algorithms).T) @ counts
            result[..., t] += _of_ties(ratings[..., t, :], self.ties.at(t))
        return result

    def scores(self, theta: ArrayLike) -> FloatArray:
        """(T, n) derivatives of the log-likelihood at each timepoint by the log-ratings, at ratings (n,)."""
        ratings = np.asarray(theta, dtype=np.float64)
        members = self.membership()
        rates = self.counts / (members @ ratings)
        expected = np.zeros_like(self.wins)
        at = np.repeat(np.arange(self.timepoints), np.diff(self.offsets))
        np.add.at(expected, at, rates[:, np.newaxis] * members)
        scores = self.wins - ratings * expected
        for t in np.flatnonzero(np.diff(self.ties.offsets)):
            for tied, below, amount in zip(*self.ties.at(int(t)), strict=True):
                among, after = membership(np.array([tied, below]), self.algorithms) > 0
                behind = np.array([ratings[after].sum()])
                _, by_tied, by_below = tie_slope(ratings[among, np.newaxis], behind)
                scores[t, among] += amount * (1.0 - by_tied[:, 0])
                scores[t, after] -= amount * by_below[0] * ratings[after] / max(behind[0], _TINY)
        return scores


def _of_ties(ratings: FloatArray, ties: Ties) -> FloatArray:
    """What ties add to the log-likelihood (...,) of ratings (..., n)."""
    algorithms = ratings.shape[-1]
    columns = ratings.reshape(-1, algorithms).T
    total = np.zeros(columns.shape[1])
    for tied, below, amount in zip(*ties, strict=True):
        members, others = membership(np.array([tied, below]), algorithms)
        theirs = columns[members > 0]
        total += amount * (np.log(theirs).sum(axis=0) - tie_value(theirs, others @ columns))
    return total.reshape(ratings.shape[:-1])


def summed(sets: MaskArray, amounts: FloatArray) -> tuple[MaskArray, FloatArray]:
    """The distinct sets in increasing order, and the sum of the amounts of each."""
    if not len(sets):
        return sets, amounts
    order = order_of(sets)
    ordered = sets[order]
    first = firsts(ordered)
    return ordered[first], np.add.reduceat(amounts[order], first)


def joined(
    wins: FloatArray,
    parts: list[tuple[MaskArray, FloatArray]],
    rankings: IntArray,
    ties: LargeTies,
    instances: InstanceRanks | None,
) -> ChoiceCounts:
    """Counts put together from each timepoint's sets and amounts."""
    return ChoiceCounts(
        wins=wins,
        sets=np.concatenate([empty_sets((0,), wins.shape[1]), *(sets for sets, _ in parts)]),
        counts=np.concatenate([np.empty(0), *(counts for _, counts in parts)]),
        offsets=np.cumsum([0, *(len(sets) for sets, _ in parts)]),
        rankings=rankings,
        ties=ties,
        instances=instances,
    )


def _indices(timepoints: ArrayLike) -> NDArray[Any]:
    found = np.atleast_1d(np.asarray(timepoints))
    return found if found.size else found.astype(np.int64)

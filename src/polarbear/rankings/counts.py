"""Choice-set counts: the sufficient statistics of Plackett–Luce rankings at several timepoints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.rankings.masks import (
    Columns,
    MaskArray,
    by_timepoint,
    check_algorithms,
    chosen_entries,
    empty_sets,
    frozen,
    members_of,
    membership,
    resized,
    set_sizes,
    summed,
)
from polarbear.rankings.rankings import Rankings
from polarbear.rankings.tie_integral import tie_slope, tie_value
from polarbear.records import FloatArray, IntArray

_TINY = np.finfo(np.float64).tiny
Ties = tuple[MaskArray, MaskArray, FloatArray]
"""Sets of tied algorithms, the sets ranked below them, and how often each tie occurred."""


@dataclass(frozen=True, slots=True, eq=False)
class LargeTies:
    """Ties of too many algorithms for their choice sets to be listed, at each timepoint.

    A tie stands for all orders of the tied algorithms with equal weight. It adds Σ log θ_i − F to the log-likelihood,
    where the sum is over the tied, and F is the mean over all orders of the sum of the logarithms of the sums chosen
    from (see `polarbear.rankings.tie_integral`).

    Attributes:
        tied: (M,) sets of the tied algorithms, encoded as in `ChoiceCounts`.
        below: (M,) sets of the algorithms ranked below each tie.
        amounts: (M,) float64, how often each tie occurred.
        offsets: (T + 1,) int64, index of each timepoint's first tie. Within a timepoint ties are distinct, in
            increasing order of `tied`, then of `below`.

    Raises:
        ValueError: If the shapes do not match, a tie has fewer than two members, or one is also below.
    """

    tied: MaskArray
    below: MaskArray
    amounts: FloatArray
    offsets: IntArray

    def __post_init__(self) -> None:
        _freeze(self, tied=np.uint64, below=np.uint64, amounts=np.float64, offsets=np.int64)
        tied, below, amounts, offsets = self.tied, self.below, self.amounts, self.offsets
        if tied.ndim not in {1, 2} or tied.shape != below.shape or tied.shape[:1] != amounts.shape:
            raise ValueError(
                f"tied, below and amounts have shapes {tied.shape}, {below.shape} and {amounts.shape}; each must have "
                "one entry per tie"
            )
        if offsets.ndim != 1 or offsets.size < 1 or offsets[0] != 0 or offsets[-1] != len(tied):
            raise ValueError(f"offsets are {offsets.tolist()}; they must run from 0 to {len(tied)}, the number of ties")
        if (set_sizes(tied) < 2).any() or (tied & below).any():
            raise ValueError("each tie must have at least two members, none of which is also below it")

    @property
    def timepoints(self) -> int:
        """Number of timepoints T."""
        return self.offsets.size - 1

    @classmethod
    def none(cls, timepoints: int, algorithms: int) -> LargeTies:
        """No tie at any timepoint."""
        empty = empty_sets((0,), algorithms)
        return cls(empty, empty, np.empty(0), np.zeros(timepoints + 1, np.int64))

    def __eq__(self, other: object) -> bool:
        return _same_arrays(self, other, "tied", "below", "amounts", "offsets")

    def at(self, timepoint: int) -> Ties:
        """The ties at one timepoint, given by its index."""
        here = slice(self.offsets[timepoint], self.offsets[timepoint + 1])
        return self.tied[here], self.below[here], self.amounts[here]

    def select(self, timepoints: IntArray) -> LargeTies:
        """The ties at some timepoints, given by their indices."""
        entries, offsets = chosen_entries(self.offsets, timepoints)
        return LargeTies(self.tied[entries], self.below[entries], self.amounts[entries], offsets)

    def padded(self, algorithms: int) -> LargeTies:
        """The same ties among more algorithms."""
        return LargeTies(resized(self.tied, algorithms), resized(self.below, algorithms), self.amounts, self.offsets)

    def merged(self, other: LargeTies) -> LargeTies:
        """The union of these ties and others at the same timepoints."""
        parts = (_merged(self.at(t), other.at(t)) for t in range(self.timepoints))
        return LargeTies(*by_timepoint((self.tied[:0], self.below[:0], self.amounts[:0]), parts))


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceCounts:
    """How often each algorithm was chosen, and how often each set was chosen from, at each timepoint.

    The log-likelihood of ratings θ at timepoint t is

        Σ_i wins[t, i] · log θ_i  −  Σ_s counts[s] · log Σ_{j in sets[s]} θ_j,    s = offsets[t] … offsets[t + 1] − 1,

    plus the terms of `ties`. Choices from a single algorithm say nothing and are left out of both sums, so at each
    timepoint the wins add up to the counts. Small ties make both fractional; large ties enter neither.

    Attributes:
        wins: (T, n) float64, how often each algorithm was chosen from others.
        sets: (S,) uint64, the choice sets of all timepoints; bit i is set if algorithm i could be chosen. For more than
            64 algorithms the shape is (S, ⌈n / 64⌉), with bit i mod 64 of word ⌊i / 64⌋ for algorithm i. Within a
            timepoint sets increase strictly, with the last word most significant.
        counts: (S,) float64, how often each set was chosen from.
        offsets: (T + 1,) int64, index of each timepoint's first set in `sets`.
        rankings: (T,) int64, number of rankings with at least two algorithms.
        ties: Ties of too many algorithms for their choice sets to be listed; none by default.
        instances: The rankings that were counted; None if unknown. Equality ignores it.

    Raises:
        ValueError: If the shapes do not match, or there are no algorithms or more than 32,767.
    """

    wins: FloatArray
    sets: MaskArray
    counts: FloatArray
    offsets: IntArray
    rankings: IntArray
    ties: LargeTies = field(default_factory=lambda: LargeTies.none(0, 1))
    instances: Rankings | None = None

    def __post_init__(self) -> None:
        _freeze(self, wins=np.float64, sets=np.uint64, counts=np.float64, offsets=np.int64, rankings=np.int64)
        wins, sets, counts, offsets = self.wins, self.sets, self.counts, self.offsets
        if wins.ndim != 2:
            raise ValueError(f"wins has shape {wins.shape}; it must be (timepoints, algorithms)")
        check_algorithms(wins.shape[1])
        if offsets.shape != (len(wins) + 1,) or self.rankings.shape != (len(wins),):
            raise ValueError(
                f"offsets and rankings have shapes {offsets.shape} and {self.rankings.shape}; for {len(wins)} "
                f"timepoints they must be ({len(wins) + 1},) and ({len(wins)},)"
            )
        words = empty_sets((), wins.shape[1]).shape
        if sets.shape != (*counts.shape, *words) or offsets[0] != 0 or offsets[-1] != len(sets):
            raise ValueError(
                f"sets, counts and offsets do not fit together: shapes {sets.shape} and {counts.shape}, offsets from "
                f"{offsets[0]} to {offsets[-1]}"
            )
        ties = self.ties if self.ties.tied.size else LargeTies.none(*wins.shape)
        if ties.timepoints != len(wins):
            raise ValueError(f"the number of timepoints is {ties.timepoints} in ties, but {len(wins)} in wins")
        if ties.tied.shape[1:] != words:
            raise ValueError(f"sets of ties have shape {ties.tied.shape}, but choice sets have shape {sets.shape}")
        if self.instances is not None and self.instances.ranks.shape[1:] != wins.shape:
            raise ValueError(
                f"the ranks of instances have shape {self.instances.ranks.shape}, but wins has shape {wins.shape}"
            )
        object.__setattr__(self, "ties", ties)

    @property
    def known_instances(self) -> Rankings:
        """The rankings that were counted.

        Raises:
            ValueError: If they are unknown.
        """
        if self.instances is None:
            raise ValueError(
                "the ranking of each instance is needed, but these counts are only sums; make them with "
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
        """The counts of no rankings."""
        return cls(
            wins=np.zeros((timepoints, algorithms)),
            sets=empty_sets((0,), algorithms),
            counts=np.empty(0),
            offsets=np.zeros(timepoints + 1, np.int64),
            rankings=np.zeros(timepoints, np.int64),
            instances=Rankings.of(np.empty((0, timepoints, algorithms))),
        )

    def __eq__(self, other: object) -> bool:
        same = _same_arrays(self, other, "wins", "sets", "counts", "offsets", "rankings")
        return same and isinstance(other, ChoiceCounts) and self.ties == other.ties

    def at(self, timepoint: int) -> tuple[FloatArray, MaskArray, FloatArray]:
        """Wins (n,), choice sets (s,) and their counts (s,) at one timepoint, given by its index.

        `ties.at` gives the ties that are not listed as choice sets.
        """
        here = slice(self.offsets[timepoint], self.offsets[timepoint + 1])
        return self.wins[timepoint], self.sets[here], self.counts[here]

    def membership(self) -> FloatArray:
        """(S, n) float64: 1 where the algorithm is in the choice set, else 0."""
        return membership(self.sets, self.algorithms)

    def select(self, timepoints: slice | ArrayLike) -> ChoiceCounts:
        """The counts at some timepoints, given by a slice, indices, or a boolean mask."""
        chosen = np.arange(self.timepoints)[timepoints if isinstance(timepoints, slice) else _indices(timepoints)]
        entries, offsets = chosen_entries(self.offsets, chosen)
        return ChoiceCounts(
            self.wins[chosen],
            self.sets[entries],
            self.counts[entries],
            offsets,
            self.rankings[chosen],
            self.ties.select(chosen),
            self.instances and self.instances.at(chosen),
        )

    def padded(self, algorithms: int) -> ChoiceCounts:
        """The same counts, with algorithms that were never run added at the end.

        Args:
            algorithms: Number of algorithms in the result.

        Raises:
            ValueError: If that is fewer than now, or more than 32,767.
        """
        if algorithms < self.algorithms:
            raise ValueError(f"cannot pad {self.algorithms} algorithms to {algorithms}; choice sets would be cut")
        return ChoiceCounts(
            np.pad(self.wins, ((0, 0), (0, algorithms - self.algorithms))),
            resized(self.sets, algorithms),
            self.counts,
            self.offsets,
            self.rankings,
            self.ties.padded(algorithms),
            self.instances and self.instances.padded(algorithms),
        )

    def merged(self, other: ChoiceCounts) -> ChoiceCounts:
        """The sum of these counts and those of further rankings of the same algorithms at the same timepoints.

        Raises:
            ValueError: If the numbers of timepoints or algorithms differ.
        """
        if self.wins.shape != other.wins.shape:
            raise ValueError(
                f"cannot merge counts of {self.timepoints} timepoints and {self.algorithms} algorithms with counts of "
                f"{other.timepoints} and {other.algorithms}; pad or select first"
            )
        parts = (_merged(self.at(t)[1:], other.at(t)[1:]) for t in range(self.timepoints))
        return ChoiceCounts(
            self.wins + other.wins,
            *by_timepoint((self.sets[:0], self.counts[:0]), parts),
            rankings=self.rankings + other.rankings,
            ties=self.ties.merged(other.ties),
            instances=self.instances and other.instances and self.instances.merged(other.instances),
        )

    __add__ = merged

    def log_likelihood(self, theta: ArrayLike) -> FloatArray:
        """The log-likelihood of ratings (eq. 7 of Wurth et al. 2026) at each timepoint.

        Args:
            theta: (..., T, n) positive ratings; their scale does not matter.

        Returns:
            (..., T) float64 log-likelihood.

        Raises:
            ValueError: If the last two axes are not (T, n).
        """
        ratings = np.asarray(theta, dtype=np.float64)
        if ratings.shape[-2:] != self.wins.shape:
            raise ValueError(f"theta has shape {ratings.shape}; its last two axes must be {self.wins.shape}")
        result = np.einsum("...ti,ti->...t", np.log(ratings), self.wins)
        for t in range(self.timepoints):
            _, sets, counts = self.at(t)
            result[..., t] -= np.log(ratings[..., t, :] @ membership(sets, self.algorithms).T) @ counts
            result[..., t] += _log_likelihood_of_ties(ratings[..., t, :], self.ties.at(t))
        return result

    def scores(self, theta: ArrayLike) -> FloatArray:
        """(T, n) gradient of the log-likelihood at each timepoint in the log-ratings, at ratings `theta` (n,)."""
        ratings = np.asarray(theta, dtype=np.float64)
        members = self.membership()
        rates = self.counts / (members @ ratings)
        expected = np.zeros_like(self.wins)
        timepoints = np.repeat(np.arange(self.timepoints), np.diff(self.offsets))
        np.add.at(expected, timepoints, rates[:, np.newaxis] * members)
        scores = self.wins - ratings * expected
        for t in np.flatnonzero(np.diff(self.ties.offsets)):
            for tied, below, amount in zip(*self.ties.at(int(t)), strict=True):
                among, after = members_of(np.array([tied, below]), self.algorithms)
                behind = np.array([ratings[after].sum()])
                _, by_tied, by_below = tie_slope(ratings[among, np.newaxis], behind)
                scores[t, among] += amount * (1.0 - by_tied[:, 0])
                scores[t, after] -= amount * by_below[0] * ratings[after] / max(behind[0], _TINY)
        return scores


def _log_likelihood_of_ties(ratings: FloatArray, ties: Ties) -> FloatArray:
    """(...,) contribution of ties to the log-likelihood of ratings (..., n)."""
    algorithms = ratings.shape[-1]
    columns = ratings.reshape(-1, algorithms).T
    total = np.zeros(columns.shape[1])
    for tied, below, amount in zip(*ties, strict=True):
        members, others = membership(np.array([tied, below]), algorithms)
        chosen = columns[members > 0]
        total += amount * (np.log(chosen).sum(axis=0) - tie_value(chosen, others @ columns))
    return total.reshape(ratings.shape[:-1])


def _merged(first: Columns, second: Columns) -> Columns:
    """The entries of both at one timepoint, with equal sets summed."""
    return summed(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def _freeze(value: object, **dtypes: type[np.generic]) -> None:
    for name, dtype in dtypes.items():
        object.__setattr__(value, name, frozen(getattr(value, name), dtype))


def _same_arrays(first: object, second: object, *names: str) -> bool:
    return type(first) is type(second) and all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in names
    )


def _indices(timepoints: ArrayLike) -> NDArray[Any]:
    indices = np.atleast_1d(np.asarray(timepoints))
    return indices if indices.size else indices.astype(np.int64)

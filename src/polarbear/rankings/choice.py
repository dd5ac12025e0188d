"""From values at timepoints to choice-set counts."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from polarbear.rankings.counts import ChoiceCounts, joined, summed
from polarbear.rankings.instances import InstanceRanks, group_numbers
from polarbear.rankings.large_ties import LargeTies, Ties, distinct_ties
from polarbear.rankings.masks import (
    BITS,
    MaskArray,
    as_words,
    check_algorithms,
    earlier,
    empty_sets,
    membership,
    set_sizes,
)
from polarbear.rankings.ties import expand_ties, largest_expanded
from polarbear.records import FloatArray

Tail = Literal["tied", "unordered"]


def choice_counts(
    values: ArrayLike,
    *,
    precision: float | None = None,
    target: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    tail: Tail = "tied",
) -> ChoiceCounts:
    """Rank the algorithms on every instance at every timepoint and count the choices the rankings are made of.

    Algorithms with equal values tie, and a tie counts as all its orders equally, exactly. Ties of up to 8 algorithms,
    and of up to 12 where no more are ranked at the timepoint, become choice sets (see `polarbear.rankings.ties`).
    Larger ones are kept as they are (see `polarbear.rankings.tie_integral`).

    Args:
        values: (P, T, n) best value found by each algorithm on each instance by each timepoint; lower is better.
            NaN: not run, or not known; the ranking is one of the others. +inf: nothing found yet, or no more known
            than that the algorithm comes after all others; see `tail`.
        precision: Values are tied when they agree after rounding to multiples of this; None: when they are equal.
        target: Values at or below it are tied: a number, or (P,) one per instance (NaN: none).
        weights: (P,) how much the rankings on each instance count; default 1 each. Those that count 0 are left out.
        groups: (P,) labels of groups of instances, such as the functions of a suite, where only groups are independent
            of each other; by default each instance is. It matters to `polarbear.inference.InstanceBootstrap` alone.
        tail: What is said of algorithms at +inf, apart from that all others come before them. "tied": they are as good
            as each other, and count as all their orders equally. "unordered": their order was not observed, and
            nothing is said of it. A ranking of which the top m places alone are known is one whose other algorithms
            are at +inf and unordered; its likelihood is that of its first m choices (eq. 6 of Wurth et al. 2026).

    Returns:
        The counts at T timepoints for n algorithms.

    Raises:
        ValueError: If `values` is not three-dimensional, there are no algorithms or more than 32,767, or another
            argument is out of its range; the message names it.
    """
    cells = _prepared(values, precision, target)
    share = _checked_weights(weights, len(cells))
    if tail not in get_args(Tail):
        raise ValueError(f"tail is {tail!r}; algorithms at +inf are one of {', '.join(get_args(Tail))}")
    numbers = group_numbers(groups, len(cells))[share > 0]
    cells, share = cells[share > 0], share[share > 0]
    _, timepoints, algorithms = cells.shape
    wins = np.zeros((timepoints, algorithms))
    rankings = np.zeros(timepoints, np.int64)
    parts: list[tuple[MaskArray, FloatArray]] = []
    large: list[Ties] = []
    for t in range(timepoints):
        columns = np.ascontiguousarray(cells[:, t].T)
        wins[t], part, ties = _count(columns, share, tail)
        parts.append(part)
        large.append(ties)
        rankings[t] = np.count_nonzero(np.count_nonzero(~np.isnan(columns), axis=0) > 1)
    instances = InstanceRanks.of(cells, share, numbers, unordered=tail == "unordered")
    return joined(wins, parts, rankings, LargeTies.joined(large, empty_sets((0,), algorithms)), instances)


def _count(columns: FloatArray, share: FloatArray, tail: Tail) -> tuple[FloatArray, tuple[MaskArray, FloatArray], Ties]:
    """Wins (n,), distinct choice sets with their counts, and large ties, from the values (n, P) at one timepoint."""
    algorithms = columns.shape[0]
    tied, below = _tied_and_below(columns)
    if tail == "unordered":
        tied[np.isposinf(columns)] = 0
    largest = largest_expanded(int(np.count_nonzero((~np.isnan(columns)).any(axis=1))))
    size = set_sizes(tied, 2)
    kept = size > largest
    chosen = (set_sizes(tied | below, 2) > 0) & ~kept
    amounts = np.broadcast_to(share, columns.shape)
    wins = (amounts * chosen).sum(axis=1)

    alone = chosen & (size == 1)
    first_of_tie = (size > 1) & (set_sizes(tied & earlier(algorithms)[:, np.newaxis], 2) == 0)
    small, large = (
        distinct_ties(tied[which], below[which], amounts[which])
        for which in (first_of_tie & ~kept, first_of_tie & kept)
    )
    tie_sets, tie_counts = expand_ties(small, algorithms)
    sets, counts = summed(
        np.concatenate([(tied | below)[alone], tie_sets]), np.concatenate([amounts[alone], tie_counts])
    )

    single = set_sizes(sets) == 1
    winners = membership(sets[single], algorithms).argmax(axis=1)
    wins[winners] -= counts[single]
    return np.maximum(wins, 0.0), (sets[~single], counts[~single]), large


def _tied_and_below(columns: FloatArray) -> tuple[MaskArray, MaskArray]:
    """For each algorithm on each instance, (n, P): the set it ties with, itself among them, and the set below it."""
    tied, below = empty_sets(columns.shape, len(columns)), empty_sets(columns.shape, len(columns))
    words = as_words(tied, 2), as_words(below, 2)
    for word, start in enumerate(range(0, len(columns), BITS)):
        equal, larger = np.zeros((2, *columns.shape), np.uint64)
        for j, theirs in enumerate(columns[start : start + BITS]):
            bit = np.uint64(1 << j)
            equal |= (columns == theirs) * bit
            larger |= (columns < theirs) * bit
        words[0][..., word], words[1][..., word] = equal, larger
    return tied, below


def _prepared(values: ArrayLike, precision: float | None, target: ArrayLike | None) -> FloatArray:
    cells = np.asarray(values, dtype=np.float64)
    if cells.ndim != 3:
        raise ValueError(f"values has shape {cells.shape}; it needs (instances, timepoints, algorithms)")
    check_algorithms(cells.shape[2])
    if target is not None:
        goal = np.asarray(target, dtype=np.float64)
        if goal.shape not in {(), cells.shape[:1]}:
            raise ValueError(f"target has shape {goal.shape}; give one number, or {len(cells)}, one per instance")
        goal = np.where(np.isnan(goal), -np.inf, goal)
        cells = np.maximum(cells, goal.reshape(-1, 1, 1))
    if precision is not None:
        if not 0 < precision < np.inf:
            raise ValueError(f"precision is {precision!r}; it must be positive and finite, or None for equality")
        with np.errstate(over="ignore"):
            multiples = np.rint(cells / precision)
        largest = np.finfo(np.float64).max
        cells = np.where(np.isfinite(cells), np.clip(multiples, -largest, largest), cells)
    return cells


def _checked_weights(weights: ArrayLike | None, instances: int) -> FloatArray:
    if weights is None:
        return np.ones(instances)
    share = np.asarray(weights, dtype=np.float64)
    if share.shape != (instances,):
        raise ValueError(f"weights has shape {share.shape}; give one for each of {instances} instances")
    if not (np.isfinite(share).all() and (share >= 0).all()):
        raise ValueError("weights must be finite and not negative")
    return share

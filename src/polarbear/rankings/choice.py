"""Count the choice sets of rankings.

Small ties are expanded exactly without listing orders. A k-way tie stands for all k! orders, each with weight 1/k!
(section 3 of Wurth et al. 2026). In a random order of the tied items, the items not yet chosen when m of them are left
are a uniformly random subset of size m. So, with R the set of everything ranked below the tie, every non-empty subset A
of the tied items makes A ∪ R a choice set with weight 1/C(k, |A|): 2^k − 1 sets instead of k! orders, and the same
log-likelihood.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.rankings.counts import ChoiceCounts, LargeTies
from polarbear.rankings.masks import (
    BITS,
    Columns,
    MaskArray,
    alone,
    as_words,
    by_timepoint,
    earlier,
    empty_sets,
    members_of,
    membership,
    set_sizes,
    summed,
)
from polarbear.rankings.rankings import Rankings, Ranks, Tail
from polarbear.records import FloatArray

_SMALL_TIE = 8
_FEW_ALGORITHMS = 12
_ENTRIES_AT_ONCE = 1 << 20


def choice_counts(
    values: ArrayLike,
    *,
    precision: float | None = None,
    target: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    tail: Tail = "tied",
) -> ChoiceCounts:
    """Rank the algorithms on every instance at every timepoint, and count the choices that make up the rankings.

    Args:
        values: (P, T, n) best value found by each algorithm on each instance by each timepoint; lower is better.
            `Rankings.of` describes this and all other arguments in detail.
        precision: Values are tied if they agree after rounding to multiples of this.
        target: Values at or below it are tied: a number, or (P,) one per instance.
        weights: (P,) weight of each instance.
        groups: (P,) labels of groups of instances.
        tail: Whether algorithms at +inf are "tied" or "unordered".

    Returns:
        The counts at T timepoints for n algorithms.

    Raises:
        ValueError: For the same reasons as in `Rankings.of`.
    """
    rankings = Rankings.of(values, precision=precision, target=target, weights=weights, groups=groups, tail=tail)
    return count_choices(rankings)


def count_choices(rankings: Rankings) -> ChoiceCounts:
    """Count the choices that make up rankings.

    Algorithms of equal rank are tied, and a tie counts exactly as all its orders with equal weight. Ties of up to 8
    algorithms, and of up to 12 if no more are ranked at the timepoint, become choice sets. Larger ties are kept as ties
    (see `polarbear.rankings.tie_integral`).
    """
    ranks, n = rankings.ranks, rankings.ranks.shape[2]
    columns = np.ascontiguousarray(ranks.transpose(1, 2, 0))
    counted = [_count(each, rankings.weights, rankings.unordered) for each in columns]
    empty, no_amounts = empty_sets((0,), n), np.empty(0)
    return ChoiceCounts(
        np.array([wins for wins, _, _ in counted]).reshape(-1, n),
        *by_timepoint((empty, no_amounts), (part for _, part, _ in counted)),
        rankings=np.count_nonzero(rankings.sizes > 1, axis=0),
        ties=LargeTies(*by_timepoint((empty, empty, no_amounts), (ties for _, _, ties in counted))),
        instances=rankings,
    )


def _count(ranks: Ranks, weights: FloatArray, unordered: int) -> tuple[FloatArray, Columns, Columns]:
    """Wins (n,), distinct choice sets with their counts, and large ties, from ranks (n, P) at one timepoint."""
    algorithms, run = len(ranks), ranks >= 0
    tied, below = _tied_and_below(ranks, run)
    tied[ranks == unordered] = 0
    remaining, size = tied | below, set_sizes(tied, 2)
    is_large = size > largest_expanded(int(np.count_nonzero(run.any(axis=1))))
    chosen = (set_sizes(remaining, 2) > 0) & ~is_large
    amounts = np.broadcast_to(weights, ranks.shape)
    wins = (amounts * chosen).sum(axis=1)

    untied = chosen & (size == 1)
    first_of_tie = (size > 1) & (set_sizes(tied & earlier(algorithms)[:, np.newaxis], 2) == 0)
    small, large = (
        summed(tied[which], below[which], amounts[which])
        for which in (first_of_tie & ~is_large, first_of_tie & is_large)
    )
    tie_sets, tie_counts = _expand_ties(small, algorithms)
    sets, counts = summed(np.concatenate([remaining[untied], tie_sets]), np.concatenate([amounts[untied], tie_counts]))

    single = set_sizes(sets) == 1
    winners = membership(sets[single], algorithms).argmax(axis=1)
    wins[winners] -= counts[single]
    return np.maximum(wins, 0.0), (sets[~single], counts[~single]), large


def _tied_and_below(ranks: Ranks, run: NDArray[np.bool_]) -> tuple[MaskArray, MaskArray]:
    """(n, P) for each algorithm on each instance: the set it ties with, itself included, and the set below it."""
    tied, below = empty_sets(ranks.shape, len(ranks)), empty_sets(ranks.shape, len(ranks))
    tied_words, below_words = as_words(tied, 2), as_words(below, 2)
    for word, start in enumerate(range(0, len(ranks), BITS)):
        equal, larger = np.zeros((2, *ranks.shape), np.uint64)
        for j, competitor in enumerate(ranks[start : start + BITS]):
            bit = np.uint64(1 << j)
            equal |= (ranks == competitor) * bit
            larger |= (ranks < competitor) * bit
        tied_words[..., word], below_words[..., word] = equal * run, larger * run
    return tied, below


def largest_expanded(algorithms: int) -> int:
    """Size of the largest tie whose subsets are listed, given the number of algorithms ranked at a timepoint.

    Up to 12 algorithms have at most 4,095 subsets, however many ties there are. Among more, each tie of more than 8 has
    more subsets than are worth listing.
    """
    return _FEW_ALGORITHMS if algorithms <= _FEW_ALGORITHMS else _SMALL_TIE


def _expand_ties(ties: Columns, algorithms: int) -> tuple[MaskArray, FloatArray]:
    """The choice sets that ties stand for, including single algorithms and repetitions, and the count of each."""
    tied, below, amounts = ties
    sets: list[MaskArray] = [empty_sets((0,), algorithms)]
    weights: list[FloatArray] = [np.empty(0)]
    sizes = set_sizes(tied)
    for k in np.unique(sizes).tolist():
        same_size = np.flatnonzero(sizes == k)
        for some in np.array_split(same_size, 1 + (same_size.size << k) // _ENTRIES_AT_ONCE):
            subsets, share = _all_subsets(tied[some], k, algorithms)
            sets.append((subsets | below[some, np.newaxis]).reshape(-1, *below.shape[1:]))
            weights.append((amounts[some, np.newaxis] * share).ravel())
    return np.concatenate(sets), np.concatenate(weights)


def _all_subsets(tied: MaskArray, k: int, algorithms: int) -> tuple[MaskArray, FloatArray]:
    """(m, 2^k − 1) non-empty subsets of sets of size k, and (2^k − 1,) weights 1/C(k, size)."""
    subsets = empty_sets((len(tied), 1), algorithms)
    single = alone(algorithms)
    for member in np.nonzero(members_of(tied, algorithms))[1].reshape(len(tied), k).T:
        subsets = np.concatenate([subsets, subsets | single[member, np.newaxis]], axis=1)
    share = 1.0 / np.array([comb(k, size) for size in range(k + 1)])
    sizes = np.bitwise_count(np.arange(1, 1 << k, dtype=np.uint64))
    return subsets[:, 1:], share[sizes]

"""Small ties, expanded exactly without listing orders.

A k-way tie stands for all k! orders, each with weight 1/k! (section 3 of Wurth et al. 2026). In a random order of the
tied items, the items not yet chosen when m of them are left are a uniformly random subset of size m. So, with R the
set of everything ranked below the tie, every non-empty subset A of the tied items makes A ∪ R a choice set with
weight 1/C(k, |A|): 2^k − 1 sets instead of k! orders, and the same log-likelihood.
"""

from __future__ import annotations

from math import comb

import numpy as np

from polarbear.rankings.large_ties import Ties
from polarbear.rankings.masks import MaskArray, alone, empty_sets, members_of, set_sizes
from polarbear.records import FloatArray

_SMALL_TIE = 8
_FEW_ALGORITHMS = 12
_ENTRIES_AT_ONCE = 1 << 20


def largest_expanded(algorithms: int) -> int:
    """How many algorithms may tie, of those ranked at a timepoint, for their subsets to be listed.

    Up to 12 algorithms have 4,095 subsets altogether, however many ties there are. Among more, each tie of more than 8
    has more subsets than are worth listing (see `polarbear.rankings.tie_integral`).
    """
    return _FEW_ALGORITHMS if algorithms <= _FEW_ALGORITHMS else _SMALL_TIE


def expand_ties(ties: Ties, algorithms: int) -> tuple[MaskArray, FloatArray]:
    """The choice sets that ties stand for, not distinct, single algorithms among them, and how often each was met."""
    tied, below, amounts = ties
    sets: list[MaskArray] = [empty_sets((0,), algorithms)]
    weights: list[FloatArray] = [np.empty(0)]
    sizes = set_sizes(tied)
    for k in np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == k)
        for members in np.array_split(alike, 1 + (alike.size << k) // _ENTRIES_AT_ONCE):
            subsets, share = _all_subsets(tied[members], k, algorithms)
            sets.append((subsets | below[members, np.newaxis]).reshape(-1, *below.shape[1:]))
            weights.append((amounts[members, np.newaxis] * share).ravel())
    return np.concatenate(sets), np.concatenate(weights)


def _all_subsets(tied: MaskArray, k: int, algorithms: int) -> tuple[MaskArray, FloatArray]:
    """(m, 2^k − 1) the non-empty subsets of sets of size k, and (2^k − 1,) the weight 1/C(k, size) of each."""
    subsets = empty_sets((len(tied), 1), algorithms)
    single = alone(algorithms)
    for member in np.nonzero(members_of(tied, algorithms))[1].reshape(len(tied), k).T:
        subsets = np.concatenate([subsets, subsets | single[member, np.newaxis]], axis=1)
    share = 1.0 / np.array([comb(k, size) for size in range(k + 1)])
    sizes = np.bitwise_count(np.arange(1, 1 << k, dtype=np.uint64))
    return subsets[:, 1:], share[sizes]

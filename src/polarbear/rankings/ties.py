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
from polarbear.rankings.masks import MaskArray
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


def expand_ties(ties: Ties) -> tuple[MaskArray, FloatArray]:
    """The choice sets that ties stand for, not distinct, single algorithms among them, and how often each was met."""
    tied, below, amounts = ties
    sets: list[MaskArray] = [np.empty(0, np.uint64)]
    weights: list[FloatArray] = [np.empty(0)]
    sizes = np.bitwise_count(tied)
    for k in np.unique(sizes).tolist():
        alike = np.flatnonzero(sizes == k)
        for members in np.array_split(alike, 1 + (alike.size << k) // _ENTRIES_AT_ONCE):
            subsets, share = _all_subsets(tied[members], k)
            sets.append((subsets | below[members, np.newaxis]).ravel())
            weights.append((amounts[members, np.newaxis] * share).ravel())
    return np.concatenate(sets), np.concatenate(weights)


def _all_subsets(tied: MaskArray, k: int) -> tuple[MaskArray, FloatArray]:
    """(m, 2^k − 1) the non-empty subsets of sets of size k, and (2^k − 1,) the weight 1/C(k, size) of each."""
    subsets = np.zeros((tied.size, 1), np.uint64)
    rest = tied.copy()
    for _ in range(k):
        lowest = rest & (~rest + np.uint64(1))
        subsets = np.concatenate([subsets, subsets | lowest[:, np.newaxis]], axis=1)
        rest ^= lowest
    share = 1.0 / np.array([comb(k, size) for size in range(k + 1)])
    sizes = np.bitwise_count(np.arange(1, 1 << k, dtype=np.uint64))
    return subsets[:, 1:], share[sizes]

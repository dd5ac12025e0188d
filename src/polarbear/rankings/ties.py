"""Ties, expanded exactly without listing orders.

A k-way tie stands for all k! orders, each with weight 1/k! (section 3 of Wurth et al. 2026). In a random order of the
tied items, the items not yet chosen when m of them are left are a uniformly random subset of size m. So, with R the
set of everything ranked below the tie, every non-empty subset A of the tied items makes A ∪ R a choice set with
weight 1/C(k, |A|): 2^k − 1 sets instead of k! orders, and the same log-likelihood.
"""

from __future__ import annotations

from math import comb

import numpy as np

from polarbear.rankings.counts import MaskArray
from polarbear.records import FloatArray

LARGEST_EXACT_TIE = 12
"""Larger ties have more subsets than are worth listing, and are sampled."""
_ENTRIES_AT_ONCE = 1 << 20


def expand_ties(
    tied: MaskArray, below: MaskArray, amounts: FloatArray, *, seed: int, orders: int
) -> tuple[MaskArray, FloatArray]:
    """The choice sets that ties stand for.

    Args:
        tied: (m,) the sets of tied algorithms, two or more each.
        below: (m,) the set ranked below each tie.
        amounts: (m,) how often each tie occurred.
        seed: Seeds the orders of ties of more than 12; a tie's orders depend on the seed and its members alone.
        orders: How many orders of such a tie are sampled, rounded up to a multiple of k: circular orders are drawn and
            begun at every item, so that each is left over equally often. Sizes with no more subsets stay exact.

    Returns:
        The sets, not distinct, single algorithms among them, and how often each was chosen from.
    """
    sets: list[MaskArray] = [np.empty(0, np.uint64)]
    weights: list[FloatArray] = [np.empty(0)]
    sizes = np.bitwise_count(tied)
    for k in np.unique(sizes).tolist():
        if k > LARGEST_EXACT_TIE:
            batches = [(np.array([i]), _sampled(int(tied[i]), seed, orders)) for i in np.flatnonzero(sizes == k)]
        else:
            alike = np.flatnonzero(sizes == k)
            pieces = np.array_split(alike, 1 + (alike.size << k) // _ENTRIES_AT_ONCE)
            batches = [(piece, _all_subsets(tied[piece], k)) for piece in pieces]
        for members, (subsets, share) in batches:
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


def _sampled(tied: int, seed: int, orders: int) -> tuple[MaskArray, FloatArray]:
    """(1, m) subsets of a large tie, all of a size that has few, else those left over in sampled orders; weights."""
    members = np.array([1 << bit for bit in range(tied.bit_length()) if tied >> bit & 1], np.uint64)
    k = members.size
    rng = np.random.default_rng(np.random.SeedSequence([seed, tied & 0xFFFFFFFF, tied >> 32]))
    circles = rng.permuted(np.broadcast_to(members, (-(-orders // k), k)), axis=1)
    turns = (np.arange(k)[:, np.newaxis] + np.arange(k)) % k
    left_over = np.bitwise_or.accumulate(circles[:, turns].reshape(-1, k), axis=1)
    subsets: list[MaskArray] = []
    share: list[FloatArray] = []
    for size in range(1, k + 1):
        found = _of_size(members, size) if comb(k, size) <= orders else left_over[:, size - 1]
        subsets.append(found)
        share.append(np.full(found.size, 1.0 / found.size))
    return np.concatenate(subsets)[np.newaxis], np.concatenate(share)


def _of_size(members: MaskArray, size: int) -> MaskArray:
    """All subsets of one size."""
    from itertools import combinations

    return np.array([np.bitwise_or.reduce(chosen) for chosen in combinations(members, size)], np.uint64)

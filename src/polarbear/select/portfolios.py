"""Which portfolios to compare: all of them while they are few, else those a local search visits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement
from math import comb

Multiset = tuple[int, ...]
"""Sorted indices of the members, repeated ones included."""


def pool(candidates: int, size: int, score: Callable[[Multiset], float], limit: int) -> tuple[list[Multiset], bool]:
    """The multisets of `size` out of `candidates` worth comparing (M_k of eq. 37).

    Args:
        candidates: Number of algorithms to choose from.
        size: Number of slots.
        score: What the local search climbs; higher is better.
        limit: Up to this many multisets, all are returned.

    Returns:
        The multisets, and whether they are all there are.
    """
    if comb(candidates + size - 1, size) <= limit:
        return list(combinations_with_replacement(range(candidates), size)), True
    return _search(candidates, size, score), False


def _search(candidates: int, size: int, score: Callable[[Multiset], float]) -> list[Multiset]:
    """Greedy construction, then swaps of one member until none helps; from each algorithm alone likewise.

    Returns every portfolio of the full size that was looked at.
    """
    visited: dict[Multiset, float] = {}

    def scored(members: Multiset) -> float:
        if members not in visited:
            visited[members] = score(members)
        return visited[members]

    start: Multiset = ()
    for _ in range(size):
        start = max((tuple(sorted((*start, new))) for new in range(candidates)), key=scored)
    for start_from in [start, *((only,) * size for only in range(candidates))]:
        here = start_from
        while (better := max(_neighbours(here, candidates), key=scored)) and scored(better) > scored(here):
            here = better
    return [members for members in visited if len(members) == size]


def _neighbours(members: Multiset, candidates: int) -> set[Multiset]:
    """All multisets that differ from `members` in one member."""
    return {
        tuple(sorted((*members[:slot], new, *members[slot + 1 :])))
        for slot in range(len(members))
        for new in range(candidates)
        if new != members[slot]
    }

"""Large arrays are worked through in batches, so that temporary arrays stay small."""

from __future__ import annotations

from collections.abc import Iterator

IN_CACHE = 1 << 16
"""Numbers that fit into a core's second-level cache: 512 KiB."""
IN_MEMORY = 1 << 20
"""Numbers that are a small part of memory: 8 MiB."""


def batches(items: int, numbers_each: int, limit: int) -> Iterator[slice]:
    """Slices of so many items that a batch makes no more than `limit` numbers, but one item at least."""
    step = max(1, limit // max(1, numbers_each))
    for start in range(0, items, step):
        yield slice(start, min(start + step, items))

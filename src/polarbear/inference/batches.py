"""Process large arrays in batches, to keep temporary arrays small."""

from __future__ import annotations

from collections.abc import Iterator

IN_CACHE = 1 << 16
"""Number of float64 values that fit into a core's second-level cache (512 KiB)."""
IN_MEMORY = 1 << 20
"""Number of float64 values that take a small part of memory (8 MiB)."""


def batches(items: int, numbers_each: int, limit: int) -> Iterator[slice]:
    """Slices of the items, each with at least one item and otherwise at most `limit` numbers."""
    step = max(1, limit // max(1, numbers_each))
    for start in range(0, items, step):
        yield slice(start, min(start + step, items))

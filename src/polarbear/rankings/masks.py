"""Sets of algorithms as bits of 64-bit words, and arrays that hold the entries of several timepoints.

With up to 64 algorithms a set is one word, so that sets of any shape are an array of that shape. With more, each set is
a row of words along one more axis, with the first 64 algorithms in the first word.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records import FloatArray, IntArray

MaskArray = NDArray[np.uint64]
Columns = tuple[NDArray[Any], ...]
"""One or two columns of sets (s,), followed by a column of their amounts (s,)."""
BITS = 64
"""Number of algorithms per word."""
MOST_ALGORITHMS = 32_767
"""Maximum number of algorithms: ranks have 16 bits, and the largest number marks algorithms in an unknown order."""


def check_algorithms(algorithms: int) -> None:
    """Raise a ValueError unless this number of algorithms can be ranked."""
    if not 1 <= algorithms <= MOST_ALGORITHMS:
        raise ValueError(f"there are {algorithms} algorithms; there must be 1 to {MOST_ALGORITHMS:,}")


def empty_sets(shape: tuple[int, ...], algorithms: int) -> MaskArray:
    """An array of empty sets."""
    return np.zeros(shape if algorithms <= BITS else (*shape, -(-algorithms // BITS)), np.uint64)


def as_words(sets: MaskArray, dimensions: int = 1) -> MaskArray:
    """The same sets, with an axis of words after the given number of dimensions."""
    return sets[..., np.newaxis] if sets.ndim == dimensions else sets


def packed(members: NDArray[np.bool_]) -> MaskArray:
    """The sets (s,) whose members (s, n) are true."""
    octets = np.packbits(members, axis=1, bitorder="little")
    words = np.pad(octets, ((0, 0), (0, -octets.shape[1] % 8))).view("<u8").astype(np.uint64)
    return words[:, 0] if members.shape[1] <= BITS else words


@cache
def alone(algorithms: int) -> MaskArray:
    """(n,) the set of each algorithm alone."""
    return packed(np.eye(algorithms, dtype=np.bool_))


@cache
def earlier(algorithms: int) -> MaskArray:
    """(n,) the set of the algorithms before each one."""
    return packed(np.tri(algorithms, k=-1, dtype=np.bool_))


def membership(sets: MaskArray, algorithms: int) -> FloatArray:
    """(s, n) float64: 1 where one of n `algorithms` is in one of the `sets`, else 0."""
    return members_of(sets, algorithms).astype(np.float64)


def members_of(sets: MaskArray, algorithms: int) -> NDArray[np.bool_]:
    """(s, n) whether each of n `algorithms` is in each of the `sets`."""
    octets = np.ascontiguousarray(as_words(sets), "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=algorithms, bitorder="little").view(np.bool_)


def set_sizes(sets: MaskArray, dimensions: int = 1) -> NDArray[np.integer[Any]]:
    """Number of members of each of the `sets`, an array with `dimensions` axes apart from that of words."""
    sizes = np.bitwise_count(sets)
    return sizes if sets.ndim == dimensions else sizes.sum(axis=-1)


def resized(sets: MaskArray, algorithms: int) -> MaskArray:
    """The same sets (s,) among more algorithms."""
    if algorithms <= BITS:
        return sets
    words = as_words(sets)
    return np.pad(words, ((0, 0), (0, -(-algorithms // BITS) - words.shape[1])))


def summed(*columns: NDArray[Any]) -> Columns:
    """Columns of the distinct sets, in increasing order, and the sums of their amounts.

    Sets are compared by the first column first, and within it by the last word first.
    """
    *sets, amounts = columns
    if not amounts.size:
        return columns
    words = [word for each in reversed(sets) for word in as_words(each).T]
    order = np.lexsort(words)
    changed = np.zeros(order.size, np.bool_)
    changed[0] = True
    for word in words:
        ordered = word[order]
        changed[1:] |= ordered[1:] != ordered[:-1]
    first = np.flatnonzero(changed)
    return *(each[order[first]] for each in sets), np.add.reduceat(amounts[order], first)


def by_timepoint(empty: Columns, parts: Iterable[Columns]) -> list[NDArray[Any]]:
    """The columns of entries, one timepoint after another, and (T + 1,) offsets of the timepoints."""
    all_parts = [empty, *parts]
    columns = [np.concatenate(column) for column in zip(*all_parts, strict=True)]
    return [*columns, np.cumsum([len(part[0]) for part in all_parts])]


def chosen_entries(offsets: IntArray, timepoints: IntArray) -> tuple[IntArray, IntArray]:
    """Indices of the entries of some timepoints, in their order, and the offsets of the result."""
    sizes = np.diff(offsets)[timepoints]
    chosen = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    return np.arange(int(chosen[-1])) + np.repeat(offsets[timepoints] - chosen[:-1], sizes), chosen


def frozen(array: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """A read-only copy."""
    copy = np.array(array, dtype=dtype)
    copy.flags.writeable = False
    return copy

"""Sets of algorithms as bits of 64-bit words, and arrays of several timepoints' entries one after another.

Up to 64 algorithms a set is one word, so that sets of any shape are an array of that shape. Beyond, each set is a row
of words along one more axis, the first 64 algorithms in the first word.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records import FloatArray, IntArray

MaskArray = NDArray[np.uint64]
BITS = 64
"""How many algorithms a word has room for."""
MOST_ALGORITHMS = 32_767
"""The ranks of more do not fit into the numbers of two bytes that are kept of them."""


def check_algorithms(algorithms: int) -> None:
    """Raise a ValueError unless so many algorithms can be ranked."""
    if not 1 <= algorithms <= MOST_ALGORITHMS:
        raise ValueError(f"there are {algorithms} algorithms; rankings are kept of 1 to {MOST_ALGORITHMS:,}")


def empty_sets(shape: tuple[int, ...], algorithms: int) -> MaskArray:
    """Sets without any member."""
    return np.zeros(shape if algorithms <= BITS else (*shape, -(-algorithms // BITS)), np.uint64)


def as_words(sets: MaskArray, dimensions: int = 1) -> MaskArray:
    """The same sets, an array of so many dimensions, with an axis of words."""
    return sets[..., np.newaxis] if sets.ndim == dimensions else sets


def packed(members: NDArray[np.bool_]) -> MaskArray:
    """The sets (s,) whose members (s, n) are true."""
    algorithms = members.shape[1]
    sets = empty_sets((len(members),), algorithms)
    words = as_words(sets)
    for i in range(algorithms):
        words[:, i // BITS] |= members[:, i] * np.uint64(1 << i % BITS)
    return sets


@cache
def alone(algorithms: int) -> MaskArray:
    """(n,) for each algorithm the set of it alone."""
    return packed(np.eye(algorithms, dtype=np.bool_))


@cache
def earlier(algorithms: int) -> MaskArray:
    """(n,) for each algorithm the set of those before it."""
    return packed(np.tri(algorithms, k=-1, dtype=np.bool_))


def membership(sets: MaskArray, algorithms: int) -> FloatArray:
    """(s, n) float64: 1 where bit i of the set is set, else 0."""
    if algorithms <= BITS:
        bits = np.arange(algorithms, dtype=np.uint64)
        return ((sets[:, np.newaxis] >> bits) & np.uint64(1)).astype(np.float64)
    return members_of(sets, algorithms).astype(np.float64)


def members_of(sets: MaskArray, algorithms: int) -> NDArray[np.bool_]:
    """(s, n) whether the algorithm is in the set."""
    octets = np.ascontiguousarray(as_words(sets), "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=algorithms, bitorder="little").view(np.bool_)


def set_sizes(sets: MaskArray, dimensions: int = 1) -> NDArray[np.integer[Any]]:
    """How many members sets have, which are an array of so many dimensions."""
    sizes = np.bitwise_count(sets)
    return sizes if sets.ndim == dimensions else sizes.sum(axis=-1)


def resized(sets: MaskArray, algorithms: int) -> MaskArray:
    """The same sets (s,) of more algorithms."""
    if algorithms <= BITS:
        return sets
    words = as_words(sets)
    return np.pad(words, ((0, 0), (0, -(-algorithms // BITS) - words.shape[1])))


def order_of(sets: MaskArray, *before: MaskArray) -> NDArray[np.intp]:
    """What puts sets (s,) into increasing order; where they are equal, those in `before` decide."""
    if sets.ndim == 1 and not before:
        return np.argsort(sets, kind="stable")
    return np.lexsort([word for these in (*before, sets) for word in as_words(these).T])


def firsts(*ordered: MaskArray) -> NDArray[np.intp]:
    """Where in ordered arrays of sets (s,), which are not empty, a set is another than the one before."""
    changes = [sets[1:] != sets[:-1] for sets in ordered]
    changed = [change if change.ndim == 1 else np.logical_or.reduce(change, axis=1) for change in changes]
    return np.flatnonzero(np.concatenate(([True], changed[0] if len(ordered) == 1 else np.logical_or.reduce(changed))))


def chosen_entries(offsets: IntArray, timepoints: IntArray) -> tuple[IntArray, IntArray]:
    """Which entries some timepoints have, in their order, and the offsets of these among themselves."""
    sizes = np.diff(offsets)[timepoints]
    chosen = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    return np.arange(int(chosen[-1])) + np.repeat(offsets[timepoints] - chosen[:-1], sizes), chosen


def frozen(array: ArrayLike, dtype: type[np.generic]) -> NDArray[Any]:
    """A copy that cannot be written to."""
    copy = np.array(array, dtype=dtype)
    copy.flags.writeable = False
    return copy

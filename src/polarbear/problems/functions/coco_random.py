"""The random numbers of COCO's suites, which place optima and rotate spaces.

They come from Park and Miller's generator x ← 16807 x mod (2³¹ - 1), whose output is shuffled through a table of 32
numbers (Bays and Durham), as in the code published with Hansen et al. 2009. They follow from the seed alone.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polarbear.records import FloatArray, IntArray

SEEDS_PER_INSTANCE = 10_000
"""COCO's seed of an instance is function + 10,000 · instance."""

MULTIPLIER, MODULUS = 16807, 2**31 - 1
TABLE = 32
WARM_UP = 8
"""Number of values drawn before the table is filled."""
CELL = 67_108_865
"""Divisor 2²⁶ + 1 that turns an output into the index of a table entry."""


def uniforms(count: int, seed: int) -> FloatArray:
    """(count,) uniform random numbers in (0, 1)."""
    start = WARM_UP + TABLE
    states = _powers(start + count) * (max(abs(seed), 1) % MODULUS) % MODULUS
    entries: list[int] = (states // CELL).tolist()
    table = list(range(start - 1, WARM_UP - 1, -1))
    chosen: list[int] = []
    last = table[0]
    for new in range(start, start + count):
        entry = entries[last]
        last = table[entry]
        table[entry] = new
        chosen.append(last)
    return states[chosen] / MODULUS


@lru_cache(maxsize=4)
def _powers(count: int) -> IntArray:
    """(count,) 16807, 16807², … mod 2³¹ - 1: the generator's states when started at 1."""
    powers = np.array([MULTIPLIER], dtype=np.int64)
    while len(powers) < count:
        powers = np.concatenate((powers, powers * powers[-1] % MODULUS))
    return powers[:count]


def normals(count: int, seed: int) -> FloatArray:
    """(count,) standard normal random numbers by the Box-Muller method."""
    uniform = uniforms(2 * count, seed)
    numbers = np.sqrt(-2 * np.log(uniform[:count])) * np.cos(2 * math.pi * uniform[count:])
    numbers[numbers == 0] = 1e-99
    return numbers


def location(dimension: int, seed: int, half_width: float = 4.0) -> FloatArray:
    """(d,) an optimum on a grid in a box, by default [-4, 4)^d, with no coordinate 0."""
    optimum = 2 * half_width * np.floor(1e4 * uniforms(dimension, seed)) / 1e4 - half_width
    optimum[optimum == 0] = -1e-5
    return optimum


def rotation(dimension: int, seed: int) -> FloatArray:
    """(d, d) a random orthogonal matrix: columns of normal numbers, orthonormalized by Gram-Schmidt."""
    rows = normals(dimension * dimension, seed).reshape(dimension, dimension)
    orthogonal, triangular = np.linalg.qr(rows.T)
    return orthogonal * np.sign(np.diag(triangular))


def rotation_as_summed(dimension: int, seed: int) -> FloatArray:
    """`rotation` with the rounding of the published code, bit for bit, which takes four times as long.

    Nearly dependent columns magnify rounding errors: at 240 variables `rotation` usually differs by 1e-13, but
    occasionally by more. Here every sum is accumulated term by term, with the C library's logarithms and cosines.
    """
    uniform = uniforms(2 * dimension * dimension, seed).reshape(2, -1)
    logarithms = np.array([math.log(u) for u in uniform[0].tolist()])
    rows = np.sqrt(-2 * logarithms) * np.array([math.cos(angle) for angle in (2 * math.pi * uniform[1]).tolist()])
    remaining = np.ascontiguousarray(rows.reshape(dimension, dimension).T)
    orthogonal, memory = np.empty_like(remaining), np.empty(remaining.size)
    for j in range(dimension):
        column = remaining[:, :1] / math.sqrt(np.add.accumulate(remaining[:, 0] ** 2)[-1])
        orthogonal[:, j : j + 1] = column
        remaining = remaining[:, 1:]
        products = np.multiply(remaining, column, out=memory[: remaining.size].reshape(remaining.shape))
        remaining = remaining - np.multiply(column, products.sum(axis=0), out=products)
    return orthogonal


def offset(seed: int) -> float:
    """The best value f_opt: a ratio of two normal numbers, limited to ±1000 and rounded to 0.01."""
    ratio = float(normals(1, seed)[0] / normals(1, seed + 1)[0])
    return min(max(math.floor(1e4 * ratio + 0.5) / 100, -1000.0), 1000.0)

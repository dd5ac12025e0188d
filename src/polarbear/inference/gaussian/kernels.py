"""Stationary covariance kernels on the unit time axis, with amplitude 1 (eq. 12 of Wurth et al. 2026)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from polarbear.records import FloatArray, IntArray

Kernel = Literal["matern-3/2", "matern-5/2", "squared-exponential"]
_OMITTED = 1e-6
"""Largest part of the variance 1 that a low-rank factor may omit at a timepoint."""


def covariance(kernel: Kernel, first: FloatArray, second: FloatArray, length: float) -> FloatArray:
    """(T, S) values of the kernel between times (T,) and times (S,) at length-scale ℓ."""
    distance = np.abs(first[:, np.newaxis] - second) / length
    if kernel == "matern-3/2":
        scaled = np.sqrt(3.0) * distance
        return (1.0 + scaled) * np.exp(-scaled)
    if kernel == "matern-5/2":
        scaled = np.sqrt(5.0) * distance
        return (1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled)
    return np.exp(-0.5 * distance**2)


def spectral_density(kernel: Kernel, frequency: FloatArray, length: float) -> FloatArray:
    """The kernel's spectral density s(ω), ∫ s(ω) dω = 2 π, at angular frequencies ω (Riutort-Mayol et al. 2022)."""
    if kernel == "matern-3/2":
        root = np.sqrt(3.0) / length
        return 4.0 * root**3 / (root**2 + frequency**2) ** 2
    if kernel == "matern-5/2":
        root = np.sqrt(5.0) / length
        return 16.0 / 3.0 * root**5 / (root**2 + frequency**2) ** 3
    return np.sqrt(2.0 * np.pi) * length * np.exp(-0.5 * (length * frequency) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class LowRankFactor:
    """A covariance matrix as A Aᵀ, up to a millionth of the variance.

    Attributes:
        rows: (T, r) matrix A; a column of zeros if no variance is worth keeping.
        pivots: (r,) indices of the rows that form a lower triangular matrix.
    """

    rows: FloatArray
    pivots: IntArray


def low_rank_factor(variance: FloatArray, column: Callable[[int], FloatArray]) -> LowRankFactor:
    """Pivoted Cholesky factorization, stopped when the largest remaining variance is negligible.

    Args:
        variance: (T,) diagonal of a covariance matrix.
        column: Function from an index to that column (T,) of the matrix.
    """
    remaining, columns, pivots = variance.copy(), np.empty((8, variance.size)), list[int]()
    while True:
        pivot, rank = int(np.argmax(remaining)), len(pivots)
        if not remaining[pivot] > _OMITTED:
            break
        if rank == len(columns):
            columns = np.concatenate([columns, np.empty_like(columns)])
        new = column(pivot) - columns[:rank, pivot] @ columns[:rank]
        new /= np.sqrt(remaining[pivot])
        new[pivots] = 0.0
        columns[rank] = new
        remaining -= new * new
        pivots.append(pivot)
        remaining[pivots] = 0.0
    if not pivots:
        columns[0] = 0.0
    return LowRankFactor(np.ascontiguousarray(columns[: max(1, len(pivots))].T), np.array(pivots, dtype=np.int64))


def kernel_factor(kernel: Kernel, at: FloatArray, length: float) -> LowRankFactor:
    """The low-rank factor of the kernel at times (T,)."""
    return low_rank_factor(np.ones(at.size), lambda t: covariance(kernel, at, at[[t]], length)[:, 0])


def extended_factor(matrix: FloatArray, known: NDArray[np.bool_], factor: LowRankFactor) -> FloatArray:
    """(T, r) factor A with A Aᵀ = `matrix`, whose rows at the known times are those of `factor`, padded with zeros.

    So the process at the known times is the same as without the others; at these it is conditional on its values at the
    pivots.

    Args:
        matrix: (T, T) positive semi-definite matrix.
        known: (T,) mask of the known times.
        factor: The low-rank factor at the known times.
    """
    rows, across = factor.rows, matrix[np.ix_(known, ~known)]
    follow, _ = lapack.dtrtrs(rows[factor.pivots], across[factor.pivots], lower=1)
    rest = matrix[np.ix_(~known, ~known)] - follow.T @ follow
    own = low_rank_factor(np.diagonal(rest), lambda t: rest[:, t]).rows
    extended = np.zeros((known.size, rows.shape[1] + own.shape[1]))
    extended[known, : rows.shape[1]] = rows
    extended[~known] = np.concatenate([follow.T, own], axis=1)
    return extended

"""Stationary covariance kernels on the unit time axis, with amplitude 1 (eq. 12 of Wurth et al. 2026)."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from scipy.linalg import lapack

from polarbear.records import FloatArray

Kernel = Literal["matern-3/2", "matern-5/2", "squared-exponential"]


def check_kernel(kernel: str) -> None:
    """Raise a ValueError unless it is one of the kernels."""
    if kernel not in get_args(Kernel):
        raise ValueError(f"kernel is {kernel!r}; choose one of {', '.join(get_args(Kernel))}")


def covariance(kernel: Kernel, first: FloatArray, second: FloatArray, length: float) -> FloatArray:
    """(T, S) the kernel between times (T,) and times (S,) at length-scale ℓ."""
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


def low_rank_factor(matrix: FloatArray, left_out: float) -> FloatArray:
    """(T, r) A with A Aᵀ = `matrix` but for the variance left out at each timepoint, at most `left_out`.

    Cholesky's method with the largest remaining variance as pivot, which ends when that is small enough.

    Args:
        matrix: (T, T) positive semi-definite.
        left_out: The largest variance that may be missing at any timepoint.
    """
    factor, pivots, rank, _ = lapack.dpstrf(matrix, tol=left_out, lower=1)
    rows = np.empty((matrix.shape[0], max(1, int(rank))))
    rows[pivots - 1] = np.tril(factor)[:, : rows.shape[1]]
    return rows

"""Cholesky factors of dense and banded matrices, by SciPy's wrappers of LAPACK.

They are called directly, since `scipy.linalg.cholesky` and its kin take longer to check a small matrix than LAPACK to
factorize it. LAPACK wants columns one after the other: what is kept is the transpose, which needs no copy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg import lapack

from polarbear.records import FloatArray


class Factor(ABC):
    """L with L Lᵀ = H, for a positive definite matrix H of N rows.

    Attributes:
        size: N.
        half_log_det: ½ log det H.
    """

    size: int
    half_log_det: float

    @abstractmethod
    def solve(self, right: FloatArray) -> FloatArray:
        """H⁻¹ b for b (N,)."""

    @abstractmethod
    def forward(self, right: FloatArray) -> FloatArray:
        """L⁻¹ B for B (N, m)."""

    @abstractmethod
    def backward(self, right: FloatArray) -> FloatArray:
        """L⁻ᵀ B for B (N, m)."""


class BandedFactor(Factor):
    """The factor of a banded matrix.

    Args:
        band: (N, k + 1) the lower band, [j, i] being entry [j + i, j]; overwritten.

    Raises:
        numpy.linalg.LinAlgError: If the matrix is not positive definite in floating-point numbers.
    """

    def __init__(self, band: FloatArray) -> None:
        self._band, info = lapack.dpbtrf(band.T, lower=1, overwrite_ab=1)
        if info:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        self.size = len(band)
        self.half_log_det = float(np.log(self._band[0]).sum())

    def solve(self, right: FloatArray) -> FloatArray:
        """As `Factor.solve`."""
        return lapack.dpbtrs(self._band, right, lower=1)[0]

    def forward(self, right: FloatArray) -> FloatArray:
        """As `Factor.forward`."""
        return lapack.dtbtrs(self._band, right, uplo="L")[0]

    def backward(self, right: FloatArray) -> FloatArray:
        """As `Factor.backward`."""
        return lapack.dtbtrs(self._band, right, uplo="L", trans="T")[0]


class DenseFactor(Factor):
    """The factor of a dense matrix.

    Args:
        matrix: (N, N); overwritten.

    Raises:
        numpy.linalg.LinAlgError: If the matrix is not positive definite in floating-point numbers.
    """

    def __init__(self, matrix: FloatArray) -> None:
        self._lower, info = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
        if info:
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        self.size = len(matrix)
        self.half_log_det = float(np.log(np.diagonal(self._lower)).sum())

    def solve(self, right: FloatArray) -> FloatArray:
        """As `Factor.solve`."""
        return lapack.dpotrs(self._lower, right, lower=1)[0]

    def forward(self, right: FloatArray) -> FloatArray:
        """As `Factor.forward`."""
        return lapack.dtrtrs(self._lower, right, lower=1)[0]

    def backward(self, right: FloatArray) -> FloatArray:
        """As `Factor.backward`."""
        return lapack.dtrtrs(self._lower, right, lower=1, trans=1)[0]

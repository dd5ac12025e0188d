"""Cholesky factors L Lᵀ = H of dense and banded matrices with N rows, by SciPy's wrappers of LAPACK.

They are called directly, since `scipy.linalg.cholesky` and the like take longer to check a small matrix than LAPACK to
factorize it. LAPACK expects column-major order: the transpose, which needs no copy.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from polarbear.records import FloatArray


class DenseFactor:
    """The factor of a dense matrix.

    Attributes:
        size: Number N of rows.
        half_log_det: ½ log det H.

    Args:
        matrix: (N, N) matrix H; overwritten.

    Raises:
        numpy.linalg.LinAlgError: If the matrix is not numerically positive definite.
    """

    def __init__(self, matrix: FloatArray) -> None:
        self._lower, info = lapack.dpotrf(matrix.T, lower=1, overwrite_a=1, clean=0)
        self.size = len(matrix)
        self.half_log_det = _half_log_det(np.diagonal(self._lower), info)

    def solve(self, right: FloatArray) -> FloatArray:
        """H⁻¹ b for b (N,)."""
        return lapack.dpotrs(self._lower, right, lower=1)[0]

    def forward(self, right: FloatArray) -> FloatArray:
        """L⁻¹ B for B (N, m)."""
        return lapack.dtrtrs(self._lower, right, lower=1)[0]

    def backward(self, right: FloatArray) -> FloatArray:
        """L⁻ᵀ B for B (N, m)."""
        return lapack.dtrtrs(self._lower, right, lower=1, trans=1)[0]


class BandedFactor:
    """The factor of a banded matrix; attributes and methods as those of `DenseFactor`.

    Args:
        band: (N, k + 1) lower band of H, [j, i] being entry [j + i, j]; overwritten.

    Raises:
        numpy.linalg.LinAlgError: If the matrix is not numerically positive definite.
    """

    def __init__(self, band: FloatArray) -> None:
        self._band, info = lapack.dpbtrf(band.T, lower=1, overwrite_ab=1)
        self.size = len(band)
        self.half_log_det = _half_log_det(self._band[0], info)

    def solve(self, right: FloatArray) -> FloatArray:
        """See `DenseFactor.solve`."""
        return lapack.dpbtrs(self._band, right, lower=1)[0]

    def forward(self, right: FloatArray) -> FloatArray:
        """See `DenseFactor.forward`."""
        return lapack.dtbtrs(self._band, right, uplo="L")[0]

    def backward(self, right: FloatArray) -> FloatArray:
        """See `DenseFactor.backward`."""
        return lapack.dtbtrs(self._band, right, uplo="L", trans="T")[0]


Factor = DenseFactor | BandedFactor


def _half_log_det(diagonal: FloatArray, info: int) -> float:
    if info:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return float(np.log(diagonal).sum())

"""Cholesky factors of dense and banded matrices, by LAPACK, while other threads run on.

SciPy's own wrappers hold Python's interpreter lock while LAPACK works, so that threads wait for each other. SciPy hands
out the routines for Cython too, `scipy.linalg.cython_lapack`; called through ctypes they are the same without the lock.
"""

from __future__ import annotations

import ctypes
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.linalg import cython_lapack

from polarbear.records import FloatArray


def _routine(name: str) -> Any:
    """A LAPACK routine; all its arguments are addresses."""
    capsule: Any = vars(cython_lapack)["__pyx_capi__"][name]
    get_name, get_pointer = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    signature = get_name(capsule)
    arguments = signature.count(b"*")
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)(get_pointer(capsule, signature))


_DPBTRF, _DPBTRS, _DTBTRS = (_routine(name) for name in ("dpbtrf", "dpbtrs", "dtbtrs"))
_DPOTRF, _DPOTRS, _DTRTRS = (_routine(name) for name in ("dpotrf", "dpotrs", "dtrtrs"))
_LOWER, _PLAIN, _TRANSPOSED, _NOT_UNIT = b"L", b"N", b"T", b"N"


def _called(routine: Any, *arguments: bytes | int | FloatArray) -> int:
    """Call a routine; its last argument, which is left out here, tells whether it succeeded: 0 if so."""
    info = ctypes.c_int(0)
    addresses: list[Any] = []
    for argument in (*arguments, info):
        if isinstance(argument, np.ndarray):
            addresses.append(argument.ctypes.data)
        elif isinstance(argument, int):
            addresses.append(ctypes.byref(ctypes.c_int(argument)))
        else:
            addresses.append(argument if isinstance(argument, bytes) else ctypes.byref(argument))
    routine(*addresses)
    return info.value


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
        self._band, (self.size, self._height) = band, band.shape
        if _called(_DPBTRF, _LOWER, self.size, self._height - 1, band, self._height):
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        self.half_log_det = float(np.log(band[:, 0]).sum())

    def solve(self, right: FloatArray) -> FloatArray:
        """As `Factor.solve`."""
        solved = right.copy()
        _called(_DPBTRS, _LOWER, self.size, self._height - 1, 1, self._band, self._height, solved, self.size)
        return solved

    def forward(self, right: FloatArray) -> FloatArray:
        """As `Factor.forward`."""
        return self._triangular(_PLAIN, right)

    def backward(self, right: FloatArray) -> FloatArray:
        """As `Factor.backward`."""
        return self._triangular(_TRANSPOSED, right)

    def _triangular(self, transposed: bytes, right: FloatArray) -> FloatArray:
        solved, columns = np.array(right, order="F"), right.shape[1]
        shape = self.size, self._height - 1, columns
        _called(_DTBTRS, _LOWER, transposed, _NOT_UNIT, *shape, self._band, self._height, solved, self.size)
        return solved


class DenseFactor(Factor):
    """The factor of a dense matrix.

    Args:
        matrix: (N, N); overwritten.

    Raises:
        numpy.linalg.LinAlgError: If the matrix is not positive definite in floating-point numbers.
    """

    def __init__(self, matrix: FloatArray) -> None:
        self._matrix, self.size = matrix, len(matrix)
        if _called(_DPOTRF, _LOWER, self.size, matrix, self.size):
            raise np.linalg.LinAlgError("the matrix is not positive definite")
        self.half_log_det = float(np.log(np.diagonal(matrix)).sum())

    def solve(self, right: FloatArray) -> FloatArray:
        """As `Factor.solve`."""
        solved = right.copy()
        _called(_DPOTRS, _LOWER, self.size, 1, self._matrix, self.size, solved, self.size)
        return solved

    def forward(self, right: FloatArray) -> FloatArray:
        """As `Factor.forward`."""
        return self._triangular(_PLAIN, right)

    def backward(self, right: FloatArray) -> FloatArray:
        """As `Factor.backward`."""
        return self._triangular(_TRANSPOSED, right)

    def _triangular(self, transposed: bytes, right: FloatArray) -> FloatArray:
        solved, columns = np.array(right, order="F"), right.shape[1]
        _called(_DTRTRS, _LOWER, transposed, _NOT_UNIT, self.size, columns, self._matrix, self.size, solved, self.size)
        return solved

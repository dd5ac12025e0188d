"""Cholesky factors against dense matrices made from the same numbers."""

import numpy as np
import pytest

from polarbear.inference.gaussian.cholesky import BandedFactor, DenseFactor


def banded(size, width, rng):
    """A band, [j, i] being entry [j + i, j], and the matrix itself."""
    band = rng.uniform(-1, 1, (size, width + 1))
    band[:, 0] = 2 * width + 1  # the diagonal prevails
    matrix = np.zeros((size, size))
    for j in range(size):
        for i in range(min(width + 1, size - j)):
            matrix[j + i, j] = matrix[j, j + i] = band[j, i]
    return band, matrix


def dense(size, rng):
    square = rng.normal(size=(size, size))
    return square @ square.T + np.eye(size)


def assert_factor_of(factor, matrix, rng):
    size = len(matrix)
    assert factor.size == size
    assert factor.half_log_det == pytest.approx(np.linalg.slogdet(matrix)[1] / 2, rel=1e-12)
    right, many = rng.normal(size=size), rng.normal(size=(size, 3))
    before = right.copy(), many.copy()
    np.testing.assert_allclose(matrix @ factor.solve(right), right, atol=1e-12)
    lower = np.linalg.cholesky(matrix)
    np.testing.assert_allclose(lower @ factor.forward(many), many, atol=1e-12)
    np.testing.assert_allclose(lower.T @ factor.backward(many), many, atol=1e-12)
    np.testing.assert_array_equal(right, before[0])
    np.testing.assert_array_equal(many, before[1])


@pytest.mark.parametrize(("size", "width"), [(1, 0), (5, 0), (2, 1), (9, 3), (40, 7)])
def test_a_banded_factor_is_that_of_its_matrix(size, width):
    rng = np.random.default_rng(size)
    band, matrix = banded(size, width, rng)
    assert_factor_of(BandedFactor(band), matrix, rng)


@pytest.mark.parametrize("size", [1, 2, 30])
def test_a_dense_factor_is_that_of_its_matrix(size):
    rng = np.random.default_rng(size)
    matrix = dense(size, rng)
    assert_factor_of(DenseFactor(matrix.copy()), matrix, rng)


def test_a_matrix_that_is_not_positive_definite_has_no_factor():
    rng = np.random.default_rng(0)
    band, _ = banded(6, 2, rng)
    band[4, 0] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        BandedFactor(band)
    matrix = dense(6, rng)
    matrix[5, 5] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        DenseFactor(matrix)

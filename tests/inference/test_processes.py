"""Processes in state-space and low-rank form against their kernels, to the millionth of the variance they may lack.

And the Cholesky factors they are computed with, against NumPy's.
"""

import numpy as np
import pytest

from polarbear.inference.gaussian.cholesky import BandedFactor, DenseFactor
from polarbear.inference.gaussian.kernels import covariance, extended_factor, kernel_factor
from polarbear.inference.gaussian.state_space import MaternProcess
from polarbear.inference.model.gaussian_process import GaussianProcess

MATERN = ["matern-3/2", "matern-5/2"]
RNG = np.random.default_rng(0)
TIMES = {
    "one": np.zeros(1),
    "even": np.linspace(0.0, 1.0, 40),
    "many": np.linspace(0.0, 1.0, 700),
    "uneven": np.sort(np.concatenate([[0.0, 1.0], RNG.random(60) ** 3])),
    "nearly equal": np.array([0.0, 1e-12, 1e-9, 1e-6, 0.4, 0.4 + 1e-10, 0.4003, 0.9, 1.0]),
}


def loaded(field):
    """(T, T) the covariance of a field's paths."""
    loadings = field.spread(np.eye(field.noises))
    return loadings @ loadings.T


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("length", [0.02, 0.1, 0.5, 3.0])
@pytest.mark.parametrize("kernel", [*MATERN, "squared-exponential"])
def test_paths_have_the_kernels_covariance(kernel, length, times):
    at = TIMES[times]
    field = GaussianProcess(kernel).prior(at, 2).field(np.array([1.7, length]))
    np.testing.assert_allclose(loaded(field), 1.7**2 * covariance(kernel, at, at, length), atol=1.7**2 * 3e-6)


@pytest.mark.parametrize("kernel", MATERN)
def test_the_number_of_states_does_not_grow_with_that_of_timepoints(kernel):
    hyperparameters = np.array([1.0, 0.5])
    few, many = (
        GaussianProcess(kernel).prior(np.linspace(0, 1, timepoints), 1).field(hyperparameters).noises
        for timepoints in (1000, 100_000)
    )
    assert many <= few < 300


@pytest.mark.parametrize("kernel", [*MATERN, "squared-exponential"])
def test_more_times_leave_the_process_at_the_fitted_ones_as_it_is(kernel):
    fitted_times = TIMES["uneven"]
    others = np.array([-0.7, -1e-9, 1e-9, 0.2, 0.31, 0.99, 1.01, 1.5])
    at = np.unique(np.concatenate([fitted_times, others]))
    fitted = np.isin(at, fitted_times)
    model, hyperparameters = GaussianProcess(kernel), np.array([1.0, 0.3])
    extended = loaded(model.prior(at, 1, fitted).field(hyperparameters))
    alone = loaded(model.prior(fitted_times, 1).field(hyperparameters))
    np.testing.assert_allclose(extended[np.ix_(fitted, fitted)], alone, atol=1e-9)
    off = 3e-6 if kernel in MATERN else 1e-3  # a millionth left out of variances may be a thousandth of covariances
    np.testing.assert_allclose(extended, covariance(kernel, at, at, 0.3), atol=off)


@pytest.mark.parametrize("kernel", MATERN)
def test_a_steady_process_is_the_same_and_its_paths_follow_the_length_scale(kernel):
    """With the same noise, paths move little when ℓ does, across lengths at which the number of knots changes."""
    at = TIMES["even"]
    usual = GaussianProcess(kernel).prior(at, 1)
    steady = usual.steady()
    noise, before = None, None
    for length in np.exp(np.linspace(np.log(0.15), np.log(1.5), 200)):
        field = steady.field(np.array([1.0, length]))
        noise = np.random.default_rng(1).standard_normal((field.noises, 1)) if noise is None else noise
        path = field.spread(noise)
        assert before is None or np.abs(path - before).max() < 0.1
        before = path
    np.testing.assert_allclose(loaded(field), covariance(kernel, at, at, 1.5), atol=3e-5)


@pytest.mark.parametrize("states", [2, 3])
def test_steps_add_up(states):
    """Φ(a + b) = Φ(b) Φ(a), Q(a + b) = Φ(b) Q(a) Φ(b)ᵀ + Q(b) (Chapman and Kolmogorov), and stationarity."""
    process = MaternProcess(states)
    for a, b in ((1e-4, 3e-4), (0.2, 0.05), (1.5, 4.0)):
        phi, noise = process.transition(np.array([a, b, a + b])), process.noise(np.array([a, b, a + b]))
        np.testing.assert_allclose(phi[1] @ phi[0], phi[2], rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(phi[1] @ noise[0] @ phi[1].T + noise[1], noise[2], rtol=1e-10, atol=1e-30)
        stationary = process.stationary
        np.testing.assert_allclose(phi[0] @ stationary @ phi[0].T + noise[0], stationary, atol=1e-14)
    assert process.stationary[0, 0] == pytest.approx(1.0)


def test_a_low_rank_factor_is_triangular_at_its_pivots():
    factor = kernel_factor("squared-exponential", TIMES["uneven"], 0.2)
    rows = factor.rows[factor.pivots]
    np.testing.assert_array_equal(np.triu(rows, 1), 0.0)
    assert (np.diag(rows) ** 2 > 1e-6).all()
    assert factor.rows.shape[1] < 20


def test_without_variance_no_factor_is_left():
    known = np.array([True, True, False])
    matrix = np.ones((3, 3))
    factor = kernel_factor("squared-exponential", np.zeros(2), 1.0)
    assert factor.rows.shape == (2, 1)
    np.testing.assert_allclose(extended_factor(matrix, known, factor) @ np.ones(2), [1.0, 1.0, 1.0])


@pytest.mark.parametrize("banded", [True, False])
def test_factors_solve_as_numpy_does(banded):
    rng, size, height = np.random.default_rng(2), 30, 4
    lower = np.tril(np.triu(rng.normal(size=(size, size)), -height if banded else -size)) + 5 * np.eye(size)
    matrix = lower @ lower.T
    exact = np.linalg.cholesky(matrix)
    band = np.array([[matrix[min(j + i, size - 1), j] for i in range(height + 1)] for j in range(size)])
    factor = BandedFactor(band) if banded else DenseFactor(matrix.copy())
    right = rng.normal(size=(size, 7))
    assert factor.size == size
    assert factor.half_log_det == pytest.approx(0.5 * np.linalg.slogdet(matrix)[1])
    np.testing.assert_allclose(factor.solve(right[:, 0]), np.linalg.solve(matrix, right[:, 0]), rtol=1e-10)
    np.testing.assert_allclose(factor.forward(right), np.linalg.solve(exact, right), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(factor.backward(right), np.linalg.solve(exact.T, right), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [BandedFactor, DenseFactor])
def test_what_is_not_positive_definite_has_no_factor(kind):
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        kind(-np.ones((3, 2)) if kind is BandedFactor else -np.eye(3))

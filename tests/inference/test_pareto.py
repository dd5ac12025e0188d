"""Pareto-smoothed importance weights against ArviZ's independent implementation."""

import warnings

import numpy as np
import pytest

from polarbear.inference.sampling.psis import resample, smooth

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    arviz = pytest.importorskip("arviz")


@pytest.mark.parametrize("number", [30, 400, 4000, 16000])
@pytest.mark.parametrize("tail", [0.05, 0.3, 0.6, 1.2])
def test_weights_and_k_hat_are_those_of_arviz(number, tail):
    log_weights = 300 + tail * np.random.default_rng(number).standard_exponential(number)
    weights, k_hat = smooth(log_weights)
    expected, k_expected = arviz.psislw(log_weights.copy())
    np.testing.assert_allclose(weights, np.exp(expected), rtol=1e-9)
    assert k_hat == pytest.approx(float(k_expected), abs=1e-9)


def test_bounded_weights_have_a_negative_shape():
    log_weights = np.log(np.random.default_rng(0).uniform(1, 2, size=4000))
    weights, k_hat = smooth(log_weights)
    expected, k_expected = arviz.psislw(log_weights.copy())
    assert k_hat == pytest.approx(float(k_expected), abs=1e-9)
    assert k_hat < 0
    np.testing.assert_allclose(weights, np.exp(expected), rtol=1e-9)


@pytest.mark.statistical
def test_shape_of_a_pareto_tail_is_found():
    """Log-weights Exponential(mean k) are weights with Pareto tail index k."""
    found = [smooth(0.5 * np.random.default_rng(seed).standard_exponential(20_000))[1] for seed in range(20)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.05)


def test_equal_weights_need_no_smoothing():
    weights, k_hat = smooth(np.full(1000, -1e5))
    assert k_hat == -np.inf
    np.testing.assert_allclose(weights, 1e-3)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_reported(bad):
    log_weights = np.zeros(100)
    log_weights[3] = bad
    assert np.isnan(smooth(log_weights)[1])


def test_too_few_weights_to_judge():
    assert smooth(np.arange(20.0))[1] == np.inf


def test_resampling_takes_each_index_in_proportion():
    weights = np.array([0.5, 0.25, 0.125, 0.0, 0.125])
    chosen = resample(weights, 800, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(chosen, minlength=5), [400, 200, 100, 0, 100])
    uneven = np.random.default_rng(1).dirichlet(np.ones(50))
    kept = np.bincount(resample(uneven, 1000, np.random.default_rng(2)), minlength=50)
    assert (np.abs(kept - 1000 * uneven) < 1).all()

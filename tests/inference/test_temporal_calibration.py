"""Simulation-based calibration (Talts et al. 2018) of the models over time and the hierarchical Dirichlet.

By benchmarks/calibration.py, whose truths share no code with the models. Ranks of ratings and hyperparameters are
uniform: one chi-squared test each at level 1e-4; one is about all timepoints at once. 95 % bands hold the truth: one
binomial count for each rating at each timepoint, and each hyperparameter, within 4 standard deviations.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibration import (
    ALGORITHMS,
    MODELS,
    TIMEPOINTS,
    Calibration,
    allowed,
    calibrated,
    density,
    kernel,
    label,
    path_covariance,
    truth,
)
from polarbear.inference import (
    BSpline,
    GaussianProcess,
    HierarchicalDirichlet,
    IndependentDirichlet,
    RandomWalk,
    models,
)

OVER_TIME = [model for model in MODELS if not isinstance(model, IndependentDirichlet)]


@pytest.mark.statistical(rate=0.05)
@pytest.mark.parametrize(
    ("model", "replicates"),
    [(RandomWalk(), 150), pytest.param(HierarchicalDirichlet(), 60, marks=pytest.mark.slow)],
    ids=str,
)
def test_truths_are_held_as_often_as_they_should(model, replicates):
    found = calibrated(model, replicates, seed=1)
    assert found.held.shape == (replicates, TIMEPOINTS * ALGORITHMS)
    assert found.hyperparameter_held.shape == found.hyperparameter_ranks.shape == (replicates, 1)
    assert found.faults() == []


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("model", OVER_TIME, ids=label)
def test_truths_are_held_as_often_as_they_should_at_length(model):
    assert calibrated(model, 1800, seed=2).faults() == []


@pytest.mark.parametrize(
    "prior", [RandomWalk(initial_sd=2.0), pytest.param(RandomWalk(sigma_log_mean=1.0), marks=pytest.mark.slow)], ids=str
)
def test_another_prior_is_noticed(prior):
    assert calibrated(RandomWalk(), 60, seed=3, prior=prior).faults()


def test_every_model_is_calibrated():
    assert {model.name for model in MODELS} == set(models()) - {"instance-bootstrap"}  # see test_instance_bootstrap.py


def test_what_does_not_agree_is_said():
    """An even spread of ranks and 190 of 200 bands agree; one thing at a time is then made wrong."""
    ranks = np.arange(200)[:, np.newaxis] % 100
    held = np.tile(np.arange(20) > 0, 10)[:, np.newaxis]
    good = Calibration(ranks, ranks, held, held, np.ones(200))
    assert good.faults() == []
    assert allowed(200) == pytest.approx((0.95 - 0.0616, 0.95 + 0.0616), abs=1e-4)
    one_sided = np.minimum(ranks, 60)
    assert replace(good, ranks=one_sided).faults()[0].startswith("ranks of functional 0: p = ")
    assert replace(good, hyperparameter_ranks=one_sided).faults()[0].startswith("ranks of hyperparameter 0: p = ")
    assert replace(good, held=np.arange(200)[:, np.newaxis] > 22).faults() == ["band 0 contains 0.885 of the truths"]
    assert replace(good, hyperparameter_held=np.arange(200)[:, np.newaxis] > 22).faults() == [
        "hyperparameter 0 contains 0.885 of the truths"
    ]
    assert replace(good, reliable=np.arange(200) > 4).faults() == [
        "0.975 of the posteriors report themselves as reliable"
    ]


@pytest.mark.parametrize("name", ["matern-3/2", "matern-5/2", "squared-exponential"])
def test_spectral_densities_are_those_of_the_kernels(name):
    """The kernel is the inverse Fourier transform of its density."""
    frequency = np.linspace(-4000, 4000, 800_001)
    weight = density(name, frequency, 0.4) * (frequency[1] - frequency[0]) / (2 * np.pi)
    for distance in (0.0, 0.1, 0.7):
        expected = kernel(name, np.zeros(1), np.array([distance]), 0.4)[0, 0]
        assert weight @ np.cos(frequency * distance) == pytest.approx(expected, abs=1e-6)


@pytest.mark.statistical
def test_truths_have_the_prior_that_is_written_down():
    """Variances of contrasts: at the start 2 for each pair of a random walk; of a steady process the mean of 2σ²."""
    rng = np.random.default_rng(0)
    walk = [truth(RandomWalk(initial_sd=1.5), rng) for _ in range(4000)]
    first = np.array([logs[0, 0] - logs[0, 3] for _, logs in walk])
    assert first.var() == pytest.approx(2 * 1.5**2, rel=0.09)
    steps = np.array([logs[1, 0] - logs[1, 3] - logs[0, 0] + logs[0, 3] for _, logs in walk])
    sigma = np.array([drawn["sigma"] for drawn, _ in walk])
    assert np.var(steps / sigma) == pytest.approx(2 / (TIMEPOINTS - 1), rel=0.09)
    assert stats.kstest(np.log(sigma), stats.norm(0, 0.5).cdf).pvalue > 1e-3
    at = np.linspace(0, 1, TIMEPOINTS)
    np.testing.assert_allclose(np.diag(path_covariance(GaussianProcess(), at, 2.0, 0.3)), 4.0)
    assert np.linalg.matrix_rank(path_covariance(BSpline(), at, 1.0, np.nan)) == TIMEPOINTS // 2

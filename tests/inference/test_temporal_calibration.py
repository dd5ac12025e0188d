"""Simulation-based calibration (Talts et al. 2018) of the temporal models, paths and hyperparameters both.

Hyperparameters are drawn from their prior by SciPy, paths given these from the model's field (whose covariance is
tested elsewhere), rankings by Gumbel noise. Then the ranks of the truth among posterior draws are uniform. One
chi-squared test per functional at level 1e-4, on fixed seeds; one functional is about all timepoints at once.
"""

import numpy as np
import pytest
from scipy import stats

from polarbear.inference import (
    BSpline,
    GaussianProcess,
    HilbertSpaceGaussianProcess,
    RandomWalk,
    SparseGaussianProcess,
    fit,
)
from polarbear.inference.likelihood import helmert, ratings
from polarbear.rankings import choice_counts

DRAWS, BINS, ALGORITHMS, TIMEPOINTS, INSTANCES = 99, 10, 4, 12, 10
MODELS = [
    RandomWalk(),
    BSpline(),
    GaussianProcess(),
    GaussianProcess("matern-5/2"),
    GaussianProcess("squared-exponential"),
    HilbertSpaceGaussianProcess(),
    SparseGaussianProcess(inducing=6),
]


def truth(model, rng):
    """Hyperparameters and ratings (T, n) from the prior."""
    at = np.linspace(0.0, 1.0, TIMEPOINTS)
    hyperparameters = {"sigma": stats.lognorm(0.5).rvs(random_state=rng)}
    if hasattr(model, "ell_shape"):
        hyperparameters["ell"] = stats.invgamma(5, scale=2).rvs(random_state=rng)
    q = ALGORITHMS - 1
    field = model.prior(at, q).field(np.array(list(hyperparameters.values())))
    prior = field.conditioned(np.zeros((TIMEPOINTS, q, q)))
    paths = prior.spread(rng.standard_normal((prior.noises, 1)))
    return hyperparameters, ratings(paths, helmert(ALGORITHMS))[:, :, 0]


def ranks(model, replicates, seed):
    """(replicates, functionals) ranks of the truth, and how many fits were reliable."""
    rng = np.random.default_rng(seed)
    found, reliable = [], 0
    for _ in range(replicates):
        hyperparameters, theta = truth(model, rng)
        values = -(np.log(theta) + rng.gumbel(size=(INSTANCES, TIMEPOINTS, ALGORITHMS)))
        values[:3, :, ALGORITHMS - 1] = np.nan
        posterior = fit(choice_counts(values), model=model, draws=1000, rng=rng)
        reliable += posterior.diagnostics.reliable
        draws = posterior.draws[:DRAWS]
        functionals = [
            lambda x: x[..., 3, 0],
            lambda x: x[..., -1, -1],
            lambda x: np.log(x[..., 6, 1] / x[..., 6, 2]),
            lambda x: np.log(x[..., 0] / x[..., 1]).min(axis=-1),
            lambda x: np.log(x[..., 9, 0] / x[..., 2, 0]),
        ]
        row = [(f(draws) < f(theta)).sum() for f in functionals]
        row += [(posterior.hyperparameters[name][:DRAWS] < value).sum() for name, value in hyperparameters.items()]
        found.append(row)
    return np.array(found), reliable


def check(model, replicates, seed):
    found, reliable = ranks(model, replicates, seed)
    assert reliable >= 0.98 * replicates
    for functional in found.T:
        counts = np.bincount(functional * BINS // (DRAWS + 1), minlength=BINS)
        assert stats.chisquare(counts).pvalue > 1e-4, counts


def test_ranks_of_the_truth_are_uniform():
    check(RandomWalk(), replicates=150, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{model.name} {getattr(model, 'kernel', '')}".strip())
def test_ranks_of_the_truth_are_uniform_at_length(model):
    check(model, replicates=1800, seed=2)

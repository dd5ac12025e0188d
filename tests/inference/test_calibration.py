"""Simulation-based calibration (Talts et al. 2018): truths from the prior have uniform ranks in their posterior.

Each test makes one chi-squared test of uniformity per functional at level 1e-4, on fixed seeds.
"""

import numpy as np
import pytest
from scipy import stats

from polarbear.inference import IndependentDirichlet, fit
from polarbear.rankings import choice_counts

DRAWS = 99
BINS = 10


def ranks(alpha, n, instances, replicates, seed):
    """(replicates, functionals) ranks of true values among posterior draws; part of the rankings are partial."""
    rng = np.random.default_rng(seed)
    truth = np.maximum(rng.dirichlet(np.full(n, alpha), size=replicates), 1e-300)
    values = -(np.log(truth) + rng.gumbel(size=(instances, replicates, n)))
    values[: instances // 3, :, n - 1] = np.nan
    posterior = fit(choice_counts(values), model=IndependentDirichlet(alpha), draws=800, rng=rng)
    draws = posterior.draws[:DRAWS]
    functionals = [lambda theta, i=i: theta[..., i] for i in range(n)]
    functionals += [lambda theta: theta[..., 0] / (theta[..., 0] + theta[..., 1]), lambda theta: theta.max(axis=-1)]
    assert posterior.diagnostics.reliable
    return np.array([(f(draws) < f(truth)).sum(axis=0) for f in functionals]).T


def check_uniform(found):
    for functional in found.T:
        counts = np.bincount(functional * BINS // (DRAWS + 1), minlength=BINS)
        assert stats.chisquare(counts).pvalue > 1e-4, counts


@pytest.mark.parametrize(("alpha", "n", "instances"), [(1.0, 4, 8), (0.4, 3, 5), (3.0, 6, 2)])
def test_ranks_of_the_truth_are_uniform(alpha, n, instances):
    check_uniform(ranks(alpha, n, instances, replicates=400, seed=n))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("alpha", "n", "instances"), [(1.0, 2, 3), (1.0, 7, 8), (1.0, 10, 40), (0.2, 5, 12), (1.0, 30, 4)]
)
def test_ranks_of_the_truth_are_uniform_at_length(alpha, n, instances):
    check_uniform(ranks(alpha, n, instances, replicates=4000, seed=100 + n))


def test_intervals_cover_as_often_as_they_say():
    """95 % intervals over 1,000 truths from the prior: a binomial count within 4 standard deviations."""
    rng = np.random.default_rng(7)
    truth = rng.dirichlet(np.ones(5), size=1000)
    values = -(np.log(truth) + rng.gumbel(size=(15, 1000, 5)))
    lower, upper = fit(choice_counts(values), draws=1000, rng=rng).interval(0.95)
    for i in range(5):
        covered = np.count_nonzero((lower[:, i] <= truth[:, i]) & (truth[:, i] <= upper[:, i]))
        assert abs(covered - 950) < 4 * np.sqrt(1000 * 0.95 * 0.05)

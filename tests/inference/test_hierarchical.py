"""The hierarchical Dirichlet model against closed forms and quadrature.

NUTS is in test_accuracy.py, calibration in test_temporal_calibration.py.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln

from polarbear.inference import HierarchicalDirichlet, IndependentDirichlet, fit, from_description
from polarbear.inference.likelihood.newton import mode
from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.sampling.proposal import proposal
from polarbear.rankings import ChoiceCounts, choice_counts


def fitted(values, model=None, draws=4000, seed=0):
    counts = values if isinstance(values, ChoiceCounts) else choice_counts(values)
    return fit(counts, model=model or HierarchicalDirichlet(), draws=draws, rng=np.random.default_rng(seed))


def duels(wins, losses):
    """(P, T, 2) values of two algorithms, the first of which wins so often at each timepoint."""
    total = wins[0] + losses[0]
    return np.array([[[0.0, 1.0] if p < won else [1.0, 0.0] for won in wins] for p in range(total)])


@pytest.mark.statistical
@pytest.mark.parametrize("rate", [0.2, 1.0])
def test_without_rankings_the_posterior_is_the_prior(rate):
    posterior = fitted(ChoiceCounts.none(3, 4), HierarchicalDirichlet(rate), draws=10_000)
    kappa = posterior.hyperparameters["kappa"]
    assert posterior.diagnostics.reliable
    for q in (0.1, 0.3, 0.5, 0.7, 0.9):
        assert np.mean(kappa <= stats.expon(scale=1 / rate).ppf(q)) == pytest.approx(q, abs=0.02)
    rng = np.random.default_rng(0)
    prior = np.array([rng.dirichlet(np.full(4, k / 4)) for k in rng.exponential(1 / rate, 10_000)])
    for t in range(3):
        assert stats.ks_2samp(posterior.draws[:, t, 0], prior[:, 0]).statistic < 0.03


@pytest.mark.statistical
def test_two_algorithms_by_quadrature():
    """The probability of a win count given κ is beta-binomial, and κ a single integral."""
    wins, losses = np.array([9, 1, 10, 5, 0]), np.array([1, 9, 0, 5, 10])
    posterior = fitted(duels(wins, losses), HierarchicalDirichlet(0.5), draws=20_000)
    u = np.linspace(-6, 4, 2001)
    a = np.exp(u) / 2
    density = u - 0.5 * np.exp(u) + sum(betaln(a + w, a + v) - betaln(a, a) for w, v in zip(wins, losses, strict=True))
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    kappa = posterior.hyperparameters["kappa"]
    assert posterior.diagnostics.reliable
    assert np.log(kappa).mean() == pytest.approx(weight @ u, abs=0.03)
    assert np.log(kappa).std() == pytest.approx(np.sqrt(weight @ (u - weight @ u) ** 2), rel=0.04)
    for t, (w, v) in enumerate(zip(wins, losses, strict=True)):
        exact = weight @ ((a + w) / (2 * a + w + v))
        assert posterior.mean()[t, 0] == pytest.approx(exact, abs=0.004)


DOMINANCE = choice_counts(np.tile(np.arange(4.0), (8, 10, 1)))
"""Four algorithms in the same order in all eight rankings at each of ten timepoints."""


@pytest.mark.parametrize("log_alpha", np.arange(-18.0, 0.0))
def test_proposals_are_good_at_any_concentration(log_alpha):
    """With small ones the tails of log-ratings are a million times as long as one can see from the mode."""
    choices = Choices.at(DOMINANCE, 0, np.exp(log_alpha))
    centre, curvature = mode(choices)
    log_theta, log_proposed = proposal(choices, centre, curvature).draw(4000, np.random.default_rng(0))
    log_weights = choices.log_density(log_theta) - log_proposed
    weights = np.exp(log_weights - log_weights.max())
    assert weights.sum() ** 2 / (weights @ weights) > 2000


@pytest.mark.parametrize("seed", [7, 10, 20, 33])
def test_each_fit_alone_has_the_concentration_under_total_dominance(seed):
    """Of a share B of the first in the sum of m + 1 ratings, one ranking has probability B; B ~ Beta(a, m a).

    Shares of draws below exact quantiles within six standard errors, which chance exceeds once in 10⁸ times.
    """
    u, left = np.linspace(-20.0, 8.0, 40_001), np.array([3, 2, 1])
    a = np.exp(u)[:, np.newaxis] / 4
    log_density = u - np.exp(u) / 4 + 10 * (betaln(a + 8, left * a) - betaln(a, left * a)).sum(axis=1)
    cumulative = np.cumsum(np.exp(log_density - log_density.max()))
    found = fitted(DOMINANCE, draws=2500, seed=seed)
    assert found.diagnostics.reliable
    for p in (0.02, 0.1, 0.5, 0.9):
        below = np.mean(np.log(found.hyperparameters["kappa"]) < np.interp(p * cumulative[-1], cumulative, u))
        assert below == pytest.approx(p, abs=6 * np.sqrt(p * (1 - p) / 2500))


@pytest.mark.statistical
def test_concentration_is_learned_from_all_timepoints():
    """Equal algorithms at 30 timepoints have a large κ, which pulls ratings together; the independent model cannot."""
    values = -np.random.default_rng(0).gumbel(size=(12, 30, 4))
    pooled, alone = fitted(values), fit(choice_counts(values), rng=np.random.default_rng(0))
    assert pooled.hyperparameters["kappa"].mean() > 12
    assert pooled.draws.std(axis=0).mean() < 0.8 * alone.draws.std(axis=0).mean()
    assert not pooled.joint


@pytest.mark.statistical
def test_a_fixed_concentration_is_the_independent_model():
    """With so many timepoints told about, κ is nearly known; given it, timepoints are independent Dirichlet."""
    rng = np.random.default_rng(1)
    theta = rng.dirichlet(np.full(3, 2.0), size=200)
    values = -(np.log(theta) + rng.gumbel(size=(10, 200, 3)))
    pooled = fitted(values)
    kappa = pooled.hyperparameters["kappa"]
    assert kappa.mean() == pytest.approx(6.0, abs=4 * kappa.std())
    alone = fit(choice_counts(values), model=IndependentDirichlet(kappa.mean() / 3), rng=rng)
    np.testing.assert_allclose(pooled.mean(), alone.mean(), atol=0.03)


def test_the_smallest_shapes_and_determinism():
    assert fitted(ChoiceCounts.none(0, 3), draws=5).draws.shape == (5, 0, 3)
    np.testing.assert_array_equal(fitted(ChoiceCounts.none(2, 1), draws=5).draws, 1.0)
    values = -np.random.default_rng(0).gumbel(size=(5, 3, 3))
    np.testing.assert_array_equal(fitted(values).draws, fitted(values).draws)
    assert fitted(values, draws=1).hyperparameters["kappa"].shape == (1,)


def test_description_and_parameters():
    assert from_description({"model": "hierarchical-dirichlet", "rate": 2.0}) == HierarchicalDirichlet(2.0)
    assert HierarchicalDirichlet().describe() == {"model": "hierarchical-dirichlet", "rate": None}
    with pytest.raises(ValueError, match=r"rate is 0\.0; it must be above 0"):
        HierarchicalDirichlet(0.0)

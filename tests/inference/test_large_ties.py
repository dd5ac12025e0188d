"""Ties kept as they are against the same ties listed as choice sets, and posteriors at the extremes of size."""

import numpy as np
import pytest
from scipy.stats import beta

from polarbear.inference import HierarchicalDirichlet, IndependentDirichlet, RandomWalk, fit
from polarbear.inference.likelihood.large_ties import TieTerms
from polarbear.inference.likelihood.newton import mode
from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.inference.likelihood.tie_events import TieEvents
from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.sampling.diagnostics import GIBBS
from polarbear.rankings import ChoiceCounts, choice_counts, tie_expansion

N = 7


def tied_values(instances=12, timepoints=3, seed=0):
    """Rankings with ties of all sizes at the top, in the middle and at the end."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(instances, timepoints, N)) - np.linspace(0, 1, N))
    values[0], values[1, :, 2:], values[2, :, :4] = 0.0, np.inf, -9.0
    values[3, 0, 5] = np.nan
    return values


def two_ways(values, monkeypatch):
    """Counts with listed ties and with kept ones."""
    listed = choice_counts(values)
    monkeypatch.setattr("polarbear.rankings.choice.largest_expanded", lambda _: 1)
    kept = choice_counts(values)
    assert listed.ties.tied.size == 0
    assert kept.ties.tied.size > len(values) // 2
    return listed, kept


@pytest.fixture
def both(monkeypatch):
    """Counts with listed ties and with kept ones, at three timepoints."""
    return two_ways(tied_values(), monkeypatch)


@pytest.mark.parametrize("spread", [0.1, 2.0, 30.0])
def test_the_likelihood_and_its_derivatives_are_the_same(both, spread):
    listed, kept = (Likelihood(counts) for counts in both)
    paths = spread * np.random.default_rng(0).normal(size=(3, N - 1, 5))
    one, other = listed.expansion(paths), kept.expansion(paths)
    np.testing.assert_allclose(other.value, one.value, rtol=1e-10)
    np.testing.assert_allclose(other.gradient, one.gradient, atol=1e-8)
    np.testing.assert_allclose(other.curvature, one.curvature, atol=1e-8)
    np.testing.assert_allclose(kept.value(paths), one.value, rtol=1e-10)
    value, gradient = kept.slope(paths)
    np.testing.assert_allclose(value, one.value, rtol=1e-10)
    np.testing.assert_allclose(gradient, one.gradient, atol=1e-8)


def test_ties_are_the_same_in_parts(both):
    terms = TieTerms.of(both[1].ties, N)
    log_theta = np.random.default_rng(0).normal(size=(3, N, 4))
    whole, _, bent = terms.expansion(log_theta, np.exp(log_theta))
    parts = list(terms.parts(1 << 18))
    assert len(parts) == 3
    found = [part.expansion(log_theta[part.timepoints], np.exp(log_theta[part.timepoints])) for part in parts]
    np.testing.assert_allclose(sum(value for value, _, _ in found), whole, rtol=1e-12)
    np.testing.assert_allclose(np.concatenate([curvature for _, _, curvature in found]), bent, atol=1e-12)
    assert (np.linalg.eigvalsh(bent) > -1e-12).all()
    np.testing.assert_allclose(bent.sum(axis=3), 0.0, atol=1e-13)


@pytest.mark.parametrize("timepoint", [0, 1])
def test_the_density_at_one_timepoint_is_the_same(both, timepoint):
    listed, kept = (Choices.at(counts, timepoint, 0.7) for counts in both)
    log_theta = np.log(np.random.default_rng(1).dirichlet(np.ones(N), size=50).T)
    np.testing.assert_allclose(kept.log_density(log_theta), listed.log_density(log_theta), rtol=1e-11)
    order = np.random.default_rng(2).permutation(N)
    np.testing.assert_allclose(
        kept.of_algorithms(order).log_density(log_theta[order]), listed.log_density(log_theta), rtol=1e-11
    )
    (z, curvature), (exact, bent) = mode(kept), mode(listed)
    np.testing.assert_allclose(z, exact, atol=1e-4)
    np.testing.assert_allclose(curvature, bent, atol=1e-3)


@pytest.mark.statistical
def test_a_tie_connects_its_members_and_those_below():
    values = np.full((2, 1, 20), np.nan)
    values[0, 0, 2:12] = 0.0
    values[0, 0, 12] = 1.0
    values[1, 0, 17:] = [1.0, 2.0, 3.0]
    choices = Choices.at(choice_counts(values), 0, 1.0)
    groups = [group.tolist() for group in choices.groups()]
    assert sorted(groups) == [[0], [1], list(range(2, 13)), [13], [14], [15], [16], [17, 18, 19]]
    tie, others = choices.of_algorithms(np.arange(2, 13)), choices.of_algorithms(np.arange(17, 20))
    np.testing.assert_array_equal(tie.ties.tied, [[True] * 10 + [False]])
    np.testing.assert_array_equal(tie.ties.below, [[False] * 10 + [True]])
    assert len(others.ties) == 0
    posterior = fit(choice_counts(values), draws=4000, rng=np.random.default_rng(0))
    mean = posterior.draws[:, 0].mean(axis=0)
    np.testing.assert_allclose(mean[[0, 1, 13]], 1 / 20, atol=5 * 0.05 / np.sqrt(4000))
    assert np.ptp(mean[2:12]) < 8 * 0.05 / np.sqrt(4000)
    assert mean[12] < 0.6 * mean[2]


@pytest.mark.parametrize("model", [IndependentDirichlet(), HierarchicalDirichlet(), RandomWalk()])
def test_posteriors_are_the_same(both, model):
    """The same random numbers are used; differences of rounding change hardly a draw."""
    one, other = (fit(counts, model=model, draws=1000, rng=np.random.default_rng(0)) for counts in both)
    for mine, exact in (
        (np.log(other.draws).mean(axis=0), np.log(one.draws).mean(axis=0)),
        (other.draws.std(axis=0), one.draws.std(axis=0)),
    ):
        np.testing.assert_allclose(mine, exact, atol=1e-3)


@pytest.mark.parametrize("below", [True, False])
def test_latent_variables_have_the_right_moments(below):
    """Means and covariances are derivatives of F; each of 54 is within 5 standard errors (one failure in 30,000)."""
    k, amount, chains = 5, 0.8, 40_000
    rng = np.random.default_rng(3)
    rates = rng.gamma(2.0, size=k + 1)
    values = np.where(np.arange(k + 1) < k, 0.0, 1.0 if below else np.nan)
    terms = TieTerms(
        tied=(values == 0)[np.newaxis],
        below=(values == 1)[np.newaxis],
        amounts=np.array([amount]),
        position=np.zeros(1, np.int64),
        timepoints=np.zeros(1, np.int64),
    )
    drawn = TieEvents(terms, float(k + 1), rng)(np.tile(rates, (chains, 1)))
    found = tie_expansion(rates[:k, np.newaxis], np.array([rates[k] if below else 0.0]))
    mean = np.append(found.tied[:, 0], found.below[0]) / rates
    shared = np.block([[found.pairs[0], found.across.T], [found.across, np.array([found.within])]])
    shared[np.arange(k), np.arange(k)] = found.tied[:, 0] - (shared.sum(axis=1)[:k] - np.diagonal(shared)[:k])
    exact = shared / np.outer(rates, rates)
    error = drawn.std(axis=0) / np.sqrt(chains)
    assert (np.abs(drawn.mean(axis=0) - amount * mean) <= 5 * error).all()
    products = (drawn - amount * mean)[:, :, np.newaxis] * (drawn - amount * mean)[:, np.newaxis]
    spread = products.std(axis=0) / np.sqrt(chains)
    assert (np.abs(products.mean(axis=0) - amount * exact) <= 5 * spread).all()


@pytest.mark.statistical
def test_gibbs_sampling_is_the_same(monkeypatch):
    """Chains' means of 7 log-ratings, each within 4.5 standard errors (one failure in 20,000)."""
    one, other = (
        fit(counts, draws=1000, rng=np.random.default_rng(seed), method="gibbs")
        for seed, counts in enumerate(two_ways(tied_values(instances=4, timepoints=1), monkeypatch))
    )
    assert other.diagnostics.method == (GIBBS,)
    assert other.diagnostics.r_hat[0] < 1.02
    mine, exact = np.log(other.draws[:, 0]), np.log(one.draws[:, 0])
    error = np.sqrt(mine.var(axis=0) / other.diagnostics.ess[0] + exact.var(axis=0) / one.diagnostics.ess[0])
    assert (np.abs(mine.mean(axis=0) - exact.mean(axis=0)) < 4.5 * error).all()
    np.testing.assert_allclose(mine.std(axis=0) / exact.std(axis=0), 1.0, atol=0.15)


def late_ties(n, instances, timepoints, seed=0):
    """At the second half of the timepoints all algorithms have reached the target."""
    values = -(np.linspace(0, 2, n) + np.random.default_rng(seed).gumbel(size=(instances, timepoints, n)))
    values[:, timepoints // 2 :] = 0.0
    return values


def test_sixty_four_algorithms_that_always_tie():
    """Equal by symmetry: each mean is within 5 standard errors of 1 / 64 (one failure in 25,000)."""
    posterior = fit(choice_counts(np.zeros((50, 1, 64))), rng=np.random.default_rng(0))
    assert posterior.diagnostics.reliable
    draws = posterior.draws[:, 0]
    error = draws.std(axis=0) / np.sqrt(posterior.diagnostics.ess[0])
    assert (np.abs(draws.mean(axis=0) - 1 / 64) < 5 * error).all()


@pytest.mark.slow
def test_sixteen_algorithms_agree_with_gibbs_sampling():
    """16 means, each within 5 standard errors (one failure in 100,000)."""
    values = late_ties(16, 12, 2)[:, :1]
    values[:4, 0, :10] = -99.0
    values[4:7] = 0.0
    counts = choice_counts(values)
    one = fit(counts, rng=np.random.default_rng(0))
    other = fit(counts, draws=1000, rng=np.random.default_rng(1), method="gibbs")
    mine, exact = np.log(one.draws[:, 0]), np.log(other.draws[:, 0])
    error = np.sqrt(mine.var(axis=0) / one.diagnostics.ess[0] + exact.var(axis=0) / other.diagnostics.ess[0])
    assert (np.abs(mine.mean(axis=0) - exact.mean(axis=0)) < 5 * error).all()


@pytest.mark.statistical
@pytest.mark.slow
def test_sixty_four_algorithms_on_paths():
    values = late_ties(64, 20, 4)
    posterior = fit(choice_counts(values), model=RandomWalk(), draws=1000, rng=np.random.default_rng(0))
    assert posterior.diagnostics.reliable
    mean = np.log(posterior.draws).mean(axis=0)
    truth = np.linspace(0, 2, 64)
    assert np.corrcoef(mean[0], truth)[0, 1] > 0.8
    assert mean[3].std() < mean[0].std()


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("model", [IndependentDirichlet(), RandomWalk()])
def test_a_thousand_timepoints(model):
    rng, truth = np.random.default_rng(1), 0.5 + 0.4 * np.sin(np.arange(1000) / 150)
    wins = rng.binomial(40, truth)
    ahead = rng.permuted(np.arange(40)[:, np.newaxis] < wins, axis=0)  # who was ahead says nothing of who will be
    counts = choice_counts(np.stack([~ahead, ahead], axis=2).astype(float))
    posterior = fit(counts, model=model, rng=np.random.default_rng(0))
    assert posterior.diagnostics.reliable
    share = posterior.draws[:, :, 0]
    if isinstance(model, IndependentDirichlet):
        exact = beta(1 + wins, 41 - wins)
        error = exact.std() / np.sqrt(posterior.diagnostics.ess)
        assert (np.abs(share.mean(axis=0) - exact.mean()) < 5 * error).all()
    else:
        lower, upper = np.quantile(share, [0.025, 0.975], axis=0)
        assert ((lower <= truth) & (truth <= upper)).mean() > 0.85
        assert share.std(axis=0).max() < 0.05, "alone, a timepoint leaves 0.077"
    assert ChoiceCounts.none(1000, 2) + counts == counts

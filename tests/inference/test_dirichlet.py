"""The independent Dirichlet model against closed forms, quadrature and exact Gibbs sampling.

Monte Carlo errors: a statement about m independent quantities is tested at about 4 to 5 standard errors each, so that
a right answer fails with probability below m · 6e-5.
"""

import numpy as np
import pytest
from scipy import stats

from polarbear.inference import IndependentDirichlet, fit
from polarbear.inference.likelihood.newton import mode
from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.model.independent import sample
from polarbear.inference.sampling.gibbs import gibbs
from polarbear.inference.sampling.psis import ratings_in_order
from polarbear.rankings import ChoiceCounts, choice_counts


def gumbel_values(instances, utilities, seed):
    utilities = np.asarray(utilities, dtype=float)
    noise = np.random.default_rng(seed).gumbel(size=(instances, 1, utilities.size))
    return -(utilities + noise)


def with_holes(values, share, seed):
    return np.where(np.random.default_rng(seed).random(values.shape) < share, np.nan, values)


HARD = {
    "one ranking": (gumbel_values(1, np.zeros(6), 1), 1.0),
    "two rankings": (gumbel_values(2, np.zeros(5), 2), 1.0),
    "total dominance": (np.tile(np.arange(8.0), (8, 1, 1)), 1.0),
    "total dominance, small alpha": (np.tile(np.arange(6.0), (8, 1, 1)), 0.3),
    "two opposite orders": (np.array([[np.arange(6.0)], [5 - np.arange(6.0)]] * 3), 1.0),
    "one never wins": (np.concatenate([gumbel_values(50, np.zeros(4), 3), np.full((50, 1, 1), 1e3)], axis=2), 1.0),
    "one lost eight races and left": (
        np.concatenate(
            [
                gumbel_values(160, [0.0, 0.2, 0.4, 1.0, 1.5, 2.5], 13),
                np.where(np.arange(160) < 8, 1e3, np.nan)[:, np.newaxis, np.newaxis],
            ],
            axis=2,
        ),
        1.0,
    ),
    "three found nothing": (
        np.concatenate([gumbel_values(8, np.zeros(3), 4), np.full((8, 1, 3), np.inf)], axis=2),
        1.0,
    ),
    "all tied": (np.zeros((10, 1, 6)), 1.0),
    "many ties": (np.round(gumbel_values(20, np.linspace(0, 2, 6), 5)), 1.0),
    "half missing": (with_holes(gumbel_values(30, np.linspace(0, 2, 6), 6), 0.5, 7), 1.0),
    "one never run": (
        np.concatenate([gumbel_values(30, np.zeros(4), 8), np.full((30, 1, 1), np.nan)], axis=2),
        1.0,
    ),
    "large alpha": (gumbel_values(30, np.linspace(0, 4, 5), 9), 100.0),
    "small alpha": (gumbel_values(30, np.linspace(0, 4, 5), 10), 0.1),
    "ten algorithms": (gumbel_values(100, np.linspace(0, 3, 10), 11), 1.0),
}
DISCONNECTED = with_holes(gumbel_values(60, np.zeros(4), 12), 0.0, 0)
DISCONNECTED[:30, :, 2:] = np.nan
DISCONNECTED[30:, :, :2] = np.nan


def fitted(values, alpha=1.0, draws=4000, seed=0):
    return fit(choice_counts(values), model=IndependentDirichlet(alpha), draws=draws, rng=np.random.default_rng(seed))


def exact_by_gibbs(values, alpha, draws=4000, seed=1):
    choices = Choices.at(choice_counts(values), 0, alpha)
    rng = np.random.default_rng(seed)
    start = rng.dirichlet(np.ones(choices.wins.size), size=100)
    return gibbs(choices, start=start, draws=draws, enough=draws / 2, rng=rng)


def log(theta):
    return np.log(np.maximum(theta, 1e-300))


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [0.1, 1.0, 5.0])
@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (0, 1), (3, 0), (7, 2), (400, 600), (1000, 0)])
def test_two_algorithms_have_a_beta_posterior(wins, losses, alpha):
    values = np.array([[[0.0, 1.0]]] * wins + [[[1.0, 0.0]]] * losses).reshape(-1, 1, 2)
    posterior = fitted(values, alpha, draws=20_000)
    odds = np.exp(posterior.log_ratio(0, 1)[:, 0]) * (alpha + losses) / (alpha + wins)
    assert stats.kstest(odds, stats.f(2 * (alpha + wins), 2 * (alpha + losses)).cdf).pvalue > 1e-4
    theta, exact = posterior.draws[:, 0, 0], stats.beta(alpha + wins, alpha + losses)
    assert theta.mean() == pytest.approx(exact.mean(), abs=4 * exact.std() / np.sqrt(theta.size))
    assert theta.std() == pytest.approx(exact.std(), rel=0.05)
    better = exact.sf(0.5)
    assert posterior.probability_better(0, 1)[0] == pytest.approx(better, abs=4 * np.sqrt(better / 20_000) + 1e-9)
    assert posterior.diagnostics.ess[0] > 19_900


@pytest.mark.statistical
@pytest.mark.parametrize("alpha", [0.05, 1.0, 30.0])
def test_without_rankings_the_posterior_is_the_prior(alpha):
    posterior = fit(
        ChoiceCounts.none(3, 5), model=IndependentDirichlet(alpha), draws=20_000, rng=np.random.default_rng(0)
    )
    for t in range(3):
        for i in range(5):
            assert stats.kstest(posterior.draws[:, t, i], stats.beta(alpha, 4 * alpha).cdf).pvalue > 1e-4
    covariance = np.cov(posterior.draws[:, 0].T)
    variance = 0.2 * 0.8 / (5 * alpha + 1)
    np.testing.assert_allclose(covariance, variance * (1.25 * np.eye(5) - 0.25), atol=0.05 * variance)
    assert (posterior.diagnostics.ess > 19_000).all()


@pytest.mark.statistical
def test_times_without_rankings_are_the_prior_beside_others():
    values = gumbel_values(20, np.zeros(4), 1).repeat(2, axis=1)
    values[:, 1] = np.nan
    posterior = fitted(values, draws=20_000)
    assert stats.kstest(posterior.draws[:, 1, 0], stats.beta(1, 3).cdf).pvalue > 1e-4


@pytest.mark.statistical
def test_three_algorithms_by_quadrature():
    values = np.concatenate(
        [gumbel_values(12, [0.0, 0.5, 1.5], 4), np.array([[[0.0, 0.0, 1.0]], [[2.0, 1.0, np.nan]]])]
    )
    counts = choice_counts(values)
    x = (np.arange(600) + 0.5) / 600
    theta = np.stack([a := np.repeat(x, 600), b := np.tile(x, 600), 1 - a - b], axis=1)
    theta = theta[theta[:, 2] > 1e-9]
    density = counts.log_likelihood(theta[:, np.newaxis])[:, 0] + (2.0 - 1.0) * np.log(theta).sum(axis=1)
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    mean = weight @ theta
    sd = np.sqrt(weight @ (theta - mean) ** 2)
    posterior = fitted(values, alpha=2.0, draws=20_000)
    draws = posterior.draws[:, 0]
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=4.5 * sd.max() / np.sqrt(20_000))
    np.testing.assert_allclose(draws.std(axis=0), sd, rtol=0.03)
    for i, j in ((0, 1), (1, 2), (0, 2)):
        assert posterior.probability_better(i, j)[0] == pytest.approx(weight @ (theta[:, i] > theta[:, j]), abs=0.015)


@pytest.mark.statistical
@pytest.mark.parametrize("case", HARD)
def test_importance_sampling_agrees_with_exact_gibbs_sampling(case):
    values, alpha = HARD[case]
    posterior = fitted(values, alpha)
    assert posterior.diagnostics.method == ("importance sampling",)
    assert posterior.diagnostics.reliable
    exact = exact_by_gibbs(values, alpha)
    mine, theirs = posterior.draws[:, 0].T, exact.theta
    error = np.sqrt(1 / posterior.diagnostics.ess[0] + 1 / exact.ess)
    spread = log(theirs).std(axis=1)
    assert np.abs(log(mine).mean(axis=1) - log(theirs).mean(axis=1)).max() < 4.5 * (error * spread).max()
    np.testing.assert_allclose(log(mine).std(axis=1) / spread, 1.0, atol=0.15)
    better = (theirs[:, np.newaxis] > theirs).mean(axis=2) + 0.5 * np.eye(len(theirs))
    np.testing.assert_allclose(posterior.pairwise_probabilities()[0], better, atol=4.5 * 0.5 * error)


@pytest.mark.statistical
@pytest.mark.parametrize("seed", range(6))
def test_agreement_on_random_shapes(seed):
    rng = np.random.default_rng(seed)
    n, instances = int(rng.integers(2, 12)), int(rng.integers(1, 60))
    values = with_holes(np.round(gumbel_values(instances, rng.normal(size=n), seed), 1), 0.3 * rng.random(), seed)
    posterior, exact = fitted(values), exact_by_gibbs(values, 1.0)
    error = np.sqrt(1 / posterior.diagnostics.ess[0] + 1 / exact.ess)
    difference = log(posterior.draws[:, 0]).mean(axis=0) - log(exact.theta).mean(axis=1)
    assert (np.abs(difference) < 4.5 * error * log(exact.theta).std(axis=1)).all()


@pytest.mark.statistical
def test_groups_that_were_never_compared():
    """Shares within a group are Beta by its wins, a group's sum is Dirichlet by the prior, and they are independent."""
    posterior = fitted(DISCONNECTED, draws=20_000, seed=3)
    theta = posterior.draws[:, 0]
    group = theta[:, :2].sum(axis=1)
    share = theta[:, 0] / group
    won = np.count_nonzero(DISCONNECTED[:30, 0, 0] < DISCONNECTED[:30, 0, 1])
    assert posterior.diagnostics.ess[0] > 19_900
    assert stats.kstest(group, stats.beta(2, 2).cdf).pvalue > 1e-4
    assert stats.kstest(share, stats.beta(1 + won, 31 - won).cdf).pvalue > 1e-4
    assert abs(np.corrcoef(group, share)[0, 1]) < 4 / np.sqrt(20_000)


@pytest.mark.statistical
def test_unreliable_weights_are_never_returned(monkeypatch):
    monkeypatch.setattr(
        "polarbear.inference.sampling.psis.smooth",
        lambda log_weights: (np.full(log_weights.size, 1 / log_weights.size), np.nan),
    )
    posterior = fitted(gumbel_values(20, [0.0, 1.0, 2.0], 0))
    assert posterior.diagnostics.method == ("Gibbs",)
    np.testing.assert_allclose(
        posterior.mean(), fitted(gumbel_values(20, [0.0, 1.0, 2.0], 0), seed=5).mean(), atol=0.02
    )


def test_a_curvature_that_cannot_be_inverted_leaves_gibbs(monkeypatch):
    def broken(*_):
        raise np.linalg.LinAlgError

    monkeypatch.setattr("polarbear.inference.model.independent.proposal", broken)
    assert fitted(gumbel_values(20, [0.0, 1.0, 2.0], 0)).diagnostics.method == ("Gibbs",)


@pytest.mark.parametrize("case", ["many ties", "half missing", "total dominance", "ten algorithms"])
def test_newton_finds_the_mode(case):
    """The gradient of the log-density, by differences, vanishes there, and the curvature is its derivative."""
    values, alpha = HARD[case]
    choices = Choices.at(choice_counts(values), 0, alpha)
    z, curvature = mode(choices)

    def density(shift):
        moved = z[:, np.newaxis] + shift
        return choices.log_density(moved - np.log(np.exp(moved).sum(axis=0)))

    step = 1e-4 * np.eye(z.size)
    np.testing.assert_allclose((density(step) - density(-step)) / 2e-4, 0.0, atol=1e-5 * choices.wins.sum())
    second = (density(step) + density(-step) - 2 * density(0 * step)) / 1e-8
    np.testing.assert_allclose(-second, np.diag(curvature), rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(curvature.sum(axis=0), 0.0, atol=1e-9 * choices.wins.sum())


def test_log_density_is_the_likelihood_times_the_prior():
    values = np.round(gumbel_values(9, np.zeros(5), 0))
    counts = choice_counts(values)
    theta = np.random.default_rng(0).dirichlet(np.ones(5), size=20)
    expected = counts.log_likelihood(theta[:, np.newaxis])[:, 0] + 0.7 * np.log(theta).sum(axis=1)
    found = Choices.at(counts, 0, 0.7).log_density(np.log(theta.T))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_log_density_where_exponentials_vanish():
    """One ranking A, B, C, D: the choice from C and D hangs on their ratio, however small both are."""
    log_theta = np.array([[-1e-9, -1e-9], [-750.0, -750.0], [-1500.0, -1500.0], [-1503.0, -2000.0]])
    choices = Choices.at(choice_counts(np.arange(4.0).reshape(1, 1, 4)), 0, 0.01)
    of_c = np.array([-np.log1p(np.exp(-3.0)), 0.0])
    np.testing.assert_allclose(choices.log_density(log_theta), 0.01 * log_theta.sum(axis=0) + of_c, rtol=1e-9)


def test_ratings_too_small_for_numbers_keep_their_order():
    log_theta = np.array([0.0, -5.0, -689.0, -691.0, -750.0, -1000.0, -1e5, -1e6])
    theta = ratings_in_order(log_theta)
    np.testing.assert_allclose(theta[:3], np.exp(log_theta[:3]), rtol=1e-12)
    assert (np.diff(theta) < 0).all()
    assert theta[-1] > np.finfo(float).tiny


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("counts", "alpha"), [(1e6, 1.0), (1e6, 0.01), (1.0, 0.01), (1.0, 100.0), (1e6, 100.0), (1e-3, 0.01)]
)
def test_extremes_stay_finite_and_reliable(counts, alpha):
    one = choice_counts(gumbel_values(40, np.linspace(0, 2, 6), 1))
    heavy = ChoiceCounts(one.wins * counts, one.sets, one.counts * counts, one.offsets, one.rankings)
    posterior = fit(heavy, model=IndependentDirichlet(alpha), rng=np.random.default_rng(0))
    assert posterior.diagnostics.reliable
    assert np.isfinite(posterior.draws).all()
    np.testing.assert_allclose(posterior.draws.sum(axis=2), 1.0, rtol=1e-9)
    if counts == 1e6:
        z, curvature = mode(Choices.at(heavy, 0, alpha))
        spread = np.sqrt(np.diag(np.linalg.pinv(curvature, rcond=1e-12, hermitian=True)))
        centred = log(posterior.draws[:, 0]) - log(posterior.draws[:, 0]).mean(axis=1, keepdims=True)
        assert (np.abs(centred.mean(axis=0) - (z - z.mean())) < 0.15 * spread).all()
        np.testing.assert_allclose(centred.std(axis=0), spread, rtol=0.1)


def test_thirty_algorithms():
    posterior = fitted(gumbel_values(60, np.linspace(0, 3, 30), 0))
    assert posterior.diagnostics.reliable
    assert posterior.diagnostics.method == ("importance sampling",)


def test_equal_counts_and_seed_give_equal_draws():
    values = np.round(gumbel_values(20, np.linspace(0, 2, 5), 3).repeat(3, axis=1), 1)
    first, again, other = fitted(values, seed=4), fitted(values, seed=4), fitted(values, seed=5)
    np.testing.assert_array_equal(first.draws, again.draws)
    assert not np.array_equal(first.draws, other.draws)


def test_draws_at_one_timepoint_do_not_depend_on_the_others():
    values = np.random.default_rng(0).normal(size=(30, 6, 5))
    changed = values.copy()
    changed[:, [0, 3, 5]] = np.random.default_rng(1).normal(size=(30, 3, 5))
    changed[10:, 5, 2:] = np.nan
    before, after = fitted(values).draws, fitted(changed).draws
    for t, same in enumerate([False, True, True, False, True, False]):
        assert np.array_equal(before[:, t], after[:, t]) == same
    np.testing.assert_array_equal(fitted(values[:, :3]).draws, before[:, :3])


@pytest.mark.statistical
def test_draws_at_different_timepoints_are_unrelated():
    draws = fitted(gumbel_values(20, np.zeros(3), 0).repeat(2, axis=1)).draws
    assert abs(np.corrcoef(draws[:, 0, 0], draws[:, 1, 0])[0, 1]) < 4 / np.sqrt(4000)


@pytest.mark.statistical
def test_draws_come_in_no_order():
    theta = fitted(gumbel_values(20, np.zeros(3), 0)).draws[:, 0, 0]
    assert abs(np.corrcoef(theta[1:], theta[:-1])[0, 1]) < 4 / np.sqrt(4000)


@pytest.mark.statistical
@pytest.mark.parametrize("case", ["many ties", "half missing"])
def test_permuting_algorithms_permutes_the_posterior(case):
    values, alpha = HARD[case]
    order = np.random.default_rng(0).permutation(values.shape[2])
    here, there = fitted(values, alpha, draws=20_000), fitted(values[:, :, order], alpha, draws=20_000, seed=1)
    np.testing.assert_allclose(here.mean()[:, order], there.mean(), atol=0.005)
    np.testing.assert_allclose(
        here.pairwise_probabilities()[:, order][:, :, order], there.pairwise_probabilities(), atol=0.02
    )


@pytest.mark.statistical
def test_an_algorithm_never_run_changes_nothing_for_the_others():
    """The ratings of the others, as shares of their sum, keep their posterior when α is the same."""
    values = gumbel_values(30, np.linspace(0, 2, 4), 3)
    alone = fitted(values, draws=20_000)
    more = fitted(np.concatenate([values, np.full((30, 1, 2), np.nan)], axis=2), draws=20_000, seed=1)
    shares = more.draws[:, 0, :4] / more.draws[:, 0, :4].sum(axis=1, keepdims=True)
    for i in range(4):
        assert stats.ks_2samp(shares[:, i], alone.draws[:, 0, i]).pvalue > 1e-4
    assert stats.kstest(more.draws[:, 0, 4], stats.beta(1, 5).cdf).pvalue > 1e-4


@pytest.mark.parametrize("draws", [1, 10, 100, 1000])
def test_any_number_of_draws(draws):
    posterior = fitted(gumbel_values(10, np.zeros(4), 0), draws=draws)
    assert posterior.draws.shape == (draws, 1, 4)


@pytest.mark.statistical
def test_gibbs_says_when_its_chains_disagree():
    """Chains that hardly move from far apart starts have a large R-hat and few effective draws."""
    from polarbear.inference.sampling.gibbs import mixing

    rng = np.random.default_rng(0)
    independent = rng.normal(size=(50, 80, 3))
    ess, r_hat = mixing(independent)
    assert r_hat < 1.01
    assert 2000 < ess < 6000
    ess, r_hat = mixing(independent + 3 * rng.normal(size=(1, 80, 3)))
    assert r_hat > 1.5
    assert ess < 200


def test_one_sample_is_all_there_is_for_one_algorithm():
    found = sample(Choices.at(ChoiceCounts.none(1, 1), 0, 1.0), draws=3, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(found.theta, np.ones((1, 3)))
    assert found.method == "importance sampling"


def test_a_concentration_whose_ratings_no_number_can_hold_is_named():
    dominated = np.tile(np.arange(10.0), (20, 1, 1))
    with pytest.raises(ValueError, match="alpha is 1e-12, which makes ratings of 10 algorithms too small"):
        fitted(dominated, alpha=1e-12, draws=500)

"""More than 64 algorithms: chains of nested choice sets, comparisons by places, and posteriors that are known."""

import numpy as np
import pytest
from scipy.stats import beta

from polarbear.inference import InstanceBootstrap, RandomWalk, fit, pairs
from polarbear.inference.likelihood.choice_sets import ListedSets, choice_sets
from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.wins import Wins
from polarbear.rankings import choice_counts, membership


def rankings(algorithms, *, instances=6, timepoints=1, ties=False, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.gumbel(size=(instances, timepoints, algorithms)) - np.linspace(0, 4, algorithms)
    values[1, :, rng.random(algorithms) < 0.3] = np.nan
    if ties:
        values[instances // 2 :] = np.round(values[instances // 2 :], 1)
    return values


@pytest.fixture
def both_kinds():
    """The same choice sets in chains and as rows, how often each was chosen from, and ratings."""
    counts = choice_counts(rankings(80, ties=True))
    _, sets, amounts = counts.at(0)
    chains, order = choice_sets(sets, 80)
    return chains, ListedSets(membership(sets[order], 80)), amounts[order], np.random.default_rng(1)


def test_sums_over_chains_are_those_over_rows(both_kinds):
    chains, rows, amounts, rng = both_kinds
    theta, rates = rng.dirichlet(np.ones(80), 5), rng.random((5, amounts.size))
    np.testing.assert_array_equal(chains.sizes, rows.sizes)
    np.testing.assert_allclose(chains.sums(theta), rows.sums(theta), rtol=1e-13)
    np.testing.assert_allclose(chains.gather(rates), rows.gather(rates), rtol=1e-13)
    for one, other in zip(chains.moments(theta[0], amounts), rows.moments(theta[0], amounts), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
    faint = np.log(theta) - 900.0
    np.testing.assert_allclose(chains.log_sums(faint), rows.log_sums(faint), rtol=1e-13)
    np.testing.assert_allclose(chains.log_sums(np.log(theta)), np.log(rows.sums(theta)), atol=1e-13)
    np.testing.assert_allclose(chains.log_gather(rates - 900), rows.log_gather(rates - 900), rtol=1e-12)
    np.testing.assert_allclose(chains.log_gather(np.log(rates)), np.log(rows.gather(rates)), atol=1e-12)
    for kind in (chains, rows):
        total = np.zeros(5)
        for draws, terms in kind.weighted_log_sums(theta.T, amounts):
            total[draws] += terms
        np.testing.assert_allclose(total, np.log(rows.sums(theta)) @ amounts, rtol=1e-12)


def test_chains_in_another_order_and_within_a_group(both_kinds):
    chains, rows, amounts, rng = both_kinds
    theta, order = rng.dirichlet(np.ones(80), 3), rng.permutation(80)
    every = np.ones(amounts.size, bool)
    np.testing.assert_allclose(chains.among(order, every).sums(theta), rows.among(order, every).sums(theta), rtol=1e-13)
    everyone = chains.with_everyone()
    np.testing.assert_allclose(everyone.sums(theta)[:, -1], 1.0)
    chosen, group = rng.random(amounts.size) < 0.5, np.arange(80)
    np.testing.assert_array_equal(chains.sizes_among(group), rows.sizes_among(group))
    np.testing.assert_allclose(chains.among(group, chosen).sums(theta), rows.among(group, chosen).sums(theta))


def test_chains_of_the_largest_sets_connect_whom_all_sets_do():
    values = rankings(100)
    values[:3, :, 60:] = values[3:, :, :60] = np.nan
    choices = Choices.at(choice_counts(values), 0, 1.0)
    first, second = choices.groups()
    assert (first.tolist(), second.tolist()) == (list(range(60)), list(range(60, 100)))
    for group in (first, second):
        alone = Choices.at(choice_counts(values[:, :, group]), 0, 1.0)
        log_theta = np.log(np.random.default_rng(0).dirichlet(np.ones(group.size), 3).T)
        np.testing.assert_allclose(choices.of_algorithms(group).log_density(log_theta), alone.log_density(log_theta))


@pytest.mark.parametrize("algorithms", [100, 200])
def test_rankings_that_agree(algorithms):
    """Then the shares that algorithms take of themselves and all behind them are independent Beta variables."""
    instances = 5
    posterior = fit(choice_counts(np.tile(np.arange(algorithms), (instances, 1, 1))), rng=np.random.default_rng(0))
    theta = posterior.draws[:, 0]
    behind = np.cumsum(theta[:, ::-1], axis=1)[:, ::-1]
    shares = (theta / behind)[:, :-1]
    exact = beta(1.0 + instances, np.arange(algorithms - 1, 0, -1.0))
    np.testing.assert_allclose(shares.mean(axis=0), exact.mean(), atol=5 * exact.std().max() / np.sqrt(4000))
    assert posterior.diagnostics.reliable


def slopes(values, theta):
    """(D, n) the log-density's derivatives by the log-ratings under a uniform prior, choice by choice."""
    found = 1.0 - theta.shape[1] * theta
    for row in values:
        ranked = [i for i in np.argsort(row, kind="stable") if not np.isnan(row[i])]
        for place, i in enumerate(ranked):
            behind = ranked[place:]
            found[:, i] += 1.0
            found[:, behind] -= theta[:, behind] / theta[:, behind].sum(axis=1, keepdims=True)
    return found


@pytest.mark.statistical(rate=1e-4)
@pytest.mark.parametrize(
    ("algorithms", "method", "draws"),
    [
        (100, "nlis", 2000),
        (200, "nlis", 2000),
        (100, "gibbs", 500),
        pytest.param(200, "gibbs", 2000, marks=pytest.mark.slow),
    ],
)
def test_the_slope_of_the_log_density_is_zero_on_average(algorithms, method, draws):
    """Integration by parts: so it is over the exact posterior, and over hardly any other distribution."""
    values = rankings(algorithms)
    counts = choice_counts(values)
    posterior = fit(counts, draws=draws, method=method, rng=np.random.default_rng(0))
    found = slopes(values[:, 0], posterior.draws[:, 0])
    error = found.std(axis=0) / np.sqrt(min(draws, posterior.diagnostics.ess[0]))
    assert (np.abs(found.mean(axis=0)) < 6 * error).all()
    theta = posterior.draws[0]
    np.testing.assert_allclose(found[0], 1.0 - algorithms * theta[0] + counts.scores(theta[0])[0], atol=1e-9)


@pytest.mark.parametrize("model", [InstanceBootstrap(), RandomWalk()], ids=["instances", "walk"])
def test_models_over_time_rank_many_algorithms(model):
    values = rankings(70, instances=12, timepoints=3, ties=True)
    posterior = fit(choice_counts(values), model=model, draws=200, rng=np.random.default_rng(0))
    assert posterior.probability_better(69, 0).min() > 0.95
    assert np.corrcoef(np.log(posterior.mean()[1]), np.linspace(0, 4, 70))[0, 1] > 0.7


@pytest.mark.parametrize("digits", [2, 15])
def test_places_in_each_draw_compare_as_the_ratings_do(digits):
    """With two digits many ratings are equal."""
    draws = 0.01 + np.round(np.random.default_rng(0).random((50, 3, 140)), digits)
    always = pairs.always_above(draws)
    for t in range(3):
        ratings = draws[:, t].T
        i, j = ratings[:, np.newaxis], ratings[np.newaxis]
        np.testing.assert_array_equal(pairs.net_wins(ratings), (i > j).sum(axis=2) - (i < j).sum(axis=2))
        close = (i <= 1.3 * j) & (j <= 1.3 * i)
        np.testing.assert_array_equal(pairs.near(ratings, 1.3), close.sum(axis=2))
    above = (draws[:, :, :, np.newaxis] > draws[:, :, np.newaxis]).all(axis=1)
    np.testing.assert_allclose(always, above.mean(axis=0))


def test_wins_of_some_pairs_at_a_time(monkeypatch):
    posterior = fit(choice_counts(rankings(9, timepoints=2)), draws=300, rng=np.random.default_rng(0))
    wins = posterior.known_wins
    asked = [
        Wins.pairwise_probabilities,
        lambda of: of.equivalence_probabilities(0.1),
        Wins.dominance_probabilities,
        lambda of: of.false_elimination(range(5), range(9)),
    ]
    whole = [ask(wins) for ask in asked]
    monkeypatch.setattr("polarbear.inference.wins._PAIRS_AT_ONCE", 5)
    for ask, before in zip(asked, whole, strict=True):
        np.testing.assert_allclose(ask(wins), before, atol=2 / 300)  # sums of 32-bit numbers in another order

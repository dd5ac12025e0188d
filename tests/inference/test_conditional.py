"""Ratings conditional on features: recovered, calibrated, joint over time, and equal to a logit of another package."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from polarbear import select
from polarbear.inference import fit_conditional
from polarbear.inference.likelihood.orders import Orders
from polarbear.rankings import DistinctRankings, Rankings


def simulated(seed, *, instances=200, algorithms=5, features=8, active=2, times=2, repeated=1, groups=None):
    """Features, coefficients and rankings; at the last timepoint effects are those returned, before it smaller."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(instances, features))
    alpha, beta = 0.7 * rng.normal(size=algorithms), np.zeros((algorithms, features))
    beta[:, :active] = 0.6 * rng.normal(size=(algorithms, active))
    scale = np.repeat(np.linspace(1 / times, 1, times), repeated)[:, np.newaxis]
    ratings = scale * (alpha + z @ beta.T)[:, np.newaxis]
    luck = rng.gumbel(size=(instances, 1, algorithms))  # of runs, which go on over time
    rankings = Rankings.of(-(ratings + luck), times=np.arange(1.0, 1 + times * repeated), groups=groups)
    return z, alpha - alpha.mean(), beta - beta.mean(axis=0), rankings


@pytest.mark.parametrize("tail", ["tied", "unordered"])
def test_orders_have_the_scores_of_exact_ties_and_their_derivatives(tail):
    rng = np.random.default_rng(0)
    values = rng.integers(3, size=(40, 3, 6)).astype(float)
    values[:, :2] += np.arange(6) > 2  # ties of at most three at the first two timepoints
    values[rng.random(values.shape) < 0.2] = np.nan
    values[rng.random(values.shape) < 0.1] = np.inf
    values[:, :2, 3:] += 3
    rankings = Rankings.of(values, tail=tail)
    ratings = rng.normal(size=6)
    orders, exact = Orders.of(rankings, rng), DistinctRankings.of(rankings)
    at = orders.expand(np.broadcast_to(ratings, (3, 1, 6)))
    theta = np.exp(ratings) / np.exp(ratings).sum()
    for t in range(2):
        np.testing.assert_allclose(at.scores[t], exact.scores(t, theta), atol=1e-12)
        value, which = exact.log_likelihood(t, np.log(theta)[np.newaxis])
        np.testing.assert_allclose(at.value[t], np.append(value[:, 0], 0.0)[which], atol=1e-12)
    assert np.abs(at.scores[2].mean(axis=0) - exact.scores(2, theta).mean(axis=0)).max() < 0.02  # large ties: nearly
    for j, step in enumerate(1e-5 * np.eye(6)):
        up, down = (orders.expand(np.broadcast_to(ratings + sign * step, (3, 1, 6))) for sign in (1, -1))
        for t in range(3):
            slope = (down.scores[t] - up.scores[t]) / 2e-5
            np.testing.assert_allclose(at.curvature(t)[:, :, j], slope, atol=1e-7)


def test_known_effects_are_found_and_others_shrink():
    z, _, beta, rankings = simulated(1, instances=500)
    fitted = fit_conditional(rankings, z, rng=np.random.default_rng(0))
    for feature in range(2):
        found = fitted.effect(f"feature {feature}").mean[-1] / z[:, feature].std()
        assert np.abs(found - beta[:, feature]).max() < 0.25
        assert np.corrcoef(found, beta[:, feature])[0, 1] > 0.95
    assert max(np.abs(fitted.effect(f"feature {i}").mean[-1]).max() for i in range(2, 8)) < 0.15
    shares = {name: band.mean[-1] for name, band in fitted.importance().items()}
    assert set(sorted(shares, key=lambda name: shares[name])[-2:]) == {"feature 0", "feature 1"}
    assert shares["feature 0"] + shares["feature 1"] > 0.9


@pytest.mark.statistical(rate=0.01)
def test_of_two_algorithms_it_is_a_logistic_regression():
    rng = np.random.default_rng(2)
    z = rng.normal(size=(2000, 3))
    wins = rng.random(2000) < 1 / (1 + np.exp(-(0.5 + z @ [1.0, -0.5, 0.3])))
    rankings = Rankings.of(np.where(wins[:, None], [[0.0, 1.0]], [[1.0, 0.0]])[:, None], algorithms=["a", "b"])
    fitted = fit_conditional(rankings, z, draws=4000, rng=rng)
    logit = LogisticRegression(C=np.inf, tol=1e-10).fit(z, wins)
    new = rng.normal(size=(20, 3))
    log_odds = np.array([fitted.given(row).log_ratio("a", "b")[:, 0].mean() for row in new])
    np.testing.assert_allclose(log_odds, logit.decision_function(new), atol=0.12)
    design = np.column_stack([np.ones(2000), z])
    p = logit.predict_proba(z)[:, 1]
    errors = np.linalg.inv((design.T * (p * (1 - p))) @ design)
    at = np.column_stack([np.ones(20), new])
    spread = np.array([fitted.given(row).log_ratio("a", "b")[:, 0].std() for row in new])
    np.testing.assert_allclose(spread, np.sqrt(((at @ errors) * at).sum(axis=1)), rtol=0.2)


def test_rankings_that_repeat_themselves_are_not_counted_as_new():
    once, often = simulated(3), simulated(3, repeated=8)
    single, many = (
        fit_conditional(each[3], each[0], rng=np.random.default_rng(0)).given(np.zeros(8)) for each in (once, often)
    )
    assert single.honest
    assert many.honest
    spread = [each.log_ratio(0, 1).std(axis=0)[-1] for each in (single, many)]
    assert spread[1] == pytest.approx(spread[0], rel=0.1)
    together = many.log_ratio(0, 1)[:, -8:]
    assert together.mean(axis=1).std() == pytest.approx(together[:, -1].std(), rel=1e-3)


def test_twins_in_a_group_are_not_counted_as_new():
    z, _, _, rankings = simulated(4, instances=100)
    twice = Rankings.of(np.repeat(rankings.values(), 5, axis=0), groups=np.repeat(np.arange(100), 5))
    one = fit_conditional(rankings, z, rng=np.random.default_rng(0)).given(np.zeros(8))
    five = fit_conditional(twice, np.repeat(z, 5, axis=0), rng=np.random.default_rng(0)).given(np.zeros(8))
    ratio = five.log_ratio(0, 1)[:, -1].std() / one.log_ratio(0, 1)[:, -1].std()
    assert 0.75 < ratio < 1.5


def test_unknown_features_count_as_at_their_mean_and_whether_they_are_known_counts():
    rng = np.random.default_rng(5)
    z = rng.normal(3.0, 2.0, size=(400, 2))
    unknown = rng.random(400) < 0.3
    ratings = np.stack([2.0 * unknown, np.zeros(400)], axis=1)
    z[unknown, 1] = np.nan
    rankings = Rankings.of(-(ratings + rng.gumbel(size=(400, 2)))[:, np.newaxis], algorithms=["a", "b"])
    fitted = fit_conditional(rankings, {"x": z[:, 0], "y": z[:, 1], "constant": np.ones(400)}, rng=rng)
    assert fitted.covariates.unused == ("constant",)
    known, not_known = fitted.given({"x": 3.0, "y": 3.0}), fitted.given({"x": 3.0})
    assert np.median(known.log_ratio("a", "b")) == pytest.approx(0, abs=0.4)
    assert np.median(not_known.log_ratio("a", "b")) == pytest.approx(2, abs=0.6)
    np.testing.assert_allclose(fitted.given({"y": 3.0}).draws, fitted.given([z[:, 0].mean(), 3.0, 5.0]).draws)


def test_squares_find_what_is_best_in_the_middle():
    rng = np.random.default_rng(6)
    z = rng.uniform(-2, 2, size=(400, 1))
    ratings = np.column_stack([2 - 2 * z**2, np.zeros(400)])
    rankings = Rankings.of(-(ratings + rng.gumbel(size=(400, 2)))[:, np.newaxis], algorithms=["middle", "ends"])
    fitted = fit_conditional(rankings, z, squares=True, rng=rng)
    best = [select.best(fitted.given([at])).members for at in (-1.8, 0.0, 1.8)]
    assert best == [("ends",), ("middle",), ("ends",)]


def test_selection_loses_little_beside_the_oracle():
    """Regret in log rating on new instances, beside the single best algorithm's and an oracle's, which is 0."""
    z, alpha, beta, rankings = simulated(7, instances=500)
    fitted = fit_conditional(rankings, z, rng=np.random.default_rng(0))
    new = np.random.default_rng(70).normal(size=(200, 8))
    truth = alpha + new @ beta.T
    chosen = np.array([fitted.given(row).draws[:, -1].mean(axis=0).argmax() for row in new])
    regret = (truth.max(axis=1) - truth[np.arange(200), chosen]).mean()
    assert regret < 0.1 * (truth.max(axis=1) - truth[:, alpha.argmax()]).mean()


def test_faults_are_named():
    z, _, _, rankings = simulated(8, instances=20)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"features have shape \(19, 8\); they must be \(20, m\)"):
        fit_conditional(rankings, z[:19], rng=rng)
    z[3, 0] = np.inf
    with pytest.raises(ValueError, match="'feature 0' of instance 3 is infinite"):
        fit_conditional(rankings, z, rng=rng)
    with pytest.raises(ValueError, match="'a' has shape"):
        fit_conditional(rankings, {"a": [1.0]}, rng=rng)
    with pytest.raises(ValueError, match="1 group of instances; at least two"):
        fit_conditional(Rankings.of(rankings.values(), groups=np.zeros(20)), np.ones((20, 1)), rng=rng)
    fitted = fit_conditional(rankings, {"slope": np.arange(20.0), "one": np.ones(20)}, draws=10, rng=rng)
    with pytest.raises(ValueError, match="no feature 'slop'; did you mean"):
        fitted.given({"slop": 1.0})
    with pytest.raises(ValueError, match="a value for each of the 2 features"):
        fitted.given([1.0])
    with pytest.raises(ValueError, match="no feature 'one' that varies"):
        fitted.effect("one")


@pytest.mark.slow
@pytest.mark.statistical(rate=0.01)
@pytest.mark.parametrize(("instances", "features", "active"), [(100, 8, 2), (300, 20, 4), (300, 20, 20)])
def test_bands_of_log_ratings_cover_what_they_say(instances, features, active):
    """95 % bands at new instances; simulations are independent, bands in one of them are not."""
    covered = []
    for seed in range(40):
        z, alpha, beta, rankings = simulated(1000 + seed, instances=instances, features=features, active=active)
        fitted = fit_conditional(rankings, z, rng=np.random.default_rng(seed))
        new = np.random.default_rng(seed).normal(size=(10, features))
        for row in new:
            log = np.log(fitted.given(row).draws[:, -1])
            low, high = np.quantile(log - log.mean(axis=1, keepdims=True), (0.025, 0.975), axis=0)
            truth = alpha + beta @ row
            covered += list((low <= truth) & (truth <= high))
    assert 0.93 <= np.mean(covered) <= 0.98

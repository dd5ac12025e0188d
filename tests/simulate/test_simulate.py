from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import kstest, norm

from polarbear import RunKey
from polarbear.inference import GaussianProcess, IndependentDirichlet, RandomWalk
from polarbear.simulate import Truth, prior_truth

TIMES = np.array([1.0, 5.0, 6.0])


def truth():
    ratings = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.3, 0.1, 0.6]])
    return Truth(TIMES, ratings, ("a", "b", "c"))


INSTANCES = 1500


@cache
def values(noise):
    """(INSTANCES, T, n) values of runs; lower is better."""
    true = truth()
    runs = [[true.run(RunKey("i", name, seed), 6, noise=noise) for name in true.names] for seed in range(INSTANCES)]
    return np.stack([[run.trajectory.value_at(TIMES) for run in row] for row in runs]).transpose(0, 2, 1)


def win_rates(found):
    """(T, n, n) how often i is better than j."""
    return (found[:, :, :, np.newaxis] < found[:, :, np.newaxis, :]).mean(axis=0)


def close(rates, expected):
    """Within 4 standard errors."""
    return (np.abs(rates - expected) < 4 * np.sqrt(expected * (1 - expected) / INSTANCES) + 1e-12).all()


@pytest.mark.parametrize("noise", ["gumbel", "lasting-gumbel"])
def test_with_gumbel_noise_win_rates_are_the_ratings(noise):
    """The Thurstonian view: the probability of the best result is θ exactly."""
    found = values(noise)
    wins = np.stack([(found.argmin(axis=2) == index).mean(axis=0) for index in range(3)], axis=1)
    assert close(wins, truth().ratings)


def test_reversed_noise_keeps_the_odds_of_pairs_but_not_of_three():
    """From worst to best, rankings follow the model with ratings 1/θ; the best of three wins at other rates than θ."""
    ratings = truth().ratings
    found = values("reversed-gumbel")
    pairs = ratings[:, :, np.newaxis] / (ratings[:, :, np.newaxis] + ratings[:, np.newaxis, :])
    off = ~np.eye(3, dtype=bool)
    assert close(win_rates(found)[:, off], pairs[:, off])
    worst = 1 / ratings / (1 / ratings).sum(axis=1, keepdims=True)
    losses = np.stack([(found.argmax(axis=2) == index).mean(axis=0) for index in range(3)], axis=1)
    assert close(losses, worst)
    wins = np.stack([(found.argmin(axis=2) == index).mean(axis=0) for index in range(3)], axis=1)
    assert not close(wins, ratings)


def test_normal_noise_is_thurstones_model():
    log_ratings = np.log(truth().ratings)
    expected = norm.cdf(np.sqrt(3) * (log_ratings[:, :, np.newaxis] - log_ratings[:, np.newaxis, :]) / np.pi)
    off = ~np.eye(3, dtype=bool)
    assert close(win_rates(values("normal"))[:, off], expected[:, off])


@pytest.mark.statistical
def test_all_noise_has_the_same_variance_and_only_lasting_noise_lasts():
    """Noise is −value − 1e4 step − log θ. 4 standard errors; that of a variance is taken from the fourth moment."""
    for noise in ("gumbel", "reversed-gumbel", "normal", "lasting-gumbel"):
        steps = 1e4 * np.arange(1, 4)[:, np.newaxis]
        drawn = -values(noise) - steps - np.log(truth().ratings)
        assert np.abs(drawn.mean(axis=0) - drawn.mean()).max() < 4 * np.pi / np.sqrt(6 * INSTANCES) * np.sqrt(2)
        error = ((drawn - drawn.mean()) ** 2).std() / np.sqrt(INSTANCES)
        assert np.abs(drawn.var(axis=0) - np.pi**2 / 6).max() < 4 * error
        over_time = np.corrcoef(drawn[:, 0, 0], drawn[:, 1, 0])[0, 1]
        assert over_time == pytest.approx(1.0 if noise == "lasting-gumbel" else 0.0, abs=4 / np.sqrt(INSTANCES))


def test_unknown_noise_and_algorithms_are_refused():
    with pytest.raises(ValueError, match="noise is 'cauchy'; choose one of gumbel, reversed-gumbel"):
        truth().run(RunKey("i", "a", 0), 6, noise="cauchy")
    with pytest.raises(ValueError, match="the truth has no algorithm 'z'; it has a, b, c"):
        truth().run(RunKey("i", "z", 0), 6)


def test_the_pareto_set_is_equation_4():
    ratings = np.array([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]])
    assert Truth(np.array([1.0, 2.0]), ratings, ("a", "b", "c")).pareto_set == ("a", "b")
    assert Truth(np.array([1.0]), ratings[:1], ("a", "b", "c")).pareto_set == ("a",)


@pytest.mark.parametrize("noise", ["gumbel", "normal", "lasting-gumbel"])
def test_a_run_cut_early_is_the_beginning_of_the_whole_run(noise):
    key = RunKey("i", "a", 5)
    short, whole = (truth().run(key, until, noise=noise).trajectory for until in (5, 6))
    np.testing.assert_array_equal(short.values, whole.values[:2])
    assert np.isnan(short.value_at(6))


@pytest.mark.statistical
def test_truths_follow_the_prior():
    """With σ and ℓ held, μ_i(t) of the Matérn process is normal with variance σ² (1 − 1/n), and correlated over time.

    Kolmogorov–Smirnov and 4 standard errors; n = 3, 300 truths.
    """
    rng = np.random.default_rng(8)
    held = {"sigma": 2.0, "ell": 0.5}
    drawn = [prior_truth(GaussianProcess(), TIMES, 3, rng, hyperparameters=held).ratings for _ in range(300)]
    mu = np.log(drawn) - np.log(drawn).mean(axis=2, keepdims=True)
    assert kstest(mu[:, 0, 0], norm(scale=2.0 * np.sqrt(2 / 3)).cdf).pvalue > 1e-3
    a = np.sqrt(3) * 0.8 / 0.5
    expected = (1 + a) * np.exp(-a)
    found = np.corrcoef(mu[:, 0, 0], mu[:, 1, 0])[0, 1]
    assert abs(found - expected) < 4 * (1 - expected**2) / np.sqrt(300)


@pytest.mark.statistical
def test_truths_of_the_independent_model_are_uniform_on_the_simplex():
    """θ_1 ~ Beta(1, n − 1), so (1 − θ_1)^(n − 1) is uniform. Kolmogorov–Smirnov."""
    rng = np.random.default_rng(9)
    ratings = prior_truth(IndependentDirichlet(), np.arange(1.0, 501.0), 4, rng).ratings
    assert kstest((1 - ratings[:, 0]) ** 3, "uniform").pvalue > 1e-3


def test_a_truth_is_named_and_the_same_for_the_same_generator():
    def draw(algorithms):
        return prior_truth(RandomWalk(), TIMES, algorithms, np.random.default_rng(1))

    assert draw(3).names == ("A", "B", "C")
    assert draw(28).names[-3:] == ("Z", "AA", "AB")
    assert draw(["x", "y", "z"]).names == ("x", "y", "z")
    np.testing.assert_array_equal(draw(3).ratings, draw(["x", "y", "z"]).ratings)
    assert replace(draw(3), names=("x", "y", "z")).pareto_set == draw(["x", "y", "z"]).pareto_set
    with pytest.raises(ValueError, match="two algorithms are named 'x'"):
        draw(["x", "x"])


def test_ratings_so_small_that_they_vanish_stay_positive():
    """σ = e⁷: far beyond floating-point numbers."""
    ratings = prior_truth(RandomWalk(), TIMES, 3, np.random.default_rng(1), hyperparameters={"sigma": 1e3}).ratings
    assert (ratings > 0).all()


def test_ratings_must_be_on_the_simplex():
    with pytest.raises(ValueError, match="sum to 1"):
        Truth(np.array([1.0]), np.array([[0.5, 0.6]]), ("a", "b"))
    with pytest.raises(ValueError, match=r"need \(1, 3\)"):
        Truth(np.array([1.0]), np.array([[0.5, 0.5]]), ("a", "b", "c"))


def test_times_are_whole_evaluations_or_any_seconds():
    truth = Truth(np.array([0.01, 0.5]), np.full((2, 2), 0.5), ("a", "b"))
    run = truth.run(RunKey("i", "a", 0), 0.5, "seconds")
    assert np.isfinite(run.trajectory.value_at([0.01, 0.5], "seconds")).all()
    with pytest.raises(ValueError, match="whole numbers of evaluations"):
        truth.run(RunKey("i", "a", 0), 0.5)

"""Budgets as people say them, and what is chosen under them."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from polarbear.inference import RandomWalk, fit
from polarbear.rankings import choice_counts
from polarbear.select import BudgetRange, best, parse_budget, parse_number, preference_weights

TIMES = np.array([10.0, 100.0, 1000.0, 10_000.0])


@pytest.mark.parametrize(
    ("text", "dimension", "number"),
    [("300", None, 300), (" 1e4 ", None, 10_000), ("10_000", 3, 10_000), ("1000*d", 5, 5000), ("2.5 * D", 4, 10)],
)
def test_numbers_may_be_multiples_of_the_dimension(text, dimension, number):
    assert parse_number(text, dimension) == parse_budget(text, dimension) == number


def test_ranges_have_the_distribution_functions_of_scipy():
    x = np.linspace(50, 1500, 30)
    for text in ("100..1000", "uniform(100, 1000)", "50*d .. 500*d"):
        np.testing.assert_allclose(parse_budget(text, 2).cdf(x), stats.uniform(100, 900).cdf(x), rtol=1e-13)
    for text in ("log-uniform(100, 1000)", "loguniform(100,1000)"):
        np.testing.assert_allclose(parse_budget(text).cdf(x), stats.loguniform(100, 1000).cdf(x), rtol=1e-12)


def test_distributions_have_the_moments_that_are_said():
    normal, lognormal = parse_budget("normal(300, 50)"), parse_budget("lognormal(300, 0.5)")
    assert (normal.mean(), normal.std()) == pytest.approx((300, 50))
    assert lognormal.median() == pytest.approx(300)
    # 84.13 % lie below one standard deviation of the logarithm above its mean
    assert lognormal.cdf(300 * np.exp(0.5)) == pytest.approx(stats.norm.cdf(1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sometimes", "budget 'sometimes' is unknown; choose one of uniform, log-uniform, final, worst"),
        ("1000*d", "needs one dimension"),
        ("1000*n", r"'1000\*n' is not a budget"),
        ("-5", "'-5' is not a budget"),
        ("1000..100", "1000..100 is empty; give the smaller budget first"),
        ("100..", "'' is not a budget"),
        (
            "normal(300)",
            r"has 1 parameter; normal needs two, the mean and the standard deviation, as in normal\(300, 50\)$",
        ),
        ("norml(300, 5)", "distribution 'norml' .* did you mean 'normal'"),
        ("nan", "'nan' is unknown"),
    ],
)
def test_what_is_no_budget_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_budget(text)


@pytest.mark.parametrize("budget", [300, 300.0, np.int64(300), "300"])
def test_a_number_is_the_timepoint_nearest_in_proportion(budget):
    """300 is nearer to 100 on a linear axis, but 3 times 100 is less than 1,000 / 300."""
    assert preference_weights(budget, TIMES).tolist() == [0, 1, 0, 0]
    assert preference_weights(400, TIMES).tolist() == [0, 0, 1, 0]


def test_a_range_that_ends_at_timepoints_weighs_only_those_within():
    """The mean of a straight line over the range, which the trapezoidal rule has exactly."""
    weights = preference_weights((100, 10_000), TIMES)
    assert weights[0] == 0
    assert weights @ (2 * TIMES + 7) == pytest.approx(2 * (100 + 10_000) / 2 + 7, rel=1e-14)
    np.testing.assert_array_equal(weights, preference_weights("100..10000", TIMES))
    np.testing.assert_array_equal(weights, preference_weights(BudgetRange(100, 10_000), TIMES))
    assert preference_weights("log-uniform(10, 10000)", TIMES) == pytest.approx([1 / 6, 1 / 3, 1 / 3, 1 / 6])


def test_nothing_is_said_of_budgets_outside_the_timepoints():
    for budget, name in ((5, "budget 5"), (20_000, "budget 20000"), ("5..100", "the range 5..100")):
        with pytest.raises(ValueError, match=f"{name} lies outside the timepoints, which span 10 to 10000"):
            preference_weights(budget, TIMES)


def test_a_pair_that_may_be_weights_is_not_guessed():
    times = np.array([1.0, 10.0])
    assert preference_weights((0.0, 1.0), times).tolist() == [0, 1]
    with pytest.raises(ValueError, match=re.escape('give "2..5" for the range, or the weights as a list')):
        preference_weights((2, 5), times)
    assert preference_weights("1..10", times).tolist() == [0.5, 0.5]


@pytest.mark.parametrize("wrong", [True, None])
def test_what_is_no_preference_is_refused(wrong):
    with pytest.raises(TypeError, match="give a budget, a range"):
        preference_weights(wrong, TIMES)


def crossing(rng):
    """Values of a sprinter, a marathon runner and an all-rounder, who cross between 100 and 1,000."""
    ability = np.array([[3.0, 0.0, 2.0], [2.5, 0.5, 2.0], [0.5, 2.5, 2.0], [0.0, 3.0, 2.0]])
    return -(ability + rng.gumbel(size=(200, 1, 3)))


@pytest.fixture(scope="module")
def walk():
    """A posterior of a model over time, which predicts between timepoints."""
    rng = np.random.default_rng(5)
    counts = choice_counts(crossing(rng))
    return fit(counts, times=TIMES, names=("s", "m", "a"), model=RandomWalk(time_scale="log"), draws=500, rng=rng)


def test_a_model_over_time_answers_between_timepoints(walk):
    predicted = best(walk, 300, "expected", rng=np.random.default_rng(1))
    there = walk.at(300, rng=np.random.default_rng(1))
    assert {choice.members[0]: choice.expected for choice in predicted.choices} == pytest.approx(
        dict(zip(walk.names, there.mean()[0], strict=True))
    )
    assert predicted.preference == "300"
    nearest = best(walk, 300, "expected")
    assert nearest.preference == "300 (timepoint 100)"
    assert nearest.best.expected == pytest.approx(walk.mean()[1].max())
    assert best(walk, 1000, rng=np.random.default_rng(1)).choices == best(walk, 1000).choices


def test_the_worst_budget_mixes_portfolios():
    """Two of the same fail at one budget, one of each at none (eq. 36 with the lowest rating as value)."""
    ratings = np.array([[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]])
    posterior = SimpleNamespace(
        draws=ratings, times=np.array([1.0, 2.0]), names=("a", "b", "c"), joint=True, honest=True, tally=None
    )
    pair = best(posterior, "worst", "expected", size=2)
    assert pair.members == ("a", "b")
    assert pair.best.expected == pytest.approx(0.9)
    assert {choice.members: choice.expected for choice in pair.choices}["a", "a"] == pytest.approx(0.2)
    assert pair.preference == "worst"
    assert pair.choices == best(posterior, lambda r: r.min(axis=-1), "expected", size=2).choices


def test_selections_name_what_they_were_asked(walk):
    named = {
        "log-uniform": "log-uniform",
        (100, 1000): "100..1000",
        "100..1000": "100..1000",
        (1, 1, 0, 0): "weights",
        stats.norm(300, 50): "norm(300, 50)",
        stats.norm(10, 1): "norm(10, 1) (50% of it within the timepoints)",
        stats.lognorm(0.1, scale=300): "lognorm(0.1, scale=300)",
    }
    assert {preference: best(walk, preference).preference for preference in named} == named


def test_a_result_in_place_of_its_posterior_is_refused(walk):
    with pytest.raises(TypeError, match=r"posterior is a SimpleNamespace; pass its .posterior"):
        best(SimpleNamespace(posterior=walk))
    with pytest.raises(TypeError, match="posterior is a list; pass the posterior of a race's result"):
        best([1, 2])

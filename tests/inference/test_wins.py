"""Actual win probabilities against closed forms: Beta posteriors, shares of firsts, and who beats whom in a circle."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from polarbear.inference import IndependentDirichlet, RandomWalk, fit
from polarbear.rankings import choice_counts
from tests.inference.fits import drifting

DRAWS = 4000
CLOSE = 2.5 / np.sqrt(DRAWS)
"""The Kolmogorov–Smirnov statistic of so many draws is larger in one of 130,000 cases."""


def fitted(values, model=None, **options):
    return fit(choice_counts(values, **options), model=model, draws=DRAWS, rng=np.random.default_rng(1))


def alike(draws, law):
    """Whether draws follow a law."""
    return stats.kstest(draws, law.cdf).statistic < CLOSE


@pytest.mark.statistical
@pytest.mark.parametrize("model", [None, RandomWalk(), IndependentDirichlet(0.1)])
def test_of_two_that_never_tie_they_are_beta_at_each_timepoint_whatever_the_model(model):
    wins = np.random.default_rng(0).random((30, 4)) < [0.2, 0.5, 0.9, 1.0]
    values = np.stack([np.where(wins, 0.0, 1.0), np.full((30, 4), 0.5)], axis=2)
    values[:10, 1] = np.nan
    posterior = fitted(values, model)
    first = posterior.wins(0, 1)
    assert first.shape == (DRAWS, 4)
    np.testing.assert_allclose(first + posterior.wins(1, 0), 1.0, atol=1e-6)
    np.testing.assert_allclose(posterior.first(), np.stack([first, 1 - first], axis=2), atol=1e-6)
    for t in range(4):
        known = wins[10:, t] if t == 1 else wins[:, t]
        assert alike(first[:, t], stats.beta(1 + known.sum(), 1 + (~known).sum()))


@pytest.mark.statistical
def test_a_tie_is_half_a_win_for_both():
    values = np.repeat([[[0.0, 1.0]], [[1.0, 0.0]], [[1.0, 1.0]]], [9, 4, 12], axis=0)
    won, _, tied = np.random.default_rng(2).dirichlet([10, 5, 12], 200_000).T
    found = fitted(values).wins(0, 1)[:, 0]
    assert stats.ks_2samp(found, won + tied / 2).statistic < CLOSE * 1.05


@pytest.mark.statistical
def test_first_is_dirichlet_and_ratings_need_not_agree():
    """The first is best on three instances of five and worst on the others, which no rating says."""
    values = np.repeat([[[0.0, 1.0, 2.0]], [[2.0, 1.0, 0.0]], [[2.0, 0.0, 1.0]]], [30, 10, 10], axis=0)
    posterior = fitted(values)
    first = posterior.first()[:, 0]
    for k, firsts in enumerate((30, 10, 10)):
        assert alike(first[:, k], stats.beta(1 + firsts, 2 + 50 - firsts))
    assert abs(posterior.draws[:, 0, 0].mean() - 0.6) > 0.08
    two = posterior.first(["algorithm 2", "algorithm 1"])[:, 0]
    assert alike(two[:, 0], stats.beta(11, 41))


@pytest.mark.statistical
def test_algorithms_may_beat_each_other_in_a_circle():
    values = np.tile([[[0.0, 1.0, 2.0]], [[1.0, 2.0, 0.0]], [[2.0, 0.0, 1.0]]], (40, 1, 1))
    better = fitted(values).known_wins.pairwise_probabilities()[0]
    for winner, loser in ((0, 1), (1, 2), (2, 0)):
        assert better[winner, loser] > 0.999
        np.testing.assert_allclose(better[winner, loser] + better[loser, winner], 1.0)


@pytest.mark.statistical
def test_what_is_only_repeated_says_no_more():
    values = np.repeat(drifting(timepoints=1, instances=25), 30, axis=1)
    wins = fitted(values).known_wins
    better, dominates = wins.pairwise_probabilities(), wins.dominance_probabilities()
    np.testing.assert_allclose(better, better[:1].repeat(30, axis=0))
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(dominates[off], better[0][off])
    assert (np.diag(dominates) == 0).all()


def test_an_elimination_is_false_unless_another_one_beats_it_at_all_timepoints():
    wins = fitted(drifting(timepoints=3, instances=20)).known_wins
    of_two = fitted(drifting(timepoints=3, instances=20)[:, :, [0, 3]]).known_wins
    np.testing.assert_allclose(of_two.false_elimination([0], [0, 1]), 1 - of_two.dominance_probabilities()[1, 0])
    by_one, by_all = wins.false_elimination([0], [3]), wins.false_elimination([0], [0, 1, 2, 3])
    assert by_one == pytest.approx(1 - wins.dominance_probabilities()[3, 0])
    assert by_all <= by_one
    assert wins.false_elimination([0, 3], [0, 1, 2, 3]) >= max(by_all, wins.false_elimination([3], [0, 1, 2]))


@pytest.mark.statistical
@pytest.mark.parametrize(
    "options", [{"groups": np.tile(np.arange(20), 3)}, {"weights": np.repeat([3.0, 0.0], [20, 40])}]
)
def test_groups_and_weights_count_as_they_say(options):
    """Three copies of an instance in a group, or a weight of three: three times a win, but one draw."""
    wins = np.arange(20) < 13
    values = np.tile(np.stack([np.where(wins, 0.0, 1.0), np.full(20, 0.5)], axis=1)[:, np.newaxis], (3, 1, 1))
    rng = np.random.default_rng(4)
    won, lost = (3 * rng.gamma(number, size=100_000) + rng.gamma(1, size=100_000) for number in (13, 7))
    found = fitted(values, **options).wins(0, 1)[:, 0]
    assert stats.ks_2samp(found, won / (won + lost)).statistic < CLOSE * 1.05


@pytest.mark.statistical
def test_equivalence_and_log_odds_are_of_the_same_draws():
    posterior = fitted(drifting(instances=40))
    share = posterior.wins(1, 2)
    near = posterior.known_wins.equivalence_probabilities(0.1)
    np.testing.assert_allclose(near[:, 1, 2], (np.abs(share - 0.5) <= 0.1).mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(near[:, 2, 1], near[:, 1, 2])
    np.testing.assert_allclose(posterior.known_wins.log_ratio(1, 2), np.log(share / (1 - share)), atol=1e-4)


def test_bottom_groups_of_unknown_order_are_no_ties():
    values = np.array([[[0.0, np.inf, np.inf]]] * 10)
    posterior = fitted(values, tail="unordered")
    assert posterior.wins(0, 1).mean() > 0.85
    assert abs(posterior.wins(1, 2).mean() - 0.5) < 0.05
    prior = fitted(np.full((1, 1, 3), np.nan))
    np.testing.assert_allclose(posterior.wins(1, 2).std(), prior.wins(1, 2).std(), rtol=0.1)


def test_where_instances_are_not_known_the_mend_is_named():
    counts = replace(choice_counts(drifting()), instances=None)
    posterior = fit(counts, rng=np.random.default_rng(0))
    for ask in (lambda: posterior.wins(0, 1), posterior.first):
        with pytest.raises(ValueError, match=r"does not know the ranking of each instance.*choice_counts"):
            ask()
    with pytest.raises(ValueError, match="no algorithm 'X'"):
        fitted(drifting()).wins("X", 0)

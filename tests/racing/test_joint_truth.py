"""Whole races with joint elimination on truths from the prior: eliminations are right as often as they claim."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.joint import ALPHA, race
from tests import statistical

ERROR_RATE = 1e-3
"""Of a test below in one replicate."""


pytestmark = [pytest.mark.slow, pytest.mark.statistical, pytest.mark.parametrize("case", ["process", "walk"])]


@cache
def raced(case, replicate):
    return [race(case, number) for number in range(60)]


def test_the_first_elimination_is_wrong_at_most_as_often_as_alpha_allows(case):
    """Races are independent and the moment of the first elimination is a stopping time, so errors are binomial."""
    outcomes = raced(case, statistical.replicate)
    first = [outcome.first_wrong for outcome in outcomes if outcome.first_wrong is not None]
    assert len(first) > 30
    assert sum(first) <= binom.ppf(1 - ERROR_RATE, len(first), 1 - ALPHA)


def test_eliminations_are_wrong_as_often_as_the_posterior_says(case):
    """Eliminations of a race depend on each other, races do not: the excess per race is tested (3.3 sd)."""
    outcomes = raced(case, statistical.replicate)
    excess = np.array([sum(outcome.wrong) - sum(outcome.believed) for outcome in outcomes])
    spread = [np.sqrt(len(one.believed) * sum(p * (1 - p) for p in one.believed)) for one in outcomes]
    assert abs(excess.sum()) <= 3.3 * np.linalg.norm(spread)


def test_a_false_elimination_is_as_frequent_as_the_last_posterior_says(case):
    """P(at least one true member eliminated), averaged over races, against how often it was so (3.3 sd)."""
    outcomes = raced(case, statistical.replicate)
    believed = np.array([outcome.believed_false for outcome in outcomes])
    false = sum(outcome.false for outcome in outcomes)
    assert abs(false - believed.sum()) <= 3.3 * np.sqrt(np.sum(believed * (1 - believed)))


def test_the_recovered_set_is_the_truth_up_to_equivalents(case):
    """Every race makes a few decisions, each wrong with probability up to 1 − α; most races make no wrong one."""
    outcomes = raced(case, statistical.replicate)
    assert sum(not outcome.explained for outcome in outcomes) <= binom.ppf(1 - ERROR_RATE, len(outcomes), 1 - ALPHA)
    assert np.mean([outcome.finished for outcome in outcomes]) > 0.8

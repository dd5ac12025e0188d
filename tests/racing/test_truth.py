"""Whole races against truths drawn from the model's prior: what is declared is right as often as it claims."""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.truth import ALPHA, measure
from tests import statistical

ERROR_RATE = 1e-3
"""Of a test below in one replicate."""


@cache
def measured(replicate):
    return measure(200)


@pytest.mark.statistical
@pytest.mark.slow
def test_the_first_dominance_a_race_declares_is_wrong_at_most_as_often_as_alpha_allows():
    """Races are independent and the moment of the first declaration is a stopping time, so errors are binomial."""
    tally = measured(statistical.replicate)
    assert len(tally.first) > 150
    assert sum(tally.first) <= binom.ppf(1 - ERROR_RATE, len(tally.first), 1 - ALPHA)


@pytest.mark.statistical
@pytest.mark.slow
def test_of_all_dominances_declared_at_most_one_minus_alpha_are_wrong():
    """Declarations within a race depend on each other, races do not: the excess per race is tested (normal, 3.1 sd)."""
    tally = measured(statistical.replicate)
    declared, wrong = np.array(tally.declared, dtype=float).T
    excess = wrong - (1 - ALPHA) * declared
    assert excess.mean() <= 3.1 * excess.std() / np.sqrt(excess.size)


@pytest.mark.statistical
@pytest.mark.slow
def test_false_eliminations_are_as_frequent_as_the_posterior_says():
    """The posterior's own probability that each elimination is false, summed, against how many were (3.3 sd)."""
    tally = measured(statistical.replicate)
    believed = np.array(tally.believed)
    spread = np.sqrt(np.sum(believed * (1 - believed)))
    assert abs(sum(tally.eliminated) - believed.sum()) <= 3.3 * spread


@pytest.mark.statistical
@pytest.mark.slow
def test_the_recovered_set_is_the_truth_up_to_equivalents():
    """Every race makes a few decisions, each wrong with probability up to 1 − α; most races make no wrong one."""
    tally = measured(statistical.replicate)
    assert tally.unexplained <= binom.ppf(1 - ERROR_RATE, tally.races, 1 - ALPHA)
    assert tally.finished > 0.8 * tally.races

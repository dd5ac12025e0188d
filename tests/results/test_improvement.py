"""Whether a new optimizer is better than the old one."""

import numpy as np
import pytest

import polarbear as pb
from tests.study.entrants import crawl, descend, guess, sphere

SETTINGS = {"on": (sphere, -1, 1), "times": (5, 60), "dimension": 2, "epsilon": 0.15, "draws": 500}


def test_a_better_optimizer_improves_and_a_worse_one_does_not():
    better = pb.improves(descend, crawl, **SETTINGS)
    worse = pb.improves(crawl, descend, **SETTINGS)
    assert better
    assert not worse
    assert better.probability > 0.95 > 0.05 > worse.probability
    assert repr(better).startswith("<the new optimizer is better: P = ")
    assert "not known to be better" in repr(worse)


def test_the_probability_is_that_of_the_higher_value_under_the_preference():
    found = pb.improves(guess, descend, budget=(10, 60), instances=8, **SETTINGS)
    values = pb.select.preference_values(found.result.posterior, "10..60")
    assert found.result.posterior.names == ("new", "old")
    assert found.probability == pytest.approx(np.mean(values[:, 0] >= values[:, 1]))
    assert found.preference == "10..60"
    assert len(found.result.rounds[:-1]) == 0 or found.result.rounds[-2].instances < 8


def test_the_same_optimizer_is_no_improvement_and_the_answer_repeats_itself():
    first = pb.improves(guess, guess, instances=8, **SETTINGS)
    again = pb.improves(guess, guess, instances=8, **SETTINGS)
    assert not first
    assert first.probability == again.probability


@pytest.mark.parametrize("probability", [0, 1, 95])
def test_impossible_probabilities_are_refused(probability):
    with pytest.raises(ValueError, match="probability is"):
        pb.improves(guess, descend, probability=probability, **SETTINGS)

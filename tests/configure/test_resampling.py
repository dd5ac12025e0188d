"""Resampled comparisons of configurations, against normal theory and by hand."""

from functools import partial
from itertools import count

import numpy as np
import pytest
from scipy import stats

from polarbear.configure import contests
from polarbear.configure.resampling import decide_pairs, race_samples, sample_sizes


def normal_losses(means, size=4000, deviation=1.0):
    """Losses whose means and standard deviations are exactly these."""
    scores = stats.norm.ppf((np.arange(size) + 0.5) / size)
    return np.add.outer(np.array(means), deviation * scores / scores.std())


@pytest.mark.statistical
def test_the_chosen_one_is_lucky_and_dearer_as_normal_theory_says():
    """Two equal configurations: the lesser of two means is 1/√(π n) below their own, σ = 1."""
    found = sample_sizes(normal_losses([2.0, 2.0]), sizes=(4, 25), repeats=20_000, rng=np.random.default_rng(0))
    expected = 1 / np.sqrt(np.pi * np.array([4, 25])) / 2
    np.testing.assert_allclose(found.underestimation.mean(axis=1), expected, rtol=0.04)
    assert (found.loss == 0).all()
    far = sample_sizes(normal_losses([1.0, 2.0]), sizes=(4,), repeats=20_000, rng=np.random.default_rng(1))
    mistaken = stats.norm.sf(1 / np.sqrt(2 / 4))
    assert far.loss.mean() == pytest.approx(mistaken, abs=4 * np.sqrt(mistaken / 20_000))


@pytest.mark.statistical
def test_decisions_between_normal_losses_are_those_of_normal_theory():
    """By means P(wrong) = Φ(-δ √(n/2)), for normal samples the same; the t-test has its power."""
    decisions = decide_pairs(normal_losses([1.5, 1.0]), size=15, repeats=20_000, rng=np.random.default_rng(2))
    wrong = stats.norm.sf(0.5 / np.sqrt(2 / 15))
    for name in ("means", "means of normal samples"):
        assert decisions.wrong[name][0] == pytest.approx(wrong, abs=4 * np.sqrt(wrong / 20_000))
        assert decisions.right[name][0] == pytest.approx(1 - decisions.wrong[name][0])
    power = stats.nct.sf(stats.t.ppf(0.95, 28), 28, 0.5 / np.sqrt(2 / 15))
    assert decisions.right["t-test"][0] == pytest.approx(power, abs=0.02)
    assert decisions.wrong["t-test"][0] < 0.003 + 4 * np.sqrt(0.003 / 20_000)
    assert decisions.difference.tolist() == pytest.approx([0.5])


def test_races_on_samples_count_what_they_sample_and_find_the_best():
    losses = np.add.outer(np.arange(9.0), np.array([0.0, 0.01]))
    halving = partial(contests.keep_share, eta=3)
    rng = np.random.default_rng(0)
    assert race_samples(losses, halving, (2 * 3**rung for rung in count()), rng=rng) == (0, 9 * 2 + 3 * 4)
    assert race_samples(losses, contests.keep_all, (5,), rng=rng) == (0, 45)
    assert race_samples(losses, contests.keep_all, count(1), most=40, rng=rng) == (0, 36)
    credible = partial(contests.keep_credible, alpha=0.95, rng=rng)
    best, sampled = race_samples(losses, credible, count(2), rng=rng)
    assert best == 0
    assert sampled < 9 * 20
    with pytest.raises(ValueError, match="samples more than 10 losses"):
        race_samples(losses, contests.keep_all, (5,), most=10, rng=rng)
    with pytest.raises(ValueError, match=r"shape \(3,\); they must be finite"):
        race_samples([1.0, 2.0, 3.0], contests.keep_all, (5,), rng=rng)
    with pytest.raises(ValueError, match="mean loss -1"):
        sample_sizes([[-1.0, -1.0], [1.0, 2.0]], rng=rng)
    with pytest.raises(ValueError, match="mean loss 0; it must be above 0"):
        decide_pairs([[0.0, 0.0], [1.0, 2.0]], rng=rng)


@pytest.mark.slow
@pytest.mark.statistical
def test_a_credible_race_costs_less_than_halving_at_equal_loss():
    """On 33 skewed populations; of 60 races each the mean loss is the lower with the fewer samples."""
    rng = np.random.default_rng(5)
    losses = np.exp(rng.normal(0, 0.6, (33, 200)) + rng.normal(0, 0.2, 33)[:, None])
    truth = losses.mean(axis=1)

    def raced(rule, steps):
        ends = [race_samples(losses, rule, steps(), rng=np.random.default_rng(seed)) for seed in range(60)]
        return np.mean([truth[best] / truth.min() - 1 for best, _ in ends]), np.mean([spent for _, spent in ends])

    credible = raced(partial(contests.keep_credible, alpha=0.95, rng=rng), lambda: count(5))
    halving = raced(partial(contests.keep_share, eta=2), lambda: (5 * 2**rung for rung in count()))
    assert credible[1] < halving[1]
    assert credible[0] < halving[0] + 0.03

"""The distributions of the statistics, and the verdict: its level, its power, and what it must not depend on."""

import numpy as np
import pytest
from scipy import stats

from polarbear import bias
from polarbear.bias.judge import level_below, verdict_scores
from polarbear.bias.null import EXACT, null_distribution
from polarbear.bias.uniformity import STATISTICS, uniformity_statistics

SAMPLES = 20_000


def test_critical_values_of_order_statistics_are_exact():
    found = bias.critical_values(40, 0.05, samples=200)
    assert found["min"] == (-np.inf, pytest.approx(1 - 0.05 ** (1 / 40), rel=1e-9))
    assert found["max"] == (pytest.approx(0.05 ** (1 / 40), rel=1e-9), np.inf)
    low = found["range"][0]
    assert 40 * low**39 - 39 * low**40 == pytest.approx(0.05, rel=1e-9)


@pytest.mark.statistical(rate=0.01)
def test_p_values_are_uniform_for_uniform_samples():
    """Kolmogorov-Smirnov for each of 36 statistics at level 0.01 / 36, on samples that the reference has not seen."""
    values = uniformity_statistics(np.random.default_rng(2).random((2_000, 30)))
    p_values = null_distribution(30, SAMPLES).p_values_of(values)
    assert min(stats.ks_1samp(p, stats.uniform.cdf).pvalue for p in p_values) > 0.01 / 36


def test_critical_values_and_p_values_agree():
    alpha, values = 0.03, uniformity_statistics(np.random.default_rng(3).random((500, 30)))
    p_values = null_distribution(30, SAMPLES).p_values_of(values)
    bounds = bias.critical_values(30, alpha, samples=SAMPLES)
    for row, (low, high) in enumerate(bounds.values()):
        clearly = abs(p_values[row] - alpha) > 2e-4  # what lies between two simulated values
        rejected = (values[row] < low) | (values[row] > high)
        np.testing.assert_array_equal(rejected[clearly], p_values[row][clearly] < alpha)
    assert set(EXACT) < set(STATISTICS)


def test_the_score_is_the_level_from_which_benjamini_and_yekutieli_reject_in_a_tenth_of_the_dimensions():
    rng = np.random.default_rng(4)
    for d in (1, 4, 10, 11, 30):
        p_values = rng.random((3, 50, d)) ** 1.2
        scores = verdict_scores(p_values)
        adjusted = stats.false_discovery_control(p_values, axis=-1, method="by")
        for level in (0.01, 0.1, 0.5):
            counts = 10 * (adjusted <= level).sum(axis=-1) >= d
            np.testing.assert_array_equal(scores <= level, counts.any(axis=0))
        assert d > 10 or 0 < np.mean(scores <= 0.5) < 1


@pytest.mark.parametrize(("alpha", "share"), [(0.3, 0.0), (0.5, 0.4), (0.4, 0.4), (0.75, 0.7)])
def test_equal_scores_never_lift_the_share_of_biased_uniform_points_above_alpha(alpha, share):
    """As many scores lie at one value as there are uniform samples to count; none of them may count, or all."""
    scores = np.repeat([0.3, 0.1, 0.2], [30, 40, 30])
    assert np.mean(scores <= level_below(scores, alpha)) == share


def false_positives(n, d, sets, alpha=0.01):
    """How many of so many uniform sets of points are biased, and how often a test rejects in 2, and in 3 dimensions."""
    null = null_distribution(n, 100_000)
    level = bias.judge(np.random.default_rng(0).random((n, d)), alpha=alpha, samples=len(null.ordered[0])).level
    biased, twice, thrice, rng = 0, 0, 0, np.random.default_rng([n, d])
    for _ in range(sets // 100):
        p_values = null.p_values_of(uniformity_statistics(rng.random((100 * d, n)))).reshape(36, 100, d)
        biased += int((verdict_scores(p_values) <= level).sum())
        most = (stats.false_discovery_control(p_values, axis=-1, method="by") <= level).sum(axis=-1)
        twice, thrice = twice + int((most == 2).sum()), thrice + int((most >= 3).sum())
    return biased, twice, thrice


@pytest.mark.statistical(rate=0.01)
@pytest.mark.parametrize("d", [1, 3, 10])
def test_of_uniform_points_at_most_a_share_alpha_is_biased(d):
    """At α = 0.05, 1,000 sets, against the 99.7 % point of the binomial with the error of the level itself."""
    biased, _, _ = false_positives(30, d, 1_000, alpha=0.05)
    assert biased <= 50 + 2.75 * np.sqrt(50 * 0.95 * 1.1)


@pytest.mark.slow
@pytest.mark.statistical(rate=0.01)
def test_false_positives_in_10_000_uniform_samples_of_30_dimensions():
    """Thesis, section 3.3: a test rejects in two dimensions 92 times, in three 2 times, of 360,000."""
    biased, twice, thrice = false_positives(100, 30, 10_000)
    assert biased <= stats.binom(10_000, 0.01).ppf(0.99)
    assert thrice <= twice < 92


@pytest.fixture(scope="module")
def centred():
    return np.clip(np.random.default_rng(5).normal(0.5, 0.15, (50, 6)), 0, 1)


def test_a_verdict_does_not_depend_on_order_mirroring_or_the_box(centred):
    rng = np.random.default_rng(6)
    reference = bias.judge(centred, samples=SAMPLES)
    assert reference.biased
    assert reference.dimension == 6
    columns = rng.permutation(6)
    permuted = bias.judge(rng.permutation(centred)[:, columns], samples=SAMPLES)
    np.testing.assert_array_equal(permuted.rejected, reference.rejected[:, columns])
    lower, upper = np.array([-5, 0, 1, 1, 1, 1]), np.array([5, 1, 2, 3, 4, 5])
    scaled = bias.judge(lower + centred * (upper - lower), lower=lower, upper=upper, samples=SAMPLES)
    np.testing.assert_allclose(scaled.p_values, reference.p_values, atol=1e-3)
    assert str(reference).startswith("Structurally biased: ")
    assert "50 final points in 6 dimensions" in str(reference)


def _spikes(rng):
    return rng.integers(0, 26, (100, 10)) / 25


def _bounds(rng):
    return rng.beta(0.5, 0.5, (100, 10))


def _clusters(rng):
    return (rng.integers(0, 3, (100, 10)) / 2 * 0.8 + 0.1 + rng.normal(0, 0.03, (100, 10))).clip(0, 1)


def _cut(rng):
    return 0.2 + 0.8 * rng.random((100, 10))


@pytest.mark.parametrize("points", [_spikes, _bounds, _clusters, _cut])
def test_strong_bias_is_found(points):
    found = bias.judge(points(np.random.default_rng(1)), samples=SAMPLES)
    assert found.biased
    assert found.p_value == pytest.approx(5e-5, rel=0.01)
    assert found.counts.any()


def test_a_few_biased_dimensions_among_many_are_not_enough():
    """In 30 dimensions a test has to reject in three."""
    points = np.random.default_rng(7).random((50, 30))
    points[:, :2] = 0.5
    assert not bias.judge(points, samples=SAMPLES).biased
    points[:, 2] = 0.5
    found = bias.judge(points, samples=SAMPLES)
    assert found.biased
    assert found.rejected[found.counts][:, :3].all()


@pytest.mark.parametrize(
    ("points", "options", "complaint"),
    [
        (np.zeros(20), {}, r"shape \(20,\); give \(n, d\)"),
        (np.zeros((9, 2)), {}, "at least 10 runs"),
        (np.full((20, 2), 1.5), {}, r"points\[0, 0\] is 1.5, outside the box from 0.0 to 1.0"),
        (np.full((20, 2), np.nan), {}, r"points\[0, 0\] is nan"),
        (np.zeros((20, 2)), {"alpha": 0.0}, "alpha is 0"),
        (np.zeros((20, 2)), {"samples": 5}, "samples is 5"),
    ],
)
def test_wrong_points_are_named(points, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        bias.judge(points, **options)

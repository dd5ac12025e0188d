"""Scenarios: how many there are, and that samples have the distributions they are named after."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from polarbear.bias.scenarios import KINDS, Scenario, across_all, per_dimension


def test_there_are_as_many_as_in_the_thesis():
    """Section 3.3: 194 and 249; 193 biased ones x 1,500 x 4 are its 1,158,000 biased samples."""
    assert (len(per_dimension()), len(across_all())) == (194, 249)
    assert Counter(s.name for s in per_dimension())["noisy spikes"] == 48
    assert {s.name for s in per_dimension()} == {"uniform", *KINDS}
    assert set(KINDS.values()) == {"centre", "bounds", "gaps", "clusters", "discretization"}


def test_all_lie_in_the_box_and_repeat_themselves():
    for scenario in across_all():
        x = scenario.sample(30, 3, np.random.default_rng(1))
        assert x.shape == (30, 3)
        assert x.min() >= 0
        assert x.max() <= 1
        np.testing.assert_array_equal(x, scenario.sample(30, 3, np.random.default_rng(1)))


@pytest.mark.statistical(rate=0.01)
@pytest.mark.parametrize("distribution", [stats.norm, stats.cauchy])
def test_what_is_cut_has_the_distribution_of_what_is_drawn_anew_until_it_lies_in_the_box(distribution):
    name = {"norm": "normal", "cauchy": "Cauchy"}[distribution.name]
    mu, sigma = 0.6, 0.3
    x = Scenario(name, {"mu": mu, "sigma": sigma}).sample(4_000, 1, np.random.default_rng(2))[:, 0]
    drawn = distribution.rvs(mu, sigma, size=20_000, random_state=3)
    drawn = drawn[(drawn > 0) & (drawn < 1)]
    assert stats.ks_2samp(x, drawn).pvalue > 0.005
    inverse = Scenario(f"inverse {name}", {"mu": mu, "sigma": sigma}).sample(4_000, 1, np.random.default_rng(4))[:, 0]
    turned = np.where(inverse > mu, 1 + mu - inverse, mu - inverse)
    assert stats.ks_2samp(turned, drawn).pvalue > 0.005
    assert np.abs(inverse - 0.5).mean() > np.abs(x - 0.5).mean()


def test_spikes_lie_on_a_grid_and_noisy_ones_beside_it():
    rng = np.random.default_rng(5)
    x = Scenario("spikes", {"steps": 25}).sample(2_000, 2, rng)
    np.testing.assert_allclose(25 * x, np.round(25 * x), atol=1e-9)
    noisy = Scenario("noisy spikes", {"steps": 25, "sigma": 0.01}).sample(2_000, 2, rng)
    assert [len(np.unique(column)) for column in noisy.T] == [26, 26]
    off = np.abs(25 * noisy - np.round(25 * noisy))
    assert off.mean() > 0
    assert set(np.unique(noisy[:, 0])) != set(np.unique(noisy[:, 1]))


@pytest.mark.parametrize("alike", [False, True])
def test_gaps_and_clusters_lie_where_they_do_in_each_dimension_or_alike_in_all(alike):
    gaps = Scenario("gaps", {"centres": 1, "radius": 0.05}, alike).sample(3_000, 4, np.random.default_rng(6))
    ends = np.sort(gaps, axis=0)
    widest = np.argmax(np.diff(ends, axis=0, prepend=0.0, append=1.0), axis=0)
    middles = [(np.append(0, c)[w] + np.append(c, 1)[w]) / 2 for c, w in zip(ends.T, widest, strict=True)]
    assert (np.ptp(middles) < 0.01) == alike
    clusters = Scenario("clusters", {"centres": 1, "sigma": 0.01}, alike).sample(500, 4, np.random.default_rng(7))
    assert clusters.std(axis=0).max() < 0.02
    assert (np.ptp(clusters.mean(axis=0)) < 0.01) == alike


def test_gaps_that_leave_no_room_are_named():
    with pytest.raises(ValueError, match=r"gaps with .*'radius': 1.0.* leaves no room .* take fewer centres"):
        Scenario("gaps", {"centres": 1, "radius": 1.0}).sample(5, 1, np.random.default_rng(0))

"""How many more instances it would take, and how many the next round has."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from polarbear.racing.forecast import OpenPair, batch_by_forecast, open_pairs, plan_instances


def forecast(
    centre, spread, shared, *, alpha=0.95, epsilon=0.1, use_crossing=False, open_at=None, what="more_instances"
):
    """More instances for two algorithms whose log-ratio is normal; scalars or one entry per timepoint."""
    centre, spread = np.atleast_1d(centre), np.atleast_1d(spread)
    quantiles = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    ratio = centre + spread * quantiles[:, np.newaxis]
    posterior = SimpleNamespace(
        names=("a", "b"), times=np.arange(1.0, centre.size + 1), log_ratios=lambda: lambda i, j: ratio, draws=ratio
    )
    resolved = np.broadcast_to(np.eye(2, dtype=bool), (centre.size, 2, 2)).copy()
    if open_at is not None:
        resolved[[t for t in range(centre.size) if t not in open_at]] = True
    shared = np.broadcast_to(np.atleast_1d(np.array(shared, float))[:, None, None], (centre.size, 2, 2))
    (pair,) = open_pairs(
        posterior,
        posterior.names,
        posterior.times,
        resolved,
        shared,
        alpha=alpha,
        epsilon=epsilon,
        use_crossing=use_crossing,
    )
    return getattr(pair, what)


class TestForecast:
    def test_dominance_needs_the_spread_to_fall_below_the_quantile(self):
        """P(N(0.5, 0.5²/g) > 0) = 0.95 for g = 1.645² = 2.706: 1.706 times the shared instances more."""
        assert forecast(0.5, 0.5, shared=100, epsilon=0.0) == np.ceil(170.55)

    def test_equivalence_is_two_sided(self):
        """P(|N(0, s²)| < log(0.6/0.4)) = 0.95 for s = 0.4055/1.96."""
        rope = np.log(0.6 / 0.4)
        assert forecast(0.0, rope, shared=100) == pytest.approx(100 * (1.959964**2 - 1), abs=1.5)

    def test_only_instances_that_both_ran_on_count(self):
        assert forecast(0.5, 0.5, shared=8, epsilon=0.0) == np.ceil(8 * 1.7055)

    def test_the_last_open_timepoint_decides_under_strict_resolution(self):
        times = forecast([0.5, 0.25], [0.5, 0.5], shared=[100, 100], epsilon=0.0)
        assert times == pytest.approx(100 * (4 * 2.7055 - 1), rel=1e-3)
        assert forecast([0.5, 0.25], [0.5, 0.5], shared=[100, 100], epsilon=0.0, open_at=[0]) == 171

    def test_a_crossing_may_be_nearer_than_the_last_timepoint(self):
        arguments = {"centre": [0.5, 0.01, -0.5], "spread": [0.5] * 3, "shared": [100] * 3, "epsilon": 0.0}
        assert forecast(**arguments) > 10_000
        assert forecast(**arguments, use_crossing=True) == 171

    def test_runs_may_be_shorter_once_the_last_open_timepoint_is_decided(self):
        arguments = {"centre": [0.01, 0.5, 0.4], "spread": [0.5] * 3, "shared": [100] * 3, "epsilon": 0.0}
        assert forecast(**arguments, open_at=[0, 1], what="until_shorter") == 171
        assert forecast(**arguments, open_at=[0, 1]) > 10_000
        crossing = {**arguments, "centre": [0.5, -0.5, 0.01]}
        assert forecast(**crossing, use_crossing=True, what="until_shorter") == 171

    def test_no_number_is_in_sight_for_equals_without_a_region_of_equivalence(self):
        assert forecast(0.0, 0.5, shared=100, epsilon=0.0) > 1e12


def planned(centre, spread, shared, *, decided=(), dominated=(), use_crossing=False, epsilon=0.1):
    """Instances of a fixed plan for two algorithms whose log-ratio is normal at each timepoint."""
    quantiles = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    ratio = np.array(centre) + np.array(spread) * quantiles[:, np.newaxis]
    beliefs = SimpleNamespace(log_ratios=lambda: lambda i, j: ratio if (i, j) == (0, 1) else -ratio)
    shared = np.broadcast_to(np.array(shared, float)[:, None, None], (len(centre), 2, 2))
    limits = {"alpha": 0.95, "epsilon": epsilon, "use_crossing": use_crossing}
    return plan_instances(beliefs, decided, dominated, shared, **limits)


class TestPlan:
    def test_it_takes_as_many_as_the_least_sure_timepoint(self):
        """z = 2 and 4 after 100 instances: 1.645 takes (1.645/2)² of them at the first timepoint."""
        assert planned([1.0, 2.0], [0.5, 0.5], [100, 100], decided=[(0, 1)]) == np.ceil(100 * (1.644854 / 2) ** 2)
        assert planned([1.0, 2.0], [0.5, 0.5], [100, 800], decided=[(0, 1)]) == np.ceil(800 * (1.644854 / 4) ** 2)

    def test_a_crossing_is_enough_where_it_resolves(self):
        arguments = {"centre": [1.0, 0.01, -1.0], "spread": [0.5] * 3, "shared": [100] * 3, "epsilon": 0.0}
        assert planned(**arguments, decided=[(0, 1)]) > 10_000
        assert planned(**arguments, decided=[(0, 1)], use_crossing=True) == 68

    def test_the_eliminated_have_to_be_worse_at_every_timepoint(self):
        assert planned([1.0, 2.0], [0.5, 0.5], [100, 100], dominated=[(0, 1)]) == 68
        assert planned([1.0, 2.0], [0.5, 0.5], [100, 100], dominated=[(1, 0)]) == np.inf
        assert planned([1.0, -2.0], [0.5, 0.5], [100, 100], dominated=[(0, 1)], use_crossing=True) == np.inf


def test_a_round_has_a_quarter_of_the_instances_that_the_next_change_takes():
    def pair(until_shorter):
        return OpenPair("a", "b", 1.0, 9.0, np.inf, until_shorter)

    def batch(*pairs):
        return batch_by_forecast(pairs, smallest=8, largest=128)

    assert batch(pair(200.0), pair(81.0)) == 21
    assert batch(pair(3.0)) == batch() == 8
    assert batch(pair(np.inf)) == batch(pair(1e300)) == 128

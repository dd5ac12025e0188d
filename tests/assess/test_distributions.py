import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear.assess.distributions import pool, runtime_distribution
from polarbear.assess.runtimes import first_hits, instance_weights
from polarbear.assess.summary import geometric_mean, geometric_mean_ratio

MISSED = np.inf


def random_trials(seed, runs=6, targets=4, missing=0.3):
    """Runtimes that grow with the difficulty of the target, some of them missed, and evaluations spent."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(1, 500, (runs, targets)), axis=1).astype(float)
    times[np.maximum.accumulate(rng.random(times.shape) < missing, axis=1)] = MISSED
    return times, rng.integers(500, 1000, runs)


@given(st.integers(0, 2**31))
def test_without_restarts_it_is_the_proportion_of_measured_runtimes(seed):
    times, spent = random_trials(seed)
    found = runtime_distribution(times, spent, restarts=0)
    budgets = np.array([0, 1, 10, 100, 250, 499, 10**6])
    np.testing.assert_allclose(found.at(budgets), [(times <= budget).mean() for budget in budgets])
    assert found.solved == pytest.approx(np.isfinite(times).mean())
    assert not found.simulated.any()


@given(st.integers(0, 2**31))
def test_restarts_solve_every_target_reached_once(seed):
    times, spent = random_trials(seed)
    found = runtime_distribution(times, spent)
    plain = runtime_distribution(times, spent, restarts=0)
    assert found.solved == pytest.approx(np.isfinite(times).any(axis=0).mean())
    assert (np.diff(found.proportions) >= 0).all()
    assert (np.diff(found.runtimes) >= 0).all()
    shortest_failure = spent[~np.isfinite(times).all(axis=1)].min(initial=10**6)
    if plain.solved:
        within = found.runtimes < shortest_failure
        assert not found.simulated[within].any(), "a restarted runtime holds at least one whole unsuccessful trial"


def test_one_run_with_even_targets_recovers_its_convergence_graph_upside_down():
    """Section VI-A, item 1: the proportion at a budget is the proportion of targets above the best value."""
    values = 10.0 ** -np.cumsum(np.random.default_rng(1).exponential(0.05, 200))
    targets = 10.0 ** (-np.arange(0, 100) / 10)
    times = first_hits(np.arange(1, 201), values, targets)[None, :]
    found = runtime_distribution(times, [200], restarts=0)
    for budget in (1, 17, 60, 200):
        assert found.at(budget) == pytest.approx((targets >= values[budget - 1]).mean())


def test_marks_of_unsuccessful_trials():
    times = np.array([[10.0, 20.0], [15.0, MISSED], [12.0, MISSED], [90.0, 95.0]])
    found = runtime_distribution(times, [100, 50, 80, 100])
    assert found.unsuccessful.tolist() == [50, 80]
    assert found.cross == (65.0, pytest.approx(float(found.at(65))))
    assert found.last_unsuccessful == (80.0, pytest.approx(float(found.at(80))))
    assert found.solved == pytest.approx(1.0)
    assert found.simulated.any()
    solved = runtime_distribution(times[:, :1], [100, 50, 80, 100])
    assert solved.cross is None
    assert solved.last_unsuccessful is None


def test_with_one_budget_all_beyond_the_cross_is_simulated():
    rng = np.random.default_rng(3)
    times = np.where(rng.random((15, 20)) < 0.5, rng.integers(1, 1000, (15, 20)), MISSED)
    found = runtime_distribution(times, np.full(15, 1000))
    assert found.cross is not None
    assert found.simulated[found.runtimes > found.cross[0]].all()
    assert not found.simulated[found.runtimes <= found.cross[0]].any()


def test_nothing_solved_is_an_empty_curve():
    found = runtime_distribution([[MISSED]], [10])
    assert found.solved == 0.0
    assert found.at([1, 1e9]).tolist() == [0, 0]
    assert found.quantile([0.5]).tolist() == [MISSED]
    assert np.isnan(found.geometric_mean())
    assert np.isnan(found.area_above())


@given(st.integers(0, 2**31))
def test_quantile_inverts_the_curve(seed):
    times, spent = random_trials(seed)
    found = runtime_distribution(times, spent, restarts=0)
    for budget in found.runtimes:
        assert found.quantile(found.at(budget)) == budget
    assert found.quantile([1.0]).item() == (times.max() if np.isfinite(times).all() else MISSED)


def test_weights_balance_instances():
    times, spent = np.array([[1.0], [2.0], [3.0], [4.0]]), np.full(4, 9)
    weights = instance_weights(["1", "1", "1", "2"])
    assert runtime_distribution(times, spent, weights=weights).at([3]).item() == pytest.approx(0.5)


class TestPool:
    @given(st.integers(0, 2**31))
    def test_each_problem_counts_alike(self, seed):
        first = runtime_distribution(*random_trials(seed, targets=2))
        second = runtime_distribution(*random_trials(seed + 1, runs=9, targets=6))
        joined = pool([first, second])
        budgets = np.array([1, 50, 300, 700, 10**7])
        np.testing.assert_allclose(joined.at(budgets), (2 * first.at(budgets) + 6 * second.at(budgets)) / 8)
        assert joined.problems == 8
        np.testing.assert_array_equal(
            joined.unsuccessful, np.sort(np.concatenate([first.unsuccessful, second.unsuccessful]))
        )

    def test_targets_one_by_one_make_the_whole(self):
        times, spent = random_trials(5, missing=0.0)
        whole = runtime_distribution(times, spent)
        parts = pool([runtime_distribution(times[:, [column]], spent) for column in range(times.shape[1])])
        np.testing.assert_allclose(parts.at(whole.runtimes), whole.proportions)

    def test_needs_something(self):
        with pytest.raises(ValueError, match="no distributions"):
            pool([])


class TestArea:
    """Figure 2d and section V-C."""

    def test_all_runtimes(self):
        times = np.array([[3.0, 50.0], [4.0, 700.0]])
        found = runtime_distribution(times, [1000, 1000])
        assert found.geometric_mean() == pytest.approx(geometric_mean(times))
        assert found.area_above() == pytest.approx(np.log(times).mean())

    def test_difference_of_areas_is_the_geometric_average_ratio(self):
        rng = np.random.default_rng(2)
        first, second = rng.integers(1, 10**5, (2, 15, 10)).astype(float)
        spent = np.full(15, 10**6)
        areas = [runtime_distribution(times, spent).area_above() for times in (first, second)]
        assert np.exp(areas[0] - areas[1]) == pytest.approx(geometric_mean_ratio(first, second))

    @pytest.mark.parametrize("shortest", [1, 3, 5])
    def test_a_fraction_of_the_shortest(self, shortest):
        times = np.array([[9.0, 2.0, 70.0, 31.0, 5.0]])
        found = runtime_distribution(times, [100])
        expected = geometric_mean(np.sort(times)[0, :shortest])
        assert found.geometric_mean(shortest / 5) == pytest.approx(expected)

    def test_is_the_integral_over_the_curve(self):
        times, spent = random_trials(11)
        found = runtime_distribution(times, spent)
        heights = (np.arange(200_000) + 0.5) / 200_000 * 0.37
        assert found.area_above(0.37) == pytest.approx(0.37 * np.log(found.quantile(heights)).mean(), rel=1e-4)

    def test_more_than_is_solved_is_infinite(self):
        assert runtime_distribution([[3.0, MISSED]], [9]).area_above(0.6) == MISSED
        with pytest.raises(ValueError, match=r"proportion is 1\.5"):
            runtime_distribution([[3.0]], [9]).area_above(1.5)


def test_refuses_no_targets_and_negative_restarts():
    with pytest.raises(ValueError, match="no targets"):
        runtime_distribution(np.empty((3, 0)), [1, 2, 3])
    with pytest.raises(ValueError, match="restarts is -1"):
        runtime_distribution([[1.0]], [1], restarts=-1)

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from polarbear.assess.restarts import simulated_restarts, simulated_with_marks
from polarbear.assess.runtimes import ert, instance_weights

TIMES = np.array([[3.0, 4.0, np.inf], [5.0, np.inf, np.inf], [8.0, np.inf, np.inf], [9.0, 30.0, np.inf]])
SPENT = np.array([20, 35, 50, 30])


def plain_restarts(times, spent, size, rng):
    """Eq. 2, trial by trial."""
    sample = np.zeros(size)
    for i in range(size):
        while True:
            trial = rng.integers(times.size)
            if np.isfinite(times[trial]):
                sample[i] += times[trial]
                break
            sample[i] += spent[trial]
    return sample


@pytest.mark.statistical(rate=0.02)
@pytest.mark.parametrize("first_with_replacement", [False, True])
def test_sample_has_the_distribution_of_eq_2(first_with_replacement):
    """Error rate: two Kolmogorov–Smirnov tests at 1 % each, seeds fixed."""
    rng = np.random.default_rng(4)
    sample = simulated_restarts(TIMES, SPENT, 4000, rng=rng, first_with_replacement=first_with_replacement)[:, 1]
    expected = plain_restarts(TIMES[:, 1], SPENT, 4000, rng)
    assert stats.ks_2samp(sample, expected).pvalue > 0.01


@pytest.mark.statistical
def test_derandomized_sample_has_the_same_distribution():
    expected = plain_restarts(TIMES[:, 1], SPENT, 20_000, np.random.default_rng(5))
    sample = simulated_restarts(TIMES, SPENT, 4000)[:, 1]
    assert stats.ks_2samp(sample, expected).statistic < 0.02


@pytest.mark.statistical
def test_mean_estimates_the_ert():
    """Four standard errors, seed fixed: an error rate below 1e-4."""
    sample = simulated_restarts(TIMES, SPENT, 20_000, rng=np.random.default_rng(6), first_with_replacement=True)
    expected = ert(TIMES, SPENT)
    error = 4 * sample[:, :2].std(axis=0) / np.sqrt(len(sample))
    assert (np.abs(sample[:, :2].mean(axis=0) - expected[:2]) < error).all()
    assert (sample[:, 2] == np.inf).all()


def test_derandomized_mean_is_close_to_the_ert():
    expected = ert(TIMES, SPENT)[:2]
    np.testing.assert_allclose(simulated_restarts(TIMES, SPENT, 1000)[:, :2].mean(axis=0), expected, rtol=0.01)


@pytest.mark.statistical
def test_weights_make_runs_more_likely():
    weights = instance_weights(["1", "1", "1", "2"])
    sample = simulated_restarts(TIMES, SPENT, 20_000, rng=np.random.default_rng(7), weights=weights)[:, 1]
    assert sample.mean() == pytest.approx(ert(TIMES, SPENT, weights=weights)[1], rel=0.03)
    derandomized = simulated_restarts(TIMES, SPENT, 2000, weights=weights)[:, 1]
    assert derandomized.mean() == pytest.approx(ert(TIMES, SPENT, weights=weights)[1], rel=0.01)


@pytest.mark.parametrize("rng", [None, np.random.default_rng(8)])
def test_all_successful_each_run_comes_first_equally_often(rng):
    sample = simulated_restarts(TIMES[:, :1], SPENT, 12, rng=rng)[:, 0]
    assert sorted(sample) == sorted(3 * TIMES[:, 0].tolist())


@given(st.integers(1, 9))
def test_fewer_samples_than_runs_take_no_run_twice(size):
    times = np.arange(1.0, 11.0)[:, None]
    sample = simulated_restarts(times, np.full(10, 99), size, rng=np.random.default_rng(size))[:, 0]
    assert np.unique(sample).size == size


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 2**31))
def test_equal_data_in_any_order_give_equal_derandomized_samples(runs, targets, seed):
    rng = np.random.default_rng(seed)
    times = np.sort(rng.integers(1, 20, (runs, targets)), axis=1).astype(float)
    times[rng.random(times.shape) < 0.4] = np.inf
    spent = rng.integers(20, 23, runs)
    order = rng.permutation(runs)
    np.testing.assert_array_equal(
        simulated_restarts(times, spent, 30), simulated_restarts(times[order], spent[order], 30)
    )


@given(st.integers(0, 2**31))
def test_every_simulated_runtime_is_a_sum_of_trials(seed):
    rng = np.random.default_rng(seed)
    sample, restarted = simulated_with_marks(TIMES, SPENT, 40, rng, None)
    last = np.array([4.0, 30.0])
    sums = {35 * a + 50 * b for a in range(60) for b in range(60)}
    for value, again in zip(sample[:, 1], restarted[:, 1], strict=True):
        rests = value - last
        assert any(rest in sums and (rest > 0) == again for rest in rests)
    assert not restarted[:, 0].any()
    assert restarted[:, 2].all()


@pytest.mark.statistical
def test_rare_success_takes_many_restarts():
    times = np.full((200, 1), np.inf)
    times[0] = 1.0
    sample = simulated_restarts(times, np.full(200, 10), 2000, rng=np.random.default_rng(9))[:, 0]
    assert sample.mean() == pytest.approx(1991, rel=0.1)
    assert sample.std() == pytest.approx(10 * np.sqrt(1 - 1 / 200) * 200, rel=0.1)


@pytest.mark.statistical(rate=0.02)
def test_targets_whose_failures_cost_alike_stand_beside_others():
    """Two Kolmogorov–Smirnov tests at 1 % each, seeds fixed."""
    times = np.array([[3.0, 9.0], [np.inf, np.inf], [2.0, np.inf], [5.0, 8.0]])
    sample = simulated_restarts(times, SPENT, 4000, rng=np.random.default_rng(10))
    for target in (0, 1):
        expected = plain_restarts(times[:, target], SPENT, 4000, np.random.default_rng(11 + target))
        assert stats.ks_2samp(sample[:, target], expected).pvalue > 0.01


def test_refuses_what_it_cannot_simulate():
    with pytest.raises(ValueError, match="size is 0"):
        simulated_restarts(TIMES, SPENT, 0)
    with pytest.raises(ValueError, match="give rng, or leave"):
        simulated_restarts(TIMES, SPENT, 3, first_with_replacement=True)

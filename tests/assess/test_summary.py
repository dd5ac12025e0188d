import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear.assess.runtimes import instance_weights
from polarbear.assess.summary import runtime_quantiles, summarize


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=12), st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_quantiles_without_misses_are_hazens(times, levels):
    found = runtime_quantiles(np.array(times, dtype=float)[:, None], levels)[:, 0]
    np.testing.assert_allclose(found, np.quantile(times, levels, method="hazen"))


def test_quantiles_are_infinite_as_soon_as_a_miss_takes_part():
    times = np.array([[1.0], [2.0], [np.inf], [np.inf]])
    assert runtime_quantiles(times, [0.0, 0.25, 0.375, 0.5, 0.9])[:, 0].tolist() == [1.0, 1.5, 2.0, np.inf, np.inf]


def test_weights_repeat_runs():
    times = np.array([[5.0], [1.0], [9.0]])
    weighted = runtime_quantiles(times, [0.5], weights=[2, 1, 1])[0, 0]
    assert weighted == 5.0
    heavy = runtime_quantiles(times, [0.2, 0.5, 0.8], weights=[1, 1e-9, 1e-9])[:, 0]
    np.testing.assert_allclose(heavy, np.interp([0.2, 0.5, 0.8], [0, 0.5, 1], [1, 5, 9]), atol=1e-6)


def test_summary_by_hand():
    times = np.array([[10.0, 20.0], [30.0, np.inf], [20.0, np.inf]])
    summary = summarize(times, [40, 50, 60], levels=[0.5], penalty=2)
    assert summary.runs == 3
    assert summary.successes.tolist() == [3, 1]
    assert summary.success_rate.tolist() == pytest.approx([1, 1 / 3])
    assert summary.mean.tolist() == [20, 20]
    assert summary.standard_deviation[0] == pytest.approx(10.0)
    assert np.isnan(summary.standard_deviation[1])
    assert summary.median.tolist() == [20, np.inf]
    assert summary.quantiles.tolist() == [[20, np.inf]]
    assert summary.par.tolist() == pytest.approx([20, (20 + 100 + 120) / 3])
    assert summary.ert.tolist() == [20, 130]


def test_balanced_instances_change_means_as_repetition_would():
    times = np.array([[10.0], [20.0], [40.0]])
    summary = summarize(times, [50, 50, 50], weights=instance_weights(["1", "1", "2"]))
    assert summary.mean[0] == pytest.approx(np.mean([10, 20, 40, 40]))


def test_a_target_nobody_reached_is_no_error():
    summary = summarize([[np.inf], [np.inf]], [5, 5])
    assert np.isnan(summary.mean[0])
    assert np.isnan(summary.standard_deviation[0])
    assert summary.ert[0] == np.inf


def test_refuses_levels_outside_0_to_1():
    with pytest.raises(ValueError, match="between 0 and 1"):
        runtime_quantiles([[1.0]], [1.5])

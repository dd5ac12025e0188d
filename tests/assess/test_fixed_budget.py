import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import stats

from polarbear.assess.attainment import eaf_grid, level_curves
from polarbear.assess.fixed_budget import summarize_values, value_density, value_distribution, value_histogram
from polarbear.assess.step_functions import values_at
from tests.assess.curves import random_trajectory

LEVELS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
SHAPES = st.tuples(st.integers(1, 9), st.integers(1, 5))
KNOWN = arrays.arrays(np.float64, SHAPES, elements=st.floats(1e-8, 1e4))
PARTLY = arrays.arrays(np.float64, SHAPES, elements=st.floats(1e-8, 1e4) | st.just(np.nan))


@given(KNOWN)
def test_statistics_are_those_of_numpy_and_scipy(values):
    found = summarize_values(values, levels=LEVELS)
    np.testing.assert_array_equal(found.count, len(values))
    np.testing.assert_allclose(found.mean, np.mean(values, axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.geometric_mean, stats.gmean(values, axis=0), rtol=1e-11)
    np.testing.assert_array_equal(found.median, np.median(values, axis=0))
    np.testing.assert_array_equal(found.quantiles, np.quantile(values, LEVELS, axis=0, method="inverted_cdf"))
    if len(values) > 1:
        np.testing.assert_allclose(
            found.standard_deviation, np.std(values, axis=0, ddof=1), rtol=1e-10, atol=1e-14 * values.max()
        )
    else:
        assert np.isnan(found.standard_deviation).all()


@given(PARTLY)
def test_unknown_values_are_kept_or_left_out(values):
    kept, omitted = (summarize_values(values, levels=LEVELS, omit_unknown=omit) for omit in (False, True))
    known = ~np.isnan(values)
    np.testing.assert_array_equal(kept.count, known.sum(axis=0))
    np.testing.assert_array_equal(omitted.count, known.sum(axis=0))
    for name in ("mean", "geometric_mean", "median", "quantiles"):
        np.testing.assert_array_equal(~np.isnan(getattr(kept, name)).reshape(-1, values.shape[1])[0], known.all(axis=0))
    for budget, column in enumerate(values.T):
        rest = column[~np.isnan(column)]
        if rest.size:
            alone = summarize_values(rest[:, None], levels=LEVELS)
            assert alone.mean[0] == omitted.mean[budget]
            np.testing.assert_array_equal(alone.quantiles[:, 0], omitted.quantiles[:, budget])
        else:
            assert np.isnan(omitted.mean[budget])


def test_runs_without_a_value_yet():
    found = summarize_values([[np.inf], [1.0], [3.0], [np.inf]], levels=LEVELS)
    assert found.mean[0] == found.geometric_mean[0] == found.median[0] == np.inf
    np.testing.assert_array_equal(found.quantiles[:, 0], [1, 1, 1, 3, np.inf, np.inf])
    assert np.isnan(found.standard_deviation[0])


def test_geometric_mean_of_zero_and_of_negative_values():
    found = summarize_values([[0.0, -1.0, 1e-100], [4.0, 4.0, 1e100]])
    np.testing.assert_allclose(found.geometric_mean, [0, np.nan, 1], rtol=1e-12)


@given(KNOWN, st.floats(1e-3, 1e3))
def test_statistics_follow_the_unit(values, unit):
    here, there = summarize_values(values), summarize_values(values * unit)
    for name in ("mean", "geometric_mean", "median", "quantiles"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name) * unit, rtol=1e-12)


def test_quantiles_over_time_are_level_curves_of_the_attainment_function():
    paths = [random_trajectory(np.random.default_rng(seed)) for seed in range(11)]
    times = np.arange(1, 101)
    quantiles = summarize_values(values_at(paths, times), levels=LEVELS).quantiles
    np.testing.assert_array_equal(quantiles, [curve(times) for curve in level_curves(paths, LEVELS)])


@given(arrays.arrays(np.float64, st.integers(1, 20), elements=st.sampled_from([0.5, 1.0, 2.0, 7.0, 9.5])))
def test_distribution_is_scipys_and_a_column_of_the_attainment_function(values):
    targets = np.array([0.4, 0.5, 1.0, 3.0, 9.5, 20.0])
    found = value_distribution(values)(targets)
    np.testing.assert_allclose(found, stats.ecdf(values).cdf.evaluate(targets), atol=1e-15)
    np.testing.assert_array_equal(found, eaf_grid(values[:, None], targets)[0])


def test_runs_without_a_value_keep_the_distribution_below_one():
    assert value_distribution([1.0, np.inf, np.inf, 2.0])(1e300) == 0.5


@pytest.mark.parametrize("bandwidth", ["scott", "silverman", 0.3])
def test_density_integrates_to_one_on_its_scale(bandwidth):
    values = 10 ** np.random.default_rng(3).normal(-4, 1.5, 30)
    grid = np.linspace(-20, 12, 40_001)
    logarithmic = value_density(values, 10**grid, log=True, bandwidth=bandwidth)
    assert np.trapezoid(logarithmic, grid) == pytest.approx(1, abs=1e-9)
    linear = value_density(np.log10(values), grid, bandwidth=bandwidth)
    np.testing.assert_allclose(logarithmic, linear, rtol=1e-9, atol=1e-300)


def test_density_of_two_values_in_closed_form():
    width = 2 ** (-1 / 5) * np.std([0, 1], ddof=1)  # Scott's rule in one dimension
    expected = (stats.norm.pdf(0.3, 0, width) + stats.norm.pdf(0.3, 1, width)) / 2
    assert value_density([0.0, 1.0], [0.3])[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("bins", ["auto", "sturges", 7])
def test_histogram_counts_every_value_in_equal_bins(bins, log):
    values = 10 ** np.random.default_rng(4).normal(-4, 1.5, 50)
    counts, edges = value_histogram(values, bins=bins, log=log)
    assert counts.sum() == 50
    widths = np.diff(np.log10(edges) if log else edges)
    np.testing.assert_allclose(widths, widths[0], rtol=1e-9)


def test_histogram_with_given_edges():
    counts, edges = value_histogram([1, 2, 2, 3, 9], bins=[1, 2, 4], log=True)
    np.testing.assert_array_equal(counts, [1, 3])
    np.testing.assert_array_equal(edges, [1, 2, 4])


def test_what_is_too_large_for_a_float_is_infinite():
    found = summarize_values([[np.finfo(float).max], [np.finfo(float).max]])
    assert found.mean == found.standard_deviation == np.inf
    assert (found.quantiles == np.finfo(float).max).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: summarize_values([1.0, 2.0]), r"shape \(2,\)"),
        (lambda: summarize_values(np.empty((0, 3))), "at least one run"),
        (lambda: summarize_values([[1.0]], levels=[50]), "between 0 and 1"),
        (lambda: value_density([1.0, np.inf], [1]), "value of run 1 is inf"),
        (lambda: value_density([1.0, 1.0], [1]), "all 2 values are equal"),
        (lambda: value_density([1.0, 0.0], [1], log=True), "no logarithm"),
        (lambda: value_histogram([1.0, np.nan]), "value of run 1 is nan"),
        (lambda: value_histogram([1.0, -1.0], log=True), "no logarithm"),
        (lambda: value_distribution([np.nan]), "value of run 0 is nan"),
        (lambda: value_distribution([]), r"shape \(0,\)"),
    ],
)
def test_errors_name_the_value(call, message):
    with pytest.raises(ValueError, match=message):
        call()

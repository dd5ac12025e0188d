"""Histograms in shared bins, evenly spaced grids, ECDFs over several budgets and the areas below them."""

import numpy as np
import pytest

from polarbear.assess import Bounds, even_grid, runtime_distribution, shared_histograms, value_distribution

SAMPLES = {"A": [1.0, 2.0, 3.0, 10.0], "B": [0.01, 100.0]}


@pytest.mark.parametrize("log", [False, True])
def test_all_have_the_same_bins_and_no_run_is_lost(log):
    counts, edges = shared_histograms(SAMPLES, bins=5, log=log)
    assert {name: each.sum() for name, each in counts.items()} == {"A": 4, "B": 2}
    widths = np.diff(np.log(edges) if log else edges)
    np.testing.assert_allclose(widths, widths[0])
    for name, sample in SAMPLES.items():
        np.testing.assert_array_equal(counts[name], np.histogram(sample, edges)[0])


def test_bins_of_nothing_are_refused():
    with pytest.raises(ValueError, match="there are no samples"):
        shared_histograms({})
    with pytest.raises(ValueError, match="the value of run 1 is inf"):
        shared_histograms({"A": [1, np.inf]})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 10_000, np.inf, np.nan], [1, 10, 100, 1000, 10_000]),
        ([2, 6], [2, 3, 4, 5, 6]),
        ([-1, 3], [-1, 0, 1, 2, 3]),
        ([7, 7], [7]),
    ],
)
def test_grid_is_logarithmic_where_magnitudes_are_spanned(values, expected):
    np.testing.assert_allclose(even_grid(values, 5), expected)


def test_grid_of_unknown_values_is_refused():
    with pytest.raises(ValueError, match="no value is finite"):
        even_grid([np.nan, np.inf])


def test_ecdf_over_several_budgets_is_the_mean_of_those_at_one():
    values = np.array([[5.0, 2.0], [7.0, np.inf], [1.0, 1.0]])
    at = np.linspace(0, 8, 50)
    several = value_distribution(values)(at)
    np.testing.assert_allclose(several, np.mean([value_distribution(column)(at) for column in values.T], axis=0))


@pytest.mark.parametrize("log", [False, True])
def test_area_below_a_runtime_distribution_is_that_of_its_steps(log):
    times = np.array([[2.0, 5.0], [20.0, np.inf], [2.0, 90.0]])
    curve = runtime_distribution(times, [100, 100, 100], restarts=0)
    grid = np.geomspace(1, 100, 200_001) if log else np.linspace(1, 100, 200_001)
    expected = np.mean(curve.at(grid[:-1]))
    assert curve.area_below(Bounds(1, 100, log=log)) == pytest.approx(expected, abs=2e-5)


def test_area_below_nothing_solved_is_zero():
    assert runtime_distribution([[np.inf]], [10], restarts=0).area_below(Bounds(1, 10)) == 0

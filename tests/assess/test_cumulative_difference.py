"""The cumulative difference against the Mann-Whitney statistic, closed forms and what it must not depend on."""

import numpy as np
import pytest
from scipy import stats

from polarbear.assess import cumulative_difference


def rng():
    return np.random.default_rng(3)


def of(first, second, **options):
    return cumulative_difference(first, second, rng=rng(), **{"resamples": 200} | options)


@pytest.mark.parametrize("sizes", [(8, 8), (7, 19)])
@pytest.mark.parametrize("distinct", [3, 1000])
def test_area_is_the_mann_whitney_statistic(sizes, distinct):
    first, second = (rng().integers(distinct, size=size) + shift for size, shift in zip(sizes, (0, 1), strict=True))
    found = of(first, second, levels=20001)
    wins = stats.mannwhitneyu(second, first).statistic / (sizes[0] * sizes[1])  # pairs in which the first is lower
    assert found.better == pytest.approx(wins, abs=1e-12)
    assert 0.5 + np.trapezoid(found.difference, found.levels) == pytest.approx(wins, abs=1e-7)


def test_one_that_is_always_better_has_the_whole_triangle():
    found = of([1, 2, 3], [10, np.inf], levels=5)
    np.testing.assert_allclose(found.difference, [0, 0.5, 1, 0.5, 0])
    np.testing.assert_array_equal(found.lower, found.upper)
    assert found.better == 1


def test_ties_share_their_ranks():
    found = of([1, 5], [1, 9], levels=9)
    np.testing.assert_allclose(found.difference, [0, 0, 0, 0, 0, 0.25, 0.5, 0.25, 0], atol=1e-15)
    assert found.better == 0.625


def test_only_the_order_of_results_matters_and_exchange_mirrors():
    first, second = rng().normal(size=12), rng().normal(0.3, 2, size=9)
    found, other = of(first, second), of(np.exp(first), np.exp(second))
    np.testing.assert_allclose(found.difference, other.difference, atol=1e-15)
    np.testing.assert_allclose(found.lower, other.lower, atol=1e-15)
    np.testing.assert_allclose(of(second, first).difference, -found.difference, atol=1e-15)


def test_band_holds_the_difference_of_a_sample_of_any_size():
    found = of(rng().normal(size=400), rng().normal(size=300), resamples=1000)
    assert (found.lower <= found.difference).all()
    assert (found.difference <= found.upper).all()
    middle = len(found.levels) // 2
    # at the median of both, the difference has a standard error of sqrt(1/n + 1/m) / 2: a normal quantile of it
    assert found.upper[middle] - found.lower[middle] == pytest.approx(
        2 * 1.96 * np.sqrt(1 / 400 + 1 / 300) / 2, rel=0.15
    )


@pytest.mark.parametrize(
    ("first", "options", "message"),
    [
        ([], {}, r"first has shape \(0,\)"),
        ([[1.0]], {}, r"first has shape \(1, 1\)"),
        ([np.nan], {}, "NaN in first at entry"),
        ([1.0], {"confidence": 1}, "confidence is 1"),
        ([1.0], {"levels": 1}, "levels is 1"),
    ],
)
def test_errors_name_the_value(first, options, message):
    with pytest.raises(ValueError, match=message):
        of(first, [1.0, 2.0], **options)

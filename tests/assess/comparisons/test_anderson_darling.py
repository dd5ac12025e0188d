"""The two-sample Anderson–Darling test: scipy's statistic, published critical values, the limit's definition."""

import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from polarbear.assess.comparisons.anderson_darling import anderson_darling_two_sample, limit_survival

SAMPLE = st.lists(st.integers(0, 8), min_size=2, max_size=15)


@settings(max_examples=60)
@given(SAMPLE, SAMPLE)
def test_scipy_has_the_same_statistic_with_ties(x, y):
    x, y = np.array(x, dtype=float), np.array(y, dtype=float)
    statistic, p_value = anderson_darling_two_sample(x, y)
    if np.unique(np.concatenate((x, y))).size == 1:
        assert (statistic, p_value) == (0.0, 1.0)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = scipy.stats.anderson_ksamp([x, y])
    assert statistic == pytest.approx(expected.statistic, rel=1e-9, abs=1e-9)
    if 0.0011 < expected.pvalue < 0.249:  # it interpolates in a table, and reports nothing beyond
        assert p_value == pytest.approx(expected.pvalue, rel=0.03)


@pytest.mark.parametrize(("value", "p"), [(1.933, 0.10), (2.492, 0.05), (3.878, 0.01)])
def test_published_critical_values(value, p):
    """Critical values of the one-sample statistic, as printed by Stephens (1974) and later tables."""
    assert limit_survival(value) == pytest.approx(p, rel=0.01)


@pytest.mark.statistical
def test_limit_is_the_weighted_sum_of_chi_squares():
    """Against 400,000 draws of the sum's first 400 terms and the mean of the others; bounds are 4.5 standard errors."""
    j = np.arange(1, 401)
    weights = 1 / (j * (j + 1))
    rng = np.random.default_rng(5)
    draws = np.concatenate([rng.standard_normal((20_000, 400)) ** 2 @ weights for _ in range(20)]) + 1 / 401
    for value in (0.3, 0.8, 1.5, 3.0, 6.0):
        p = limit_survival(value)
        assert (draws > value).mean() == pytest.approx(p, abs=4.5 * np.sqrt(p * (1 - p) / draws.size))


def test_limit_falls_from_one_to_zero_without_a_jump():
    grid = np.concatenate((np.linspace(0.01, 19.9, 200), np.linspace(20.1, 600, 50)))
    p = np.array([limit_survival(value) for value in grid])
    assert p[0] == 1
    assert (np.diff(p) <= 1e-12).all()
    assert limit_survival(20.0) == pytest.approx(limit_survival(np.nextafter(20.0, 21)), rel=0.02)
    assert 0 < p[-1] < 1e-200


def test_the_limit_is_that_of_adaptive_quadrature():
    """The same series with each integral by QUADPACK."""

    def by_quadrature(x):
        total = 0.0
        for j in range(20):
            rate = (4 * j + 1) ** 2 * np.pi**2 / (8 * x)
            integral, _ = scipy.integrate.quad(
                lambda w, r=rate: np.exp(x / (8 * (w * w + 1)) - r * (w * w + 1)), 0, np.inf
            )
            total += scipy.special.binom(-0.5, j) * (4 * j + 1) * integral
        return 1 - np.sqrt(2 * np.pi) / x * total

    places = np.array([0.05, 0.3, 1.0, 2.492, 6.0, 15.0])
    np.testing.assert_allclose(limit_survival(places), [by_quadrature(x) for x in places], atol=2e-9)

"""Tests of pairs: hand-computed p-values, scipy as oracle, invariances, failures, and error rates under the null."""

import json
import math
import warnings

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from polarbear.assess.comparisons import adjust_p_values, anderson_darling, kolmogorov_smirnov, mann_whitney, wilcoxon

TESTS = [kolmogorov_smirnov, mann_whitney, wilcoxon, anderson_darling]
RNG = np.random.default_rng(7)
RUNS = {
    "a": RNG.normal(0, 1, 15),
    "b": RNG.normal(1, 1, 15),
    "c": np.where(RNG.random(15) < 0.4, np.inf, RNG.normal(1, 2, 15)),
    "d": np.full(15, np.inf),
}


def test_separated_samples_by_hand():
    runs = {"low": [1.0, 2, 3], "high": [4.0, 5, 6]}  # the most extreme of (6 choose 3) = 20 arrangements
    assert kolmogorov_smirnov(runs).p_values[0, 1] == pytest.approx(1 / 20)
    assert kolmogorov_smirnov(runs).p_values[1, 0] == pytest.approx(1)
    assert kolmogorov_smirnov(runs, alternative="two-sided").p_values[1, 0] == pytest.approx(2 / 20)
    exact = mann_whitney(runs, method="exact")
    assert exact.p_values[0, 1] == exact.p_values[1, 0] == pytest.approx(2 / 20)
    assert exact.statistics[0, 1] == 0
    assert exact.statistics[1, 0] == 9
    assert mann_whitney(runs, method="exact", alternative="less").p_values[0, 1] == pytest.approx(1 / 20)


@pytest.mark.parametrize("runs", range(2, 31))
def test_the_shortest_distance_is_always_reached(runs):
    """SciPy's exact p-value of 1 rounds to above 1 for 5, 7, 13, 14, 15 and more runs, and is refused there."""
    samples = {"a": np.arange(0, 2 * runs, 2.0), "b": np.arange(1, 2 * runs, 2.0)}
    found = kolmogorov_smirnov(samples, alternative="two-sided")
    assert found.statistics[0, 1] == pytest.approx(1 / runs)
    assert found.p_values[0, 1] == 1


def test_signed_ranks_by_hand():
    runs = {"low": [1.0, 2, 3, 4, 9], "high": [2.0, 4, 6, 8, 4]}  # differences -1 -2 -3 -4 5: W+ = 5
    tests = wilcoxon(runs, method="exact", alternative="less")
    assert tests.statistics[0, 1] == 5
    assert tests.statistics[1, 0] == 10
    # 1 + 1 + 1 + 2 + 2 + 3 of 32 sign patterns have W+ <= 5
    assert tests.p_values[0, 1] == pytest.approx(10 / 32)
    assert wilcoxon(runs, method="exact").p_values[0, 1] == pytest.approx(20 / 32)


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
def test_scipy_agrees_on_every_pair(alternative):
    ks_side = {"two-sided": "two-sided", "less": "greater"}[alternative]
    tests = {
        "ks": kolmogorov_smirnov(RUNS, alternative=alternative),
        "asymptotic ks": kolmogorov_smirnov(RUNS, alternative=alternative, method="asymptotic"),
        "u": mann_whitney(RUNS, alternative=alternative),
    }
    for i, x in enumerate(RUNS.values()):
        for j, y in enumerate(RUNS.values()):
            if i == j:
                assert all(np.isnan(t.p_values[i, j]) and not t.better[i, j] for t in tests.values())
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = {
                    "ks": scipy.stats.ks_2samp(x, y, alternative=ks_side, method="exact"),
                    "asymptotic ks": scipy.stats.ks_2samp(x, y, alternative=ks_side, method="asymp"),
                    "u": scipy.stats.mannwhitneyu(x, y, alternative=alternative, method="asymptotic"),
                }
            for name, found in tests.items():
                assert found.p_values[i, j] == pytest.approx(expected[name].pvalue, rel=1e-12)
                assert found.statistics[i, j] == pytest.approx(expected[name].statistic, rel=1e-12)


def test_corrections_by_hand():
    p = [0.01, 0.04, 0.03]
    assert adjust_p_values(p, correction="holm") == pytest.approx([0.03, 0.06, 0.06])
    assert adjust_p_values(p, correction="bonferroni") == pytest.approx([0.03, 0.12, 0.09])
    assert adjust_p_values(p, correction="hochberg") == pytest.approx([0.03, 0.04, 0.04])
    assert adjust_p_values(p, correction="none") == pytest.approx(p)
    assert adjust_p_values([], correction="holm").shape == (0,)


@settings(max_examples=10)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_statsmodels_agrees_on_corrections(p):
    from statsmodels.stats.multitest import multipletests

    for correction, theirs in {"holm": "holm", "bonferroni": "bonferroni", "hochberg": "simes-hochberg"}.items():
        assert adjust_p_values(p, correction=correction) == pytest.approx(multipletests(p, method=theirs)[1], rel=1e-12)


@pytest.mark.parametrize(("alternative", "hypotheses"), [("two-sided", 6), ("less", 12)])
def test_family_counts_every_hypothesis_once(alternative, hypotheses):
    tests = kolmogorov_smirnov(RUNS, alternative=alternative, correction="bonferroni")
    off = ~np.eye(4, dtype=bool)
    assert tests.adjusted[off] == pytest.approx(np.minimum(1, tests.p_values[off] * hypotheses))
    assert len(tests.rows()) == hypotheses


@pytest.mark.parametrize("test", TESTS)
def test_permuting_algorithms_permutes_the_result(test):
    order = ["c", "a", "d", "b"]
    original, permuted = test(RUNS), test({name: RUNS[name] for name in order})
    index = [list(RUNS).index(name) for name in order]
    for matrix in ("statistics", "p_values", "adjusted", "better"):
        expected = getattr(original, matrix)[np.ix_(index, index)]
        np.testing.assert_allclose(getattr(permuted, matrix), expected, rtol=1e-9, atol=1e-15)


@settings(max_examples=30)
@given(
    st.lists(st.integers(-5, 5), min_size=2, max_size=12),
    st.lists(st.integers(-5, 5), min_size=2, max_size=12),
    st.sampled_from([kolmogorov_smirnov, mann_whitney, anderson_darling]),
)
def test_only_order_matters(x, y, test):
    x, y = np.array(x, dtype=float), np.array(y, dtype=float)
    plain, stretched = test({"x": x, "y": y}), test({"x": np.exp(x), "y": np.exp(y)})
    np.testing.assert_array_equal(plain.p_values, stretched.p_values)
    np.testing.assert_array_equal(plain.better, stretched.better)


@pytest.mark.parametrize("test", TESTS)
def test_failures_lose_and_tie(test):
    runs = {"solves": np.arange(20.0), "fails": np.full(20, np.inf), "fails too": np.full(20, np.inf)}
    tests = test(runs)
    assert tests.better.astype(int).tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert tests.p_values[1, 2] == 1
    assert tests.failures.tolist() == [0, 20, 20]
    assert [note.split(":")[0] for note in tests.notes] == ["fails", "fails too"]
    # what a failure is written as does not matter as long as it is worst
    assert np.array_equal(tests.better, test({k: np.minimum(v, 1e9) for k, v in runs.items()}).better)


@pytest.mark.parametrize("test", [kolmogorov_smirnov, mann_whitney, wilcoxon])
def test_two_sided_decision_points_at_the_better(test):
    runs = {"good": np.arange(20.0), "bad": np.arange(20.0) ** 1.5 + 30}
    tests = test(runs, alternative="two-sided")
    assert tests.better.tolist() == [[False, True], [False, False]]
    assert tests.rows()[0]["better"] == "good"


def test_crossing_distributions_beat_each_other_one_sided():
    runs = {"narrow": np.linspace(-1, 1, 60), "wide": np.linspace(-10, 10, 60)}
    assert kolmogorov_smirnov(runs).better.tolist() == [[False, True], [True, False]]


def test_exact_tests_refuse_ties():
    with pytest.raises(ValueError, match=r'x against y: some runs are tied.*method="asymptotic"'):
        mann_whitney({"x": [1.0, 2], "y": [2.0, 3]}, method="exact")
    with pytest.raises(ValueError, match="x against y: some pairs of runs are equal or their differences are tied"):
        wilcoxon({"x": [1.0, 2], "y": [2.0, 3]}, method="exact")
    with pytest.raises(ValueError, match="pairs of runs are equal"):
        wilcoxon({"x": [1.0, np.inf], "y": [2.0, np.inf]}, method="exact")


def test_impossible_exact_distribution_is_told_not_replaced():
    runs = {"x": np.arange(46349.0), "y": np.arange(46351.0)}  # scipy falls back to the asymptotic p-value here
    with pytest.raises(ValueError, match=r'x against y: the exact.*46349 and 46351 runs.*method="asymptotic"'):
        kolmogorov_smirnov(runs)
    assert kolmogorov_smirnov(runs, method="asymptotic").p_values[0, 1] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ({"x": [1.0]}, {}, "algorithms in samples is 1;"),
        ({"x": [1.0], "y": []}, {}, "sample of y has shape"),
        ({"x": [1.0], "y": [[1.0]]}, {}, "sample of y has shape"),
        ({"x": [1.0], "y": [1.0, math.nan]}, {}, "run 1 of y is NaN"),
        ({"x": [1.0, -math.inf], "y": [1.0]}, {}, "run 1 of x is -inf"),
        ({"x": [1.0], "y": [2.0]}, {"alpha": 5}, "alpha is 5"),
        ({"x": [1.0], "y": [2.0]}, {"correction": "fdr"}, "correction is 'fdr'"),
        ({"x": [1.0], "y": [2.0]}, {"alternative": "greater"}, "alternative is 'greater'"),
        ({"x": [1.0], "y": [2.0]}, {"method": "auto"}, "method is 'auto'"),
    ],
)
def test_wrong_input_is_named(runs, options, message):
    with pytest.raises(ValueError, match=message):
        kolmogorov_smirnov(runs, **options)


def test_unpaired_lengths_are_refused():
    with pytest.raises(ValueError, match="x against y: 2 and 3 runs cannot be paired"):
        wilcoxon({"x": [1.0, 2], "y": [1.0, 2, 3]})


@pytest.mark.parametrize("test", TESTS)
def test_result_is_json(test):
    told = json.loads(json.dumps(test(RUNS).as_dict(), allow_nan=False))
    assert told["names"] == list("abcd")
    assert told["p_values"][0][0] is None
    assert told["failures"][3] == 15


@pytest.mark.statistical
@pytest.mark.parametrize("test", TESTS)
def test_false_rejections_are_as_rare_as_promised(test):
    """300 comparisons of 4 equal algorithms: any false rejection at alpha = 0.1 has probability at most 0.1.

    The bound is the 0.9999 quantile of Binomial(300, 0.1); a family-wise rate of 0.2 would fail it with
    probability 0.99.
    """
    rng = np.random.default_rng(3)
    errors = sum(test({name: rng.exponential(size=12) for name in "wxyz"}, alpha=0.1).better.any() for _ in range(300))
    assert errors <= scipy.stats.binom.ppf(0.9999, 300, 0.1)


@pytest.mark.parametrize("test", [mann_whitney, wilcoxon, anderson_darling])
def test_null_p_values_are_calibrated(test):
    """400 pairs of equal algorithms: p <= 0.1 has probability 0.1, checked in Binomial's 99.99 % interval."""
    rng = np.random.default_rng(4)
    p = [test({name: rng.normal(size=25) for name in "xy"}).p_values[0, 1] for _ in range(400)]
    low, high = scipy.stats.binom.interval(0.9999, 400, 0.1)
    assert low <= (np.array(p) <= 0.1).sum() <= high

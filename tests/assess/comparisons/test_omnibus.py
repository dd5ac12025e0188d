"""Tests over functions: scipy and statsmodels as oracles, printed examples, all permutations, error rates."""

import itertools

import numpy as np
import pytest
import scipy.stats

from polarbear.assess.comparisons import omnibus_test, post_hoc

# 14 rankings of 4 whose mean ranks 3.143, 2.000, 2.893, 1.964 are those of Demšar (2006), table 6
RANKINGS = [(1, 2, 4, 3), *2 * [(2, 1, 4, 3)], *2 * [(2, 4, 3, 1)], (3, 4, 2, 1), *2 * [(4, 1, 2, 3)]]
RANKINGS += [(4, 1, 2.5, 2.5), *2 * [(4, 1, 3, 2)], *2 * [(4, 2, 3, 1)], (4, 3, 2, 1)]
NAMES = ["C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf"]


def test_demsars_example():
    """Printed: z = 2.416, 2.342, 0.512 and p = 0.016, 0.019, 0.607 against C4.5, from the mean ranks alone."""
    found = post_hoc(RANKINGS, names=NAMES, control="C4.5", correction="none")
    assert np.mean(RANKINGS, axis=0) == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert found.statistics[[3, 1, 2]] == pytest.approx([-2.416, -2.342, -0.512], abs=2e-3)
    assert found.p_values[[3, 1, 2]] == pytest.approx([0.016, 0.019, 0.607], abs=2e-3)
    holm = post_hoc(RANKINGS, names=NAMES, control="C4.5")
    first, _, third = found.p_values[[3, 1, 2]]
    assert holm.adjusted[[3, 1, 2]] == pytest.approx([3 * first, 3 * first, third], rel=1e-12)  # they never fall
    assert holm.different.tolist() == [False, True, False, True]
    # printed without correction for ties: 9.28; ours corrects for the tie, as scipy does
    friedman = omnibus_test(RANKINGS, names=NAMES, test="friedman")
    uncorrected = 12 * 14 / 20 * (((np.mean(RANKINGS, axis=0)) - 2.5) ** 2).sum()
    assert uncorrected == pytest.approx(9.28, abs=0.01)
    assert friedman.statistic == pytest.approx(uncorrected / (1 - 6 / (14 * 4 * 15)))
    assert friedman.rejected


def test_scipys_friedman():
    data = np.random.default_rng(1).normal(size=(20, 5))
    found, expected = omnibus_test(data, test="friedman"), scipy.stats.friedmanchisquare(*data.T)
    assert (found.statistic, found.p_value) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))


def test_statsmodels_analysis_of_variance():
    anova = pytest.importorskip("statsmodels.stats.anova")
    pandas = pytest.importorskip("pandas")
    data = np.random.default_rng(2).normal(size=(12, 4)) + np.arange(4) / 2 + np.arange(12)[:, None]
    long = pandas.DataFrame([(i, j, data[i, j]) for i, j in np.ndindex(12, 4)], columns=["f", "a", "y"])
    table = anova.AnovaRM(long, "y", "f", within=["a"]).fit().anova_table
    found = omnibus_test(data, test="anova")
    assert found.statistic == pytest.approx(table["F Value"].iloc[0])
    assert found.p_value == pytest.approx(table["Pr > F"].iloc[0])


def test_two_algorithms():
    data = np.random.default_rng(3).normal(size=(15, 2)) + np.array([0, 0.4])
    paired = scipy.stats.ttest_rel(*data.T)
    anova = omnibus_test(data, test="anova")
    assert anova.statistic == pytest.approx(paired.statistic**2)
    assert anova.p_value == pytest.approx(paired.pvalue)
    after = post_hoc(data, names="xy", test="anova", control="x")
    assert after.statistics[1] == pytest.approx(-paired.statistic)
    assert after.p_values[1] == pytest.approx(paired.pvalue)
    signed = scipy.stats.wilcoxon(*data.T, method="asymptotic")
    assert omnibus_test(data, test="wilcoxon").p_value == pytest.approx(signed.pvalue)
    with pytest.raises(ValueError, match="for 2 algorithms it must be one of auto, anova, wilcoxon"):
        omnibus_test(data, test="friedman")


def test_the_test_is_chosen_by_its_conditions():
    rng = np.random.default_rng(4)
    normal = rng.normal(size=(30, 3))
    assert omnibus_test(normal).test == "anova"
    assert omnibus_test(np.exp(3 * normal)).test == "friedman"  # far from normal
    assert omnibus_test(normal * [1, 1, 20]).test == "friedman"  # unequal variances
    assert omnibus_test(np.exp(3 * normal[:, :2])).test == "wilcoxon"
    constant = np.column_stack([normal[:, :2], np.ones(30)])
    assert omnibus_test(constant).test == "friedman"
    assert np.isnan(omnibus_test(constant).normality[2])
    assert omnibus_test(constant).homoscedasticity != omnibus_test(constant).homoscedasticity  # NaN
    conditions = omnibus_test(normal)
    assert conditions.normality[0] == pytest.approx(scipy.stats.shapiro(normal[:, 0]).pvalue)
    assert conditions.homoscedasticity == pytest.approx(scipy.stats.levene(*normal.T).pvalue)


@pytest.mark.parametrize("test", ["friedman", "anova", "aligned ranks", "quade"])
def test_permuting_algorithms_permutes_the_result(test):
    data = np.random.default_rng(5).normal(size=(10, 4))
    order = [2, 0, 3, 1]
    one = post_hoc(data, names="abcd", control="b", test=test)
    two = post_hoc(data[:, order], names=["abcd"[i] for i in order], control="b", test=test)
    np.testing.assert_allclose(two.adjusted, one.adjusted[order])
    assert omnibus_test(data, test=test).p_value == pytest.approx(omnibus_test(data[:, order], test=test).p_value)


def test_default_control_has_the_lowest_mean_rank():
    found = post_hoc(RANKINGS, names=NAMES)
    assert found.control == "C4.5+m+cf"
    assert np.isnan(found.p_values[3])
    assert not found.different[3]
    assert [row["algorithm"] for row in found.rows()] == NAMES[:3]


@pytest.mark.parametrize("test", ["friedman", "anova", "aligned ranks", "quade"])
def test_false_rejections_are_as_rare_as_promised(test):
    """500 sets of 4 equal algorithms on 20 functions; bounds are Binomial(500, 0.1)'s 99.99 % interval.

    After it, one algorithm is compared with one other. With the deviation of García et al. nearly half of these
    differences of aligned ranks would be significant.
    """
    sets = np.random.default_rng(6).normal(size=(500, 20, 4))
    rejected = sum(omnibus_test(data, test=test, alpha=0.1).rejected for data in sets)
    low, high = scipy.stats.binom.interval(0.9999, 500, 0.1)
    assert low <= rejected <= high
    after = [post_hoc(data, names="abcd", control="a", test=test, correction="none").p_values[1] for data in sets]
    assert low <= np.sum(np.array(after) <= 0.1) <= high


def sums_of_aligned_ranks(data):
    """The statistic in the sums of García et al. (2010, page 2051)."""
    functions, count = data.shape
    ranks = scipy.stats.rankdata(data - data.mean(axis=1, keepdims=True)).reshape(data.shape)
    total = count * functions
    above = (ranks.sum(axis=0) ** 2).sum() - count * functions**2 / 4 * (total + 1) ** 2
    below = total * (total + 1) * (2 * total + 1) / 6 - (ranks.sum(axis=1) ** 2).sum() / count
    return (count - 1) * above / below


def test_aligned_ranks_in_sums():
    data = np.random.default_rng(7).normal(size=(9, 4)) + np.arange(9)[:, None]
    found = omnibus_test(data, test="aligned ranks")
    assert found.statistic == pytest.approx(sums_of_aligned_ranks(data))
    assert found.p_value == pytest.approx(scipy.stats.chi2.sf(sums_of_aligned_ranks(data), 3))


@pytest.mark.parametrize(
    ("data", "printed", "places"),
    [
        # Conover 1999, example of brands in shops, as the documentation of quade.test in R prints it
        ("5 4 7 10 12; 1 3 1 0 2; 16 12 22 22 35; 5 4 3 5 4; 10 9 7 13 10; 19 18 28 37 58; 10 7 6 8 7", 3.8293, 4),
        # quadetest of MATLAB's file exchange
        (
            "115 142 36 91 28; 28 31 7 21 6; 220 311 108 51 117; 82 56 24 46 33; 256 298 124 46 84; "
            "294 322 176 54 86; 98 87 55 84 25",
            10.3788,
            4,
        ),
    ],
)
def test_printed_examples_of_quades_test(data, printed, places):
    data = np.array([row.split() for row in data.split(";")], dtype=float)
    found = omnibus_test(data, test="quade")
    assert found.statistic == pytest.approx(printed, abs=0.6 * 10**-places)
    assert found.p_value == pytest.approx(scipy.stats.f.sf(printed, 4, 24), rel=1e-3)  # 0.01519 in the first one


def test_quades_test_of_two_algorithms_is_wilcoxons():
    data = np.random.default_rng(8).normal(size=(15, 2))
    wilcoxon = scipy.stats.wilcoxon(*data.T, method="asymptotic", correction=False)
    assert post_hoc(data, test="quade", control="0").p_values[1] == pytest.approx(wilcoxon.pvalue)


@pytest.mark.parametrize("test", ["aligned ranks", "quade"])
@pytest.mark.parametrize("ties", [False, True])
def test_z_has_variance_one_over_all_permutations(test, ties):
    """Of 3 algorithms on each of 3 functions there are 6³ permutations, which are equally likely without differences.

    Over them the mean of χ² of aligned ranks is 2, as that of its limit.
    """
    data = np.random.default_rng(9).normal(size=(3, 3)) * [[1], [10], [3]]
    data = np.round(data) if ties else data
    orders = list(itertools.permutations(range(3)))
    permuted = [
        np.array([row[list(order)] for row, order in zip(data, each, strict=True)])
        for each in itertools.product(orders, repeat=3)
    ]
    z = np.array([post_hoc(each, test=test, control="0").statistics[1:] for each in permuted])
    assert z.mean(axis=0) == pytest.approx([0, 0], abs=1e-12)
    assert (z**2).mean(axis=0) == pytest.approx([1, 1])
    if test == "aligned ranks":
        assert np.mean([omnibus_test(each, test=test).statistic for each in permuted]) == pytest.approx(2)


def test_functions_that_all_agree():
    data = np.arange(3.0) + np.arange(5)[:, None]
    found = omnibus_test(data, test="quade")
    assert found.statistic == np.inf
    assert found.p_value == pytest.approx(6.0**-4)  # that four others agree with the first one
    assert post_hoc(data, names="abc", test="quade").control == "a"


def test_aligned_ranks_compare_sizes_across_functions():
    """b is better on two functions by much, a on three by little."""
    data = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.1], [0.0, 0.1], [0.0, 0.1]])
    assert post_hoc(data, names="ab").control == "a"
    assert post_hoc(data, names="ab", test="aligned ranks").control == "b"


def test_equal_algorithms():
    data = np.tile(np.arange(5.0)[:, None], 3)
    assert omnibus_test(data).p_value == 1
    after = post_hoc(data, names="abc", test="anova")
    assert after.p_values[1:].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("measures", "options", "message"),
    [
        ([[1.0, 2.0]], {}, r"shape \(1, 2\)"),
        ([[1.0, 2.0], [np.inf, 1.0]], {}, r"measures\[1, 0\] is inf"),
        (
            [[1.0, 2.0], [2.0, 1.0]],
            {"test": "nemenyi"},
            "test is 'nemenyi'; it must be one of friedman, anova, aligned",
        ),
        ([[1.0, 2.0], [2.0, 1.0]], {"control": "z"}, "control is 'z'"),
    ],
)
def test_wrong_input_is_named(measures, options, message):
    with pytest.raises(ValueError, match=message):
        post_hoc(measures, names=["x", "y"], **options)

"""Deep statistical comparison: the ranking scheme by hand, invariances, and its error rate under the null."""

import itertools
import json

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from polarbear.assess.comparisons import anderson_darling, deep_comparison, deep_ranking
from polarbear.assess.comparisons.deep import ranks_from_likeness


def likeness(text):
    return np.array([[cell == "1" for cell in row] for row in text.split()])


def test_groups_share_ranks():
    alike = likeness("11000 11000 00101 00010 00101")  # {0, 1}, {2, 4}, {3}
    ranks, transitive = ranks_from_likeness(alike, [3.0, 5.0, 1.0, 2.0, 2.5])  # group means 4, 1.75, 2
    assert transitive
    assert ranks.tolist() == [4.5, 4.5, 1.5, 3, 1.5]


def test_without_transitivity_centres_rank():
    alike = likeness("110 111 011")  # 0 like 1 like 2, but 0 unlike 2
    ranks, transitive = ranks_from_likeness(alike, [2.0, 1.0, 1.0])
    assert not transitive
    assert ranks.tolist() == [3, 1.5, 1.5]


@given(st.lists(st.integers(0, 3), min_size=2, max_size=7), st.data())
def test_an_equivalence_gives_average_ranks_of_its_classes(classes, data):
    """With class means as data, the scheme is rankdata; this covers equations 5 to 7."""
    classes = np.array(classes)
    noise = np.array(data.draw(st.lists(st.floats(-0.1, 0.1), min_size=len(classes), max_size=len(classes))))
    ranks, transitive = ranks_from_likeness(classes[:, None] == classes, classes + noise)
    assert transitive
    assert ranks == pytest.approx(scipy.stats.rankdata(classes))


def sample(rng, *locations, size=25):
    return {name: rng.normal(location, 1, size) for name, location in zip("abcdefg", locations, strict=False)}


@pytest.mark.parametrize("criterion", ["anderson-darling", "kolmogorov-smirnov"])
def test_clear_differences(criterion):
    rng = np.random.default_rng(1)
    groups = {f"f{i}": sample(rng, 5, 0, 5, 20) for i in range(6)}
    ranking = deep_ranking(groups, criterion=criterion, alpha=1e-3)
    assert ranking.ranks.tolist() == [[2.5, 1, 2.5, 4]] * 6
    assert ranking.transitive.all()
    assert ranking.mean_ranks.tolist() == [2.5, 1, 2.5, 4]
    assert ranking.rows()[0] == {"function": "f0", "a": 2.5, "b": 1, "c": 2.5, "d": 4}
    assert ranking.adjusted.shape == (6, 4, 4)


def test_the_pairwise_tests_decide():
    rng = np.random.default_rng(2)
    groups = {"f": sample(rng, 0, 0.4, 0.8, 1.2)}
    tests = anderson_darling(groups["f"], correction="bonferroni")
    alike = ~(tests.better | tests.better.T)
    expected = ranks_from_likeness(alike, [runs.mean() for runs in groups["f"].values()])
    ranking = deep_ranking(groups)
    assert ranking.ranks[0].tolist() == expected[0].tolist()
    assert ranking.transitive[0] == expected[1]
    np.testing.assert_array_equal(ranking.adjusted[0], tests.adjusted)


def test_permuting_algorithms_permutes_ranks():
    rng = np.random.default_rng(3)
    groups = {f"f{i}": sample(rng, *rng.uniform(0, 2, 5)) for i in range(5)}
    ranking = deep_ranking(groups)
    shuffled = deep_ranking({f: {name: runs[name] for name in "daceb"} for f, runs in groups.items()})
    np.testing.assert_array_equal(shuffled.ranks, ranking.ranks[:, ["abcde".index(name) for name in "daceb"]])


def test_failures_need_another_centre():
    groups = {"f": {"a": np.arange(9.0), "b": np.r_[np.arange(8.0) + 50, np.inf], "c": np.full(9, np.inf)}}
    with pytest.raises(ValueError, match='runs failed on f, so a mean is infinite; use centre="mean rank"'):
        deep_ranking(groups)
    with pytest.raises(ValueError, match="a median is infinite"):
        deep_ranking(groups, centre="median")
    assert deep_ranking(groups, centre="mean rank").ranks.tolist() == [[1, 2, 3]]


def test_whole_comparison_finds_the_best_and_who_differs():
    rng = np.random.default_rng(4)
    groups = {f"f{i}": sample(rng, 0, 0, 3, 3) for i in range(24)}
    found = deep_comparison(groups)
    assert found.omnibus.rejected
    assert found.post_hoc is not None
    assert found.post_hoc.control in {"a", "b"}
    different = dict(zip("abcd", found.post_hoc.different, strict=True))
    assert different["c"]
    assert different["d"]
    assert not different["a"]
    assert not different["b"]
    told = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert told["ranking"]["functions"][:2] == ["f0", "f1"]
    assert told["post_hoc"]["control"] in {"a", "b"}


def test_equal_algorithms_are_not_compared_further():
    runs = np.arange(10.0)
    found = deep_comparison({f"f{i}": {"a": runs, "b": runs, "c": runs} for i in range(5)})
    assert found.ranking.ranks.tolist() == [[2, 2, 2]] * 5
    assert found.omnibus.p_value == 1
    assert found.post_hoc is None


@pytest.mark.parametrize("criterion", ["anderson-darling", "kolmogorov-smirnov"])
def test_draws_have_the_median_over_all_orders(criterion):
    """Five runs can stand beside five others in 5! ways."""
    first, second = np.array([0.0, 1.1, 2.3, 3.2, 4.7]), np.array([0.9, 2.0, 4.1, 5.3, 6.6])

    def united(order):
        one, other = first.copy(), second[list(order)]
        for k in range(5):
            if abs(one[k] - other[k]) <= 1.5:
                one[k] = other[k] = (one[k] + other[k]) / 2
        if criterion == "kolmogorov-smirnov":
            distance = scipy.stats.ks_2samp(one, other, method="asymp").statistic
            return 1.0 if distance < 0.3 else scipy.stats.ks_2samp(one, other).pvalue  # 1/5 is always exceeded
        return anderson_darling({"a": one, "b": other}, correction="none").p_values[0, 1]

    expected = np.median([united(order) for order in itertools.permutations(range(5))])
    how = {"criterion": criterion, "epsilon": 1.5, "draws": 4001}
    found = deep_ranking({"f": {"a": first, "b": second}}, rng=np.random.default_rng(1), **how)
    assert found.adjusted[0, 0, 1] == pytest.approx(expected, rel=1e-9)
    assert found.adjusted[0, 1, 0] == found.adjusted[0, 0, 1]
    assert np.isnan(found.adjusted[0, 0, 0])


def test_practical_differences_of_runs():
    """b is better than a by 1, and c by 9; what an ε above all differences unites is alike, failures are not."""
    runs = np.arange(20.0) / 100
    groups = {"f": {"a": runs + 9, "b": runs + 8, "c": runs, "d": np.where(runs < 0.05, runs + 8, np.inf)}}
    for epsilon, ranks in ((0.5, [3, 2, 1, 4]), (2, [2.5, 2.5, 1, 4]), (100, [2, 2, 2, 4])):
        how = {"epsilon": epsilon, "draws": 30, "rng": np.random.default_rng(2), "centre": "mean rank"}
        assert deep_ranking(groups, **how).ranks.tolist() == [ranks]
    few = {"f": {"a": runs[:9] + 9, "b": runs + 8}}
    assert deep_ranking(few, epsilon=0.5, draws=3, rng=np.random.default_rng(2)).ranks.tolist() == [[2, 1]]


@pytest.mark.statistical
@pytest.mark.parametrize("practical", [{}, {"epsilon": 0.2, "draws": 20}])
def test_false_differences_are_as_rare_as_promised(practical):
    """300 functions with 4 equal algorithms at alpha = 0.1; the bound is the 0.9999 quantile of Binomial(300, 0.1)."""
    rng = np.random.default_rng(5)
    groups = {f"f{i}": sample(rng, 0, 0, 0, 0, size=15) for i in range(300)}
    ranking = deep_ranking(groups, alpha=0.1, rng=rng, **practical)
    assert (ranking.ranks != 2.5).any(axis=1).sum() <= scipy.stats.binom.ppf(0.9999, 300, 0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "t"}, "criterion is 't'"),
        ({"centre": "mode"}, "centre"),
        ({"draws": 9}, "draws is 9 but epsilon is 0, so no runs would be merged; set epsilon above 0"),
        ({"draws": 9, "epsilon": 1}, "draws is 9 but rng is not given"),
        ({"draws": -1, "epsilon": 1}, "draws"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        deep_ranking({"f": {"a": [1.0, 2, 3], "b": [4.0, 5, 6]}}, **options)

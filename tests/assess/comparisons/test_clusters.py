"""Clustered ranks against scipy's trees, practical differences, group sizes of Shapley values, correlations."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from scipy.cluster import hierarchy

from polarbear.assess import cluster_ranks, contributions, deep_ranking, parameter_correlation, shapley_values


def rng():
    return np.random.default_rng(5)


def groups(shift=1.0):
    draw = rng()
    return {f"f{k}": {f"a{i}": draw.normal(i * shift, 1, 12) for i in range(5)} for k in range(7)}


def test_leaves_and_heights_are_those_of_the_linkage():
    ranking = deep_ranking(groups())
    found = cluster_ranks(ranking)
    linkage = hierarchy.linkage(ranking.ranks.T, "average", optimal_ordering=True)
    assert found.names == tuple(ranking.names[i] for i in hierarchy.leaves_list(linkage))
    np.testing.assert_allclose([heights[1] for _, heights in found.name_tree], linkage[:, 2])
    for i, name in enumerate(found.names):
        for j, function in enumerate(found.functions):
            expected = ranking.ranks[ranking.functions.index(function), ranking.names.index(name)]
            assert found.ranks[i, j] == expected
    drawn = hierarchy.dendrogram(linkage, no_plot=True)
    ours = sorted((*places, height) for places, (_, height, _) in found.name_tree)
    theirs = sorted(
        (x[0] / 10 - 0.5, x[3] / 10 - 0.5, y[1]) for x, y in zip(drawn["icoord"], drawn["dcoord"], strict=True)
    )
    np.testing.assert_allclose(ours, theirs)


def test_a_single_function_is_a_tree_of_one_leaf():
    found = cluster_ranks(deep_ranking({"f1": groups()["f1"]}))
    assert found.functions == ("f1",)
    assert found.function_tree == ()


def test_what_is_not_practically_different_shares_a_rank():
    apart = {"f1": {"A": np.linspace(0, 0.001, 20), "B": np.linspace(1, 1.001, 20), "C": np.linspace(9, 9.001, 20)}}
    assert deep_ranking(apart).ranks.tolist() == [[1, 2, 3]]
    assert deep_ranking(apart, epsilon=1.01).ranks.tolist() == [[1.5, 1.5, 3]]
    assert deep_ranking(apart, epsilon=0.99).ranks.tolist() == [[1, 2, 3]]
    with pytest.raises(ValueError, match="epsilon is 1, in units of the values"):
        deep_ranking(apart, epsilon=1, centre="mean rank")
    with pytest.raises(ValueError, match="epsilon is -1"):
        deep_ranking(apart, epsilon=-1)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_group_sizes_average_over_the_first_places(size):
    worth = rng().random(16)
    expected = np.zeros((4, 2))
    for order in permutations(range(4)):
        for place, player in enumerate(order[:size]):
            before = sum(1 << other for other in order[:place])
            expected[player] += worth[before | 1 << player] - worth[before], 1
    np.testing.assert_allclose(shapley_values(worth, group_size=size), expected[:, 0] / expected[:, 1])


def test_sampled_group_sizes_tend_to_the_exact_ones():
    attained = np.sort(rng().random((4, 3, 5)), axis=2)
    options = {"times": [1, 2, 3, 4, 5], "group_size": 2}
    exact = contributions(attained, **options)
    sampled = contributions(attained, permutations=4000, rng=rng(), **options)
    assert (np.abs(sampled.shapley - exact.shapley) < 4.5 * sampled.standard_error).all()
    with pytest.raises(ValueError, match="group_size is 5"):
        contributions(attained, times=[1, 2, 3, 4, 5], group_size=5)


@pytest.mark.parametrize("method", ["spearman", "pearson"])
def test_correlation_is_that_of_the_known_pairs_in_the_window(method):
    first, second = rng().normal(size=(2, 6, 5))
    first[0, 1] = np.nan
    found = parameter_correlation(first, second, window=3, method=method)
    measure = stats.spearmanr if method == "spearman" else stats.pearsonr
    known = ~np.isnan(first[:, :3].ravel())
    expected = measure(first[:, :3].ravel()[known], second[:, :3].ravel()[known]).statistic
    assert found[1] == pytest.approx(expected)
    assert found[4] == pytest.approx(measure(first[:, 3:].ravel(), second[:, 3:].ravel()).statistic)


def test_correlation_of_what_does_not_vary_is_unknown():
    assert np.isnan(parameter_correlation(np.ones((5, 2)), rng().normal(size=(5, 2)))).all()
    with pytest.raises(ValueError, match="window is 2"):
        parameter_correlation(np.ones((5, 2)), np.ones((5, 2)), window=2)
    with pytest.raises(ValueError, match="shapes"):
        parameter_correlation(np.ones((5, 2)), np.ones((5, 3)))

"""The partial order: axioms, minimality of what is drawn, cycles."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polarbear.assess.comparisons import kolmogorov_smirnov, partial_order


@st.composite
def relations(draw, acyclic=False):
    n = draw(st.integers(1, 6))
    cells = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    better = np.array(cells).reshape(n, n)
    if acyclic:
        better = np.triu(better, 1)
        permutation = np.array(draw(st.permutations(range(n))))
        better = better[np.ix_(permutation, permutation)]
    return better


def closure(relation):
    """Warshall's algorithm, as an independent reference."""
    reach = relation.copy()
    for k, i, j in itertools.product(range(len(relation)), repeat=3):
        reach[i, j] |= reach[i, k] & reach[k, j]
    return reach


@given(relations())
def test_is_a_strict_partial_order(better):
    order = partial_order(better).order
    assert not order.diagonal().any()
    assert not (order & order.T).any()
    assert not ((order.astype(int) @ order.astype(int) > 0) & ~order).any()


@given(relations(acyclic=True))
def test_without_cycles_it_is_the_transitive_closure(better):
    found = partial_order(better)
    np.testing.assert_array_equal(found.order, closure(better))
    np.testing.assert_array_equal(found.implied, closure(better) & ~better)
    assert found.cycles == ()


@given(relations())
def test_edges_are_the_fewest_from_which_the_order_follows(better):
    found = partial_order(better)
    np.testing.assert_array_equal(closure(found.edges), found.order)
    for i, j in np.argwhere(found.edges):
        fewer = found.edges.copy()
        fewer[i, j] = False
        assert not closure(fewer)[i, j]


@given(relations())
def test_cycles_are_those_who_reach_each_other(better):
    np.fill_diagonal(better, val=False)
    reach = closure(better)
    mutual = reach & reach.T
    together = {tuple(np.flatnonzero(row)) for row in mutual if row.any()}
    assert {tuple(int(name) for name in cycle) for cycle in partial_order(better).cycles} == together


@given(relations())
def test_levels_are_longest_chains(better):
    found = partial_order(better)
    for i, level in enumerate(found.levels):
        above = np.flatnonzero(found.order[:, i])
        assert level == (max(found.levels[above]) + 1 if above.size else 0)


def test_by_hand():
    better = np.zeros((5, 5), dtype=bool)
    for i, j in ["ab", "bc", "ac", "cd", "dc", "be"]:
        better["abcde".index(i), "abcde".index(j)] = True
    found = partial_order(better, "abcde")
    assert [(row["better"], row["worse"], row["implied"]) for row in found.rows()] == [
        ("a", "b", False),
        ("b", "c", False),
        ("b", "d", True),  # b beats c, and d is in a circle with c
        ("b", "e", False),
    ]
    assert found.cycles == (("c", "d"),)
    assert found.unbeaten == ("a",)
    assert found.levels.tolist() == [0, 1, 2, 2, 2]
    assert found.as_dict()["order"][0] == [False, True, True, True, True]


def test_crossing_distributions_stay_incomparable():
    runs = {
        "narrow": np.linspace(-1, 1, 60),
        "wide": np.linspace(-10, 10, 60),
        "worse": np.linspace(20, 30, 60),
    }
    tests = kolmogorov_smirnov(runs)
    found = partial_order(tests.better, tests.names)
    assert found.cycles == (("narrow", "wide"),)
    assert {(row["better"], row["worse"]) for row in found.rows()} == {("narrow", "worse"), ("wide", "worse")}


@pytest.mark.parametrize(
    ("better", "names", "message"),
    [
        (np.zeros((2, 3)), None, r"shape \(2, 3\)"),
        (np.zeros((2, 2)), ["a"], "a different name for each of 2 algorithms"),
        (np.zeros((2, 2)), ["a", "a"], "a different name for each of 2 algorithms"),
    ],
)
def test_wrong_input_is_named(better, names, message):
    with pytest.raises(ValueError, match=message):
        partial_order(better, names)

"""Shapley values of tests against their definition: what each adds, over all orders."""

from itertools import permutations

import numpy as np
import pytest

from polarbear.bias import contributions


def by_orders(rejected, most):
    """The mean over all orders of what each test adds among the first `most` (equations 3.2 and 3.3)."""
    tests, added = len(rejected), np.zeros(len(rejected))
    orders = list(permutations(range(tests)))
    for order in orders:
        before = np.zeros(rejected.shape[1], dtype=bool)
        for test in order[:most]:
            added[test] += (rejected[test] & ~before).sum()
            before |= rejected[test]
    return added / len(orders) / rejected.shape[1]


@pytest.mark.parametrize("most", [1, 3, 6])
def test_contributions_are_means_over_all_orders(most):
    rejected = np.random.default_rng(1).random((6, 40)) < np.array([[0.0], [0.1], [0.3], [0.3], [0.6], [0.9]])
    np.testing.assert_allclose(contributions(rejected, most=most), by_orders(rejected, most), rtol=1e-12)


def test_they_add_up_to_what_all_find_and_equal_tests_share():
    rejected = np.random.default_rng(2).random((36, 500)) < 0.02
    rejected[1] = rejected[0]
    found = contributions(rejected)
    assert found.sum() == pytest.approx(rejected.any(axis=0).mean(), rel=1e-12)
    assert found[0] == found[1]


def test_wrong_rejections_are_named():
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        contributions([True, False, True])
    with pytest.raises(ValueError, match="most"):
        contributions(np.ones((3, 2)), most=4)

"""Who is best on which instances, by counting."""

import numpy as np

from polarbear.racing.strata import average_share, best_shares


def test_shares_are_counts_by_group_and_ties_are_shared():
    values = np.array(
        [
            [[1.0, 2.0], [2.0, 1.0]],
            [[1.0, 2.0], [1.0, 1.0]],
            [[1.0, 2.0], [1.0, np.nan]],
            [[3.0, 2.0], [1.0, np.nan]],
            [[3.0, 2.0], [1.0, 2.0]],
        ]
    )
    shares = best_shares(values, ["a", "a", "a", "b", ""])
    assert {group: instances for group, (instances, _) in shares.items()} == {"a": 3, "b": 1}
    np.testing.assert_array_equal(shares["a"][1], [[1, 0], [0.25, 0.75]])
    np.testing.assert_array_equal(shares["b"][1], [[0, 1], [np.nan, np.nan]])
    np.testing.assert_array_equal(average_share(shares["a"][1]), [0.625, 0.375])
    np.testing.assert_array_equal(average_share(shares["b"][1]), [0, 1])
    assert np.isnan(average_share(shares["b"][1][1:])).all()


def test_values_that_agree_to_the_precision_tie():
    values = np.array([[[1.001, 1.002, 3.0]]])
    np.testing.assert_array_equal(best_shares(values, ["a"], precision=0.1)["a"][1], [[0.5, 0.5, 0]])


def test_a_permutation_of_instances_and_algorithms_changes_nothing():
    rng = np.random.default_rng(1)
    values, groups = rng.normal(size=(40, 3, 4)), rng.choice(["x", "y"], 40)
    order, columns = rng.permutation(40), rng.permutation(4)
    there, back = best_shares(values, groups), best_shares(values[order][:, :, columns], groups[order])
    for group in "xy":
        np.testing.assert_allclose(back[group][1], there[group][1][:, columns])
        np.testing.assert_allclose(there[group][1].sum(axis=1), 1)

import numpy as np
import pytest

from polarbear import inference
from polarbear.rankings import choice_counts, virtual_algorithm


@pytest.mark.statistical
def test_a_portfolio_of_best_values_wins_with_the_sum_of_its_members_ratings():
    """Equation 8: P(best of S beats C) = θ_S / (θ_S + θ_C), when utilities are Gumbel; 4 standard errors."""
    rng = np.random.default_rng(0)
    ratings = np.array([0.2, 0.3, 0.5])
    values = -(np.log(ratings) + rng.gumbel(size=(4000, 1, 3)))
    with_portfolio = virtual_algorithm(values, [0, 1])
    np.testing.assert_array_equal(with_portfolio[..., 0], values[..., 2])
    np.testing.assert_array_equal(with_portfolio[..., 1], values[..., :2].min(axis=2))
    posterior = inference.fit(choice_counts(with_portfolio), names=["C", "A + B"], rng=np.random.default_rng(1))
    assert posterior.mean()[0] == pytest.approx([0.5, 0.5], abs=4 * 0.5 / np.sqrt(4000))


@pytest.mark.statistical
def test_members_left_in_would_mislead():
    """A portfolio of two against a rival as good as both together, by Gumbel utilities; 4 standard errors."""
    rng = np.random.default_rng(2)
    values = -(np.log([0.2, 0.2, 0.4, 0.2]) + rng.gumbel(size=(4000, 1, 4)))
    alone = virtual_algorithm(values, [0, 1])
    with_members = np.concatenate([alone, values[..., :2]], axis=2)
    right, wrong = (
        inference.fit(choice_counts(cells), names="CDPAB"[: cells.shape[2]], rng=rng).win_probability("P", "C").mean()
        for cells in (alone, with_members)
    )
    assert right == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(4000))
    assert wrong > 0.54


def test_any_outcome_can_be_combined_and_unknown_members_leave_it_unknown():
    values = np.array([[[1.0, 2.0, np.nan]], [[np.inf, 3.0, 4.0]]])
    summed = virtual_algorithm(values, [1, 0], combine=lambda v: v.sum(axis=2))
    np.testing.assert_array_equal(summed[:, 0], [[np.nan, 3.0], [4.0, np.inf]])
    np.testing.assert_array_equal(virtual_algorithm(values, [1, 2])[:, 0, 1], [np.nan, 3.0])
    np.testing.assert_array_equal(virtual_algorithm(values, [1, 2], combine=lambda v: v[..., 0])[:, 0, 1], [np.nan, 3])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[1.0]], [0]), r"values has shape \(1, 1\)"),
        (([[[1.0, 2.0]]], []), "members are"),
        (([[[1.0, 2.0]]], [2]), r"at least one index, from 0 to 1"),
        (([[[1.0, 2.0]]], [1, 1]), r"members are \[1, 1\]; give each index once"),
        (([[[1.0, 2.0]]], [0], lambda v: v), r"combine returned shape \(1, 1, 1\)"),
    ],
)
def test_impossible_portfolios_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        virtual_algorithm(*arguments)

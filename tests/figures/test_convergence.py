"""Lines and bands are the quantiles, and end where nothing is known."""

import numpy as np
import pytest

from polarbear import figures
from tests.figures.marks import assert_readable, crowd, drawn, names_shown, one, step_values

BUDGETS = np.array([10.0, 100.0, 1000.0, 10_000.0])
QUANTILES = {
    "A": [[1.0, 0.1, 0.01, 0.001], [10.0, 1.0, 0.1, 0.01], [100.0, 10.0, 1.0, 0.1]],
    "B": [[2.0, 1.0, np.nan, np.nan], [3.0, 2.0, np.nan, np.nan], [4.0, 3.0, np.nan, np.nan]],
}


def heights(band, x):
    """Lowest and highest corner of a band at a budget."""
    corners = np.concatenate([path.vertices for path in band.get_paths()])
    at = corners[corners[:, 0] == x, 1]
    return at.min(), at.max()


class TestConvergence:
    def test_lines_are_medians_and_bands_reach_from_the_lowest_to_the_highest(self):
        figure = figures.convergence(BUDGETS, QUANTILES)
        for index, name in enumerate("AB"):
            x, y = step_values(one(figure, f"middle-{index}"))
            np.testing.assert_array_equal(x, BUDGETS)
            np.testing.assert_array_equal(y, QUANTILES[name][1])
        for place, budget in enumerate(BUDGETS):
            expected = (QUANTILES["A"][0][place], QUANTILES["A"][2][place])
            assert heights(one(figure, "band-0-0"), budget) == expected

    def test_bands_end_with_what_is_known(self):
        figure = figures.convergence(BUDGETS, QUANTILES)
        corners = np.concatenate([path.vertices for path in one(figure, "band-1-0").get_paths()])
        assert corners[:, 0].max() == 100
        x, y = step_values(one(figure, "lead"))
        assert (x[0], set(y)) == (100, {2.0})

    def test_five_levels_make_two_bands_one_within_the_other(self):
        table = np.array([1.0, 2.0, 4.0, 6.0, 9.0])[:, np.newaxis] * np.ones(4)
        figure = figures.convergence(BUDGETS, {"A": table}, levels=(0.05, 0.25, 0.5, 0.75, 0.95))
        assert heights(one(figure, "band-0-0"), 100) == (1, 9)
        assert heights(one(figure, "band-0-1"), 100) == (2, 6)
        assert set(step_values(one(figure, "middle-0"))[1]) == {4.0}

    def test_axes_are_log_where_that_says_more(self):
        assert figures.convergence(BUDGETS, QUANTILES).axes[0].get_yscale() == "log"
        narrow = {"A": np.array([[100.0] * 4, [101.0] * 4, [103.0] * 4])}
        assert figures.convergence(BUDGETS, narrow).axes[0].get_yscale() == "linear"
        negative = {"A": np.array([[-100.0] * 4, [1.0] * 4, [100.0] * 4])}
        assert figures.convergence(BUDGETS, negative).axes[0].get_yscale() == "linear"
        with pytest.raises(ValueError, match="-100 cannot be drawn on a log axis"):
            figures.convergence(BUDGETS, negative, value_spacing="log")
        assert figures.convergence(BUDGETS, narrow, value_spacing="log").axes[0].get_yscale() == "log"

    def test_zero_lies_on_the_lower_edge_and_is_named_there(self):
        figure = figures.convergence(BUDGETS, {"A": np.array([[1.0, 0.1, 0.01, 0.0]])}, levels=(0.5,))
        figure.draw_without_rendering()
        low = figure.axes[0].get_ylim()[0]
        y = step_values(one(figure, "middle-0"))[1]
        np.testing.assert_array_equal(y[:3], [1, 0.1, 0.01])
        assert y[3] == low < 0.01 / 5
        assert figure.axes[0].get_yticklabels()[0].get_text() == "0"

    def test_more_than_eight_algorithms_have_lines_alone(self):
        table = np.ones((3, 4)) * np.array([[1.0], [2.0], [3.0]])
        assert drawn(figures.convergence(BUDGETS, dict.fromkeys(crowd(8), table)), "band-7-0")
        figure = figures.convergence(BUDGETS, dict.fromkeys(crowd(9), table))
        assert not drawn(figure, "band-8-0")
        assert set(step_values(one(figure, "middle-8"))[1]) == {2.0}

    def test_who_has_no_data_is_noted(self):
        figure = figures.convergence(BUDGETS, {**QUANTILES, "C": np.full((3, 4), np.nan)})
        assert one(figure, "no-data").get_text() == "no data: C"
        assert names_shown(figure) == ["B", "A"]

    def test_one_budget_becomes_points_with_bars(self):
        figure = figures.convergence([100.0], {"A": [[1.0], [2.0], [3.0]]})
        assert one(figure, "middle-0").get_marker() == "o"
        np.testing.assert_array_equal(one(figure, "band-0-0").get_segments()[0], [[100, 1], [100, 3]])

    def test_nothing_known_at_all_is_drawn_and_said(self):
        figure = figures.convergence(BUDGETS, {"A": np.full((3, 4), np.nan)})
        assert one(figure, "no-data").get_text() == "no data: A"
        figures.svg(figure)

    @pytest.mark.parametrize(("n", "width"), [(1, 7.2), (8, 7.2), (20, 7.2), (6, 3.5)])
    def test_labels_can_be_read(self, n, width):
        rng = np.random.default_rng(n)
        budgets = np.geomspace(10, 1e6, 50)
        table = {
            name: np.sort(100 * rng.random((3, 1)) * budgets ** -rng.uniform(0.1, 1.5), axis=0) for name in crowd(n)
        }
        assert_readable(figures.convergence(budgets, table, width=width))

    def test_wrong_input_is_named(self):
        with pytest.raises(ValueError, match=r"quantiles of 'A': shape is \(3, 3\); expected \(3, 4\)"):
            figures.convergence(BUDGETS, {"A": np.ones((3, 3))})
        with pytest.raises(ValueError, match="their number must be odd"):
            figures.convergence(BUDGETS, {"A": np.ones((2, 4))}, levels=(0.25, 0.75))
        with pytest.raises(ValueError, match="levels must be one or more finite, strictly increasing"):
            figures.convergence(BUDGETS, QUANTILES, levels=(0.5, 0.25, 0.75))
        with pytest.raises(ValueError, match="budgets must be one or more finite, strictly increasing"):
            figures.convergence([1.0, np.nan], {"A": np.ones((3, 2))})
        with pytest.raises(ValueError, match="budget 0 cannot be drawn on a log axis"):
            figures.convergence([0.0, 10.0], {"A": np.ones((3, 2))}, spacing="log")


class TestParameters:
    def test_over_time_the_axis_is_the_parameter(self):
        figure = figures.parameter_over_time(BUDGETS, QUANTILES, "step size σ")
        assert figure.axes[0].get_ylabel() == "step size σ"
        np.testing.assert_array_equal(step_values(one(figure, "middle-0"))[1], QUANTILES["A"][1])

    def test_over_targets_the_easy_ones_come_first(self):
        targets = np.array([1e-8, 1e-4, 1.0, 100.0])
        figure = figures.parameter_over_targets(targets, {"A": QUANTILES["A"]}, "σ")
        x, y = step_values(one(figure, "middle-0"))
        np.testing.assert_array_equal(x, targets[::-1])
        np.testing.assert_array_equal(y, QUANTILES["A"][1][::-1])
        left, right = figure.axes[0].get_xlim()
        assert left > 100 > 1e-8 > right


def test_a_long_name_of_a_parameter_is_cut_in_its_middle_and_no_mathematics():
    name = "mean log ratio of $x_1$ to a logged quantity, log10 evaluations, of the last generation"
    table = {"A": np.ones((3, 3))}
    for draw in (figures.parameter_over_time, figures.parameter_over_targets):
        figure = draw([1, 10, 100], table, name, width=3.5)
        assert_readable(figure)
        assert figure.axes[0].get_ylabel().startswith(r"mean log ratio of \$x")

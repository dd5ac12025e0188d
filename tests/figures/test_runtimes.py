"""Expected runtimes: lines are the numbers given, and successes can be told from failures."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from polarbear import figures
from tests.figures.marks import assert_readable, crowd, drawn, names_shown, one, step_values

TARGETS = np.array([1e2, 1e0, 1e-2, 1e-4])
ERT = {"A": [10.0, 100.0, 1000.0, 1e4], "B": [20.0, 300.0, np.inf, np.inf], "C": [np.inf] * 4}
SUCCESSES = {"A": [15, 15, 15, 12], "B": [15, 4, 0, 0], "C": [0, 0, 0, 0]}
DIMENSIONS = np.array([2, 5, 20])
SCALING = {"A": [20.0, 100.0, 4000.0], "B": [200.0, np.inf, np.inf]}
SPENT = {"A": [1e4] * 3, "B": [2e3, 5e3, 2e4]}


class TestTargets:
    def test_lines_end_at_the_hardest_target_reached(self):
        figure = figures.ert_over_targets(TARGETS, ERT)
        np.testing.assert_array_equal(step_values(one(figure, "ert-0")), [TARGETS, ERT["A"]])
        np.testing.assert_array_equal(step_values(one(figure, "ert-1"))[1], [20, 300, np.nan, np.nan])
        assert [to_hex(lead.get_color()) for lead in drawn(figure, "lead")][-1] == to_hex(
            one(figure, "ert-1").get_color()
        )

    def test_easy_targets_come_first_in_whatever_order_they_are_given(self):
        figure = figures.ert_over_targets(TARGETS[::-1], {"A": ERT["A"][::-1]})
        np.testing.assert_array_equal(step_values(one(figure, "ert-0")), [TARGETS, ERT["A"]])
        left, right = figure.axes[0].get_xlim()
        assert left > TARGETS[0] > TARGETS[-1] > right

    def test_lines_are_solid_where_all_runs_were_successful(self):
        figure = figures.ert_over_targets(TARGETS, ERT, successes=SUCCESSES, runs=15)
        np.testing.assert_array_equal(step_values(one(figure, "sure-0"))[1], [10, 100, 1000, np.nan])
        np.testing.assert_array_equal(step_values(one(figure, "sure-1"))[1], [20, np.nan, np.nan, np.nan])
        assert one(figure, "ert-0").is_dashed()
        assert not one(figure, "sure-0").is_dashed()

    def test_names_tell_the_successes_at_the_last_target_reached(self):
        figure = figures.ert_over_targets(TARGETS, ERT, successes=SUCCESSES, runs=15)
        assert names_shown(figure) == ["A  12/15", "B  4/15"]
        assert one(figure, "no-data").get_text() == "no data: C"

    def test_targets_below_zero_have_a_linear_axis(self):
        figure = figures.ert_over_targets([1.0, 0.0, -1.0], {"A": [1.0, 2.0, 3.0]})
        assert figure.axes[0].get_xscale() == "linear"
        assert figures.ert_over_targets(TARGETS, ERT).axes[0].get_xscale() == "log"

    def test_a_target_of_zero_is_at_the_hard_end_of_a_log_axis(self):
        figure = figures.ert_over_targets([1.0, 0.01, 0.0], {"A": [1.0, 2.0, 3.0]})
        figure.draw_without_rendering()
        assert step_values(one(figure, "ert-0"))[0][-1] == figure.axes[0].get_xlim()[1]
        assert "0" in [label.get_text() for label in figure.axes[0].get_xticklabels()]

    def test_wrong_input_is_named(self):
        with pytest.raises(ValueError, match=r"ERT of 'A': shape is \(3,\); expected \(4,\)"):
            figures.ert_over_targets(TARGETS, {"A": [1.0, 2.0, 3.0]})
        with pytest.raises(ValueError, match="targets must be one or more finite, strictly increasing"):
            figures.ert_over_targets([1.0, 1.0], {"A": [1.0, 2.0]})
        with pytest.raises(ValueError, match="without `runs`"):
            figures.ert_over_targets(TARGETS, ERT, successes=SUCCESSES)
        with pytest.raises(ValueError, match="successes of 'A' must lie between 0 and 10"):
            figures.ert_over_targets(TARGETS, ERT, successes=SUCCESSES, runs=10)
        with pytest.raises(ValueError, match="no expected runtime to draw"):
            figures.ert_over_targets(TARGETS, {})

    @pytest.mark.parametrize(("n", "width"), [(1, 7.2), (20, 7.2), (5, 3.5)])
    def test_labels_can_be_read(self, n, width):
        rng = np.random.default_rng(n)
        targets = 10 ** np.linspace(2, -8, 51)
        ert, successes = {}, {}
        for name in crowd(n):
            successes[name] = np.clip(15 - np.cumsum(rng.random(51) < 0.4), 0, 15)
            ert[name] = np.where(successes[name], np.cumprod(1 + rng.random(51) / 2) * 10, np.inf)
        figure = figures.ert_over_targets(targets, ert, successes=successes, runs=15, width=width)
        again = figures.ert_over_targets(targets, ert, successes=successes, runs=15, width=width)
        assert figures.svg(figure) == figures.svg(again)
        assert_readable(figure)


class TestDimensions:
    def test_runtimes_are_per_dimension(self):
        figure = figures.ert_over_dimension(DIMENSIONS, SCALING)
        np.testing.assert_array_equal(step_values(one(figure, "ert-0")), [DIMENSIONS, [10, 20, 200]])
        np.testing.assert_array_equal(step_values(one(figure, "ert-1"))[1], [100, np.nan, np.nan])

    def test_budgets_stand_only_where_no_run_was_successful(self):
        figure = figures.ert_over_dimension(DIMENSIONS, SCALING, spent=SPENT)
        assert np.isnan(step_values(one(figure, "spent-0"))[1]).all()
        np.testing.assert_array_equal(step_values(one(figure, "spent-1"))[1], [np.nan, 1000, 1000])

    def test_slanted_rules_have_slope_one_and_scale_is_log(self):
        figure = figures.ert_over_dimension(DIMENSIONS, SCALING)
        rules = drawn(figure, "quadratic")
        assert rules
        for rule in rules:
            x, y = step_values(rule)
            assert np.diff(np.log(y))[0] == pytest.approx(np.diff(np.log(x))[0])
        assert (figure.axes[0].get_xscale(), figure.axes[0].get_yscale()) == ("log", "log")
        figure.draw_without_rendering()
        assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["2", "5", "20"]

    def test_dots_are_hollow_and_numbered_where_some_runs_failed(self):
        counts = {"A": [15, 15, 7], "B": [3, 0, 0]}
        figure = figures.ert_over_dimension(DIMENSIONS, SCALING, successes=counts, runs=15)
        np.testing.assert_array_equal(step_values(one(figure, "all-0"))[1], [10, 20, np.nan])
        np.testing.assert_array_equal(step_values(one(figure, "some-0"))[1], [np.nan, np.nan, 200])
        assert to_hex(one(figure, "some-0").get_markerfacecolor()) == "#ffffff"
        assert sorted(text.get_text() for text in drawn(figure, "successes")) == ["3", "7"]

    def test_more_than_eight_algorithms_have_no_numbers(self):
        ert = dict.fromkeys(crowd(9), SCALING["A"])
        figure = figures.ert_over_dimension(DIMENSIONS, ert, successes=dict.fromkeys(ert, (15, 1, 1)), runs=15)
        assert not drawn(figure, "successes")

    def test_never_solved_and_nothing_spent_is_noted(self):
        figure = figures.ert_over_dimension(DIMENSIONS, {**SCALING, "C": [np.inf] * 3})
        assert one(figure, "no-data").get_text() == "no data: C"

    @pytest.mark.parametrize(("n", "width"), [(1, 7.2), (20, 7.2), (4, 3.5)])
    def test_labels_can_be_read(self, n, width):
        rng = np.random.default_rng(n)
        dimensions = np.array([2, 3, 5, 10, 20, 40])
        ert = {name: 10 ** rng.uniform(1, 3) * dimensions ** rng.uniform(1, 2.5) for name in crowd(n)}
        assert_readable(figures.ert_over_dimension(dimensions, ert, width=width))

    def test_one_dimension_is_enough(self):
        figures.svg(figures.ert_over_dimension([5], {"A": [100.0]}))

    def test_wrong_input_is_named(self):
        with pytest.raises(ValueError, match="dimensions must be one or more finite, strictly increasing"):
            figures.ert_over_dimension([5, 2], {"A": [1.0, 2.0]})
        with pytest.raises(ValueError, match=r"largest budget of 'A': shape is \(2,\)"):
            figures.ert_over_dimension(DIMENSIONS, SCALING, spent={"A": [1.0, 2.0]})


def test_labels_of_many_dimensions_do_not_touch_and_the_last_one_stays():
    dimensions = [2, 3, 5, 7, 8, 10, 11, 12, 15, 20, 25, 30, 40, 50, 64, 80, 100, 128, 160, 320, 640]
    for width in (7.2, 3.5):
        figure = figures.ert_over_dimension(dimensions, {"A": np.square(dimensions)}, width=width)
        assert_readable(figure)
        shown = [label.get_text() for label in figure.axes[0].get_xticklabels()]
        assert (shown[0], shown[-1]) == ("2", "640")


def test_dots_tell_algorithms_of_one_colour_apart():
    figure = figures.ert_over_dimension([2, 5], {name: [10.0, 20.0] for name in crowd(17)})
    assert len({one(figure, f"all-{index}").get_marker() for index in (0, 8, 16)}) == 3
    few = figures.ert_over_dimension([2, 5], {name: [10.0, 20.0] for name in crowd(8)})
    assert one(few, "all-0").get_marker() == "o"

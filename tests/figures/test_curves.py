"""Curves of a statistic over budgets and targets, histograms and cumulative differences as they are drawn."""

import numpy as np
import pytest

from polarbear import figures
from polarbear.assess import cumulative_difference
from tests.figures.marks import assert_readable, crowd, drawn, names_shown, one, step_values

AT = np.array([1.0, 10.0, 100.0])
MEAN = np.array([9.0, 3.0, np.nan])


class TestCurves:
    def test_line_is_the_statistic_where_it_is_known(self):
        figure = figures.fixed_budget_curves(AT, {"A": MEAN})
        np.testing.assert_array_equal(step_values(one(figure, "line-0"))[1], MEAN)
        assert names_shown(figure) == ["A"]

    def test_targets_go_from_easy_to_hard(self):
        figure = figures.fixed_target_curves(AT, {"A": [np.inf, 50.0, 4.0]}, budgets={"A": 80, "B": 7})
        x, y = step_values(one(figure, "line-0"))
        assert x.tolist() == [100, 10, 1]
        np.testing.assert_array_equal(y, [4, 50, np.nan])
        assert figure.axes[0].get_xlim()[0] > figure.axes[0].get_xlim()[1]
        assert step_values(one(figure, "budget-0"))[1].tolist() == [80, 80]
        assert not drawn(figure, "budget-1")

    def test_band_that_reaches_below_zero_ends_at_the_edge_of_a_log_axis(self):
        figure = figures.fixed_budget_curves(AT, {"A": [90.0, 3, 1]}, bands={"A": [[50.0, -2, 0.5], [99.0, 9, 2]]})
        low = figure.axes[0].get_ylim()[0]
        heights = one(figure, "band-0").get_paths()[0].vertices[:, 1]
        assert heights.min() == pytest.approx(low)
        assert heights.max() == 99

    def test_single_runs_are_drawn_for_few_algorithms(self):
        runs = {name: np.ones((2, 3)) for name in crowd(9)}
        curves = dict.fromkeys(runs, np.ones(3))
        assert not drawn(figures.fixed_budget_curves(AT, curves, runs=runs), "run-0-1")
        assert drawn(
            figures.fixed_budget_curves(AT, {"variant 0": np.ones(3)}, runs={"variant 0": np.ones((2, 3))}), "run-0-1"
        )

    @pytest.mark.parametrize("draw", [figures.fixed_budget_curves, figures.fixed_target_curves])
    def test_shapes_are_checked(self, draw):
        with pytest.raises(ValueError, match=r"curve of 'A': shape is \(2,\)"):
            draw(AT, {"A": [1.0, 2.0]})
        with pytest.raises(ValueError, match=r"band of 'A': shape is \(3,\)"):
            draw(AT, {"A": MEAN}, bands={"A": MEAN})
        with pytest.raises(ValueError, match=r"runs of 'A': shape is \(4, 2\)"):
            draw(AT, {"A": MEAN}, runs={"A": np.ones((4, 2))})

    @pytest.mark.parametrize(("n", "width"), [(1, 7.2), (20, 7.2), (6, 3.5)])
    @pytest.mark.parametrize("draw", [figures.fixed_budget_curves, figures.fixed_target_curves])
    def test_labels_can_be_read(self, draw, n, width):
        assert_readable(draw(AT, {name: AT / (k + 1) for k, name in enumerate(crowd(n))}, width=width))


class TestHistograms:
    def test_columns_are_the_counts(self):
        figure = figures.histograms(AT, {"A": [3, 0], "B": [1, 2]})
        assert one(figure, "histogram-1").get_data().values.tolist() == [1, 2]
        assert one(figure, "histogram-1").get_data().edges.tolist() == AT.tolist()

    def test_runtimes_of_failed_runs_have_no_stroke(self):
        figure = figures.runtime_densities({"A": (AT, [1, 2])}, runs={"A": [5.0, np.inf]}, target="1e-8")
        assert "runtimes to 1e-8" in figure.caption
        np.testing.assert_array_equal(step_values(one(figure, "runs-0"))[0], [5, np.nan])

    @pytest.mark.parametrize(("n", "width"), [(1, 7.2), (6, 7.2), (4, 3.5)])
    def test_labels_can_be_read(self, n, width):
        assert_readable(figures.histograms(AT, dict.fromkeys(crowd(n), (1, 2)), width=width))


class TestCumulativeDifference:
    FOUND = cumulative_difference([1, 2, 30], [10, 11], rng=np.random.default_rng(1), resamples=50)

    def test_areas_have_the_colour_of_who_is_ahead(self):
        figure = figures.cumulative_difference(self.FOUND, ("B", "A"), order=("A", "B"))
        np.testing.assert_array_equal(step_values(one(figure, "difference"))[1], self.FOUND.difference)
        above, below = (one(figure, f"ahead-{k}").get_paths()[0].vertices[:, 1] for k in (0, 1))
        assert above.max() == self.FOUND.difference.max()
        assert below.min() == self.FOUND.difference.min()
        assert "66.7%" in figure.caption

    @pytest.mark.parametrize("width", [7.2, 3.5])
    def test_labels_can_be_read(self, width):
        assert_readable(
            figures.cumulative_difference(self.FOUND, ("a-very-long-name-with-many-options=3", "B"), width=width)
        )

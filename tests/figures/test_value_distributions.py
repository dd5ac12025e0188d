"""Distributions, densities and histograms of values at one budget."""

import numpy as np
import pytest

from polarbear import figures
from polarbear.figures import Distribution
from tests.figures.marks import assert_readable, crowd, drawn, names_shown, one, step_values

EMPTY = Distribution(np.empty(0), np.empty(0))


def ecdf(values):
    return Distribution(np.sort(values), np.arange(1, len(values) + 1) / len(values))


class TestDistributions:
    def test_lines_are_steps_over_the_values(self):
        figure = figures.value_distributions({"A": ecdf([1e-3, 1e2, 1.0])})
        x, y = step_values(one(figure, "share-0"))
        np.testing.assert_array_equal(x[1:-1], [1e-3, 1.0, 1e2])
        np.testing.assert_allclose(y, [0, 1 / 3, 2 / 3, 1, 1])
        assert (x[0], x[-1]) == figure.axes[0].get_xlim()

    def test_negative_values_have_a_linear_axis(self):
        figure = figures.value_distributions({"A": ecdf([-5.0, 3.0])})
        assert figure.axes[0].get_xscale() == "linear"
        np.testing.assert_array_equal(step_values(one(figure, "share-0"))[0][1:-1], [-5, 3])

    def test_zero_is_at_the_left_end(self):
        figure = figures.value_distributions({"A": ecdf([0.0, 1.0, 100.0])})
        x, y = step_values(one(figure, "share-0"))
        assert x[1] == figure.axes[0].get_xlim()[0]
        assert y[1] == pytest.approx(1 / 3)

    def test_names_stand_in_the_order_of_the_lines_and_the_missing_are_noted(self):
        given = {"slow": ecdf([10.0, 20.0]), "none": EMPTY, "fast": ecdf([0.1, 0.2]), "middling": ecdf([1.0, 2.0])}
        figure = figures.value_distributions(given)
        assert names_shown(figure) == ["fast", "middling", "slow"]
        assert one(figure, "no-data").get_text() == "no data: none"

    @pytest.mark.parametrize(("n", "width"), [(1, 7.2), (20, 7.2), (6, 3.5)])
    def test_labels_can_be_read(self, n, width):
        rng = np.random.default_rng(n)
        given = {name: ecdf(10 ** rng.normal(0, 2, 15)) for name in crowd(n)}
        assert_readable(figures.value_distributions(given, width=width))
        figures.svg(figures.value_distributions({"one": ecdf([3.0]), "none": EMPTY}))


class TestDensities:
    AT, HIGH = np.array([0.1, 1.0, 10.0]), np.array([0.0, 2.0, 1.0])

    def test_hills_are_on_one_scale(self):
        figure = figures.value_densities({"A": (self.AT, self.HIGH), "B": (self.AT, self.HIGH / 2)})
        x, first = step_values(one(figure, "crest-0"))
        np.testing.assert_array_equal(x, self.AT)
        second = step_values(one(figure, "crest-1"))[1]
        np.testing.assert_allclose(0 - first, 2 * (1 - second))
        np.testing.assert_allclose((0 - first) / (0 - first).max(), self.HIGH / self.HIGH.max())

    def test_bars_stand_on_their_edges(self):
        counts, edges = np.array([3.0, 0.0, 6.0]), np.array([1.0, 2.0, 3.0, 4.0])
        bars = one(figures.value_densities({"A": (edges, counts)}), "hill-0").get_data()
        np.testing.assert_array_equal(bars.edges, edges)
        np.testing.assert_allclose(bars.baseline - bars.values, counts / 6 * (bars.baseline - bars.values.min()))

    def test_strokes_are_the_runs(self):
        runs = np.array([0.5, np.nan, 5.0])
        figure = figures.value_densities({"A": (self.AT, self.HIGH)}, runs={"A": runs})
        np.testing.assert_array_equal(step_values(one(figure, "runs-0"))[0], runs)

    def test_who_has_no_data_keeps_a_row(self):
        figure = figures.value_densities({"A": (self.AT, self.HIGH), "B": ([], [])})
        assert [text.get_text() for text in figure.axes[0].texts] == ["A", "B  (no data)"]
        assert not drawn(figure, "hill-1")

    @pytest.mark.parametrize(("n", "width"), [(1, 7.2), (20, 7.2), (6, 3.5)])
    def test_labels_can_be_read(self, n, width):
        assert_readable(figures.value_densities(dict.fromkeys(crowd(n), (self.AT, self.HIGH)), width=width))

    def test_wrong_input_is_named(self):
        with pytest.raises(ValueError, match=r"'A' has positions of shape \(3,\) and heights of shape \(1,\)"):
            figures.value_densities({"A": (self.AT, [1.0])})
        with pytest.raises(ValueError, match="positions of 'A' must increase"):
            figures.value_densities({"A": (self.AT[::-1], self.HIGH)})
        with pytest.raises(ValueError, match="heights must not be negative"):
            figures.value_densities({"A": (self.AT, -self.HIGH)})

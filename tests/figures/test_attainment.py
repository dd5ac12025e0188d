"""Every point of an attainment figure has the colour of the share that was given for it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from polarbear import figures
from polarbear.figures.style import looks
from tests.figures.marks import assert_readable, crowd, drawn, names_shown, one, step_values

BUDGETS = np.array([1.0, 10.0, 100.0, 1000.0])
VALUES = np.array([0.01, 0.1, 1.0])
SHARE = np.array([[0.0, 0.0, 0.5], [0.0, 0.25, 0.75], [0.25, 0.5, 1.0], [0.5, 1.0, 1.0]])


def level_at(contours, x, y):
    """Number of the filled level at a point; None where there is none."""
    for level, path in enumerate(contours.get_paths()):
        inside = 0
        for polygon in path.to_polygons(closed_only=True):
            inside += type(path)(polygon).contains_point((x, y))
        if inside % 2:
            return level
    return None


def cells(figure, contours):
    """The level in the middle of every cell, (T - 1, V - 1)."""
    middles = np.sqrt(BUDGETS[:-1] * BUDGETS[1:]), np.sqrt(VALUES[:-1] * VALUES[1:])
    return [[level_at(contours, x, y) for y in middles[1]] for x in middles[0]]


class TestAttainment:
    def test_cells_have_the_level_of_the_grid_point_at_their_lower_left(self):
        figure = figures.attainment(BUDGETS, VALUES, SHARE)
        contours = one(figure, "attainment")
        found = cells(figure, contours)
        for t, v in np.ndindex(3, 2):
            share = SHARE[t, v]
            assert found[t][v] == (None if share == 0 else min(int(share * 20 + 1e-6), 19))
            if share:
                edges = contours.levels
                assert edges[found[t][v]] < share <= edges[found[t][v] + 1]

    @settings(max_examples=25)
    @given(st.lists(st.integers(0, 15), min_size=12, max_size=12))
    def test_any_shares_of_fifteen_runs(self, counts):
        share = np.array(counts).reshape(4, 3) / 15
        contours = one(figures.attainment(BUDGETS, VALUES, share), "attainment")
        found = cells(None, contours)
        for t, v in np.ndindex(3, 2):
            level = found[t][v]
            if share[t, v] == 0:
                assert level is None
            else:
                assert contours.levels[level] <= share[t, v] < contours.levels[level + 1]

    def test_borders_enclose_what_at_least_so_many_attained(self):
        figure = figures.attainment(BUDGETS, VALUES, SHARE, lines=(0.5,))
        (path,) = one(figure, "borders").get_paths()
        corners = {tuple(point) for point in path.vertices}
        assert (100.0, 0.1) in corners
        assert (1.0, 1.0) in corners
        assert np.isclose(np.diff(path.vertices, axis=0), 0).any(axis=1).all(), "only right angles"

    def test_lines_stand_in_the_bar_as_well(self):
        figure = figures.attainment(BUDGETS, VALUES, SHARE, lines=(0.25, 0.5))
        bar = figure.axes[1]
        assert [line.get_ydata()[0] for line in bar.lines] == [0.25, 0.5]

    def test_unknown_is_hatched_and_has_no_colour(self):
        share = SHARE.copy()
        share[2:, :] = np.nan
        figure = figures.attainment(BUDGETS, VALUES, share)
        assert level_at(one(figure, "unknown"), 300, 0.3) == 0
        assert level_at(one(figure, "attainment"), 300, 0.3) is None
        assert level_at(one(figure, "unknown"), 3, 0.3) is None
        assert not drawn(figures.attainment(BUDGETS, VALUES, SHARE), "unknown")

    @pytest.mark.parametrize("share", [[[0.5]], [[0.0]], [[1.0]], [[np.nan]]])
    def test_one_point(self, share):
        figures.svg(figures.attainment([10.0], [1.0], share))

    def test_large_grids_are_drawn_exactly_and_compactly(self):
        rng = np.random.default_rng(1)
        runs = np.minimum.accumulate(10 ** rng.normal(0, 2, (15, 300)), axis=1)
        values = np.geomspace(1e-6, 1e3, 200)
        share = (runs[:, :, np.newaxis] <= values).mean(axis=0)
        page = figures.svg(figures.attainment(np.geomspace(1, 1e6, 300), values, share))
        assert len(page) < 1_500_000
        assert 'id="attainment"' in page

    def test_wrong_input_is_named(self):
        with pytest.raises(ValueError, match=r"has shape \(3, 4\); expected \(4, 3\), budgets by values"):
            figures.attainment(BUDGETS, VALUES, SHARE.T)
        with pytest.raises(ValueError, match=r"numbers of the function must lie between 0 and 1; got 0.0 to 2.0"):
            figures.attainment(BUDGETS, VALUES, SHARE * 2)
        with pytest.raises(ValueError, match="values must be one or more finite, strictly increasing"):
            figures.attainment(BUDGETS, VALUES[::-1], SHARE)


class TestDifference:
    DIFFERENCE = np.array([[0.0, 0.1], [-1.0, 1.0], [0.0, 0.0], [0.5, 0.0]])

    def test_colours_are_those_of_the_better_one(self):
        figure = figures.attainment_difference(BUDGETS, [0.01, 1.0], self.DIFFERENCE, ("A", "B"))
        contours = one(figure, "difference")
        palette = contours.get_facecolor()
        first, second = (np.array(to_rgb(looks("AB")[name].ink)) for name in "AB")
        full = palette[level_at(contours, 30, 1.1)][:3]
        np.testing.assert_allclose(full, first, atol=0.01)
        np.testing.assert_allclose(palette[level_at(contours, 30, 0.1)][:3], second, atol=0.01)
        np.testing.assert_allclose(palette[level_at(contours, 3, 0.1)][:3], 1.0)

    def test_swapping_the_algorithms_mirrors_the_levels(self):
        there = one(figures.attainment_difference(BUDGETS, [0.01, 1.0], self.DIFFERENCE, ("A", "B")), "difference")
        back = one(figures.attainment_difference(BUDGETS, [0.01, 1.0], -self.DIFFERENCE, ("B", "A")), "difference")
        for x in (3, 30, 300):
            for y in (0.1, 1.01):
                assert level_at(there, x, y) == 20 - level_at(back, x, y)

    def test_the_key_names_both_in_their_colours(self):
        figure = figures.attainment_difference(BUDGETS, [0.01, 1.0], self.DIFFERENCE, ("A", "B"), order=["B", "A"])
        (key,) = figure.legends
        assert [text.get_text() for text in key.get_texts()] == ["A attains more", "B attains more"]
        wanted = [to_rgb(looks(["B", "A"])[name].ink) for name in "AB"]
        assert [patch.get_facecolor()[:3] for patch in key.get_patches()] == wanted

    @pytest.mark.parametrize("width", [7.2, 3.5])
    def test_labels_can_be_read(self, width):
        names = ("a-very-long-name-with-many-options=3", "another-long-name-with-more-options=4")
        assert_readable(figures.attainment_difference(BUDGETS, [0.01, 1.0], self.DIFFERENCE, names, width=width))
        assert_readable(figures.attainment(BUDGETS, VALUES, SHARE, width=width))

    @pytest.mark.parametrize(("level", "said"), [(0.5, "half"), (0.125, "12.5%")])
    def test_level_curves_are_steps_of_both_in_the_order_of_the_names(self, level, said):
        lines = [1.0, 0.5, 0.1, 0.02], [np.nan, 1.0, 1.0, 0.5]
        how = {"lines": lines, "level": level}
        figure = figures.attainment_difference(BUDGETS, [0.01, 1.0], self.DIFFERENCE, ("A", "B"), **how)
        for line, curve in zip(drawn(figure, "level"), lines, strict=True):
            np.testing.assert_array_equal(step_values(line), [BUDGETS, curve])
        assert f"attained by {said} of the runs: A solid, B dashed" in figure.caption
        with pytest.raises(ValueError, match="line of 'B': shape is"):
            figures.attainment_difference(BUDGETS, [0.01, 1.0], self.DIFFERENCE, ("A", "B"), lines=([1.0] * 4, [1.0]))

    def test_beyond_one_is_an_error(self):
        with pytest.raises(ValueError, match="must lie between -1 and 1"):
            figures.attainment_difference(BUDGETS, [0.01, 1.0], 2 * self.DIFFERENCE, ("A", "B"))


class TestEcdf:
    CURVES = {"A": np.array([0.1, 0.4, 0.8, 0.9]), "B": np.array([0.0, 0.2, np.nan, np.nan])}  # noqa: RUF012

    def test_lines_are_steps_and_bands_are_those_given(self):
        figure = figures.attainment_ecdf(
            BUDGETS, self.CURVES, bands={"A": [[0.0, 0.3, 0.7, 0.8], [0.2, 0.5, 0.9, 1.0]]}
        )
        line = one(figure, "share-0")
        np.testing.assert_array_equal(step_values(line), [BUDGETS, self.CURVES["A"]])
        assert line.get_drawstyle() == "steps-post"
        corners = one(figure, "band-0").get_paths()[0].vertices
        np.testing.assert_allclose(sorted(set(corners[corners[:, 0] == 10, 1])), [0.0, 0.2, 0.3, 0.5])
        assert not drawn(figure, "band-1")

    def test_areas_stand_beside_the_names(self):
        figure = figures.attainment_ecdf(BUDGETS, self.CURVES, area={"A": 0.556, "B": 0.1})
        assert names_shown(figure) == ["A  0.56", "B  0.10"]
        assert names_shown(figures.attainment_ecdf(BUDGETS, self.CURVES)) == ["A", "B"]

    @pytest.mark.parametrize(("n", "width"), [(1, 7.2), (20, 7.2), (6, 3.5)])
    def test_labels_can_be_read(self, n, width):
        rng = np.random.default_rng(n)
        budgets = np.geomspace(1, 1e5, 40)
        curves = {name: np.linspace(0, rng.uniform(0.2, 1), 40) for name in crowd(n)}
        area = {name: float(curve.mean()) for name, curve in curves.items()}
        assert_readable(figures.attainment_ecdf(budgets, curves, area=area, width=width))

    def test_one_budget_is_a_dot(self):
        figure = figures.attainment_ecdf([10.0], {"A": [0.5]})
        assert one(figure, "share-0").get_marker() == "o"
        figures.svg(figure)

    def test_wrong_input_is_named(self):
        with pytest.raises(ValueError, match=r"shares of 'A' must lie between 0 and 1; got 0.2 to 1.8"):
            figures.attainment_ecdf(BUDGETS, {"A": 2 * self.CURVES["A"]})
        with pytest.raises(ValueError, match=r"band of 'A': shape is \(4,\); expected \(2, 4\)"):
            figures.attainment_ecdf(BUDGETS, self.CURVES, bands={"A": self.CURVES["A"]})

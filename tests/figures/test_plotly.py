"""Figures as plotly's data and layout: the numbers are those of the figure, and plotly takes them."""

import dataclasses
import json

import numpy as np
import pytest

from polarbear.figures import marks
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.render.plotly import draw
from polarbear.figures.scales import unstretch
from tests.figures.test_values import EXAMPLES, QUARTILES, SHARE, all_marks, own_figure

go = pytest.importorskip("plotly.graph_objects", reason="plotly is not installed")
SHOWN_AS_TEXT = marks.Label | marks.EndLabel


def traces(figure, name, **options):
    return [trace for trace in draw(figure, **options)["data"] if trace["meta"] == name]


def numbers(values):
    return np.array([np.nan if value is None else value for value in values], dtype=float)


@pytest.mark.parametrize("name", EXAMPLES)
class TestEveryFigure:
    def test_is_taken_by_plotly_and_written_as_json(self, name):
        drawn = draw(EXAMPLES[name]())
        assert json.loads(json.dumps(drawn, allow_nan=False)) == drawn
        assert len(EXAMPLES[name]().plotly().data) == len(go.Figure(drawn).data) == len(drawn["data"])

    def test_has_a_trace_for_each_mark_with_data(self, name):
        figure = EXAMPLES[name]()
        named = {mark.name for mark in all_marks(figure) if mark.name and not isinstance(mark, SHOWN_AS_TEXT)}
        assert named <= {trace["meta"] for trace in draw(figure)["data"]}

    def test_lines_and_points_have_the_numbers_of_their_marks(self, name):
        figure, drawn = EXAMPLES[name](), draw(EXAMPLES[name]())
        for panel in figure.panels:
            for mark in panel.marks:
                if isinstance(mark, marks.Line | marks.Points) and mark.name:
                    back = unstretch if panel.y.scale == "nines" else np.asarray
                    finite = np.where(np.isfinite(mark.y), mark.y, np.nan)
                    assert any(
                        np.array_equal(numbers(trace["x"]), np.where(np.isfinite(mark.x), mark.x, np.nan), True)
                        and np.allclose(back(numbers(trace["y"])), finite, rtol=1e-9, equal_nan=True)
                        for trace in drawn["data"]
                        if trace["meta"] == mark.name
                    ), mark.name

    def test_every_algorithm_that_is_named_stands_in_the_legend_once(self, name):
        figure = EXAMPLES[name]()
        ends = {
            (mark.algorithm, f"<b>{mark.text}</b>" if mark.bold else mark.text)
            for mark in all_marks(figure)
            if isinstance(mark, marks.EndLabel)
        }
        entries = [trace for trace in draw(figure)["data"] if trace["showlegend"]]
        texts = [(trace["name"], trace["legendgroup"]) for trace in entries]
        assert len(texts) == len(set(texts))
        assert {text for _, text in ends} <= {text for text, _ in texts}

    def test_is_readable_on_a_dark_page(self, name):
        layout = draw(EXAMPLES[name](), dark=True)["layout"]
        assert layout["paper_bgcolor"] == "#14171A"
        assert layout["font"]["color"] == "#E6E8EB"


class TestMarks:
    def test_all_kinds_are_drawn(self):
        names = {trace["meta"] for trace in draw(own_figure())["data"]}
        assert {"line", "points", "bars", "band", "steps", "edge", "point-label", "cell", "surface"} <= names
        assert "$ at the left" in {note["text"] for note in draw(own_figure())["layout"]["annotations"]}

    def test_line_has_its_colour_dashes_and_markers(self):
        (line,) = traces(own_figure(), "line")
        assert line["line"]["color"] == own_figure().looks["A"].color
        assert line["line"]["dash"] == "4.27px,2.13px", "twice and once the width of 1.6 points"
        assert [size > 0 for size in line["marker"]["size"]] == [False, True, False]

    def test_bars_reach_from_low_to_high(self):
        (bars,) = traces(own_figure(), "bars")
        assert (bars["y"], bars["error_y"]["array"]) == ([1.5, 0.5, 2.5], [1, 1, 1])

    def test_band_runs_along_its_top_and_back_along_its_bottom(self):
        (band,) = traces(own_figure(), "band")
        assert band["x"] == [1, 2, 3, 3, 2, 1]
        assert band["y"] == [2.5, 1.5, 3.5, 2.5, 0.5, 1.5]

    def test_band_is_broken_where_it_is_not_known(self):
        x = np.arange(5.0)
        band = marks.Band(name="band", x=x, low=0.0, high=np.array([1, 1, np.nan, 2, 2.0]))
        panel = Panel(x=Axis(), y=Axis(), marks=(band,))
        (trace,) = traces(dataclasses.replace(own_figure(), panels=(panel,), key=None), "band")
        assert trace["x"] == [0, 1, 1, 0, None, 3, 4, 4, 3]
        assert trace["y"] == [1, 1, 0, 0, None, 2, 2, 0, 0]

    def test_columns_stand_between_their_edges(self):
        (steps,) = traces(own_figure(), "steps")
        assert steps["x"] == [1, 1, 2, 2, 3, 3]
        assert steps["y"] == [0, 1, 1, 2, 2, 0]

    def test_cells_are_rectangles_with_their_text(self):
        drawn = draw(own_figure())
        (cells,) = (trace for trace in drawn["data"] if trace["meta"] == "cell")
        rectangles = [(shape["x0"], shape["x1"], shape["y0"], shape["y1"]) for shape in drawn["layout"]["shapes"]]
        assert rectangles == [(0.5, 1.5, -0.5, 0.5), (1.5, 2.5, -0.5, 0.5), (2.5, 3.5, -0.5, 0.5)]
        assert (cells["text"], cells["x"]) == (["0", "", "∞"], [1, 2, 3])

    def test_surface_has_its_shares(self):
        (surface,) = traces(EXAMPLES["attainment"](), "attainment")
        shown = numbers([cell for row in surface["z"] for cell in row]).reshape(2, 3).T
        np.testing.assert_array_equal(shown[SHARE > 0.1], SHARE[SHARE > 0.1])

    def test_border_runs_where_the_surface_reaches_the_number(self):
        x = np.array([1.0, 2.0])
        mark = marks.Surface(
            name="s", x=x, y=x, z=np.array([[0.0, 0.0], [0.0, 1.0]]), edges=np.array([0.0, 2.0]), colors=("#ffffff",),
            borders=((0.5, "#000000", 1.0),),
        )  # fmt: skip
        panel = Panel(x=Axis(low=1, high=3), y=Axis(low=1, high=3), marks=(mark,))
        border = traces(dataclasses.replace(own_figure(), panels=(panel,), key=None), "")[0]
        assert border["x"] == [2, 2, None, 2, 3, None]
        assert border["y"] == [2, 3, None, 2, 2, None]

    def test_text_is_no_markup(self):
        point = marks.PointLabel(name="p", x=1, y=1, text="<b>&")
        panel = Panel(x=Axis(), y=Axis(), marks=(point,))
        (trace,) = traces(dataclasses.replace(own_figure(), panels=(panel,), key=None), "p")
        assert trace["text"] == ["&lt;b&gt;&amp;"]

    def test_of_a_kind_that_no_renderer_knows_is_refused(self):
        class Blob(marks.Mark):
            pass

        panel = Panel(x=Axis(), y=Axis(), marks=(Blob(name="mine"),))
        with pytest.raises(TypeError, match=r"mark 'mine' is a Blob"):
            draw(dataclasses.replace(own_figure(), panels=(panel,)))


class TestLayout:
    def test_a_radar_chart_is_round(self):
        layout = draw(EXAMPLES["radar"]())["layout"]
        assert layout["yaxis"]["scaleanchor"] == "x"
        assert "scaleanchor" not in draw(EXAMPLES["rank_chart"]())["layout"]["yaxis"]

    def test_names_of_rows_have_room_at_the_left(self):
        figure = EXAMPLES["rating_candlesticks"]()
        (panel,) = figure.panels
        longer = tuple(
            dataclasses.replace(mark, text="a name of forty letters, as there are some")
            if isinstance(mark, marks.Label) and mark.left
            else mark
            for mark in panel.marks
        )
        wide = dataclasses.replace(figure, panels=(dataclasses.replace(panel, marks=longer),))
        assert draw(wide)["layout"]["margin"]["l"] > 300 > draw(figure)["layout"]["margin"]["l"]


class TestScales:
    def test_are_switched(self):
        figure = EXAMPLES["convergence"]()
        usual, linear = draw(figure)["layout"], draw(figure, x="linear", y="log")["layout"]
        assert usual["xaxis"]["type"] == "log"
        assert np.allclose(usual["xaxis"]["range"], [0, 2])
        assert (linear["xaxis"]["type"], linear["xaxis"]["range"]) == ("linear", [1, 100])
        assert linear["yaxis"]["type"] == "log"

    def test_leave_the_numbers_alone(self):
        figure = EXAMPLES["convergence"]()
        (line,) = traces(figure, "middle-1", x="linear")
        assert line["y"] == QUARTILES["B"][1]

    def test_of_names_cannot_be_switched(self):
        figure = EXAMPLES["heat_map"]()
        assert not figure.is_switchable("x")
        with pytest.raises(ValueError, match="has only one scale; leave x out"):
            draw(figure, x="log")


def test_rows_of_panels_are_as_high_as_stated():
    layout = draw(EXAMPLES["structural_bias"]())["layout"]
    (low, top), (bottom, high) = (layout[axis]["domain"] for axis in ("yaxis", "yaxis2"))
    heights = EXAMPLES["structural_bias"]().heights
    assert top == pytest.approx(1.0)
    assert bottom == pytest.approx(0.0)
    assert (top - low) / (high - bottom) == pytest.approx(heights[0] / heights[1])
    axes = EXAMPLES["structural_bias"]().matplotlib().axes
    assert axes[0].get_position().height / axes[1].get_position().height == pytest.approx(heights[0] / heights[1])

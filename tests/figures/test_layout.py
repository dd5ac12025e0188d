"""What figures look like whatever they show, measured on what Matplotlib and plotly draw."""

import re

import numpy as np
import pytest
from matplotlib.colors import to_hex

from polarbear import figures
from polarbear.figures.layout import LEGENDS, Layout
from polarbear.figures.panels import MARGIN
from polarbear.figures.style import contrast
from tests.figures.marks import drawn, names_shown, one

AT = np.array([1.0, 10.0, 100.0])
PAPER = ("#fff8e7", "#f2f2f2")


def curves(names=("A", "B")):
    return figures.fixed_budget_curves(AT, {name: AT / (k + 1) for k, name in enumerate(names)})


def grid():
    return figures.grid({f"f{k}": curves() for k in range(6)}, columns=3)


def distributions():
    one_step = figures.Distribution(at=AT, share=[0.2, 0.4, 0.6], spent=5.0, solved=0.7)
    return figures.runtime_distributions({"B": one_step, "A": one_step}, reference=("best 2009", one_step))


def surface():
    return figures.attainment(AT, AT, np.linspace(0, 1, 9).reshape(3, 3))


def texts(legend):
    return [text.get_text() for text in legend.get_texts()]


class TestPaper:
    def test_lies_behind_figures_and_panels(self):
        figure = Layout(paper=PAPER).of(grid())
        assert to_hex(figure.matplotlib().get_facecolor()) == PAPER[0]
        assert {to_hex(axes.get_facecolor()) for axes in figure.axes} == {PAPER[1]}
        layout = figure.plotly().layout
        assert (layout.paper_bgcolor, layout.plot_bgcolor) == PAPER
        assert figure.plotly(dark=True).layout.paper_bgcolor == PAPER[0]
        assert grid().plotly(dark=True).layout.paper_bgcolor == "#14171A"

    def test_leaves_panels_white_where_colours_stand_for_numbers(self):
        figure = Layout(paper=PAPER).of(surface())
        assert to_hex(figure.axes[0].get_facecolor()) == "#ffffff"
        (shape,) = figure.plotly().layout.shapes
        assert (shape.fillcolor, shape.layer, shape.xref) == ("#FFFFFF", "below", "x domain")


class TestLines:
    def test_are_wider_in_proportion(self):
        figure, usual = Layout(line_width=3.2).of(distributions()), distributions()
        for name, width in (("share-0", 3.2), ("reference", 9.0)):
            assert one(figure, name).get_linewidth() == pytest.approx(width)
            (wide,) = [trace.line.width for trace in figure.plotly().data if trace.meta == name]
            (before,) = [trace.line.width for trace in usual.plotly().data if trace.meta == name]
            assert wide == pytest.approx(2 * before)

    def test_are_as_wide_in_the_legend(self):
        figure = Layout(line_width=3.2, legend="right").of(distributions())
        samples = dict(zip(texts(figure.legends[0]), figure.legends[0].get_lines(), strict=True))
        assert samples["A"].get_linewidth() == pytest.approx(3.2)
        assert samples["best 2009"].get_linewidth() == pytest.approx(9)


class TestLegend:
    @pytest.mark.parametrize("place", [place for place in LEGENDS if place not in ("as drawn", "none")])
    def test_has_the_names_and_what_stood_in_keys(self, place):
        figure = Layout(legend=place).of(distributions())
        assert figure.caption.endswith("Names stand in the legend, not at the lines.")
        drawing = figure.matplotlib()
        drawing.draw_without_rendering()
        axes = drawing.axes[0]
        legend = axes.get_legend() if place.startswith("inside") else drawing.legends[0]
        assert sorted(texts(legend)) == [
            *("A", "B", "best 2009", "median budget of unsuccessful runs", "solved at least once")
        ]
        assert not drawn(figure, "end-label")
        box, panel = legend.get_window_extent(), axes.get_window_extent()
        apart = {"above": box.y0 > panel.y1, "below": box.y1 < panel.y0, "right": box.x0 > panel.x1}
        assert apart.get(place, panel.contains(*box.min) and panel.contains(*box.max))
        assert (box.y0 >= 0, box.x1 <= drawing.bbox.x1) == (True, True), "on the paper"

    @pytest.mark.parametrize("place", LEGENDS)
    def test_stands_there_in_browsers(self, place):
        drawing = Layout(legend=place).of(distributions()).plotly()
        legend = drawing.layout.legend
        assert drawing.layout.showlegend == (place != "none")
        stands = {
            "above": (legend.y or 0) > 1 and legend.yanchor == "bottom",
            "below": (legend.y or 0) < 0 and legend.yanchor == "top",
            "inside lower right": (legend.x, legend.y, legend.xanchor) == (0.99, 0.02, "right"),
            "inside upper left": (legend.x, legend.y, legend.xanchor) == (0.01, 0.98, "left"),
        }
        assert stands.get(place, True)

    def test_of_a_grid_lies_in_its_first_panel(self):
        legend = Layout(legend="inside upper right").of(grid()).plotly().layout.legend
        assert 0.2 < legend.x < 1 / 3

    def test_is_left_out(self):
        figure = Layout(legend="none").of(distributions())
        assert (figure.legends, figure.axes[0].get_legend(), names_shown(figure)) == ([], None, [])
        assert figure.caption.endswith("Names are left out.")

    def test_of_many_names_has_room(self):
        for place in ("right", "below", "above"):
            figure = Layout(legend=place).of(curves([f"algorithm {k}" for k in range(31)]))
            drawing = figure.matplotlib()
            drawing.draw_without_rendering()
            box = drawing.legends[0].get_window_extent()
            assert box.y0 >= 0
            assert box.y1 <= drawing.bbox.y1
            assert drawing.axes[0].get_window_extent().height > 1.5 * drawing.dpi

    def test_stands_beside_axes_of_ones_own(self):
        from matplotlib.figure import Figure

        for place in ("below", "right", "inside lower left"):
            drawing = Figure(layout="constrained")
            axes = drawing.subplots()
            Layout(legend=place).of(curves()).draw_on(axes)
            drawing.draw_without_rendering()
            box, panel = axes.get_legend().get_window_extent(), axes.get_window_extent()
            assert {"below": box.y1 < panel.y0, "right": box.x0 >= panel.x1}.get(place, panel.contains(*box.min))


def test_margins_are_blank():
    figure = Layout(margins=(0.3, 0.2), legend="none").of(grid())
    drawing = figure.matplotlib()
    drawing.draw_without_rendering()
    inch, boxes = drawing.dpi, [axes.get_tightbbox() for axes in drawing.axes]
    assert min(box.x0 for box in boxes) == pytest.approx(0.3 * inch, abs=3)
    assert drawing.bbox.x1 - max(box.x1 for box in boxes) == pytest.approx(0.3 * inch, abs=3)
    assert min(box.y0 for box in boxes) == pytest.approx(0.2 * inch, abs=3)
    assert boxes[1].x0 - boxes[0].x1 >= 0.6 * inch - 3
    assert boxes[0].y0 - boxes[3].y1 >= 0.4 * inch - 3
    wide, usual = figure.plotly().layout, grid().plotly().layout
    assert wide.margin.l - usual.margin.l == pytest.approx((0.3 - MARGIN) * 96)
    assert wide.margin.t - usual.margin.t == pytest.approx((0.2 - MARGIN) * 96)
    wider, before = (each.xaxis2.domain[0] - each.xaxis.domain[1] for each in (wide, usual))
    assert wider - before == pytest.approx(2 * (0.3 - MARGIN) / figure.width)


def test_usual_layout_changes_nothing():
    for figure in (curves(), grid(), distributions(), surface()):
        assert Layout().of(figure).svg() == figure.svg()
        assert Layout().of(figure).plotly() == figure.plotly()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"paper": ("#FFFFFF", "white")}, "'white' is not a colour; it must be '#' and six hexadecimal digits"),
        (
            {"paper": ("#000000", "#FFFFFF")},
            "paper is #000000, on which grey text has a contrast of 3.5; choose a lighter",
        ),
        ({"line_width": 0}, "line_width is 0; it must be a number of points from 0.2 to 10"),
        ({"line_width": float("nan")}, "line_width is nan"),
        ({"legend": "left"}, "legend is 'left'; it must be one of as drawn, above, below, right"),
        ({"margins": (0.1, 2)}, "margins are (0.1, 2); they must be two numbers of inches from 0 to 1"),
    ],
)
def test_what_is_out_of_range_is_said(given, complaint):
    with pytest.raises(ValueError, match=re.escape(complaint)):
        Layout(**given)


def test_contrasts_are_those_of_the_guidelines():
    assert contrast("#000000", "#FFFFFF") == contrast("#FFFFFF", "#000000") == 21
    assert contrast("#767676", "#FFFFFF") > 4.5 > contrast("#777777", "#FFFFFF"), "the lightest grey that passes"


def test_margins_without_room_are_said():
    with pytest.raises(ValueError, match=r"margins of 0\.8 inches around 3 panels leave less than half of 7\.2 inches"):
        Layout(margins=(0.8, 0.1)).of(grid())

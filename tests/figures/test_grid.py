"""Panels of many figures."""

from dataclasses import replace

import numpy as np
import pytest

from polarbear import figures
from tests.figures.marks import assert_readable, drawn, step_values

AT = np.geomspace(1, 1000, 10)


def chart(k, order=("A", "B")):
    curves = {"A": 5.0 * k / AT, "B": 3.0 * k / AT**0.5}
    return figures.fixed_budget_curves(AT, curves, order=order)


def test_every_figure_is_a_panel_with_its_title():
    figure = figures.grid({f"f{k}": chart(k) for k in (1, 2, 3)}, columns=2)
    assert [panel.title for panel in figure.panels] == ["f1", "f2", "f3"]
    lines = drawn(figure, "line-0")
    for k, line in enumerate(lines, 1):
        np.testing.assert_array_equal(step_values(line)[1], 5.0 * k / AT)
    assert not drawn(figure, "end-label")
    assert [entry.text for entry in figure.key.entries] == ["A", "B"]
    assert [bool(panel.y.label) for panel in figure.panels] == [True, False, False]
    assert [bool(panel.x.label) for panel in figure.panels] == [False, True, False]


def test_labels_that_differ_stand_at_every_edge_and_the_caption_explains_all_marks():
    charts = {f"f{k}": chart(k) for k in (1, 2, 3)}
    last = charts["f3"].panels[0]
    other = replace(last, y=replace(last.y, label="another"))
    charts["f3"] = replace(charts["f3"], panels=(other,), caption=charts["f3"].caption + " And a cross.")
    figure = figures.grid(charts, columns=2)
    assert [bool(panel.y.label) for panel in figure.panels] == [True, False, True]
    assert figure.caption.endswith("And a cross.")


def test_colours_have_to_agree():
    with pytest.raises(ValueError, match="'f2' draws 'B' in a different colour"):
        figures.grid({"f1": chart(1), "f2": chart(2, order=("B", "A"))})
    with pytest.raises(ValueError, match="no figures"):
        figures.grid({})


@pytest.mark.parametrize(("count", "width", "columns"), [(24, 7.2, 6), (6, 7.2, 3), (4, 3.5, 2), (1, 7.2, 4)])
def test_labels_can_be_read(count, width, columns):
    titles = (f"f{k} Rosenbrock rotated" if columns < 4 else f"f{k}" for k in range(1, count + 1))
    assert_readable(figures.grid({title: chart(k) for k, title in enumerate(titles, 1)}, columns=columns, width=width))

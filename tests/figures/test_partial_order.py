"""Lines lead from those that beat to those that are beaten."""

from itertools import pairwise

import numpy as np
import pytest

from polarbear import figures
from polarbear.figures.style import looks, pale
from tests.figures.marks import assert_readable, crowd, drawn, one, step_values

LAYERS = [["A", "B"], ["C"], ["D"]]
PAIRS = [("A", "C"), ("B", "C"), ("C", "D")]


def test_every_algorithm_has_a_dot_in_its_layer_and_a_row_of_its_own():
    figure = figures.partial_order(LAYERS, PAIRS)
    places = [tuple(float(v[0]) for v in step_values(one(figure, f"algorithm-{row}"))) for row in range(4)]
    assert places == [(0, 0), (0, 1), (1, 2), (2, 3)]


def test_lines_join_exactly_the_pairs_in_the_colour_of_the_better():
    figure = figures.partial_order(LAYERS, PAIRS, order=list("DCBA"))
    found = figure.findobj(lambda artist: str(artist.get_gid()).startswith("beats-"))
    assert sorted(edge.get_gid() for edge in found) == ["beats-0-2", "beats-1-2", "beats-2-3"]
    edge = one(figure, "beats-1-2")
    np.testing.assert_array_equal(edge.get_path().vertices[[0, -1]], [[0, 1], [1, 2]])
    color = looks("DCBA")["B"].color
    np.testing.assert_allclose(
        edge.get_edgecolor()[:3], [int(pale(color, 0.75)[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    )


def test_the_unbeaten_are_bold():
    figure = figures.partial_order(LAYERS, PAIRS)
    weights = {text.get_text(): text.get_fontweight() for text in figure.axes[0].texts}
    assert weights == {"A": "bold", "B": "bold", "C": "normal", "D": "normal"}


@pytest.mark.parametrize("layers", [[["A"]], [crowd(20)], [[name] for name in crowd(20)]])
@pytest.mark.parametrize("width", [7.2, 3.5])
def test_any_shape_can_be_read(layers, width):
    chain = [(first[0], second[0]) for first, second in pairwise(layers)]
    figure = figures.partial_order(layers, chain, width=width)
    assert figures.svg(figure) == figures.svg(figures.partial_order(layers, chain, width=width))
    assert_readable(figure)
    assert not drawn(figure, "beats-0-0")


def test_wrong_input_is_named():
    with pytest.raises(ValueError, match=r"names are in more than one layer: \['A'\]"):
        figures.partial_order([["A"], ["A"]], [])
    with pytest.raises(ValueError, match="'C' beats 'A': both must be in the layers"):
        figures.partial_order(LAYERS, [("C", "A")])
    with pytest.raises(ValueError, match="'A' beats 'Z'"):
        figures.partial_order(LAYERS, [("A", "Z")])
    with pytest.raises(ValueError, match="no algorithm to draw"):
        figures.partial_order([], [])


def test_a_line_past_a_layer_meets_no_dot_there():
    """A straight line from X to Z would pass through C."""
    figure = figures.partial_order([["A", "X"], ["B", "C"], ["D", "Z"]], [("A", "B"), ("A", "C"), ("X", "Z")])
    at = one(figure, "beats-1-5").get_path().interpolated(50).vertices
    between = at[np.abs(at[:, 0] - 1) < 0.1]
    assert between.size
    np.testing.assert_allclose(between[:, 1], 1, atol=0.2)

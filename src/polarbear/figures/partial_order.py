"""Who beats whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from polarbear.descriptions import listed
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Edge, Line, Mark, Points, row_label
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.scales import named, row_axis
from polarbear.figures.style import MUTED, SURFACE, WIDE, Look, looks, pale, shown

_BEND = 0.35
"""How long a line keeps level at its ends, of the distance of two layers: the longer, the later lines part."""
_LEFT = -0.15


def caption(*, alpha: float | None = None) -> str:
    """Caption of `partial_order` of tests at level `alpha`."""
    level = f" at level {alpha:g}" if alpha is not None else ""
    return (
        f"Which algorithm beats which{level}. A line from a dot to one further right, in the colour of the first, says "
        "that the first beats the second; whoever is reached along several lines is beaten as well. Algorithms that no "
        "such way connects are not told apart. Names of those that nobody beats are bold. The layer is one more than "
        "the number of lines on the longest way that leads to the dot."
    )


def partial_order(
    layers: Sequence[Sequence[str]],
    pairs: Sequence[tuple[str, str]],
    *,
    order: Sequence[str] | None = None,
    alpha: float | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The partial order of algorithms that pairwise comparisons induce.

    Marks: one row and one dot per algorithm. A line from a dot to one in a later layer, in the colour of the first,
    says that the first beats the second; whoever is reached along several lines from left to right is beaten as
    well. Past the layers in between a line keeps to the row of its own algorithm. Algorithms that no such way
    connects are not told apart. Names of those that nobody beats are bold.

    Args:
        layers: Names from the best layer to the worst: the first holds those that nobody beats, each later one
            those that are beaten by one of the layer before.
        pairs: (better, worse), without those that follow from others (the transitive reduction).
        order: All names in the order in which colours are dealt; default that of the layers.
        alpha: Level of the tests, for the caption.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: If a name stands in two layers or in none, or a pair does not lead to a later layer.
    """
    names = [name for layer in layers for name in layer]
    layer_of = {name: place for place, layer in enumerate(layers) for name in layer}
    if len(layer_of) < len(names):
        raise ValueError(f"a name stands in two layers: {sorted({n for n in names if names.count(n) > 1})}")
    look_of = looks(named(names, order, "algorithm"))
    for better, worse in pairs:
        if better not in layer_of or worse not in layer_of or layer_of[better] >= layer_of[worse]:
            raise ValueError(
                f"{better!r} beats {worse!r}: both have to stand in the layers, the first in an earlier one"
            )
    every = range(0, len(layers), 1 + len(layers) // (20 if width > 5 else 6))
    ticks, texts = tuple(map(float, every)), tuple(str(layer + 1) for layer in every)
    high = max(len(layers) - 1, 1) - _LEFT
    x = Axis(label="layer", begins=True, low=_LEFT, high=high, ticks=ticks, texts=texts, line=False)
    return Figure(
        title="Who beats whom",
        alt=f"Graph of {listed(names)}: lines lead from the better to the worse.",
        caption=caption(alpha=alpha),
        width=width,
        height=height or 0.25 * len(names) + 0.6,
        panels=(Panel(x=x, y=row_axis(len(names), hills=False), marks=tuple(_marks(names, layer_of, pairs, look_of))),),
        looks=look_of,
    )


def _marks(
    names: Sequence[str], layer_of: Mapping[str, int], pairs: Sequence[tuple[str, str]], look_of: Mapping[str, Look]
) -> Iterator[Mark]:
    """Lines from the better to the worse, and for each algorithm a dot that is tied to the name at the left."""
    place_of = {name: (float(layer_of[name]), float(row)) for row, name in enumerate(names)}
    for better, worse in pairs:
        mark = f"beats-{names.index(better)}-{names.index(worse)}"
        yield _edge(place_of[better], place_of[worse], better, mark)
    for row, (name, place) in enumerate(place_of.items()):
        x, y = np.array(place)[:, np.newaxis]
        lead = np.array([_LEFT, place[0]])
        yield Line(x=lead, y=np.repeat(y, 2), color=pale(MUTED, 0.4), width=0.5, dash=(1, 2), layer=1)
        symbol = look_of[name].marker or "o"
        yield Points(name=f"algorithm-{row}", x=x, y=y, algorithm=name, symbol=symbol, size=7, rim=SURFACE, layer=3)
        yield row_label(row, shown(name), name, bold=place[0] == 0)


def _edge(start: tuple[float, float], end: tuple[float, float], better: str, name: str) -> Edge:
    """Along the algorithm's own row, where no other dot lies, to the layer before the last; then in a level curve."""
    (x, y), (to_x, to_y) = start, end
    points = [(x, y), (to_x - 1, y), (to_x - 1 + _BEND, y), (to_x - _BEND, to_y), (to_x, to_y)]
    return Edge(name=name, points=np.array(points), algorithm=better, strength=0.75)

"""Which algorithm beats which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Edge, Line, Mark, Points, row_label
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.scales import row_axis
from polarbear.figures.style import MUTED, SURFACE, WIDE, Look, looks_for, pale, shown

_BEND = 0.35
"""Length of the horizontal part at the ends of a line, as a share of the distance between two layers."""
_LEFT = -0.15


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
    says that the first algorithm beats the second; so does a path of several lines from left to right. Across
    intermediate layers, a line stays in the row of its own algorithm. Algorithms without such a path between them are
    not distinguished. Unbeaten algorithms have bold names.

    Args:
        layers: Names from the best layer to the worst: the first layer holds the unbeaten algorithms, each later one
            those beaten by an algorithm of the previous layer.
        pairs: Pairs (better, worse), without those implied by others (the transitive reduction).
        order: All algorithm names in the order in which colours are assigned; default that of the layers.
        alpha: Level of the tests, for the caption.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If a name is in two layers or in none, or a pair does not lead to a later layer.
    """
    names = [name for layer in layers for name in layer]
    layer_of = {name: index for index, layer in enumerate(layers) for name in layer}
    if len(layer_of) < len(names):
        raise ValueError(f"names are in more than one layer: {sorted({n for n in names if names.count(n) > 1})}")
    looks = looks_for(names, order, "algorithm")
    for better, worse in pairs:
        if better not in layer_of or worse not in layer_of or layer_of[better] >= layer_of[worse]:
            raise ValueError(f"{better!r} beats {worse!r}: both must be in the layers, the first in an earlier one")
    every = range(0, len(layers), 1 + len(layers) // (20 if width > 5 else 6))
    ticks, texts = tuple(map(float, every)), tuple(str(layer + 1) for layer in every)
    high = max(len(layers) - 1, 1) - _LEFT
    x = Axis(label="layer", begins=True, low=_LEFT, high=high, ticks=ticks, texts=texts, line=False)
    return Figure(
        title="Who beats whom",
        alt=f"Graph of {listed(names)}: lines lead from the better to the worse.",
        caption=captions.partial_order(alpha=alpha),
        width=width,
        height=height or 0.25 * len(names) + 0.6,
        panels=(Panel(x=x, y=row_axis(len(names), hills=False), marks=tuple(_marks(layer_of, pairs, looks))),),
        looks=looks,
    )


def _marks(layer_of: Mapping[str, int], pairs: Sequence[tuple[str, str]], looks: Mapping[str, Look]) -> Iterator[Mark]:
    """Lines from better to worse algorithms, and a dot per algorithm with a dotted line to its name."""
    row_of = {name: row for row, name in enumerate(layer_of)}
    for better, worse in pairs:
        (x, y), (to_x, to_y) = ((float(layer_of[name]), float(row_of[name])) for name in (better, worse))
        # along the algorithm's own row, where no other dot lies, to the layer before the last; then a curve to the last
        points = [(x, y), (to_x - 1, y), (to_x - 1 + _BEND, y), (to_x - _BEND, to_y), (to_x, to_y)]
        mark = f"beats-{row_of[better]}-{row_of[worse]}"
        yield Edge(name=mark, points=np.array(points), algorithm=better, strength=0.75)
    for name, row in row_of.items():
        x, y = np.array([float(layer_of[name])]), np.array([float(row)])
        lead = np.array([_LEFT, x[0]])
        yield Line(x=lead, y=np.repeat(y, 2), color=pale(MUTED, 0.4), width=0.5, dash=(1, 2), layer=1)
        symbol = looks[name].marker or "o"
        yield Points(name=f"algorithm-{row}", x=x, y=y, algorithm=name, symbol=symbol, size=7, rim=SURFACE, layer=3)
        yield row_label(row, shown(name), name, bold=not layer_of[name])

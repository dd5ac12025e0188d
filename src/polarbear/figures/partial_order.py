"""Who beats whom."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from polarbear.figures.scales import named
from polarbear.figures.style import MUTED, WIDE, Look, blank, figure_of, literal, looks, name_row, pale, styled

_BEND = 0.35
"""How long a line keeps level at its ends, of the distance of two layers: the longer, the later lines part."""


@styled
def partial_order(
    layers: Sequence[Sequence[str]],
    pairs: Sequence[tuple[str, str]],
    *,
    order: Sequence[str] | None = None,
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
    figure = blank(width, height or 0.25 * len(names) + 0.6)
    ax = figure.add_subplot()
    _frame(ax, len(names), len(layers))
    place_of = {name: (float(layer_of[name]), float(row)) for row, name in enumerate(names)}
    for better, worse in pairs:
        _edge(
            ax, place_of[better], place_of[worse], look_of[better], f"beats-{names.index(better)}-{names.index(worse)}"
        )
    for row, name in enumerate(names):
        _node(ax, place_of[name], name, look_of[name], row)
    return figure


def _frame(ax: Axes, rows: int, layers: int) -> None:
    ax.set_xlim(-0.15, max(layers - 1, 1) + 0.15)
    ax.set_ylim(rows - 0.4, -0.6)
    ax.set_yticks([])
    every = 1 + layers // (20 if figure_of(ax).get_figwidth() > 5 else 6)
    ax.set_xticks(range(0, layers, every), [str(layer + 1) for layer in range(0, layers, every)])
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel("layer", loc="left")
    for spine in ax.spines.values():
        spine.set_visible(False)


def _edge(ax: Axes, start: tuple[float, float], end: tuple[float, float], look: Look, gid: str) -> None:
    """Along the algorithm's own row, where no other dot lies, to the layer before the last; then in a level curve."""
    (x, y), (to_x, to_y) = start, end
    curve = [(to_x - 1 + _BEND, y), (to_x - _BEND, to_y), (to_x, to_y)]
    path = Path([(x, y), (to_x - 1, y), *curve], [Path.MOVETO, Path.LINETO, *[Path.CURVE4] * 3])
    ax.add_patch(PathPatch(path, facecolor="none", edgecolor=pale(look.color, 0.75), linewidth=1.2, zorder=2, gid=gid))


def _node(ax: Axes, place: tuple[float, float], name: str, look: Look, row: int) -> None:
    x, y = place
    ax.plot([ax.get_xlim()[0], x], [y, y], color=pale(MUTED, 0.4), linewidth=0.5, linestyle=(0, (1, 2)), zorder=1)
    ax.plot(
        x, y, look.marker or "o", color=look.color, markersize=7, mec="white", mew=1, zorder=3, gid=f"algorithm-{row}"
    )
    name_row(ax, row, literal(name), look, fontweight="bold" if x == 0 else "normal")

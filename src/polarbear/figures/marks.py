"""The marks that figures consist of, each with its data in units of the axes.

A mark that belongs to an algorithm names it and takes its colour from the looks of the figure; any other mark has a
colour of its own. Where `x` or `y` is NaN, a line is broken and a point left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polarbear.figures.style import INK, MICRO, SMALL, Look, pale
from polarbear.records import FloatArray

_DATA = ("x", "x_end", "y", "low", "high", "value", "text")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Mark:
    """Attributes common to all marks.

    Attributes:
        name: Identifier in the figure and in its SVG, such as ``"mean-0"``; marks without a name only help to read the
            figure and are not part of its data.
        algorithm: Name of the algorithm whose colour the mark has.
        color: Colour of a mark that belongs to no algorithm.
        strength: Weight of the colour when mixed with white; 1 is the colour itself.
        ink: Whether the algorithm's colour is darkened as for text.
        layer: Stacking order; marks of higher layers cover those of lower ones.
    """

    name: str = ""
    algorithm: str = ""
    color: str = INK
    strength: float = 1.0
    ink: bool = False
    layer: float = 2.0

    def color_in(self, looks: Mapping[str, Look]) -> str:
        """The colour of the mark, given the looks of a figure."""
        own = self.color
        if self.algorithm:
            own = looks[self.algorithm].ink if self.ink else looks[self.algorithm].color
        return own if self.strength == 1 else pale(own, self.strength)

    def data(self) -> dict[str, Any]:
        """The numbers drawn, by name: arrays of equal length, or scalars."""
        return {name: getattr(self, name) for name in _DATA if hasattr(self, name)}


@dataclass(frozen=True, slots=True)
class Markers:
    """Symbols along a line.

    Attributes:
        symbol: ``"o"``, ``"^"``, ``"s"``, ``"v"``, ``"D"``, ``"X"``, ``"x"``, ``"|"`` or ``"."``.
        size: Size in points.
        at: Indices of the points that have a symbol; default all.
        apart: Alternative to `at`: position of the first symbol and distance between symbols, in panel diagonals.
        edge: Width of the edge, in points.
    """

    symbol: str
    size: float = 3.5
    at: tuple[int, ...] | None = None
    apart: tuple[float, float] | None = None
    edge: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Line(Mark):
    """A line through points (k,).

    Attributes:
        x: (k,) horizontal coordinates.
        y: (k,) vertical coordinates.
        width: Line width in points.
        dash: Lengths of dashes and gaps, in line widths; empty for a solid line.
        steps: Whether the line is a step function that keeps its height until the next point.
        markers: Symbols along the line, if any.
        clip: Whether the line is clipped at the edge of the panel.
    """

    x: FloatArray
    y: FloatArray
    width: float = 1.6
    dash: tuple[float, ...] = ()
    steps: bool = False
    markers: Markers | None = None
    clip: bool = True


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Points(Mark):
    """Symbols at points (k,).

    Attributes:
        x: (k,) horizontal coordinates.
        y: (k,) vertical coordinates.
        symbol: See `Markers`.
        size: Size in points.
        edge: Width of the edge, in points.
        rim: Colour of the edge; empty for the colour of the symbol.
        fill: Colour within the edge; empty for the colour of the symbol.
        shift: Shift to the right, in points on paper.
        clip: Whether the symbols are clipped at the edge of the panel.
    """

    x: FloatArray
    y: FloatArray
    symbol: str = "o"
    size: float = 5.0
    edge: float = 1.0
    rim: str = ""
    fill: str = ""
    shift: float = 0.0
    clip: bool = True


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bars(Mark):
    """Vertical bars (k,) from low to high, such as intervals at single budgets; `cap` is half the width of the ends."""

    x: FloatArray
    low: FloatArray
    high: FloatArray
    width: float = 1.5
    cap: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Band(Mark):
    """The area between two lines over x (k,), optionally in steps."""

    x: FloatArray
    low: FloatArray | float
    high: FloatArray
    opacity: float = 0.2
    steps: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Steps(Mark):
    """Columns of a histogram, or their outline: heights (k,) between edges (k + 1,), filled from the base upwards.

    The hints, one per column, are shown on hover.
    """

    edges: FloatArray
    y: FloatArray
    base: float = 0.0
    width: float = 0.0
    fill: bool = True
    hints: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Left edge, right edge and height of each column."""
        return {"x": self.edges[:-1], "x_end": self.edges[1:], "y": self.y}


@dataclass(frozen=True, slots=True)
class Shades:
    """A mapping from numbers to colours.

    Attributes:
        stops: Equidistant colours from low to high.
        low: Number with the first colour, as have all numbers below it.
        high: Number with the last colour, as have all numbers above it.
        log: Whether the scale is logarithmic.
    """

    stops: tuple[str, ...]
    low: float
    high: float
    log: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cells(Mark):
    """Rectangles (k,) shaded by their numbers, with text where it is readable.

    Attributes:
        x: (k,) left edges.
        x_end: (k,) right edges.
        y: (k,) vertical centres.
        height: Height of all cells.
        value: (k,) numbers; infinite cells are dark grey, NaN cells hatched and without text.
        text: (k,) text in the cells.
        shades: Mapping from numbers to colours.
        bold: (k,) whether the text is bold.
        names: (k,) identifiers of the cells; default `name`.
        size: Font size in points; text is left out of cells too small for it. None for the largest size at which all
            texts fit.
        gaps: Whether thin white lines separate the cells.
    """

    x: FloatArray
    x_end: FloatArray
    y: FloatArray
    value: FloatArray
    text: tuple[str, ...]
    shades: Shades
    height: float = 1.0
    bold: tuple[bool, ...] = ()
    names: tuple[str, ...] = ()
    size: float | None = None
    gaps: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Surface(Mark):
    """A function of x (k,) and y (m,) that is constant from each grid point to the next.

    Attributes:
        x: (k,) increasing.
        y: (m,) increasing.
        z: (k, m) values of the function; NaN regions are hatched.
        edges: (c + 1,) bounds of the colours' intervals; numbers outside all of them have no colour.
        colors: (c,) colours.
        borders: Contours at which the function reaches a number, as (number, colour, width in points).
    """

    x: FloatArray
    y: FloatArray
    z: FloatArray
    edges: FloatArray
    colors: tuple[str, ...]
    borders: tuple[tuple[float, str, float], ...] = ()

    def data(self) -> dict[str, Any]:
        """One row per grid point."""
        x, y = np.meshgrid(self.x, self.y, indexing="ij")
        return {"x": x.ravel(), "y": y.ravel(), "value": self.z.ravel()}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Edge(Mark):
    """An edge of a graph.

    Attributes:
        points: (5, 2) start, end of the straight segment that begins there, then the two control points and the end of
            the cubic Bézier curve that follows.
        width: Line width in points.
    """

    points: FloatArray
    width: float = 1.2

    def data(self) -> dict[str, Any]:
        """Coordinates of both ends."""
        (x, y), (x_end, y_end) = self.points[[0, -1]].tolist()
        return {"x": x, "y": y, "x_end": x_end, "y_end": y_end}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Label(Mark):
    """Text beside a panel.

    Attributes:
        text: The text.
        y: Vertical coordinate; None for above the panel, at its upper right corner.
        left: Whether the text stands at the left of the panel rather than at the right.
        shift: Shift to the right and upwards, in points.
        ends: Whether the text is right-aligned rather than left-aligned.
        size: Font size in points.
        bold: Whether the text is bold.
    """

    text: str
    y: float | None = None
    left: bool = False
    shift: tuple[float, float] = (4.0, 0.0)
    ends: bool = False
    size: float = MICRO
    bold: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PointLabel(Mark):
    """Small text at the lower right of a point; labels at the same x are moved apart where they would overlap."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EndLabel(Mark):
    """A name at the right of a line that ends at (x, y).

    Names that would overlap are moved apart and connected to their lines. A dotted line leads to the name if the line
    ends before the panel does.
    """

    x: float
    y: float
    text: str
    bold: bool = False


def row_label(row: float, text: str, algorithm: str, *, size: float = SMALL, bold: bool = False) -> Label:
    """The name of an algorithm at the left of its row."""
    return Label(
        text=text, y=row, algorithm=algorithm, ink=True, left=True, ends=True, shift=(-5, 0), size=size, bold=bold
    )

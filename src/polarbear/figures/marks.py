"""What figures are made of: a few kinds of marks, each with its data in the units of the axes.

A mark that belongs to an algorithm has its name and takes its colour from the looks of the figure; any other mark has
a colour of its own. Where `x` or `y` is NaN, a line is broken and a point left out.
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
    """What all marks have.

    Attributes:
        name: Identifier in the figure and in its SVG, such as ``"mean-0"``; marks that only help to read the
            figure need none, and are not among its data.
        algorithm: Whose colour it has.
        color: Its colour, if it is no algorithm's.
        strength: How much of the colour is mixed with white; 1 is the colour itself.
        ink: Whether the algorithm's colour is darkened as for text.
        layer: Marks of higher layers cover those of lower ones.
    """

    name: str = ""
    algorithm: str = ""
    color: str = INK
    strength: float = 1.0
    ink: bool = False
    layer: float = 2.0

    def color_in(self, looks: Mapping[str, Look]) -> str:
        """The colour among the looks of a figure."""
        own = self.color
        if self.algorithm:
            own = looks[self.algorithm].ink if self.ink else looks[self.algorithm].color
        return own if self.strength == 1 else pale(own, self.strength)

    def data(self) -> dict[str, Any]:
        """The numbers drawn, by name: arrays of one length, or single values."""
        return {name: getattr(self, name) for name in _DATA if hasattr(self, name)}


@dataclass(frozen=True, slots=True)
class Markers:
    """Symbols along a line.

    Attributes:
        symbol: ``"o"``, ``"^"``, ``"s"``, ``"v"``, ``"D"``, ``"X"``, ``"x"``, ``"|"`` or ``"."``.
        size: In points.
        at: Indices of the points that have one; default all.
        apart: In place of `at`: where the first one stands and how far they are apart, in diagonals of the panel.
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
        x: (k,)
        y: (k,)
        width: In points.
        dash: Lengths of dashes and gaps in widths of the line; empty if it is solid.
        steps: Whether it keeps its height until the next point.
        markers: Along the line; None for none.
        clip: Whether it is cut off at the edge of the panel.
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
        x: (k,)
        y: (k,)
        symbol: See `Markers`.
        size: In points.
        edge: Width of the edge, in points.
        rim: Colour of the edge; empty if it is that of the symbol.
        fill: Colour within the edge; empty if it is that of the symbol.
        shift: To the right of the point, in points of paper.
        clip: Whether they are cut off at the edge of the panel.
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
    """Upright bars (k,) from low to high, such as intervals at single budgets; `cap` is half the width of the ends."""

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
    """Columns of a histogram: heights (k,) between edges (k + 1,), filled from the base on, or their outline.

    Where there is a pointer, it finds the hints, one for each column.
    """

    edges: FloatArray
    y: FloatArray
    base: float = 0.0
    width: float = 0.0
    fill: bool = True
    hints: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Where each column begins and ends, and its height."""
        return {"x": self.edges[:-1], "x_end": self.edges[1:], "y": self.y}


@dataclass(frozen=True, slots=True)
class Shades:
    """How numbers become colours.

    Attributes:
        stops: Colours at equal distances from low to high.
        low: Number with the first colour, and all below.
        high: Number with the last colour, and all above.
        log: Whether equal ratios are equally far apart, rather than equal differences.
    """

    stops: tuple[str, ...]
    low: float
    high: float
    log: bool = False


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Cells(Mark):
    """Rectangles (k,) in shades of their numbers, with text where it can be read.

    Attributes:
        x: (k,) left edges.
        x_end: (k,) right edges.
        y: (k,) middles.
        height: Of all cells.
        value: (k,) numbers; an infinite one is dark grey, one that is NaN hatched and without text.
        text: (k,) text in the cells.
        shades: Of the numbers.
        bold: (k,) whether the text is bold.
        names: (k,) identifier of each cell; default `name`.
        size: Of the text, in points, which is left out of cells too small for it; None for the largest at which all
            texts fit.
        gaps: Whether thin white lines part the cells.
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
        z: (k, m) the function; where it is NaN, the ground is hatched.
        edges: (c + 1,) numbers between which a colour lies; what is below the first or above the last has none.
        colors: (c,) colours.
        borders: Outlines of where the function reaches a number: number, colour, width in points.
    """

    x: FloatArray
    y: FloatArray
    z: FloatArray
    edges: FloatArray
    colors: tuple[str, ...]
    borders: tuple[tuple[float, str, float], ...] = ()

    def data(self) -> dict[str, Any]:
        """One row for each grid point."""
        x, y = np.meshgrid(self.x, self.y, indexing="ij")
        return {"x": x.ravel(), "y": y.ravel(), "value": self.z.ravel()}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Edge(Mark):
    """A line of a graph.

    Attributes:
        points: (5, 2) begin, where a straight line from there ends, and the two control points and the end of the cubic
            Bézier curve that follows.
        width: In points.
    """

    points: FloatArray
    width: float = 1.2

    def data(self) -> dict[str, Any]:
        """Where it begins and ends."""
        (x, y), (x_end, y_end) = self.points[[0, -1]].tolist()
        return {"x": x, "y": y, "x_end": x_end, "y_end": y_end}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Label(Mark):
    """Text beside a panel.

    Attributes:
        text: The text.
        y: The height that it stands at; None for above the panel, at its upper right corner.
        left: Whether it stands at the left of the panel, rather than at the right.
        shift: How far to the right and how far up it is moved, in points.
        ends: Whether the text ends there, rather than begins.
        size: In points.
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
    """Small text at the lower right of a point; those at one x are moved apart where they would overlap."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EndLabel(Mark):
    """A name at the right of a line that ends at (x, y).

    Names are moved apart where they would overlap and tied to their lines; a dotted line leads there from one that
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

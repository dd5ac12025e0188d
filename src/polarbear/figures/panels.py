"""What renderers draw: panels with their axes, keys and colour bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np

from polarbear.figures.marks import Cells, Mark, Shades, Surface
from polarbear.figures.style import INK, SURFACE, Look

Scaling = Literal["linear", "log", "nines"]
Scale = Literal["log", "linear"]
"""Scales that an axis of numbers can be switched to."""
Place = Literal[
    "above", "below", "right", "inside upper left", "inside upper right", "inside lower left", "inside lower right"
]
"""Places of a key."""
MARGIN = 0.04
"""Default width of the blank margin around each panel with its labels, in inches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    r"""One axis of a panel.

    Attributes:
        label: What the numbers mean; may contain mathematics between dollar signs, where ``\$`` is a dollar.
        low: Number at which the axis begins, larger than `high` if it is reversed; None for the extreme of the data.
        high: Number at which the axis ends.
        scale: "linear", "log", or "nines": linear up to 0.9 and logarithmic in 1 - p above (`scales.stretch`).
        ticks: Numbers with a tick and a label; None lets the renderer choose.
        texts: Tick labels; default the numbers.
        minor: Numbers with a tick but no label; None lets the renderer choose.
        rug: Data points with a longer tick of their own, but no label.
        most: Approximate maximum number of ticks; None for as many as are readable.
        counts: Whether numbers are counts, to be written compactly (`style.compact`).
        whole: Whether ticks are at whole numbers only.
        grid: Whether there are pale grid lines at the ticks.
        line: Whether the axis line is drawn, rather than its labels alone.
        hidden: Whether the whole axis is hidden.
        begins: Whether the label stands at the beginning of the axis rather than at its middle.
        sparse: Whether tick labels that would touch are left out; the last one is kept.
        upright: Font size of vertical tick labels, in points; None if labels are horizontal.
    """

    label: str = ""
    low: float | None = None
    high: float | None = None
    scale: Scaling = "linear"
    ticks: tuple[float, ...] | None = None
    texts: tuple[str, ...] | None = None
    minor: tuple[float, ...] | None = None
    rug: tuple[float, ...] | None = None
    most: int | None = None
    counts: bool = False
    whole: bool = False
    grid: bool = False
    line: bool = True
    hidden: bool = False
    begins: bool = False
    sparse: bool = False
    upright: float | None = None

    @property
    def ends(self) -> tuple[float, float]:
        """The numbers at which the axis begins and ends.

        Raises:
            ValueError: If the limits come from the data.
        """
        if self.low is None or self.high is None:
            raise ValueError(f"axis {self.label!r} has no limits of its own; give low and high")
        return self.low, self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a key.

    Attributes:
        text: What the sample stands for.
        algorithm: Name of the algorithm whose colour the sample has.
        color: Colour of a sample that belongs to no algorithm.
        ink: Whether the algorithm's colour is darkened as for text.
        symbol: Symbol of the point, or on the line; empty for none.
        size: Size of the symbol, in points.
        width: Width of the line, in points; 0 for no line.
        dash: Dashes of the line.
        bold: Whether the text is bold.
    """

    text: str
    algorithm: str = ""
    color: str = INK
    ink: bool = False
    symbol: str = ""
    size: float = 5.0
    width: float = 0.0
    dash: tuple[float, ...] = ()
    bold: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A legend of marks.

    Attributes:
        entries: Entries, read row by row; those without line and symbol are areas.
        columns: Number of entries per row.
        size: Font size in points.
        place: Place of a figure's key; a panel's key is always above it.
    """

    entries: tuple[Entry, ...]
    columns: int
    size: float
    place: Place = "above"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A colour bar.

    Attributes:
        label: What the numbers mean.
        shades: Shades of `Cells`; None if the colours have edges.
        edges: (c + 1,) bounds of the colours' intervals.
        colors: (c,) colours.
        ticks: Numbers with a label; None lets the renderer choose.
        texts: Tick labels; default the numbers.
        lines: Lines across the bar, as (number, colour, width in points).
        above: Whether the bar lies above the panel, with its label at the left, rather than to the right.
        most: Approximate maximum number of ticks.
        length: Length of the bar, in multiples of its breadth.
        breadth: Breadth of the bar, as a share of the panel's width.
    """

    label: str
    shades: Shades | None = None
    edges: tuple[float, ...] = ()
    colors: tuple[str, ...] = ()
    ticks: tuple[float, ...] | None = None
    texts: tuple[str, ...] | None = None
    lines: tuple[tuple[float, str, float], ...] = ()
    above: bool = False
    most: int = 5
    length: float = 22.0
    breadth: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Marks on a pair of axes.

    Attributes:
        x: Horizontal axis.
        y: Vertical axis.
        marks: Marks; later ones cover earlier ones of the same layer.
        title: Title above the panel, at its left; may contain mathematics as labels of axes do.
        key: Legend above the panel.
        bar: Colour bar beside or above the panel.
        ground: Colour behind the marks; empty for that of the figure's `paper`.
        behind: Panel with the same horizontal axis, whose vertical axis is drawn at the right.
        equal: Whether units have the same length on both axes.
    """

    x: Axis
    y: Axis
    marks: tuple[Mark, ...]
    title: str = ""
    key: Key | None = None
    bar: Bar | None = None
    ground: str = ""
    behind: Panel | None = None
    equal: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawing:
    """Panels and their layout, without words.

    Attributes:
        width: Width in inches.
        height: Height in inches.
        panels: Panels, row by row.
        columns: Number of panels per row.
        heights: Relative heights of the rows of panels; empty if they are equal.
        looks: Looks of the algorithms.
        key: Legend common to all panels.
        joined: Whether panels above each other touch.
        shared: Whether all panels share one horizontal axis.
        paper: Two colours: of the background, and behind the marks of panels in which colours do not stand for numbers.
        margins: Blank inches (left and right, above and below) around each panel with its labels; panels that touch
            still do.
    """

    width: float
    height: float
    panels: tuple[Panel, ...]
    columns: int = 1
    heights: tuple[float, ...] = ()
    looks: Mapping[str, Look] = field(default_factory=dict[str, Look])
    key: Key | None = None
    joined: bool = False
    shared: bool = False
    paper: tuple[str, str] = (SURFACE, SURFACE)
    margins: tuple[float, float] = (MARGIN, MARGIN)

    def ground(self, panel: Panel) -> str:
        """The colour behind the marks of a panel."""
        numbers = any(isinstance(mark, Surface | Cells) for mark in panel.marks)
        return panel.ground or (SURFACE if numbers else self.paper[1])

    def is_switchable(self, which: str) -> bool:
        """Whether the "x" or "y" axes can be both linear and logarithmic, i.e. show numbers rather than names."""
        axes: list[Axis] = [getattr(panel, which) for panel in self.panels]
        named = any(axis.hidden or axis.scale == "nines" or (axis.texts and axis.scale == "linear") for axis in axes)
        drawn = [mark.data().get(which, 1.0) for panel in self.panels for mark in panel.marks]
        return not named and all(np.nanmax(np.asarray(each, dtype=float), initial=-1) > 0 for each in drawn)

    def scaled(self, *, x: Scale | None = None, y: Scale | None = None) -> Self:
        """The drawing with another scale on all horizontal or vertical axes; limits and ticks are taken from the data.

        Raises:
            ValueError: If an axis cannot have another scale; see `is_switchable`.
        """
        for which, scale in (("x", x), ("y", y)):
            if scale is not None and not self.is_switchable(which):
                raise ValueError(f"{which} is {scale!r}, but that axis has only one scale; leave {which} out")
        return replace(
            self, panels=tuple(replace(each, x=_scaled(each.x, x), y=_scaled(each.y, y)) for each in self.panels)
        )


def _scaled(axis: Axis, scale: Scale | None) -> Axis:
    if scale in (None, axis.scale):
        return axis
    keep = scale == "linear" or min(axis.low or 0, axis.high or 0) > 0
    low, high = (axis.low, axis.high) if keep else (None, None)
    return replace(axis, scale=scale, low=low, high=high, ticks=None, texts=None, minor=None, rug=None)

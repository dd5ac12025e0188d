"""What renderers draw: panels with their axes, keys and color bars."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import numpy as np

from polarbear.figures.marks import Cells, Mark, Shades, Surface
from polarbear.figures.style import INK, SURFACE, Look

Scaling = Literal["linear", "log", "nines"]
Scale = Literal["log", "linear"]
"""What an axis of numbers can be switched to."""
Place = Literal[
    "above", "below", "right", "inside upper left", "inside upper right", "inside lower left", "inside lower right"
]
"""Where a key can be."""
MARGIN = 0.04
"""Usual blank inches around each panel with its labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    r"""One axis of a panel.

    Attributes:
        label: What its numbers are. It may hold mathematics between dollar signs; ``\$`` is a dollar.
        low: The number where it begins; larger than `high` if the axis is reversed. None: from the data.
        high: The number at its end.
        scale: "linear", "log", or "nines": linear up to 0.9 and logarithmic in 1 - p above (`scales.stretch`).
        ticks: Numbers with a tick and a label; None lets the renderer choose.
        texts: The labels of the ticks; default the numbers.
        minor: Numbers with a tick but no label; None as the renderer chooses.
        rug: Data with a longer tick of their own, but no label.
        most: About how many ticks there is room for; None for as many as are readable.
        counts: Whether numbers are counts, to be written compactly (`style.compact`).
        whole: Whether ticks are whole numbers.
        grid: Whether pale rules stand at the ticks.
        line: Whether the axis is drawn, rather than its labels alone.
        hidden: Whether nothing of it is shown.
        begins: Whether the label stands at its begin, rather than at its middle.
        sparse: Whether labels of ticks that would touch are left out; that of the last tick stays.
        upright: Size in points of labels of ticks that run upwards; None if they are level.
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
        """The numbers where it begins and ends.

        Raises:
            ValueError: If the limits come from the data.
        """
        if self.low is None or self.high is None:
            raise ValueError(f"axis {self.label!r} has no limits of its own; give it low and high")
        return self.low, self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry of a key.

    Attributes:
        text: What the sample stands for.
        algorithm: Whose colour the sample has.
        color: Its colour, if it is no algorithm's.
        ink: Whether the algorithm's colour is darkened as for text.
        symbol: Of a point, or on a line; empty for none.
        size: Of the symbol, in points.
        width: Of the line, in points; 0 for none.
        dash: Of the line.
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
    """What marks stand for.

    Attributes:
        entries: Read row by row; those without line and symbol are areas.
        columns: How many stand side by side.
        size: Of the text, in points.
        place: Of a figure's key; that of a panel is above it.
    """

    entries: tuple[Entry, ...]
    columns: int
    size: float
    place: Place = "above"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """The numbers that shades stand for.

    Attributes:
        label: What the numbers are.
        shades: From `Cells`; None if colours have edges.
        edges: (c + 1,) numbers between which a colour lies.
        colors: (c,) colours.
        ticks: Numbers with a label; None as the renderer chooses.
        texts: The labels; default the numbers.
        lines: Numbers with a line across: number, colour, width in points.
        above: Whether it lies above the panel, with its label at the left, rather than to the right.
        most: About how many ticks there is room for.
        length: In multiples of its breadth.
        breadth: As a share of the panel's width.
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
    """Marks on two axes.

    Attributes:
        x: Horizontal axis.
        y: Vertical axis.
        marks: Later ones cover earlier ones of the same layer.
        title: Above the panel, at its left; written as labels of axes are.
        key: Above the panel.
        bar: Beside or above it.
        ground: Colour behind the marks; empty for that of the figure's `paper`.
        behind: A panel with the same horizontal axis, whose vertical axis stands at the right.
        equal: Whether a unit is as long on the vertical axis as on the horizontal one.
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
        width: Inches.
        height: Inches.
        panels: Row by row.
        columns: How many panels stand side by side.
        heights: Of the rows of panels, relative to each other; empty if they are equally high.
        looks: Of the algorithms.
        key: Of all panels.
        joined: Whether panels one above the other touch.
        shared: Whether all panels have one horizontal axis.
        paper: Colours behind everything, and behind the marks of panels in which colours do not stand for numbers.
        margins: Blank inches beside, and above and below each panel with its labels; panels that touch go on to.
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
        """Whether the "x" or the "y" axes can be both linear and logarithmic: those of numbers, not those of names."""
        axes: list[Axis] = [getattr(panel, which) for panel in self.panels]
        named = any(axis.hidden or axis.scale == "nines" or (axis.texts and axis.scale == "linear") for axis in axes)
        drawn = [mark.data().get(which, 1.0) for panel in self.panels for mark in panel.marks]
        return not named and all(np.nanmax(np.asarray(each, dtype=float), initial=-1) > 0 for each in drawn)

    def scaled(self, *, x: Scale | None = None, y: Scale | None = None) -> Self:
        """The same with other scales of all horizontal or vertical axes, whose limits and ticks come from the data.

        Raises:
            ValueError: If an axis cannot have another scale; see `is_switchable`.
        """
        for which, scale in (("x", x), ("y", y)):
            if scale is not None and not self.is_switchable(which):
                raise ValueError(f"{which} is {scale!r}, but that axis has one scale only; leave it out")
        return replace(
            self, panels=tuple(replace(each, x=_scaled(each.x, x), y=_scaled(each.y, y)) for each in self.panels)
        )


def _scaled(axis: Axis, scale: Scale | None) -> Axis:
    if scale in (None, axis.scale):
        return axis
    keep = scale == "linear" or min(axis.low or 0, axis.high or 0) > 0
    low, high = (axis.low, axis.high) if keep else (None, None)
    return replace(axis, scale=scale, low=low, high=high, ticks=None, texts=None, minor=None, rug=None)

"""Matplotlib axes: scale, limits, ticks, labels."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from polarbear.figures.panels import Axis
from polarbear.figures.scales import stretch, unstretch
from polarbear.figures.style import RULE, brief, compact, literal


def _counts(value: float, _position: int | None = None) -> str:
    return compact(value)


def _brief(value: float, _position: int | None = None) -> str:
    return brief(value)


COUNTS, BRIEF = FuncFormatter(_counts), FuncFormatter(_brief)
"""Compact tick labels, and even shorter ones."""


def figure_of(ax: Axes) -> Figure:
    """The figure that contains the axes."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes do not belong to a figure")
    return figure


def apply(ax: Axes, which: Literal["x", "y"], axis: Axis, *, side: str = "") -> None:
    """Give the "x" or the "y" axis of a panel its scale, limits, ticks and label."""
    side = side or {"x": "bottom", "y": "left"}[which]
    if axis.scale != "linear":
        nines: dict[str, Any] = {"functions": (stretch, unstretch)} if axis.scale == "nines" else {}
        (ax.set_xscale if which == "x" else ax.set_yscale)("function" if nines else "log", **nines)
    if axis.low is not None:
        ax.set(**{f"{which}lim": (axis.low, axis.high)})
    ax.spines[side].set_visible(axis.line and not axis.hidden)
    if axis.hidden:
        ax.tick_params(axis=which, which="both", **{side: False, f"label{side}": False})
        return
    _ticks(ax, which, axis)
    if axis.grid:
        ax.grid(axis=which, color=RULE, linewidth=0.5)
    if axis.label:
        ax.set(**{f"{which}label": axis.label})
    if axis.begins:
        ax.set_xlabel(axis.label, loc="left")
    if not axis.line:
        ax.tick_params(axis=which, length=0)
    if axis.upright is not None:
        ax.tick_params(axis=which, labelrotation=90, labelsize=axis.upright)


def _ticks(ax: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    own = ax.xaxis if which == "x" else ax.yaxis
    if axis.ticks is not None:
        own.set_major_locator(FixedLocator(axis.ticks))
    elif axis.scale == "log":
        _log_ticks(ax, which, axis)
    elif axis.most is not None:
        own.set_major_locator(MaxNLocator(axis.most, integer=axis.whole))
    if axis.texts is not None:
        own.set_major_formatter(FixedFormatter([literal(text) for text in axis.texts]))
    elif axis.counts:
        own.set_major_formatter(COUNTS)
    minor = axis.minor if axis.rug is None else axis.rug
    if minor is not None:
        own.set_minor_locator(FixedLocator(minor))
        own.set_minor_formatter(NullFormatter())
    if axis.rug is not None:
        ax.tick_params(axis=which, which="minor", length=5, width=0.8)


def _log_ticks(ax: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    """Ticks at powers of ten, with 2 and 5 times these if they are few; linear ticks within less than a decade."""
    own = ax.xaxis if which == "x" else ax.yaxis
    low, high = own.get_view_interval()
    narrow = axis.most is not None and axis.most < 6
    decades = float(np.log10(high / low)) * (2 if narrow else 1)
    if decades < 0.7:
        own.set_major_locator(MaxNLocator(5))
        own.set_minor_locator(FixedLocator([]))
    else:
        subs = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
        own.set_major_locator(LogLocator(subs=subs, numticks=5 if narrow else 15))
    own.set_minor_formatter(NullFormatter())


def lay_out(figure: Figure) -> None:
    """Move panels and texts to the positions at which the figure will be drawn."""
    if figure.axes and (engine := figure.get_layout_engine()):
        engine.execute(figure)
    for ax in figure.axes:
        if ax.get_axes_locator() is None:  # colour bars have their own
            ax.apply_aspect()


def thin_out(ax: Axes) -> None:
    """Hide labels of the horizontal axis that would touch others; the last one is kept."""
    labels = ax.get_xticklabels()
    boxes = [label.get_window_extent() for label in labels]
    space = boxes[0].height / 3
    visible, right_end = {len(boxes) - 1}, -np.inf
    for index, box in enumerate(boxes[:-1]):
        if right_end < box.x0 and box.x1 + space < boxes[-1].x0:
            visible.add(index)
            right_end = box.x1 + space
    ax.xaxis.set_major_formatter(
        FixedFormatter([label.get_text() if index in visible else "" for index, label in enumerate(labels)])
    )

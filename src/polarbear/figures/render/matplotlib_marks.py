"""Draw marks with Matplotlib, and labels where there is room for them."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, LinearSegmentedColormap, LogNorm, Normalize, to_rgb
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.transforms import ScaledTranslation
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.figures.marks import (
    Band,
    Bars,
    Cells,
    Edge,
    EndLabel,
    Label,
    Line,
    Mark,
    PointLabel,
    Points,
    Shades,
    Steps,
    Surface,
)
from polarbear.figures.panels import Drawing
from polarbear.figures.render.matplotlib_axes import figure_of
from polarbear.figures.style import MICRO, SMALL, literal, readable
from polarbear.records import FloatArray

_TINY = 1e-9
"""Contour levels lie just below round numbers, so that exactly 0.5 counts as at least 0.5."""
_BEYOND = "#3A3D42"
_DARK_TEXT = "#12304A"


@singledispatch
def draw_mark(mark: Mark, ax: Axes, drawing: Drawing) -> None:  # noqa: ARG001
    """Draw a mark.

    Raises:
        TypeError: If the kind of mark is unknown.
    """
    raise TypeError(
        f"mark {mark.name!r} is a {type(mark).__name__}; figures consist of the marks in polarbear.figures.marks"
    )


def _common(mark: Mark, drawing: Drawing) -> dict[str, Any]:
    return {"color": mark.color_in(drawing.looks), "zorder": mark.layer, "gid": mark.name or None}


@draw_mark.register
def _(mark: Line, ax: Axes, drawing: Drawing) -> None:
    options: dict[str, Any] = {}
    if markers := mark.markers:
        options = {"marker": markers.symbol, "markersize": markers.size, "markeredgewidth": markers.edge}
        options["markevery"] = list(markers.at) if markers.at is not None else markers.apart
    ax.plot(
        mark.x,
        mark.y,
        linewidth=mark.width,
        linestyle=(0, mark.dash) if mark.dash else "-",
        drawstyle="steps-post" if mark.steps else "default",
        clip_on=mark.clip,
        **options,
        **_common(mark, drawing),
    )


@draw_mark.register
def _(mark: Points, ax: Axes, drawing: Drawing) -> None:
    common = _common(mark, drawing)
    if mark.shift:
        common["transform"] = ax.transData + ScaledTranslation(mark.shift / 72, 0, figure_of(ax).dpi_scale_trans)
    ax.plot(
        mark.x,
        mark.y,
        linestyle="",
        marker=mark.symbol,
        markersize=mark.size,
        markeredgewidth=mark.edge,
        markeredgecolor=mark.rim or common["color"],
        markerfacecolor=mark.fill or common["color"],
        clip_on=mark.clip,
        **common,
    )


@draw_mark.register
def _(mark: Bars, ax: Axes, drawing: Drawing) -> None:
    common = _common(mark, drawing)
    if not mark.cap:
        ax.vlines(mark.x, mark.low, mark.high, linewidth=mark.width, **common)
        return
    color, reach = common.pop("color"), np.stack([np.zeros_like(mark.low), mark.high - mark.low])
    ax.errorbar(mark.x, mark.low, reach, fmt="none", ecolor=color, elinewidth=mark.width, capsize=mark.cap, **common)


@draw_mark.register
def _(mark: Band, ax: Axes, drawing: Drawing) -> None:
    step: Any = "post" if mark.steps else None
    ax.fill_between(mark.x, mark.low, mark.high, step=step, alpha=mark.opacity, linewidth=0, **_common(mark, drawing))


@draw_mark.register
def _(mark: Steps, ax: Axes, drawing: Drawing) -> None:
    ax.stairs(mark.y, mark.edges, baseline=mark.base, fill=mark.fill, linewidth=mark.width, **_common(mark, drawing))


@draw_mark.register
def _(mark: Edge, ax: Axes, drawing: Drawing) -> None:
    common = _common(mark, drawing)
    path = Path(mark.points, [Path.MOVETO, Path.LINETO, *[Path.CURVE4] * 3])
    ax.add_patch(PathPatch(path, facecolor="none", edgecolor=common.pop("color"), linewidth=mark.width, **common))


@draw_mark.register
def _(mark: Label, ax: Axes, drawing: Drawing) -> None:
    common = _common(mark, drawing)
    ax.annotate(
        literal(mark.text),
        (0 if mark.left else 1, 1 if mark.y is None else mark.y),
        xycoords="axes fraction" if mark.y is None else ("axes fraction", "data"),
        xytext=mark.shift,
        textcoords="offset points",
        ha="right" if mark.ends else "left",
        va="baseline" if mark.y is None else "center_baseline",
        fontsize=mark.size,
        fontweight="bold" if mark.bold else "normal",
        color=common["color"],
        gid=common["gid"],
    )


@draw_mark.register
def _(mark: Surface, ax: Axes, _drawing: Drawing) -> None:
    right, top = ax.get_xlim()[1], ax.get_ylim()[1]
    x, y = np.repeat(np.append(mark.x, right), 2)[1:-1], np.repeat(np.append(mark.y, top), 2)[1:-1]
    z = np.repeat(np.repeat(mark.z, 2, axis=0), 2, axis=1).T  # both ends of every cell, for contours with right angles
    unknown = np.isnan(z)
    if unknown.any():
        hatched = unknown.astype(np.float64)
        ax.contourf(x, y, hatched, levels=[0.5, 1.5], colors="none", hatches=["/////"], zorder=0.9).set_gid("unknown")
    known = np.ma.masked_invalid(z)
    ax.contourf(x, y, known, levels=mark.edges, colors=mark.colors, zorder=mark.layer).set_gid(mark.name)
    low, high = np.nanmin(z, initial=np.inf), np.nanmax(z, initial=-np.inf)
    borders = sorted({border for border in mark.borders if low < border[0] <= high})
    if borders:
        levels, colors, widths = zip(*borders, strict=True)
        levels = [level - _TINY for level in levels]
        ax.contour(x, y, known, levels=levels, colors=colors, linewidths=widths, zorder=2).set_gid("borders")


def norm_of(shades: Shades) -> tuple[Normalize, Colormap]:
    """The normalization of numbers to [0, 1], and the colormap."""
    norm = LogNorm if shades.log else Normalize
    return norm(shades.low, shades.high, clip=True), LinearSegmentedColormap.from_list("shades", list(shades.stops))


@draw_mark.register
def _(mark: Cells, ax: Axes, _drawing: Drawing) -> None:
    norm, colors = norm_of(mark.shades)
    size = mark.size or _largest(mark, ax)
    for k, (left, right, y, value) in enumerate(zip(mark.x, mark.x_end, mark.y, mark.value, strict=True)):
        color: Any = _BEYOND if np.isinf(value) else colors(norm(float(value)))
        name, missing = mark.names[k] if mark.names else mark.name, bool(np.isnan(value))
        cell = Rectangle(
            (left, y - mark.height / 2),
            right - left,
            mark.height,
            facecolor="white" if missing else color,
            edgecolor="#B8BCC2" if missing else "white",
            hatch="/////" if missing else None,
            linewidth=0.6 if mark.gaps and not missing else 0,
            zorder=1 if missing else 2,
            gid=name,
        )
        ax.add_patch(cell)
        across, _ = _points_of(ax, (left, right), (y, y))
        if missing or not size or (mark.size and across <= 0.677 * size * len(mark.text[k]) + 5):
            continue
        middle = ax.transData.inverted().transform((ax.transData.transform([(left, y), (right, y)])[:, 0].mean(), 0))[0]
        dark = float(np.dot(to_rgb(color), [0.299, 0.587, 0.114])) < 0.58
        ax.text(
            middle,
            y,
            literal(mark.text[k]),
            ha="center",
            va="center_baseline",
            fontsize=size,
            fontweight="bold" if mark.bold and mark.bold[k] else "normal",
            color="white" if dark else _DARK_TEXT,
            zorder=3,
            gid=name.replace("cell", "number"),
        )


def _points_of(ax: Axes, x: tuple[float, float], y: tuple[float, float]) -> tuple[float, float]:
    """The lengths, in points, of two intervals: `x` along the horizontal axis and `y` along the vertical."""
    corners = ax.transData.transform(np.column_stack([x, y])) * 72 / figure_of(ax).dpi
    across, up = np.abs(corners[1] - corners[0])
    return float(across), float(up)


def _largest(mark: Cells, ax: Axes) -> float:
    """The largest font size at which every text fits into its cell; 0 if that is too small to read."""
    longest = max([1, *(len(text) for text, value in zip(mark.text, mark.value, strict=True) if not np.isnan(value))])
    across, up = _points_of(ax, (mark.x[0], mark.x_end[0]), (mark.y[0], mark.y[0] + mark.height))
    size = min(SMALL, across / (0.8 * longest), 0.8 * up)
    return size if size >= 4 else 0.0


def spread(wanted: ArrayLike, gap: float, low: float, high: float) -> FloatArray:
    """Positions of labels near the wanted ones, in the same order and at least `gap` apart where there is room.

    They minimize the sum of squared shifts.
    """
    at = floats(wanted)
    if not at.size:
        return at
    from scipy.optimize import isotonic_regression  # slow to import

    gap = min(gap, (high - low) / max(at.size - 1, 1))
    order, shifts = np.argsort(at, kind="stable"), gap * np.arange(at.size)
    placed = np.empty_like(at)
    placed[order] = np.clip(isotonic_regression(at[order] - shifts).x, low, high - shifts[-1]) + shifts
    return placed


def _fractions(ax: Axes, points: Sequence[tuple[float, float]]) -> FloatArray:
    """(k, 2) positions of points as fractions of the panel's width and height, in its current layout."""
    return np.asarray((ax.transData + ax.transAxes.inverted()).transform(points), dtype=np.float64)


def draw_end_labels(ax: Axes, labels: Sequence[EndLabel], drawing: Drawing) -> None:
    """Draw names beside the right ends of lines, moved apart where they would overlap and connected to their lines."""
    figure, right = figure_of(ax), ax.get_xlim()[1]
    colors = [label.color_in(drawing.looks) for label in labels]
    for label, color in zip(labels, colors, strict=True):
        if _fractions(ax, [(label.x, label.y)])[0, 0] < 0.995:
            across, level = [label.x, right], [label.y, label.y]
            ax.plot(across, level, color=color, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1.5, gid="lead")
    size = SMALL if drawing.width > 5 else SMALL - 0.5
    ends = _fractions(ax, [(right, label.y) for label in labels])[:, 1].tolist()
    gap = 1.3 * size / 72 / (ax.bbox.height / figure.dpi)
    heights = spread(ends, gap, min(0.0, 1 - gap * len(ends)), 1.0)
    farthest = float(np.abs(heights - ends).max(initial=0.0))
    lead = (14 + 30 * farthest) / 72 / (ax.bbox.width / figure.dpi)
    bend = np.array([1, 1 + lead * 0.25, 1 + lead * 0.75, 1 + lead * 0.9])
    for label, color, end, height in zip(labels, colors, ends, heights, strict=True):
        level = [end, end, height, height]
        ax.plot(bend, level, transform=ax.transAxes, color=color, linewidth=0.8, clip_on=False, gid="leader")
        ax.text(
            1 + lead,
            height,
            literal(label.text),
            transform=ax.transAxes,
            color=readable(color),
            fontsize=size,
            fontweight="bold" if label.bold else "normal",
            va="center_baseline",
            gid="end-label",
        )


def draw_point_labels(ax: Axes, labels: Sequence[PointLabel], drawing: Drawing) -> None:
    """Draw small text at the lower right of points, off a rising line, moved apart where it would overlap."""
    figure = figure_of(ax)
    gap = 1.15 * MICRO / 72 / (ax.bbox.height / figure.dpi)
    for at in dict.fromkeys(label.x for label in labels):
        here = [label for label in labels if label.x == at]
        points = _fractions(ax, [(label.x, label.y) for label in here])
        for (x, _), y, label in zip(points, spread(points[:, 1], gap, gap, 1.0), here, strict=True):
            ax.annotate(
                literal(label.text),
                (x, y),
                xycoords="axes fraction",
                xytext=(3.5, -5),
                textcoords="offset points",
                va="center_baseline",
                fontsize=MICRO,
                color=label.color_in(drawing.looks),
                path_effects=[withStroke(linewidth=2, foreground="white")],
                zorder=4,
                gid=label.name,
            )

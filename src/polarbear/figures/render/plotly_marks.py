"""Marks as plotly traces, shapes and annotations, in plain values that can be made without plotly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.descriptions import printable
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
from polarbear.figures.panels import Axis
from polarbear.figures.scales import stretch
from polarbear.figures.style import Look, blend
from polarbear.records import FloatArray

SYMBOLS = {
    "o": "circle",
    "^": "triangle-up",
    "s": "square",
    "v": "triangle-down",
    "D": "diamond",
    "X": "x",
    "x": "x-thin-open",
    "|": "line-ns-open",
    ".": "circle",
}
"""Plotly's names for the symbols of `Markers`."""
PIXELS = 4 / 3
"""Pixels per point on paper."""
_BEYOND, _UNKNOWN = "#3A3D42", "#C9CDD2"
_AT = "(%{x}, %{y})"

Traces = list[dict[str, Any]]


@dataclass(slots=True)
class Subplot:
    """Where marks are drawn, and the shapes and annotations they have become so far.

    Attributes:
        x: Horizontal axis.
        y: Vertical axis.
        number: Suffix of both axes in plotly's names, such as ``""`` or ``"2"``.
        looks: Looks of the algorithms.
        tint: Transformation of colours, such as for a dark page.
        shapes: Shapes of the layout.
        annotations: Annotations of the layout.
    """

    x: Axis
    y: Axis
    number: str
    looks: Mapping[str, Look]
    tint: Callable[[str], str]
    shapes: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    annotations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def color(self, mark: Mark) -> str:
        """The colour of a mark."""
        return self.tint(mark.color_in(self.looks))

    def trace(self, mark: Mark, x: ArrayLike, y: ArrayLike, **options: Any) -> dict[str, Any]:
        """A trace that is shown and hidden together with its algorithm, or with others of its colour."""
        return {
            "type": "scatter",
            "x": numbers(x),
            "y": numbers(drawn_at(self.y, y)),
            "xaxis": f"x{self.number}",
            "yaxis": f"y{self.number}",
            "name": escaped(mark.algorithm or mark.name),
            "meta": mark.name,
            "legendgroup": mark.algorithm or mark.color_in(self.looks),
            "showlegend": False,
            "hovertemplate": _hover(mark),
        } | options


def _hover(mark: Mark) -> str:
    if not mark.name:
        return ""
    return f"{escaped(mark.algorithm)}<br>{_AT}<extra></extra>" if mark.algorithm else f"{_AT}<extra></extra>"


def escaped(text: str) -> str:
    """Text escaped so that plotly shows it literally rather than interpreting tags."""
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def numbers(values: ArrayLike) -> list[float | None]:
    """Finite numbers, with None where a line is broken."""
    array = floats(values).ravel()
    finite = np.isfinite(array)
    return [value if known else None for value, known in zip(array.tolist(), finite.tolist(), strict=True)]


def drawn_at(axis: Axis, values: ArrayLike) -> FloatArray:
    """Positions of numbers on a plotly axis; plotly has no "nines" scale."""
    return stretch(floats(values)) if axis.scale == "nines" else floats(values)


def coordinate(axis: Axis, value: float) -> float:
    """A number as shapes and annotations expect it: its logarithm on a log axis."""
    return float(np.log10(value)) if axis.scale == "log" else float(drawn_at(axis, value))


@singledispatch
def traces_of(mark: Mark, subplot: Subplot) -> Traces:  # noqa: ARG001
    """The traces of a mark; its shapes and annotations are added to `subplot`.

    Raises:
        TypeError: If the kind of mark is unknown.
    """
    raise TypeError(
        f"mark {mark.name!r} is a {type(mark).__name__}; figures consist of the marks in polarbear.figures.marks"
    )


def _dash(lengths: Sequence[float], width: float) -> dict[str, str]:
    return {"dash": ",".join(f"{length * width * PIXELS:.3g}px" for length in lengths)} if lengths else {}


@traces_of.register
def _(mark: Line, subplot: Subplot) -> Traces:
    line = {"color": subplot.color(mark), "width": mark.width * PIXELS} | _dash(mark.dash, mark.width)
    options: dict[str, Any] = {"mode": "lines", "line": line, "cliponaxis": mark.clip}
    if mark.steps:
        line["shape"] = "hv"
    if markers := mark.markers:
        size = markers.size * PIXELS
        sizes: Any = size if markers.at is None else [size * (at in markers.at) for at in range(mark.x.size)]
        options["marker"] = {"symbol": SYMBOLS[markers.symbol], "size": sizes, "color": line["color"]}
        options["mode"] = "lines+markers"
        if markers.apart:
            options["marker"]["maxdisplayed"] = 8
    return [subplot.trace(mark, mark.x, mark.y, **options)]


@traces_of.register
def _(mark: Points, subplot: Subplot) -> Traces:
    color = subplot.color(mark)
    edge = {"width": mark.edge * PIXELS, "color": subplot.tint(mark.rim) if mark.rim else color}
    fill = subplot.tint(mark.fill) if mark.fill else color
    marker = {"symbol": SYMBOLS[mark.symbol], "size": mark.size * PIXELS, "color": fill, "line": edge}
    return [subplot.trace(mark, mark.x, mark.y, mode="markers", marker=marker, cliponaxis=mark.clip)]


@traces_of.register
def _(mark: Bars, subplot: Subplot) -> Traces:
    color = subplot.color(mark)
    low, high = drawn_at(subplot.y, mark.low), drawn_at(subplot.y, mark.high)
    reach = {"type": "data", "symmetric": False, "array": numbers(high - low), "arrayminus": [0.0] * mark.x.size}
    bars = reach | {"color": color, "thickness": mark.width * PIXELS, "width": mark.cap * PIXELS}
    return [subplot.trace(mark, mark.x, mark.low, mode="markers", marker={"size": 0.1, "color": color}, error_y=bars)]


@traces_of.register
def _(mark: Band, subplot: Subplot) -> Traces:
    low, high = np.broadcast_to(floats(mark.low), mark.x.shape), mark.high
    known = np.isfinite(mark.x) & np.isfinite(low) & np.isfinite(high)
    parts = [part for part in np.split(np.arange(known.size), np.flatnonzero(~known)) if known[part].any()]
    outlines = [_outline(mark, low, part[known[part]]) for part in parts]
    return [_area(mark, subplot, outlines, mark.opacity)]


def _outline(mark: Band, low: FloatArray, part: Any) -> tuple[FloatArray, FloatArray]:
    """The outline of one contiguous part of a band, along its top and back along its bottom."""
    x, bottom, top = mark.x[part], low[part], mark.high[part]
    if mark.steps:
        x, bottom, top = np.repeat(x, 2)[1:], np.repeat(bottom, 2)[:-1], np.repeat(top, 2)[:-1]
    return np.concatenate([x, x[::-1]]), np.concatenate([top, bottom[::-1]])


def _area(
    mark: Mark, subplot: Subplot, outlines: Iterable[tuple[FloatArray, FloatArray]], opacity: float
) -> dict[str, Any]:
    """A filled trace of closed outlines."""
    closed = [(np.append(x, np.nan), np.append(y, np.nan)) for x, y in outlines]
    x, y = (np.concatenate([np.empty(0), *(outline[at] for outline in closed)])[:-1] for at in (0, 1))
    look = {"fill": "toself", "fillcolor": subplot.color(mark), "opacity": opacity, "line": {"width": 0}}
    return subplot.trace(mark, x, y, mode="lines", hoverinfo="skip", hovertemplate=None, **look)


@traces_of.register
def _(mark: Steps, subplot: Subplot) -> Traces:
    x = np.repeat(mark.edges, 2)
    y = np.concatenate([[mark.base], np.repeat(mark.y, 2), [mark.base]])
    hints = [_hints(mark, subplot)] if mark.hints else []
    if mark.fill:
        return [_area(mark, subplot, [(x, y)], 1.0), *hints]
    line = {"color": subplot.color(mark), "width": mark.width * PIXELS}
    return [subplot.trace(mark, x, y, mode="lines", line=line), *hints]


def _hints(mark: Steps, subplot: Subplot) -> dict[str, Any]:
    """Invisible points in the middle of each column that show its hint on hover."""
    log = subplot.x.scale == "log"
    edges = np.log(mark.edges) if log else mark.edges
    middle = (edges[1:] + edges[:-1]) / 2
    at = np.exp(middle) if log else middle
    return subplot.trace(
        mark,
        at,
        np.full(at.size, mark.base),
        mode="markers",
        marker={"size": 18, "opacity": 0},
        text=[escaped(hint).replace("\n", "<br>") for hint in mark.hints],
        hovertemplate="%{text}<extra></extra>",
        meta=f"{mark.name}-hints",
    )


@traces_of.register
def _(mark: Edge, subplot: Subplot) -> Traces:
    begin, straight, *controls, end = mark.points
    t = np.linspace(0, 1, 20)[:, np.newaxis]
    stops, weights = (straight, *controls, end), (1, 3, 3, 1)
    curve = sum(w * t**k * (1 - t) ** (3 - k) * at for k, (w, at) in enumerate(zip(weights, stops, strict=True)))
    x, y = np.vstack([begin, curve]).T  # a cubic Bézier curve, by Bernstein polynomials
    line = {"color": subplot.color(mark), "width": mark.width * PIXELS}
    return [subplot.trace(mark, x, y, mode="lines", line=line, hoverinfo="skip", hovertemplate=None)]


@traces_of.register
def _(mark: Label, subplot: Subplot) -> Traces:
    above = mark.y is None
    text = f"<b>{escaped(mark.text)}</b>" if mark.bold else escaped(mark.text)
    subplot.annotations.append(
        {
            "text": text,
            "xref": f"x{subplot.number} domain",
            "yref": f"y{subplot.number} domain" if above else f"y{subplot.number}",
            "x": 0 if mark.left else 1,
            "y": 1 if mark.y is None else coordinate(subplot.y, mark.y),
            "xshift": mark.shift[0] * PIXELS,
            "yshift": mark.shift[1] * PIXELS,
            "xanchor": "right" if mark.ends else "left",
            "yanchor": "bottom" if above else "middle",
            "showarrow": False,
            "font": {"size": mark.size * 1.55, "color": subplot.color(mark)},
        }
    )
    return []


@traces_of.register
def _(mark: PointLabel, subplot: Subplot) -> Traces:
    options: dict[str, Any] = {"mode": "text", "text": [escaped(mark.text)], "textposition": "bottom right"}
    font = {"size": 10, "color": subplot.color(mark)}
    return [subplot.trace(mark, [mark.x], [mark.y], hoverinfo="skip", hovertemplate=None, textfont=font, **options)]


@traces_of.register
def _(mark: EndLabel, subplot: Subplot) -> Traces:
    """Names at the ends of lines become legend entries, where a click hides what they name."""
    text = f"<b>{escaped(mark.text)}</b>" if mark.bold else escaped(mark.text)
    return [legend_entry(mark, text, subplot, {"color": subplot.color(mark), "width": 2})]


def legend_entry(
    mark: Mark, text: str, subplot: Subplot, line: Mapping[str, Any] | None, marker: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A trace without points that appears in the legend only."""
    mode = "+".join(kind for kind, look in (("lines", line), ("markers", marker)) if look)
    looks = {name: look for name, look in (("line", line), ("marker", marker)) if look}
    return subplot.trace(mark, [np.nan], [np.nan], mode=mode, showlegend=True, **looks) | {"name": text}


@traces_of.register
def _(mark: Surface, subplot: Subplot) -> Traces:
    x, y = (np.append(at, end) for at, end in ((mark.x, _end(subplot.x, mark.x)), (mark.y, _end(subplot.y, mark.y))))
    inside = np.where((mark.z >= mark.edges[0]) & (mark.z <= mark.edges[-1]), mark.z, np.nan)
    heat = subplot.trace(mark, x, y) | {
        "type": "heatmap",
        "z": [numbers(row) for row in inside.T],
        "zmin": float(mark.edges[0]),
        "zmax": float(mark.edges[-1]),
        "colorscale": stepped(mark.edges, mark.colors),
        "showscale": False,
        "hovertemplate": f"{_AT}: %{{z:.3g}}<extra></extra>",
    }
    return [heat, *(_border(mark, subplot, x, y, *border) for border in mark.borders)]


def _end(axis: Axis, grid: FloatArray) -> float:
    """The end of a grid's last cell: that of the axis, or of the grid if the axis takes its limits from the data."""
    return float(grid[-1]) if axis.high is None else axis.high


def _border(
    mark: Surface, subplot: Subplot, x: FloatArray, y: FloatArray, level: float, color: str, width: float
) -> dict[str, Any]:
    """The edges between cells where a surface crosses a level."""
    above = mark.z >= level
    across, up = np.nonzero(above[1:] != above[:-1]), np.nonzero(above[:, 1:] != above[:, :-1])
    gaps = np.full(across[0].size + up[0].size, np.nan)
    sides_x = np.column_stack([np.r_[x[across[0] + 1], x[up[0]]], np.r_[x[across[0] + 1], x[up[0] + 1]], gaps])
    sides_y = np.column_stack([np.r_[y[across[1]], y[up[1] + 1]], np.r_[y[across[1] + 1], y[up[1] + 1]], gaps])
    line = {"color": color, "width": width * PIXELS}
    quiet = {"hoverinfo": "skip", "hovertemplate": None, "meta": ""}
    return subplot.trace(mark, sides_x, sides_y, mode="lines", line=line, **quiet)


def stepped(edges: ArrayLike, colors: Sequence[str]) -> list[list[Any]]:
    """A plotly colour scale with a single colour between any two neighbouring edges."""
    at = floats(edges)
    share = ((at - at[0]) / (at[-1] - at[0])).tolist()
    return [[share[k + end], color] for k, color in enumerate(colors) for end in (0, 1)]


def shade(shades: Shades, value: float) -> str:
    """The colour of a number; dark grey if it is infinite, pale grey if it is not known."""
    if not np.isfinite(value):
        return _UNKNOWN if np.isnan(value) else _BEYOND
    low, high, at = np.log([shades.low, shades.high, value]) if shades.log else (shades.low, shades.high, value)
    return blend(shades.stops, float(np.clip((at - low) / (high - low), 0, 1)) if high > low else 0.5)


@traces_of.register
def _(mark: Cells, subplot: Subplot) -> Traces:
    values = mark.value.tolist()
    shades = {value: shade(mark.shades, value) for value in set(values)}
    colors = [shades[value] for value in values]
    for left, right, y, color in zip(mark.x, mark.x_end, mark.y, colors, strict=True):
        ends = {"x0": float(left), "x1": float(right), "y0": y - mark.height / 2, "y1": y + mark.height / 2}
        edge = {"line": {"width": 1 if mark.gaps else 0, "color": "#FFFFFF"}, "layer": "below"}
        refs = {"xref": f"x{subplot.number}", "yref": f"y{subplot.number}"}
        subplot.shapes.append({"type": "rect", "fillcolor": color, **ends, **edge, **refs})
    middle = np.sqrt(mark.x * mark.x_end) if subplot.x.scale == "log" else (mark.x + mark.x_end) / 2
    marks = {"color": [_text_on(color) for color in colors], "size": 10}
    texts = [escaped(text) for text in mark.text]
    shown = {"mode": "text", "text": texts, "textfont": marks, "customdata": numbers(mark.value)}
    if mark.size is not None:  # only some cells have room for the text: it is shown on hover
        invisible = {"size": 9, "opacity": 0.0, "symbol": "square"}
        shown |= {"mode": "markers", "marker": invisible}
    names = [escaped(name) for name in mark.names] or [mark.name] * len(texts)
    return [subplot.trace(mark, middle, mark.y, hovertext=names, hovertemplate="%{text}<extra></extra>", **shown)]


def _text_on(color: str) -> str:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return "#FFFFFF" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.58 * 255 else "#12304A"

"""Render figures for plotly: as plain values that plotly.js draws and ``plotly.graph_objects`` accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from polarbear.figures.marks import EndLabel, Label, Mark
from polarbear.figures.panels import MARGIN, Axis, Bar, Drawing, Entry, Panel, Place, Scale
from polarbear.figures.render.plotly_marks import (
    PIXELS,
    SYMBOLS,
    Subplot,
    coordinate,
    drawn_at,
    escaped,
    legend_entry,
    numbers,
    stepped,
    traces_of,
)
from polarbear.figures.style import INK, MUTED, RULE, SURFACE, hex_of, rgb_of

_DARK = {INK: "#E6E8EB", MUTED: "#A4ABB3", RULE: "#333A42", SURFACE: "#14171A", "#FFFFFF": "#14171A"}
LETTERS = 12.5
"""Font size in pixels."""
_LETTER = 8
"""Width of a letter beside a panel, in pixels."""
_PITCH = 96.0
"""Pixels per inch of the figure's height on screen."""
_MANY_ROWS = 125.0
"""The same for more than two rows of panels, which need room between them for numbers and a title."""
_FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", Arial, sans-serif'


def draw(
    figure: Drawing,
    *,
    x: Scale | None = None,
    y: Scale | None = None,
    dark: bool = False,
    letters: float = LETTERS,
) -> dict[str, Any]:
    """A figure as plotly data and layout.

    Args:
        figure: The figure.
        x: Scale of the horizontal axes; default their own.
        y: Scale of the vertical axes; default their own.
        dark: Whether the page is dark; then so is the figure, unless it has a `paper` of its own.
        letters: Font size in pixels.

    Returns:
        A dictionary with "data" and "layout", accepted by ``plotly.graph_objects.Figure``. Each trace has the name of
        its mark as "meta"; infinite and unknown numbers are None. Names at the ends of lines and keys become legend
        entries.

    Raises:
        ValueError: If an axis cannot have the requested scale; see `Drawing.is_switchable`.
    """
    figure = figure.scaled(x=x, y=y)
    tint = _on_dark if dark and figure.paper == (SURFACE, SURFACE) else str
    traces: list[dict[str, Any]] = []
    layout = _layout(figure, tint, letters)
    for at, panel in enumerate(figure.panels):
        _panel(panel, at, figure, tint, traces, layout)
    entries = [*(figure.key.entries if figure.key else ()), *(e for p in figure.panels if p.key for e in p.key.entries)]
    first = Subplot(figure.panels[0].x, figure.panels[0].y, "", figure.looks, tint)
    traces += [_entry(entry, first) for entry in entries]
    return {"data": list(_once(traces)), "layout": layout}


def _layout(figure: Drawing, tint: Callable[[str], str], letters: float) -> dict[str, Any]:
    larger = letters / LETTERS
    keyed = figure.key or any(panel.key for panel in figure.panels)
    marks = [mark for panel in figure.panels for mark in panel.marks]
    named = any(isinstance(mark, EndLabel) for mark in marks)
    beside = [mark.text for mark in marks if isinstance(mark, Label) and not (mark.left or mark.ends)]
    rows = [mark.text for mark in marks if isinstance(mark, Label) and mark.left and mark.ends]
    pitch = _MANY_ROWS if len(figure.panels) > 2 * figure.columns and not figure.joined else _PITCH
    across, down = ((margin - MARGIN) * _PITCH for margin in figure.margins)
    layout: dict[str, Any] = {
        "height": round(larger * max(300, round(figure.height * pitch))),
        "font": {"family": _FONT, "size": letters, "color": tint(INK)},
        "paper_bgcolor": tint(figure.paper[0]),
        "plot_bgcolor": tint(figure.paper[1]),
        "margin": {
            "l": larger * max(60, 12 + _LETTER * max(map(len, rows), default=0)) + across,
            "r": larger * (24 + _LETTER * max(map(len, beside), default=0)) + across,
            "t": larger * 34 + down,
            "b": larger * 48 + down,
        },
        "hovermode": "closest",
        "hoverlabel": {"font": {"family": _FONT}},
        "showlegend": bool(keyed or named),
        "legend": {"groupclick": "togglegroup", "itemsizing": "constant", "bgcolor": "rgba(0,0,0,0)"},
        "shapes": [],
        "annotations": [],
    }
    if figure.key and figure.key.place != "above":
        below = (layout["margin"]["b"] + 16) / (layout["height"] - layout["margin"]["t"] - layout["margin"]["b"])
        layout["legend"] |= _legend(figure.key.place, below, figure.ground(figure.panels[0]), _domain(0, figure))
    elif keyed and not named:
        layout["legend"] |= {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"}
    return layout


def _legend(place: Place, below: float, ground: str, domain: tuple[list[float], list[float]]) -> dict[str, Any]:
    """The position of a legend: `below` the panels, as a share of their height, or inside the domain of the first."""
    if place == "below":
        return {"orientation": "h", "x": 0, "y": -below, "yanchor": "top"}
    _, _, corner = place.partition("inside ")
    if not corner:
        return {}
    yanchor, xanchor = {"upper": "top", "lower": "bottom"}[corner.split()[0]], corner.split()[1]
    shares = {"left": 0.01, "right": 0.99}[xanchor], {"top": 0.98, "bottom": 0.02}[yanchor]
    x, y = (low + share * (high - low) for share, (low, high) in zip(shares, domain, strict=True))
    return {"x": x, "y": y} | {"xanchor": xanchor, "yanchor": yanchor, "bgcolor": f"{ground}CC"}


def _domain(at: int, figure: Drawing) -> tuple[list[float], list[float]]:
    """Horizontal and vertical extent of a panel, as shares of the figure's width and height."""
    rows, columns = -(-len(figure.panels) // figure.columns), figure.columns
    row, column = divmod(at, columns)
    across = 0.20 / columns if columns > 1 else 0.0
    down = 0.0 if figure.joined or rows == 1 else (0.28 if rows == 2 else 0.36) / rows
    beside, between = (2 * (margin - MARGIN) for margin in figure.margins)
    across = max(0.0, across + beside / figure.width) if columns > 1 else 0.0
    down = max(0.0, down + between / figure.height) if down else 0.0
    width, height = (1 - across * (columns - 1)) / columns, (1 - down * (rows - 1)) / rows
    left, top = column * (width + across), 1 - row * (height + down)
    if figure.heights:
        shares = np.cumsum([0.0, *figure.heights]) / sum(figure.heights) * height * rows
        top, height = 1 - shares[row] - row * down, shares[row + 1] - shares[row]
    return [left, min(1.0, left + width)], [max(0.0, top - height), top]


def _panel(
    panel: Panel,
    at: int,
    figure: Drawing,
    tint: Callable[[str], str],
    traces: list[dict[str, Any]],
    layout: dict[str, Any],
) -> None:
    number = str(at + 1) if at else ""
    across, up = _domain(at, figure)
    layout[f"xaxis{number}"] = _axis(panel.x, tint) | {"domain": across, "anchor": f"y{number}"}
    layout[f"yaxis{number}"] = _axis(panel.y, tint) | {"domain": up, "anchor": f"x{number}"}
    if panel.equal:
        layout[f"yaxis{number}"] |= {"scaleanchor": f"x{number}", "constrain": "domain"}
        layout[f"xaxis{number}"] |= {"constrain": "domain"}
    subplot = Subplot(panel.x, panel.y, number, figure.looks, tint)
    if panel.behind:
        second = str(len(figure.panels) + at + 1)
        layout[f"yaxis{second}"] = _axis(panel.behind.y, tint) | {
            "overlaying": f"y{number}",
            "side": "right",
            "anchor": f"x{number}",
        }
        behind = Subplot(panel.x, panel.behind.y, number, figure.looks, tint)
        for mark in sorted(panel.behind.marks, key=_layer):
            traces += [trace | {"yaxis": f"y{second}"} for trace in traces_of(mark, behind)]
    for mark in sorted(panel.marks, key=_layer):
        traces += traces_of(mark, subplot)
    if figure.ground(panel) == SURFACE != figure.paper[1]:
        corners = {"x0": 0, "x1": 1, "y0": 0, "y1": 1, "xref": f"x{number} domain", "yref": f"y{number} domain"}
        layout["shapes"].append(
            {"type": "rect", "layer": "below", "fillcolor": SURFACE, "line": {"width": 0}, **corners}
        )
    if panel.title:
        layout["annotations"].append(_heading(panel.title, number, tint))
    if panel.bar:
        traces.append(_bar(panel.bar, subplot, up, tint))
    layout["shapes"] += subplot.shapes
    layout["annotations"] += subplot.annotations


def _layer(mark: Mark) -> float:
    return mark.layer


def _heading(title: str, number: str, tint: Callable[[str], str]) -> dict[str, Any]:
    where = {"xref": f"x{number} domain", "yref": f"y{number} domain", "x": 0, "y": 1, "yshift": 6}
    font = {"size": 12.5, "color": tint(INK)}
    anchor = {"xanchor": "left", "yanchor": "bottom", "showarrow": False}
    return {"text": f"<b>{_plain(title)}</b>", "font": font} | where | anchor


def _plain(label: str) -> str:
    r"""A label without markup for mathematics; ``\$`` is a dollar."""
    return escaped(label.replace(r"\$", "\0").replace("$", "").replace("\0", "$"))


def _axis(axis: Axis, tint: Callable[[str], str]) -> dict[str, Any]:
    ink, rule = tint(MUTED), tint(RULE)
    look: dict[str, Any] = {
        "type": "log" if axis.scale == "log" else "linear",
        "title": {"text": _plain(axis.label), "standoff": 8},
        "showgrid": axis.grid,
        "gridcolor": rule,
        "zeroline": False,
        "showline": axis.line,
        "linecolor": ink,
        "ticks": "outside" if axis.line else "",
        "tickcolor": ink,
        "visible": not axis.hidden,
        "automargin": True,
        "exponentformat": "power",
    }
    if axis.low is not None and axis.high is not None:
        look["range"] = [coordinate(axis, axis.low), coordinate(axis, axis.high)]
    if axis.ticks is not None:
        look["tickvals"] = numbers(drawn_at(axis, axis.ticks))
        texts = axis.texts or [f"{tick:g}" for tick in axis.ticks]
        look |= {"tickmode": "array", "ticktext": [escaped(text) for text in texts]}
    elif axis.scale == "log":
        look |= {"dtick": 1, "minor": {"ticks": "outside", "tickcolor": ink, "ticklen": 3}}
    return look


def _entry(entry: Entry, subplot: Subplot) -> dict[str, Any]:
    """A key's entry as a legend entry; entries without line and symbol are areas."""
    mark = Mark(algorithm=entry.algorithm, color=entry.color, ink=entry.ink)
    color = subplot.color(mark)
    line = {"color": color, "width": entry.width * PIXELS} if entry.width else None
    if line and entry.dash:
        line["dash"] = "dash"
    symbol = entry.symbol or ("" if entry.width else "s")
    marker = {"symbol": SYMBOLS[symbol], "size": 9, "color": color} if symbol else None
    text = escaped(entry.text)
    return legend_entry(mark, f"<b>{text}</b>" if entry.bold else text, subplot, line, marker)


def _bar(bar: Bar, subplot: Subplot, up: list[float], tint: Callable[[str], str]) -> dict[str, Any]:
    """A colour bar, attached to a trace without points."""
    if bar.shades:
        ends = np.log10([bar.shades.low, bar.shades.high]) if bar.shades.log else [bar.shades.low, bar.shades.high]
        stops = bar.shades.stops
        scale: list[list[Any]] = [[k / (len(stops) - 1), color] for k, color in enumerate(stops)]
    else:
        ends, scale = (bar.edges[0], bar.edges[-1]), stepped(bar.edges, bar.colors)
    low, high = map(float, ends)
    log = bool(bar.shades and bar.shades.log)
    drawn: dict[str, Any] = {
        "title": {"text": _plain(bar.label), "side": "right" if not bar.above else "top"},
        "thickness": 12,
        "outlinewidth": 0,
        "tickfont": {"color": tint(INK)},
        **({"orientation": "h", "y": 1.0, "yanchor": "bottom", "len": 0.5} if bar.above else _beside(up)),
    }
    if bar.ticks is not None:
        texts = bar.texts or tuple(f"{tick:g}" for tick in bar.ticks)
        drawn |= {"tickvals": [float(np.log10(tick)) if log else tick for tick in bar.ticks]}
        drawn |= {"ticktext": [escaped(text) for text in texts]}
    elif log:
        drawn |= {"tickprefix": "10<sup>", "ticksuffix": "</sup>", "dtick": 1}
    marker = {"color": [low], "cmin": low, "cmax": high, "colorscale": scale, "showscale": True, "colorbar": drawn}
    return subplot.trace(Mark(), [np.nan], [np.nan], mode="markers", marker=marker, hoverinfo="skip")


def _beside(up: list[float]) -> dict[str, Any]:
    return {"y": up[0], "yanchor": "bottom", "len": up[1] - up[0], "x": 1.01}


def _once(traces: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The traces, with every legend entry only once."""
    known: set[tuple[str, str]] = set()
    for trace in traces:
        entry = trace["name"], trace["legendgroup"]
        if not trace["showlegend"] or entry not in known:
            yield trace
        if trace["showlegend"]:
            known.add(entry)


def _on_dark(color: str) -> str:
    """A colour for dark pages: greys inverted, all others a third lighter."""
    return _DARK.get(color) or hex_of(1 - 0.68 * (1 - rgb_of(color)))

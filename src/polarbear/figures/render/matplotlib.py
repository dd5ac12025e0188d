"""Render figures with Matplotlib: panels, keys and colour bars."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import dropwhile, takewhile
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from polarbear.figures.marks import Cells, EndLabel, Mark, PointLabel
from polarbear.figures.panels import MARGIN, Bar, Drawing, Entry, Key, Panel
from polarbear.figures.render.matplotlib_axes import BRIEF, COUNTS, apply, figure_of, lay_out, thin_out
from polarbear.figures.render.matplotlib_marks import draw_end_labels, draw_mark, draw_point_labels, norm_of
from polarbear.figures.style import BODY, INK, MUTED, SMALL, SURFACE, literal
from polarbear.quantities import plural

P = ParamSpec("P")
R = TypeVar("R")

_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": SMALL,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": SMALL,
    "axes.linewidth": 0.6,
    "axes.titlesize": BODY,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.facecolor": SURFACE,
    "figure.facecolor": SURFACE,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "lines.solid_capstyle": "round",
    "lines.dash_capstyle": "butt",
    "hatch.linewidth": 0.5,
    "hatch.color": "#B8BCC2",
    "path.simplify_threshold": 0.3,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "figure.constrained_layout.h_pad": MARGIN,
    "figure.constrained_layout.w_pad": MARGIN,
}


_PLACES = {"above": "outside upper left", "below": "outside lower left", "right": "outside right upper"}
"""Locations of a figure's key."""
_BESIDE = {"above": ("lower left", (0, 1)), "below": ("upper left", (0, -0.2)), "right": ("upper left", (1, 1))}
"""Location and anchor of a key beside axes: which corner of the key lies where, in axes coordinates."""
_PATH, _DECIMALS = re.compile(r' d="[^"]*"'), re.compile(r"(\.\d\d)\d+")
"""Paths in SVG, and the decimals of their coordinates, in points, that are too small to see."""


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Draw in the house style, whatever the user's own matplotlib settings are."""

    @functools.wraps(draw)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(_defaults() | _STYLE):
            return draw(*args, **kwargs)

    return wrapped


def _defaults() -> Any:
    """Matplotlib's defaults without the settings of a ``matplotlibrc`` file, which may lie in the current folder."""
    return {name: value for name, value in mpl.rcParamsDefault.items() if "backend" not in name}


def blank(width: float, height: float) -> Figure:
    """An empty figure that belongs to no window and is not registered with pyplot."""
    return Figure(figsize=(width, height), layout="constrained")


def svg(figure: Figure) -> str:
    """The figure as SVG, byte for byte reproducible; text is drawn as outlines, so it looks the same everywhere."""
    text = io.StringIO()
    with mpl.rc_context(_defaults() | {"svg.fonttype": "path", "svg.hashsalt": "polarbear"}), _laid_out(figure):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return _PATH.sub(lambda path: _DECIMALS.sub(r"\1", path[0]), text.getvalue())


@contextmanager
def _laid_out(figure: Figure) -> Generator[None]:
    """Lay a figure out for SVG once; Matplotlib alone would draw it twice and discard the first drawing."""
    if (engine := figure.get_layout_engine()) is None:
        yield
        return
    canvas, dpi = figure.canvas, figure.dpi
    try:
        figure.set_canvas(FigureCanvasSVG(figure))
        figure.dpi = 72
        lay_out(figure)
        figure.dpi = dpi
        figure.set_layout_engine(None)
        yield
    finally:
        figure.set_layout_engine(engine)
        figure.set_canvas(canvas)


@styled
def draw(drawing: Drawing) -> Figure:
    """Draw a figure: first the marks with fixed positions, then text, which goes where there is room."""
    figure = blank(drawing.width, drawing.height)
    figure.set_facecolor(drawing.paper[0])
    axes = _axes(figure, drawing)
    _panels(axes, drawing)
    if drawing.key:
        _figure_key(figure, axes[0], drawing.key, drawing)
    _texts(axes, drawing)
    return figure


@styled
def draw_on(drawing: Drawing, axes: Axes | Sequence[Axes]) -> None:
    """Draw a figure on the user's axes, one for each panel, with the figure's key above the first."""
    given: list[Any] = list(np.ravel(np.asarray(axes, dtype=object)))
    if wrong := [each for each in given if not isinstance(each, Axes)]:
        raise TypeError(f"ax is a {type(wrong[0]).__name__}; give Matplotlib axes, such as those from plt.subplots()")
    if len(given) != len(drawing.panels):
        raise ValueError(
            f"ax holds {len(given)} axes, but the figure has {plural(drawing.panels, 'panel')}; give a list of as "
            f"many, such as plt.subplots({len(drawing.panels)})[1]"
        )
    _panels(given, drawing)
    if drawing.key and drawing.key.place.startswith("inside"):
        _inner_key(given[0], drawing.key, drawing)
    elif drawing.key:
        _panel_key(given[0], drawing.key, drawing)
    _texts(given, drawing)


def _panels(axes: Sequence[Axes], drawing: Drawing) -> None:
    for ax, panel in zip(axes, drawing.panels, strict=True):
        _panel(ax, panel, drawing)


def _texts(axes: Sequence[Axes], drawing: Drawing) -> None:
    """Place text in all panels, given their layout so far, then thin out tick labels."""
    rest = [list(dropwhile(_is_fixed, panel.marks)) for panel in drawing.panels]
    sparse = [ax for ax, panel in zip(axes, drawing.panels, strict=True) if panel.x.sparse]
    if any(rest):
        _lay_out(axes)
    for ax, marks in zip(axes, rest, strict=True):
        _fit(ax, marks, drawing)
    if sparse:
        _lay_out(axes)
    for ax in sparse:
        thin_out(ax)


def _lay_out(axes: Sequence[Axes]) -> None:
    for figure in dict.fromkeys(figure_of(ax) for ax in axes):
        lay_out(figure)


def _axes(figure: Figure, drawing: Drawing) -> list[Axes]:
    count, columns = len(drawing.panels), drawing.columns
    spaces: dict[str, Any] = {"hspace": 0} if drawing.joined else {}
    heights = drawing.heights or None
    grid = figure.subplots(
        -(-count // columns),
        columns,
        squeeze=False,
        sharex=drawing.shared,
        height_ratios=heights,
        gridspec_kw=spaces,
    )
    across, down = drawing.margins
    pads = {"h_pad": 0.028, "hspace": 0, "wspace": 0.02} if drawing.joined else {"h_pad": down}
    figure.get_layout_engine().set(w_pad=across, **pads)  # pyright: ignore
    axes: list[Axes] = grid.ravel().tolist()
    for unused in axes[count:]:
        unused.remove()
    return axes[:count]


def _panel(ax: Axes, panel: Panel, drawing: Drawing) -> None:
    if panel.behind:
        behind = ax.twinx()
        behind.set_facecolor(drawing.ground(panel))
        for mark in panel.behind.marks:
            draw_mark(mark, behind, drawing)
        apply(behind, "y", panel.behind.y, side="right")
        ax.set_zorder(behind.get_zorder() + 1)
        ax.patch.set_visible(False)
    apply(ax, "x", panel.x)
    apply(ax, "y", panel.y)
    if panel.equal:
        ax.set_aspect("equal")
    ax.set_facecolor(drawing.ground(panel))
    if panel.title:
        ax.set_title(panel.title, fontsize=SMALL, pad=8)
    if panel.bar:
        _bar(ax, panel.bar, wide=drawing.width > 5)
    for mark in takewhile(_is_fixed, panel.marks):
        draw_mark(mark, ax, drawing)
    if panel.key:
        _panel_key(ax, panel.key, drawing)


def _is_fixed(mark: Mark) -> bool:
    return not isinstance(mark, Cells | PointLabel | EndLabel)


def _fit(ax: Axes, marks: list[Mark], drawing: Drawing) -> None:
    """Draw text that is moved or left out where space is short, and the marks on top of it."""
    points = [mark for mark in marks if isinstance(mark, PointLabel)]
    ends = [mark for mark in marks if isinstance(mark, EndLabel)]
    for mark in marks:
        if not isinstance(mark, PointLabel | EndLabel):
            draw_mark(mark, ax, drawing)
        elif points and mark is points[0]:
            draw_point_labels(ax, points, drawing)
        elif ends and mark is ends[0]:
            draw_end_labels(ax, ends, drawing)


def _figure_key(figure: Figure, first: Axes, key: Key, drawing: Drawing) -> None:
    if key.place.startswith("inside"):
        _inner_key(first, key, drawing)
        return
    areas = all(not entry.width and not entry.symbol for entry in key.entries)
    spacing: dict[str, float] = (
        {"handlelength": 1.2, "columnspacing": 1.4, "borderaxespad": 0.2}
        if areas
        else {"handlelength": 1.4, "columnspacing": 1.2, "handletextpad": 0.5, "labelspacing": 0.3, "borderpad": 0}
    )
    _key(figure, key, drawing, loc=_PLACES[key.place], **spacing)


def _inner_key(ax: Axes, key: Key, drawing: Drawing) -> None:
    """A legend in a corner of a panel, on top of its marks."""
    legend = _key(ax, key, drawing, loc=key.place.removeprefix("inside "), handlelength=1.6, frameon=True)
    legend.set_zorder(10)
    legend.get_frame().set(facecolor=drawing.ground(drawing.panels[0]), edgecolor="none", alpha=0.8)


def _panel_key(ax: Axes, key: Key, drawing: Drawing) -> None:
    lines = any(entry.width for entry in key.entries)
    spacing: dict[str, float] = (
        {"handlelength": 1.6, "columnspacing": 1.2, "handletextpad": 0.5, "labelspacing": 0.3, "borderaxespad": 0.6}
        if lines
        else {"handlelength": 1, "columnspacing": 1.4, "handletextpad": 0.4, "borderaxespad": 0.4}
    )
    loc, anchor = _BESIDE[key.place]
    _key(ax, key, drawing, loc=loc, bbox_to_anchor=anchor, borderpad=0, **spacing)


def _key(where: Figure | Axes, key: Key, drawing: Drawing, **options: Any) -> Legend:
    """A legend read row by row; Matplotlib fills legends by columns and hides texts that begin with "_"."""
    count = len(key.entries)
    by_column = [key.entries[at] for start in range(key.columns) for at in range(start, count, key.columns)]
    legend = where.legend(
        [_sample(entry, drawing) for entry in by_column], ["x"] * count, ncols=key.columns, fontsize=key.size, **options
    )
    for text, entry in zip(legend.get_texts(), by_column, strict=True):
        text.set_text(literal(entry.text))
        text.set_fontweight("bold" if entry.bold else "normal")
    return legend


def _sample(entry: Entry, drawing: Drawing) -> Line2D | Patch:
    """The line, symbol or area beside the text of an entry."""
    color = Mark(algorithm=entry.algorithm, color=entry.color, ink=entry.ink).color_in(drawing.looks)
    if not entry.width and not entry.symbol:
        return Patch(color=color)
    options: dict[str, Any] = {"linewidth": entry.width} if entry.width else {"linestyle": "", "mec": "white"}
    if entry.dash:
        options["linestyle"] = (0, entry.dash)
    return Line2D([], [], color=color, marker=entry.symbol or None, markersize=entry.size, **options)


def _bar(ax: Axes, bar: Bar, *, wide: bool) -> None:
    figure = ax.figure
    if bar.shades:
        shades = ScalarMappable(*norm_of(bar.shades))
    else:
        shades = ScalarMappable(BoundaryNorm(bar.edges, len(bar.colors)), ListedColormap(list(bar.colors)))
    if bar.above:
        shrink = 0.4 if wide else 0.6
        drawn = figure.colorbar(shades, ax=ax, location="top", shrink=shrink, anchor=(1.0, 0.0), aspect=30, pad=0.03)
        drawn.ax.set_ylabel(bar.label, rotation=0, ha="right", va="center")
    else:
        options: dict[str, Any] = {"spacing": "proportional"} if bar.edges else {}
        options |= {"aspect": bar.length, "fraction": bar.breadth}
        drawn = figure.colorbar(shades, ax=ax, label=bar.label, pad=0.02, **options)
    drawn.outline.set_visible(False)  # pyright: ignore
    if bar.ticks is not None:
        drawn.set_ticks(bar.ticks, labels=bar.texts)
    else:
        drawn.locator = MaxNLocator(bar.most)
        drawn.formatter = COUNTS if wide else BRIEF
        drawn.update_ticks()
    drawn.ax.minorticks_off()
    for at, color, line_width in bar.lines:
        drawn.ax.axhline(at, color=color, linewidth=line_width)

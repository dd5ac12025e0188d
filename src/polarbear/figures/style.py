"""One look for all figures: colours, type, axes, labels, export."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

import functools
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike

from polarbear.descriptions import printable
from polarbear.records import FloatArray

Spacing = Literal["log", "linear"]
P = ParamSpec("P")
R = TypeVar("R")

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#332288")
"""Six colours of Okabe and Ito (2008) and two of Tol (2021) in place of their yellow and black, which are lost on
white paper and needed for other marks. Any two differ by ΔE ≥ 16 (CIE 1976) under every kind of colour blindness."""
MARKERS = ("", "o", "^", "s", "v")
"""From the ninth algorithm on colours repeat, told apart by markers along the line."""
INK, MUTED, RULE, SURFACE = "#222222", "#5F6368", "#D9DCE0", "#FFFFFF"
SHADES = LinearSegmentedColormap.from_list("shades", ["#DCE9F2", "#8FBBD9", "#3C82B5", "#124A7D", "#08264A"])
"""From little to much."""
WIDE = 7.2
"""Figure width in inches: two columns of a paper."""
MICRO, SMALL, BODY = 6.5, 7.5, 8.5

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
    "path.simplify_threshold": 0.3,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "figure.constrained_layout.h_pad": 0.04,
    "figure.constrained_layout.w_pad": 0.04,
}


@dataclass(frozen=True, slots=True)
class Look:
    """How an algorithm is drawn, the same in every figure of a report."""

    color: str
    marker: str

    @property
    def ink(self) -> str:
        """The colour, darkened until text in it is readable on white (contrast ≥ 4.5, WCAG 2.2)."""
        return readable(self.color)


def looks(names: Sequence[str]) -> dict[str, Look]:
    """The look of every algorithm, by its place in `names`: give the same names in the same order to every figure."""
    return {
        name: Look(PALETTE[index % len(PALETTE)], MARKERS[index // len(PALETTE) % len(MARKERS)])
        for index, name in enumerate(names)
    }


def readable(color: str) -> str:
    """`color`, darkened until its contrast to white reaches 4.5."""
    rgb = np.array(to_rgb(color))
    while _contrast_to_white(rgb) < 4.5:
        rgb = rgb * 0.96
    return to_hex(tuple(rgb))


def pale(color: str, strength: float) -> str:
    """`color` mixed with white; strength 1 is the colour itself, 0 white."""
    return to_hex(tuple(1 - strength * (1 - np.array(to_rgb(color)))))


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Draw in the house style, whatever the user's own matplotlib settings are."""

    @functools.wraps(draw)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(_defaults() | _STYLE):
            return draw(*args, **kwargs)

    return wrapped


def _defaults() -> Any:
    """Settings without those of a file ``matplotlibrc``, which may lie in the current folder."""
    return {name: value for name, value in mpl.rcParamsDefault.items() if "backend" not in name}


def blank(width: float, height: float) -> Figure:
    """An empty figure, bound to no window and known to no global list."""
    return Figure(figsize=(width, height), layout="constrained")


def shortened(name: str, longest: int = 26) -> str:
    """A name without its middle if it is long."""
    if len(name) <= longest:
        return name
    head = (longest - 1) * 2 // 3
    return f"{name[:head]}…{name[head + 1 - longest :]}"


def literal(name: str, longest: int = 26) -> str:
    """A name as matplotlib shall show it: no mathematics or control characters, the middle left out if it is long."""
    return shortened(printable(name), longest).replace("$", r"\$")


def name_row(ax: Axes, row: float, label: str, look: Look, **text: Any) -> None:
    """Write a label left of a row, in the ink of its algorithm; `text` are properties of matplotlib's text."""
    ax.annotate(
        label,
        (0, row),
        xycoords=("axes fraction", "data"),
        xytext=(-5, 0),
        textcoords="offset points",
        ha="right",
        va="center_baseline",
        color=look.ink,
        **text,
    )


def spacing_of(times: ArrayLike) -> Spacing:
    """Whether timepoints are spaced more evenly on a log or on a linear scale."""
    at = np.asarray(times, dtype=np.float64)
    if at.size < 3 or at[0] <= 0:
        return "linear"
    linear, log = np.diff(at), np.diff(np.log(at))
    return "log" if log.std() / log.mean() < linear.std() / linear.mean() else "linear"


def time_axis(ax: Axes, times: FloatArray, axis: str, spacing: Spacing | None, *, narrow: bool = False) -> None:
    """Scale, limits, ticks and label of a horizontal axis of budgets; few ticks if it is narrow.

    Raises:
        ValueError: If a log axis should begin at a budget that is not positive.
    """
    first, last = float(times[0]), float(times[-1])
    if spacing == "log" and first <= 0:
        raise ValueError(f"budget {first:g} has no place on a log axis; draw it with linear spacing")
    if first == last:
        ax.set_xlim(first - 0.5 * max(first, 1e-9), last + 0.5 * max(last, 1e-9))
        ax.set_xticks([first])
    elif (spacing or spacing_of(times)) == "log":
        ax.set_xscale("log")
        ax.set_xlim(first, last)
        _log_ticks(ax, first, last, narrow=narrow)
    else:
        ax.set_xlim(first, last)
        ax.xaxis.set_major_locator(MaxNLocator(4 if narrow else 6))
    ax.xaxis.set_major_formatter(COUNTS)
    ax.set_xlabel(f"budget ({axis})")


def few_log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two positive numbers."""
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [digit * 10.0**power for power in decades for digit in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]


def compact(value: float) -> str:
    """A number in few characters, such as 4,500, 250k, 1.25M."""
    for size, unit, suffix in ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e5, 1e3, "k")):
        if abs(value) >= size:
            return f"{value / unit:.3g}{suffix}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def _counts(value: float, _position: int | None = None) -> str:
    return compact(value)


COUNTS = FuncFormatter(_counts)
"""Tick labels in few characters."""


def figure_of(ax: Axes) -> Figure:
    """The figure that the axes stand in."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes stand in no figure")
    return figure


def spread(wanted: ArrayLike, gap: float, low: float, high: float) -> FloatArray:
    """Places for labels near the wanted ones, at least `gap` apart where the room allows it, in the same order.

    Neighbours that are too close become one block around their mean; blocks that touch merge (the pool-adjacent-
    violators algorithm of isotonic regression), so that the sum of squared shifts is least.
    """
    at = np.asarray(wanted, dtype=np.float64)
    if at.size == 0:
        return at
    gap = min(gap, (high - low) / max(at.size - 1, 1))
    order = np.argsort(at, kind="stable")
    shifts = gap * np.arange(at.size)
    blocks: list[list[float]] = []  # [sum, count]
    for value in at[order] - shifts:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    level = np.concatenate([np.full(int(count), total / count) for total, count in blocks])
    placed = np.empty_like(at)
    placed[order] = np.clip(level, low, high - shifts[-1]) + shifts
    return placed


def end_labels(ax: Axes, labels: Sequence[tuple[float, str, Look, bool]], size: float = SMALL) -> None:
    """Names beside the right end of their lines, moved apart where they would overlap and tied to their lines.

    Args:
        ax: Axes whose y-limits are final.
        labels: Height of the line's end in data units, name, look, whether to stress it.
        size: Type size in points.
    """
    figure = figure_of(ax)
    figure.draw_without_rendering()
    to_fraction = ax.transData + ax.transAxes.inverted()
    right = ax.get_xlim()[1]
    ends = [float(to_fraction.transform((right, height))[1]) for height, *_ in labels]
    gap = 1.3 * size / 72 / (ax.bbox.height / figure.dpi)
    places = spread(ends, gap, min(0.0, 1 - gap * len(ends)), 1.0)
    farthest = float(np.abs(places - ends).max(initial=0.0))
    lead = (14 + 30 * farthest) / 72 / (ax.bbox.width / figure.dpi)
    for (_, name, look, stressed), end, place in zip(labels, ends, places, strict=True):
        ax.plot(
            [1, 1 + lead * 0.25, 1 + lead * 0.75, 1 + lead * 0.9],
            [end, end, place, place],
            transform=ax.transAxes,
            color=look.color,
            linewidth=0.8,
            clip_on=False,
            gid="leader",
        )
        ax.text(
            1 + lead,
            place,
            literal(name),
            transform=ax.transAxes,
            color=look.ink,
            fontsize=size,
            fontweight="bold" if stressed else "normal",
            va="center_baseline",
            gid="end-label",
        )


def svg(figure: Figure) -> str:
    """The figure as SVG, the same bytes every time; text as outlines, so that it looks alike wherever it is shown."""
    text = io.StringIO()
    with mpl.rc_context(_defaults() | {"svg.fonttype": "path", "svg.hashsalt": "polarbear"}):
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
    return text.getvalue()


def _log_ticks(ax: Axes, first: float, last: float, *, narrow: bool) -> None:
    decades = float(np.log10(last / first)) * (2 if narrow else 1)
    subs = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
    if decades < 0.7:
        ax.xaxis.set_major_locator(MaxNLocator(5))
    else:
        ax.xaxis.set_major_locator(LogLocator(subs=subs, numticks=5 if narrow else 15))
    ax.xaxis.set_minor_formatter(NullFormatter())
    if decades < 0.7:
        ax.xaxis.set_minor_locator(NullLocator())


def _contrast_to_white(rgb: FloatArray) -> float:
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return 1.05 / (0.05 + float(linear @ np.array([0.2126, 0.7152, 0.0722])))

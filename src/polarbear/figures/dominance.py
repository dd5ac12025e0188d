"""How confidently algorithms are dominated, round by round."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullFormatter, PercentFormatter
from matplotlib.transforms import ScaledTranslation

from polarbear.figures.style import (
    COUNTS,
    INK,
    MICRO,
    MUTED,
    RULE,
    SMALL,
    WIDE,
    Look,
    blank,
    figure_of,
    literal,
    looks,
    styled,
)
from polarbear.race import Round
from polarbear.race.rounds import taking_part
from polarbear.records import FloatArray

DASHES = (0, (5, 3))
BEND = 0.9
"""Probability above which the axis is logarithmic in 1 - p; there both parts have the same slope."""


@styled
def dominance_over_rounds(
    rounds: Sequence[Round],
    *,
    alpha: float,
    names: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Each algorithm's probability of being dominated by its strongest rival (Wurth et al. 2026, figure 3).

    Marks: a coloured line gives, after every round (dot), the probability that the algorithm's strongest rival
    dominates it; a cross is its elimination or withdrawal, a diamond the first round after which all its relations
    are resolved and it is still a candidate. The line of an algorithm that returned has a gap. The vertical axis is
    linear up to 0.9 and logarithmic in 1 - p above. The dashed line is the decision threshold α. The black steps, on
    the right axis, are the share of all pairs of algorithms that are resolved at every timepoint. Ticks on the
    horizontal axis are rounds.

    Args:
        rounds: At least one with runs; what was withdrawn before the first run is not drawn.
        alpha: Decision threshold.
        names: All algorithms; default those in the rounds, in order of appearance.
        order: All names in the order in which colours are dealt; default `names`.
        width: Inches.
        height: Inches; default in proportion.

    Raises:
        ValueError: If there is no round with runs.
    """
    drawn = [this for this in rounds if this.instances]
    if not drawn:
        raise ValueError("there is no round to draw; the race has not completed one")
    names = tuple(names or dict.fromkeys(name for this in drawn for name in this.dominance))
    figure = blank(width, height or max(0.5 * width, 2.7))
    ax = figure.add_subplot()
    shares = ax.twinx()
    _resolved_steps(shares, rounds, _start(drawn))
    ax.set_zorder(shares.get_zorder() + 1)
    ax.patch.set_visible(False)
    top, look_of = _top(alpha), looks(order or names)
    for index, name in enumerate(names):
        _trace(ax, drawn, name, look_of[name], index, top)
    ax.axhline(min(alpha, top), color=INK, linewidth=0.8, linestyle=DASHES, zorder=1, gid="alpha")
    _probability_axis(ax, top)
    _round_axis(ax, drawn)
    _marks(ax, drawn, names, look_of, top)
    _name_key(figure, names, look_of, width)
    _mark_key(ax, alpha, width, "out" if any(this.withdrawn for this in drawn) else "eliminated")
    return figure


def stretch(probability: FloatArray) -> FloatArray:
    """The vertical axis: linear up to `BEND`, then logarithmic in 1 - p, joined without a kink."""
    p = np.asarray(probability, dtype=np.float64)
    scale = 1 - BEND
    above = BEND + scale * np.log(scale / np.maximum(1 - p, 1e-15))
    return np.where(p <= BEND, p, above)


def unstretch(height: FloatArray) -> FloatArray:
    """The inverse of `stretch`."""
    y = np.asarray(height, dtype=np.float64)
    scale = 1 - BEND
    return np.where(y <= BEND, y, 1 - scale * np.exp(-(np.maximum(y, BEND) - BEND) / scale))


def _top(alpha: float) -> float:
    """Where the axis ends: a decade beyond α, at least 0.9999; what lies above is drawn there."""
    digits = 4 if alpha >= 1 else max(4, int(np.ceil(-np.log10(1 - alpha) - 1e-9)) + 1)
    return 1 - 10.0**-digits


def _trace(ax: Axes, rounds: Sequence[Round], name: str, look: Look, index: int, top: float) -> None:
    there = [place for place, this in enumerate(rounds) if name in this.dominance]
    if not there:
        return
    rounds = rounds[there[0] : there[-1] + 1]
    y = [min(this.dominance[name].probability, top) if name in this.dominance else np.nan for this in rounds]
    dots = [place for place, this in enumerate(rounds) if name in this.dominance and name not in _leaving(this)]
    ax.plot(
        [this.instances for this in rounds],
        y,
        color=look.color,
        linewidth=1.5,
        marker=look.marker or ".",
        markersize=4,
        markevery=dots,
        clip_on=False,
        zorder=3,
        gid=f"dominated-{index}",
    )


def _marks(ax: Axes, rounds: Sequence[Round], names: Sequence[str], look_of: dict[str, Look], top: float) -> None:
    """A cross where one is eliminated or withdrawn, a diamond where one is first settled; side by side if they meet.

    The last candidate has no rival in the round that withdraws it: its cross stands where its line ends.
    """
    heights: dict[str, float] = {}  # of those that race
    out: Counter[str] = Counter()
    settled: set[str] = set()
    marks: dict[int, dict[str, tuple[str, float]]] = {}  # by instances and gid
    for this in rounds:
        heights |= {name: min(rival.probability, top) for name, rival in this.dominance.items()}
        here = marks.setdefault(this.instances, {})
        for name in this.settled:
            if name not in settled and name in this.dominance:
                settled.add(name)
                here[f"settled-{names.index(name)}"] = name, heights[name]
        for name in _leaving(this):
            if name in heights:
                out[name] += 1
                again = f"-{out[name]}" if out[name] > 1 else ""
                here[f"out-{names.index(name)}{again}"] = name, heights.pop(name)
    for instances, here in marks.items():
        for gid, shift in _dodge({gid: height for gid, (_, height) in here.items()}).items():
            name, height = here[gid]
            _mark(ax, (instances, height), "X" if gid.startswith("out") else "D", look_of[name].color, gid, shift)


def _leaving(this: Round) -> tuple[str, ...]:
    return (*this.eliminated, *this.withdrawn)


def _dodge(heights: dict[str, float]) -> dict[str, float]:
    """How many points to shift each mark sideways so that none hides another."""
    groups: list[list[str]] = []
    last = -np.inf
    for mark in sorted(heights, key=heights.__getitem__):
        height = float(stretch(np.array(heights[mark])))
        if height - last > 0.09:
            groups.append([])
        groups[-1].append(mark)
        last = height
    return {mark: 9.0 * (place - (len(group) - 1) / 2) for group in groups for place, mark in enumerate(group)}


def _mark(ax: Axes, at: tuple[float, float], marker: str, color: str, gid: str, shift: float = 0.0) -> None:
    """A mark at a point in data units, `shift` points to the right of it."""
    beside = ScaledTranslation(shift / 72, 0, figure_of(ax).dpi_scale_trans)
    ax.plot(
        *at,
        marker=marker,
        markersize=9 if marker == "X" else 6.5,
        color=color,
        markeredgecolor="white",
        markeredgewidth=0.8,
        linestyle="",
        transform=ax.transData + beside,
        clip_on=False,
        zorder=6,
        gid=gid,
    )


def _resolved_steps(ax: Axes, rounds: Sequence[Round], start: float) -> None:
    x, y = [start], [0.0]
    for this, n in zip(rounds, taking_part(rounds), strict=True):
        x.append(max(this.instances, start))
        y.append(this.resolved_pairs / (n * (n - 1) / 2))
    ax.step(x, y, where="post", color="black", linewidth=1.1, clip_on=False, zorder=1, gid="resolved")
    ax.fill_between(x, y, step="post", color=RULE, alpha=0.4, linewidth=0, zorder=0)
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.set_ylabel("resolved pairs")
    ax.spines["right"].set_visible(True)


def _probability_axis(ax: Axes, top: float) -> None:
    ax.set_yscale("function", functions=(stretch, unstretch))
    ax.set_ylim(0, top)
    nines = [1 - 10.0**-k for k in range(1, 12) if 1 - 10.0**-k < top * (1 - 1e-12)]
    ticks = [0, 0.2, 0.4, 0.6, 0.8, *nines, top]
    labels = [f"{tick:.12g}" for tick in ticks[:-1]] + [f"≥ {top:.12g}"]
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_major_formatter(FixedFormatter(labels))
    ax.yaxis.set_minor_locator(FixedLocator([0.91 + 0.01 * k for k in range(8)] if top > 0.99 else []))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel("P(dominated by strongest rival)" if figure_of(ax).get_figwidth() > 5 else "P(dominated)")


def _start(rounds: Sequence[Round]) -> float:
    """Where the horizontal axis begins: 0, or just before the first round on a log scale."""
    first = rounds[0].instances
    return first / 1.5 if rounds[-1].instances > 12 * first else 0.0


def _round_axis(ax: Axes, rounds: Sequence[Round]) -> None:
    last, start = rounds[-1].instances, _start(rounds)
    if start > 0:
        ax.set_xscale("log")
        ax.set_xlim(start, last * 1.06)
        ticks = [last]
        for this in reversed(rounds):
            if ticks[-1] / this.instances >= (1.35 if figure_of(ax).get_figwidth() > 5 else 2):
                ticks.append(this.instances)
        ax.xaxis.set_major_locator(FixedLocator(ticks))
    else:
        ax.set_xlim(start, last * 1.03)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_minor_locator(FixedLocator([this.instances for this in rounds]))
    ax.xaxis.set_major_formatter(COUNTS)
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.tick_params(axis="x", which="minor", length=5, width=0.8)
    ax.set_xlabel("problem instances so far")


def _name_key(figure: Figure, names: Sequence[str], look_of: dict[str, Look], width: float) -> None:
    """Names above the plot, read row by row."""
    size = SMALL if width > 5 else MICRO
    labels = [literal(name, 18) for name in names]
    columns = min(len(names), max(2, int(width * 72 / (size * (0.6 * max(map(len, labels)) + 3.2)))))
    by_column = [place for start in range(columns) for place in range(start, len(names), columns)]
    handles = [
        Line2D([], [], color=look_of[name].color, linewidth=2.2, marker=look_of[name].marker or None, markersize=5)
        for name in names
    ]
    legend = figure.legend(
        [handles[place] for place in by_column],
        ["x"] * len(names),
        loc="outside upper left",
        ncols=columns,
        handlelength=1.4,
        columnspacing=1.2,
        handletextpad=0.5,
        labelspacing=0.3,
        fontsize=size,
        borderpad=0,
    )
    for text, place in zip(legend.get_texts(), by_column, strict=True):
        text.set_text(labels[place])


def _mark_key(ax: Axes, alpha: float, width: float, cross: str) -> None:
    """What the marks mean, just above the axes."""
    marks = [
        Line2D([], [], color=MUTED, marker="X", linestyle="", markersize=8, mec="white", label=cross),
        Line2D([], [], color=MUTED, marker="D", linestyle="", markersize=6, mec="white", label="settled"),
        Line2D([], [], color=INK, linewidth=0.8, linestyle=DASHES, label=f"α = {alpha:g}"),
        Line2D([], [], color="black", linewidth=1.1, label="resolved pairs (right)"),
    ]
    wide = width > 5
    ax.legend(
        handles=marks,
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=4 if wide else 2,
        handlelength=1.6,
        columnspacing=1.2,
        handletextpad=0.5,
        labelspacing=0.3,
        fontsize=SMALL if wide else MICRO,
        borderaxespad=0.6,
        borderpad=0,
    )

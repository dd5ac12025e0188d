"""Where a race spent its evaluations."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from polarbear.figures.style import (
    COUNTS,
    MICRO,
    MUTED,
    SHADES,
    SMALL,
    WIDE,
    Look,
    Spacing,
    blank,
    compact,
    few_log_ticks,
    figure_of,
    literal,
    looks,
    name_row,
    spacing_of,
    styled,
    time_axis,
)
from polarbear.race import RaceResult
from polarbear.records import FloatArray, IntArray


@styled
def allocation(
    result: RaceResult,
    *,
    order: Sequence[str] | None = None,
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """On how many instances each algorithm was run how far (Wurth et al. 2026, figure 10).

    Marks: one bar per algorithm along the budget. Its shade, and the number in it where there is room, is the
    number of instances on which the algorithm was observed up to that budget; a paler right part means that it was
    stopped early on some of them, an end of the bar that it was never run further. At the right stands what the
    algorithm spent in all, and its share. Candidates come first, then those that are out, marked ×, the eliminated
    with the last one first, and the withdrawn.

    Args:
        result: Of a race with at least one round.
        order: All names in the order in which colours are dealt; default that of the result.
        spacing: "log" or "linear" budget axis; default as the timepoints are spaced.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.
    """
    posterior, names, reach = result.posterior, result.names, result.reach
    rows = list(result.members_first)
    figure = blank(width, height or 0.27 * len(rows) + 0.95)
    ax = figure.add_subplot()
    spacing = spacing or spacing_of(posterior.times)
    edges = _edges(posterior.times, spacing)
    norm = _norm(reach)
    time_axis(ax, edges, result.settings.axis, spacing, narrow=width < 5)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    if width > 5:
        shades = ScalarMappable(norm, SHADES)
        bar = figure.colorbar(shades, ax=ax, label="instances", pad=0.02, aspect=18, fraction=0.04)
        bar.set_ticks(_shade_ticks(norm))
        bar.ax.yaxis.set_major_formatter(COUNTS)
        bar.ax.minorticks_off()
        bar.outline.set_visible(False)  # pyright: ignore
    figure.draw_without_rendering()
    for row, name in enumerate(rows):
        _bar(ax, row, reach[:, names.index(name)], edges, norm)
    _row_labels(ax, result, rows, looks(order or names))
    return figure


def stretches(reach: IntArray) -> Iterator[tuple[int, int, int]]:
    """Maximal runs of equal positive counts: first timepoint, one past the last, count."""
    bounds = np.flatnonzero(np.diff(reach, prepend=-1, append=-1))
    for start, stop in pairwise(bounds):
        if reach[start] > 0:
            yield int(start), int(stop), int(reach[start])


def _edges(times: FloatArray, spacing: Spacing) -> FloatArray:
    """(T + 1,) where the cell of each timepoint begins and ends: it ends at the timepoint."""
    if spacing == "linear" or times.size == 1:
        return np.insert(times, 0, 0.0)
    return np.insert(times, 0, times[0] ** 2 / times[1])


def _norm(reach: IntArray) -> Normalize:
    positive = reach[reach > 0]
    low, high = (int(positive.min()), int(positive.max())) if positive.size else (0, 1)
    if low == high:
        return Normalize(0, high)
    return LogNorm(low, high) if high > 8 * low else Normalize(0, high)


def _shade_ticks(norm: Normalize) -> list[float]:
    low, high = norm.vmin or 0.0, norm.vmax or 1.0
    if isinstance(norm, LogNorm):
        return few_log_ticks(low, high)
    return [tick for tick in MaxNLocator(4, integer=True).tick_values(low, high) if low <= tick <= high]


def _bar(ax: Axes, row: int, reach: IntArray, edges: FloatArray, norm: Normalize) -> None:
    for start, stop, count in stretches(reach):
        shade = SHADES(norm(count))
        left, right = edges[start], edges[stop]
        ax.add_patch(
            Rectangle((left, row - 0.4), right - left, 0.8, facecolor=shade, edgecolor="none", linewidth=0, gid="cell")
        )
        across = ax.transData.transform([(left, row), (right, row)])[:, 0]
        room = (across[1] - across[0]) / figure_of(ax).dpi * 72
        if room > 4.4 * len(str(count)) + 5:
            middle = ax.transData.inverted().transform((across.mean(), 0))[0]
            dark = float(np.dot(shade[:3], [0.299, 0.587, 0.114])) < 0.58
            ax.text(
                middle,
                row,
                f"{count}",
                ha="center",
                va="center_baseline",
                fontsize=MICRO,
                color="white" if dark else "#12304A",
            )


def _row_labels(ax: Axes, result: RaceResult, rows: list[str], look_of: dict[str, Look]) -> None:
    total = max(result.evaluations, 1)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    for row, name in enumerate(rows):
        out = name not in result.pareto_set
        spent = result.evaluations_by_algorithm.get(name, 0)
        name_row(
            ax,
            row,
            literal(name) + ("  ×" if out else ""),
            look_of[name],
            fontweight="normal" if out else "bold",
            fontsize=SMALL,
        )
        ax.annotate(
            f"{compact(spent)} ({spent / total:.0%})",
            (1, row),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center_baseline",
            color=MUTED,
            fontsize=MICRO,
            gid="spent",
        )
    ax.annotate(
        "evaluations",
        (1, 1),
        xycoords="axes fraction",
        xytext=(4, 2),
        textcoords="offset points",
        fontsize=MICRO,
        color=MUTED,
    )

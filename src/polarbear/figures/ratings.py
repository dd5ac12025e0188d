"""Ratings over time."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polarbear.figures.style import (
    MUTED,
    SMALL,
    WIDE,
    Look,
    Spacing,
    blank,
    end_labels,
    figure_of,
    looks,
    pale,
    styled,
    time_axis,
)
from polarbear.inference import Posterior
from polarbear.records import Axis, FloatArray


@styled
def rating_over_time(
    posterior: Posterior,
    *,
    eliminated: Collection[str] = (),
    truth: FloatArray | None = None,
    algorithms: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    axis: Axis = "evaluations",
    spacing: Spacing | None = None,
    level: float = 0.95,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The rating of every algorithm over the budget (Wurth et al. 2026, figures 2 and 9).

    Marks: a solid line is the posterior mean of an algorithm's rating, the probability that it has the best result
    of all at that budget; the band around it is the credible interval of each timepoint by itself. Dashed pale
    lines without a band are eliminated algorithms. The dotted line is 1/n, the rating of n equal algorithms; if the
    true ratings are known, they are dotted instead. Names stand at the lines' right ends, those not eliminated in
    bold. From the ninth algorithm on, markers along the line tell colours apart.

    Args:
        posterior: (draws, T, n) ratings.
        eliminated: Names to draw muted.
        truth: (T, n) true ratings, of a synthetic race.
        algorithms: The names to show, of all in the posterior; default all.
        order: All names in the order in which colours are dealt, the same for all figures of a report; default that
            of the posterior.
        axis: What the timepoints are counted in.
        spacing: "log" or "linear" budget axis; default as the timepoints are spaced.
        level: Probability of the intervals.
        width: Inches.
        height: Inches; default in proportion.

    Raises:
        ValueError: If a name is not in the posterior, or `truth` has another shape than its ratings.
    """
    shown = checked(algorithms, posterior.names)
    height = height or max(0.52 * min(width, WIDE), 2.2, 0.14 * len(shown) + 0.8)
    figure = blank(width, height)
    ax = figure.add_subplot()
    top = draw_ratings(
        ax, posterior, shown, looks(order or posterior.names), eliminated=eliminated, truth=truth, level=level
    )
    ax.set_ylim(0, min(1.0, top * 1.04))
    time_axis(ax, posterior.times, axis, spacing, narrow=width < 5)
    ax.set_ylabel("rating (probability of the best result)" if width > 5 else "rating")
    label_ends(ax, posterior.mean()[-1], posterior.names, shown, looks(order or posterior.names), eliminated)
    return figure


def draw_ratings(
    ax: Axes,
    posterior: Posterior,
    shown: Sequence[str],
    look_of: dict[str, Look],
    *,
    eliminated: Collection[str],
    truth: FloatArray | None,
    level: float,
) -> float:
    """Draw means and bands, and dotted lines for the truth or 1/n; returns how high they reach.

    Raises:
        ValueError: If `truth` has another shape than the posterior's ratings.
    """
    mean, (low, high) = posterior.mean(), posterior.interval(level)
    if truth is not None and truth.shape != mean.shape:
        raise ValueError(f"truth has shape {truth.shape}; the posterior's ratings have {mean.shape}")
    top = 0.0
    for name in sorted(shown, key=lambda name: name not in eliminated):
        column = posterior.names.index(name)
        out = name in eliminated
        band = np.stack([low[:, column], high[:, column]])
        _draw(ax, posterior.times, mean[:, column], band, look_of[name], column=column, out=out)
        top = max(top, float(mean[:, column].max() if out else band[1].max()))
        if truth is not None:
            _draw_truth(ax, posterior.times, truth[:, column], look_of[name], column=column, out=out)
            top = max(top, float(truth[:, column].max()))
    if truth is None:
        ax.axhline(1 / len(posterior.names), color=MUTED, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1, gid="even")
    return top


def _draw_truth(ax: Axes, times: FloatArray, ratings: FloatArray, look: Look, *, column: int, out: bool) -> None:
    """A dotted line, or a cross if there is but one timepoint."""
    ax.plot(
        times,
        ratings,
        color=pale(look.ink, 0.7) if out else look.ink,
        linewidth=1.1,
        linestyle=(0, (1, 1.4)),
        marker="x" if times.size == 1 else None,
        markersize=5,
        zorder=5,
        gid=f"truth-{column}",
    )


def label_ends(
    ax: Axes,
    ends: FloatArray,
    names: Sequence[str],
    shown: Sequence[str],
    look_of: dict[str, Look],
    eliminated: Collection[str],
) -> None:
    """Names at the right ends (n,) of the lines, in bold if not eliminated."""
    labels = [(float(ends[names.index(name)]), name, look_of[name], name not in eliminated) for name in shown]
    end_labels(ax, labels, SMALL if figure_of(ax).get_figwidth() > 5 else SMALL - 0.5)


def _draw(
    ax: Axes, times: FloatArray, mean: FloatArray, band: FloatArray, look: Look, *, column: int, out: bool
) -> None:
    color = pale(look.color, 0.6) if out else look.color
    if times.size == 1:
        reach = np.abs(band - mean)
        ax.errorbar(times, mean, yerr=reach, color=color, marker=look.marker or "o", capsize=2, gid=f"mean-{column}")
        return
    if not out:
        ax.fill_between(times, *band, color=look.color, alpha=0.2, linewidth=0, zorder=2, gid=f"band-{column}")
    draw_line(ax, times, mean, look, column=column, out=out)


def draw_line(ax: Axes, times: FloatArray, ratings: FloatArray, look: Look, *, column: int, out: bool = False) -> None:
    """The line of one algorithm; pale and dashed if it is out."""
    ax.plot(
        times,
        ratings,
        color=pale(look.color, 0.6) if out else look.color,
        linewidth=1.0 if out else 1.8,
        linestyle=(0, (4, 2)) if out else "-",
        marker=look.marker or None,
        markersize=3.5,
        markeredgewidth=0,
        markevery=(times.size // 16, max(1, times.size // 8)),
        zorder=3 if out else 4,
        gid=f"mean-{column}",
    )


def checked(algorithms: Sequence[str] | None, names: Sequence[str]) -> tuple[str, ...]:
    """The names to show; ValueError if one is not among `names`."""
    shown = tuple(names if algorithms is None else algorithms)
    unknown = [name for name in shown if name not in names]
    if unknown or not shown:
        raise ValueError(f"algorithms {unknown or '[]'} are not among the posterior's {', '.join(names)}")
    return shown

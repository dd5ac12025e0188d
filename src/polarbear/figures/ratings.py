"""Ratings over time."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polarbear.figures.style import MUTED, SMALL, WIDE, Look, Spacing, blank, end_labels, looks, pale, styled, time_axis
from polarbear.inference import Posterior
from polarbear.records import Axis, FloatArray


@styled
def rating_over_time(
    posterior: Posterior,
    *,
    eliminated: Collection[str] = (),
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
    lines without a band are eliminated algorithms. The dotted line is 1/n, the rating of n equal algorithms. Names
    stand at the lines' right ends, those not eliminated in bold. From the ninth algorithm on, markers along the
    line tell colours apart.

    Args:
        posterior: (draws, T, n) ratings.
        eliminated: Names to draw muted.
        algorithms: The names to show, of all in the posterior; default all.
        order: All names in the order in which colours are dealt, the same for all figures of a report; default that
            of the posterior.
        axis: What the timepoints are counted in.
        spacing: "log" or "linear" budget axis; default as the timepoints are spaced.
        level: Probability of the intervals.
        width: Inches.
        height: Inches; default in proportion.

    Raises:
        ValueError: If a name is not in the posterior.
    """
    shown = checked(algorithms, posterior.names)
    height = height or max(0.52 * min(width, WIDE), 2.2, 0.14 * len(shown) + 0.8)
    figure = blank(width, height)
    ax = figure.add_subplot()
    mean, (low, high) = posterior.mean(), posterior.interval(level)
    look_of = looks(order or posterior.names)
    top = 0.0
    for name in sorted(shown, key=lambda name: name not in eliminated):
        column = posterior.names.index(name)
        out = name in eliminated
        band = np.stack([low[:, column], high[:, column]])
        _draw(ax, posterior.times, mean[:, column], band, look_of[name], column=column, out=out)
        top = max(top, float(mean[:, column].max() if out else band[1].max()))
    ax.axhline(1 / len(posterior.names), color=MUTED, linewidth=0.7, linestyle=(0, (1, 2)), zorder=1, gid="even")
    ax.set_ylim(0, min(1.0, top * 1.04))
    time_axis(ax, posterior.times, axis, spacing, narrow=width < 5)
    ax.set_ylabel("rating (probability of the best result)" if width > 5 else "rating")
    ends = [
        (float(mean[-1, posterior.names.index(name)]), name, look_of[name], name not in eliminated) for name in shown
    ]
    end_labels(ax, ends, SMALL if width > 5 else SMALL - 0.5)
    return figure


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
    ax.plot(
        times,
        mean,
        color=color,
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

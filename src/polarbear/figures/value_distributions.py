"""How the values at one budget are distributed over the runs."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from polarbear.figures.runtime_distribution import Distribution, slowest_first
from polarbear.figures.scales import Scale, line_ends, mark_every, named, note_missing, share_axis, tall
from polarbear.figures.style import RULE, WIDE, Look, Spacing, blank, literal, looks, name_row, pale, styled
from polarbear.records import FloatArray


@styled
def value_distributions(
    distributions: Mapping[str, Distribution],
    *,
    order: Sequence[str] | None = None,
    value: str = "best value so far",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The empirical distribution functions of the values that the runs have at one budget.

    Marks: a line is the share of an algorithm's runs whose value is as good as that or better. Lines further to the
    left are better. A value of 0 lies at the left end of a logarithmic axis.

    Args:
        distributions: By algorithm, of values; without any, an algorithm is named as one that has no data.
        order: All names in the order in which colours are dealt; default that of `distributions`.
        value: Label of the axis of values.
        spacing: "log" or "linear" axis of values; default "log" if none is negative and they span a factor of ten.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: If there is no distribution, or a value is negative on a log axis.
    """
    look_of = looks(named(distributions, order, "distribution"))
    scale = Scale.of([curve.at for curve in distributions.values()], spacing)
    figure = blank(width, height or tall(width, len(distributions)))
    ax = figure.add_subplot()
    scale.apply(ax, "x", value)
    share_axis(ax, "share of runs")
    for index, (name, curve) in enumerate(distributions.items()):
        if not curve.at.size:
            continue
        look = look_of[name]
        x = np.concatenate([[scale.low], scale.place(curve.at), [scale.high]])
        y = np.concatenate([[0.0], curve.share, curve.share[-1:]])
        ax.plot(
            x,
            y,
            drawstyle="steps-post",
            color=look.color,
            linewidth=1.6,
            gid=f"share-{index}",
            **mark_every(look, index),
        )
    shown = [name for name in slowest_first(distributions) if distributions[name].at.size]
    ends = [(scale.high, float(distributions[name].share[-1]), name, look_of[name]) for name in shown]
    note_missing(ax, [name for name, curve in distributions.items() if not curve.at.size])
    line_ends(ax, ends)
    return figure


@styled
def value_densities(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    runs: Mapping[str, ArrayLike] | None = None,
    order: Sequence[str] | None = None,
    value: str = "best value so far",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Densities or histograms of the values that the runs have at one budget.

    Marks: one row per algorithm with a hill, the density of its values or bars of their number; all rows have the
    same scale, so that heights can be compared. Small upright strokes are the values of the single runs. A value of
    0 lies at the left end of a logarithmic axis.

    Args:
        curves: By algorithm, where and how high: (k,) increasing values and (k,) densities, or (b + 1,) increasing
            edges and (b,) counts of a histogram. Empty arrays say that there is no data.
        runs: By algorithm, the values of the runs; NaN where unknown.
        order: All names in the order in which colours are dealt; default that of `curves`.
        value: Label of the axis of values.
        spacing: "log" or "linear" axis of values; default "log" if none is negative and they span a factor of ten.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: If there is no curve, its two arrays do not fit each other, or a value is negative on a log axis.
    """
    look_of = looks(named(curves, order, "distribution"))
    hills = {name: _hill(name, *curve) for name, curve in curves.items()}
    strokes = {name: np.asarray(values, dtype=np.float64) for name, values in (runs or {}).items() if name in hills}
    scale = Scale.of([*(at for at, _ in hills.values()), *strokes.values()], spacing)
    top = max((float(high.max(initial=0)) for _, high in hills.values()), default=0.0) or 1.0
    figure = blank(width, height or 0.36 * len(hills) + 0.75)
    ax = figure.add_subplot()
    scale.apply(ax, "x", value)
    ax.set_ylim(len(hills) - 0.6, -0.95)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", color=RULE, linewidth=0.5)
    for row, (name, (at, high)) in enumerate(hills.items()):
        look = look_of[name]
        _draw_hill(ax, row, scale.place(at), 0.82 * high / top, look)
        if name in strokes:
            place = scale.place(strokes[name])
            ax.plot(
                place, np.full(place.shape, row + 0.12), "|", color=look.ink, markersize=5, mew=0.8, gid=f"runs-{row}"
            )
        name_row(ax, row, literal(name) + ("" if at.size else "  (no data)"), look)
    return figure


def _hill(name: str, at: ArrayLike, high: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Where, and how high, as floats."""
    x, y = np.asarray(at, dtype=np.float64), np.asarray(high, dtype=np.float64)
    if x.ndim != 1 or y.ndim != 1 or x.size - y.size not in (0, 1):
        raise ValueError(f"{name!r} has places of shape {x.shape} and heights of shape {y.shape}; expected as many, or "
                         "one more edge than bars")  # fmt: skip
    if (np.diff(x) <= 0).any() or (y < 0).any():
        raise ValueError(f"places of {name!r} have to increase, and heights must not be negative")
    return x, y


def _draw_hill(ax: Axes, row: int, at: FloatArray, high: FloatArray, look: Look) -> None:
    """Upwards from the row's base, which is thin where there is no height."""
    ax.axhline(row, color=RULE, linewidth=0.5, zorder=1)
    if at.size > high.size:
        ax.stairs(row - high, at, baseline=row, fill=True, color=pale(look.color, 0.45), zorder=2, gid=f"hill-{row}")
        ax.stairs(row - high, at, baseline=row, color=look.color, linewidth=1, zorder=2.1)
    elif at.size:
        ax.fill_between(at, row, row - high, color=look.color, alpha=0.3, linewidth=0, zorder=2, gid=f"hill-{row}")
        ax.plot(at, row - high, color=look.color, linewidth=1, zorder=2.1, gid=f"crest-{row}")

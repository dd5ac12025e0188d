"""Quantiles over the budget: of the best value so far, and of logged parameters."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from polarbear.figures.scales import (
    CROWD,
    Scale,
    arrays_of,
    increasing,
    last_known,
    line_ends,
    mark_every,
    named,
    note_missing,
    tall,
)
from polarbear.figures.style import RULE, WIDE, Look, Spacing, blank, literal, looks, styled, time_axis
from polarbear.records import FloatArray

QUARTILES = (0.25, 0.5, 0.75)
_LABEL = 34
"""Characters of a parameter's name that have room along the axis of the smallest figure."""


@styled
def convergence(
    budgets: ArrayLike,
    quantiles: Mapping[str, ArrayLike],
    *,
    levels: Sequence[float] = QUARTILES,
    order: Sequence[str] | None = None,
    value: str = "best value so far",
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    value_spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The best value so far of every algorithm over the budget.

    Marks: a line is the middle quantile over the runs, the median by default; the band around it reaches from the
    lowest to the highest, and from the second lowest to the second highest and so on, one on top of the other. More
    than eight algorithms are drawn without bands. Lines and bands end where the value of some runs is unknown,
    because they were stopped earlier; a dotted line leads on to the name. A value of 0 lies on the lower edge of a
    logarithmic axis.

    Args:
        budgets: (T,) increasing.
        quantiles: By algorithm, (q, T) values; NaN where unknown.
        levels: (q,) probabilities of the quantiles, increasing, an odd number.
        order: All names in the order in which colours are dealt; default that of `quantiles`.
        value: Label of the vertical axis.
        axis: What budgets are counted in.
        spacing: "log" or "linear" budget axis; default as the budgets are spaced.
        value_spacing: "log" or "linear" axis of values; default "log" if none is negative and they span a factor
            of ten.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: If budgets or levels do not increase, the number of levels is even, or an array has another shape.
    """
    at = increasing(budgets, "budgets")
    figure, ax, bands = _figure(at, quantiles, levels, value, value_spacing, width, height)
    time_axis(ax, at, axis, spacing, narrow=width < 5)
    _draw(ax, at, bands, looks(named(quantiles, order, "algorithm")))
    return figure


@styled
def parameter_over_time(
    budgets: ArrayLike,
    quantiles: Mapping[str, ArrayLike],
    parameter: str,
    *,
    levels: Sequence[float] = QUARTILES,
    order: Sequence[str] | None = None,
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    value_spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """A logged parameter of every algorithm over the budget.

    Marks: as in `convergence`: the line is the middle quantile over the runs, the bands reach from low quantiles to
    high ones, both end or break where the parameter is unknown.

    Args:
        budgets: (T,) increasing.
        quantiles: By algorithm, (q, T) values of the parameter; NaN where unknown.
        parameter: Its name, the label of the vertical axis; a long one is shown without its middle.
        levels: (q,) probabilities of the quantiles, increasing, an odd number.
        order: All names in the order in which colours are dealt; default that of `quantiles`.
        axis: What budgets are counted in.
        spacing: "log" or "linear" budget axis; default as the budgets are spaced.
        value_spacing: "log" or "linear" axis of the parameter; default as in `convergence`.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: As `convergence`.
    """
    return convergence(
        budgets,
        quantiles,
        levels=levels,
        order=order,
        value=literal(parameter, _LABEL),
        axis=axis,
        spacing=spacing,
        value_spacing=value_spacing,
        width=width,
        height=height,
    )


@styled
def parameter_over_targets(
    targets: ArrayLike,
    quantiles: Mapping[str, ArrayLike],
    parameter: str,
    *,
    levels: Sequence[float] = QUARTILES,
    order: Sequence[str] | None = None,
    target: str = "target precision",
    spacing: Spacing | None = None,
    value_spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """A logged parameter of every algorithm when the runs reached a target, from easy to hard.

    Marks: the line is the middle quantile over the runs that reached the target, the bands reach from low quantiles
    to high ones; both end where no run reached it.

    Args:
        targets: (m,) increasing; drawn from the largest, the easiest, to the smallest.
        quantiles: By algorithm, (q, m) values of the parameter; NaN where unknown.
        parameter: Its name, the label of the vertical axis; a long one is shown without its middle.
        levels: (q,) probabilities of the quantiles, increasing, an odd number.
        order: All names in the order in which colours are dealt; default that of `quantiles`.
        target: Label of the horizontal axis.
        spacing: "log" or "linear" axis of targets; default "log" if none is negative and they span a factor of ten.
        value_spacing: "log" or "linear" axis of the parameter; default as in `convergence`.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: As `convergence`.
    """
    at = increasing(targets, "targets")
    figure, ax, bands = _figure(at, quantiles, levels, literal(parameter, _LABEL), value_spacing, width, height)
    across = Scale.of([at], spacing)
    across.apply(ax, "x", target, reverse=True)
    reversed_bands = {name: band[:, ::-1] for name, band in bands.items()}
    _draw(ax, across.place(at)[::-1], reversed_bands, looks(named(quantiles, order, "algorithm")))
    return figure


def _figure(
    at: FloatArray,
    quantiles: Mapping[str, ArrayLike],
    levels: Sequence[float],
    value: str,
    spacing: Spacing | None,
    width: float,
    height: float | None,
) -> tuple[Figure, Axes, dict[str, FloatArray]]:
    """A figure with an axis of values, and what to draw on it by name, (q, T)."""
    if increasing(levels, "levels").size % 2 == 0:
        raise ValueError(f"levels {list(levels)} have no middle one for the line; give an odd number")
    bands = arrays_of(quantiles, (len(levels), at.size), "quantiles")
    figure = blank(width, height or tall(width, len(bands)))
    ax = figure.add_subplot()
    scale = Scale.of(bands.values(), spacing)
    scale.apply(ax, "y", value)
    ax.grid(axis="y", color=RULE, linewidth=0.5)
    return figure, ax, {name: scale.place(band) for name, band in bands.items()}


def _draw(ax: Axes, at: FloatArray, bands: dict[str, FloatArray], look_of: dict[str, Look]) -> None:
    ends: list[tuple[float, float, str, Look]] = []
    for index, (name, band) in enumerate(bands.items()):
        look, known = look_of[name], np.where(np.isfinite(band), band, np.nan)
        _band(ax, at, known if len(bands) <= CROWD else known[len(known) // 2 :][:1], look, index)
        if (end := last_known(at, known[len(known) // 2])) is not None:
            ends.append((*end, name, look))
    note_missing(ax, [name for name in bands if name not in {name for *_, name, _ in ends}])
    line_ends(ax, ends)


def _band(ax: Axes, at: FloatArray, band: FloatArray, look: Look, index: int) -> None:
    """The middle line, and one band for every pair of quantiles around it; upright bars where there is one point."""
    middle = len(band) // 2
    single = np.count_nonzero(np.isfinite(band[middle])) == 1
    for depth in range(middle):
        low, high = band[depth], band[-1 - depth]
        if single:
            ax.vlines(at, low, high, color=look.color, linewidth=1.2 + depth, zorder=2, gid=f"band-{index}-{depth}")
        else:
            ax.fill_between(
                at, low, high, color=look.color, alpha=0.16, linewidth=0, zorder=2, gid=f"band-{index}-{depth}"
            )
    marks: dict[str, Any] = {"marker": look.marker or "o", "markersize": 4} if single else mark_every(look, index)
    ax.plot(at, band[middle], color=look.color, linewidth=1.6, zorder=3, gid=f"middle-{index}", **marks)

"""Quantiles over the budget: of the best value so far, and of logged parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.line_chart import line_chart, markers_of, name_lines
from polarbear.figures.marks import Band, Bars, Line, Mark
from polarbear.figures.panels import Axis
from polarbear.figures.scales import Scale, arrays_of, increasing, time_axis
from polarbear.figures.style import CROWD, QUARTILES, WIDE, Look, Spacing, literal, looks_for, shown
from polarbear.records import FloatArray

_LABEL = 34
"""Number of characters of a parameter's name that fit along the axis of the smallest figure."""


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

    Marks: a line is the middle quantile over the runs, by default the median. Bands around it reach from the lowest to
    the highest quantile, from the second lowest to the second highest, and so on, drawn on top of each other; with more
    than eight algorithms there are no bands. Lines and bands end where the value of some runs is unknown because these
    were stopped earlier; a dotted line leads on to the name. A value of 0 lies on the lower edge of a logarithmic axis.

    Args:
        budgets: (T,) increasing.
        quantiles: For each algorithm, (q, T) quantiles of the values; NaN where unknown.
        levels: (q,) increasing probabilities of the quantiles; q is odd.
        order: All algorithm names in the order in which colours are assigned; default that of `quantiles`.
        value: Label of the vertical axis.
        axis: Unit of the budgets.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the budgets.
        value_spacing: "log" or "linear" axis of values; default "log" if no value is negative and they span at least a
            factor of ten.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If budgets or levels do not increase, the number of levels is even, or an array has the wrong shape.
    """
    at = increasing(budgets, "budgets")
    return _chart(
        *(at, quantiles, levels, value, order, value_spacing, width, height),
        x=time_axis(at, axis, spacing, narrow=width < 5),
        title="Convergence",
        alt=f"{_spread(levels)} of the {value} of {listed(quantiles)} over the budget.",
        caption=captions.convergence(len(quantiles), levels=levels),
    )


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

    Marks: as in `convergence`: the line is the middle quantile over the runs and the bands join lower quantiles to
    higher ones. Both end or break where the parameter is unknown.

    Args:
        budgets: (T,) increasing.
        quantiles: For each algorithm, (q, T) quantiles of the parameter; NaN where unknown.
        parameter: Name of the parameter, the label of the vertical axis; the middle of a long name is left out.
        levels: (q,) increasing probabilities of the quantiles; q is odd.
        order: All algorithm names in the order in which colours are assigned; default that of `quantiles`.
        axis: Unit of the budgets.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the budgets.
        value_spacing: "log" or "linear" axis of the parameter; default as in `convergence`.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: As in `convergence`.
    """
    at, label = increasing(budgets, "budgets"), literal(shown(parameter, _LABEL))
    return _chart(
        *(at, quantiles, levels, label, order, value_spacing, width, height),
        x=time_axis(at, axis, spacing, narrow=width < 5),
        title=f"{parameter} of {listed(quantiles)}",
        alt=f"{_spread(levels)} of {parameter} of {listed(quantiles)} over the budget.",
        caption=captions.parameter_over_time(parameter, len(quantiles), levels=levels),
    )


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
    """A logged parameter of every algorithm at the moment when runs reach each target, from easy to hard.

    Marks: the line is the middle quantile over the runs that reached the target, and the bands join lower quantiles to
    higher ones. Both end where no run reached the target.

    Args:
        targets: (m,) increasing; drawn from the largest, the easiest, to the smallest.
        quantiles: For each algorithm, (q, m) quantiles of the parameter; NaN where unknown.
        parameter: Name of the parameter, the label of the vertical axis; the middle of a long name is left out.
        levels: (q,) increasing probabilities of the quantiles; q is odd.
        order: All algorithm names in the order in which colours are assigned; default that of `quantiles`.
        target: Label of the horizontal axis.
        spacing: "log" or "linear" axis of targets; default "log" if no number is negative and they span at least a
            factor of ten.
        value_spacing: "log" or "linear" axis of the parameter; default as in `convergence`.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: As in `convergence`.
    """
    at, label = increasing(targets, "targets"), literal(shown(parameter, _LABEL))
    scale = Scale.of([at], spacing)
    easiest_first = {name: np.flip(values, axis=-1) for name, values in quantiles.items()}
    return _chart(
        *(scale.place(at)[::-1], easiest_first, levels, label, order, value_spacing, width, height),
        x=scale.axis(target, reverse=True),
        title=f"{parameter} of {listed(quantiles)} over targets",
        alt=f"{_spread(levels)} of {parameter} of {listed(quantiles)} against the target.",
        caption=captions.parameter_over_targets(parameter, len(quantiles), levels=levels),
    )


def _chart(
    at: FloatArray,
    quantiles: Mapping[str, ArrayLike],
    levels: Sequence[float],
    label: str,
    order: Sequence[str] | None,
    spacing: Spacing | None,
    width: float,
    height: float | None,
    *,
    x: Axis,
    title: str,
    alt: str,
    caption: str,
) -> Figure:
    """Lines with bands, from quantiles (q, T) at positions (T,), with names where the lines end."""
    if increasing(levels, "levels").size % 2 == 0:
        raise ValueError(f"levels are {list(levels)}; their number must be odd, as the line is drawn at the middle one")
    arrays = arrays_of(quantiles, (len(levels), at.size), "quantiles")
    scale = Scale.of(arrays.values(), spacing)
    bands = {name: np.where(np.isfinite(band), scale.place(band), np.nan) for name, band in arrays.items()}
    looks, middle = looks_for(quantiles, order, "algorithm"), len(levels) // 2
    marks = (
        *(mark for index, name in enumerate(bands) for mark in _band(at, bands, name, looks[name], index)),
        *name_lines(at, {name: band[middle] for name, band in bands.items()}),
    )
    y = scale.axis(label, grid=True)
    return line_chart(
        x, y, marks, looks, lines=len(bands), width=width, height=height, title=title, alt=alt, caption=caption
    )


def _band(at: FloatArray, bands: Mapping[str, FloatArray], name: str, look: Look, index: int) -> Iterator[Mark]:
    """The middle line and a band for each pair of quantiles around it; vertical bars if there is only one point."""
    band = bands[name]
    middle = len(band) // 2
    single = np.count_nonzero(np.isfinite(band[middle])) == 1
    for depth in range(middle if len(bands) <= CROWD else 0):
        mark, low, high = f"band-{index}-{depth}", band[depth], band[-1 - depth]
        if single:
            yield Bars(name=mark, x=at, low=low, high=high, algorithm=name, width=1.2 + depth)
        else:
            yield Band(name=mark, x=at, low=low, high=high, algorithm=name, opacity=0.16)
    markers = markers_of(look, index, single=single)
    yield Line(name=f"middle-{index}", x=at, y=band[middle], algorithm=name, markers=markers, layer=3)


def _spread(levels: Sequence[float]) -> str:
    return "Quartiles" if tuple(levels) == QUARTILES else f"Quantiles ({listed(f'{level:.0%}' for level in levels)})"

"""Quantiles over the budget: of the best value so far, and of logged parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from polarbear.descriptions import listed
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Band, Bars, Line, Mark, Markers
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.scales import (
    Scale,
    arrays_of,
    end_labels,
    increasing,
    last_known,
    markers_of,
    missing,
    named,
    tall,
    time_axis,
)
from polarbear.figures.style import CROWD, MARKED, WIDE, Look, Spacing, literal, looks, shown
from polarbear.records import FloatArray

QUARTILES = (0.25, 0.5, 0.75)
_LABEL = 34
"""Characters of a parameter's name that have room along the axis of the smallest figure."""


def caption(algorithms: int, *, levels: Sequence[float] = QUARTILES) -> str:
    """Caption of `convergence` with quantiles of these levels."""
    return (
        f"The best value found so far over the budget. {_quantiles(algorithms, levels)} Lines end where runs were "
        "stopped; a dotted line leads from there to the name." + (MARKED if algorithms > CROWD else "")
    )


def time_caption(parameter: str, algorithms: int, *, levels: Sequence[float] = QUARTILES) -> str:
    """Caption of `parameter_over_time` with quantiles of these levels."""
    return (
        f"The logged parameter “{parameter}” over the budget. {_quantiles(algorithms, levels)} Lines end where it is "
        "not known; a dotted line leads from there to the name." + (MARKED if algorithms > CROWD else "")
    )


def targets_caption(parameter: str, algorithms: int, *, levels: Sequence[float] = QUARTILES) -> str:
    """Caption of `parameter_over_targets` with quantiles of these levels."""
    return (
        f"The logged parameter “{parameter}” at the moment at which a run reached a target, from easy to hard targets. "
        f"{_quantiles(algorithms, levels)} Lines end where no run reached the target; a dotted line leads from there "
        "to the name." + (MARKED if algorithms > CROWD else "")
    )


def _quantiles(algorithms: int, levels: Sequence[float]) -> str:
    """What lines and bands are."""
    middle = len(levels) // 2
    line = "the median" if levels[middle] == 0.5 else f"the {levels[middle]:.0%} quantile"
    bands = [f"{levels[i]:.0%} to {levels[-1 - i]:.0%}" for i in reversed(range(middle))]
    if not bands or algorithms > CROWD:
        return f"Lines are {line} over the runs."
    return f"Lines are {line} over the runs, bands reach from the quantiles {' and from '.join(bands)}."


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
    x = time_axis(at, axis, spacing, narrow=width < 5)
    y, bands = _values(at, quantiles, levels, value, value_spacing)
    look_of = looks(named(quantiles, order, "algorithm"))
    return Figure(
        title="Convergence",
        alt=f"{_spread(levels)} of the {value} of {listed(quantiles)} over the budget.",
        caption=caption(len(bands), levels=levels),
        width=width,
        height=height or tall(width, len(bands)),
        panels=(Panel(x=x, y=y, marks=tuple(_marks(at, bands, look_of))),),
        looks=look_of,
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
    figure = convergence(
        budgets,
        quantiles,
        levels=levels,
        order=order,
        value=literal(shown(parameter, _LABEL)),
        axis=axis,
        spacing=spacing,
        value_spacing=value_spacing,
        width=width,
        height=height,
    )
    return replace(
        figure,
        title=f"{parameter} of {listed(quantiles)}",
        alt=f"{_spread(levels)} of {parameter} of {listed(quantiles)} over the budget.",
        caption=time_caption(parameter, len(quantiles), levels=levels),
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
    y, bands = _values(at, quantiles, levels, literal(shown(parameter, _LABEL)), value_spacing)
    across = Scale.of([at], spacing)
    reversed_bands = {name: band[:, ::-1] for name, band in bands.items()}
    look_of = looks(named(quantiles, order, "algorithm"))
    marks = tuple(_marks(across.place(at)[::-1], reversed_bands, look_of))
    return Figure(
        title=f"{parameter} of {listed(quantiles)} at targets",
        alt=f"{_spread(levels)} of {parameter} of {listed(quantiles)} against the target.",
        caption=targets_caption(parameter, len(quantiles), levels=levels),
        width=width,
        height=height or tall(width, len(bands)),
        panels=(Panel(x=across.axis(target, reverse=True), y=y, marks=marks),),
        looks=look_of,
    )


def _values(
    at: FloatArray, quantiles: Mapping[str, ArrayLike], levels: Sequence[float], label: str, spacing: Spacing | None
) -> tuple[Axis, dict[str, FloatArray]]:
    """An axis of values, and what to draw on it by name, (q, T)."""
    if increasing(levels, "levels").size % 2 == 0:
        raise ValueError(f"levels {list(levels)} have no middle one for the line; give an odd number")
    bands = arrays_of(quantiles, (len(levels), at.size), "quantiles")
    scale = Scale.of(bands.values(), spacing)
    return scale.axis(label, grid=True), {name: scale.place(band) for name, band in bands.items()}


def _marks(at: FloatArray, bands: Mapping[str, FloatArray], look_of: Mapping[str, Look]) -> Iterator[Mark]:
    ends: list[tuple[float, float, str, str]] = []
    for index, (name, band) in enumerate(bands.items()):
        known = np.where(np.isfinite(band), band, np.nan)
        middle = known[len(known) // 2]
        yield from _band(at, known if len(bands) <= CROWD else middle[np.newaxis], name, look_of[name], index)
        if (end := last_known(at, middle)) is not None:
            ends.append((*end, name, name))
    yield from missing([name for name in bands if name not in {name for *_, name in ends}])
    yield from end_labels(ends)


def _band(at: FloatArray, band: FloatArray, name: str, look: Look, index: int) -> Iterator[Mark]:
    """The middle line, and one band for every pair of quantiles around it; upright bars where there is one point."""
    middle = len(band) // 2
    single = np.count_nonzero(np.isfinite(band[middle])) == 1
    for depth in range(middle):
        own, low, high = f"band-{index}-{depth}", band[depth], band[-1 - depth]
        if single:
            yield Bars(name=own, x=at, low=low, high=high, algorithm=name, width=1.2 + depth)
        else:
            yield Band(name=own, x=at, low=low, high=high, algorithm=name, opacity=0.16)
    markers = Markers(look.marker or "o", size=4, edge=1) if single else markers_of(look, index)
    yield Line(name=f"middle-{index}", x=at, y=band[middle], algorithm=name, markers=markers, layer=3)


def _spread(levels: Sequence[float]) -> str:
    return "Quartiles" if tuple(levels) == QUARTILES else f"Quantiles ({listed(f'{level:.0%}' for level in levels)})"

"""Empirical attainment functions: one algorithm, the difference of two, and attained shares over the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.line_chart import line_chart, markers_of, name_lines
from polarbear.figures.marks import Band, Label, Line, Mark, Surface
from polarbear.figures.panels import Bar, Entry, Key, Panel
from polarbear.figures.scales import Scale, arrays_of, increasing, share_axis, time_axis
from polarbear.figures.style import (
    INK,
    QUARTILES,
    SHADES,
    SMALL,
    SURFACE,
    WIDE,
    Look,
    Spacing,
    blend,
    looks_for,
    pale,
    shortened,
    shown,
)
from polarbear.records import FloatArray

_TINY = 1e-9
"""Contour levels lie just below round shares, so that a share of exactly 0.5 counts as at least 0.5."""
_SHARES = np.linspace(0.0, 1.0, 21)
_DASHES = (), (3.0, 1.5)
_MOST_TICKS = 5
"""Maximum number of labelled levels on the colour bar."""


def attainment(
    budgets: ArrayLike,
    values: ArrayLike,
    share: ArrayLike,
    *,
    lines: Sequence[float] = QUARTILES,
    value: str = "best value so far",
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    value_spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The empirical attainment function of one algorithm (López-Ibáñez et al. 2024, figures 1, 3 and 4).

    Marks: the shade at a point is the share of runs that found a value at least as good within that budget; regions
    that no run attained are white. The lines bound the regions attained by a quarter, half and three quarters of the
    runs, and are repeated on the colour bar. The function is piecewise constant: it keeps its value from each grid
    point to the next budget and the next larger value. Unknown regions are hatched.

    Args:
        budgets: (T,) increasing.
        values: (V,) increasing.
        share: (T, V) share of the runs at each grid point; NaN where unknown.
        lines: Shares whose contours are drawn, above 0 and at most 1.
        value: Label of the vertical axis.
        axis: Unit of the budgets.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the budgets.
        value_spacing: "log" or "linear" axis of values; default "log" if no value is negative and they span at least a
            factor of ten.
        width: Width in inches.
        height: Height in inches; default chosen to fit the contents.

    Raises:
        ValueError: If budgets or values do not increase, shares have the wrong shape or lie outside [0, 1], or a line
            is outside (0, 1].
    """
    at, heights, table = _grid(budgets, values, share, lowest=0.0)
    if wrong := [line for line in lines if not 0 < line <= 1]:
        raise ValueError(f"lines contains {wrong[0]:g}; shares of the runs must be above 0 and at most 1")
    colors = tuple(blend(SHADES, float(position)) for position in np.linspace(0, 1, _SHARES.size - 1))
    borders = tuple((line, INK if line <= 0.5 else SURFACE, 1.4 if line == 0.5 else 0.7) for line in lines)
    edges = np.concatenate([[_TINY], _SHARES[1:-1] - _TINY, [1.1]])
    ticks = tuple(sorted({0.0, *lines, 1.0})) if len(lines) <= _MOST_TICKS else (0, *QUARTILES, 1)
    bar = Bar(label="share of runs", edges=(*_SHARES.tolist(),), colors=colors, ticks=ticks, lines=borders)
    scale = Scale.of([heights], value_spacing)
    surface = Surface(
        name="attainment", x=at, y=scale.place(heights), z=table, edges=edges, colors=colors, borders=borders, layer=1
    )
    x = time_axis(at, axis, spacing, narrow=width < 5)
    return Figure(
        title="Empirical attainment function",
        alt="Share of the runs that attained each value within each budget.",
        caption=captions.attainment(lines=lines, unknown=_has_unknown(table)),
        width=width,
        height=height or _height(width),
        panels=(Panel(x=x, y=scale.axis(value), marks=(surface,), bar=bar),),
    )


def attainment_difference(
    budgets: ArrayLike,
    values: ArrayLike,
    difference: ArrayLike,
    names: tuple[str, str],
    *,
    lines: tuple[ArrayLike, ArrayLike] | None = None,
    level: float = 0.5,
    order: Sequence[str] | None = None,
    value: str = "best value so far",
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    value_spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Where one algorithm attains more than another (López-Ibáñez et al. 2024, figures 5 and 6).

    Marks: the colour at a point is that of the algorithm for which the larger share of runs found a value at least as
    good within that budget; the larger the difference of the shares, the darker. White means no difference. The
    difference is piecewise constant between grid points; unknown regions are hatched. If lines are given, they show the
    value attained by a share of the runs: solid for the first algorithm, dashed for the second.

    Args:
        budgets: (T,) increasing.
        values: (V,) increasing.
        difference: (T, V) share of the first algorithm's runs minus that of the second's at each grid point; NaN where
            unknown.
        names: Names of the two algorithms; the second may be a portfolio.
        lines: For each of the two, (T,) values attained by a share `level` of the runs by each budget; NaN where there
            is none.
        level: Share of the runs that the lines refer to.
        order: All algorithm names in the order in which colours are assigned; default `names`.
        value: Label of the vertical axis.
        axis: Unit of the budgets.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the budgets.
        value_spacing: As in `attainment`.
        width: Width in inches.
        height: Height in inches; default chosen to fit the contents.

    Raises:
        ValueError: If budgets or values do not increase, or differences have the wrong shape or lie outside [-1, 1].
    """
    at, heights, table = _grid(budgets, values, difference, lowest=-1.0)
    looks = looks_for(names, order, "algorithm")
    steps = np.concatenate([-_SHARES[:0:-2], [-_TINY, _TINY], _SHARES[2::2]])
    ours, theirs = ([pale(looks[name].ink, strength) for strength in np.linspace(0.2, 1.0, 10)] for name in names)
    colors = (*reversed(theirs), SURFACE, *ours)
    edges = steps + np.where(steps > 0, _TINY, -_TINY)
    ticks, texts = (-1, -0.5, 0, 0.5, 1), ("1", "0.5", "0", "0.5", "1")
    bar = Bar(label="difference of shares", edges=(*steps.tolist(),), colors=colors, ticks=ticks, texts=texts)
    scale = Scale.of([heights], value_spacing)
    surface = Surface(name="difference", x=at, y=scale.place(heights), z=table, edges=edges, colors=colors, layer=1)
    x = time_axis(at, axis, spacing, narrow=width < 5)
    entries = [Entry(text=f"{shown(name)} attains more", algorithm=name, ink=True) for name in names]
    curves: list[Line] = []
    part = captions.part_of_runs(level)
    for name, line, dash in zip(names, lines or (), _DASHES, strict=bool(lines)):
        (curve,) = arrays_of({name: line}, at.shape, "line").values()
        curves.append(Line(name="level", x=at, y=scale.place(curve), width=1.1, dash=dash, steps=True, layer=3))
        entries.append(Entry(text=f"{part} of the runs of {shown(name, 18)}", color=INK, width=1.1, dash=dash))
    return Figure(
        title=f"Difference in attainment between {names[0]} and {names[1]}",
        alt=f"Where {names[0]} attains more than {names[1]}, and where less.",
        caption=captions.attainment_difference(
            *names, unknown=_has_unknown(table), level=None if lines is None else level
        ),
        width=width,
        height=height or _height(width),
        panels=(Panel(x=x, y=scale.axis(value), marks=(surface, *curves), bar=bar),),
        looks=looks,
        key=Key(entries=tuple(entries), columns=2 if width > 5 else 1, size=SMALL),
    )


def attainment_ecdf(
    budgets: ArrayLike,
    share: Mapping[str, ArrayLike],
    *,
    area: Mapping[str, float] | None = None,
    bands: Mapping[str, ArrayLike] | None = None,
    level: float = 0.95,
    order: Sequence[str] | None = None,
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The ECDF based on the empirical attainment function (López-Ibáñez et al. 2024, equation 4 and figure 7).

    Marks: a line is the share that the runs of an algorithm attained within the budget, averaged over the whole range
    of values, as a step function; the band around it, if given, is a confidence interval. The area over the convergence
    curve, if given, is printed beside the name: it is 1 for a run that has the best value from the first evaluation on.

    Args:
        budgets: (T,) increasing.
        share: For each algorithm, (T,) shares from 0 to 1; NaN where unknown.
        area: For each algorithm, the area over the convergence curve (AOCC).
        bands: For each algorithm, (2, T) lower and upper ends of a confidence band.
        level: Confidence level of the bands, for the caption.
        order: All algorithm names in the order in which colours are assigned; default that of `share`.
        axis: Unit of the budgets.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the budgets.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If budgets do not increase, or an array has the wrong shape or lies outside [0, 1].
    """
    at, looks = increasing(budgets, "budgets"), looks_for(share, order, "share")
    curves = arrays_of(share, at.shape, "share")
    for name, curve in curves.items():
        _check_range(curve, f"shares of {name!r}", 0.0)
    intervals = arrays_of(bands or {}, (2, at.size), "band")

    def with_area(name: str) -> str:
        return f"{shortened(name, 19)}  {area[name]:.2f}" if area and name in area else name

    marks = (
        *_step_lines(at, curves, intervals, looks),
        *name_lines(at, curves, with_area),
        *((Label(text="AOCC", shift=(16, 9), size=SMALL),) if area else ()),
    )
    return line_chart(
        time_axis(at, axis, spacing, narrow=width < 5),
        share_axis("mean share attained"),
        marks,
        looks,
        lines=len(curves),
        width=width,
        height=height,
        title="Attainment ECDF",
        alt=f"Mean share of the range of values that {listed(curves)} attained, over the budget.",
        caption=captions.attainment_ecdf(len(curves), area=bool(area), level=level if intervals else None),
    )


def _step_lines(
    at: FloatArray, curves: Mapping[str, FloatArray], bands: Mapping[str, FloatArray], looks: Mapping[str, Look]
) -> Iterator[Mark]:
    for index, (name, curve) in enumerate(curves.items()):
        if name in bands:
            low, high = bands[name]
            yield Band(name=f"band-{index}", x=at, low=low, high=high, algorithm=name, steps=True, layer=1)
        markers = markers_of(looks[name], index, single=at.size == 1)
        yield Line(name=f"share-{index}", x=at, y=curve, algorithm=name, steps=True, markers=markers)


def _height(width: float) -> float:
    return max(0.5 * min(width, WIDE), 2.3)


def _grid(
    budgets: ArrayLike, values: ArrayLike, table: ArrayLike, *, lowest: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Budgets (T,), values (V,) and a table over both (T, V) as floats, after checking shapes and range."""
    at, heights = increasing(budgets, "budgets"), increasing(values, "values")
    cells = floats(table)
    if cells.shape != (at.size, heights.size):
        raise ValueError(f"the function has shape {cells.shape}; expected {(at.size, heights.size)}, budgets by values")
    _check_range(cells, "numbers of the function", lowest)
    return at, heights, cells


def _check_range(numbers: FloatArray, what: str, lowest: float) -> None:
    if ((numbers < lowest) | (numbers > 1)).any():
        raise ValueError(f"{what} must lie between {lowest:g} and 1; got {np.nanmin(numbers)} to {np.nanmax(numbers)}")


def _has_unknown(table: FloatArray) -> bool:
    return bool(np.isnan(table).any())

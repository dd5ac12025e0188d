"""Distributions over the runs of the values at one budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.line_chart import line_chart, markers_of, note_missing
from polarbear.figures.marks import Band, EndLabel, Line, Mark, Points, Steps, row_label
from polarbear.figures.panels import Panel
from polarbear.figures.runtime_distribution import Distribution, slowest_first
from polarbear.figures.scales import Scale, row_axis, share_axis
from polarbear.figures.style import RULE, WIDE, Spacing, looks_for, shown
from polarbear.records import FloatArray


def value_distributions(
    distributions: Mapping[str, Distribution],
    *,
    budget: str = "the budget",
    shares_of: str = "runs",
    order: Sequence[str] | None = None,
    value: str = "best value so far",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The empirical distribution functions of the values that runs have reached at one budget.

    Marks: a line is the share of an algorithm's runs whose value is at least as good. Lines further to the left are
    better. A value of 0 lies at the left end of a logarithmic axis.

    Args:
        distributions: For each algorithm, the distribution of its values; an empty one is noted as having no data.
        budget: Budget of the values, such as ``"10,000 evaluations"``, for the caption.
        shares_of: What the shares count, for the caption.
        order: All algorithm names in the order in which colours are assigned; default that of `distributions`.
        value: Label of the axis of values.
        spacing: "log" or "linear" axis of values; default "log" if no value is negative and they span at least a
            factor of ten.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If there is no distribution, or a value is negative on a log axis.
    """
    looks = looks_for(distributions, order, "distribution")
    scale = Scale.of([curve.at for curve in distributions.values()], spacing)
    lines = (
        Line(
            name=f"share-{index}",
            x=np.concatenate([[scale.low], scale.place(curve.at), [scale.high]]),
            y=np.concatenate([[0.0], curve.share, curve.share[-1:]]),
            algorithm=name,
            steps=True,
            markers=markers_of(looks[name], index),
        )
        for index, (name, curve) in enumerate(distributions.items())
        if curve.at.size
    )
    names = (
        EndLabel(x=scale.high, y=float(distributions[name].share[-1]), text=shown(name), algorithm=name)
        for name in slowest_first(distributions)
        if distributions[name].at.size
    )
    return line_chart(
        scale.axis(value),
        share_axis("share of runs"),
        (*lines, *note_missing([name for name, curve in distributions.items() if not curve.at.size]), *names),
        looks,
        lines=len(distributions),
        width=width,
        height=height,
        title="Distributions of values",
        alt=f"Line chart of the share of runs of {listed(distributions)} with a value at least as good.",
        caption=captions.value_distributions(len(distributions), budget, shares_of),
    )


def value_densities(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    runs: Mapping[str, ArrayLike] | None = None,
    budget: str = "the budget",
    order: Sequence[str] | None = None,
    value: str = "best value so far",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Densities or histograms of the values that runs have reached at one budget.

    Marks: one row per algorithm with a hill: the density of its values, or bars of their number; all rows have the same
    scale, so that heights can be compared. Short vertical strokes are the values of single runs. A value of 0 lies at
    the left end of a logarithmic axis.

    Args:
        curves: For each algorithm, positions and heights: (k,) increasing values and (k,) densities, or (b + 1,)
            increasing edges and (b,) counts of a histogram. Empty arrays mean that there is no data.
        runs: For each algorithm, the values of the runs; NaN where unknown.
        budget: Budget of the values, such as ``"10,000 evaluations"``, for the caption.
        order: All algorithm names in the order in which colours are assigned; default that of `curves`.
        value: Label of the axis of values.
        spacing: "log" or "linear" axis of values; default "log" if no value is negative and they span at least a
            factor of ten.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If there is no curve, its two arrays do not match, or a value is negative on a log axis.
    """
    looks = looks_for(curves, order, "distribution")
    hills = {name: _hill(name, *curve) for name, curve in curves.items()}
    strokes = {name: floats(values) for name, values in (runs or {}).items() if name in hills}
    scale = Scale.of([*(at for at, _ in hills.values()), *strokes.values()], spacing)
    top = max(float(heights.max(initial=0)) for _, heights in hills.values()) or 1.0
    marks = (
        mark
        for row, (name, (at, heights)) in enumerate(hills.items())
        for mark in _row(row, name, scale.place(at), 0.82 * heights / top, scale, strokes.get(name))
    )
    histogram = any(at.size > heights.size for at, heights in hills.values())
    return Figure(
        title="Densities of values",
        alt=f"One hill per algorithm over the values: {listed(hills)}.",
        caption=captions.value_densities(budget, histogram=histogram, runs=bool(strokes)),
        width=width,
        height=height or 0.36 * len(hills) + 0.75,
        panels=(Panel(x=scale.axis(value, grid=True), y=row_axis(len(hills)), marks=(*marks,)),),
        looks=looks,
    )


def _hill(name: str, at: ArrayLike, heights: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Positions and heights as floats."""
    x, y = floats(at), floats(heights)
    if x.ndim != 1 or y.ndim != 1 or x.size - y.size not in (0, 1):
        raise ValueError(f"{name!r} has positions of shape {x.shape} and heights of shape {y.shape}; give arrays of "
                         "equal length, or one more edge than bars")  # fmt: skip
    if (np.diff(x) <= 0).any() or (y < 0).any():
        raise ValueError(f"positions of {name!r} must increase, and heights must not be negative")
    return x, y


def _row(
    row: int, name: str, at: FloatArray, heights: FloatArray, scale: Scale, runs: FloatArray | None
) -> Iterator[Mark]:
    """A hill that rises from the row's base, with strokes for the runs."""
    yield Line(x=np.array([scale.low, scale.high]), y=np.full(2, float(row)), color=RULE, width=0.5, layer=1)
    crest = row - heights
    if at.size > heights.size:
        yield Steps(name=f"hill-{row}", edges=at, y=crest, base=row, algorithm=name, strength=0.45)
        yield Steps(edges=at, y=crest, base=row, algorithm=name, fill=False, width=1, layer=2.1)
    elif at.size:
        yield Band(name=f"hill-{row}", x=at, low=row, high=crest, algorithm=name, opacity=0.3)
        yield Line(name=f"crest-{row}", x=at, y=crest, algorithm=name, width=1, layer=2.1)
    if runs is not None:
        x, y = scale.place(runs), np.full(runs.shape, row + 0.12)
        yield Points(name=f"runs-{row}", x=x, y=y, algorithm=name, ink=True, symbol="|", edge=0.8)
    yield row_label(row, shown(name) + ("" if at.size else "  (no data)"), name)

"""One statistic of every algorithm over budgets or targets, with bands and single runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.line_chart import line_chart, markers_of, name_lines
from polarbear.figures.marks import Band, Line, Mark
from polarbear.figures.scales import Scale, arrays_of, increasing, time_axis
from polarbear.figures.style import CROWD, WIDE, Look, Spacing, looks_for
from polarbear.records import FloatArray


def fixed_budget_curves(
    budgets: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    bands: Mapping[str, ArrayLike] | None = None,
    runs: Mapping[str, ArrayLike] | None = None,
    statistic: str = "mean",
    band: str = "",
    value: str = "best value so far",
    order: Sequence[str] | None = None,
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    value_spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The expected value over the budget (IOHprofiler thesis, table 3.1, "Expected Target Value").

    Marks: a line is a statistic of an algorithm's runs, such as their mean, median or geometric mean; the area around
    it is the given band, such as the mean ± a standard deviation; thin lines are single runs. Lines end where the
    statistic is unknown, and a dotted line leads on to the name. On a logarithmic axis, a value of 0 and the end of a
    band that reaches below 0 lie on the lower edge.

    Args:
        budgets: (T,) increasing.
        curves: For each algorithm, (T,) values of the statistic; NaN where unknown.
        bands: For each algorithm, (2, T) lower and upper ends.
        runs: For each algorithm, (runs, T) values of single runs.
        statistic: Name of the statistic, for title and caption.
        band: What the bands show, such as "mean ± standard deviation", for the caption.
        value: Label of the vertical axis.
        order: All algorithm names in the order in which colours are assigned; default that of `curves`.
        axis: Unit of the budgets.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the budgets.
        value_spacing: "log" or "linear" axis of values; default "log" if no value is negative and they span at least a
            factor of ten.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If budgets do not increase, or an array has the wrong shape.
    """
    at = increasing(budgets, "budgets")
    lines, areas, single = _arrays(at, curves, bands, runs)
    scale = _scale(lines, areas, single, value_spacing)
    looks = looks_for(curves, order, "algorithm")
    return line_chart(
        time_axis(at, axis, spacing, narrow=width < 5),
        scale.axis(value, grid=True),
        _marks(at, scale, lines, areas, single, looks),
        looks,
        lines=len(lines),
        width=width,
        height=height,
        title=f"{statistic[:1].upper()}{statistic[1:]} over the budget",
        alt=f"Line chart of the {statistic} of {listed(curves)} over the budget.",
        caption=captions.fixed_budget_curves(len(lines), statistic, band=_said(areas, band), runs=bool(single)),
    )


def fixed_target_curves(
    targets: ArrayLike,
    curves: Mapping[str, ArrayLike],
    *,
    bands: Mapping[str, ArrayLike] | None = None,
    runs: Mapping[str, ArrayLike] | None = None,
    budgets: Mapping[str, float] | None = None,
    statistic: str = "mean",
    band: str = "",
    cost: str = "runtime (evaluations)",
    target: str = "target precision",
    order: Sequence[str] | None = None,
    spacing: Spacing | None = None,
    cost_spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The expected runtime over targets, from easy to hard (IOHprofiler thesis, table 3.2, "Expected Runtime").

    Marks: a line is a statistic of the runtimes of an algorithm's runs, such as PAR-1, PAR-10, the median or another
    quantile, i.e. the runtime within which a run succeeds with that probability. The area around it is the given band,
    such as the mean ± a standard deviation; thin lines are single runs, up to the hardest target that they reach.
    Horizontal dashed lines are the budgets of the algorithms.

    Args:
        targets: (m,) increasing; drawn from the largest, the easiest, to the smallest.
        curves: For each algorithm, (m,) values of the statistic; inf or NaN where there is none.
        bands: For each algorithm, (2, m) lower and upper ends.
        runs: For each algorithm, (runs, m) runtimes of single runs; inf where a target was missed.
        budgets: For each algorithm, the number of evaluations that its runs were given.
        statistic: Name of the statistic, such as "PAR-10", for title and caption.
        band: What the bands show, for the caption.
        cost: Label of the vertical axis.
        target: Label of the horizontal axis.
        order: All algorithm names in the order in which colours are assigned; default that of `curves`.
        spacing: "log" or "linear" axis of targets; default "log" if no number is negative and they span at least a
            factor of ten.
        cost_spacing: "log" or "linear" axis of runtimes; default as for `spacing`.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If targets do not increase, or an array has the wrong shape.
    """
    at = increasing(targets, "targets")
    flipped = [
        {name: np.flip(floats(array), axis=-1) for name, array in (arrays or {}).items()}
        for arrays in (curves, bands, runs)
    ]
    lines, areas, single = _arrays(at, *flipped)
    limits = {name: float(budget) for name, budget in (budgets or {}).items() if name in lines}
    scale, along = _scale(lines, areas, single, cost_spacing, list(limits.values())), Scale.of([at], spacing)
    looks = looks_for(curves, order, "algorithm")
    x = along.place(at)[::-1]
    own = (
        Line(
            name=f"budget-{list(lines).index(name)}",
            x=np.array([along.low, along.high]),
            y=np.array([limit, limit]),
            algorithm=name,
            width=0.9,
            dash=(4, 3),
            layer=1.5,
        )
        for name, limit in limits.items()
    )
    return line_chart(
        along.axis(target, reverse=True),
        scale.axis(cost, grid=True),
        (*own, *_marks(x, scale, lines, areas, single, looks)),
        looks,
        lines=len(lines),
        width=width,
        height=height,
        title=f"{statistic[:1].upper()}{statistic[1:]} over targets",
        alt=f"Line chart of the {statistic} of the runtimes of {listed(curves)} over targets.",
        caption=captions.fixed_target_curves(
            len(lines), statistic, band=_said(areas, band), runs=bool(single), budgets=bool(limits)
        ),
    )


def _arrays(
    at: FloatArray,
    curves: Mapping[str, ArrayLike],
    bands: Mapping[str, ArrayLike] | None,
    runs: Mapping[str, ArrayLike] | None,
) -> tuple[dict[str, FloatArray], dict[str, FloatArray], dict[str, FloatArray]]:
    """Lines (T,), bands (2, T) and single runs (runs, T) with NaN where nothing is to be drawn."""
    lines = arrays_of(curves, at.shape, "curve")
    areas = arrays_of({name: band for name, band in (bands or {}).items() if name in lines}, (2, at.size), "band")
    single = {name: np.atleast_2d(floats(each)) for name, each in (runs or {}).items() if name in lines}
    for name, each in single.items():
        arrays_of({name: each}, (len(each), at.size), "runs")
    return _finite(lines), _finite(areas), _finite(single)


def _finite(arrays: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    return {name: np.where(np.isfinite(array), array, np.nan) for name, array in arrays.items()}


def _scale(
    lines: Mapping[str, FloatArray],
    areas: Mapping[str, FloatArray],
    single: Mapping[str, FloatArray],
    spacing: Spacing | None,
    more: Sequence[float] = (),
) -> Scale:
    """The scale that shows lines, runs and bands; on a log scale, only the positive parts of bands."""
    main = Scale.of([*lines.values(), *single.values(), more], spacing)
    ends = [np.where(area > 0, area, np.nan) if main.log else area for area in areas.values()]
    return Scale.of([*lines.values(), *single.values(), *ends, more], "log" if main.log else "linear")


def _marks(
    at: FloatArray,
    scale: Scale,
    lines: Mapping[str, FloatArray],
    areas: Mapping[str, FloatArray],
    single: Mapping[str, FloatArray],
    looks: Mapping[str, Look],
) -> Iterator[Mark]:
    few = len(lines) <= CROWD
    drawn = {name: scale.place(line) for name, line in lines.items()}
    for index, (name, line) in enumerate(drawn.items()):
        for number, run in enumerate(single.get(name, ()) if few else ()):
            x, y = at, scale.place(run)
            yield Line(name=f"run-{index}-{number}", x=x, y=y, algorithm=name, width=0.5, strength=0.45, layer=1.8)
        if name in areas and few:
            low, high = areas[name]
            low = np.maximum(low, scale.low) if scale.log else low
            yield Band(name=f"band-{index}", x=at, low=low, high=high, algorithm=name, opacity=0.16)
        markers = markers_of(looks[name], index, single=np.count_nonzero(np.isfinite(line)) == 1)
        yield Line(name=f"line-{index}", x=at, y=line, algorithm=name, markers=markers, layer=3)
    yield from name_lines(at, drawn)


def _said(areas: Mapping[str, FloatArray], band: str) -> str:
    return (band or "as given") if areas else ""

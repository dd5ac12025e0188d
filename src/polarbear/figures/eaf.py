"""Beyond a single attainment function: mean curves, and how much depends on the choice of targets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.assess.sensitivity import TargetSensitivity
from polarbear.assess.vorobev import Vorobev
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.line_chart import line_chart, markers_of, name_lines
from polarbear.figures.marks import Line, Mark, Points
from polarbear.figures.panels import Axis, Entry, Key, Panel
from polarbear.figures.scales import Scale, increasing, share_axis, time_axis
from polarbear.figures.style import CROWD, INK, MUTED, SMALL, WIDE, Look, Spacing, looks_for, shown
from polarbear.quantities import plural
from polarbear.records import FloatArray

_DASHES = ((1, 1.5), (3, 1.5), (5, 1.5, 1, 1.5), (8, 2))


def vorobev_expectation(
    budgets: ArrayLike,
    found: Mapping[str, Vorobev],
    *,
    runs: Mapping[str, ArrayLike] | None = None,
    order: Sequence[str] | None = None,
    value: str = "best value so far",
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    value_spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The Vorob'ev expectation of every algorithm: a mean convergence curve (López-Ibáñez et al. 2024, section V).

    Marks: a line is the level curve of an algorithm's attainment function whose area is closest to the mean area of its
    runs; thin lines are single runs. Beside the name stands the deviation: of the area between the bounds of time and
    value, the mean share that lies between a run and the line.

    Args:
        budgets: (T,) increasing, at which the curves are drawn.
        found: For each algorithm, the result of `polarbear.assess.vorobev`.
        runs: For each algorithm, (runs, T) values of single runs.
        order: All algorithm names in the order in which colours are assigned; default that of `found`.
        value: Label of the vertical axis.
        axis: Unit of the budgets.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the budgets.
        value_spacing: "log" or "linear" axis of values; default "log" if no value is negative and they span at least a
            factor of ten.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If there is no algorithm or budgets do not increase.
    """
    at, looks = increasing(budgets, "budgets"), looks_for(found, order, "algorithm")
    curves = {name: _finite(expectation.curve(at)) for name, expectation in found.items()}
    single = {name: _finite(floats(each)) for name, each in (runs or {}).items() if name in found}
    scale = Scale.of([*curves.values(), *single.values()], value_spacing)
    drawn = {name: scale.place(curve) for name, curve in curves.items()}
    return line_chart(
        time_axis(at, axis, spacing, narrow=width < 5),
        scale.axis(value, grid=True),
        (
            *_expectations(at, drawn, {name: scale.place(each) for name, each in single.items()}, looks),
            *name_lines(at, drawn, lambda name: f"{shown(name, 18)}  ± {found[name].deviation:.2g}"),
        ),
        looks,
        lines=len(found),
        width=width,
        height=height,
        title="Vorob'ev expectations",
        alt=f"Line chart of the Vorob'ev expectations of {listed(found)} over the budget.",
        caption=captions.vorobev_expectation(len(found), runs=bool(single)),
    )


def target_sensitivity(
    found: TargetSensitivity,
    *,
    algorithms: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """ECDFs based on several numbers of targets beside those based on the EAF (López-Ibáñez et al. 2024, figures 7, 8).

    Marks: left, solid lines are ECDFs based on the EAF, broken lines those based on targets, with more gaps the fewer
    the targets. Right, the difference of the two for each number of targets: lines are means over all algorithms, dots
    the mean plus and minus one standard deviation.

    Args:
        found: Result of `polarbear.assess.target_sensitivity`.
        algorithms: Algorithms whose curves are drawn at the left; default the first two.
        order: All algorithm names in the order in which colours are assigned; default that of `found`.
        axis: Unit of the times.
        spacing: "log" or "linear" time axis; default inferred from the spacing of the times.
        width: Width in inches; narrow figures stack their panels.
        height: Height in inches; default chosen to fit the contents.

    Raises:
        ValueError: If an algorithm is not among those found.
    """
    chosen, looks = tuple(algorithms or found.names[:2]), looks_for(found.names, order, "algorithm")
    if unknown := [name for name in chosen if name not in found.names]:
        raise ValueError(f"algorithms {unknown} are not among {', '.join(found.names)}")
    at, columns = found.times, 2 if width > 5 else 1
    x = time_axis(at, axis, spacing, narrow=True)
    dashes = [_DASHES[k % len(_DASHES)] for k in range(len(found.counts))]
    entries = (
        *(Entry(text=shown(name, 18), algorithm=name, width=1.6) for name in chosen),
        Entry(text="EAF", color=INK, width=1.4),
        *(
            Entry(text=plural(count, "target"), color=INK, width=1.2, dash=dash)
            for count, dash in zip(found.counts, dashes, strict=True)
        ),
    )
    reach = 1.1 * float(np.abs(found.differences).max()) or 1.0
    return Figure(
        title="ECDFs with and without targets",
        alt=f"ECDFs of {listed(chosen)}, based on {listed(map(str, found.counts))} targets and on the EAF.",
        caption=captions.target_sensitivity(len(found.names), dict(zip(found.counts, found.rank_changes, strict=True))),
        width=width,
        height=height or (0.45 * width + 0.4 if columns == 2 else 1.2 * width),
        panels=(
            Panel(x=x, y=share_axis("mean share attained"), marks=tuple(_ecdfs(found, chosen, dashes))),
            Panel(
                x=x,
                y=Axis(label="difference from the EAF", low=-reach, high=reach, most=5, grid=True),
                marks=tuple(_differences(found, dashes)),
            ),
        ),
        columns=columns,
        looks=looks,
        key=Key(entries=entries, columns=4 if width > 5 else 2, size=SMALL),
    )


def _finite(array: FloatArray) -> FloatArray:
    return np.where(np.isfinite(array), array, np.nan)


def _expectations(
    at: FloatArray, curves: Mapping[str, FloatArray], single: Mapping[str, FloatArray], looks: Mapping[str, Look]
) -> Iterator[Mark]:
    for index, (name, curve) in enumerate(curves.items()):
        for number, run in enumerate(single.get(name, ()) if len(curves) <= CROWD else ()):
            thin = Line(x=at, y=run, algorithm=name, width=0.5, strength=0.45, steps=True, layer=1.8)
            yield replace(thin, name=f"run-{index}-{number}")
        markers = markers_of(looks[name], index)
        yield Line(name=f"expectation-{index}", x=at, y=curve, algorithm=name, steps=True, markers=markers, layer=3)


def _ecdfs(
    sensitivity: TargetSensitivity, chosen: Sequence[str], dashes: Sequence[tuple[float, ...]]
) -> Iterator[Mark]:
    times = sensitivity.times
    for name in chosen:
        index = sensitivity.names.index(name)
        yield Line(name=f"eaf-{index}", x=times, y=sensitivity.exact[index], algorithm=name, steps=True, layer=3)
        for count, dash, curves in zip(sensitivity.counts, dashes, sensitivity.by_targets, strict=True):
            line = f"targets-{count}-{index}"
            yield Line(name=line, x=times, y=curves[index], algorithm=name, width=1, dash=dash, steps=True)


def _differences(sensitivity: TargetSensitivity, dashes: Sequence[tuple[float, ...]]) -> Iterator[Mark]:
    for count, dash, each in zip(sensitivity.counts, dashes, sensitivity.differences, strict=True):
        mean, deviation = each.mean(axis=0), each.std(axis=0)
        yield Line(name=f"difference-{count}", x=sensitivity.times, y=mean, color=INK, width=1.2, dash=dash, layer=3)
        for sign, end in (("below", mean - deviation), ("above", mean + deviation)):
            some = slice(None, None, 4)
            mark = f"deviation-{sign}-{count}"
            yield Points(name=mark, x=sensitivity.times[some], y=end[some], color=MUTED, symbol=".", size=2.5)

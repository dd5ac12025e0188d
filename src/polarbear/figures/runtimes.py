"""Expected runtimes against the target and against the dimension."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.line_chart import line_chart, name_lines
from polarbear.figures.marks import Line, Mark, PointLabel, Points
from polarbear.figures.panels import Axis
from polarbear.figures.scales import Scale, arrays_of, increasing
from polarbear.figures.style import CROWD, RULE, SURFACE, WIDE, Look, Spacing, looks_for, shortened
from polarbear.records import FloatArray


def ert_over_targets(
    targets: ArrayLike,
    ert: Mapping[str, ArrayLike],
    *,
    successes: Mapping[str, ArrayLike] | None = None,
    runs: int | None = None,
    order: Sequence[str] | None = None,
    target: str = "target precision",
    cost: str = "evaluations",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The expected runtime of every algorithm against the target, from easy to hard.

    Marks: a line is the expected runtime, solid where all runs reached the target and broken where only some did; it
    ends at the hardest target that any run reached. If successes are given, the number of runs that reached that last
    target stands beside the name. A dotted line leads from a line that ends early to its name.

    Args:
        targets: (m,) distinct targets in any order.
        ert: For each algorithm, (m,) expected runtimes; inf or NaN where no run reached the target.
        successes: For each algorithm, (m,) numbers of runs that reached the target.
        runs: Number of runs of each algorithm; needed with `successes`.
        order: All algorithm names in the order in which colours are assigned; default that of `ert`.
        target: Label of the horizontal axis.
        cost: Unit of the runtimes.
        spacing: "log" or "linear" axis of targets; default "log" if no number is negative and they span at least a
            factor of ten.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If targets repeat, an array has the wrong length, or `successes` are given without `runs`.
    """
    looks = looks_for(ert, order, "expected runtime")
    hardest_last = np.argsort(floats(targets), kind="stable")[::-1]
    at = increasing(floats(targets)[hardest_last][::-1], "targets")[::-1]
    times = {name: _known(array[hardest_last]) for name, array in arrays_of(ert, at.shape, "ERT").items()}
    counts = {name: array[hardest_last] for name, array in _counts(successes, ert, runs, at.shape).items()}
    scale = Scale.of([at], spacing)
    return line_chart(
        scale.axis(target, reverse=True),
        Scale.of(times.values(), "log").axis(f"ERT ({cost})", grid=True),
        _target_marks(scale.place(at), times, counts, runs, looks),
        looks,
        lines=len(times),
        width=width,
        height=height,
        title="Expected runtime over targets",
        alt=f"Expected runtimes of {listed(times)} against the {target}.",
        caption=captions.ert_over_targets(len(times), runs=runs if counts else None),
    )


def ert_over_dimension(
    dimensions: ArrayLike,
    ert: Mapping[str, ArrayLike],
    *,
    spent: Mapping[str, ArrayLike] | None = None,
    successes: Mapping[str, ArrayLike] | None = None,
    runs: int | None = None,
    order: Sequence[str] | None = None,
    cost: str = "evaluations",
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """How the expected runtime to one target scales with the dimension.

    Marks: a line is the expected runtime divided by the dimension, with a dot for each dimension. A dot is hollow if
    not all runs reached the target; with up to eight algorithms, the number of successes stands beside it. Where no run
    reached the target, a pale cross is the largest budget spent, divided by the dimension. Both axes are logarithmic:
    along horizontal rules the runtime grows linearly with the dimension, along slanted ones quadratically. Dimensions
    too close to another one have a tick without a number.

    Args:
        dimensions: (d,) increasing.
        ert: For each algorithm, or each target of a single algorithm, (d,) expected runtimes; inf or NaN where no run
            was successful.
        spent: For each of these, (d,) largest number of evaluations of a run, shown where `ert` is inf.
        successes: For each of these, (d,) numbers of runs that reached the target.
        runs: Number of runs in each dimension; needed with `successes`.
        order: All algorithm names in the order in which colours are assigned; default that of `ert`.
        cost: Unit of the runtimes.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If dimensions do not increase, an array has the wrong length, or `successes` are given without
            `runs`.
    """
    looks = _with_markers(looks_for(ert, order, "expected runtime"), ert)
    at = increasing(dimensions, "dimensions")
    times = {name: _known(array / at) for name, array in arrays_of(ert, at.shape, "ERT").items()}
    counts = _counts(successes, ert, runs, at.shape)
    largest, none = arrays_of(spent or {}, at.shape, "largest budget"), np.full(at.shape, np.nan)
    budgets = {name: np.where(np.isnan(time), largest.get(name, none) / at, np.nan) for name, time in times.items()}
    x, y = (
        _dimension_axis(at),
        Scale.of([*times.values(), *budgets.values()], "log").axis(f"ERT / dimension ({cost})", grid=True),
    )
    return line_chart(
        x,
        y,
        (*_slanted_rules(x, y), *_dimension_marks(at, times, budgets, counts, runs, looks)),
        looks,
        lines=len(times),
        width=width,
        height=height,
        title="Scaling of the expected runtime",
        alt=f"Expected runtimes of {listed(times)}, divided by the dimension, over the dimension.",
        caption=captions.ert_over_dimension(len(times), successes=bool(counts), spent=bool(spent)),
    )


def _known(times: FloatArray) -> FloatArray:
    """Runtimes, with NaN where no run was successful."""
    return np.where(np.isfinite(times), times, np.nan)


def _with_markers(looks: Mapping[str, Look], names: Mapping[str, ArrayLike]) -> dict[str, Look]:
    """A marker for every algorithm: a dot for those without, or a diamond where dots mark repeated colours."""
    plain = "D" if any(looks[name].marker == "o" for name in names) else "o"
    return {name: Look(looks[name].color, looks[name].marker or plain) for name in names}


def _counts(
    successes: Mapping[str, ArrayLike] | None, ert: Mapping[str, ArrayLike], runs: int | None, shape: tuple[int, ...]
) -> dict[str, FloatArray]:
    """Numbers of successes as arrays."""
    if successes is None:
        return {}
    if runs is None:
        raise ValueError("successes are given without `runs`; give the number of runs that they are out of")
    counts = arrays_of({name: successes[name] for name in ert if name in successes}, shape, "successes")
    for name, count in counts.items():
        if ((count < 0) | (count > runs)).any():
            raise ValueError(
                f"successes of {name!r} must lie between 0 and {runs}; got {count.min():g} to {count.max():g}"
            )
    return counts


def _target_marks(
    x: FloatArray,
    times: Mapping[str, FloatArray],
    counts: Mapping[str, FloatArray],
    runs: int | None,
    looks: Mapping[str, Look],
) -> Iterator[Mark]:
    """A line per algorithm, and its name with the number of successes at the last target reached."""

    def with_successes(name: str) -> str:
        label = shortened(name, 19)
        return f"{label}  {counts[name][np.isfinite(times[name])][-1]:.0f}/{runs}" if name in counts else label

    for index, (name, time) in enumerate(times.items()):
        yield from _broken_line(x, time, counts.get(name, runs) == runs, name, looks[name], index)
    yield from name_lines(x, times, with_successes)


def _dimension_marks(
    at: FloatArray,
    times: Mapping[str, FloatArray],
    budgets: Mapping[str, FloatArray],
    counts: Mapping[str, FloatArray],
    runs: int | None,
    looks: Mapping[str, Look],
) -> Iterator[Mark]:
    """Lines with dots and crosses, the numbers of successes, and names."""
    hollow = {name: counts.get(name, np.full(at.shape, np.inf)) < (runs or 0) for name in times}
    for index, (name, time) in enumerate(times.items()):
        yield from _dots(at, time, hollow[name], budgets[name], name, looks[name].marker, index)
    for name, count in counts.items() if len(times) <= CROWD else ():
        for d in np.flatnonzero(hollow[name] & np.isfinite(times[name])):
            x, y, text = float(at[d]), float(times[name][d]), f"{count[d]:.0f}"
            yield PointLabel(name="successes", x=x, y=y, text=text, algorithm=name, ink=True)
    yield from name_lines(at, {name: np.where(np.isnan(time), budgets[name], time) for name, time in times.items()})


def _broken_line(
    at: FloatArray, times: FloatArray, sure: NDArray[np.bool_] | bool, name: str, look: Look, index: int
) -> Iterator[Mark]:
    """The whole line, thin and broken, and its certain part, solid, on top."""
    yield Line(name=f"ert-{index}", x=at, y=times, algorithm=name, width=1.1, dash=(3, 1.6), layer=3)
    yield Line(name=f"sure-{index}", x=at, y=np.where(sure, times, np.nan), algorithm=name, width=1.8, layer=3.1)
    symbol = look.marker or ("o" if np.count_nonzero(np.isfinite(times)) == 1 else "")
    if symbol:
        step = max(1, at.size // 10)
        yield Points(x=at[::step], y=times[::step], algorithm=name, symbol=symbol, size=3.5, edge=0, layer=3.2)


def _dimension_axis(at: FloatArray) -> Axis:
    """A log axis with a tick at every dimension."""
    low, high = float(at[0] / 1.25), float(at[-1] * 1.35)
    ticks, texts = tuple(at.tolist()), tuple(f"{d:g}" for d in at)
    return Axis(label="dimension", low=low, high=high, scale="log", ticks=ticks, texts=texts, minor=(), sparse=True)


def _slanted_rules(x: Axis, y: Axis) -> Iterator[Line]:
    """Rules of slope one: along them, the runtime divided by the dimension grows linearly with the dimension."""
    (left, right), (low, high) = x.ends, y.ends
    for power in range(int(np.floor(np.log10(low / right))), int(np.ceil(np.log10(high / left))) + 1):
        slope, ends = 10.0**power, np.array([left, right])
        if slope * right > low and slope * left < high:
            yield Line(name="quadratic", x=ends, y=slope * ends, color=RULE, width=0.5, layer=0.9)


def _dots(
    at: FloatArray,
    times: FloatArray,
    hollow: NDArray[np.bool_],
    budgets: FloatArray,
    name: str,
    symbol: str,
    index: int,
) -> Iterator[Mark]:
    """A line with dots, hollow where only some runs were successful, and pale crosses where none was."""
    yield Line(name=f"ert-{index}", x=at, y=times, algorithm=name, width=1.5, layer=3)
    whole, part = np.where(hollow, np.nan, times), np.where(hollow, times, np.nan)
    dots = Points(x=at, y=whole, algorithm=name, symbol=symbol, size=3.8 if symbol == "D" else 4.5, layer=3.1)
    yield replace(dots, name=f"all-{index}")
    yield replace(dots, name=f"some-{index}", y=part, fill=SURFACE, layer=3.2)
    cross = Points(x=at, y=budgets, algorithm=name, strength=0.55, symbol="x", edge=1.2, layer=2.5)
    yield replace(cross, name=f"spent-{index}")

"""Expected runtimes against the target and against the dimension."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.descriptions import listed
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Line, Mark, PointLabel, Points
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.scales import Scale, arrays_of, end_labels, increasing, last_known, missing, named, tall
from polarbear.figures.style import CROWD, MARKED, RULE, SURFACE, WIDE, Look, Spacing, looks, shortened
from polarbear.records import FloatArray

Mask = NDArray[np.bool_]


def targets_caption(algorithms: int, *, runs: int | None = None) -> str:
    """Caption of `ert_over_targets`; `runs` if successes are given out of so many."""
    return (
        "The expected runtime (ERT), all evaluations spent by all runs up to the target divided by the number of "
        "successful runs, against the target, from easy to hard. "
        + (
            f"Lines are solid where all {runs} runs reached the target and broken where only some did. Beside each "
            "name stands how many reached the last target of the line. "
            if runs
            else ""
        )
        + "A line ends at the hardest target that any run reached; a dotted line leads from there to the name."
        + (MARKED if algorithms > CROWD else "")
    )


def dimension_caption(algorithms: int, *, successes: bool = False, spent: bool = False) -> str:
    """Caption of `ert_over_dimension`: whether it shows numbers of successes, and budgets where there were none."""
    numbers = " with the number of successful runs beside them" if algorithms <= CROWD else ""
    return (
        "The expected runtime (ERT) divided by the dimension, against the dimension. Both axes are logarithmic: along "
        "the horizontal rules the runtime grows linearly with the dimension, along the slanted rules quadratically."
        + (f" Dots are hollow{numbers} where not all runs reached the target." if successes else "")
        + (" A pale cross is the largest budget spent where no run did." if spent else "")
        + (MARKED if algorithms > CROWD else "")
    )


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

    Marks: a line is the expected runtime. It is solid where all runs reached the target and broken where only some
    did; it ends at the hardest target that was reached at all. Beside the name stands how many of the runs reached
    that last target, if the successes are given. A dotted line leads from a line that ends early to its name.

    Args:
        targets: (m,) distinct, in any order.
        ert: By algorithm, (m,); inf or NaN where no run reached the target.
        successes: By algorithm, (m,) how many runs reached the target.
        runs: How many runs each algorithm made; needed with `successes`.
        order: All names in the order in which colours are dealt; default that of `ert`.
        target: Label of the horizontal axis.
        cost: What runtimes are counted in.
        spacing: "log" or "linear" axis of targets; default "log" if none is negative and they span a factor of ten.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: If targets repeat, an array has another length, or `successes` come without `runs`.
    """
    look_of = looks(named(ert, order, "expected runtime"))
    sorting = np.argsort(np.asarray(targets, dtype=np.float64), kind="stable")
    at = increasing(np.asarray(targets, dtype=np.float64)[sorting], "targets")[::-1]
    times = {name: array[sorting][::-1] for name, array in arrays_of(ert, at.shape, "ERT").items()}
    counts = {name: array[sorting][::-1] for name, array in _counts(successes, ert, runs, at.shape).items()}
    across = Scale.of([at], spacing)
    place, known = across.place(at), {name: np.where(np.isfinite(time), time, np.nan) for name, time in times.items()}
    sure = {name: counts[name] == runs if name in counts else np.isfinite(time) for name, time in times.items()}
    last = {name: end for name, time in known.items() if (end := last_known(place, time)) is not None}
    marks = (
        *_broken_lines(place, known, sure, look_of),
        *missing([name for name in times if name not in last]),
        *end_labels((*end, _with_successes(name, times[name], counts, runs), name) for name, end in last.items()),
    )
    y = Scale.of(times.values(), "log").axis(f"ERT ({cost})", grid=True)
    return Figure(
        title="Expected runtime over targets",
        alt=f"Expected runtimes of {listed(times)} against the {target}.",
        caption=targets_caption(len(times), runs=runs if counts else None),
        width=width,
        height=height or tall(width, len(times)),
        panels=(Panel(x=across.axis(target, reverse=True), y=y, marks=marks),),
        looks=look_of,
    )


def _with_successes(name: str, time: FloatArray, counts: Mapping[str, FloatArray], runs: int | None) -> str:
    """A name with how many runs reached the last target that was reached."""
    label = shortened(name, 19)
    return f"{label}  {counts[name][np.isfinite(time)][-1]:.0f}/{runs}" if name in counts else label


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

    Marks: a line is the expected runtime divided by the dimension, a dot on it one dimension. A dot is hollow if not
    all runs reached the target; with up to eight algorithms, the number of successes stands beside it. Where no run
    reached the target, a pale cross is the largest budget spent, divided by the dimension. Both axes are logarithmic:
    along the horizontal rules the runtime grows linearly with the dimension, along the slanted ones quadratically.
    A dimension too close to another one has a tick without a number.

    Args:
        dimensions: (d,) increasing.
        ert: (d,) in evaluations, by algorithm, or by target for one algorithm; inf or NaN where no run was successful.
        spent: (d,) the largest number of evaluations of a run, to be shown where `ert` is inf.
        successes: (d,) how many runs reached the target.
        runs: How many runs there are in each dimension; needed with `successes`.
        order: All names in the order in which colours are dealt; default that of `ert`.
        cost: What runtimes are counted in.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: If dimensions do not increase, an array has another length, or `successes` come without `runs`.
    """
    look_of = _with_markers(looks(named(ert, order, "expected runtime")), ert)
    at = increasing(dimensions, "dimensions")
    times = {name: array / at for name, array in arrays_of(ert, at.shape, "ERT").items()}
    counts = _counts(successes, ert, runs, at.shape)
    budgets = _unsolved(spent or {}, times, at)
    y = Scale.of([*times.values(), *budgets.values()], "log").axis(f"ERT / dimension ({cost})", grid=True)
    x = _dimension_axis(at)
    some = {name: counts.get(name, np.full(at.shape, np.inf)) < (runs or 0) for name in times}
    heights = {name: np.where(np.isfinite(time), time, budgets[name]) for name, time in times.items()}
    last = {name: end for name, height in heights.items() if (end := last_known(at, height)) is not None}
    marks = (
        *_slanted_rules(x, y),
        *_dots(at, times, some, budgets, look_of),
        *(_successes(at, times, counts, some) if len(times) <= CROWD else ()),
        *missing([name for name in times if name not in last]),
        *end_labels((*end, name, name) for name, end in last.items()),
    )
    return Figure(
        title="Scaling of the expected runtime",
        alt=f"Expected runtime divided by the dimension of {listed(times)}, over the dimension.",
        caption=dimension_caption(len(times), successes=bool(counts), spent=bool(spent)),
        width=width,
        height=height or tall(width, len(times)),
        panels=(Panel(x=x, y=y, marks=marks),),
        looks=look_of,
    )


def _with_markers(look_of: Mapping[str, Look], names: Collection[str]) -> dict[str, Look]:
    """A marker for everyone: a dot for those without, or a diamond where dots tell repeated colours apart."""
    plain = "D" if any(look_of[name].marker == "o" for name in names) else "o"
    return {name: Look(look_of[name].color, look_of[name].marker or plain) for name in names}


def _unsolved(spent: Mapping[str, ArrayLike], times: Mapping[str, FloatArray], at: FloatArray) -> dict[str, FloatArray]:
    """The largest budgets divided by the dimension, where no run was successful; else NaN."""
    budgets = arrays_of(spent, at.shape, "largest budget")
    nothing = np.full(at.shape, np.nan)
    return {name: np.where(np.isfinite(time), np.nan, budgets.get(name, nothing) / at) for name, time in times.items()}


def _counts(
    successes: Mapping[str, ArrayLike] | None, ert: Mapping[str, ArrayLike], runs: int | None, shape: tuple[int, ...]
) -> dict[str, FloatArray]:
    """Successes as arrays."""
    if successes is None:
        return {}
    if runs is None:
        raise ValueError("successes are given without `runs`, the number of runs that they are out of")
    counts = arrays_of({name: successes[name] for name in ert if name in successes}, shape, "successes")
    for name, count in counts.items():
        if ((count < 0) | (count > runs)).any():
            raise ValueError(
                f"successes of {name!r} have to lie in 0 to {runs}; got {count.min():g} to {count.max():g}"
            )
    return counts


def _broken_lines(
    at: FloatArray, times: Mapping[str, FloatArray], sure: Mapping[str, Mask], look_of: Mapping[str, Look]
) -> Iterator[Mark]:
    """Whole lines thin and broken, and what is sure solid on top of them."""
    every = slice(None, None, max(1, at.size // 10))
    for index, (name, time) in enumerate(times.items()):
        yield Line(name=f"ert-{index}", x=at, y=time, algorithm=name, width=1.1, dash=(3, 1.6), layer=3)
        certain = np.where(sure[name], time, np.nan)
        yield Line(name=f"sure-{index}", x=at, y=certain, algorithm=name, width=1.8, layer=3.1)
        symbol = look_of[name].marker or ("o" if np.count_nonzero(np.isfinite(time)) == 1 else "")
        if symbol:
            yield Points(x=at[every], y=time[every], algorithm=name, symbol=symbol, size=3.5, edge=0, layer=3.2)


def _dimension_axis(at: FloatArray) -> Axis:
    """A log axis with a tick at every dimension."""
    texts = tuple(f"{d:g}" for d in at)
    low, high = float(at[0] / 1.25), float(at[-1] * 1.35)
    ticks = tuple(at.tolist())
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
    times: Mapping[str, FloatArray],
    some: Mapping[str, Mask],
    budgets: Mapping[str, FloatArray],
    look_of: Mapping[str, Look],
) -> Iterator[Mark]:
    """Lines with dots, hollow where only some runs were successful, and pale crosses where none was."""
    for index, (name, time) in enumerate(times.items()):
        known, symbol = np.where(np.isfinite(time), time, np.nan), look_of[name].marker
        yield Line(name=f"ert-{index}", x=at, y=known, algorithm=name, width=1.5, layer=3)
        whole, part = np.where(some[name], np.nan, known), np.where(some[name], known, np.nan)
        dots = Points(x=at, y=whole, algorithm=name, symbol=symbol, size=3.8 if symbol == "D" else 4.5, layer=3.1)
        yield replace(dots, name=f"all-{index}")
        yield replace(dots, name=f"some-{index}", y=part, fill=SURFACE, layer=3.2)
        cross = Points(x=at, y=budgets[name], algorithm=name, strength=0.55, symbol="x", edge=1.2, layer=2.5)
        yield replace(cross, name=f"spent-{index}")


def _successes(
    at: FloatArray, times: Mapping[str, FloatArray], counts: Mapping[str, FloatArray], some: Mapping[str, Mask]
) -> Iterator[PointLabel]:
    """How many runs were successful, beside hollow dots."""
    for name, count in counts.items():
        for d in np.flatnonzero(some[name] & np.isfinite(times[name])):
            x, y = float(at[d]), float(times[name][d])
            yield PointLabel(name="successes", x=x, y=y, text=f"{count[d]:.0f}", algorithm=name, ink=True)

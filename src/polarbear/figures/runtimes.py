"""Expected runtimes against the target and against the dimension."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator
from numpy.typing import ArrayLike

from polarbear.figures.scales import (
    CROWD,
    Scale,
    arrays_of,
    increasing,
    last_known,
    line_ends,
    named,
    note_missing,
    tall,
)
from polarbear.figures.style import (
    MICRO,
    RULE,
    WIDE,
    Look,
    Spacing,
    blank,
    figure_of,
    looks,
    pale,
    shortened,
    spread,
    styled,
)
from polarbear.records import FloatArray


@styled
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
    figure = blank(width, height or tall(width, len(times)))
    ax = figure.add_subplot()
    across = Scale.of([at], spacing)
    across.apply(ax, "x", target, reverse=True)
    Scale.of(times.values(), "log").apply(ax, "y", f"ERT ({cost})")
    ax.grid(axis="y", color=RULE, linewidth=0.5)
    ends: list[tuple[float, float, str, Look]] = []
    for index, (name, time) in enumerate(times.items()):
        sure = counts[name] == runs if name in counts else np.ones(at.shape, dtype=np.bool_)
        _broken_line(ax, across.place(at), time, sure, look_of[name], index)
        if (end := last_known(across.place(at), time)) is not None:
            label = shortened(name, 19)
            if name in counts:
                label += f"  {counts[name][np.isfinite(time)][-1]:.0f}/{runs}"
            ends.append((*end, label, look_of[name]))
    note_missing(ax, [name for name, time in times.items() if not np.isfinite(time).any()])
    line_ends(ax, ends)
    return figure


@styled
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
    figure = blank(width, height or tall(width, len(times)))
    ax = figure.add_subplot()
    Scale.of([*times.values(), *budgets.values()], "log").apply(ax, "y", f"ERT / dimension ({cost})")
    _dimension_axis(ax, at)
    ends: list[tuple[float, float, str, Look]] = []
    notes: list[tuple[int, float, str, Look]] = []
    for index, (name, time) in enumerate(times.items()):
        look, some = look_of[name], counts.get(name, np.full(at.shape, np.inf)) < (runs or 0)
        _dots(ax, at, time, some, look, index)
        _crosses(ax, at, budgets[name], look, index)
        if (end := last_known(at, np.where(np.isfinite(time), time, budgets[name]))) is not None:
            ends.append((*end, name, look))
        if name in counts:
            here = np.flatnonzero(some & np.isfinite(time))
            notes += [(int(d), float(time[d]), f"{counts[name][d]:.0f}", look) for d in here]
    if len(times) <= CROWD:
        _beside(ax, at, notes)
    note_missing(ax, [name for name in times if name not in {name for *_, name, _ in ends}])
    line_ends(ax, ends)
    _part_labels(ax)
    return figure


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


def _broken_line(ax: Axes, at: FloatArray, time: FloatArray, sure: ArrayLike, look: Look, index: int) -> None:
    """The whole line thin and broken, and what is sure solid on top of it."""
    known = np.where(np.isfinite(time), time, np.nan)
    ax.plot(at, known, color=look.color, linewidth=1.1, linestyle=(0, (3, 1.6)), zorder=3, gid=f"ert-{index}")
    ax.plot(at, np.where(sure, known, np.nan), color=look.color, linewidth=1.8, zorder=3.1, gid=f"sure-{index}")
    marker = look.marker or ("o" if np.count_nonzero(np.isfinite(known)) == 1 else "")
    if marker:
        ax.plot(at, known, marker, color=look.color, markersize=3.5, mew=0, markevery=max(1, at.size // 10), zorder=3.2)


def _dimension_axis(ax: Axes, at: FloatArray) -> None:
    """A log axis with a tick at every dimension, horizontal rules, and slanted ones of slope one."""
    ax.set_xscale("log")
    ax.set_xlim(at[0] / 1.25, at[-1] * 1.35)
    ax.xaxis.set_major_locator(FixedLocator(at.tolist()))
    ax.xaxis.set_major_formatter(FixedFormatter([f"{d:g}" for d in at]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xlabel("dimension")
    ax.grid(axis="y", color=RULE, linewidth=0.5)
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    for power in range(int(np.floor(np.log10(low / right))), int(np.ceil(np.log10(high / left))) + 1):
        slope = 10.0**power
        ends = np.array([left, right])
        if slope * right > low and slope * left < high:
            ax.plot(ends, slope * ends, color=RULE, linewidth=0.5, zorder=0.9, gid="quadratic")


def _dots(ax: Axes, at: FloatArray, time: FloatArray, some: ArrayLike, look: Look, index: int) -> None:
    known = np.where(np.isfinite(time), time, np.nan)
    size = 3.8 if look.marker == "D" else 4.5
    ax.plot(at, known, color=look.color, linewidth=1.5, zorder=3, gid=f"ert-{index}")
    for height, fill, zorder, gid in (
        (np.where(some, np.nan, known), look.color, 3.1, f"all-{index}"),
        (np.where(some, known, np.nan), "white", 3.2, f"some-{index}"),
    ):
        ax.plot(at, height, look.marker, color=look.color, markersize=size, mfc=fill, zorder=zorder, gid=gid)


def _crosses(ax: Axes, at: FloatArray, budgets: FloatArray, look: Look, index: int) -> None:
    ax.plot(at, budgets, "x", color=pale(look.color, 0.55), markersize=5, mew=1.2, zorder=2.5, gid=f"spent-{index}")


def _beside(ax: Axes, at: FloatArray, notes: Sequence[tuple[int, float, str, Look]]) -> None:
    """Small numbers at the lower right of points, off the rising line, moved apart where they would overlap."""
    figure = figure_of(ax)
    figure.draw_without_rendering()
    to_fraction = ax.transData + ax.transAxes.inverted()
    gap = 1.15 * MICRO / 72 / (ax.bbox.height / figure.dpi)
    for column in {column for column, *_ in notes}:
        here = [note for note in notes if note[0] == column]
        points = to_fraction.transform([(at[column], height) for _, height, *_ in here])
        for (x, _), y, (_, _, text, look) in zip(points, spread(points[:, 1], gap, gap, 1.0), here, strict=True):
            ax.annotate(
                text,
                (x, y),
                xycoords="axes fraction",
                xytext=(3.5, -5),
                textcoords="offset points",
                va="center_baseline",
                fontsize=MICRO,
                color=look.ink,
                path_effects=[withStroke(linewidth=2, foreground="white")],
                zorder=4,
                gid="successes",
            )


def _part_labels(ax: Axes) -> None:
    """Leave out labels of dimensions that would touch others; that of the last dimension stays."""
    figure_of(ax).draw_without_rendering()
    labels = ax.get_xticklabels()
    boxes = [label.get_window_extent() for label in labels]
    space = boxes[0].height / 3
    kept, free = {len(boxes) - 1}, -np.inf
    for index, box in enumerate(boxes[:-1]):
        if free < box.x0 and box.x1 + space < boxes[-1].x0:
            kept.add(index)
            free = box.x1 + space
    ax.xaxis.set_major_formatter(
        FixedFormatter([label.get_text() if index in kept else "" for index, label in enumerate(labels)])
    )

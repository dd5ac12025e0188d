"""Algorithms compared across functions, dimensions or other columns: lines, radar, ranks, final points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.line_chart import line_chart, name_lines
from polarbear.figures.marks import Line, Mark, Markers, PointLabel
from polarbear.figures.panels import Axis, Entry, Key, Panel
from polarbear.figures.scales import Scale, arrays_of
from polarbear.figures.style import MUTED, RULE, SMALL, WIDE, Spacing, looks_for, shown
from polarbear.records import FloatArray


def across_columns(
    values: Mapping[str, ArrayLike],
    columns: Sequence[str],
    *,
    label: str,
    column_label: str = "function",
    order: Sequence[str] | None = None,
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """One number per algorithm and column, such as function or dimension (IOHprofiler thesis, tables 3.1 and 3.2).

    Marks: a dot is an algorithm's number in a column, such as its expected runtime on a function; the lines merely join
    the dots of one algorithm. A dot is missing where the number is unknown or infinite.

    Args:
        values: For each algorithm, (c,) numbers; NaN or inf where there is none.
        columns: (c,) names, such as functions or dimensions.
        label: What the numbers mean.
        column_label: What the columns stand for.
        order: All algorithm names in the order in which colours are assigned; default that of `values`.
        spacing: "log" or "linear" axis of numbers; default "log" if no number is negative and they span at least a
            factor of ten.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If there is no algorithm, or an algorithm does not have one number per column.
    """
    lines = _finite(arrays_of(values, (len(columns),), label))
    scale, looks = Scale.of(lines.values(), spacing), looks_for(values, order, "algorithm")
    return line_chart(
        _column_axis(columns, column_label, width),
        scale.axis(label, grid=True),
        _dotted({name: scale.place(line) for name, line in lines.items()}),
        looks,
        lines=len(lines),
        width=width,
        height=height or _height(columns, len(lines), width),
        title=f"{label} by {column_label}",
        alt=f"Line chart of the {label} of {listed(values)} by {column_label}.",
        caption=captions.across_columns(len(lines), label, column_label),
    )


def rank_chart(
    ranks: Mapping[str, ArrayLike],
    columns: Sequence[str],
    *,
    column_label: str = "function",
    order: Sequence[str] | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The rank of every algorithm in every column (López-Ibáñez et al. 2024, figure 10).

    Marks: a dot is an algorithm's rank, with rank 1, the best, at the top. Lines join the ranks of one algorithm; where
    they cross, the order changes from one column to the next. Dots of algorithms with equal ranks coincide.

    Args:
        ranks: For each algorithm, (c,) ranks from 1; NaN where there is none.
        columns: (c,) names, such as functions or ways of ranking.
        column_label: What the columns stand for.
        order: All algorithm names in the order in which colours are assigned; default that of `ranks`.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If there is no algorithm, or an algorithm does not have one rank of at least 1 per column.
    """
    lines = arrays_of(ranks, (len(columns),), "ranks")
    if wrong := [name for name, line in lines.items() if (line < 1).any() or np.isinf(line).any()]:
        raise ValueError(
            f"ranks of {wrong[0]!r} are {lines[wrong[0]].tolist()}; they must be finite and count from 1, the best: "
            "see scipy.stats.rankdata"
        )
    worst = max([1.0, *(float(np.nanmax(line, initial=1)) for line in lines.values())])
    step = -(-worst // 12)
    ticks = tuple(float(rank) for rank in np.arange(1, worst + 1, step))
    looks = looks_for(ranks, order, "algorithm")
    return line_chart(
        _column_axis(columns, column_label, width),
        Axis(label="rank", low=worst + 0.4, high=0.6, ticks=ticks, texts=tuple(f"{tick:g}" for tick in ticks)),
        _dotted(lines),
        looks,
        lines=len(lines),
        width=width,
        height=height or _height(columns, len(lines), width),
        title=f"Ranks by {column_label}",
        alt=f"Line chart of the ranks of {listed(ranks)} by {column_label}.",
        caption=captions.rank_chart(len(lines), column_label),
    )


def radar(
    values: Mapping[str, ArrayLike],
    columns: Sequence[str],
    *,
    label: str,
    best: Literal["lowest", "highest"] = "lowest",
    column_label: str = "function",
    order: Sequence[str] | None = None,
    spacing: Spacing | None = None,
    width: float = 5.0,
    height: float | None = None,
) -> Figure:
    """One number per algorithm and column as a radar chart (IOHprofiler thesis, table 3.2).

    Marks: every column has a spoke; the better an algorithm's number, the further out its dot. The rings are labelled
    along the first spoke. A missing number, such as an infinite runtime, is drawn at the centre. The area within a line
    has no meaning, since it depends on the order of the columns.

    Args:
        values: For each algorithm, (c,) numbers; NaN or inf where there is none.
        columns: (c,) names of the spokes, clockwise from the top; at least 3.
        label: What the numbers mean.
        best: Whether the lowest or the highest numbers are good and therefore drawn far out.
        column_label: What the columns stand for.
        order: All algorithm names in the order in which colours are assigned; default that of `values`.
        spacing: "log" or "linear" spokes; default "log" if no number is negative and they span at least a factor of
            ten.
        width: Width in inches.
        height: Height in inches without the key; default 0.86 of the width.

    Raises:
        ValueError: If there are fewer than 3 columns, or an algorithm does not have one number per column.
    """
    if len(columns) < 3:
        raise ValueError(
            f"a radar chart needs at least 3 columns; there are {len(columns)}: use across_columns instead"
        )
    lines = _finite(arrays_of(values, (len(columns),), label))
    scale, looks = Scale.of(lines.values(), spacing), looks_for(values, order, "algorithm")
    angles = np.linspace(0, 2 * np.pi, len(columns), endpoint=False)
    tall = height or 0.86 * width
    rows = -(-len(lines) // (3 if width >= 5 else 2))
    reach = 1.22
    entries = tuple(
        Entry(text=shown(name, 20), algorithm=name, width=1.6, symbol=looks[name].marker or "o", size=3.5)
        for name in lines
    )
    marks = (*_web(scale, columns, angles, best, 2 * reach / tall), *_round(lines, scale, angles, best))
    return Figure(
        title=f"{label} by {column_label}",
        alt=f"Radar chart of the {label} of {listed(values)} by {column_label}.",
        caption=captions.radar(len(lines), label, column_label, best=best),
        width=width,
        height=tall + 0.18 * rows,
        panels=(
            Panel(
                x=Axis(low=-reach * width / tall, high=reach * width / tall, hidden=True),
                y=Axis(low=-reach, high=reach, hidden=True),
                marks=marks,
                equal=True,
            ),
        ),
        looks=looks,
        key=Key(entries=entries, columns=3 if width >= 5 else 2, size=SMALL),
    )


def final_positions(
    points: Mapping[str, ArrayLike],
    *,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    order: Sequence[str] | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The final points of the runs as parallel coordinates (IOHprofiler thesis, section 3.3, figure 4.6).

    Marks: a thin line is the final point of one run; its height at a coordinate is the value of that coordinate, scaled
    to the bounds of the search domain if they are given. Lines that bunch up at the edges or at the centre are signs of
    structural bias.

    Args:
        points: For each algorithm, (runs, d) final points.
        lower: Lower bounds of the domain, scalar or (d,); with `upper`, coordinates are scaled to [0, 1].
        upper: Upper bounds of the domain, scalar or (d,).
        order: All algorithm names in the order in which colours are assigned; default that of `points`.
        width: Width in inches.
        height: Height in inches; default chosen to fit the contents.

    Raises:
        ValueError: If there is no algorithm, dimensions of points differ, or only one bound is given.
    """
    every = {name: floats(each) for name, each in points.items()}
    looks = looks_for(points, order, "algorithm")
    dimensions = {each.shape[1:] for each in every.values()}
    if len(dimensions) != 1 or len(next(iter(dimensions))) != 1:
        raise ValueError(
            f"points have shapes {[each.shape for each in every.values()]}; give (runs, d), all with the same d"
        )
    if (lower is None) != (upper is None):
        raise ValueError("only one bound of the domain is given; give both lower and upper, or neither")
    scaled = lower is not None and upper is not None
    if lower is not None and upper is not None:
        low, span = floats(lower), floats(upper) - floats(lower)
        every = {name: (each - low) / span for name, each in every.items()}
    ((size,),) = dimensions
    at, scale = np.arange(1.0, size + 1), Scale.of(every.values(), "linear")
    y = Axis(label="position in the domain", low=0, high=1, most=5) if scaled else scale.axis("coordinate")
    strength = 0.85 if len(every) <= 3 else 0.6
    marks = (
        Line(name=f"run-{index}-{run}", x=at, y=point, algorithm=name, width=0.7, strength=strength, clip=False)
        for index, (name, each) in enumerate(every.items())
        for run, point in enumerate(each)
    )
    return line_chart(
        _column_axis([str(number) for number in range(1, size + 1)], "coordinate", width, first=1),
        y,
        marks,
        looks,
        lines=0,
        width=width,
        height=height,
        title="Positions of final points",
        alt=f"Parallel coordinates of the final points of {listed(points)}.",
        caption=captions.final_positions(len(every), scaled=scaled),
        key=Key(
            entries=tuple(Entry(text=shown(name, 18), algorithm=name, width=1.6) for name in every),
            columns=4 if width > 5 else 2,
            size=SMALL,
        ),
    )


def _finite(arrays: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    return {name: np.where(np.isfinite(array), array, np.nan) for name, array in arrays.items()}


def _column_axis(columns: Sequence[str], label: str, width: float, *, first: int = 0) -> Axis:
    """An axis with a name in place of each number; names are vertical where they do not fit side by side."""
    ticks = tuple(float(first + number) for number in range(len(columns)))
    size = _upright_size(columns, width)
    return Axis(
        label=label,
        low=first - 0.15,
        high=first + max(len(columns) - 1, 1) + 0.15,
        ticks=ticks,
        texts=tuple(shown(name) for name in columns),
        minor=(),
        upright=size,
    )


def _upright_size(columns: Sequence[str], width: float) -> float | None:
    """The font size of vertical names, in points; None if the names fit side by side."""
    room = (width - 2) / max(1, len(columns))
    longest = max((len(shown(name)) for name in columns), default=1)
    return float(np.clip(room * 72 * 0.9, 4, SMALL)) if (longest + 1) * 0.072 > room else None


def _height(columns: Sequence[str], lines: int, width: float) -> float:
    """Height in inches, with room below for vertical names of columns and at the right for names of lines."""
    size = _upright_size(columns, width)
    below = max(len(shown(name)) for name in columns) * 0.62 / 72 * size if size else 0.0
    return max(0.5 * min(width, WIDE), 2.2, 0.14 * lines + 0.8) + below


def _dotted(lines: Mapping[str, FloatArray]) -> Iterator[Mark]:
    for index, (name, line) in enumerate(lines.items()):
        at = np.arange(float(line.size))
        yield Line(name=f"line-{index}", x=at, y=line, algorithm=name, width=1.2, markers=Markers("o", size=4), layer=3)
    if lines:
        yield from name_lines(np.arange(float(len(next(iter(lines.values()))))), lines)


def _outwards(values: FloatArray, scale: Scale, best: Literal["lowest", "highest"]) -> FloatArray:
    """Radius of each number, from 0.12 to 1; 0 where there is no number."""
    low, high, at = (
        np.log(floats(x)) if scale.log else floats(x) for x in (scale.low, scale.high, scale.place(values))
    )
    share = (at - low) / (high - low)
    return np.where(np.isnan(share), 0.0, 0.12 + 0.88 * (1 - share if best == "lowest" else share))


def _web(
    scale: Scale, columns: Sequence[str], angles: FloatArray, best: Literal["lowest", "highest"], unit: float
) -> Iterator[Mark]:
    """Labelled rings and named spokes; `unit` is one inch in units of the axes."""
    axis = scale.axis("")
    ticks = axis.ticks or tuple(np.linspace(scale.low, scale.high, 4)[1:-1].tolist())
    texts = axis.texts or tuple(f"{tick:.3g}" for tick in ticks)
    around = np.linspace(0, 2 * np.pi, 181)
    kept = range(0, len(ticks), -(-len(ticks) // 4))
    for radius in (1.0, *(float(_outwards(floats(ticks[k]), scale, best)) for k in kept)):
        yield Line(x=radius * np.sin(around), y=radius * np.cos(around), color=RULE, width=0.6, layer=0.9)
    for k in kept:
        radius = float(_outwards(floats(ticks[k]), scale, best))
        yield PointLabel(x=0.0, y=radius, text=texts[k], color=MUTED)
    for angle, column in zip(angles, columns, strict=True):
        x, y = float(np.sin(angle)), float(np.cos(angle))
        yield Line(x=np.array([0, x]), y=np.array([0, y]), color=RULE, width=0.6, layer=0.9)
        name = shown(column, 14)
        left = (0.055 * len(name) * (1 - x) / 2 + 0.05) * unit  # labels are left-aligned at their point
        yield PointLabel(x=1.06 * x - left, y=1.07 * y + 0.07 * unit, text=name)


def _round(
    lines: Mapping[str, FloatArray], scale: Scale, angles: FloatArray, best: Literal["lowest", "highest"]
) -> Iterator[Mark]:
    closed = np.append(angles, angles[0])
    for index, (name, line) in enumerate(lines.items()):
        out = _outwards(np.append(line, line[0]), scale, best)
        drawn = Line(x=out * np.sin(closed), y=out * np.cos(closed), algorithm=name, width=1.5, layer=3)
        yield replace(drawn, name=f"line-{index}", markers=Markers("o", size=3.5))

"""A number for every algorithm on every function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.descriptions import listed
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Cells, Shades
from polarbear.figures.panels import Axis, Bar, Panel
from polarbear.figures.scales import Scale
from polarbear.figures.style import DIVERGING, SHADES, SMALL, WIDE, Spacing, brief, shown
from polarbear.records import FloatArray


def caption(
    label: str,
    *,
    best: Literal["lowest", "highest"] | None = None,
    center: float | None = None,
    reverse: bool = False,
    missing: bool = False,
    infinite: bool = False,
) -> str:
    """Caption of `heat_map`: what its numbers are, and which marks it has."""
    shade = (
        f"orange above {center:g}, blue below, the stronger, the further away"
        if center is not None
        else f"darker where the number is {'smaller' if reverse else 'larger'}"
    )
    return (
        f"{label}: {shade}."
        + (f" The {best} number of each column is bold." if best else "")
        + (" ∞ in a dark grey cell is infinite: never reached." if infinite else "")
        + (" Hatched cells have no data." if missing else "")
    )


def heat_map(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    label: str,
    numbers: str = "",
    texts: Sequence[Sequence[str]] | None = None,
    form: Callable[[float], str] | None = None,
    reverse: bool = False,
    best: Literal["lowest", "highest"] | None = None,
    center: float | None = None,
    spacing: Spacing = "linear",
    limits: tuple[float, float] | None = None,
    row_label: str = "",
    column_label: str = "",
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """A matrix of numbers as shades, with the numbers in it.

    Marks: the darker a cell, the larger its number, or the smaller, if reversed; with a `center`, numbers below it are
    blue, above it orange. A dark grey cell with ∞ is infinite, such as the expected runtime where no run was
    successful. A hatched cell has no data. The best number of every column is bold, if it is said which ones are
    good. Numbers are left out where cells are too small to read them.

    Args:
        values: (r, c); NaN where missing, inf where infinite.
        rows: (r,) names, such as algorithms.
        columns: (c,) names, such as functions.
        label: What the numbers are, beside the bar of shades.
        numbers: What the numbers are, for the caption; default `label`.
        texts: (r, c) what to write in the cells in place of the numbers, such as stars of significance.
        form: How to write a number; default two significant digits in at most four characters.
        reverse: Whether small numbers are dark, such as p-values; without effect around a centre.
        best: Whether the "lowest" or the "highest" number of a column is good; default neither.
        center: Number where the colours turn, such as 0 for a difference or 1 for a ratio.
        spacing: "log" or "linear" shades.
        limits: Numbers with the first and the last shade; default the extremes of the table. Without effect around a
            centre.
        row_label: What the rows are.
        column_label: What the columns are.
        width: Inches.
        height: Inches; default in proportion to the number of rows.

    Raises:
        ValueError: If the table is empty, or names or texts do not fit its shape, or a negative number should have a
            log shade.
    """
    table, write = _table(values, rows, columns, texts), form or brief
    given: Sequence[Sequence[str]] = texts or [[write(float(value)) for value in row] for row in table]
    shades = _shades(table, spacing, center, limits, reverse=reverse)
    room = _room(rows, columns, width)
    x = _names(columns, column_label, upright=room.size if room.turned else None)
    cells, bar = _cells(table, given, shades, _best(table, best)), _bar(shades, label, wide=width > 5)
    return Figure(
        title=label,
        alt=f"Matrix of {listed(rows)} and {len(columns)} columns: {label}.",
        caption=caption(
            numbers or label,
            best=best,
            center=center,
            reverse=reverse,
            missing=bool(np.isnan(table).any()),
            infinite=bool(np.isinf(table).any()),
        ),
        width=width,
        height=height or 0.24 * len(rows) + 0.9 + room.below,
        panels=(Panel(x=x, y=_names(rows, row_label, turned=True), marks=(cells,), bar=bar),),
    )


def _table(
    values: ArrayLike, rows: Sequence[str], columns: Sequence[str], texts: Sequence[Sequence[str]] | None
) -> FloatArray:
    table = np.asarray(values, dtype=np.float64)
    if table.shape != (len(rows), len(columns)) or not table.size:
        raise ValueError(f"the table has shape {table.shape}; there are {len(rows)} rows and {len(columns)} columns")
    if texts is not None and [len(row) for row in texts] != [len(columns)] * len(rows):
        raise ValueError(f"texts have rows of lengths {[len(row) for row in texts]}; the table has shape {table.shape}")
    return table


def _shades(
    table: FloatArray, spacing: Spacing, center: float | None, limits: tuple[float, float] | None, *, reverse: bool
) -> Shades:
    finite = table[np.isfinite(table)]
    if center is not None:
        return Shades(DIVERGING, *_around(finite, spacing, center), log=spacing == "log")
    stops = SHADES[::-1] if reverse else SHADES
    if limits:
        return Shades(stops, *limits, log=spacing == "log")
    scale = Scale.of([finite], spacing)
    shaded = finite[finite > 0] if scale.log else finite
    if shaded.size and shaded.max() > shaded.min():
        return Shades(stops, float(shaded.min()), float(shaded.max()), log=scale.log)
    return Shades(stops, scale.low, scale.high, log=scale.log)


def _around(finite: FloatArray, spacing: Spacing, center: float) -> tuple[float, float]:
    """Equally far to both sides of the centre."""
    if spacing == "linear":
        reach = float(np.abs(finite - center).max(initial=0.0)) or 1.0
        return center - reach, center + reach
    lowest = min([center, *finite])
    if lowest <= 0:
        raise ValueError(f"{lowest:g} has no log shade; give linear spacing, or leave the number out as NaN")
    reach = float(np.exp(np.abs(np.log(finite / center)).max(initial=0.1)))
    return center / reach, center * reach


def _cells(table: FloatArray, texts: Sequence[Sequence[str]], shades: Shades, bold: NDArray[np.bool_]) -> Cells:
    rows, columns = (index.ravel() for index in np.indices(table.shape))
    places = list(zip(rows.tolist(), columns.tolist(), strict=True))
    return Cells(
        name="cell",
        names=tuple(f"cell-{row}-{column}" for row, column in places),
        x=columns - np.float64(0.5),
        x_end=columns + np.float64(0.5),
        y=rows.astype(np.float64),
        value=table.ravel(),
        text=tuple(shown(texts[row][column]) for row, column in places),
        bold=tuple(bold.ravel().tolist()),
        shades=shades,
        gaps=True,
    )


def _best(table: FloatArray, best: Literal["lowest", "highest"] | None) -> NDArray[np.bool_]:
    """Which finite numbers are the best of their columns."""
    if best is None:
        return np.zeros(table.shape, dtype=np.bool_)
    signed = np.where(np.isfinite(table), table if best == "lowest" else -table, np.inf)
    return np.isfinite(signed) & (signed == signed.min(axis=0))


def _names(names: Sequence[str], label: str, *, upright: float | None = None, turned: bool = False) -> Axis:
    """An axis with a name in the place of each number; the first one on top if it is turned."""
    ends = (len(names) - 0.5, -0.5) if turned else (-0.5, len(names) - 0.5)
    ticks, texts = tuple(float(place) for place in range(len(names))), tuple(shown(name) for name in names)
    return Axis(label=label, low=ends[0], high=ends[1], ticks=ticks, texts=texts, line=False, upright=upright)


class _Room(NamedTuple):
    """Whether the names of columns are turned upright, their size in points, and the inches they need below."""

    turned: bool
    size: float
    below: float


def _room(rows: Sequence[str], columns: Sequence[str], width: float) -> _Room:
    em = 0.62 * SMALL / 72
    cell = (width - em * max(len(shown(name)) for name in rows) - 0.4) / len(columns)
    longest = max(len(shown(name)) for name in columns)
    turned = longest * em > cell
    size = float(np.clip(cell * 72 * 0.9, 4, SMALL)) if turned else SMALL
    return _Room(turned, size, longest * 0.62 * size / 72 if turned else 0.0)


def _bar(shades: Shades, label: str, *, wide: bool) -> Bar:
    """The shades above the right end of the table."""
    if not shades.log:
        return Bar(label=label, shades=shades, above=True, most=5 if wide else 2)
    ticks, _, texts = Scale(shades.low, shades.high, log=True).ticks(8 if wide else 3)
    return Bar(label=label, shades=shades, above=True, ticks=(*ticks,), texts=(*texts,))

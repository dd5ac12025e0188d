"""A matrix of numbers, such as one per algorithm and function, as shaded cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Cells, Shades
from polarbear.figures.panels import Axis, Bar, Panel
from polarbear.figures.scales import Scale
from polarbear.figures.style import DIVERGING, SHADES, SMALL, WIDE, Spacing, brief, shown
from polarbear.quantities import plural
from polarbear.records import FloatArray

_CHARACTER = 0.62 / 72
"""Width of a character in inches per point of font size."""


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
    """A matrix of numbers as shaded cells with the numbers in them.

    Marks: the darker a cell, the larger its number, or the smaller if `reverse`. With a `center`, numbers below it are
    blue and numbers above it orange. A dark grey cell with ∞ is an infinite number, such as the expected runtime where
    no run was successful; a hatched cell has no data. The best number of every column is bold if `best` says whether
    low or high is good. Numbers are left out of cells too small for them.

    Args:
        values: (r, c) numbers; NaN where missing, inf where infinite.
        rows: (r,) names, such as algorithms.
        columns: (c,) names, such as functions.
        label: What the numbers mean, beside the colour bar.
        numbers: What the numbers mean, for the caption; default `label`.
        texts: (r, c) texts to write in the cells instead of the numbers, such as stars of significance.
        form: Function that formats a number; default two significant digits in at most four characters.
        reverse: Whether small numbers are dark, as for p-values; ignored if there is a centre.
        best: Whether the "lowest" or the "highest" number of a column is the best; default neither.
        center: Number at which the colours change, such as 0 for a difference or 1 for a ratio.
        spacing: "log" or "linear" scale of the shades.
        limits: Numbers with the first and the last shade; default the extremes. Ignored if there is a centre.
        row_label: What the rows stand for.
        column_label: What the columns stand for.
        width: Width in inches.
        height: Height in inches; default proportional to the number of rows.

    Raises:
        ValueError: If the table is empty, the shapes of names or texts do not match it, or it has a negative number on
            a log scale.
    """
    table = _table(values, rows, columns, texts)
    shades, size = _shades(table, spacing, center, limits, reverse=reverse), _upright_size(rows, columns, width)
    x, y = _name_axis(columns, column_label, upright=size), _name_axis(rows, row_label, downwards=True)
    cells = _cells(table, texts, form or brief, shades, _best(table, best))
    return Figure(
        title=label,
        alt=f"Matrix of {listed(rows)} by {plural(columns, 'column')}: {label}.",
        caption=_caption(table, numbers or label, best, center, reverse=reverse),
        width=width,
        height=height or _height(rows, columns, size),
        panels=(Panel(x=x, y=y, marks=(cells,), bar=_bar(shades, label, wide=width > 5)),),
    )


def _caption(
    table: FloatArray, label: str, best: Literal["lowest", "highest"] | None, center: float | None, *, reverse: bool
) -> str:
    missing, infinite = bool(np.isnan(table).any()), bool(np.isinf(table).any())
    return captions.heat_map(label, best=best, center=center, reverse=reverse, missing=missing, infinite=infinite)


def _height(rows: Sequence[str], columns: Sequence[str], size: float | None) -> float:
    """Height in inches, with room below for vertical names of columns at a font size of `size` points."""
    below = max(len(shown(name)) for name in columns) * _CHARACTER * size if size else 0.0
    return 0.24 * len(rows) + 0.9 + below


def _table(
    values: ArrayLike, rows: Sequence[str], columns: Sequence[str], texts: Sequence[Sequence[str]] | None
) -> FloatArray:
    table = floats(values)
    if table.shape != (len(rows), len(columns)) or not table.size:
        raise ValueError(
            f"values have shape {table.shape}; expected {(len(rows), len(columns))}, with at least one row and column"
        )
    if texts is not None and [len(row) for row in texts] != [len(columns)] * len(rows):
        raise ValueError(f"texts have rows of lengths {[len(row) for row in texts]}; values have shape {table.shape}")
    return table


def _shades(
    table: FloatArray, spacing: Spacing, center: float | None, limits: tuple[float, float] | None, *, reverse: bool
) -> Shades:
    finite = table[np.isfinite(table)]
    log = spacing == "log"
    if center is not None:
        return Shades(DIVERGING, *_around(finite, center, log=log), log=log)
    if limits is None:
        scale = Scale.of([finite], spacing)
        shaded = finite[finite > 0] if log else finite
        varied = shaded.size and shaded.max() > shaded.min()
        limits = (float(shaded.min()), float(shaded.max())) if varied else (scale.low, scale.high)
    return Shades(SHADES[::-1] if reverse else SHADES, *limits, log=log)


def _around(finite: FloatArray, center: float, *, log: bool) -> tuple[float, float]:
    """Limits at the same distance to either side of the centre."""
    if not log:
        reach = float(np.abs(finite - center).max(initial=0.0)) or 1.0
        return center - reach, center + reach
    lowest = min([center, *finite])
    if lowest <= 0:
        raise ValueError(f"{lowest:g} has no shade on a log scale; use linear spacing, or NaN instead of this number")
    reach = float(np.exp(np.abs(np.log(finite / center)).max(initial=0.1)))
    return center / reach, center * reach


def _cells(
    table: FloatArray,
    texts: Sequence[Sequence[str]] | None,
    form: Callable[[float], str],
    shades: Shades,
    bold: NDArray[np.bool_],
) -> Cells:
    """The cells, row by row, containing `texts` or else the formatted numbers."""
    numbers = (form(number) for number in table.ravel().tolist())
    written = numbers if texts is None else (text for row in texts for text in row)
    return replace(cells_of(table, shades), text=tuple(map(shown, written)), bold=tuple(bold.ravel().tolist()))


def cells_of(table: FloatArray, shades: Shades) -> Cells:
    """One cell per number, row by row, without text."""
    rows, columns = (index.ravel() for index in np.indices(table.shape))
    return Cells(
        name="cell",
        names=tuple(f"cell-{row}-{column}" for row, column in np.ndindex(table.shape)),
        x=columns - np.float64(0.5),
        x_end=columns + np.float64(0.5),
        y=rows.astype(np.float64),
        value=table.ravel(),
        text=("",) * table.size,
        shades=shades,
        gaps=True,
    )


def _best(table: FloatArray, best: Literal["lowest", "highest"] | None) -> NDArray[np.bool_]:
    """Mask (r, c) of the finite numbers that are the best of their columns."""
    if best is None:
        return np.zeros(table.shape, dtype=np.bool_)
    signed = np.where(np.isfinite(table), table if best == "lowest" else -table, np.inf)
    return np.isfinite(signed) & (signed == signed.min(axis=0))


def _name_axis(names: Sequence[str], label: str, *, upright: float | None = None, downwards: bool = False) -> Axis:
    """An axis with a name in place of each number."""
    low, high = -0.5, len(names) - 0.5
    ticks, texts = tuple(map(float, range(len(names)))), tuple(shown(name) for name in names)
    low, high = (high, low) if downwards else (low, high)
    return Axis(label=label, low=low, high=high, ticks=ticks, texts=texts, line=False, upright=upright)


def _upright_size(rows: Sequence[str], columns: Sequence[str], width: float) -> float | None:
    """The font size of vertical column names, in points; None if the names fit side by side."""
    longest_row, longest = (max(len(shown(name)) for name in names) for names in (rows, columns))
    cell = (width - _CHARACTER * SMALL * longest_row - 0.4) / len(columns)
    return float(np.clip(cell * 72 * 0.9, 4, SMALL)) if longest * _CHARACTER * SMALL > cell else None


def _bar(shades: Shades, label: str, *, wide: bool) -> Bar:
    """The colour bar above the right end of the table."""
    if not shades.log:
        return Bar(label=label, shades=shades, above=True, most=5 if wide else 2)
    ticks, _, texts = Scale(shades.low, shades.high, log=True).ticks(8 if wide else 3)
    return Bar(label=label, shades=shades, above=True, ticks=ticks, texts=texts)

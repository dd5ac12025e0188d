"""A number for every algorithm on every function."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, LogNorm, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import ArrayLike, NDArray

from polarbear.figures.scales import Scale
from polarbear.figures.style import (
    COUNTS,
    SHADES,
    SMALL,
    WIDE,
    Spacing,
    blank,
    figure_of,
    literal,
    styled,
)
from polarbear.records import FloatArray

DIVERGING = LinearSegmentedColormap.from_list("diverging", ["#004C8C", "#7FB2DA", "#F7F7F7", "#F0A97F", "#9C3D00"])
"""Blue below the centre, orange above."""
_BEYOND = "#3A3D42"


@styled
def heat_map(
    values: ArrayLike,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    label: str,
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
    table = _table(values, rows, columns, texts)
    write = form or brief
    shown: Sequence[Sequence[str]] = texts or [[write(float(value)) for value in row] for row in table]
    ax = _frame(rows, columns, width, height)
    ax.set_ylabel(row_label)
    ax.set_xlabel(column_label)
    shades = _shades(table, spacing, center, limits, reverse=reverse)
    _shade_bar(ax, shades, label)
    _cells(ax, table, shades)
    _numbers(ax, table, shown, shades, _best(table, best))
    return figure_of(ax)


def brief(value: float) -> str:
    """A number with one to three significant digits in about four characters, such as 0.83, 1.2, 120, 3e4, ∞."""
    size = abs(value)
    if np.isinf(value):
        text = "∞"
    elif value == 0:
        text = "0"
    elif size < 0.00995 or size >= 999.5:
        mantissa, exponent = f"{size:.0e}".split("e")
        text = f"{mantissa}e{int(exponent)}".replace("-", "−")
    elif size < 0.995:
        text = f"{size:.2f}"
    else:
        text = f"{size:.1f}" if size < 9.95 else f"{size:.0f}"
    return f"−{text}" if value < 0 else text


def _brief_tick(value: float, _position: int | None = None) -> str:
    return brief(value)


def _table(
    values: ArrayLike, rows: Sequence[str], columns: Sequence[str], texts: Sequence[Sequence[str]] | None
) -> FloatArray:
    table = np.asarray(values, dtype=np.float64)
    if table.shape != (len(rows), len(columns)) or not table.size:
        raise ValueError(f"the table has shape {table.shape}; there are {len(rows)} rows and {len(columns)} columns")
    if texts is not None and [len(row) for row in texts] != [len(columns)] * len(rows):
        raise ValueError(f"texts have rows of lengths {[len(row) for row in texts]}; the table has shape {table.shape}")
    return table


class _Shades(NamedTuple):
    """How numbers become colours."""

    norm: Normalize
    colors: Colormap

    def of(self, value: float) -> Any:
        return _BEYOND if np.isinf(value) else self.colors(float(self.norm(value)))


def _shades(
    table: FloatArray, spacing: Spacing, center: float | None, limits: tuple[float, float] | None, *, reverse: bool
) -> _Shades:
    finite = table[np.isfinite(table)]
    if center is not None:
        return _Shades(_around(finite, spacing, center), DIVERGING)
    return _Shades(_from_end_to_end(finite, spacing, limits), SHADES.reversed() if reverse else SHADES)


def _from_end_to_end(finite: FloatArray, spacing: Spacing, limits: tuple[float, float] | None) -> Normalize:
    if limits:
        return (LogNorm if spacing == "log" else Normalize)(*limits, clip=True)
    scale = Scale.of([finite], spacing)
    positive = finite[finite > 0]
    if scale.log and positive.size and positive.max() > positive.min():
        return LogNorm(float(positive.min()), float(positive.max()), clip=True)
    if scale.log or not finite.size or finite.max() == finite.min():
        return (LogNorm if scale.log else Normalize)(scale.low, scale.high, clip=True)
    return Normalize(float(finite.min()), float(finite.max()))


def _around(finite: FloatArray, spacing: Spacing, center: float) -> Normalize:
    """Equally far to both sides of the centre."""
    if spacing == "linear":
        reach = float(np.abs(finite - center).max(initial=0.0)) or 1.0
        return Normalize(center - reach, center + reach)
    lowest = min([center, *finite])
    if lowest <= 0:
        raise ValueError(f"{lowest:g} has no log shade; give linear spacing, or leave the number out as NaN")
    reach = float(np.exp(np.abs(np.log(finite / center)).max(initial=0.1)))
    return LogNorm(center / reach, center * reach)


def _dark(color: Any) -> bool:
    return float(np.dot(to_rgb(color), [0.299, 0.587, 0.114])) < 0.58


def _cells(ax: Axes, table: FloatArray, shades: _Shades) -> None:
    for (row, column), value in np.ndenumerate(table):
        missing = bool(np.isnan(value))
        ax.add_patch(
            Rectangle(
                (column - 0.5, row - 0.5),
                1,
                1,
                facecolor="white" if missing else shades.of(value),
                edgecolor="#B8BCC2" if missing else "white",
                hatch="/////" if missing else None,
                linewidth=0 if missing else 0.6,
                zorder=1 if missing else 2,
                gid=f"cell-{row}-{column}",
            )
        )


def _numbers(
    ax: Axes, table: FloatArray, texts: Sequence[Sequence[str]], shades: _Shades, bold: NDArray[np.bool_]
) -> None:
    """What is written in the cells; nothing where cells are too small to read it."""
    figure_of(ax).draw_without_rendering()  # only then does a cell have its size
    size = _type_size(ax, table, texts)
    if not size:
        return
    for row, column in np.argwhere(~np.isnan(table)).tolist():
        ax.text(
            column,
            row,
            literal(texts[row][column]),
            ha="center",
            va="center_baseline",
            fontsize=size,
            fontweight="bold" if bold[row, column] else "normal",
            color="white" if _dark(shades.of(table[row, column])) else "#12304A",
            zorder=3,
            gid=f"number-{row}-{column}",
        )


def _best(table: FloatArray, best: Literal["lowest", "highest"] | None) -> NDArray[np.bool_]:
    """Which finite numbers are the best of their columns."""
    if best is None:
        return np.zeros(table.shape, dtype=np.bool_)
    signed = np.where(np.isfinite(table), table if best == "lowest" else -table, np.inf)
    return np.isfinite(signed) & (signed == signed.min(axis=0))


def _frame(rows: Sequence[str], columns: Sequence[str], width: float, height: float | None) -> Axes:
    """Axes with a place for each cell, in a figure with room for the names of rows and columns."""
    room = _room(rows, columns, width)
    ax = blank(width, height or 0.24 * len(rows) + 0.9 + room.below).add_subplot()
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_yticks(range(len(rows)), [literal(name) for name in rows])
    ax.set_xticks(range(len(columns)), [literal(name) for name in columns])
    ax.tick_params(length=0)
    if room.turned:
        ax.tick_params(axis="x", labelrotation=90, labelsize=room.size)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


class _Room(NamedTuple):
    """Whether the names of columns are turned upright, their size in points, and the inches they need below."""

    turned: bool
    size: float
    below: float


def _room(rows: Sequence[str], columns: Sequence[str], width: float) -> _Room:
    em = 0.62 * SMALL / 72
    cell = (width - em * max(len(literal(name)) for name in rows) - 0.4) / len(columns)
    longest = max(len(literal(name)) for name in columns)
    turned = longest * em > cell
    size = float(np.clip(cell * 72 * 0.9, 4, SMALL)) if turned else SMALL
    return _Room(turned, size, longest * 0.62 * size / 72 if turned else 0.0)


def _cell_points(ax: Axes) -> tuple[float, float]:
    """Width and height of a cell in points."""
    scale = 72 / figure_of(ax).dpi
    columns, rows = abs(ax.get_xlim()[1] - ax.get_xlim()[0]), abs(ax.get_ylim()[1] - ax.get_ylim()[0])
    return ax.bbox.width / columns * scale, ax.bbox.height / rows * scale


def _type_size(ax: Axes, table: FloatArray, texts: Sequence[Sequence[str]]) -> float:
    """The largest size at which every text fits into its cell; 0 if that is too small to be read."""
    longest = max([1, *(len(texts[r][c]) for r, c in np.argwhere(~np.isnan(table)))])
    across, down = _cell_points(ax)
    size = min(SMALL, across / (0.8 * longest), 0.8 * down)
    return size if size >= 4 else 0.0


def _shade_bar(ax: Axes, shades: _Shades, label: str) -> None:
    """A level bar above the right end of the table, with its label at the left."""
    wide = figure_of(ax).get_figwidth() > 5
    bar = figure_of(ax).colorbar(
        ScalarMappable(shades.norm, shades.colors),
        ax=ax,
        location="top",
        shrink=0.4 if wide else 0.6,
        anchor=(1.0, 0.0),
        aspect=30,
        pad=0.03,
    )
    bar.ax.set_ylabel(label, rotation=0, ha="right", va="center")
    bar.outline.set_visible(False)  # pyright: ignore
    if isinstance(shades.norm, LogNorm):
        low, high = float(shades.norm.vmin or 1), float(shades.norm.vmax or 1)
        major, _, labels = Scale(low, high, log=True).ticks(8 if wide else 3)
        bar.set_ticks(major, labels=labels)
    else:
        bar.locator = MaxNLocator(5 if wide else 2)
        bar.formatter = COUNTS if wide else FuncFormatter(_brief_tick)
        bar.update_ticks()
    bar.ax.minorticks_off()

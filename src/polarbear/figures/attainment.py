"""Empirical attainment functions: of one algorithm, differences of two, and shares attained over the budget."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray

from polarbear.figures.scales import (
    Scale,
    arrays_of,
    increasing,
    last_known,
    line_ends,
    mark_every,
    named,
    note_missing,
    share_axis,
    tall,
)
from polarbear.figures.style import (
    INK,
    SHADES,
    SMALL,
    WIDE,
    Look,
    Spacing,
    blank,
    figure_of,
    literal,
    looks,
    pale,
    shortened,
    styled,
    time_axis,
)
from polarbear.records import FloatArray

_TINY = 1e-9
"""Borders lie just below round shares, so that a share of exactly 0.5 counts as at least 0.5."""
_Corners = tuple[FloatArray, FloatArray, FloatArray]
_SHARES = np.linspace(0.0, 1.0, 21)


@styled
def attainment(
    budgets: ArrayLike,
    values: ArrayLike,
    share: ArrayLike,
    *,
    lines: Sequence[float] = (0.25, 0.5, 0.75),
    value: str = "best value so far",
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    value_spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The empirical attainment function of one algorithm (López-Ibáñez et al. 2024, figures 1, 3 and 4).

    Marks: the shade at a point is the share of the runs that found a value as good as that within that budget; what
    no run attained is white. Lines are the borders of what a quarter, half and three quarters of the runs attained,
    and stand in the bar of shades as well. The function is drawn as it is known: constant from each grid point to
    the next budget and the next larger value. Where it is unknown, the ground is hatched.

    Args:
        budgets: (T,) increasing.
        values: (V,) increasing.
        share: (T, V) share of the runs at each grid point; NaN where unknown.
        lines: Shares whose borders are drawn.
        value: Label of the vertical axis.
        axis: What budgets are counted in.
        spacing: "log" or "linear" budget axis; default as the budgets are spaced.
        value_spacing: "log" or "linear" axis of values; default "log" if none is negative and they span a factor
            of ten.
        width: Inches.
        height: Inches; default in proportion.

    Raises:
        ValueError: If budgets or values do not increase, or shares have another shape or do not lie in 0 to 1.
    """
    grid = _Grid.of(budgets, values, share, lowest=0.0)
    figure, ax, corners = _axes(grid, value, axis, spacing, value_spacing, width, height)
    colors = SHADES(np.linspace(0, 1, _SHARES.size - 1))
    _fill(ax, corners, np.concatenate([[_TINY], _SHARES[1:-1] - _TINY, [1.1]]), colors, "attainment")
    _outline(ax, corners, sorted(set(lines)))
    bar = _bar(ax, _SHARES, colors, "share of runs")
    bar.set_ticks([0, 0.25, 0.5, 0.75, 1])
    for line in lines:
        bar.ax.axhline(line, color=_ink(line), linewidth=_weight(line))
    return figure


@styled
def attainment_difference(
    budgets: ArrayLike,
    values: ArrayLike,
    difference: ArrayLike,
    names: tuple[str, str],
    *,
    order: Sequence[str] | None = None,
    value: str = "best value so far",
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    value_spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Where one algorithm attains more than another (López-Ibáñez et al. 2024, figures 5 and 6).

    Marks: the colour at a point is that of the algorithm of whose runs a larger share found a value as good as that
    within that budget; it is the darker, the larger the difference of the shares. White: no difference. The
    difference is drawn as it is known, constant from each grid point to the next. Where it is unknown, the ground is
    hatched.

    Args:
        budgets: (T,) increasing.
        values: (V,) increasing.
        difference: (T, V) share of the first algorithm's runs minus that of the second, at each grid point; NaN
            where unknown.
        names: Of the two algorithms; the second may be a portfolio.
        order: All names in the order in which colours are dealt; default `names`.
        value: Label of the vertical axis.
        axis: What budgets are counted in.
        spacing: "log" or "linear" budget axis; default as the budgets are spaced.
        value_spacing: As in `attainment`.
        width: Inches.
        height: Inches; default in proportion.

    Raises:
        ValueError: If budgets or values do not increase, or differences have another shape or do not lie in -1 to 1.
    """
    grid = _Grid.of(budgets, values, difference, lowest=-1.0)
    first, second = (looks(named(names, order, "algorithm"))[name] for name in names)
    figure, ax, corners = _axes(grid, value, axis, spacing, value_spacing, width, height)
    steps = np.concatenate([-_SHARES[:0:-2], [-_TINY, _TINY], _SHARES[2::2]])
    ours, theirs = ([pale(look.ink, strength) for strength in np.linspace(0.2, 1.0, 10)] for look in (first, second))
    colors = [*reversed(theirs), "#FFFFFF", *ours]
    edges = steps + np.where(steps > 0, _TINY, -_TINY)
    _fill(ax, corners, edges, colors, "difference")
    bar = _bar(ax, steps, colors, "difference of shares")
    bar.set_ticks([-1, -0.5, 0, 0.5, 1], labels=["1", "0.5", "0", "0.5", "1"])
    figure.legend(
        [Patch(color=look.ink) for look in (first, second)],
        [f"{literal(name)} attains more" for name in names],
        loc="outside upper left",
        ncols=2 if width > 5 else 1,
        handlelength=1.2,
        columnspacing=1.4,
        borderaxespad=0.2,
    )
    return figure


@styled
def attainment_ecdf(
    budgets: ArrayLike,
    share: Mapping[str, ArrayLike],
    *,
    area: Mapping[str, float] | None = None,
    bands: Mapping[str, ArrayLike] | None = None,
    order: Sequence[str] | None = None,
    axis: str = "evaluations",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The ECDF based on the empirical attainment function (López-Ibáñez et al. 2024, equation 4 and figure 7).

    Marks: a line is the mean share, over the whole range of values, that the runs of an algorithm attained within the
    budget, as a step function; the band around it is a confidence interval, if given. Beside the names stand the
    areas over the convergence curves, if given: 1 is a run that has the best value from the first evaluation on.

    Args:
        budgets: (T,) increasing.
        share: By algorithm, (T,) from 0 to 1; NaN where unknown.
        area: By algorithm, the area over the convergence curve (AOCC).
        bands: By algorithm, (2, T) lower and upper ends of a confidence band.
        order: All names in the order in which colours are dealt; default that of `share`.
        axis: What budgets are counted in.
        spacing: "log" or "linear" budget axis; default as the budgets are spaced.
        width: Inches.
        height: Inches; default in proportion to the number of algorithms.

    Raises:
        ValueError: If budgets do not increase, or an array has another shape or does not lie in 0 to 1.
    """
    at, look_of = increasing(budgets, "budgets"), looks(named(share, order, "share"))
    curves = arrays_of(share, at.shape, "share")
    for name, curve in curves.items():
        if ((curve < 0) | (curve > 1)).any():
            raise ValueError(f"shares of {name!r} have to lie in 0 to 1; got {np.nanmin(curve)} to {np.nanmax(curve)}")
    intervals = arrays_of(bands or {}, (2, at.size), "band")
    figure = blank(width, height or tall(width, len(curves)))
    ax = figure.add_subplot()
    time_axis(ax, at, axis, spacing, narrow=width < 5)
    share_axis(ax, "mean share attained")
    ends: list[tuple[float, float, str, Look]] = []
    for index, (name, curve) in enumerate(curves.items()):
        look = look_of[name]
        _step_line(ax, at, curve, intervals.get(name), look, index)
        if (end := last_known(at, curve)) is not None:
            label = f"{shortened(name, 19)}  {area[name]:.2f}" if area and name in area else name
            ends.append((*end, label, look))
    note_missing(ax, [name for name, curve in curves.items() if not np.isfinite(curve).any()])
    line_ends(ax, ends)
    if area:
        ax.annotate(
            "AOCC", (1, 1), xycoords="axes fraction", xytext=(16, 9), textcoords="offset points", fontsize=SMALL
        )
    return figure


def _step_line(ax: Axes, at: FloatArray, curve: FloatArray, band: FloatArray | None, look: Look, index: int) -> None:
    """A step function, with the confidence band around it if there is one."""
    if band is not None:
        ax.fill_between(at, *band, step="post", color=look.color, alpha=0.2, linewidth=0, gid=f"band-{index}")
    marks: dict[str, Any] = {"marker": look.marker or "o", "markersize": 4} if at.size == 1 else mark_every(look, index)
    ax.plot(at, curve, drawstyle="steps-post", color=look.color, linewidth=1.6, gid=f"share-{index}", **marks)


@dataclass(frozen=True, slots=True, eq=False)
class _Grid:
    """A function that is constant from each grid point to the next: budgets (T,), values (V,), table (T, V)."""

    budgets: FloatArray
    values: FloatArray
    table: FloatArray

    @classmethod
    def of(cls, budgets: ArrayLike, values: ArrayLike, table: ArrayLike, *, lowest: float) -> _Grid:
        """Check shapes and range."""
        at, heights = increasing(budgets, "budgets"), increasing(values, "values")
        cells = np.asarray(table, dtype=np.float64)
        if cells.shape != (at.size, heights.size):
            raise ValueError(
                f"the function has shape {cells.shape}; expected {(at.size, heights.size)}: budgets, values"
            )
        if ((cells < lowest) | (cells > 1)).any():
            raise ValueError(
                f"the function has to lie in {lowest:g} to 1; got {np.nanmin(cells)} to {np.nanmax(cells)}"
            )
        return cls(at, heights, cells)

    def corners(self, ax: Axes, scale: Scale) -> _Corners:
        """Both ends of every cell along each axis, and the table there: its contours have right angles."""
        right, top = ax.get_xlim()[1], ax.get_ylim()[1]
        x = np.repeat(np.append(self.budgets, right), 2)[1:-1]
        y = np.repeat(np.append(scale.place(self.values), top), 2)[1:-1]
        return x, y, np.repeat(np.repeat(self.table, 2, axis=0), 2, axis=1).T


def _axes(
    grid: _Grid,
    value: str,
    axis: str,
    spacing: Spacing | None,
    value_spacing: Spacing | None,
    width: float,
    height: float | None,
) -> tuple[Figure, Axes, _Corners]:
    figure = blank(width, height or max(0.5 * min(width, WIDE), 2.3))
    ax = figure.add_subplot()
    time_axis(ax, grid.budgets, axis, spacing, narrow=width < 5)
    scale = Scale.of([grid.values], value_spacing)
    scale.apply(ax, "y", value)
    corners = grid.corners(ax, scale)
    _hatch_unknown(ax, corners)
    return figure, ax, corners


def _fill(ax: Axes, corners: _Corners, edges: ArrayLike, colors: Sequence[Any] | NDArray[Any], gid: str) -> None:
    x, y, table = corners
    ax.contourf(x, y, np.ma.masked_invalid(table), levels=edges, colors=colors, zorder=1).set_gid(gid)


def _hatch_unknown(ax: Axes, corners: _Corners) -> None:
    x, y, table = corners
    if np.isnan(table).any():
        with mpl.rc_context({"hatch.color": "#B8BCC2"}):
            unknown = np.isnan(table).astype(np.float64)
            ax.contourf(x, y, unknown, levels=[0.5, 1.5], colors="none", hatches=["/////"], zorder=0.9).set_gid(
                "unknown"
            )


def _outline(ax: Axes, corners: _Corners, lines: Sequence[float]) -> None:
    x, y, table = corners
    within = [line for line in lines if np.nanmin(table, initial=1) < line <= np.nanmax(table, initial=0)]
    if within:
        weights = [_weight(line) for line in within]
        inks = [_ink(line) for line in within]
        shares = [line - _TINY for line in within]
        ax.contour(x, y, np.ma.masked_invalid(table), levels=shares, colors=inks, linewidths=weights, zorder=2).set_gid(
            "borders"
        )


def _ink(line: float) -> str:
    """White where the ground is dark."""
    return INK if line <= 0.5 else "white"


def _weight(line: float) -> float:
    """The median is the boldest."""
    return 1.4 if line == 0.5 else 0.7


def _bar(ax: Axes, edges: FloatArray, colors: Sequence[Any] | NDArray[Any], label: str) -> Colorbar:
    shades = ScalarMappable(BoundaryNorm(edges, len(colors)), ListedColormap(list(colors)))
    bar = figure_of(ax).colorbar(shades, ax=ax, label=label, pad=0.02, aspect=22, fraction=0.05, spacing="proportional")
    bar.outline.set_visible(False)  # pyright: ignore
    bar.ax.minorticks_off()
    return bar

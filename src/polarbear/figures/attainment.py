"""Empirical attainment functions: of one algorithm, differences of two, and shares attained over the budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from polarbear.descriptions import listed
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Band, Label, Line, Mark, Markers, Surface
from polarbear.figures.panels import Bar, Entry, Key, Panel
from polarbear.figures.scales import (
    Scale,
    arrays_of,
    end_labels,
    increasing,
    last_known,
    markers_of,
    missing,
    named,
    share_axis,
    tall,
    time_axis,
)
from polarbear.figures.style import (
    CROWD,
    INK,
    MARKED,
    SHADES,
    SMALL,
    SURFACE,
    WIDE,
    Look,
    Spacing,
    blend,
    looks,
    pale,
    shortened,
    shown,
)
from polarbear.records import FloatArray

QUARTILES = (0.25, 0.5, 0.75)
_TINY = 1e-9
"""Borders lie just below round shares, so that a share of exactly 0.5 counts as at least 0.5."""
_SHARES = np.linspace(0.0, 1.0, 21)


def caption(*, lines: Sequence[float] = QUARTILES, unknown: bool = False) -> str:
    """Caption of `attainment` with borders of these shares, and with unknown parts or without."""
    percents = listed(f"{line:.0%}" for line in lines)
    return (
        "The empirical attainment function: the shade at a point is the share of the runs that found a value as good "
        "as that within that budget; white was reached by none."
        + (f" Lines are the borders of what {percents} of the runs attained." if lines else "")
        + (" Hatched: unknown, because runs were stopped before." if unknown else "")
    )


def difference_caption(first: str, second: str, *, unknown: bool = False) -> str:
    """Caption of `attainment_difference` of two algorithms, and with unknown parts or without."""
    return (
        f"The difference of the empirical attainment functions of {first} and {second}. The colour at a point is that "
        "of the algorithm of which more runs found a value as good as that within that budget, the darker, the larger "
        "the difference of the two shares of runs. White: no difference."
        + (" Hatched: unknown, because runs were stopped before." if unknown else "")
    )


def ecdf_caption(algorithms: int, *, area: bool = True, level: float | None = None) -> str:
    """Caption of `attainment_ecdf`: whether it shows areas, and of which level its bands are, if it has any."""
    return (
        "The share of the range of values that runs had attained within the budget, on average over the runs: what the "
        "distribution of runtimes to targets becomes as their number grows."
        + (f" Bands are {level:.0%} confidence intervals, at each budget by itself." if level else "")
        + (" Beside the names stand the mean areas over the convergence curves (AOCC); larger is better, 1 is the "
           "most." if area else "")
        + (MARKED if algorithms > CROWD else "")
    )  # fmt: skip


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
    x, scale = time_axis(grid.budgets, axis, spacing, narrow=width < 5), Scale.of([grid.values], value_spacing)
    colors = tuple(blend(SHADES, float(place)) for place in np.linspace(0, 1, _SHARES.size - 1))
    borders = tuple((line, INK if line <= 0.5 else SURFACE, 1.4 if line == 0.5 else 0.7) for line in lines)
    edges = np.concatenate([[_TINY], _SHARES[1:-1] - _TINY, [1.1]])
    surface = grid.surface("attainment", scale, edges, colors, borders)
    bar = Bar(label="share of runs", edges=(*_SHARES.tolist(),), colors=colors, ticks=(0, *QUARTILES, 1), lines=borders)
    return Figure(
        title="Empirical attainment function",
        alt="Share of the runs that attained each value within each budget.",
        caption=caption(lines=lines, unknown=grid.unknown),
        width=width,
        height=height or _height(width),
        panels=(Panel(x=x, y=scale.axis(value), marks=(surface,), bar=bar),),
    )


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
    look_of = looks(named(names, order, "algorithm"))
    x, scale = time_axis(grid.budgets, axis, spacing, narrow=width < 5), Scale.of([grid.values], value_spacing)
    steps = np.concatenate([-_SHARES[:0:-2], [-_TINY, _TINY], _SHARES[2::2]])
    ours, theirs = ([pale(look_of[name].ink, strength) for strength in np.linspace(0.2, 1.0, 10)] for name in names)
    colors = (*reversed(theirs), SURFACE, *ours)
    edges = steps + np.where(steps > 0, _TINY, -_TINY)
    surface = grid.surface("difference", scale, edges, colors)
    ticks, texts = (-1, -0.5, 0, 0.5, 1), ("1", "0.5", "0", "0.5", "1")
    bar = Bar(label="difference of shares", edges=(*steps.tolist(),), colors=colors, ticks=ticks, texts=texts)
    entries = tuple(Entry(text=f"{shown(name)} attains more", algorithm=name, ink=True) for name in names)
    return Figure(
        title=f"Difference of attainment, {names[0]} and {names[1]}",
        alt=f"Where {names[0]} attains more than {names[1]}, and where less.",
        caption=difference_caption(*names, unknown=grid.unknown),
        width=width,
        height=height or _height(width),
        panels=(Panel(x=x, y=scale.axis(value), marks=(surface,), bar=bar),),
        looks=look_of,
        key=Key(entries=entries, columns=2 if width > 5 else 1, size=SMALL),
    )


def attainment_ecdf(
    budgets: ArrayLike,
    share: Mapping[str, ArrayLike],
    *,
    area: Mapping[str, float] | None = None,
    bands: Mapping[str, ArrayLike] | None = None,
    level: float = 0.95,
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
        level: Of the confidence bands, for the caption.
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
    x, y = time_axis(at, axis, spacing, narrow=width < 5), share_axis("mean share attained")
    known = {name: end for name, curve in curves.items() if (end := last_known(at, curve)) is not None}
    marks = (
        *_step_lines(at, curves, intervals, look_of),
        *missing([name for name in curves if name not in known]),
        *end_labels((*end, _with_area(name, area), name) for name, end in known.items()),
        *((Label(text="AOCC", shift=(16, 9), size=SMALL),) if area else ()),
    )
    return Figure(
        title="Attainment ECDF",
        alt=f"Mean share of the range of values that {listed(curves)} attained, over the budget.",
        caption=ecdf_caption(len(curves), area=bool(area), level=level if intervals else None),
        width=width,
        height=height or tall(width, len(curves)),
        panels=(Panel(x=x, y=y, marks=marks),),
        looks=look_of,
    )


def _with_area(name: str, area: Mapping[str, float] | None) -> str:
    return f"{shortened(name, 19)}  {area[name]:.2f}" if area and name in area else name


def _step_lines(
    at: FloatArray, curves: Mapping[str, FloatArray], bands: Mapping[str, FloatArray], look_of: Mapping[str, Look]
) -> Iterator[Mark]:
    """Step functions, with the confidence bands around them where there are any."""
    for index, (name, curve) in enumerate(curves.items()):
        if name in bands:
            low, high = bands[name]
            yield Band(name=f"band-{index}", x=at, low=low, high=high, algorithm=name, steps=True, layer=1)
        look = look_of[name]
        markers = Markers(look.marker or "o", size=4, edge=1) if at.size == 1 else markers_of(look, index)
        yield Line(name=f"share-{index}", x=at, y=curve, algorithm=name, steps=True, markers=markers)


def _height(width: float) -> float:
    return max(0.5 * min(width, WIDE), 2.3)


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

    @property
    def unknown(self) -> bool:
        """Whether parts of it are."""
        return bool(np.isnan(self.table).any())

    def surface(
        self,
        name: str,
        scale: Scale,
        edges: FloatArray,
        colors: tuple[str, ...],
        borders: tuple[tuple[float, str, float], ...] = (),
    ) -> Surface:
        """The function as it is drawn on a scale of values."""
        return Surface(
            name=name,
            x=self.budgets,
            y=scale.place(self.values),
            z=self.table,
            edges=edges,
            colors=colors,
            borders=borders,
            layer=1,
        )

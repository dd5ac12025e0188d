"""Who is better than whom, when."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from polarbear.figures.ratings import checked
from polarbear.figures.style import (
    MICRO,
    MUTED,
    SMALL,
    WIDE,
    Look,
    Spacing,
    blank,
    literal,
    looks,
    pale,
    spacing_of,
    styled,
    time_axis,
)
from polarbear.race import Relations
from polarbear.records import Axis, FloatArray

_EQUAL = "#9AA0A6"


@styled
def relations_over_time(
    relations: Relations,
    times: FloatArray,
    names: Sequence[str],
    *,
    algorithms: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    axis: Axis = "evaluations",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """For every pair of algorithms, which one is better at which budget, and how sure that is (eqs. 22, 26).

    Marks: one strip per pair along the budget, the first algorithm above the strip's middle line, the second below.
    The coloured area reaches from the middle line, where both are equally likely to be better, towards the one that
    is more likely to be, in its colour: a full half is certainty. It is saturated where the relation is decided
    (probability ≥ α) and pale where it is not; a grey bar along the middle marks practical equivalence.

    Args:
        relations: Of all n algorithms at T timepoints.
        times: (T,).
        names: All n names, in the order of `relations`.
        algorithms: The names to compare pair by pair; default all.
        order: All names in the order in which colours are dealt; default `names`.
        axis: What the timepoints are counted in.
        spacing: "log" or "linear" budget axis; default as the timepoints are spaced.
        width: Inches.
        height: Inches; default in proportion to the number of pairs.

    Raises:
        ValueError: If a name is unknown, or there are fewer than two.
    """
    shown = checked(algorithms, names)
    if len(shown) < 2:
        raise ValueError(f"relations are between two algorithms; only {', '.join(shown)} is shown")
    pairs = list(combinations(shown, 2))
    figure, grid = _grid(len(pairs), width, height)
    look_of = looks(order or names)
    spacing = spacing or spacing_of(times)
    edges = cell_edges(times, spacing)
    rows, columns = grid.shape
    for (row, _), ax in np.ndenumerate(grid):
        time_axis(ax, edges, axis, spacing, narrow=width / columns < 5)
        _frame(ax, bottom=row == rows - 1)
    for ax, (first, second) in zip(grid.T.ravel(), pairs, strict=False):
        _strip(ax, relations, edges, (names.index(first), names.index(second)), (look_of[first], look_of[second]))
        _label(ax, first, look_of[first], 0.73)
        _label(ax, second, look_of[second], 0.27)
    _key(figure, width)
    return figure


def _grid(strips: int, width: float, height: float | None) -> tuple[Figure, NDArray[Any]]:
    """A figure with axes for the strips, in one column, or in two if there are many; to be filled column by column."""
    columns = 1 if strips <= 10 or width < 5 else 2
    rows = -(-strips // columns)
    figure = blank(width, height or 0.37 * rows + 0.85)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, gridspec_kw={"hspace": 0})
    figure.get_layout_engine().set(hspace=0, h_pad=0.028, wspace=0.02)  # pyright: ignore
    return figure, grid


def _frame(ax: Axes, *, bottom: bool) -> None:
    """Strips share the budget axis of the lowest one, and have no other."""
    ax.tick_params(axis="x", which="both", bottom=bottom, labelbottom=bottom)
    ax.spines["bottom"].set_visible(bottom)
    ax.spines["left"].set_visible(False)
    ax.set_xlabel(ax.get_xlabel() if bottom else "")
    ax.set_ylim(0, 1)
    ax.set_yticks([])


def cell_edges(times: FloatArray, spacing: Spacing) -> FloatArray:
    """(T + 1,) where the cell of each timepoint begins and ends: halfway to its neighbours."""
    if times.size == 1:
        return np.array([times[0] * 0.9, times[0] * 1.1])
    at = np.log(times) if spacing == "log" else times
    middles = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([at[:1], middles, at[-1:]])
    return np.exp(edges) if spacing == "log" else edges


def _strip(ax: Axes, found: Relations, edges: FloatArray, pair: tuple[int, int], both: tuple[Look, Look]) -> None:
    i, j = pair
    better = found.better[:, i, j]
    decided = (found.dominates[:, i, j], found.dominates[:, j, i])
    equal = found.equivalent[:, i, j]
    above = np.maximum(better, 0.5), np.minimum(better, 0.5)
    for side, (look, curve, sure) in enumerate(zip(both, above, decided, strict=True)):
        for where, color in ((~sure, pale(look.color, 0.38)), (sure, look.color)):
            height = np.where(where, curve, 0.5)
            ax.stairs(height, edges, baseline=0.5, fill=True, color=color, linewidth=0, zorder=2, gid=f"better-{side}")
    ax.stairs(
        np.where(equal, 0.62, 0.38),
        edges,
        baseline=0.38,
        fill=True,
        color=_EQUAL,
        linewidth=0,
        zorder=4,
        gid="equivalent",
    )
    ax.axhline(0.5, color=MUTED, linewidth=0.5, zorder=3)
    ax.set_facecolor("#F4F5F7")


def _label(ax: Axes, name: str, look: Look, height: float) -> None:
    ax.annotate(
        literal(name, 20),
        (0, height),
        xycoords="axes fraction",
        xytext=(-4, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=MICRO,
        color=look.ink,
    )


def _key(figure: Figure, width: float) -> None:
    handles = [
        Patch(color=MUTED),
        Patch(color=pale(MUTED, 0.38)),
        Patch(color=_EQUAL),
    ]
    figure.legend(
        handles,
        ["better, decided", "more likely better, undecided", "equivalent (middle bar)"],
        loc="outside upper left",
        ncols=3 if width > 5 else 1,
        fontsize=MICRO if width < 5 else SMALL,
        handlelength=1.2,
        columnspacing=1.4,
        borderaxespad=0.2,
    )

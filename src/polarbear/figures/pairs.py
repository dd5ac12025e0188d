"""Which algorithm is better at which budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product

import numpy as np

from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Line, Mark, Steps, row_label
from polarbear.figures.panels import Axis, Entry, Key, Panel
from polarbear.figures.scales import choose, time_axis
from polarbear.figures.style import MICRO, MUTED, SMALL, WIDE, Spacing, looks, pale, shown, spacing_of
from polarbear.racing import Relations
from polarbear.records import Axis as Unit
from polarbear.records import FloatArray

_UNSURE = 0.38
"""Share of a colour that is left where nothing is decided."""
_EQUAL, _GROUND = "#9AA0A6", "#F4F5F7"


def relations_over_time(
    relations: Relations,
    times: FloatArray,
    names: Sequence[str],
    *,
    algorithms: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    alpha: float | None = None,
    epsilon: float | None = None,
    crossing: bool = False,
    reasons: Mapping[tuple[str, str], Sequence[str]] | None = None,
    axis: Unit = "evaluations",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """For every pair of algorithms, which one is better at which budget, and with what certainty (eqs. 22, 26).

    Marks: one strip per pair along the budget, with the first algorithm above its middle line and the second below. The
    coloured area extends from the middle line, where either is equally likely to be better, towards the one that is
    more likely to be better, in its colour; a full half is certainty. The colour is saturated where the relation is
    decided (probability ≥ α) and pale elsewhere; a grey bar along the middle marks practical equivalence.

    Args:
        relations: Relations of all n algorithms at T timepoints.
        times: (T,) timepoints.
        names: All n names, in the order of `relations`.
        algorithms: Names to compare in pairs; default all.
        order: Algorithm names in the order in which colours are assigned; default `names`. Others are grey.
        alpha: Decision threshold, for the caption.
        epsilon: Half-width of the region of equivalence, for the caption.
        crossing: Whether pairs are also resolved once it is decided that they cross, for the caption.
        reasons: For each pair, (T,) texts shown on hover, such as why the pair is not resolved there.
        axis: Unit of the timepoints.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the timepoints.
        width: Width in inches.
        height: Height in inches; default proportional to the number of pairs.

    Raises:
        ValueError: If a name is unknown, or fewer than two are given.
    """
    chosen = choose(algorithms, names)
    if len(chosen) < 2:
        raise ValueError(f"relations need at least two algorithms; only {', '.join(chosen)} is shown")
    pairs = list(combinations(chosen, 2))
    columns = 1 if len(pairs) <= 10 or width < 5 else 2
    rows = -(-len(pairs) // columns)
    edges = cell_edges(times, spacing := spacing or spacing_of(times))
    x = time_axis(edges, axis, spacing, narrow=width / columns < 5)
    return Figure(
        title="Who is better than whom, when",
        alt=f"One strip over the budget for every pair of {listed(chosen)}, coloured by who is better.",
        caption=captions.relations_over_time(alpha=alpha, epsilon=epsilon, crossing=crossing),
        width=width,
        height=height or 0.37 * rows + 0.85,
        panels=tuple(_strips(relations, edges, names, pairs, x, columns, reasons or {})),
        columns=columns,
        looks=looks(order or names, names),
        key=_key(width),
        joined=True,
        shared=True,
    )


def cell_edges(times: FloatArray, spacing: Spacing) -> FloatArray:
    """(T + 1,) edges of the timepoints' cells, halfway between neighbours."""
    if times.size == 1:
        return np.array([times[0] * 0.9, times[0] * 1.1])
    at = np.log(times) if spacing == "log" else times
    middles = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([at[:1], middles, at[-1:]])
    return np.exp(edges) if spacing == "log" else edges


def _strips(
    relations: Relations,
    edges: FloatArray,
    names: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    x: Axis,
    columns: int,
    reasons: Mapping[tuple[str, str], Sequence[str]],
) -> Iterator[Panel]:
    """One strip per pair, column by column, sharing the axis of the lowest one; the last panels may be empty."""
    rows, y = -(-len(pairs) // columns), Axis(low=0, high=1, hidden=True)
    for row, column in product(range(rows), range(columns)):
        own, pair = replace(x, hidden=row < rows - 1), column * rows + row
        if pair < len(pairs):
            strip = _strip(relations, edges, names, pairs[pair], tuple(reasons.get(pairs[pair], ())))
            yield Panel(x=own, y=y, marks=tuple(strip), ground=_GROUND)
        else:
            yield Panel(x=own, y=y, marks=())


def _strip(
    relations: Relations, edges: FloatArray, names: Sequence[str], pair: tuple[str, str], hints: tuple[str, ...]
) -> Iterator[Mark]:
    i, j = (names.index(name) for name in pair)
    better = relations.better[:, i, j]
    decided = (relations.dominates[:, i, j], relations.dominates[:, j, i])
    halves = np.maximum(better, 0.5), np.minimum(better, 0.5)
    for side, (name, curve, sure) in enumerate(zip(pair, halves, decided, strict=True)):
        for where, strength in ((~sure, _UNSURE), (sure, 1)):
            heights = np.where(where & (curve != 0.5), curve, np.nan)
            yield Steps(name=f"better-{side}", edges=edges, y=heights, base=0.5, algorithm=name, strength=strength)
    bar = np.where(relations.equivalent[:, i, j], 0.62, np.nan)
    yield Steps(name="equivalent", edges=edges, y=bar, base=0.38, color=_EQUAL, layer=4, hints=hints)
    yield Line(x=edges[[0, -1]], y=np.full(2, 0.5), color=MUTED, width=0.5, layer=3)
    for name, height in zip(pair, (0.73, 0.27), strict=True):
        yield replace(row_label(height, shown(name, 20), name, size=MICRO), shift=(-4, 0))


def _key(width: float) -> Key:
    entries = (
        Entry(text="better, decided", color=MUTED),
        Entry(text="more likely better, undecided", color=pale(MUTED, _UNSURE)),
        Entry(text="equivalent (middle bar)", color=_EQUAL),
    )
    return Key(entries=entries, columns=3 if width > 5 else 1, size=MICRO if width < 5 else SMALL)

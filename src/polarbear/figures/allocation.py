"""Where a race spent its evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Cells, Label, Shades, row_label
from polarbear.figures.panels import Bar, Panel
from polarbear.figures.scales import choose, few_log_ticks, round_ticks, row_axis, time_axis
from polarbear.figures.style import MICRO, MUTED, SHADES, WIDE, Spacing, compact, looks, shown, spacing_of
from polarbear.racing import RaceResult
from polarbear.records import FloatArray, IntArray


def allocation(
    result: RaceResult,
    *,
    algorithms: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """How far each algorithm was run, and on how many instances (Wurth et al. 2026, figure 10).

    Marks: one bar per algorithm along the budget. Its shade, and the number in it where there is room, give the number
    of instances on which the algorithm was observed up to that budget. A paler right part means that it was stopped
    early on some of them; where the bar ends, it was never run further. The total evaluations of each algorithm and
    their share are printed at the right. Candidates come first, then the algorithms that are out, marked ×: the
    eliminated ones, latest first, then the withdrawn ones.

    Args:
        result: Result of a race with at least one round.
        algorithms: Names to show, from top to bottom; default all, in the order above.
        order: Algorithm names in the order in which colours are assigned; default that of the result. Others are grey.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the timepoints.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: If a name is not in the result.
    """
    times, rows = result.posterior.times, choose(algorithms, result.members_first)
    spacing = spacing or spacing_of(times)
    begin = 0.0 if spacing == "linear" or times.size == 1 else times[0] ** 2 / times[1]
    edges = np.insert(times, 0, begin)  # right edge of each timepoint's cell
    shades = _shades(result.reach[:, [result.names.index(name) for name in rows]])
    low, high = shades.low, shades.high
    ticks = few_log_ticks(low, high) if shades.log else round_ticks(low, high, integer=True)
    texts = tuple(compact(tick) for tick in ticks)
    bar = Bar(label="instances", shades=shades, ticks=ticks, texts=texts, length=18, breadth=0.04)
    x = time_axis(edges, result.settings.axis, spacing, narrow=width < 5)
    marks = (_cells(result, rows, edges, shades), *_row_labels(result, rows))
    return Figure(
        title="Where the effort went",
        alt="One bar per algorithm over the budget, shaded by the number of instances it was observed on.",
        caption=captions.allocation(result.settings.axis),
        width=width,
        height=height or 0.27 * len(rows) + 0.95,
        panels=(Panel(x=x, y=row_axis(len(rows), hills=False), marks=marks, bar=bar if width > 5 else None),),
        looks=looks(order or result.names, result.names),
    )


def stretches(reach: IntArray) -> Iterator[tuple[int, int, int]]:
    """Maximal runs of equal positive counts, as (first timepoint, one past the last timepoint, count)."""
    bounds = np.flatnonzero(np.diff(reach, prepend=-1, append=-1))
    for start, stop in pairwise(bounds):
        if reach[start] > 0:
            yield int(start), int(stop), int(reach[start])


def _shades(reach: IntArray) -> Shades:
    positive = reach[reach > 0]
    low, high = (int(positive.min()), int(positive.max())) if positive.size else (0, 1)
    log = high > 8 * low
    return Shades(SHADES, low if log else 0, high, log)


def _cells(result: RaceResult, rows: Sequence[str], edges: FloatArray, shades: Shades) -> Cells:
    cells = [
        (edges[start], edges[stop], float(row), float(count))
        for row, name in enumerate(rows)
        for start, stop, count in stretches(result.reach[:, result.names.index(name)])
    ]
    x, x_end, y, counts = np.array(cells).reshape(-1, 4).T
    text = tuple(f"{count:.0f}" for count in counts)
    return Cells(name="cell", x=x, x_end=x_end, y=y, height=0.8, value=counts, text=text, shades=shades, size=MICRO)


def _row_labels(result: RaceResult, rows: Sequence[str]) -> Iterator[Label]:
    total = max(result.evaluations, 1)
    for row, name in enumerate(rows):
        out = name not in result.pareto_set
        spent = result.evaluations_by_algorithm.get(name, 0)
        yield row_label(row, shown(name) + ("  ×" if out else ""), name, bold=not out)
        yield Label(name="spent", text=f"{compact(spent)} ({spent / total:.0%})", y=row, color=MUTED)
    yield Label(text="evaluations", shift=(4, 2), color=MUTED)

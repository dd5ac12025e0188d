"""Distributions of values or runtimes over the runs: overlaid histograms, densities of runtimes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.line_chart import line_chart
from polarbear.figures.marks import Band, Mark, Steps
from polarbear.figures.panels import Axis, Entry, Key
from polarbear.figures.scales import Scale, arrays_of, increasing
from polarbear.figures.style import SMALL, WIDE, Spacing, looks_for, shown
from polarbear.figures.value_distributions import value_densities
from polarbear.records import FloatArray


def histograms(
    edges: ArrayLike,
    counts: Mapping[str, ArrayLike],
    *,
    value: str = "best value so far",
    order: Sequence[str] | None = None,
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Overlaid histograms of several algorithms with common bins (IOHprofiler thesis, tables 3.1 and 3.2).

    Marks: the height of a column is the number of an algorithm's runs whose value lies in the bin; columns are
    transparent and outlined.

    Args:
        edges: (b + 1,) increasing edges of the bins; see `polarbear.assess.shared_histograms`.
        counts: For each algorithm, (b,) number of runs in each bin.
        value: Label of the horizontal axis, such as ``"runtime (evaluations)"``.
        order: All algorithm names in the order in which colours are assigned; default that of `counts`.
        spacing: "log" or "linear" horizontal axis; default "log" if no edge is negative and they span at least a factor
            of ten.
        width: Width in inches.
        height: Height in inches; default chosen to fit the contents.

    Raises:
        ValueError: If there is no histogram, edges do not increase, or counts have the wrong shape.
    """
    at, looks = increasing(edges, "edges"), looks_for(counts, order, "histogram")
    columns = arrays_of(counts, (at.size - 1,), "counts")
    scale = Scale.of([at], spacing)
    top = max(1.0, *(float(each.max(initial=0)) for each in columns.values()))
    return line_chart(
        scale.axis(value),
        Axis(label="number of runs", low=0, high=1.06 * top, whole=True, most=6, grid=True),
        _columns(scale.place(at), columns),
        looks,
        lines=0,
        width=width,
        height=height,
        title=f"Histograms of the {value}",
        alt=f"Overlaid histograms of the {value} of {listed(counts)}.",
        caption=captions.histograms(len(columns), value),
        key=Key(
            entries=tuple(Entry(text=shown(name, 18), algorithm=name) for name in columns),
            columns=4 if width > 5 else 2,
            size=SMALL,
        ),
    )


def runtime_densities(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    *,
    runs: Mapping[str, ArrayLike] | None = None,
    target: str = "the target",
    order: Sequence[str] | None = None,
    cost: str = "runtime (evaluations)",
    spacing: Spacing | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """Densities or histograms of the runtimes to one target, one row per algorithm (IOHprofiler thesis, section 2.4).

    Marks: as in `value_densities`: hills are densities of the runtimes of successful runs, or bars their number, on the
    same scale in all rows. Short vertical strokes are the runtimes of single runs.

    Args:
        curves: For each algorithm, positions and heights: (k,) increasing runtimes and (k,) densities, or (b + 1,)
            increasing edges and (b,) counts of a histogram. Empty arrays mean that there is no data.
        runs: For each algorithm, the runtimes of the runs; inf where the target was missed.
        target: Target of the runtimes, such as ``"precision 1e-8"``, for the caption.
        order: All algorithm names in the order in which colours are assigned; default that of `curves`.
        cost: Label of the axis of runtimes.
        spacing: "log" or "linear" axis; default "log" if the runtimes span at least a factor of ten.
        width: Width in inches.
        height: Height in inches; default proportional to the number of algorithms.

    Raises:
        ValueError: As in `value_densities`.
    """
    options = {"order": order, "value": cost, "spacing": spacing, "width": width, "height": height}
    strokes = {name: np.where(np.isinf(times), np.nan, times) for name, times in (runs or {}).items()}
    figure = value_densities(curves, runs=strokes or None, **options)  # pyright: ignore[reportArgumentType]
    histogram = any(np.size(at) > np.size(heights) for at, heights in curves.values())
    return replace(
        figure,
        title="Densities of runtimes",
        alt=f"One hill per algorithm over the runtimes: {listed(curves)}.",
        caption=captions.runtime_densities(target, histogram=histogram, runs=bool(strokes)),
    )


def _columns(at: FloatArray, columns: Mapping[str, FloatArray]) -> Iterator[Mark]:
    for index, (name, counts) in enumerate(columns.items()):
        high = np.append(counts, counts[-1])
        yield Band(x=at, low=0.0, high=high, algorithm=name, opacity=0.25, steps=True)
        yield Steps(name=f"histogram-{index}", edges=at, y=counts, algorithm=name, fill=False, width=1.3, layer=3)

"""How the time of a fit grows with T timepoints, n algorithms and P instances: ``python -m benchmarks.scaling``.

4,000 draws, one core, processor time, the faster of two fits after a warm-up fit, each including the counting of
rankings, which a race repeats in every round. Draws docs/scaling.svg.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from benchmarks.models import DRAWS, rankings, values
from polarbear.figures import Figure
from polarbear.figures.marks import EndLabel, Line, Mark, Markers, PointLabel
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.style import MUTED, WIDE, looks
from polarbear.inference import (
    BSpline,
    GaussianProcess,
    HierarchicalDirichlet,
    HilbertSpaceGaussianProcess,
    IndependentDirichlet,
    Model,
    RandomWalk,
    SparseGaussianProcess,
    fit,
)
from polarbear.rankings import choice_counts

FIGURE = Path(__file__).parents[1] / "docs" / "scaling.svg"
MODELS: dict[str, Model] = {
    "independent": IndependentDirichlet(),
    "hierarchical": HierarchicalDirichlet(),
    "random walk": RandomWalk(),
    "B-spline": BSpline(),
    "GP Matérn-3/2": GaussianProcess(),
    "GP Matérn-5/2": GaussianProcess("matern-5/2"),
    "GP squared exponential": GaussianProcess("squared-exponential"),
    "HSGP": HilbertSpaceGaussianProcess(),
    "sparse GP": SparseGaussianProcess(),
}
SWEEPS: dict[str, list[tuple[int, int, int]]] = {
    "timepoints T (n = 5, P = 30)": [(t, 5, 30) for t in (10, 30, 100, 300, 1000)],
    "algorithms n (T = 20, P = 100)": [(20, n, 100) for n in (3, 5, 8, 12, 20, 30, 64)],
    "instances P (T = 100, n = 5)": [(100, 5, p) for p in (10, 30, 100, 300, 1000, 3000)],
}


def seconds(model: Model, size: tuple[int, int, int]) -> float:
    """The time of a fit to T timepoints, n algorithms and P instances."""
    data, best = values(*size), np.inf
    for repetition in range(2):
        began = time.process_time()
        fit(choice_counts(data), model=model, draws=DRAWS, rng=np.random.default_rng(repetition))
        best = min(best, time.process_time() - began)
    return best


def draw(measured: dict[str, dict[str, list[float]]]) -> Figure:
    """One panel for each sweep."""
    every = np.array([times for sweep in measured.values() for each in sweep.values() for times in each])
    y = Axis(scale="log", low=every.min() / 1.5, high=every.max() * 1.5, counts=True)
    look, panels = looks(list(MODELS)), []
    for place, (title, sizes) in enumerate(SWEEPS.items()):
        varied = next(k for k in range(3) if sizes[0][k] != sizes[1][k])
        at = np.array([size[varied] for size in sizes], dtype=float)
        marks: list[Mark] = [
            Line(x=at, y=np.array(times), algorithm=name, width=1.2, markers=_markers(look[name].marker))
            for name, times in measured[title].items()
        ]
        if place == 0:
            linear = 0.6 * at / at[-1]
            marks.append(Line(x=at, y=linear, color=MUTED, width=0.8, dash=(4, 3)))
            marks.append(PointLabel(x=at[1], y=linear[1], text="linear", color=MUTED))
        if place == len(SWEEPS) - 1:
            marks += [
                EndLabel(x=at[-1] * 1.1, y=measured[title][name][-1], text=name, algorithm=name) for name in MODELS
            ]
        ticks = tuple(at if at[-1] <= 1000 else at[::2])
        x = Axis(label=title, scale="log", low=at[0] / 1.1, high=at[-1] * 1.1, ticks=ticks, minor=(), counts=True)
        own = replace(y, label="seconds per count and fit") if place == 0 else replace(y, hidden=True)
        panels.append(Panel(x=x, y=own, marks=tuple(marks)))
    return Figure(
        title="How the time of a fit grows",
        alt="Line charts of the seconds per count and fit of every model over timepoints, algorithms and instances.",
        caption="Each line is a model; along the dashed line the time grows linearly.",
        width=WIDE,
        height=2.6,
        panels=tuple(panels),
        columns=len(panels),
        looks=look,
    )


def _markers(symbol: str) -> Markers | None:
    return Markers(symbol, size=3, edge=1) if symbol else None


def main() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for model in MODELS.values():
        fit(rankings(10, 3, 10), model=model, draws=DRAWS, rng=np.random.default_rng(0))
    measured: dict[str, dict[str, list[float]]] = {}
    for title, sizes in SWEEPS.items():
        measured[title] = {name: [seconds(model, size) for size in sizes] for name, model in MODELS.items()}
        axis = next(k for k in range(3) if sizes[0][k] != sizes[1][k])
        print(f"\n| {title} | {' | '.join(f'{size[axis]:,}' for size in sizes)} |")
        print("|---" * (len(sizes) + 1) + "|")
        for name, times in measured[title].items():
            print(f"| {name} | {' | '.join(f'{value:.2f}' for value in times)} |", flush=True)
    draw(measured).save(FIGURE)


if __name__ == "__main__":
    main()

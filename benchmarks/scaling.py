"""How the time of a fit grows with T timepoints, n algorithms and P instances: ``python -m benchmarks.scaling``.

4,000 draws, one core, processor time, the faster of two fits after one to warm up, each with the counting of the
rankings, as a race counts anew in every round. Draws docs/scaling.svg.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, NullLocator

from benchmarks.models import DRAWS, rankings, values
from polarbear.figures.style import COUNTS, MUTED, WIDE, blank, end_labels, looks, styled, svg
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


@styled
def draw(measured: dict[str, dict[str, list[float]]]) -> str:
    """The figure as SVG: one panel for each sweep."""
    figure = blank(WIDE, 2.6)
    panels = figure.subplots(1, len(SWEEPS), sharey=True)
    look = looks(list(MODELS))
    for panel, (title, sizes) in zip(panels, SWEEPS.items(), strict=True):
        axis = next(k for k in range(3) if sizes[0][k] != sizes[1][k])
        at = [size[axis] for size in sizes]
        for name, times in measured[title].items():
            panel.plot(at, times, color=look[name].color, marker=look[name].marker, markersize=3, linewidth=1.2)
        scales(panel, at, title)
    at, top = [size[0] for size in SWEEPS[next(iter(SWEEPS))]], 0.6
    panels[0].plot(at, [top * t / at[-1] for t in at], color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    panels[0].annotate("linear", (at[1], top * at[1] / at[-1]), xytext=(4, -8), textcoords="offset points", color=MUTED)
    panels[0].set_ylabel("seconds per count and fit")
    ends = [(measured[title][name][-1], name, look[name], False) for name in MODELS]
    end_labels(panels[-1], ends)
    return svg(figure)


def scales(panel: Axes, at: list[int], title: str) -> None:
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xticks(at if at[-1] <= 1000 else at[::2])
    panel.xaxis.set_major_formatter(COUNTS)
    panel.yaxis.set_major_formatter(COUNTS)
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.set_xlabel(title)


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
    FIGURE.write_text(draw(measured))


if __name__ == "__main__":
    main()

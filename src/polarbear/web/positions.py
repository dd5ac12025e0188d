"""Where runs ended in the search space, and what is loaded for each algorithm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.assess.report import Assessment
from polarbear.assess.report.data import Data
from polarbear.web.kind import EVERY, Choice, Problem, Shown, cell_of, dimensions, view, within

_BBOB = -5.0, 5.0
"""Domain of the BBOB suites."""
DimensionOrAll = Annotated[str, Choice("dimension", lambda source: [EVERY, *dimensions(source)])]


@view("overview", "Algorithms on each problem")
def by_algorithm(assessment: Assessment, dimension: DimensionOrAll) -> Shown:
    """Runs, their lengths, final values and successes, by problem and algorithm."""
    columns = (
        *("suite", "function", "dimension", "algorithm", "runs", "shortest run", "longest run"),
        *("best", "mean", "median", "worst", "successes", "success rate"),
    )
    return Shown(Data.of("algorithms", columns, _rows(within(assessment, dimension))))


def _rows(assessment: Assessment) -> Iterator[list[object]]:
    for cell in assessment.subject.cells:
        for name, trials in cell.trials.items():
            spent = trials.evaluations
            ends = np.array([curve.y[-1] if curve.y.size else np.nan for curve in cell.curves(name)])
            known = ends[np.isfinite(ends)]
            values = (known.min(), known.mean(), np.median(known), known.max()) if known.size else (None,) * 4
            hit = np.isfinite(cell.runtimes(name)[:, -1])
            where = [cell.suite, cell.function, cell.dimension or None, name]
            yield [*where, spent.size, spent.min(), spent.max(), *values, int(hit.sum()), hit.mean()]


@view("fixed-budget", "Positions of final points")
def final_positions(assessment: Assessment, problem: Problem) -> Shown:
    """Best point of every run on one function, in parallel coordinates."""
    cell = cell_of(assessment, problem)
    points = {
        name: np.array([run.solution for run in trials.runs if run.solution is not None and run.solution.ndim == 1])
        for name, trials in cell.trials.items()
    }
    kept = {name: each for name, each in points.items() if each.size}
    if not kept:
        raise ValueError(
            f"runs on {problem} have no final points; studies record them, and so does IOHprofiler if it logs positions"
        )
    lower, upper = _BBOB if cell.suite in ("bbob", "bbob-noisy", "bbob-largescale", "sbox-cost") else (None, None)
    drawn = figures.final_positions(kept, lower=lower, upper=upper, order=assessment.subject.algorithms)
    size = next(iter(kept.values())).shape[1]
    rows = ([name, number, *point] for name, each in kept.items() for number, point in enumerate(each, 1))
    columns = ("algorithm", "run", *(f"x{k}" for k in range(1, size + 1)))
    missing = [name for name in points if name not in kept]
    shown = charts.exhibit(drawn, f"positions {problem}", columns, rows, cell.title)
    return Shown(shown.data, shown.figure, f"No final points are known for {', '.join(missing)}." if missing else "")

"""Which values are attained within which budgets."""

from __future__ import annotations

from typing import Annotated

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.assess import Bounds, TargetSensitivity, target_sensitivity, vorobev
from polarbear.assess.report import Assessment
from polarbear.web.kind import (
    Algorithm,
    Dimension,
    Number,
    Other,
    Problem,
    Shown,
    Text,
    alone,
    cell_of,
    check_ran,
    kept,
    numbers_in,
    view,
    within,
)

Level = Annotated[float, Number("share of runs", 0, 1, 0.5)]
Shares = Annotated[str, Text("lines at shares of runs", "0.25 0.5 0.75")]
Points = Annotated[float, Number("budgets and values of the grid", 10, 200, 60, whole=True)]


@view("eaf", "Attainment surface")
def attainment(assessment: Assessment, problem: Problem, algorithm: Algorithm, lines: Shares, points: Points) -> Shown:
    """Share of an algorithm's runs that attained each value within each budget."""
    cell = cell_of(assessment, problem)
    check_ran(cell.name, cell.trials, algorithm)
    return Shown.of(charts.attainment(cell, algorithm, lines=shares_in(lines), points=int(points)))


@view("eaf", "Difference of two algorithms")
def difference(
    assessment: Assessment, problem: Problem, algorithm: Algorithm, against: Other, level: Level, points: Points
) -> Shown:
    """Difference between two algorithms in the share of runs that attained each value within each budget."""
    cell = cell_of(assessment, problem)
    check_ran(cell.name, cell.trials, algorithm, against)
    return Shown.of(charts.difference(assessment, cell, (algorithm, against), level=level, points=int(points)))


@view("eaf", "Attained share over the budget")
def attainment_ecdf(assessment: Assessment, problem: Problem) -> Shown:
    """Share of one function's values attained, over the budget, with the area below."""
    return Shown.of(charts.attainment_ecdf(alone(assessment, problem), cell_of(assessment, problem)))


@view("eaf", "Vorob'ev expectation")
def expectation(assessment: Assessment, problem: Problem) -> Shown:
    """Mean convergence curve of each algorithm (Vorob'ev expectation), and how much its runs deviate from it."""
    cell = cell_of(assessment, problem)
    budgets, values = charts.grid_of(cell)
    times, limits = Bounds.of(budgets, log=True), Bounds.of(values, log=cell.knows_optima)
    expectations = {name: vorobev(cell.curves(name), times=times, values=limits) for name in cell.trials}
    drawn = figures.vorobev_expectation(
        budgets, expectations, order=assessment.subject.algorithms, value=charts.value_label(cell)
    )
    rows = ((name, each.level, each.aocc, each.mean_aocc, each.deviation) for name, each in expectations.items())
    columns = ("algorithm", "level", "aocc", "mean_aocc", "deviation")
    return Shown.of(charts.exhibit(drawn, f"vorobev {cell.name}", columns, rows, cell.title))


@view("eaf", "Sensitivity to targets")
def sensitivity(assessment: Assessment, dimension: Dimension) -> Shown:
    """Runtime distributions for different numbers of targets and for none, and how ranks change."""
    result = _sensitivity(within(assessment, dimension))
    drawn = figures.target_sensitivity(result, order=assessment.subject.algorithms)
    rows = (
        (count, name, area, exact)
        for count, areas in zip(result.counts, result.areas, strict=True)
        for name, area, exact in zip(result.names, areas, result.exact_area, strict=True)
    )
    columns, scope = ("targets", "algorithm", "area", "exact"), scope_of(dimension)
    return Shown.of(charts.exhibit(drawn, f"sensitivity {dimension}", columns, rows, scope))


@view("eaf", "Changes of ranks")
def rank_changes(assessment: Assessment, dimension: Dimension) -> Shown:
    """Rank of each algorithm by the area below its distribution, for increasing numbers of targets and for none."""
    result = _sensitivity(within(assessment, dimension))
    ways = [*(f"{count} targets" for count in result.counts), "EAF"]
    ranks = dict(zip(result.names, result.ranks.T, strict=True))
    drawn = figures.rank_chart(ranks, ways, column_label="way of ranking", order=assessment.subject.algorithms)
    shown = charts.exhibit(
        drawn,
        f"rank-changes {dimension}",
        ("algorithm", *ways),
        ((n, *r) for n, r in ranks.items()),
        scope_of(dimension),
    )
    said = ", ".join(f"{each:g} with {way}" for each, way in zip(result.rank_changes, ways[:-1], strict=True))
    return Shown(shown.data, shown.figure, f"Rank changes relative to no targets at all (sum of |Δ| / 2): {said}.")


@kept
def _sensitivity(assessment: Assessment) -> TargetSensitivity:
    """The sensitivity to targets of the algorithms that ran on all problems.

    Raises:
        ValueError: If there is no such algorithm, or an optimum is unknown.
    """
    cells = assessment.subject.cells
    names = [name for name in assessment.subject.algorithms if all(name in cell.trials for cell in cells)]
    if not names or not all(cell.knows_optima for cell in cells):
        raise ValueError("no algorithm ran on all problems, or not all optima are known; this view needs both")
    times = Bounds(1.0, max(cell.longest for cell in cells), log=True)
    curves = {name: [cell.curves(name) for cell in cells] for name in names}
    return target_sensitivity(curves, times=times, values=cells[0].precisions)


def shares_in(text: str) -> tuple[float, ...]:
    """The shares at which lines were requested; errors as in `numbers_in`."""
    shares = numbers_in(text, "lines")
    return () if shares is None else (*shares.tolist(),)


def scope_of(dimension: str) -> str:
    """The scope of a view of a dimension, for titles."""
    return "all functions" if dimension == "any" else f"{dimension}-D"

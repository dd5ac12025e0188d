"""Runtimes over functions, groups and dimensions, as COCO shows them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal, cast

import numpy as np
from scipy.stats import rankdata

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.assess.report import (
    Assessment,
    budget_based_targets,
    runtime_tables,
    suggest_targets,
    table_rows,
    target_data,
    targets_of,
    with_targets,
)
from polarbear.assess.report.data import Data
from polarbear.web.fixed_target import coco_chart
from polarbear.web.kind import Choice, Dimension, Shown, kept, one_of, view

ALL = "all functions"


def _groups(assessment: Assessment) -> list[str]:
    """All functions together, and each group."""
    return [ALL, *dict.fromkeys(cell.group for cell in assessment.subject.cells if cell.group)]


def _functions(assessment: Assessment) -> list[str]:
    return list(dict.fromkeys(f"{cell.suite} {cell.label}".strip() for cell in assessment.subject.cells))


Group = Annotated[str, Choice("functions", _groups)]
Function = Annotated[str, Choice("function", _functions)]
TargetKind = Annotated[str, one_of("targets", "budget", "log", "linear", "bbob")]
Chart = Annotated[str, one_of("chart", "lines", "radar", "ranks")]


@view("coco", "Runtime distributions")
def runtime_distributions(assessment: Assessment, dimension: Dimension, group: Group) -> Shown:
    """Share of function-target pairs reached over the budget, with simulated restarts; the best of all is pale."""
    cells = [cell for cell in _within(assessment, dimension) if group in (ALL, cell.group)]
    if not cells:
        raise ValueError(f"there are no {group} in {dimension}-D; choose another dimension")
    return coco_chart(assessment, cells, f"{group} in {dimension}-D" if dimension != "any" else group)


@view("coco", "Runtime distributions to other targets")
def distributions_by_targets(assessment: Assessment, dimension: Dimension, group: Group, targets: TargetKind) -> Shown:
    """Share of function-target pairs reached, with targets from budgets or between the extremes that were reached."""
    return runtime_distributions(_by_targets(assessment, targets, dimension), dimension, group)


@view("coco", "Targets")
def targets(assessment: Assessment, targets: TargetKind) -> Shown:
    """Targets of every function as a table, to be edited and given to `polarbear assess --targets`."""
    return Shown(target_data(targets_of(_by_targets(assessment, targets).subject)))


@view("coco", "Expected runtimes")
def expected_runtimes(assessment: Assessment, dimension: Dimension) -> Shown:
    """Expected runtime of each algorithm on each function to one target."""
    place = f"{dimension}-D" if dimension != "any" else ALL
    return Shown.of(charts.expected_runtimes(assessment, _within(assessment, dimension), place))


@view("coco", "Expected runtimes as a chart")
def over_functions(assessment: Assessment, dimension: Dimension, chart: Chart) -> Shown:
    """Expected runtimes to one target as lines over functions, as a radar chart, or as ranks."""
    place = f"{dimension}-D" if dimension != "any" else ALL
    table = charts.expected_runtimes(assessment, _within(assessment, dimension), place)
    (_, *functions), names = table.data.columns, assessment.subject.algorithms
    ert = {name: np.array(row, dtype=float) for name, *row in table.data.frame().rows()}
    if chart == "ranks":
        ranked = rankdata(np.where(np.isnan(list(ert.values())), np.inf, list(ert.values())), axis=0)
        drawn = figures.rank_chart(dict(zip(ert, ranked, strict=True)), functions, order=names)
    else:
        draw = figures.radar if chart == "radar" else figures.across_columns
        drawn = draw(ert, functions, label="ERT / dimension" if dimension != "any" else "ERT", order=names)
    return Shown(table.data, replace(drawn, title=f"{table.figure.title}, {chart}"))


@view("coco", "Scaling with the dimension")
def scaling(assessment: Assessment, function: Function) -> Shown:
    """Expected runtime to one target over the dimension."""
    cell = next(each for each in assessment.subject.cells if f"{each.suite} {each.label}".strip() == function)
    drawn = charts.scaling(assessment, cell.suite, cell.function)
    if drawn is None:
        raise ValueError(f"{function} was run in one dimension alone; scaling needs two or more")
    return Shown.of(drawn)


@view("coco", "Table of expected runtimes")
def table(assessment: Assessment) -> Shown:
    """Expected runtimes to COCO's targets, with stars where an algorithm is significantly better than all others."""
    rows = table_rows(runtime_tables(assessment.subject))
    return Shown(Data.of("expected-runtimes", tuple(rows[0]), (row.values() for row in rows)))


def _within(assessment: Assessment, dimension: str) -> tuple[charts.Cell, ...]:
    return assessment.subject.within(0 if dimension == "any" else int(dimension))


@kept
def _by_targets(assessment: Assessment, targets: str, dimension: str = "") -> Assessment:
    """The same runs with other targets; of one dimension, if one is given."""
    if dimension:
        assessment = Assessment(replace(assessment.subject, cells=_within(assessment, dimension)))
    if targets == "budget":
        table = budget_based_targets(assessment)
    else:
        table = suggest_targets(assessment.subject, cast(Literal["log", "linear", "bbob"], targets))
    return Assessment(with_targets(assessment.subject, table))

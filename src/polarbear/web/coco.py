"""Runtimes over functions, groups and dimensions, as COCO shows them."""

from __future__ import annotations

from typing import Annotated

from polarbear.analyzer.assessment import charts
from polarbear.assess.report import Assessment, runtime_tables, table_rows
from polarbear.assess.report.data import Data
from polarbear.web.fixed_target import coco_chart
from polarbear.web.kind import Choice, Dimension, Shown, view

ALL = "all functions"


def _groups(assessment: Assessment) -> list[str]:
    """All functions together, and each group."""
    return [ALL, *dict.fromkeys(cell.group for cell in assessment.subject.cells if cell.group)]


def _functions(assessment: Assessment) -> list[str]:
    return list(dict.fromkeys(f"{cell.suite} {cell.label}".strip() for cell in assessment.subject.cells))


Group = Annotated[str, Choice("functions", _groups)]
Function = Annotated[str, Choice("function", _functions)]


@view("coco", "Runtime distributions")
def runtime_distributions(assessment: Assessment, dimension: Dimension, group: Group) -> Shown:
    """Share of function-target pairs reached over the budget, with simulated restarts; the best of all is pale."""
    cells = [cell for cell in _within(assessment, dimension) if group in (ALL, cell.group)]
    if not cells:
        raise ValueError(f"there are no {group} in {dimension}-D; choose another dimension")
    return coco_chart(assessment, cells, f"{group} in {dimension}-D" if dimension != "any" else group)


@view("coco", "Expected runtimes")
def expected_runtimes(assessment: Assessment, dimension: Dimension) -> Shown:
    """Expected runtime of each algorithm on each function to one target."""
    place = f"{dimension}-D" if dimension != "any" else ALL
    return Shown.of(charts.expected_runtimes(assessment, _within(assessment, dimension), place))


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

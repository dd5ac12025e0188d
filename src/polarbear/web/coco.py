"""Runtimes over functions, groups and dimensions, as COCO shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal, cast

import numpy as np

from polarbear.analyzer.assessment import charts
from polarbear.analyzer.assessment.charts import Backdrop
from polarbear.assess import RuntimeTable
from polarbear.assess.report import (
    Assessment,
    budget_based_targets,
    divide_tables,
    runtime_tables,
    suggest_targets,
    table_rows,
    target_data,
    targets_of,
    with_targets,
)
from polarbear.assess.report.data import Data
from polarbear.records import Reference
from polarbear.web.across import Chart, charted
from polarbear.web.fixed_target import coco_chart
from polarbear.web.kind import (
    Choice,
    Dimension,
    Number,
    Opened,
    Shown,
    Text,
    kept,
    number_in,
    one_of,
    view,
    within,
)

ALL = "all functions"


def _groups(assessment: Assessment) -> list[str]:
    """A name for all functions together, then the names of the groups."""
    return [ALL, *dict.fromkeys(cell.group for cell in assessment.subject.cells if cell.group)]


def _functions(assessment: Assessment) -> list[str]:
    return list(dict.fromkeys(f"{cell.suite} {cell.label}".strip() for cell in assessment.subject.cells))


Group = Annotated[str, Choice("functions", _groups)]
Function = Annotated[str, Choice("function", _functions)]
TargetKind = Annotated[str, one_of("targets", "budget", "log", "linear", "bbob")]
Background = Annotated[tuple[Assessment, ...], Opened("grey background (several)", "Assessment", several=True)]
Target = Annotated[str, Text("target (empty: 1e-7, or the hardest reached on half of the functions)", "")]
Count = Annotated[int, Number("number of targets, if not from budgets", 2, 100, 10, whole=True)]
Best = Annotated[Mapping[tuple[str, int], Reference] | None, Opened("best-of reference", "Reference")]


@view("coco", "Runtime distributions")
def runtime_distributions(
    assessment: Assessment, dimension: Dimension, group: Group, background: Background, reference: Best
) -> Shown:
    """Share of function-target pairs reached over the budget, with simulated restarts; pale: the best of all."""
    return _distributions(within(assessment, dimension), dimension, group, Backdrop(background, reference))


@view("coco", "Runtime distributions to other targets")
def distributions_by_targets(
    assessment: Assessment, dimension: Dimension, group: Group, targets: TargetKind, count: Count
) -> Shown:
    """Share of function-target pairs reached, with targets from budgets or between the values reached."""
    return _distributions(_by_targets(within(assessment, dimension), targets, count), dimension, group)


@view("coco", "Targets")
def targets(assessment: Assessment, targets: TargetKind, count: Count) -> Shown:
    """Targets of every function as a table to edit and pass to `serve` or `assess` by `--targets`."""
    return Shown(target_data(targets_of(_by_targets(assessment, targets, count).subject)))


@view("coco", "Expected runtimes")
def expected_runtimes(assessment: Assessment, dimension: Dimension, target: Target) -> Shown:
    """Expected runtime of each algorithm on each function to one target."""
    return Shown.of(_expected_runtimes(assessment, dimension, target))


@view("coco", "Expected runtimes as a chart")
def over_functions(assessment: Assessment, dimension: Dimension, target: Target, chart: Chart) -> Shown:
    """Expected runtimes to one target as lines over functions, as a radar chart, or as ranks."""
    table = _expected_runtimes(assessment, dimension, target)
    (_, *functions), names = table.data.columns, assessment.subject.algorithms
    ert = {name: np.array(row, dtype=float) for name, *row in table.data.frame().rows()}
    label = "ERT / dimension" if dimension != "any" else "ERT"
    drawn = charted(ert, functions, chart, label=label, order=names)
    return Shown(table.data, replace(drawn, title=f"{table.figure.title}, {chart}"))


@view("coco", "Scaling with the dimension")
def scaling(assessment: Assessment, function: Function) -> Shown:
    """Expected runtime to one target over the dimension."""
    own = of_function(assessment, function)
    cell = own.subject.cells[0]
    drawn = charts.scaling(own, cell.suite, cell.function)
    if drawn is None:
        raise ValueError(f"{function} was run in only one dimension; scaling needs at least two")
    return Shown.of(drawn)


@view("coco", "Table of expected runtimes")
def table(assessment: Assessment, dimension: Dimension, reference: Best) -> Shown:
    """Expected runtimes to COCO's targets, with stars where an algorithm is significantly better than all others.

    They are divided by those of the reference, if one is chosen.
    """
    tables = _tables(within(assessment, dimension))
    rows = table_rows(divide_tables(tables, reference) if reference else tables)
    return Shown(Data.of("expected-runtimes", tuple(rows[0]), (row.values() for row in rows)))


def _distributions(assessment: Assessment, dimension: str, group: str, backdrop: Backdrop | None = None) -> Shown:
    """Runtime distributions over the functions of a group in one dimension."""
    cells = [cell for cell in assessment.subject.cells if group in (ALL, cell.group)]
    if not cells:
        raise ValueError(f"there are no {group} in {dimension}-D; choose another dimension")
    if backdrop is not None:
        backdrop.check(assessment)
    return coco_chart(assessment, cells, f"{group} in {dimension}-D" if dimension != "any" else group, backdrop)


def _expected_runtimes(assessment: Assessment, dimension: str, target: str) -> charts.Exhibit:
    part, level = within(assessment, dimension), number_in(target, "target")
    if level is not None:
        part = _to(part, level)
    return charts.expected_runtimes(part, part.subject.cells, f"{dimension}-D" if dimension != "any" else ALL)


@kept
def _tables(assessment: Assessment) -> list[RuntimeTable]:
    """The tables before they are divided by a reference, which takes no time."""
    return runtime_tables(assessment.subject, bootstraps=0)


@kept
def of_function(assessment: Assessment, function: str) -> Assessment:
    """The assessment of one of the `functions` over all dimensions."""
    own = tuple(cell for cell in assessment.subject.cells if f"{cell.suite} {cell.label}".strip() == function)
    return Assessment(replace(assessment.subject, cells=own))


@kept
def _to(assessment: Assessment, target: float) -> Assessment:
    """The assessment of the same runs with a single target."""
    subject = assessment.subject
    return Assessment(with_targets(subject, {where: [target] for where in targets_of(subject)}))


@kept
def _by_targets(assessment: Assessment, targets: str, count: int) -> Assessment:
    """The assessment of the same runs with other targets."""
    if targets == "budget":
        table = budget_based_targets(assessment)
    else:
        table = suggest_targets(assessment.subject, cast(Literal["log", "linear", "bbob"], targets), count)
    return Assessment(with_targets(assessment.subject, table))

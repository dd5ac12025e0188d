"""How long algorithms take to reach targets."""

from __future__ import annotations

from polarbear.analyzer.assessment import charts
from polarbear.assess.report import Assessment
from polarbear.assess.report.data import Data
from polarbear.web.kind import Problem, Shown, cell_of, view


@view("fixed-target", "Expected runtime over targets")
def expected_runtime(assessment: Assessment, problem: Problem) -> Shown:
    """Expected runtime (ERT) to each target on one function."""
    cell = cell_of(assessment, problem)
    if cell.targets is None:
        raise ValueError(
            f"expected runtimes on {problem} need targets, and its optimum is not known; look at the fixed budget"
        )
    return Shown.of(charts.over_targets(assessment, cell, cell.targets))


@view("fixed-target", "Runtime distribution")
def runtime_distribution(assessment: Assessment, problem: Problem) -> Shown:
    """Share of targets reached on one function over the budget, with simulated restarts."""
    return coco_chart(assessment, [cell_of(assessment, problem)], problem)


@view("fixed-target", "Statistics at targets")
def runtimes(assessment: Assessment, problem: Problem) -> Shown:
    """Per algorithm and target: successes, ERT, mean, median, standard deviation, PAR-10."""
    return Shown(only(assessment, assessment.runtime_data, problem))


def only(assessment: Assessment, table: Data, problem: str) -> Data:
    """The rows of a table that are about a problem, without the columns that say so."""
    cell = cell_of(assessment, problem)
    where = cell.suite, cell.function, cell.dimension
    return Data(table.name, table.columns[3:], tuple(row[3:] for row in table.rows if row[:3] == where))


def coco_chart(assessment: Assessment, cells: list[charts.Cell], place: str) -> Shown:
    """Runtime distributions over cells of one dimension.

    Raises:
        ValueError: If no algorithm ran on all of them.
    """
    drawn = charts.runtime_distributions(assessment, cells, place, None)
    if drawn is None:
        raise ValueError(f"no algorithm ran on all functions of {place}; look at one of its functions")
    return Shown.of(drawn)

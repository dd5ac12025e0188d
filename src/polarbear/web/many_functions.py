"""All functions of a dimension together: side by side, at one target or budget, and as charts across functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.assess import summarize_values
from polarbear.assess.report import (
    Assessment,
    Subject,
    runtime_samples,
    runtime_statistics,
    value_samples,
    value_statistics,
)
from polarbear.assess.report.data import Data, Rows
from polarbear.web import fixed_budget, fixed_target
from polarbear.web.across import Chart, charted
from polarbear.web.attainment import scope_of
from polarbear.web.coco import Function, of_function
from polarbear.web.fixed_budget import STATISTICS, Budget, Statistic
from polarbear.web.fixed_target import Penalty
from polarbear.web.kind import Dimension, Layout, Shown, Text, budget_in, cell_of, numbers_in, view, within
from polarbear.web.samples import Around

OneTarget = Annotated[str, Text("target", "1")]


@view("fixed-target", "All functions side by side")
def runtime_grid(assessment: Assessment, dimension: Dimension) -> Shown:
    """Expected runtime (ERT) over targets on every function."""
    return _side_by_side(assessment, dimension, "Expected runtimes over targets", fixed_target.expected_runtime)


@view("fixed-target", "All functions: statistics at a target")
def runtimes_on_all(assessment: Assessment, dimension: Dimension, target: OneTarget, penalty: Penalty) -> Shown:
    """Per function and algorithm: successes, mean, standard deviation, nine quantiles, PAR-c and ERT to one target."""
    subject = within(assessment, dimension).subject
    return Shown(runtime_statistics(subject, one_number(target, "target"), penalty=penalty))


@view("fixed-target", "All functions: runtimes of single runs")
def hits_on_all(assessment: Assessment, dimension: Dimension, target: OneTarget, layout: Layout) -> Shown:
    """Runtime of every run to one target on every function; inf if it missed the target."""
    subject = within(assessment, dimension).subject
    return Shown(runtime_samples(subject, one_number(target, "target"), wide=layout == "a column per run"))


@view("fixed-target", "One function over dimensions")
def runtimes_over_dimensions(assessment: Assessment, function: Function, target: OneTarget, chart: Chart) -> Shown:
    """Expected runtime to a target on one function in every dimension, as lines, radar chart or ranks."""
    own = of_function(assessment, function)
    cells = sorted(own.subject.cells, key=lambda cell: cell.dimension)
    if len(cells) < 2:
        raise ValueError(f"{function} was run in only one dimension; this view needs at least two")
    data = runtime_statistics(own.subject, one_number(target, "target"))
    at = data.columns.index("ert")
    known = {(row[2], row[3]): float("nan" if row[at] is None else str(row[at])) for row in data.rows}
    names = [name for name in assessment.subject.algorithms if any(name in cell.trials for cell in cells)]
    ert = {name: np.array([known.get((cell.dimension, name), np.nan) / cell.unit for cell in cells]) for name in names}
    columns = [f"{cell.dimension}-D" for cell in cells]
    drawn = charted(
        ert, columns, chart, label="ERT / dimension", order=assessment.subject.algorithms, column_label="dimension"
    )
    drawn = replace(drawn, title=f"Expected runtime to {target}, {chart}")
    rows = ([name, *row] for name, row in ert.items())
    where = f"{cells[0].suite} {cells[0].shown}".strip()
    return Shown.of(charts.exhibit(drawn, f"ert {function} {target}", ("algorithm", *columns), rows, where))


@view("fixed-budget", "All functions side by side")
def value_grid(assessment: Assessment, dimension: Dimension, statistic: Statistic, around: Around) -> Shown:
    """Median, mean or geometric mean of the best values over the budget on every function."""
    show = partial(fixed_budget.average_value, statistic=statistic, around=around)
    return _side_by_side(assessment, dimension, f"{statistic.capitalize()} over the budget", show)


@view("fixed-budget", "All functions: statistics at a budget")
def values_on_all(assessment: Assessment, dimension: Dimension, budget: Budget) -> Shown:
    """Per function and algorithm: mean, geometric mean, standard deviation and nine quantiles after one budget."""
    subject = within(assessment, dimension).subject
    return Shown(value_statistics(subject, [_budget(budget, subject)]))


@view("fixed-budget", "All functions: values of single runs")
def values_of_all(assessment: Assessment, dimension: Dimension, budget: Budget, layout: Layout) -> Shown:
    """Best value of every run on every function after one budget."""
    subject: Subject = within(assessment, dimension).subject
    return Shown(value_samples(subject, [_budget(budget, subject)], wide=layout == "a column per run"))


@view("fixed-budget", "Final values over functions")
def values_over_functions(assessment: Assessment, dimension: Dimension, statistic: Statistic, chart: Chart) -> Shown:
    """Median, mean or geometric mean of the values at the largest budget, over functions."""
    cells, names = within(assessment, dimension).subject.cells, assessment.subject.algorithms
    ends = {name: np.full(len(cells), np.nan) for name in names}
    for k, cell in enumerate(cells):
        for name in cell.trials:
            summary = summarize_values(fixed_budget.best_values(cell, name, np.array([cell.longest])))
            ends[name][k] = STATISTICS[statistic](summary)[0]
    columns = charts.shown_functions(cells)
    drawn = charted(ends, columns, chart, label=f"{statistic} at the largest budget", order=names)
    rows = ([name, *row] for name, row in ends.items())
    return Shown.of(
        charts.exhibit(drawn, f"final {statistic} {dimension}", ("algorithm", *columns), rows, scope_of(dimension))
    )


@view("coco", "Runtime distributions side by side")
def distribution_grid(assessment: Assessment, dimension: Dimension) -> Shown:
    """Share of targets reached over the budget, with simulated restarts, on every function."""

    def show(part: Assessment, problem: str) -> Shown:  # an assessment whose distributions other views show as well
        return fixed_target.coco_chart(part, [cell_of(part, problem)], problem)

    return _side_by_side(assessment, dimension, "Runtime distributions", show)


def _side_by_side(
    assessment: Assessment, dimension: str, title: str, show: Callable[[Assessment, str], Shown]
) -> Shown:
    """A view of every function, as panels of one figure, with the data in one table."""
    part = within(assessment, dimension)
    cells = part.subject.cells
    shown = {name: show(part, cell.name) for name, cell in zip(charts.shown_functions(cells), cells, strict=True)}
    drawn = figures.grid({name: each.figure for name, each in shown.items() if each.figure})
    first = next(iter(shown.values())).data
    scope = f"all functions in {scope_of(dimension)}" if dimension != "any" else scope_of(dimension)

    def rows() -> Iterator[tuple[Any, ...]]:
        return ((name, *row) for name, each in shown.items() for row in each.data.rows)

    size = sum(len(each.data.rows) for each in shown.values())
    data = Data("-".join(f"{title} {dimension}".lower().split()), ("function", *first.columns), Rows(size, rows))
    return Shown(data, replace(drawn, title=f"{title}, {scope}"))


def _budget(text: str, subject: Subject) -> float:
    """Parse a budget, by default that of the longest run of all."""
    return budget_in(text, max(cell.longest for cell in subject.cells))


def one_number(text: str, what: str) -> list[float]:
    """Parse exactly one number.

    Raises:
        ValueError: If there is none, or several.
    """
    numbers = numbers_in(text, what)
    if numbers is None or numbers.size != 1:
        raise ValueError(f"{what} is {text!r}; give one number, such as 0.01")
    return [float(numbers[0])]

"""The quality of algorithms after a budget."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.assess import (
    ValueSummary,
    parameter_at_targets,
    parameter_names,
    summarize_values,
    value_distribution,
    values_at,
)
from polarbear.assess.report import Assessment, Cell, value_samples, value_statistics
from polarbear.assess.report.tables import LEVELS
from polarbear.figures import Distribution
from polarbear.records import FloatArray
from polarbear.web.fixed_target import cell_with_targets, placeless
from polarbear.web.kind import (
    Algorithm,
    Layout,
    Other,
    Problem,
    Quantiles,
    Shown,
    Text,
    alone,
    budget_in,
    cell_of,
    numbers_in,
    one_of,
    view,
)
from polarbear.web.samples import BAND_LEVELS, Around, Samples, band

_GRID = 100
STATISTICS: dict[str, Callable[[ValueSummary], FloatArray]] = {
    "median": lambda summary: summary.median,
    "mean": lambda summary: summary.mean,
    "geometric mean": lambda summary: summary.geometric_mean,
}
Budgets = Annotated[str, Text("budgets (empty: ten up to the longest run)", "")]
Statistic = Annotated[str, one_of("statistic", *STATISTICS)]
Parameter = Annotated[str, Text("parameter (empty: the first logged)", "")]
Budget = Annotated[str, Text("budget (empty: the longest run)", "")]


@view("fixed-budget", "Convergence")
def convergence(assessment: Assessment, problem: Problem) -> Shown:
    """Median and quartiles of the best-so-far values on one function over the budget."""
    return Shown.of(charts.convergence(assessment, cell_of(assessment, problem)))


@view("fixed-budget", "Statistics at budgets")
def values(assessment: Assessment, problem: Problem) -> Shown:
    """Per algorithm and budget: mean, median and quartiles of the best value so far."""
    return Shown(placeless(alone(assessment, problem).value_data))


@view("fixed-budget", "Area over the convergence curve")
def areas(assessment: Assessment, problem: Problem) -> Shown:
    """Area over the convergence curve (AOCC) of every run."""
    return Shown(placeless(alone(assessment, problem).area_data))


@view("fixed-budget", "Statistics at own budgets")
def value_quantiles(assessment: Assessment, problem: Problem, budgets: Budgets, quantiles: Quantiles = LEVELS) -> Shown:
    """Per algorithm and budget: mean, geometric mean, standard deviation and quantiles of the best value so far."""
    at, subject = numbers_in(budgets, "budgets"), alone(assessment, problem).subject
    return Shown(placeless(value_statistics(subject, at, levels=quantiles)))


@view("fixed-budget", "Values of single runs")
def values_of_runs(assessment: Assessment, problem: Problem, budgets: Budgets, layout: Layout) -> Shown:
    """Best value of every run at each budget."""
    samples = value_samples(
        alone(assessment, problem).subject, numbers_in(budgets, "budgets"), wide=layout == "a column per run"
    )
    return Shown(placeless(samples))


@view("fixed-budget", "Average value over the budget")
def average_value(assessment: Assessment, problem: Problem, statistic: Statistic, around: Around) -> Shown:
    """Median, mean or geometric mean of the best values, with quantiles, standard deviation or single runs."""
    cell = cell_of(assessment, problem)
    budgets = cell.budgets(_GRID)
    runs = {name: best_values(cell, name, budgets) for name in cell.trials}
    summaries = {name: summarize_values(each, levels=BAND_LEVELS) for name, each in runs.items()}
    lines = {name: STATISTICS[statistic](each) for name, each in summaries.items()}
    bands = {name: ends for name, each in summaries.items() if (ends := band(each, around)) is not None}
    drawn = figures.fixed_budget_curves(
        budgets,
        lines,
        bands=bands,
        runs=runs if around == "single runs" else None,
        statistic=statistic,
        band=around if bands else "",
        value=charts.value_label(cell),
        order=assessment.subject.algorithms,
    )
    rows = charts.by_algorithm({name: (budgets, line) for name, line in lines.items()})
    columns = ("algorithm", "evaluations", statistic)
    return Shown.of(charts.exhibit(drawn, f"{statistic} {cell.name}", columns, rows, cell.title))


@view("fixed-budget", "Distribution of values")
def value_ecdf(assessment: Assessment, problem: Problem, budget: Budget) -> Shown:
    """Share of runs that have reached each value within a budget."""
    samples = _values_within(assessment, problem, budget)
    steps = {name: value_distribution(each) for name, each in samples.of.items()}
    drawn = figures.value_distributions(
        {name: Distribution(at=each.x, share=each.y) for name, each in steps.items()},
        budget=samples.at,
        value=samples.what,
        order=samples.order,
    )
    rows = charts.by_algorithm({name: (each.x, each.y) for name, each in steps.items()})
    columns = ("algorithm", samples.what, "share")
    return Shown.of(
        charts.exhibit(drawn, f"ecdf {problem} {samples.at}", columns, rows, f"{samples.problem}, {samples.at}")
    )


@view("fixed-budget", "Histogram of values")
def value_histogram(assessment: Assessment, problem: Problem, budget: Budget) -> Shown:
    """Number of runs by value after a budget, in the same bins for all algorithms."""
    return _values_within(assessment, problem, budget).histogram()


@view("fixed-budget", "Density of values")
def value_density(assessment: Assessment, problem: Problem, budget: Budget) -> Shown:
    """Density of each algorithm's values after a budget, with the single runs."""
    samples = _values_within(assessment, problem, budget)
    runs = {name: np.where(np.isfinite(each), each, np.nan) for name, each in samples.of.items()}
    return samples.density(
        lambda curves: figures.value_densities(
            curves, runs=runs, budget=samples.at, value=samples.what, order=samples.order
        )
    )


@view("fixed-budget", "Cumulative difference of values")
def value_difference(
    assessment: Assessment, problem: Problem, budget: Budget, algorithm: Algorithm, against: Other
) -> Shown:
    """Whether one of two algorithms is better among the good runs, the poor runs, or all."""
    return _values_within(assessment, problem, budget).difference(algorithm, against)


@view("fixed-budget", "Parameter over the budget")
def parameter(assessment: Assessment, problem: Problem, algorithm: Algorithm, logged: Parameter) -> Shown:
    """Median and quartiles of a logged parameter of an algorithm on one function."""
    cell = cell_of(assessment, problem)
    return Shown.of(charts.parameter(assessment, cell, algorithm, _logged(cell, algorithm, logged)))


@view("fixed-budget", "Parameter over targets")
def parameter_over_targets(assessment: Assessment, problem: Problem, algorithm: Algorithm, logged: Parameter) -> Shown:
    """Median and quartiles of a logged parameter when the runs reached each target."""
    cell, easiest_first = cell_with_targets(assessment, problem)
    name, targets = _logged(cell, algorithm, logged), np.flip(easiest_first)
    values = parameter_at_targets(cell.trials[algorithm].runs, name, targets, absolute=cell.absolute)
    quantiles = summarize_values(values, levels=(0.25, 0.5, 0.75), omit_unknown=True).quantiles
    drawn = figures.parameter_over_targets(targets, {algorithm: quantiles}, name, order=assessment.subject.algorithms)
    rows, columns = zip(targets, *quantiles, strict=True), ("target", "q25", "median", "q75")
    return Shown.of(charts.exhibit(drawn, f"{name} {problem} {algorithm}", columns, rows, cell.title))


def best_values(cell: Cell, name: str, budgets: FloatArray) -> FloatArray:
    """(runs, budgets) best values, floored at the smallest measured precision; NaN before a run's first value."""
    best = values_at(cell.curves(name), budgets)
    best = np.maximum(best, cell.precisions.low) if cell.knows_optima else best
    return np.where(np.isfinite(best), best, np.nan)


def _values_within(assessment: Assessment, problem: str, budget: str) -> Samples:
    """The best value of every run within a budget; inf if it has none."""
    cell = cell_of(assessment, problem)
    within = budget_in(budget, cell.longest)
    values = {name: best_values(cell, name, np.array([within]))[:, 0] for name in cell.trials}
    known = {name: np.where(np.isnan(each), np.inf, each) for name, each in values.items()}
    what, at = charts.value_label(cell), f"{within:g} evaluations"
    return Samples(known, what, at, cell.title, assessment.subject.algorithms)


def _logged(cell: Cell, algorithm: str, parameter: str) -> str:
    """The name of the parameter if the algorithm logged it, by default its first one.

    Raises:
        ValueError: If it logged no parameter, or not this one.
    """
    names = parameter_names(cell.trials[algorithm].runs) if algorithm in cell.trials else ()
    if not names:
        raise ValueError(f"runs of {algorithm} on {cell.name} logged no parameters")
    if parameter and parameter not in names:
        raise ValueError(f"runs of {algorithm} on {cell.name} logged no {parameter!r}; they logged {', '.join(names)}")
    return parameter or names[0]

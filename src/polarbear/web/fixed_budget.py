"""How good algorithms are after a budget."""

from __future__ import annotations

from typing import Annotated

from polarbear.analyzer.assessment import charts
from polarbear.assess import parameter_names
from polarbear.assess.report import Assessment, compare
from polarbear.assess.report.data import Data
from polarbear.web.fixed_target import only
from polarbear.web.kind import Algorithm, Number, Problem, Shown, cell_of, view

Budget = Annotated[float, Number("budget", 1, 1e15, 1000)]


@view("fixed-budget", "Convergence")
def convergence(assessment: Assessment, problem: Problem) -> Shown:
    """Median and quartiles of the best-so-far values on one function over the budget."""
    return Shown.of(charts.convergence(assessment, cell_of(assessment, problem)))


@view("fixed-budget", "Statistics at budgets")
def values(assessment: Assessment, problem: Problem) -> Shown:
    """Per algorithm and budget: mean, median and quartiles of the best value so far."""
    return Shown(only(assessment, assessment.value_data, problem))


@view("fixed-budget", "Area over the convergence curve")
def areas(assessment: Assessment, problem: Problem) -> Shown:
    """Per run: the area over its convergence curve (AOCC)."""
    return Shown(only(assessment, assessment.area_data, problem))


@view("fixed-budget", "Parameter over the budget")
def parameter(assessment: Assessment, problem: Problem, algorithm: Algorithm) -> Shown:
    """Median and quartiles of the first logged parameter of an algorithm on one function."""
    cell = cell_of(assessment, problem)
    names = parameter_names(cell.trials[algorithm].runs) if algorithm in cell.trials else ()
    if not names:
        raise ValueError(f"runs of {algorithm} on {problem} logged no parameters")
    return Shown.of(charts.parameter(assessment, cell, algorithm, next(iter(names))))


@view("fixed-budget", "Pairwise tests at a budget")
def tests(assessment: Assessment, budget: Budget) -> Shown:
    """P-values of pairs of algorithms at a budget (Kolmogorov–Smirnov, Holm's correction)."""
    comparison = compare(assessment, budget=budget)
    rows = [
        [problem, better, worse, test.p_values[i, j]]
        for problem, test in comparison.tests.items()
        for i, better in enumerate(test.names)
        for j, worse in enumerate(test.names)
        if i != j
    ]
    return Shown(Data.of("tests", ("problem", "better", "worse", "p"), rows), text=f"Compared: {comparison.measure}.")

"""Which values are attained within which budgets."""

from __future__ import annotations

from typing import Annotated

from polarbear.analyzer.assessment import charts
from polarbear.assess.report import Assessment
from polarbear.web.kind import Algorithm, Choice, Problem, Shown, cell_of, view


def _others(assessment: Assessment) -> tuple[str, ...]:
    """The algorithms, the first one last: by default two different ones are compared."""
    first, *others = assessment.subject.algorithms
    return (*others, first)


Other = Annotated[str, Choice("against", _others)]


@view("eaf", "Attainment surface")
def attainment(assessment: Assessment, problem: Problem, algorithm: Algorithm) -> Shown:
    """Share of the runs of an algorithm that attained each value within each budget."""
    cell = cell_of(assessment, problem)
    _check(cell, algorithm)
    return Shown.of(charts.attainment(cell, algorithm))


@view("eaf", "Difference of two algorithms")
def difference(assessment: Assessment, problem: Problem, algorithm: Algorithm, against: Other) -> Shown:
    """Difference of the shares of runs that attained each value within each budget."""
    cell = cell_of(assessment, problem)
    _check(cell, algorithm)
    _check(cell, against)
    if algorithm == against:
        raise ValueError(f"{algorithm} is compared with itself; choose another algorithm")
    return Shown.of(charts.difference(assessment, cell, (algorithm, against)))


@view("eaf", "Attained share over the budget")
def attainment_ecdf(assessment: Assessment, problem: Problem) -> Shown:
    """Share of the values of one function that are attained, over the budget, with the area beneath."""
    return Shown.of(charts.attainment_ecdf(assessment, cell_of(assessment, problem)))


def _check(cell: charts.Cell, algorithm: str) -> None:
    if algorithm not in cell.trials:
        raise ValueError(f"{algorithm} did not run on {cell.name}; there are {', '.join(cell.trials)}")

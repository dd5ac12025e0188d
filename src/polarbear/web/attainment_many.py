"""Further attainment functions: pooled, against a portfolio, of second order, and their level curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated

import numpy as np

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.assess import bootstrap_band, eaf_grid, level_curves, second_order_eaf, values_at
from polarbear.assess.report import Assessment, Cell
from polarbear.figures import Figure
from polarbear.quantities import plural
from polarbear.records import FloatArray, log_times
from polarbear.web.attainment import Level, Points, Shares, scope_of, shares_in
from polarbear.web.coco import ALL, Group
from polarbear.web.kind import (
    Algorithm,
    Dimension,
    Other,
    Problem,
    Shown,
    Text,
    cell_of,
    check_ran,
    number_in,
    one_of,
    view,
    within,
)

_GRID, _RESAMPLES = 60, 500
GivenBudget = Annotated[str, Text("given budget (empty: the middle one)", "")]
GivenValue = Annotated[str, Text("given value (empty: what half attained by then)", "")]
Condition = Annotated[str, one_of("share of", "all runs", "runs that attain the given point")]


@view("eaf", "Attainment pooled over functions")
def pooled_attainment(
    assessment: Assessment, dimension: Dimension, group: Group, algorithm: Algorithm, lines: Shares, points: Points
) -> Shown:
    """Share of runs that attained each precision within each budget, averaged over functions."""
    budgets, values, cells = _common(assessment, dimension, group, int(points), algorithm)
    share = _pooled(cells, algorithm, budgets, values)
    drawn = figures.attainment(
        budgets, values, share, lines=shares_in(lines), value="best precision so far", spacing="log"
    )
    drawn = replace(drawn, title=f"Empirical attainment function of {algorithm}")
    name = f"pooled {algorithm} {group} {dimension}"
    return Shown.of(charts.surface(_over(drawn, len(cells)), name, budgets, values, share, group))


@view("eaf", "Difference pooled over functions")
def pooled_difference(
    assessment: Assessment, dimension: Dimension, group: Group, algorithm: Algorithm, against: Other, points: Points
) -> Shown:
    """Difference between two algorithms in the share of runs that attained each precision, averaged over functions."""
    budgets, values, cells = _common(assessment, dimension, group, int(points), algorithm, against)
    first, second = (_pooled(cells, name, budgets, values) for name in (algorithm, against))
    drawn = figures.attainment_difference(
        budgets,
        values,
        first - second,
        (algorithm, against),
        order=assessment.subject.algorithms,
        value="best precision so far",
        spacing="log",
    )
    name = f"pooled {algorithm} {against} {group} {dimension}"
    return Shown.of(charts.surface(_over(drawn, len(cells)), name, budgets, values, first - second, group))


@view("eaf", "Difference against a portfolio")
def portfolio_difference(assessment: Assessment, problem: Problem, algorithm: Algorithm, points: Points) -> Shown:
    """Where an algorithm attains more than every other one, and where the best of the others attains more."""
    cell = cell_of(assessment, problem)
    check_ran(cell.name, cell.trials, algorithm)
    if len(cell.trials) < 2:
        raise ValueError(f"only {algorithm} ran on {problem}; this view needs at least one other algorithm")
    return Shown.of(charts.portfolio_difference(assessment, cell, algorithm, points=int(points)))


@view("eaf", "Second order")
def second_order(
    assessment: Assessment,
    problem: Problem,
    algorithm: Algorithm,
    budget: GivenBudget,
    value: GivenValue,
    condition: Condition,
    lines: Shares,
    points: Points,
) -> Shown:
    """Share of runs that attained both each value within each budget and a given value within a given budget."""
    cell = cell_of(assessment, problem)
    check_ran(cell.name, cell.trials, algorithm)
    budgets, values = charts.grid_of(cell, int(points))
    curves = cell.curves(algorithm)
    if (at := number_in(budget, "budget")) is None:
        at = float(budgets[budgets.size // 2])
    then = values_at(curves, at)[:, 0]
    if (goal := number_in(value, "value")) is None:
        median = float(np.sort(then)[(then.size - 1) // 2])
        goal = median if np.isfinite(median) else float(values[-1])
    given = at, goal
    conditional = condition != "all runs"
    share = second_order_eaf(curves, budgets, values, given=given, conditional=conditional)
    drawn = figures.attainment(
        budgets, values, share, lines=shares_in(lines), value=charts.value_label(cell), spacing="log"
    )
    said = f"{given[1]:.3g} within {given[0]:.3g} evaluations"
    among = f" Only runs that attained {said} are considered." if conditional else f" Runs must also attain {said}."
    drawn = replace(
        drawn, title=f"Second-order attainment function of {algorithm} given {said}", caption=drawn.caption + among
    )
    text = f"{np.mean(then <= given[1]):.3g} of the runs of {algorithm} attained {said}."
    name = f"second-order {problem} {algorithm}"
    return replace(Shown.of(charts.surface(drawn, name, budgets, values, share, cell.title)), text=text)


@view("eaf", "Level curves with bands")
def levels(assessment: Assessment, problem: Problem, level: Level) -> Shown:
    """Value attained by a share of each algorithm's runs within each budget, with a bootstrap band."""
    cell = cell_of(assessment, problem)
    budgets = cell.budgets(_GRID)
    lines = {name: level_curves(cell.curves(name), [level])[0](budgets) for name in cell.trials}
    rng, bands = np.random.default_rng(0), dict[str, FloatArray]()
    for name, trials in cell.trials.items():
        if len(trials.runs) > 1:
            band = bootstrap_band(values_at(cell.curves(name), budgets), _level(level), rng=rng, resamples=_RESAMPLES)
            bands[name] = np.stack([_known(band.lower), _known(band.upper)])
    drawn = figures.fixed_budget_curves(
        budgets,
        {name: _known(line) for name, line in lines.items()},
        bands=bands,
        statistic=f"value that {level:.0%} of the runs attained",
        band="95 % percentile bootstrap interval of the level curve at each budget, over runs",
        value=charts.value_label(cell),
        order=assessment.subject.algorithms,
    )
    nothing = np.full((2, budgets.size), np.nan)
    rows = charts.by_algorithm({name: (budgets, line, *bands.get(name, nothing)) for name, line in lines.items()})
    columns = ("algorithm", "evaluations", "value", "lower", "upper")
    return Shown.of(charts.exhibit(drawn, f"levels {level:g} {problem}", columns, rows, cell.title))


def _level(share: float) -> Callable[..., FloatArray]:
    """A function that computes the value attained by a share of runs, along an axis."""

    def at(samples: FloatArray, axis: int = 0) -> FloatArray:
        count = samples.shape[axis]
        index = max(1, int(np.ceil(share * count - 1e-9))) - 1
        return np.take(np.sort(samples, axis=axis), index, axis=axis)

    return at


def _known(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, np.nan)


def _common(
    assessment: Assessment, dimension: str, group: str, points: int, *algorithms: str
) -> tuple[FloatArray, FloatArray, list[Cell]]:
    """Budgets, precisions and the problems of a group, on each of which all of the algorithms ran.

    Raises:
        ValueError: If an algorithm did not run on one of them, or precisions are unknown.
    """
    cells = [cell for cell in within(assessment, dimension).subject.cells if group in (ALL, cell.group)]
    if not cells:
        raise ValueError(f"there are no {group} in {scope_of(dimension)}; choose another dimension")
    if unknown := [cell.name for cell in cells if not cell.knows_optima]:
        raise ValueError(f"the optimum of {unknown[0]} is not known; functions can be pooled only by precision")
    for cell in cells:
        check_ran(cell.name, cell.trials, *algorithms)
    limits = cells[0].precisions
    budgets = log_times(1, max(cell.longest for cell in cells), points)
    return budgets, np.geomspace(limits.low, limits.high, points), cells


def _pooled(cells: Sequence[Cell], name: str, budgets: FloatArray, values: FloatArray) -> FloatArray:
    return np.mean([eaf_grid(values_at(cell.curves(name), budgets), values) for cell in cells], axis=0)


def _over(figure: Figure, functions: int) -> Figure:
    means = f"Shares are means over {plural(functions, 'function')}, all with the same weight."
    return replace(figure, caption=f"{figure.caption} {means}")

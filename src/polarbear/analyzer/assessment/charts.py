"""Figures of an assessment with their data: over all functions, over groups, of single functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polarbear import figures
from polarbear.analyzer.html import Picture, picture
from polarbear.assess import (
    Bounds,
    RuntimeDistribution,
    attained_share,
    bootstrap_band,
    eaf_difference_grid,
    eaf_grid,
    parameter_at_times,
    pool,
    runtime_distribution,
    summarize_values,
    values_at,
)
from polarbear.assess import attainment_ecdf as share_attained
from polarbear.assess.functions import function_name
from polarbear.assess.report.data import Data, Rows
from polarbear.assess.report.statistics import Assessment
from polarbear.assess.report.subject import Cell
from polarbear.assess.step_functions import runs_making
from polarbear.assess.trials import function_label
from polarbear.descriptions import listed
from polarbear.figures import Distribution
from polarbear.figures.style import PALETTE
from polarbear.quantities import plural
from polarbear.records import FloatArray, Reference

_GRID = 60
_RESAMPLES = 500
_OTHERS = "best of the others"
_STEPS = 400
_QUARTILES = (0.25, 0.5, 0.75)
_SHOWN_TARGET = 1e-7
"""The target of heat maps and of scaling, provided that some algorithm reached it on half of the functions."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A figure, and the numbers that it shows.

    Attributes:
        figure: The figure.
        data: The numbers, in full precision.
    """

    figure: figures.Figure
    data: Data

    @property
    def picture(self) -> Picture:
        """The figure as an element of a page."""
        return picture(self.figure, (self.data,))


@dataclass(frozen=True, slots=True, eq=False)
class Backdrop:
    """What is drawn behind the runtime distributions of the algorithms.

    Attributes:
        others: Assessments of further algorithms, such as archived ones, drawn grey.
        best: Expected runtimes of a reference such as best 2009 by function and dimension, drawn as a broad pale line;
            by default the best of the algorithms assessed.
    """

    others: tuple[Assessment, ...] = ()
    best: Mapping[tuple[str, int], Reference] | None = None

    def check(self, assessment: Assessment) -> None:
        """Raise ValueError if targets of the others differ, or the reference has none of the functions assessed."""
        cells = assessment.subject.cells
        own = cells[0].targets
        theirs = [each.subject.cells[0].targets for each in self.others]
        if any(targets is None or own is None or not np.array_equal(targets, own) for targets in theirs):
            raise ValueError(
                "the algorithms in the background have other targets, or optima are not known; give both the same "
                "targets"
            )
        if self.best is not None and not any(_expected(self.best, [cell]) for cell in cells):
            raise ValueError(
                "the reference has none of the functions and dimensions assessed, or their targets are not "
                "precisions; give the reference of their suite"
            )


def _expected(
    best: Mapping[tuple[str, int], Reference], cells: Sequence[Cell]
) -> tuple[str, RuntimeDistribution] | None:
    """The name of a reference and the distribution of its expected runtimes; None if it lacks a cell."""
    distributions: list[RuntimeDistribution] = []
    name = ""
    for cell in cells:
        reference = best.get((cell.function, cell.dimension))
        if reference is None or reference.suite not in {"", cell.suite} or cell.targets is None or cell.absolute:
            return None
        ert = reference.at(cell.targets)
        name = reference.name or "reference"
        distributions.append(runtime_distribution(ert[np.newaxis], [cell.longest], restarts=0))
    return f"{name} (ERT)", pool(distributions)


def runtime_distributions(
    assessment: Assessment, cells: Sequence[Cell], scope: str, backdrop: Backdrop
) -> Exhibit | None:
    """Runtime distributions over cells of one dimension; None if no algorithm ran on all of them.

    The broad pale line is the best of all algorithms. If there are many, those that solve most have colours; the
    others, and those in the background, are grey.
    """
    distributions = assessment.pooled(cells)
    if not distributions:
        return None
    dimension, unit = cells[0].dimension, cells[0].unit
    cost = "evaluations / dimension" if dimension else "evaluations"
    curves = {name: _curve(distribution, unit) for name, distribution in distributions.items()}
    named = sorted(curves, key=lambda name: (-distributions[name].solved, curves[name].middle))[: len(PALETTE)]
    named = [name for name in curves if name in named]
    others = [curve for name, curve in curves.items() if name not in named]
    behind, problems = 0, {(cell.suite, cell.function, cell.dimension) for cell in cells}
    for each in backdrop.others:
        archived = [cell for cell in each.subject.cells if (cell.suite, cell.function, cell.dimension) in problems]
        if len(archived) == len(cells):
            behind += 1
            others += [_curve(distribution, unit) for distribution in each.pooled(archived).values()]
    if backdrop.best is not None:
        best = _expected(backdrop.best, cells)
    else:
        best = ("best of these", assessment.best_of_all(cells)) if len(curves) > 1 else None
    figure = figures.runtime_distributions(
        {name: curves[name] for name in named},
        reference=best and (best[0], _curve(best[1], unit)),
        background=others,
        order=_colored(assessment, named),
        cost=cost,
        restarts=any(distribution.simulated.any() for distribution in distributions.values()),
    )
    pairs = next(iter(distributions.values())).problems
    figure = replace(
        figure, alt=f"Share of {pairs} function-target pairs that {listed(named)} solved, over the budget."
    )
    if missing := len(backdrop.others) - behind:
        lack = f"{missing} lack{'s' * (missing == 1)} some of these functions."
        lacking = f" Of {plural(len(backdrop.others), 'data set')} for the background {lack}"
        figure = replace(figure, caption=figure.caption + lacking)
    rows = by_algorithm({name: (curve.at, curve.share) for name, curve in curves.items()})
    return exhibit(figure, f"runtime-distributions {scope}", ("algorithm", cost, "share"), rows, scope)


def _colored(assessment: Assessment, named: Sequence[str]) -> Sequence[str]:
    """The names in the order in which colours are assigned: all if they are few, else those of a single figure."""
    return named if len(assessment.subject.algorithms) > len(PALETTE) else assessment.subject.algorithms


def _curve(distribution: RuntimeDistribution, unit: int) -> Distribution:
    """A runtime distribution with runtimes divided by the dimension."""
    steps, cross = _thinned(distribution), distribution.cross
    spent = cross[0] / unit if cross else None
    return Distribution(steps / unit, distribution.at(steps), spent=spent, solved=distribution.solved)


def expected_runtimes(assessment: Assessment, cells: Sequence[Cell], scope: str) -> Exhibit:
    """Heat map of expected runtimes to one target, by algorithm and function."""
    names = assessment.ranked(cells[0].dimension)
    index = _index(assessment, cells)
    table = np.array([[_ert(assessment, cell, name, index) / cell.unit for cell in cells] for name in names])
    functions = shown_functions(cells, numbers=True)
    target = _target_name(cells[0], index)
    label = "ERT / dimension" if cells[0].dimension else "ERT"
    figure = figures.heat_map(
        table,
        names,
        functions,
        label=label,
        numbers=f"The expected runtime to {target}, in {label.replace('ERT', 'evaluations')}",
        best="lowest",
        spacing="log",
        column_label="function",
    )
    alt = f"Matrix of {listed(names)} and functions: {label} to {target}."
    figure = replace(figure, title=f"Expected runtimes to {target}", alt=alt)
    return exhibit(figure, f"ert {scope}", ("algorithm", *functions), labelled(names, table), scope)


def over_targets(assessment: Assessment, cell: Cell, targets: FloatArray) -> Exhibit:
    """Expected runtimes on one function over its targets."""
    erts = {name: assessment.erts[cell, name] for name in cell.trials}
    hits = {name: np.isfinite(assessment.hits[cell, name]) for name in cell.trials}
    sizes = set(map(len, hits.values()))
    runs = sizes.pop() if len(sizes) == 1 else None
    successes = {name: hit.sum(axis=0) for name, hit in hits.items()}
    figure = figures.ert_over_targets(
        targets,
        erts,
        successes=successes if runs else None,
        runs=runs,
        order=assessment.subject.algorithms,
        target=f"target {'value' if cell.absolute else 'precision'}",
    )
    rows = by_algorithm({name: (targets, erts[name], successes[name]) for name in erts})
    return exhibit(figure, f"ert {cell.name}", ("algorithm", "target", "ert", "successes"), rows, cell.title)


def scaling(assessment: Assessment, suite: str, function: str) -> Exhibit | None:
    """Expected runtimes to one target over the dimension; None if there are fewer than two dimensions."""
    own = [cell for cell in assessment.subject.cells if (cell.suite, cell.function) == (suite, function)]
    cells = sorted((cell for cell in own if cell.dimension), key=lambda cell: cell.dimension)
    if len(cells) < 2:
        return None
    scope = f"{suite} {function_label(function)}".strip()
    names = [name for name in assessment.subject.algorithms if any(name in cell.trials for cell in cells)]
    index, dimensions = _index(assessment, cells), [cell.dimension for cell in cells]
    ert = {name: [_ert(assessment, cell, name, index) for cell in cells] for name in names}
    if len(names) > len(PALETTE):  # those that reach the target in most dimensions, then fastest in the last
        reached = {name: np.isfinite(times).sum() for name, times in ert.items()}
        names = sorted(names, key=lambda name: (-reached[name], ert[name][-1]))[: len(PALETTE)]
        ert = {name: ert[name] for name in sorted(names)}
    spent = {
        name: [float(cell.trials[name].evaluations.max()) if name in cell.trials else np.nan for cell in cells]
        for name in ert
    }
    figure = figures.ert_over_dimension(dimensions, ert, spent=spent, order=_colored(assessment, list(ert)))
    figure = replace(figure, title=f"Scaling of the expected runtime to {_target_name(cells[0], index)}")
    if len(ert) < len({name for cell in cells for name in cell.trials}):
        most = f" Only the {len(ert)} algorithms that get furthest are shown."
        figure = replace(figure, caption=figure.caption + most)
    rows = zip(dimensions, *ert.values(), strict=True)
    where = f"{suite} {function_name(suite, function)}".strip()
    return exhibit(figure, f"scaling {scope}", ("dimension", *ert), rows, where)


def convergence(assessment: Assessment, cell: Cell) -> Exhibit:
    """Median and quartiles of the best-so-far values on one function over the budget."""
    budgets = cell.budgets(_GRID)
    values = {name: values_at(cell.curves(name), budgets) for name in cell.trials}
    quantiles = {  # before a run's first evaluation, its value is unknown rather than infinite
        name: summarize_values(np.where(np.isinf(best), np.nan, best), levels=_QUARTILES).quantiles
        for name, best in values.items()
    }
    figure = figures.convergence(budgets, quantiles, order=assessment.subject.algorithms, value=value_label(cell))
    rows = by_algorithm({name: (budgets, *levels) for name, levels in quantiles.items()})
    columns = ("algorithm", "evaluations", "q25", "median", "q75")
    return exhibit(figure, f"convergence {cell.name}", columns, rows, cell.title)


def attainment_ecdf(assessment: Assessment, cell: Cell) -> Exhibit:
    """Share of values attained on one function over the budget."""
    budgets = cell.budgets(_GRID)
    shares = {name: share_attained(cell.curves(name), values=cell.value_bounds(name))(budgets) for name in cell.trials}
    area = {name: assessment.area(cell, name) for name in cell.trials}
    figure = figures.attainment_ecdf(
        budgets, shares, area=area, bands=_bands(cell, budgets), order=assessment.subject.algorithms
    )
    rows = by_algorithm({name: (budgets, share) for name, share in shares.items()})
    return exhibit(figure, f"attainment-ecdf {cell.name}", ("algorithm", "evaluations", "share"), rows, cell.title)


def attainment(cell: Cell, name: str, *, lines: Sequence[float] = _QUARTILES, points: int = _GRID) -> Exhibit:
    """The empirical attainment function of an algorithm on one function, with contours at shares of its runs."""
    budgets, values = grid_of(cell, points)
    share = eaf_grid(values_at(cell.curves(name), budgets), values)
    figure = replace(
        figures.attainment(budgets, values, share, lines=lines, value=value_label(cell), spacing="log"),
        title=f"Empirical attainment function of {name}",
        alt=f"Share of the runs of {name} that attained each value within each budget.",
    )
    return surface(figure, f"attainment {cell.name} {name}", budgets, values, share, cell.title)


def difference(
    assessment: Assessment, cell: Cell, pair: tuple[str, str], *, level: float = 0.5, points: int = _GRID
) -> Exhibit:
    """Difference of the empirical attainment functions of two algorithms on one function, with their level curves."""
    budgets, values = grid_of(cell, points)
    first, second = (values_at(cell.curves(name), budgets) for name in pair)
    difference = eaf_difference_grid(first, [second], values)
    figure = figures.attainment_difference(
        budgets,
        values,
        difference,
        pair,
        lines=(_attained_by(first, level), _attained_by(second, level)),
        level=level,
        order=assessment.subject.algorithms,
        value=value_label(cell),
        spacing="log",
    )
    return surface(figure, f"difference {cell.name} {'-'.join(pair)}", budgets, values, difference, cell.title)


def portfolio_difference(assessment: Assessment, cell: Cell, name: str, *, points: int = _GRID) -> Exhibit:
    """Where an algorithm attains more than every other one on the same function, or less than at least one of them."""
    budgets, values = grid_of(cell, points)
    best = {each: values_at(cell.curves(each), budgets) for each in cell.trials}
    others = [best[each] for each in best if each != name]
    difference = eaf_difference_grid(best[name], others, values)
    figure = figures.attainment_difference(
        budgets,
        values,
        difference,
        (name, _OTHERS),
        order=(*assessment.subject.algorithms, _OTHERS),
        value=value_label(cell),
        spacing="log",
    )
    return surface(figure, f"difference {cell.name} {name} portfolio", budgets, values, difference, cell.title)


def _bands(cell: Cell, budgets: FloatArray) -> dict[str, FloatArray]:
    """(2, T) bootstrap bands of the attainment ECDFs of algorithms with at least two runs."""
    bands: dict[str, FloatArray] = {}
    for name, trials in cell.trials.items():
        if len(trials.runs) > 1:
            shares = values_at(attained_share(cell.curves(name), values=cell.value_bounds(name)), budgets)
            band = bootstrap_band(shares, rng=np.random.default_rng(0), resamples=_RESAMPLES)
            bands[name] = np.stack([band.lower, band.upper])
    return bands


def _attained_by(values: FloatArray, share: float) -> FloatArray:
    """(T,) best value attained by at least a share of the runs (runs, T) by each time; NaN if there is none."""
    (needed,) = runs_making([share], len(values))
    line = np.sort(values, axis=0)[needed - 1]
    return np.where(np.isfinite(line), line, np.nan)


def parameter(assessment: Assessment, cell: Cell, name: str, parameter: str) -> Exhibit:
    """Median and quartiles of an algorithm's parameter over the budget."""
    budgets = cell.budgets(_GRID)
    logged = parameter_at_times(cell.trials[name].runs, parameter, budgets)
    quantiles = summarize_values(logged, levels=_QUARTILES, omit_unknown=True).quantiles
    figure = figures.parameter_over_time(budgets, {name: quantiles}, parameter, order=assessment.subject.algorithms)
    rows, columns = zip(budgets, *quantiles, strict=True), ("evaluations", "q25", "median", "q75")
    return exhibit(figure, f"{parameter} {cell.name} {name}", columns, rows, cell.title)


def shown_functions(cells: Sequence[Cell], *, numbers: bool = False) -> list[str]:
    """Labels of functions in figures, with suites if there are several; with `numbers`, numbers for unnamed ones."""
    if len({cell.suite for cell in cells}) > 1:
        return [f"{cell.suite} {cell.shown}".strip() for cell in cells]
    return [cell.function if numbers and cell.shown == cell.label else cell.shown for cell in cells]


def exhibit(
    figure: figures.Figure, name: str, columns: Sequence[str], rows: Iterable[Iterable[Any]], scope: str
) -> Exhibit:
    """A figure with its data, named with letters, digits and hyphens only; `scope` is added to the figure's title."""
    slug = "-".join("".join(c if c.isalnum() else " " for c in name).split())
    return Exhibit(replace(figure, title=f"{figure.title}, {scope}"), Data.of(slug, columns, rows))


def surface(
    figure: figures.Figure, name: str, budgets: FloatArray, values: FloatArray, shares: FloatArray, scope: str
) -> Exhibit:
    """Like `exhibit`, for a share at every budget and value."""
    rows = ((budget, value, shares[t, v]) for t, budget in enumerate(budgets) for v, value in enumerate(values))
    return exhibit(figure, name, ("evaluations", "value", "share"), rows, scope)


def by_algorithm(columns: Mapping[str, Sequence[Any]]) -> Rows:
    """One row per entry of an algorithm's columns, beginning with its name."""

    def rows() -> Iterator[tuple[Any, ...]]:
        return ((name, *row) for name, own in columns.items() for row in zip(*own, strict=True))

    return Rows(sum(len(own[0]) for own in columns.values()), rows)


def labelled(names: Sequence[str], table: FloatArray) -> Iterator[list[Any]]:
    """The rows of a matrix, each beginning with its name."""
    return ([name, *row] for name, row in zip(names, table, strict=True))


def _thinned(distribution: RuntimeDistribution) -> FloatArray:
    """Runtimes at which the distribution steps: all if they are few, else evenly many per decade."""
    runtimes = distribution.runtimes[np.diff(distribution.runtimes, prepend=-np.inf) > 0]
    if runtimes.size <= _STEPS:
        return runtimes
    wanted = Bounds.of(runtimes, log=True).spaced(_STEPS)
    return np.unique(runtimes[np.searchsorted(runtimes, wanted, side="right") - 1])


def grid_of(cell: Cell, points: int = _GRID) -> tuple[FloatArray, FloatArray]:
    """A grid of at most `points` budgets and `points` values that covers the runs of the cell."""
    budgets = cell.budgets(points)
    best = np.concatenate([values_at(cell.curves(name), budgets).ravel() for name in cell.trials])
    reached = best[np.isfinite(best)] if np.isfinite(best).any() else np.zeros(1)
    if cell.knows_optima:
        least = cell.precisions.low
        low, high = max(float(reached.min()), least), max(float(reached.max()), least)
        return budgets, np.geomspace(low, max(high, 10 * low), points)
    low, high = float(reached.min()), float(reached.max())
    return budgets, np.linspace(low, high if low < high else low + max(1.0, abs(low)), points)


def _ert(assessment: Assessment, cell: Cell, name: str, index: int) -> float:
    """The expected runtime to one target; NaN if the algorithm was not run there."""
    return assessment.erts[cell, name][index] if name in cell.trials else np.nan


def _index(assessment: Assessment, cells: Sequence[Cell]) -> int:
    """Index of the target in heat maps and scaling: closest to 1e-7, or the hardest reached on half if easier."""
    targets = cells[0].targets
    if targets is None or cells[0].absolute:
        return -1
    wanted = int(np.argmin(np.abs(np.log(np.maximum(targets, 1e-300) / _SHOWN_TARGET))))
    reached = np.array(
        [np.isfinite([assessment.erts[cell, name] for name in cell.trials]).any(axis=0) for cell in cells]
    )
    enough = np.flatnonzero(reached.mean(axis=0) >= 0.5)
    return min(wanted, int(enough[-1]) if enough.size else 0)


def _target_name(cell: Cell, index: int) -> str:
    if cell.targets is None:
        return "the hardest target"
    return f"{'value' if cell.absolute else 'precision'} {cell.targets[index]:.3g}"


def value_label(cell: Cell) -> str:
    """Label of the best-so-far values of a problem."""
    return "best precision so far" if cell.knows_optima else "best value so far"

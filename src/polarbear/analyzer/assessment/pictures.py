"""The figures of an assessment: an overview for the page, and plates of single functions for a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from polarbear import figures
from polarbear.analyzer.html import Picture, picture
from polarbear.assess import (
    Bounds,
    RuntimeDistribution,
    attainment_ecdf,
    eaf_difference_grid,
    eaf_grid,
    parameter_at_times,
    parameter_names,
    summarize_values,
    values_at,
)
from polarbear.assess.report.comparison import Comparison
from polarbear.assess.report.data import Data
from polarbear.assess.report.statistics import Assessment
from polarbear.assess.report.subject import Cell
from polarbear.assess.trials import function_label
from polarbear.descriptions import listed
from polarbear.figures import Distribution
from polarbear.records import FloatArray

_GRID = 60
_STEPS = 400
_QUARTILES = (0.25, 0.5, 0.75)
_SHOWN_TARGET = 1e-7
"""The target of heat maps and of scaling, if any algorithm reached it."""


def overview(assessment: Assessment) -> list[Picture]:
    """Per dimension: the runtime distributions over all functions, and expected runtimes to one target."""
    pictures: list[Picture] = []
    for dimension in assessment.subject.dimensions:
        cells = assessment.subject.within(dimension)
        functions = f"{len(cells)} functions" if len(cells) > 1 else " ".join(cell.label for cell in cells)
        where = f"{functions} in {dimension}-D" if dimension else functions
        if pooled := assessment.over_functions(dimension):
            pictures.append(_runtime_distributions(assessment, pooled, where, dimension))
        pictures.append(_expected_runtimes(assessment, cells, where))
    return pictures


def plates(assessment: Assessment) -> Iterator[tuple[str, Picture]]:
    """For every function and dimension its figures, each with a name; and the scaling of every function."""
    for cell in assessment.subject.cells:
        stem = "-".join(filter(None, (cell.suite, cell.label, f"d{cell.dimension}" if cell.dimension else "")))
        own = {name: assessment.distributions[cell, name] for name in cell.trials}
        yield f"{stem}-runtime-distributions", _runtime_distributions(assessment, own, cell.name, cell.dimension)
        if cell.targets is not None:
            yield f"{stem}-ert", _over_targets(assessment, cell, cell.targets)
        yield f"{stem}-convergence", _convergence(assessment, cell)
        yield f"{stem}-attainment-ecdf", _attainment_ecdf(assessment, cell)
        for name in cell.trials:
            yield f"{stem}-attainment-{name}", _attainment(cell, name)
            for parameter in parameter_names(cell.trials[name].runs):
                yield f"{stem}-{parameter}-{name}", _parameter(assessment, cell, name, parameter)
        for pair in combinations(cell.trials, 2):
            yield f"{stem}-difference-{pair[0]}-{pair[1]}", _difference(assessment, cell, pair)
    for suite, function in dict.fromkeys((cell.suite, cell.function) for cell in assessment.subject.cells):
        if scaled := _scaling(assessment, suite, function):
            yield "-".join(filter(None, (suite, function_label(function), "scaling"))), scaled


def comparison_pictures(comparison: Comparison, order: tuple[str, ...]) -> list[Picture]:
    """On how many problems each is significantly better than each other, and the order on a single problem."""
    names = comparison.algorithms
    matrix = figures.heat_map(
        np.where(np.eye(len(names), dtype=bool), np.nan, comparison.wins),
        names,
        names,
        label="problems on which the row is better",
        numbers="Problems on which the algorithm of the row is significantly better than that of the column",
        limits=(0, len(comparison.cells)),
        form=lambda number: f"{number:.0f}",
    )
    alt = f"Matrix of {listed(names)}: on how many problems the row is significantly better."
    data = Data.of("wins", ("algorithm", *names), _labelled(names, comparison.wins))
    pictures = [picture(replace(matrix, title="Significant wins", alt=alt), (data,))]
    if len(comparison.cells) == 1:
        ((problem, ranks),) = comparison.orders.items()
        layers = [
            [name for name, level in zip(ranks.names, ranks.levels, strict=True) if level == at]
            for at in range(int(ranks.levels.max()) + 1)
        ]
        pairs = [(row["better"], row["worse"]) for row in ranks.rows()]
        figure = figures.partial_order(layers, pairs, order=order, alpha=comparison.tests[problem].alpha)
        figure = replace(figure, title=f"Who beats whom on {problem}")
        pictures.append(picture(figure, (Data.of("order", ("better", "worse"), pairs),)))
    return pictures


def _runtime_distributions(
    assessment: Assessment, distributions: Mapping[str, RuntimeDistribution], where: str, dimension: int
) -> Picture:
    unit, cost = max(1, dimension), "evaluations / dimension" if dimension else "evaluations"
    curves: dict[str, Distribution] = {}
    for name, curve in distributions.items():
        steps = _thinned(curve)
        curves[name] = replace(
            Distribution.of(curve),
            at=steps / unit,
            share=curve.at(steps),
            spent=curve.cross[0] / unit if curve.cross else None,
        )
    figure = figures.runtime_distributions(
        curves,
        order=assessment.subject.algorithms,
        cost=cost,
        restarts=any(curve.simulated.any() for curve in distributions.values()),
    )
    pairs = next(iter(distributions.values())).problems
    figure = replace(
        figure, alt=f"Share of {pairs} function-target pairs that {listed(distributions)} solved, over the budget."
    )
    rows = _by_algorithm({name: (curve.at, curve.share) for name, curve in curves.items()})
    return _picture(figure, f"runtime-distributions {where}", ("algorithm", cost, "share"), rows, where)


def _expected_runtimes(assessment: Assessment, cells: Sequence[Cell], where: str) -> Picture:
    """Heat map of expected runtimes to one target, by algorithm and function."""
    names, index = assessment.subject.algorithms, _index(assessment, cells)
    table = np.array([[_ert(assessment, cell, name, index) / cell.unit for cell in cells] for name in names])
    several = len({cell.suite for cell in cells}) > 1
    functions = [f"{cell.suite} {cell.label}".strip() if several else cell.function for cell in cells]
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
    return _picture(figure, f"ert {where}", ("algorithm", *functions), _labelled(names, table), where)


def _over_targets(assessment: Assessment, cell: Cell, targets: FloatArray) -> Picture:
    summaries = {name: assessment.runtimes[cell, name] for name in cell.trials}
    sizes = {summary.runs for summary in summaries.values()}
    runs = sizes.pop() if len(sizes) == 1 else None
    figure = figures.ert_over_targets(
        targets,
        {name: summary.ert for name, summary in summaries.items()},
        successes={name: summary.successes for name, summary in summaries.items()} if runs else None,
        runs=runs,
        order=assessment.subject.algorithms,
        target=f"target {'value' if cell.absolute else 'precision'}",
    )
    rows = _by_algorithm({name: (targets, summary.ert, summary.successes) for name, summary in summaries.items()})
    return _picture(figure, f"ert {cell.name}", ("algorithm", "target", "ert", "successes"), rows, cell.name)


def _scaling(assessment: Assessment, suite: str, function: str) -> Picture | None:
    """Expected runtimes to one target over the dimension; None with fewer than two dimensions."""
    own = [cell for cell in assessment.subject.cells if (cell.suite, cell.function) == (suite, function)]
    cells = sorted((cell for cell in own if cell.dimension), key=lambda cell: cell.dimension)
    if len(cells) < 2:
        return None
    where = f"{suite} {function_label(function)}".strip()
    names = [name for name in assessment.subject.algorithms if any(name in cell.trials for cell in cells)]
    index, dimensions = _index(assessment, cells), [cell.dimension for cell in cells]
    ert = {name: [_ert(assessment, cell, name, index) for cell in cells] for name in names}
    spent = {
        name: [float(cell.trials[name].evaluations.max()) if name in cell.trials else np.nan for cell in cells]
        for name in names
    }
    figure = figures.ert_over_dimension(dimensions, ert, spent=spent, order=assessment.subject.algorithms)
    figure = replace(figure, title=f"Scaling of the expected runtime to {_target_name(cells[0], index)}")
    rows = zip(dimensions, *ert.values(), strict=True)
    return _picture(figure, f"scaling {where}", ("dimension", *names), rows, where)


def _convergence(assessment: Assessment, cell: Cell) -> Picture:
    budgets = cell.budgets(_GRID)
    values = {name: values_at(cell.curves(name), budgets) for name in cell.trials}
    quantiles = {  # before the first evaluation of a run its value is unknown rather than infinite
        name: summarize_values(np.where(np.isinf(best), np.nan, best), levels=_QUARTILES).quantiles
        for name, best in values.items()
    }
    figure = figures.convergence(budgets, quantiles, order=assessment.subject.algorithms, value=_value_label(cell))
    rows = _by_algorithm({name: (budgets, *levels) for name, levels in quantiles.items()})
    columns = ("algorithm", "evaluations", "q25", "median", "q75")
    return _picture(figure, f"convergence {cell.name}", columns, rows, cell.name)


def _attainment_ecdf(assessment: Assessment, cell: Cell) -> Picture:
    budgets = cell.budgets(_GRID)
    shares = {name: attainment_ecdf(cell.curves(name), values=cell.value_bounds(name))(budgets) for name in cell.trials}
    area = {name: assessment.area(cell, name) for name in cell.trials}
    figure = figures.attainment_ecdf(budgets, shares, area=area, order=assessment.subject.algorithms)
    rows = _by_algorithm({name: (budgets, share) for name, share in shares.items()})
    return _picture(figure, f"attainment-ecdf {cell.name}", ("algorithm", "evaluations", "share"), rows, cell.name)


def _attainment(cell: Cell, name: str) -> Picture:
    budgets, values = _grid(cell)
    share = eaf_grid(values_at(cell.curves(name), budgets), values)
    figure = replace(
        figures.attainment(budgets, values, share, value=_value_label(cell)),
        title=f"Empirical attainment function of {name}",
        alt=f"Share of the runs of {name} that attained each value within each budget.",
    )
    return _surface(figure, f"attainment {cell.name} {name}", budgets, values, share, cell.name)


def _difference(assessment: Assessment, cell: Cell, pair: tuple[str, str]) -> Picture:
    budgets, values = _grid(cell)
    first, second = (values_at(cell.curves(name), budgets) for name in pair)
    difference = eaf_difference_grid(first, [second], values)
    figure = figures.attainment_difference(
        budgets, values, difference, pair, order=assessment.subject.algorithms, value=_value_label(cell)
    )
    return _surface(figure, f"difference {cell.name} {'-'.join(pair)}", budgets, values, difference, cell.name)


def _parameter(assessment: Assessment, cell: Cell, name: str, parameter: str) -> Picture:
    budgets = cell.budgets(_GRID)
    logged = parameter_at_times(cell.trials[name].runs, parameter, budgets)
    quantiles = summarize_values(logged, levels=_QUARTILES, omit_unknown=True).quantiles
    figure = figures.parameter_over_time(budgets, {name: quantiles}, parameter, order=assessment.subject.algorithms)
    rows, columns = zip(budgets, *quantiles, strict=True), ("evaluations", "q25", "median", "q75")
    return _picture(figure, f"{parameter} {cell.name} {name}", columns, rows, cell.name)


def _picture(
    figure: figures.Figure, name: str, columns: Sequence[str], rows: Iterable[Iterable[Any]], where: str
) -> Picture:
    """A figure with its data, which are named in letters, digits and hyphens."""
    slug = "-".join("".join(c if c.isalnum() else " " for c in name).split())
    return picture(figure, (Data.of(slug, columns, rows),), where)


def _surface(
    figure: figures.Figure, name: str, budgets: FloatArray, values: FloatArray, shares: FloatArray, where: str
) -> Picture:
    rows = ((budget, value, shares[t, v]) for t, budget in enumerate(budgets) for v, value in enumerate(values))
    return _picture(figure, name, ("evaluations", "value", "share"), rows, where)


def _by_algorithm(columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """A row for each entry of an algorithm's columns, with its name first."""
    return ((name, *row) for name, own in columns.items() for row in zip(*own, strict=True))


def _labelled(names: Sequence[str], table: FloatArray) -> Iterator[list[Any]]:
    return ([name, *row] for name, row in zip(names, table, strict=True))


def _thinned(distribution: RuntimeDistribution) -> FloatArray:
    """Some of the runtimes at which the distribution steps: all of a few, else evenly many per decade."""
    runtimes = distribution.runtimes
    if np.unique(runtimes).size <= _STEPS:
        return np.unique(runtimes)
    wanted = Bounds.of(runtimes, log=True).spaced(_STEPS)
    return np.unique(runtimes[np.searchsorted(runtimes, wanted, side="right") - 1])


def _grid(cell: Cell) -> tuple[FloatArray, FloatArray]:
    """Budgets and values of a surface."""
    budgets = cell.budgets(_GRID)
    if cell.knows_optima:
        return budgets, cell.precisions.spaced(_GRID)
    best = np.concatenate([values_at(cell.curves(name), budgets).ravel() for name in cell.trials])
    reached = best[np.isfinite(best)] if np.isfinite(best).any() else np.zeros(1)
    low, high = float(reached.min()), float(reached.max())
    return budgets, np.linspace(low, high if low < high else low + max(1.0, abs(low)), _GRID)


def _ert(assessment: Assessment, cell: Cell, name: str, index: int) -> float:
    """The expected runtime to one target; NaN if the algorithm did not run there."""
    return assessment.runtimes[cell, name].ert[index] if name in cell.trials else np.nan


def _index(assessment: Assessment, cells: Sequence[Cell]) -> int:
    """Which target heat maps and scaling show: that next to 1e-7, or the hardest that was reached if that is easier."""
    targets = cells[0].targets
    if targets is None or cells[0].absolute:
        return -1
    wanted = int(np.argmin(np.abs(np.log(np.maximum(targets, 1e-300) / _SHOWN_TARGET))))
    erts = [assessment.runtimes[cell, name].ert for cell in cells for name in cell.trials]
    return min(wanted, max(0, int(np.isfinite(erts).sum(axis=1).max()) - 1))


def _target_name(cell: Cell, index: int) -> str:
    if cell.targets is None:
        return "the hardest target"
    return f"{'value' if cell.absolute else 'precision'} {cell.targets[index]:.3g}"


def _value_label(cell: Cell) -> str:
    return "best precision so far" if cell.knows_optima else "best value so far"

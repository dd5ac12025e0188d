"""The figures of an assessment: an overview for the page, and plates of single functions for a folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

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
    found: list[Picture] = []
    for dimension in assessment.subject.dimensions:
        cells = assessment.subject.within(dimension)
        if pooled := assessment.over_functions(dimension):
            found.append(_runtimes_of(pooled, _place(cells, dimension), dimension, assessment))
        found.append(_erts(assessment, cells, dimension))
    return found


def plates(assessment: Assessment) -> Iterator[tuple[str, Picture]]:
    """For every function and dimension its figures, each with a name; and the scaling of every function."""
    for cell in assessment.subject.cells:
        stem = "-".join(filter(None, (cell.suite, cell.label, f"d{cell.dimension}" if cell.dimension else "")))
        own = {name: assessment.distributions[cell, name] for name in cell.trials}
        yield f"{stem}-runtime-distributions", _runtimes_of(own, cell.name, cell.dimension, assessment)
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


def comparison_pictures(found: Comparison, order: tuple[str, ...]) -> list[Picture]:
    """Who is significantly better than whom on how many problems, and the order that a single problem induces."""
    data = Data.of(
        "wins", ("algorithm", *found.algorithms), ([n, *r] for n, r in zip(found.algorithms, found.wins, strict=True))
    )
    wins = np.where(np.eye(len(found.algorithms), dtype=bool), np.nan, found.wins)
    matrix = figures.heat_map(
        wins,
        found.algorithms,
        found.algorithms,
        label="problems on which the row is better",
        numbers="Problems on which the algorithm of the row is significantly better than that of the column",
        limits=(0, len(found.cells)),
        form=lambda number: f"{number:.0f}",
    )
    alt = f"Matrix of {listed(found.algorithms)}: on how many problems the row is significantly better."
    pictures = [picture(replace(matrix, title="Significant wins", alt=alt), (data,))]
    if len(found.cells) == 1:
        (name,) = found.orders
        ranks = found.orders[name]
        layers = [
            [one for one, level in zip(ranks.names, ranks.levels, strict=True) if level == at]
            for at in range(int(ranks.levels.max()) + 1)
        ]
        pairs = [(row["better"], row["worse"]) for row in ranks.rows()]
        figure = figures.partial_order(layers, pairs, order=order, alpha=found.tests[name].alpha)
        figure = replace(figure, title=f"Who beats whom on {name}")
        pictures.append(picture(figure, (Data.of("order", ("better", "worse"), pairs),)))
    return pictures


def _runtimes_of(found: dict[str, RuntimeDistribution], place: str, dimension: int, assessment: Assessment) -> Picture:
    unit = max(1, dimension)
    steps = {name: _thinned(one) for name, one in found.items()}
    curves = {
        name: Distribution(
            steps[name] / unit,
            one.at(steps[name]),
            spent=one.cross[0] / unit if one.cross else None,
            solved=one.solved,
        )
        for name, one in found.items()
    }
    cost = "evaluations / dimension" if dimension else "evaluations"
    rows = (
        (name, runtime, share)
        for name, one in found.items()
        for runtime, share in zip(steps[name] / unit, one.at(steps[name]), strict=True)
    )
    figure = figures.runtime_distributions(
        curves,
        order=assessment.subject.algorithms,
        cost=cost,
        restarts=any(one.simulated.any() for one in found.values()),
    )
    targets = next(iter(found.values())).problems
    alt = f"Share of {targets} function-target pairs that {listed(found)} solved, over the budget."
    data = Data.of(f"runtime-distributions-{_slug(place)}", ("algorithm", cost, "share"), rows)
    return picture(replace(figure, alt=alt), (data,), place)


def _erts(assessment: Assessment, cells: tuple[Cell, ...], dimension: int) -> Picture:
    """Heat map of expected runtimes to one target, by algorithm and function."""
    names = assessment.subject.algorithms
    table = np.full((len(names), len(cells)), np.nan)
    index = _index(assessment, cells)
    for column, cell in enumerate(cells):
        for row, name in enumerate(names):
            if name in cell.trials:
                table[row, column] = assessment.runtimes[cell, name].ert[index] / cell.unit
    several = len({cell.suite for cell in cells}) > 1
    functions = [f"{cell.suite} {cell.label}".strip() if several else cell.function for cell in cells]
    target = _target_name(cells[0], index)
    label = "ERT / dimension" if dimension else "ERT"
    place = _place(cells, dimension)
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
    rows = ([name, *row] for name, row in zip(names, table, strict=True))
    data = Data.of(f"ert-{_slug(place)}", ("algorithm", *functions), rows)
    return picture(replace(figure, title=f"Expected runtimes to {target}", alt=alt), (data,), place)


def _over_targets(assessment: Assessment, cell: Cell, targets: FloatArray) -> Picture:
    found = {name: assessment.runtimes[cell, name] for name in cell.trials}
    sizes = {one.runs for one in found.values()}
    runs = sizes.pop() if len(sizes) == 1 else None
    rows = ((name, *row) for name, one in found.items() for row in zip(targets, one.ert, one.successes, strict=True))
    figure = figures.ert_over_targets(
        targets,
        {name: one.ert for name, one in found.items()},
        successes={name: one.successes for name, one in found.items()} if runs else None,
        runs=runs,
        order=assessment.subject.algorithms,
        target=f"target {'value' if cell.absolute else 'precision'}",
    )
    data = Data.of(f"ert-{_slug(cell.name)}", ("algorithm", "target", "ert", "successes"), rows)
    return picture(figure, (data,), cell.name)


def _scaling(assessment: Assessment, suite: str, function: str) -> Picture | None:
    """Expected runtimes to one target over the dimension; None with fewer than two dimensions."""
    own = [cell for cell in assessment.subject.cells if (cell.suite, cell.function) == (suite, function)]
    cells = sorted((cell for cell in own if cell.dimension), key=lambda cell: cell.dimension)
    if len(cells) < 2:
        return None
    label = function_label(function)
    names = [name for name in assessment.subject.algorithms if any(name in cell.trials for cell in cells)]
    index = _index(assessment, cells)
    dimensions = [cell.dimension for cell in cells]
    ert = {
        name: [assessment.runtimes[cell, name].ert[index] if name in cell.trials else np.nan for cell in cells]
        for name in names
    }
    spent = {
        name: [float(cell.trials[name].evaluations.max()) if name in cell.trials else np.nan for cell in cells]
        for name in names
    }
    target, name = _target_name(cells[0], index), _slug(f"scaling-{suite}-{label}")
    figure = figures.ert_over_dimension(dimensions, ert, spent=spent, order=assessment.subject.algorithms)
    figure = replace(figure, title=f"Scaling of the expected runtime to {target}")
    data = Data.of(name, ("dimension", *names), zip(dimensions, *ert.values(), strict=True))
    return picture(figure, (data,), f"{suite} {label}".strip())


def _convergence(assessment: Assessment, cell: Cell) -> Picture:
    budgets = cell.budgets(_GRID)
    quantiles = {
        name: summarize_values(_known(values_at(cell.curves(name), budgets)), levels=_QUARTILES).quantiles
        for name in cell.trials
    }
    rows = (
        (name, budget, *at) for name, found in quantiles.items() for budget, *at in zip(budgets, *found, strict=True)
    )
    figure = figures.convergence(budgets, quantiles, order=assessment.subject.algorithms, value=_value_label(cell))
    data = Data.of(f"convergence-{_slug(cell.name)}", ("algorithm", "evaluations", "q25", "median", "q75"), rows)
    return picture(figure, (data,), cell.name)


def _attainment_ecdf(assessment: Assessment, cell: Cell) -> Picture:
    budgets = cell.budgets(_GRID)
    curves = {name: attainment_ecdf(cell.curves(name), values=cell.value_bounds(name)) for name in cell.trials}
    shares = {name: curve(budgets) for name, curve in curves.items()}
    area = {name: assessment.area(cell, name) for name in cell.trials}
    rows = ((name, *row) for name, share in shares.items() for row in zip(budgets, share, strict=True))
    figure = figures.attainment_ecdf(budgets, shares, area=area, order=assessment.subject.algorithms)
    data = Data.of(f"attainment-ecdf-{_slug(cell.name)}", ("algorithm", "evaluations", "share"), rows)
    return picture(figure, (data,), cell.name)


def _attainment(cell: Cell, name: str) -> Picture:
    budgets, values = _grid(cell)
    share = eaf_grid(values_at(cell.curves(name), budgets), values)
    figure = figures.attainment(budgets, values, share, value=_value_label(cell))
    figure = replace(
        figure,
        title=f"Empirical attainment function of {name}",
        alt=f"Share of the runs of {name} that attained each value within each budget.",
    )
    return picture(
        figure, (_surface(f"attainment-{_slug(cell.name)}-{_slug(name)}", budgets, values, share),), cell.name
    )


def _difference(assessment: Assessment, cell: Cell, pair: tuple[str, str]) -> Picture:
    budgets, values = _grid(cell)
    first, second = (values_at(cell.curves(name), budgets) for name in pair)
    difference = eaf_difference_grid(first, [second], values)
    figure = figures.attainment_difference(
        budgets, values, difference, pair, order=assessment.subject.algorithms, value=_value_label(cell)
    )
    name = f"difference-{_slug(cell.name)}-{_slug('-'.join(pair))}"
    return picture(figure, (_surface(name, budgets, values, difference),), cell.name)


def _parameter(assessment: Assessment, cell: Cell, name: str, parameter: str) -> Picture:
    budgets = cell.budgets(_GRID)
    found = parameter_at_times(cell.trials[name].runs, parameter, budgets)
    quantiles = summarize_values(found, levels=_QUARTILES, omit_unknown=True).quantiles
    figure = figures.parameter_over_time(budgets, {name: quantiles}, parameter, order=assessment.subject.algorithms)
    data = Data.of(
        f"{_slug(parameter)}-{_slug(cell.name)}-{_slug(name)}",
        ("evaluations", "q25", "median", "q75"),
        zip(budgets, *quantiles, strict=True),
    )
    return picture(figure, (data,), cell.name)


def _thinned(found: RuntimeDistribution) -> FloatArray:
    """Some of the runtimes at which the distribution steps: all of a few, else evenly many per decade."""
    if np.unique(found.runtimes).size <= _STEPS:
        return np.unique(found.runtimes)
    wanted = Bounds.of(found.runtimes, log=True).spaced(_STEPS)
    return np.unique(found.runtimes[np.searchsorted(found.runtimes, wanted, side="right") - 1])


def _grid(cell: Cell) -> tuple[FloatArray, FloatArray]:
    """Budgets and values of a surface."""
    budgets = cell.budgets(_GRID)
    if cell.knows_optima:
        return budgets, cell.precisions.spaced(_GRID)
    best = np.concatenate([values_at(cell.curves(name), budgets).ravel() for name in cell.trials])
    reached = best[np.isfinite(best)] if np.isfinite(best).any() else np.zeros(1)
    low, high = float(reached.min()), float(reached.max())
    return budgets, np.linspace(low, high if low < high else low + max(1.0, abs(low)), _GRID)


def _known(values: FloatArray) -> FloatArray:
    """Values of which those before the first evaluation of a run are not known, rather than infinite."""
    return np.where(np.isinf(values), np.nan, values)


def _surface(name: str, budgets: FloatArray, values: FloatArray, heights: FloatArray) -> Data:
    rows = ((budget, value, heights[t, v]) for t, budget in enumerate(budgets) for v, value in enumerate(values))
    return Data.of(name, ("evaluations", "value", "share"), rows)


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


def _place(cells: tuple[Cell, ...], dimension: int) -> str:
    functions = f"{len(cells)} functions" if len(cells) > 1 else " ".join(cell.label for cell in cells)
    return f"{functions} in {dimension}-D" if dimension else functions


def _slug(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text).split())

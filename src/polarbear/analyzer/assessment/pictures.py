"""The figures of an assessment: an overview for the page, and plates for a folder, shown as thumbnails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.analyzer.html import Picture, picture
from polarbear.assess import parameter_names
from polarbear.assess.report.comparison import Comparison
from polarbear.assess.report.data import Data
from polarbear.assess.report.statistics import Assessment
from polarbear.assess.report.subject import Cell
from polarbear.assess.trials import function_label
from polarbear.descriptions import listed

NOTHING = charts.Backdrop()
"""No algorithms in the background."""
_COMPARED, _MOST_COMPARED = 4, 8
"""With more than eight algorithms on a function, attainment differences show the four with the largest areas."""


@dataclass(frozen=True, slots=True)
class Plate:
    """A figure in a file of its own.

    Attributes:
        section: Section of the page: "function groups", "scaling with the dimension", or a function in a dimension.
        name: File name without suffix.
        picture: The figure.
    """

    section: str
    name: str
    picture: Picture


def overview(assessment: Assessment, backdrop: charts.Backdrop = NOTHING) -> list[Picture]:
    """For each dimension, the runtime distributions over all functions and the expected runtimes to one target."""
    pictures: list[Picture] = []
    for dimension in assessment.subject.dimensions:
        cells = assessment.subject.within(dimension)
        functions = f"{len(cells)} functions" if len(cells) > 1 else " ".join(cell.label for cell in cells)
        scope = f"{functions} in {dimension}-D" if dimension else functions
        if drawn := charts.runtime_distributions(assessment, cells, scope, backdrop):
            pictures.append(drawn.picture)
        pictures.append(charts.expected_runtimes(assessment, cells, scope).picture)
    return pictures


def plates(
    assessment: Assessment, backdrop: charts.Backdrop = NOTHING, *, every_function: bool = False
) -> Iterator[Plate]:
    """Runtime distributions by function group, scaling of every function and, on request, every function by itself."""
    for dimension in assessment.subject.dimensions:
        groups: dict[tuple[str, str], list[Cell]] = {}
        for cell in assessment.subject.within(dimension):
            groups.setdefault((cell.suite, cell.group), []).append(cell)
        for (suite, group), cells in groups.items() if len(groups) > 1 else ():
            scope = f"{suite} {group or 'other functions'} in {dimension}-D"
            if drawn := charts.runtime_distributions(assessment, cells, scope, backdrop):
                yield Plate("function groups", "-".join((*scope.split(), "runtime-distributions")), drawn.picture)
    for suite, function in dict.fromkeys((cell.suite, cell.function) for cell in assessment.subject.cells):
        if scaled := charts.scaling(assessment, suite, function):
            name = "-".join(filter(None, (suite, function_label(function), "scaling")))
            yield Plate("scaling with the dimension", name, scaled.picture)
    for cell in assessment.subject.cells if every_function else ():
        yield from (Plate(cell.title, name, each.picture) for name, each in _of_cell(assessment, cell, backdrop))


def _of_cell(assessment: Assessment, cell: Cell, backdrop: charts.Backdrop) -> Iterator[tuple[str, charts.Exhibit]]:
    """The figures of one function in one dimension, with their names."""
    stem = "-".join(filter(None, (cell.suite, cell.label, f"d{cell.dimension}" if cell.dimension else "")))
    if drawn := charts.runtime_distributions(assessment, [cell], cell.title, backdrop):
        yield f"{stem}-runtime-distributions", drawn
    if cell.targets is not None:
        yield f"{stem}-ert", charts.over_targets(assessment, cell, cell.targets)
    yield f"{stem}-convergence", charts.convergence(assessment, cell)
    yield f"{stem}-attainment-ecdf", charts.attainment_ecdf(assessment, cell)
    for name in cell.trials:
        yield f"{stem}-attainment-{name}", charts.attainment(cell, name)
        for parameter in parameter_names(cell.trials[name].runs):
            yield f"{stem}-{parameter}-{name}", charts.parameter(assessment, cell, name, parameter)
    compared = sorted(cell.trials, key=lambda name: -assessment.area(cell, name))
    compared = compared[:_COMPARED] if len(compared) > _MOST_COMPARED else sorted(compared)
    for pair in combinations(compared, 2):
        yield f"{stem}-difference-{pair[0]}-{pair[1]}", charts.difference(assessment, cell, pair)
    for name in compared if len(cell.trials) > 2 else ():
        yield f"{stem}-difference-{name}-portfolio", charts.portfolio_difference(assessment, cell, name)


def comparison_pictures(comparison: Comparison, order: tuple[str, ...]) -> list[Picture]:
    """The number of significant wins of each pair of algorithms and, if there is a single problem, their order."""
    names = comparison.algorithms
    if not comparison.decisive:
        return []
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
    data = Data.of("wins", ("algorithm", *names), charts.labelled(names, comparison.wins))
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

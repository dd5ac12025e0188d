"""Separate targets for each function: as a table to edit, and from budgets.

They are the mapping V of Wang's and Vermetten's equation 2.19 (IOHprofiler thesis, section 2.4).
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from polarbear.assess import budget_targets, log_targets
from polarbear.assess.report.data import Data
from polarbear.assess.report.statistics import Assessment
from polarbear.assess.report.subject import Cell, Subject
from polarbear.records import FloatArray

Where = tuple[str, str, int]
"""Suite, function and dimension."""
EXPENSIVE_BUDGETS = tuple(10 ** (k / 15) / 2 for k in range(31))
"""The 31 budgets of COCO's expensive scenario, from 1/2 to 50 evaluations per variable (Hansen et al., footnote 19)."""
_COLUMNS = ("suite", "function", "dimension", "target")


def targets_of(subject: Subject) -> dict[Where, FloatArray]:
    """The targets of every function in every dimension, easiest first.

    Raises:
        ValueError: If targets are relative to each instance, because optima are unknown.
    """
    table: dict[Where, FloatArray] = {}
    for cell in subject.cells:
        if cell.targets is None:
            raise ValueError(f"{cell.name}: targets are relative to each instance, as not all optima are known")
        table[_where(cell)] = cell.targets
    return table


def suggest_targets(
    subject: Subject, kind: Literal["log", "linear", "bbob"] = "log", count: int = 10
) -> dict[Where, FloatArray]:
    """Targets for every function between the extremes reached by its runs, or COCO's 51 targets.

    Args:
        subject: The runs, whose optima must be known unless targets are absolute.
        kind: "log" or "linear" spacing, or "bbob" for 100 to 1e-8 whatever was reached.
        count: Number of targets, except with "bbob".

    Raises:
        ValueError: If a function has no finite value, or "log" no positive one.
    """
    return {_where(cell): log_targets() if kind == "bbob" else _spaced(cell, kind, count) for cell in subject.cells}


def budget_based_targets(
    reference: Assessment, budgets: Sequence[float] = EXPENSIVE_BUDGETS, *, distinct: bool = False
) -> dict[Where, FloatArray]:
    """Targets of every function from budgets: the easiest target that no reference algorithm reaches within each.

    Args:
        reference: Runs of the reference algorithms, with the targets to choose from (Hansen et al. 2022, section III-F,
            item 4; there the algorithms of BBOB-2009 and 51 targets).
        budgets: Increasing budgets, in evaluations per variable.
        distinct: Whether no target may be chosen twice on a function.

    Raises:
        ValueError: If targets are relative to each instance, or for the same reasons as
            `polarbear.assess.budget_targets`.
    """
    table = targets_of(reference.subject)
    chosen: dict[Where, FloatArray] = {}
    for cell in reference.subject.cells:
        erts = np.array([reference.erts[cell, name] for name in cell.trials])
        limits = np.asarray(budgets, dtype=np.float64) * cell.unit
        chosen[_where(cell)] = budget_targets(table[_where(cell)], erts, limits, distinct=distinct)
    return chosen


def with_targets(subject: Subject, table: Mapping[Where, Sequence[float] | FloatArray]) -> Subject:
    """The same runs with separate targets for each function.

    A target that occurs more than once, as budget-based targets may, counts as often as it occurs.

    Args:
        subject: The runs.
        table: (targets,) targets for every function and dimension of the subject; others are ignored.

    Raises:
        ValueError: If a function has no targets, or some are not finite; or if optima are unknown.
    """
    targets_of(subject)
    missing = [cell.name for cell in subject.cells if not len(table.get(_where(cell), ()))]
    if missing:
        raise ValueError(
            f"there are no targets for {', '.join(missing)}; add them to the table, or leave these functions out"
        )
    cells: list[Cell] = []
    for cell in subject.cells:
        targets = np.sort(np.asarray(table[_where(cell)], dtype=np.float64))[::-1]
        if not np.isfinite(targets).all():
            raise ValueError(f"targets of {cell.name} are {targets.tolist()}; each must be a finite number")
        cells.append(replace(cell, targets=targets))
    return replace(subject, cells=tuple(cells))


def target_data(table: Mapping[Where, Sequence[float] | FloatArray]) -> Data:
    """The targets as a table with a row for each; `read_targets` reads its `.csv()`."""
    return Data.of("targets", _COLUMNS, ([*where, target] for where, targets in table.items() for target in targets))


def read_targets(path: str | Path) -> dict[Where, FloatArray]:
    """Targets of every function from a CSV file with columns suite, function, dimension and target.

    Raises:
        ValueError: If a column is missing or a cell is not a number; the message names the line.
        OSError: If the file cannot be read.
    """
    table: dict[Where, list[float]] = {}
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if missing := [name for name in _COLUMNS if name not in (reader.fieldnames or ())]:
            raise ValueError(
                f"{path}: there is no column {' or '.join(missing)}; the columns must be {', '.join(_COLUMNS)}"
            )
        for row in reader:
            try:
                where = row["suite"], row["function"], int(row["dimension"])
                table.setdefault(where, []).append(float(row["target"]))
            except (TypeError, ValueError) as error:
                numbers = f"dimension {row['dimension']!r} and target {row['target']!r}"
                raise ValueError(f"{path}, line {reader.line_num}: {numbers} must be numbers") from error
    return {where: np.sort(targets)[::-1] for where, targets in table.items()}


def _where(cell: Cell) -> Where:
    return cell.suite, cell.function, cell.dimension


def _spaced(cell: Cell, kind: Literal["log", "linear", "bbob"], count: int) -> FloatArray:
    values = np.concatenate([np.empty(0), *(curve.y for name in cell.trials for curve in cell.curves(name))])
    reached = values[np.isfinite(values) & ((values > 0) | (kind == "linear"))]
    if not reached.size:
        raise ValueError(
            f"{cell.name}: no run has a finite{' positive' * (kind == 'log')} value to choose targets from"
        )
    return (np.linspace if kind == "linear" else np.geomspace)(float(reached.max()), float(reached.min()), count)

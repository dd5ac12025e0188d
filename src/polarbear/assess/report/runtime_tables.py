"""Tables of expected runtimes, one for each suite and dimension."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polarbear.assess import RuntimeTable, Trials, runtime_table
from polarbear.assess.report.subject import Cell, Subject, check_precisions
from polarbear.assess.table import divide_table
from polarbear.records import FloatArray, Reference

_TARGETS = (1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7)
_FINAL = 1e-8
_INDICATOR_TARGETS = (1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
_INDICATOR_FINAL = 1e-5
_INDICATOR_INSTANCES = tuple(map(str, range(1, 11)))
"""Instances of bbob-biobj that count in COCO's tables, which are those of best-2016."""


def runtime_tables(
    subject: Subject,
    targets: Sequence[float] | None = None,
    references: Mapping[tuple[str, int], Reference] | None = None,
    *,
    bootstraps: int = 1000,
) -> list[RuntimeTable]:
    """The tables of expected runtimes of Hansen et al. (2022, table I).

    For two objectives they follow COCO: with other targets, and for bbob-biobj only with instances 1 to 10, from which
    the reference best-2016 was made; see `left_out`.

    Args:
        subject: The runs; their optima must be known, or the targets absolute.
        targets: Target precisions; by default 10, 1, 0.1, 0.01, 1e-3, 1e-5, 1e-7, or for two objectives 1, 0.1, 0.01,
            1e-3, 1e-4, 1e-5, or the subject's if these are absolute.
        references: The reference whose expected runtimes the others are divided by, by function and dimension.
        bootstraps: Number of runtimes to simulate for dispersions, which `table_rows` omits; 0 for none.

    Raises:
        ValueError: If optima are unknown and targets not absolute, or a target is not finite.
    """
    if not (subject.knows_optima or subject.absolute):
        raise ValueError(
            "tables of expected runtimes need precisions, but not all optima are known; give values as absolute targets"
        )
    check_precisions(targets or (), biobjective=any(cell.biobjective for cell in subject.cells))
    by_dimension: defaultdict[tuple[str, int], list[Cell]] = defaultdict(list)
    for cell in subject.cells:
        by_dimension[cell.suite, cell.dimension].append(cell)
    tables: list[RuntimeTable] = []
    for (_, dimension), cells in by_dimension.items():
        usual, final = _usual(cells[0])
        trials = _counted(cells)
        if not trials:
            raise ValueError(f"no runs are left for the table in {dimension}-D: {left_out(subject)}")
        tables.append(
            runtime_table(
                trials, targets or usual, final_target=final, bootstraps=bootstraps, absolute=cells[0].absolute
            )
        )
    return divide_tables(tables, references) if references else tables


def divide_tables(
    tables: Iterable[RuntimeTable], references: Mapping[tuple[str, int], Reference]
) -> list[RuntimeTable]:
    """Divide the values shown in undivided `tables` by `references`, given by function and dimension."""
    return [
        divide_table(
            table,
            {function: each for (function, dimension), each in references.items() if dimension == table.dimension},
        )
        for table in tables
    ]


def left_out(subject: Subject) -> str:
    """A sentence on the runs that COCO's tables, and therefore these, leave out; empty if there are none."""
    runs, counted = len(subject.runs), sum(len(trials.runs) for trials in _counted(subject.cells))
    if runs == counted:
        return ""
    return (
        "as in COCO, only instances 1 to 10 of bbob-biobj count, from which the reference best-2016 was made; runs "
        f"left out: {runs - counted:,} of {runs:,}"
    )


def _usual(cell: Cell) -> tuple[FloatArray | Sequence[float], float]:
    """The default targets of a table, and the target whose successes are counted."""
    if cell.absolute and cell.targets is not None:
        return cell.targets, float(cell.targets[-1])
    return (_INDICATOR_TARGETS, _INDICATOR_FINAL) if cell.biobjective else (_TARGETS, _FINAL)


def _counted(cells: Iterable[Cell]) -> list[Trials]:
    """The trials without the runs that do not count; trials without any run left are dropped."""
    counted: list[Trials] = []
    for trials in (trials for cell in cells for trials in cell.trials.values()):
        runs = tuple(
            run
            for run, instance in zip(trials.runs, trials.instances, strict=True)
            if trials.suite != "bbob-biobj" or instance in _INDICATOR_INSTANCES
        )
        if runs:
            counted.append(replace(trials, runs=runs))
    return counted


def table_rows(tables: Iterable[RuntimeTable]) -> list[dict[str, Any]]:
    """One row per entry, as plain values for JSON."""
    return [
        {
            "dimension": table.dimension,
            "function": block.function,
            "algorithm": row.algorithm,
            "target": float(target),
            "ert": _plain(row.erts[k]),
            "reference": None if block.reference is None else _plain(block.reference[k]),
            "shown": _plain(row.shown[k]),
            "stars": int(row.stars[k]),
            "successes": row.successes,
            "runs": row.runs,
        }
        for table in tables
        for block in table.blocks
        for row in block.rows
        for k, target in enumerate(table.targets)
    ]


def _plain(value: float) -> float | str:
    return float(value) if abs(value) < float("inf") else str(value)

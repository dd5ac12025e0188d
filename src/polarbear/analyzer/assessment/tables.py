"""Tables of expected runtimes, one for each suite and dimension."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from polarbear.analyzer.assessment.subject import Subject
from polarbear.assess import RuntimeTable, runtime_table
from polarbear.records import Reference

_TARGETS = (1e1, 1e0, 1e-1, 1e-2, 1e-3, 1e-5, 1e-7)


def runtime_tables(
    subject: Subject,
    targets: Sequence[float] | None = None,
    references: Mapping[tuple[str, int], Reference] | None = None,
) -> list[RuntimeTable]:
    """The tables of Hansen et al. (2022, table I).

    Args:
        subject: The runs; their optima have to be known.
        targets: Target precisions; default 10, 1, 0.1, 0.01, 1e-3, 1e-5, 1e-7.
        references: By function and dimension, the reference whose expected runtimes the others are divided by.

    Raises:
        ValueError: If optima are not known, or a target is not finite.
    """
    if not subject.knows_optima:
        raise ValueError("tables of expected runtimes need precisions, and not all optima are known")
    if not np.isfinite(targets or _TARGETS).all():
        raise ValueError(f"targets are {', '.join(f'{one:g}' for one in targets or ())}; each is a finite precision")
    places = dict.fromkeys((cell.suite, cell.dimension) for cell in subject.cells)
    return [
        runtime_table(
            [
                trials
                for cell in subject.cells
                if (cell.suite, cell.dimension) == (suite, dimension)
                for trials in cell.trials.values()
            ],
            targets or _TARGETS,
            references={function: one for (function, where), one in (references or {}).items() if where == dimension},
        )
        for suite, dimension in places
    ]


def table_rows(tables: Iterable[RuntimeTable]) -> list[dict[str, Any]]:
    """One row per entry, as plain values for JSON."""
    return [
        {
            "dimension": one.dimension,
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
        for one in tables
        for block in one.blocks
        for row in block.rows
        for k, target in enumerate(one.targets)
    ]


def _plain(value: float) -> float | str:
    return float(value) if abs(value) < float("inf") else str(value)

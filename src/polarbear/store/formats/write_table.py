"""Runs as CSV, one row per improvement, and as Parquet, one row per run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from polarbear.records import Run
from polarbear.spreadsheets import disarmed
from polarbear.store import parts
from polarbear.store.atomic import write_atomically
from polarbear.store.formats.table import KEY, ROW, RUN

COLUMNS = (*KEY, *ROW, *RUN)


def write_csv(runs: Sequence[Run], path: Path) -> None:
    """Write a CSV file; a run that found nothing has one row, without evaluation and value.

    Text that spreadsheets would execute is `disarmed`, which reading it undoes.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for run in runs:
        writer.writerows(_rows(run))
    write_atomically(path, text.getvalue().encode("utf-8", "backslashreplace"))


def write_parquet(runs: Sequence[Run], path: Path) -> None:
    """Write a Parquet file, as those in a study's folder ``runs``; ValueError as for `parts.require_storable`."""
    for run in runs:
        parts.require_storable(run)
    write_atomically(path, parts.encode(runs))


def _rows(run: Run) -> Iterator[tuple[object, ...]]:
    outcome, trajectory = run.outcome, run.trajectory
    key = (disarmed(run.key.algorithm), disarmed(run.key.instance), run.key.seed)
    about = (
        run.target,
        run.optimum,
        outcome.reason.value,
        outcome.evaluations,
        outcome.seconds,
        disarmed(outcome.message),
        outcome.invalid_evaluations,
    )
    columns = (trajectory.evaluations.tolist(), trajectory.values.tolist(), trajectory.seconds.tolist())
    for row in zip(*columns, strict=True) if trajectory.values.size else [("", "", "")]:
        yield (*key, *row, *about)

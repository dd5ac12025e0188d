"""Export of runs: CSV with one row per improvement, Parquet with one row per run, COCO, and IOHprofiler."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from polarbear.records import Run, RunKey
from polarbear.spreadsheets import disarmed
from polarbear.store import parts
from polarbear.store.atomic import write_atomically
from polarbear.store.formats import write_coco, write_iohprofiler
from polarbear.store.formats.reading import by_key
from polarbear.store.formats.reports import IncompleteData
from polarbear.store.formats.table import KEY, ROW, RUN
from polarbear.store.paths import place, remote

ExportFormat = Literal["iohprofiler", "coco", "csv", "parquet"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)


@dataclass(frozen=True, slots=True)
class Exported:
    """The outcome of an export.

    Attributes:
        path: The file or folder that was written.
        runs: Number of runs in it.
        left_out: The runs that are not in it, sorted by instance, algorithm and seed.
        why: The reason why they were left out; empty if none were.
    """

    path: Path
    runs: int
    left_out: tuple[RunKey, ...]
    why: str


def export(runs: Iterable[Run], path: str | Path, format: ExportFormat) -> Path:  # noqa: A002 - the format's plain name
    """Write runs for other tools. Numbers are read back bit for bit.

    Runs that found no value are left out of COCO's data, which cannot represent them; the warning `IncompleteData` says
    how many and why they ended, and `export_checked` lists them.

    Args:
        runs: The runs. `docs/reference/formats.md` says what each format can represent of them.
        path: A new file for ``"csv"`` and ``"parquet"``; a new or empty folder for ``"iohprofiler"`` and ``"coco"``, in
            which each algorithm gets its own folder.
        format: ``"iohprofiler"`` (JSON with data files), ``"coco"`` (the layout of data since 2019), ``"csv"`` (one row
            per improvement) or ``"parquet"`` (one row per run, with everything).

    Returns:
        `path`.

    Raises:
        ValueError: If the format is unknown or cannot represent a run, where the message names the run and what it
            lacks; if nothing is left to write; or if `path` is a URL, at which only studies can be stored.
        FileExistsError: If the file exists, or the folder is not empty.
        OSError: If it cannot be written.
    """
    done = export_checked(runs, path, format)
    if done.left_out:
        warnings.warn(done.why, IncompleteData, stacklevel=2)
    return done.path


def export_checked(runs: Iterable[Run], path: str | Path, format: ExportFormat) -> Exported:  # noqa: A002 - as above
    """Write runs as `export` does and list those that were left out, without a warning."""
    if remote(place(path)):
        raise ValueError(
            f"{path} is a URL; runs can only be exported to local files and folders, which you can copy there"
        )
    path, chosen = Path(path), sorted(runs, key=by_key)
    if not chosen:
        raise ValueError("there are no runs to export")
    left_out: list[Run] = []
    why = ""
    if format in {"csv", "parquet"}:
        if path.exists():
            raise FileExistsError(f"{path} exists; choose a new file to export to")
        write_atomically(path, _csv(chosen) if format == "csv" else _parquet(chosen))
    elif format == "iohprofiler":
        write_iohprofiler.write(chosen, _empty(path))
    elif format == "coco":
        chosen, left_out, why = write_coco.writable(chosen)
        write_coco.write(chosen, _empty(path))
    else:
        raise ValueError(f"format is {format!r}; it must be one of {', '.join(EXPORT_FORMATS)}")
    return Exported(path, len(chosen), tuple(run.key for run in left_out), why)


def _empty(path: Path) -> Path:
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file; choose a new or empty folder to export to")
    if path.is_dir() and any(path.iterdir()):
        raise FileExistsError(f"{path} is not empty; choose a new or empty folder to export to")
    return path


def _parquet(runs: Sequence[Run]) -> bytes:
    """A file like those in a study's folder ``runs``; ValueError as for `parts.require_storable`."""
    for run in runs:
        parts.require_storable(run)
    return parts.encode(runs)


def _csv(runs: Sequence[Run]) -> bytes:
    """A CSV file; a run that found nothing has one row, without evaluation and value.

    Text that spreadsheets would execute is `disarmed`, which is undone on reading.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*KEY, *ROW, *RUN))
    for run in runs:
        writer.writerows(_rows(run))
    return text.getvalue().encode("utf-8", "backslashreplace")


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

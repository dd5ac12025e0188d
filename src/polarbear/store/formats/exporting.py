"""Writing runs in other people's formats."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

from polarbear.records import Run
from polarbear.store.formats import write_coco, write_iohprofiler, write_table
from polarbear.store.formats.reading import by_key

ExportFormat = Literal["iohprofiler", "coco", "csv", "parquet"]
EXPORT_FORMATS: tuple[ExportFormat, ...] = get_args(ExportFormat)


def export(runs: Iterable[Run], path: str | Path, format: ExportFormat) -> Path:  # noqa: A002 - the format's plain name
    """Write runs for other tools. Numbers are written such that they are read back bit by bit.

    Args:
        runs: The runs. `docs/reference/formats.md` tells what each format can hold of them.
        path: For ``"csv"`` and ``"parquet"`` a new file; for ``"iohprofiler"`` and ``"coco"`` a new or empty folder, in
            which each algorithm gets a folder of its own.
        format: ``"iohprofiler"`` (JSON with data files), ``"coco"`` (the layout of data since 2019), ``"csv"`` (one row
            per improvement) or ``"parquet"`` (one row per run, all of it).

    Returns:
        `path`.

    Raises:
        ValueError: If the format is unknown, or cannot hold a run; the message names the run and what it lacks.
        FileExistsError: If the file exists, or the folder holds something.
        OSError: If it cannot be written.
    """
    path, chosen = Path(path), sorted(runs, key=by_key)
    if not chosen:
        raise ValueError("there are no runs to export")
    if format == "csv":
        write_table.write_csv(chosen, _new(path))
    elif format == "parquet":
        write_table.write_parquet(chosen, _new(path))
    elif format == "iohprofiler":
        write_iohprofiler.write(chosen, _empty(path))
    elif format == "coco":
        write_coco.write(chosen, _empty(path))
    else:
        raise ValueError(f"format is {format!r}; runs are exported as one of {', '.join(EXPORT_FORMATS)}")
    return path


def _new(path: Path) -> Path:
    if path.exists():
        raise FileExistsError(f"{path} exists; choose a new file to export to")
    return path


def _empty(path: Path) -> Path:
    if path.exists() and not path.is_dir():
        raise FileExistsError(f"{path} is a file; choose a new or empty folder to export to")
    if path.is_dir() and any(path.iterdir()):
        raise FileExistsError(f"{path} is not empty; choose a new or empty folder to export to")
    return path

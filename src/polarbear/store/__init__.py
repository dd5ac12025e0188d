"""Studies on disk, and data of other tools.

A study is created once, appended to by one writer, and read by any number of readers meanwhile. It is a directory of
plain files: its specification, its runs as Parquet parts, its rounds as JSON, and a manifest with the checksums of all.
Every file appears whole, by an atomic rename, so that what is on disk after a kill is complete. A study may also be
stored on an object store, given by its URL.
`docs/reference/store.md` describes the files and the guarantees, `docs/reference/formats.md` the formats of other tools
that can be read and written.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

from polarbear.quantities import plural
from polarbear.records import Run
from polarbear.store.errors import Damage, NoTemporaryFile, PackageMissing, StudyError, StudyLocked, StudyNotFound
from polarbear.store.formats.exporting import Exported, export, export_checked
from polarbear.store.formats.importing import Imported, import_runs
from polarbear.store.formats.reading import Options
from polarbear.store.formats.reports import ArchiveRefused, IncompleteData, Limits, Progress, Reading, Skipped
from polarbear.store.formats.supervision import read as read_data
from polarbear.store.formats.supervision import read_reference
from polarbear.store.library import DataSet, Library
from polarbear.store.lock import take_over
from polarbear.store.merging import Conflict, MergeConflict, Merged, merge
from polarbear.store.paths import place, remote
from polarbear.store.snapshot import write_zip
from polarbear.store.specification import exists
from polarbear.store.study import StudyStore, create, not_accepted
from polarbear.store.study import open_study as open  # noqa: A004 - store.open reads as what it does

__all__ = [
    "ArchiveRefused",
    "Conflict",
    "Damage",
    "DataSet",
    "Exported",
    "Imported",
    "IncompleteData",
    "Library",
    "Limits",
    "MergeConflict",
    "Merged",
    "NoTemporaryFile",
    "PackageMissing",
    "Progress",
    "Reading",
    "Skipped",
    "StudyError",
    "StudyLocked",
    "StudyNotFound",
    "StudyStore",
    "create",
    "exists",
    "export",
    "export_checked",
    "import_runs",
    "merge",
    "not_accepted",
    "open",
    "place",
    "read",
    "read_checked",
    "read_reference",
    "take_over",
    "write_zip",
]


def read(path: str | Path, *, samples: bool = False) -> list[Run]:
    """Read the runs at a path: a study directory, or a file, folder or archive in a recognized format.

    The formats are COCO, IOHprofiler, IOHanalyzer, nevergrad, SOS, CSV and Parquet; `docs/reference/formats.md` says
    what is read from each. If anything is left out, the warning `IncompleteData` says how much; `read_checked` lists
    it.

    Args:
        path: A study directory or URL, or a file, folder or archive.
        samples: Whether to also read the points that the runs of a study evaluated, if any were kept; there may be very
            many. `StudyStore.with_samples` reads them one file at a time. A run always includes its best point; from
            exported Parquet files, all points are read.

    Returns:
        The runs, sorted by key.

    Raises:
        StudyNotFound: If there is nothing at `path`.
        StudyError: If it is a study whose ``study.json`` is unusable.
        ArchiveRefused: If it is an archive that exceeds the limits.
        ValueError: If no run can be read; the message says what was found and what is supported.
    """
    if exists(path) or remote(place(path)):
        with open(path) as study:
            return study.runs(samples=samples)
    reading = read_checked(path)
    if not reading.runs:
        why = reading.skipped[0] if reading.skipped else f"its {' and '.join(reading.formats)} files list none"
        raise ValueError(f"no run can be read from {path}: {why}")
    if reading.skipped:
        left_out = [skipped for skipped in reading.skipped if not skipped.kept]
        message = str(reading.skipped[0])
        if left_out:
            were = "was" if len(left_out) == 1 else "were"
            message = f"{plural(left_out, 'part')} of {path} {were} skipped; first: {left_out[0]}"
        warnings.warn(f"{message}; read_checked lists them all", IncompleteData, stacklevel=2)
    return list(reading.runs)


def read_checked(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    maximize: bool = False,
    suite: str = "",
    limits: Limits | None = None,
    progress: Progress | None = None,
    samples: bool = False,
) -> Reading:
    """Read the runs at a path as `read` does, with a list of everything that could not be read.

    Args:
        path: A study directory, or a file, folder or archive.
        columns: For CSV and Parquet, the file's columns by polarbear's names where they differ, such as
            ``{"value": "f(x)"}``.
        maximize: For CSV and Parquet, whether values are to be maximized; their signs are flipped.
        suite: The suite of data that do not name one, such as ``"bbob"`` for those of IOHexperimenter.
        limits: Limits on the resources for reading: bytes, files, seconds, memory.
        progress: A function called before each file with its name, the number of files before it, and their total.
        samples: As for `read`.

    Raises:
        StudyNotFound: If there is nothing at `path`.
        StudyError: If it is a study whose ``study.json`` is unusable.
        ArchiveRefused: If it is an archive that exceeds the limits.
        ValueError: If nothing at `path` is in a known format; the message says what was found and what is supported.
    """
    if exists(path) or remote(place(path)):
        with open(path) as study:
            damaged = tuple(Skipped(str(damage.path), None, damage.why) for damage in study.damaged)
            return Reading(tuple(study.runs(samples=samples)), damaged, ("study",))
    if not Path(path).exists():
        raise StudyNotFound(f"{path} is not a study: there is no such directory, file or archive")
    return read_data(path, Options(columns or {}, maximize, limits or Limits(), suite), progress)

"""Bringing other people's data into a study, where they can be asked for again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from polarbear.records import Run
from polarbear.store import parts
from polarbear.store.formats.limits import Limits
from polarbear.store.formats.reading import Options, read_data
from polarbear.store.formats.reports import Progress, Reading, Skipped
from polarbear.store.places import place
from polarbear.store.specification import exists
from polarbear.store.study import StudyStore, create, open_study

IMPORTED = "imported"
"""The key in a study's specification that tells what was imported into it."""
_COMMIT_SECONDS = 86_400.0
"""No commits by the clock: whole paths are committed."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import.

    Attributes:
        study: The study's directory.
        added: Runs that are new in the study.
        known: Runs that it held already.
        algorithms: Their algorithms, sorted.
        instances: How many instances they are on.
        skipped: What could not be read.
    """

    study: Path
    added: int
    known: int
    algorithms: tuple[str, ...]
    instances: int
    skipped: tuple[Skipped, ...]


def import_runs(
    paths: str | Path | Iterable[str | Path],
    into: str | Path,
    *,
    rename: Mapping[str, str] | None = None,
    columns: Mapping[str, str] | None = None,
    maximize: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Import files, folders and archives into a study of imported runs.

    Importing the same data again does nothing. An algorithm goes by the name it has in the data. Data of one
    algorithm from several paths come together as long as they are on different instances; where two paths hold
    different runs of the same instance, algorithm and seed nothing can tell whether they are further repetitions or
    another algorithm of that name, and the second path is refused as a whole. Rename the algorithm then, or put the
    repetitions into one folder.

    Args:
        paths: What to import. Each path is brought to disk as a whole before the next one is read.
        into: The study's directory: a new one, or one that was made by importing.
        rename: For names of algorithms in the data the names they get in the study.
        columns: For CSV and Parquet: which of their columns stands for which of polarbear's.
        maximize: For CSV and Parquet: whether values are to be maximized; their signs are flipped.
        limits: What archives may hold.
        progress: Called before each file with its name, how many came before it, and how many there are.

    Raises:
        FileNotFoundError: If there is nothing at a path; nothing is imported then.
        ArchiveRefused: If an archive asks for too much.
        ValueError: If a path holds nothing that can be read, its runs contradict those that are there, or the study was
            not made by importing. What came from the paths before is kept.
        StudyLocked: If another process writes to the study.
        OSError: If the study cannot be written.
    """
    todo = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    for path in todo:
        if not path.exists():
            raise FileNotFoundError(f"there is no file, folder or archive at {path}; nothing was imported")
    options = Options(columns or {}, maximize, limits or Limits())
    readings: list[Reading] = []
    counts = [0, 0]
    with _study(place(into)) as study:
        for path in todo:
            reading = _renamed(read_data(path, options, progress), rename or {})
            added = _add(study, path, reading.runs)
            _note(study, path, reading)
            readings.append(reading)
            counts[0] += added
            counts[1] += len(reading.runs) - added
    runs = [run for reading in readings for run in reading.runs]
    return Imported(
        study=place(into),
        added=counts[0],
        known=counts[1],
        algorithms=tuple(sorted({run.key.algorithm for run in runs})),
        instances=len({run.key.instance for run in runs}),
        skipped=tuple(skipped for reading in readings for skipped in reading.skipped),
    )


def _study(path: Path) -> StudyStore:
    if not exists(path):
        return create(path, {IMPORTED: []}, commit_seconds=_COMMIT_SECONDS)
    study = open_study(path, write=True, commit_seconds=_COMMIT_SECONDS)
    if IMPORTED not in study.spec:
        study.close()
        raise ValueError(f"study {path} was not made by importing; import into a directory of its own")
    return study


def _renamed(reading: Reading, rename: Mapping[str, str]) -> Reading:
    runs = tuple(
        replace(run, key=replace(run.key, algorithm=rename.get(run.key.algorithm, run.key.algorithm)))
        for run in reading.runs
    )
    if len({run.key for run in runs}) < len(runs):
        raise ValueError(f"rename gives two algorithms of the same data one name: {dict(rename)}")
    return replace(reading, runs=runs)


def _add(study: StudyStore, path: Path, runs: Sequence[Run]) -> int:
    """Add runs, all or none of them; the number of new ones."""
    known = {run.key: run for run in study.runs([run.key for run in runs if run.key in study])}
    for run in runs:
        parts.require_storable(run)
        if run.key in known and parts.storable(known[run.key]) != parts.storable(run):
            raise ValueError(
                f"{path} and study {study.path} hold different runs of {run.key}; nothing of {path} was imported. If "
                "they are of different algorithms, rename one (rename={…}); if they repeat the same one, put them "
                "into one folder"
            )
    study.extend(run for run in runs if run.key not in known)
    study.commit()
    return len(runs) - len(known)


def _note(study: StudyStore, path: Path, reading: Reading) -> None:
    """Keep in the specification what was imported."""
    entry: dict[str, Any] = {
        "name": path.name,
        "formats": list(reading.formats),
        "runs": len(reading.runs),
        "algorithms": sorted({run.key.algorithm for run in reading.runs}),
        "skipped": [str(skipped) for skipped in reading.skipped],
    }
    noted = cast("list[Any]", study.spec[IMPORTED])
    if entry not in noted:
        study.replace_spec({**study.spec, IMPORTED: [*noted, entry]})

"""Import of other tools' data into a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from polarbear.records import Instance, Run
from polarbear.store import parts
from polarbear.store.formats.reading import Options
from polarbear.store.formats.reports import Limits, Progress, Reading, Skipped
from polarbear.store.formats.supervision import read as read_data
from polarbear.store.paths import place
from polarbear.store.specification import exists
from polarbear.store.study import StudyStore, create, open_study

IMPORTED = "imported"
"""The key of a study's specification that lists what was imported."""
_COMMIT_SECONDS = 86_400.0
"""Interval that rules out commits by the clock: whole paths are committed."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import.

    Attributes:
        study: The study's directory.
        added: Number of runs that are new in the study.
        known: Number of runs that the study already had.
        algorithms: Names of the algorithms, sorted.
        instances: Number of instances.
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
    suite: str = "",
    optimum: Callable[[Instance], float | None] | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Import files, folders and archives into a study of imported runs.

    Importing the same data again has no effect. Algorithms keep their names in the data. Data of one algorithm from
    several paths are combined as long as they are on different instances. If two paths contain different runs with the
    same instance, algorithm and seed, it is undecidable whether they are further repetitions or another algorithm of
    that name, and the second path is refused as a whole. In that case rename the algorithm, or put the repetitions into
    one folder.

    Args:
        paths: The paths to import. Each path is written to disk as a whole before the next one is read.
        into: The study's directory: a new one, or one created by importing.
        rename: New names of algorithms in the study, by their names in the data.
        columns: For CSV and Parquet, the file's columns by polarbear's names, where they differ.
        maximize: For CSV and Parquet, whether values are to be maximized; their signs are flipped.
        suite: The suite of data that do not name one, such as ``"bbob"`` for those of IOHexperimenter.
        optimum: A function that returns the lowest raw value on an instance, None if unknown, for IOHprofiler's data,
            which lack it; such as `polarbear.problems.raw_optimum`.
        limits: Limits on the resources for reading: bytes, files, seconds, memory.
        progress: A function called before each file with its name, the number of files before it, and their total.

    A path that cannot be read or exceeds the limits is skipped and reported; the others are imported.

    Raises:
        FileNotFoundError: If there is nothing at a path; then nothing is imported.
        ArchiveRefused: If no run is imported and the first path exceeds the limits.
        ValueError: If no run is imported, the runs of a path contradict existing ones, or the study was not created by
            importing. Runs from the paths before are kept.
        StudyLocked: If another process writes to the study.
        OSError: If the study cannot be written.
    """
    todo = [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]
    for path in todo:
        if not path.exists():
            raise FileNotFoundError(f"there is no file, folder or archive at {path}; nothing was imported")
    options = Options(columns or {}, maximize, limits or Limits(), suite, optimum)
    readings, added = _import_each(todo, place(into), options, rename or {}, progress)
    runs = [run for reading in readings for run in reading.runs]
    return Imported(
        study=place(into),
        added=added,
        known=len(runs) - added,
        algorithms=tuple(sorted({run.key.algorithm for run in runs})),
        instances=len({run.key.instance for run in runs}),
        skipped=_skipped(readings),
    )


def _import_each(
    paths: Sequence[Path], into: Path, options: Options, rename: Mapping[str, str], progress: Progress | None
) -> tuple[list[Reading], int]:
    """Read path by path and commit the runs; return what was read and the number of runs new in the study."""
    readings: list[Reading] = []
    added = 0
    failed: list[ValueError] = []
    with ExitStack() as opened:
        study: StudyStore | None = None
        for path in paths:
            try:
                reading = read_data(path, options, progress)
            except ValueError as error:
                failed.append(error)
                reading = Reading((), (Skipped(str(path), None, str(error)),), ())
            if reading.runs:
                reading = _renamed(reading, rename)
                study = study or opened.enter_context(_study(into))
                added += _add(study, path, reading.runs)
                _note(study, path, reading)
            readings.append(reading)
    if study is None:
        if failed:
            raise failed[0]
        named, skipped = ", ".join(map(str, paths)) or "an empty list of paths", _skipped(readings)
        raise ValueError(f"nothing was imported: there are no runs in {named}{f'; {skipped[0]}' if skipped else ''}")
    return readings, added


def _skipped(readings: Iterable[Reading]) -> tuple[Skipped, ...]:
    return tuple(skipped for reading in readings for skipped in reading.skipped)


def _study(path: Path) -> StudyStore:
    if not exists(path):
        return create(path, {IMPORTED: []}, commit_seconds=_COMMIT_SECONDS)
    study = open_study(path, write=True, commit_seconds=_COMMIT_SECONDS)
    if IMPORTED not in study.spec:
        study.close()
        raise ValueError(f"study {path} was not created by an import; import into a new directory")
    return study


def _renamed(reading: Reading, rename: Mapping[str, str]) -> Reading:
    if not rename:
        return reading
    runs = tuple(
        replace(run, key=replace(run.key, algorithm=rename.get(run.key.algorithm, run.key.algorithm)))
        for run in reading.runs
    )
    if len({run.key for run in runs}) < len(runs):
        raise ValueError(f"rename gives two algorithms of the same data the same name: {dict(rename)}")
    return replace(reading, runs=runs)


def _add(study: StudyStore, path: Path, runs: Sequence[Run]) -> int:
    """Add all runs or none of them; return the number of new ones."""
    known = {run.key: run for run in study.runs([run.key for run in runs if run.key in study])} if len(study) else {}
    for run in runs:
        parts.require_storable(run)
        if run.key in known and parts.storable(known[run.key]) != parts.storable(run):
            raise ValueError(
                f"{path} and study {study.path} hold different runs of {run.key}; nothing from {path} was imported. If "
                "the runs are from different algorithms, rename one (rename={…}); if they repeat the same algorithm, "
                "put the files into one folder"
            )
    study.extend(run for run in runs if run.key not in known)
    study.commit()
    return len(runs) - len(known)


def _note(study: StudyStore, path: Path, reading: Reading) -> None:
    """Add a record of the import to the specification; it replaces one that differs only in what was skipped."""
    entry: dict[str, Any] = {
        "name": path.name,
        "formats": list(reading.formats),
        "runs": len(reading.runs),
        "algorithms": sorted({run.key.algorithm for run in reading.runs}),
        "skipped": [str(skipped) for skipped in reading.skipped],
    }
    recorded = cast("list[dict[str, Any]]", study.spec[IMPORTED])
    entries = [entry if old | {"skipped": entry["skipped"]} == entry else old for old in recorded]
    if entry not in entries:
        entries.append(entry)
    if entries != recorded:
        study.replace_spec({**study.spec, IMPORTED: entries})

"""The contents of a library: which of its data sets have runs of which algorithms on which problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from polarbear import store
from polarbear.store.formats.importing import IMPORTED
from polarbear.store.library import Library
from polarbear.store.specification import read_spec
from polarbear.web.work import say, say_reading

_FAULTS = (ValueError, OSError, store.StudyError)
_KEPT = 4096


@dataclass(frozen=True, slots=True)
class Holding:
    """The runs of an algorithm on a function in a dimension in a data set.

    Attributes:
        name: Name of the data set.
        source: Formats from which it was imported.
        suite: Name of the suite; empty if unknown.
        algorithm: Name of the algorithm.
        function: Name of the function.
        dimension: Number of variables; 0 if unknown.
        runs: Number of runs.
    """

    name: str
    source: str
    suite: str
    algorithm: str
    function: str
    dimension: int
    runs: int


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The contents of a library.

    Attributes:
        folder: Folder of the library.
        holdings: All holdings.
        unread: Data sets that could not be read: name and reason.
    """

    folder: Path
    holdings: tuple[Holding, ...]
    unread: dict[str, str]


def data_sets(folder: Path) -> Iterator[tuple[str, Path]]:
    """Names and paths of the contents of a library's folder; links that lead out of it are skipped.

    For a folder managed by `polarbear.store.Library` these are its data sets, by name and version; for any other, its
    files and folders.

    Raises:
        StudyError: If an entry of the library is damaged.
    """
    root = folder.resolve()
    for entry in Library(root).list():
        if (entry.folder / "data.study").resolve().is_relative_to(root):
            yield f"{entry.name}@{entry.version}", entry.path
    kept = {path.parent.parent for path in root.glob("*/*/entry.json")}
    for path in sorted(root.iterdir()):
        if path.resolve().is_relative_to(root) and not path.name.startswith(".") and path not in kept:
            yield path.name.removesuffix(".study"), path


def catalogue_of(folder: str | Path, paths: Iterable[tuple[str, Path, int]] | None = None) -> Catalogue:
    """The catalogue of a library.

    Args:
        folder: Folder of the library.
        paths: Names, paths and times of the last change of its data sets; default all in the folder.
    """
    holdings: list[Holding] = []
    unread: dict[str, str] = {}
    todo = [(*each, 0) for each in data_sets(Path(folder))] if paths is None else list(paths)
    for name, path, stamp in todo:
        say(f"Reading {name} …")
        try:
            source, contents = _contents(path, stamp)
        except _FAULTS as fault:
            unread[name] = str(fault)
            continue
        holdings += (Holding(name, source, *where, runs) for where, runs in contents)
    return Catalogue(Path(folder), tuple(holdings), unread)


@lru_cache(_KEPT)
def _contents(path: Path, _stamp: int) -> tuple[str, tuple[tuple[tuple[str, str, str, int], int], ...]]:
    """The formats of a data set, and its number of runs by suite, algorithm, function and dimension."""
    counts: Counter[tuple[str, str, str, int]] = Counter()
    if store.exists(path):
        with store.open(path) as study:
            for batch in study.batches():
                counts.update(map(_where, batch))
        spec = read_spec(path)
        imported = cast(list[dict[str, Any]], spec.get(IMPORTED, []))
        formats = sorted({each for entry in imported for each in entry.get("formats", [])})
        source = ", ".join(formats) or ("race" if "race" in spec else "study")
    else:
        reading = store.read_checked(path, progress=say_reading)
        if not reading.runs:
            raise ValueError(str(reading.skipped[0]) if reading.skipped else "it contains no run")
        counts.update(map(_where, reading.runs))
        source = ", ".join(reading.formats)
    return source, tuple(counts.items())


def _where(run: Any) -> tuple[str, str, str, int]:
    problem = run.problem
    return problem.suite, run.key.algorithm, problem.function, problem.dimension

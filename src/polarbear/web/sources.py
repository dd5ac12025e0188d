"""What is open: studies and archives by their names, read again when they have changed on disk."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from polarbear import store
from polarbear.assess.report import Assessment, read_targets, subject_of, with_targets
from polarbear.descriptions import did_you_mean
from polarbear.knowledge import KnowledgeBase, is_base, open_base
from polarbear.records import Reference
from polarbear.results import Result, load
from polarbear.store.library import data_set_name
from polarbear.store.specification import read_spec
from polarbear.web.catalogue import Catalogue, catalogue_of, data_sets
from polarbear.web.identity import ALGORITHM, identified, together
from polarbear.web.work import say, say_reading

_OPEN = 8
"""Data sets kept in memory."""
_MOST_KNOWN = 10_000
"""Runs of which a knowledge base is made for a visit: more take above a minute and 2 GB."""


class Sources:
    """Studies and archives that can be looked at, and no others.

    Args:
        paths: The studies, or files, folders and archives of other tools.
        library: A folder of further ones, or one that `polarbear.store.Library` keeps; links that lead out of it are
            passed over.
        targets: A CSV file of targets of every function, as `polarbear.assess.report.read_targets` reads them, in place
            of the usual ones; read again when it has changed.

    Raises:
        ValueError: If the file of targets is none.
        OSError: If there is nothing at a path, or a file cannot be read.
    """

    def __init__(
        self, paths: Iterable[str | Path], library: str | Path | None = None, targets: str | Path | None = None
    ) -> None:
        self.targets = None if targets is None else Path(targets).resolve()
        if self.targets is not None:
            read_targets(self.targets)  # what is wrong is said at once, not on every page
        self._paths: dict[str, Path] = {}
        self._listed: dict[str, None] = {}
        self._library: dict[str, None] = {}
        self.library = None if library is None else Path(library)
        for path in paths:
            self.add(Path(path))
        if library is not None:
            self._library = {self.add(path, name=name): None for name, path in data_sets(Path(library))}

    def add(self, path: Path, *, listed: bool = True, name: str = "") -> str:
        """Open a path, and return the name that it goes by.

        Args:
            path: What to open.
            listed: Whether it is among the `names`.
            name: What it goes by, a number after it if need be; default as its file, folder or data set of a library.

        Raises:
            FileNotFoundError: If there is nothing.
        """
        if not path.exists():
            raise FileNotFoundError(f"there is nothing at {path}; give a study, or data of a format that is known")
        stem, number = (name or data_set_name(path) or path.name).removesuffix(".study"), 1
        name = stem
        while name in self._paths and self._paths[name] != path.resolve():
            number += 1
            name = f"{stem} ({number})"
        self._paths[name] = path.resolve()
        if listed:
            self._listed[name] = None
        return name

    @property
    def names(self) -> tuple[str, ...]:
        """What can be looked at."""
        return tuple(self._listed)

    def beside(self, name: str) -> tuple[str, ...]:
        """What was made together with it, and is looked at together."""
        sent = {other: path for other, path in self._paths.items() if other not in self._listed}
        return tuple(other for other, path in sent.items() if name in sent and path.parent == sent[name].parent)

    def path(self, name: str) -> Path:
        """Where it lies.

        Raises:
            ValueError: If nothing of that name is open.
        """
        if name not in self._paths:
            raise ValueError(f"no study {name!r} is open;{did_you_mean(name, self.names)}")
        return self._paths[name]

    def stamp(self, *names: str) -> int:
        """When one of them was changed last, in nanoseconds; ValueError if nothing of a name is open."""
        paths = [*map(self.path, names), *([self.targets] if self.targets else [])]
        return max(map(_stamp, paths))

    def is_race(self, name: str) -> bool:
        """Whether it is the study of a race."""
        path = self.path(name)
        return store.exists(path) and "race" in read_spec(path)

    def get(
        self,
        name: str,
        needs: str,
        *,
        beside: tuple[str, ...] = (),
        identity: tuple[str, ...] = (ALGORITHM,),
        only: tuple[str, ...] = (),
    ) -> Any:
        """What views are made from.

        Args:
            name: Of what is open.
            needs: "Reading" for the runs with what could not be read of them, "Assessment" for their statistics,
                "Result" for the result of a race, "KnowledgeBase" for one, or what one would know of these runs alone,
                "Reference" for the expected runtimes of a reference algorithm, "Catalogue" for that of the library,
                whatever the name.
            beside: For statistics: names of others that are open, whose runs are looked at as well.
            identity: For statistics: which attributes of runs make an algorithm.
            only: For statistics: which algorithms; all if empty.

        Raises:
            ValueError: If nothing of that name is open, it cannot be read, or is no race.
        """
        if needs == "Catalogue":
            return self._catalogue()
        path = self.path(name)
        if needs != "KnowledgeBase" and is_base(path):
            raise ValueError(f"{name} is a knowledge base, which has no runs; its questions are on the page Knowledge")
        if needs == "Result" and not self.is_race(name):
            raise ValueError(
                f"{name} is no race; open the study of one, or make one: polarbear race --from {path.name}"
            )
        if needs == "Assessment":
            opened = [(each, self.path(each)) for each in dict.fromkeys((name, *beside))]
            targets = self.targets and (self.targets, _stamp(self.targets))
            return _assessment(tuple((*each, _stamp(each[1])) for each in opened), identity, only, targets)
        return _OPENED[needs](path, _stamp(path))

    def _catalogue(self) -> Catalogue:
        if self.library is None:
            raise ValueError("no library is open; give the folder that holds it: polarbear serve --library DIR")
        held = ((name, self._paths[name], _stamp(self._paths[name])) for name in self._library)
        return catalogue_of(self.library, held)


def _stamp(path: Path) -> int:
    """When it was changed last: a study, when something was last committed."""
    within = path.iterdir() if path.is_dir() else ()
    return max(each.stat().st_mtime_ns for each in (path, *within) if each.exists())


@lru_cache(_OPEN)
def _reading(path: Path, _stamp: int) -> store.Reading:
    say(f"Reading {path.name} …")
    reading = store.read_checked(path, progress=say_reading)
    gc.collect()
    gc.freeze()  # runs have no cycles, and every later search of them for some would delay an answer by 0.3 s
    return reading


@lru_cache(_OPEN)
def _assessment(
    opened: tuple[tuple[str, Path, int], ...],
    identity: tuple[str, ...],
    only: tuple[str, ...],
    targets: tuple[Path, int] | None,
) -> Assessment:
    runs = identified(together({name: _reading(path, stamp).runs for name, path, stamp in opened}), identity)
    subject = subject_of(runs, algorithms=only)
    return Assessment(with_targets(subject, read_targets(targets[0])) if targets else subject)


@lru_cache(_OPEN)
def _reference(path: Path, _stamp: int) -> dict[tuple[str, int], Reference]:
    return store.read_reference(path)


@lru_cache(_OPEN)
def _result(path: Path, _stamp: int) -> Result:
    result = load(path)
    if not isinstance(result, Result):
        raise TypeError(f"{path} is no race")
    return result


@lru_cache(_OPEN)
def _knowledge(path: Path, stamp: int) -> KnowledgeBase:
    if not is_base(path) and (runs := len(_reading(path, stamp).runs)) > _MOST_KNOWN:
        raise ValueError(
            f"{path.name} has {runs:,} runs, too many for a knowledge base in memory; make one on disk and open it: "
            f"polarbear knowledge add {path.name}; polarbear serve knowledge.base"
        )
    return open_base(path)


_OPENED: dict[str, Callable[[Path, int], Any]] = {
    "Reading": _reading,
    "Result": _result,
    "KnowledgeBase": _knowledge,
    "Reference": _reference,
}

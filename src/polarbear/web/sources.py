"""Open data: studies and archives by name, read again when they have changed on disk."""

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
"""Number of data sets kept in memory."""
_MOST_KNOWN = 10_000
"""Maximum number of runs for a temporary knowledge base; more take over a minute and 2 GB."""


class Sources:
    """Studies and archives that can be viewed, and no others.

    Args:
        paths: Studies, or files, folders and archives of other tools.
        library: Folder with further ones, or one managed by `polarbear.store.Library`; links that lead out of it are
            skipped.
        targets: CSV file with targets for every function, as read by `polarbear.assess.report.read_targets`, instead of
            the default ones; read again when it has changed.

    Raises:
        ValueError: If the file of targets is invalid.
        OSError: If there is nothing at a path, or a file cannot be read.
    """

    def __init__(
        self, paths: Iterable[str | Path], library: str | Path | None = None, targets: str | Path | None = None
    ) -> None:
        self.targets = None if targets is None else Path(targets).resolve()
        if self.targets is not None:
            read_targets(self.targets)  # fails at once, rather than on every page
        self._paths: dict[str, Path] = {}
        self._listed: dict[str, None] = {}
        self._library: dict[str, None] = {}
        self.library = None if library is None else Path(library)
        for path in paths:
            self.add(Path(path))
        if library is not None:
            self._library = {self.add(path, name=name): None for name, path in data_sets(Path(library))}

    def add(self, path: Path, *, listed: bool = True, name: str = "") -> str:
        """Open a path, and return the name by which it is known.

        Args:
            path: Path to open.
            listed: Whether it is included in `names`.
            name: Its name, with a number appended if the name is taken; default that of the file, folder or data set of
                a library.

        Raises:
            FileNotFoundError: If there is nothing at the path.
        """
        if not path.exists():
            raise FileNotFoundError(f"there is nothing at {path}; give a study, or data in a known format")
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
        """Names of what can be viewed."""
        return tuple(self._listed)

    def beside(self, name: str) -> tuple[str, ...]:
        """Names of what was made together with it and belongs together."""
        sent = {other: path for other, path in self._paths.items() if other not in self._listed}
        return tuple(other for other, path in sent.items() if name in sent and path.parent == sent[name].parent)

    def path(self, name: str) -> Path:
        """The path of what is open under a name.

        Raises:
            ValueError: If nothing of that name is open.
        """
        if name not in self._paths:
            raise ValueError(f"no study {name!r} is open;{did_you_mean(name, self.names)}")
        return self._paths[name]

    def stamp(self, *names: str) -> int:
        """Time of the last change of any of them, in nanoseconds; ValueError if nothing is open under a name."""
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
        """Load what views are made from.

        Args:
            name: Name of what is open.
            needs: "Reading" for the runs and what could not be read, "Assessment" for their statistics, "Result" for
                the result of a race, "KnowledgeBase" for a knowledge base, or for one made of these runs alone,
                "Reference" for the expected runtimes of a reference algorithm, "Catalogue" for that of the library,
                whatever the name.
            beside: For statistics: names of others that are open, whose runs are considered as well.
            identity: For statistics: attributes of runs that define an algorithm.
            only: For statistics: algorithms to consider; all if empty.

        Raises:
            ValueError: If nothing is open under the name, it cannot be read, or is not a race where one is needed.
        """
        if needs == "Catalogue":
            return self._catalogue()
        path = self.path(name)
        if needs != "KnowledgeBase" and is_base(path):
            raise ValueError(f"{name} is a knowledge base, which has no runs; query it on the page Knowledge")
        if needs == "Result" and not self.is_race(name):
            raise ValueError(
                f"{name} is not a race; open the study of one, or make one: polarbear race --from {path.name}"
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
    """Time of the last change; for a study, that of the last commit."""
    within = path.iterdir() if path.is_dir() else ()
    return max(each.stat().st_mtime_ns for each in (path, *within) if each.exists())


@lru_cache(_OPEN)
def _reading(path: Path, _stamp: int) -> store.Reading:
    say(f"Reading {path.name} …")
    reading = store.read_checked(path, progress=say_reading)
    gc.collect()
    gc.freeze()  # runs have no reference cycles; searching them again would delay each response by 0.3 s
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
        raise TypeError(f"{path} is not a race")
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

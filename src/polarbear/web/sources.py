"""What is open: studies and archives by their names, read again when they have changed on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from polarbear import store
from polarbear.assess.report import Assessment, subject_of
from polarbear.descriptions import did_you_mean
from polarbear.knowledge import KnowledgeBase, is_base, open_base
from polarbear.records import Reference
from polarbear.results import Result, load
from polarbear.store.specification import read_spec

_OPEN = 8
"""Data sets kept in memory."""


class Sources:
    """Studies and archives that can be looked at, and no others.

    Args:
        paths: The studies, or files, folders and archives of other tools.
        library: A folder of further ones; links that lead out of it are passed over.
    """

    def __init__(self, paths: Iterable[str | Path], library: str | Path | None = None) -> None:
        self._paths: dict[str, Path] = {}
        self._listed: dict[str, None] = {}
        for path in paths:
            self.add(Path(path))
        if library is not None:
            root = Path(library).resolve()
            for path in sorted(root.iterdir()):
                if path.resolve().is_relative_to(root) and not path.name.startswith("."):
                    self.add(path)

    def add(self, path: Path, *, listed: bool = True) -> str:
        """Open a path, and return the name that it goes by.

        Args:
            path: What to open.
            listed: Whether it is among the `names`.

        Raises:
            FileNotFoundError: If there is nothing.
        """
        if not path.exists():
            raise FileNotFoundError(f"there is nothing at {path}; give a study, or data of a format that is known")
        stem, number = path.name.removesuffix(".study"), 1
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

    def path(self, name: str) -> Path:
        """Where it lies.

        Raises:
            ValueError: If nothing of that name is open.
        """
        if name not in self._paths:
            raise ValueError(f"no study {name!r} is open;{did_you_mean(name, self.names)}")
        return self._paths[name]

    def stamp(self, name: str) -> int:
        """When it was changed last, in nanoseconds; ValueError if nothing of that name is open."""
        return _stamp(self.path(name))

    def is_race(self, name: str) -> bool:
        """Whether it is the study of a race."""
        path = self.path(name)
        return store.exists(path) and "race" in read_spec(path)

    def get(self, name: str, needs: str) -> Any:
        """What views are made from.

        Args:
            name: Of what is open.
            needs: "Reading" for the runs with what could not be read of them, "Assessment" for their statistics,
                "Result" for the result of a race, "KnowledgeBase" for one, or what one would know of these runs alone,
                "Reference" for the expected runtimes of a reference algorithm.

        Raises:
            ValueError: If nothing of that name is open, it cannot be read, or is no race.
        """
        path = self.path(name)
        if needs != "KnowledgeBase" and is_base(path):
            raise ValueError(f"{name} is a knowledge base, which has no runs; its questions are on the page Knowledge")
        if needs == "Result" and not self.is_race(name):
            raise ValueError(
                f"{name} is no race; open the study of one, or make one: polarbear race --from {path.name}"
            )
        return _OPENED[needs](path, _stamp(path))


def _stamp(path: Path) -> int:
    """When it was changed last: a study, when something was last committed."""
    within = path.iterdir() if path.is_dir() else ()
    return max(each.stat().st_mtime_ns for each in (path, *within) if each.exists())


@lru_cache(_OPEN)
def _reading(path: Path, _stamp: int) -> store.Reading:
    return store.read_checked(path)


@lru_cache(_OPEN)
def _assessment(path: Path, stamp: int) -> Assessment:
    return Assessment(subject_of(_reading(path, stamp).runs))


@lru_cache(_OPEN)
def _reference(path: Path, _stamp: int) -> dict[tuple[str, int], Reference]:
    return store.read_reference(path)


@lru_cache(_OPEN)
def _result(path: Path, _stamp: int) -> Result:
    found = load(path)
    if not isinstance(found, Result):
        raise TypeError(f"{path} is no race")
    return found


@lru_cache(_OPEN)
def _knowledge(path: Path, _stamp: int) -> KnowledgeBase:
    return open_base(path)


_OPENED: dict[str, Callable[[Path, int], Any]] = {
    "Reading": _reading,
    "Assessment": _assessment,
    "Result": _result,
    "KnowledgeBase": _knowledge,
    "Reference": _reference,
}

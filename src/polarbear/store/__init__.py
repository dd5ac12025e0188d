"""Studies on disk: created once, appended to by one writer, read by any number of readers meanwhile.

A study is a directory of plain files: its specification, its runs as Parquet parts, its rounds as JSON. Every file
appears whole, by an atomic rename, so that what is on disk after a kill is complete. `docs/reference/store.md`
describes the files and what is guaranteed.
"""

from __future__ import annotations

from pathlib import Path

from polarbear.records import Run
from polarbear.store.errors import StudyError, StudyLocked, StudyNotFound
from polarbear.store.index import Damage
from polarbear.store.specification import exists
from polarbear.store.study import StudyStore, create
from polarbear.store.study import open_study as open  # noqa: A004 - store.open reads as what it does

__all__ = [
    "Damage",
    "StudyError",
    "StudyLocked",
    "StudyNotFound",
    "StudyStore",
    "create",
    "exists",
    "open",
    "read",
]


def read(path: str | Path) -> list[Run]:
    """The runs of a study directory, sorted by key.

    Raises:
        StudyNotFound: If there is no study at `path`.
        StudyError: If its ``study.json`` cannot be used.
    """
    with open(path) as study:
        return study.runs()

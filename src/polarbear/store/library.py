"""A local library of recorded runs: data sets by name and version, which commands accept in place of paths."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from polarbear.descriptions import did_you_mean
from polarbear.store.atomic import write_atomically
from polarbear.store.errors import StudyError
from polarbear.store.formats.importing import import_runs
from polarbear.store.manifest import MANIFEST, sha256

VARIABLE = "POLARBEAR_LIBRARY"
"""The environment variable that names the library's folder."""
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")
_ENTRY, _DATA = "entry.json", "data.study"


def default_folder() -> Path:
    """The library's folder: the one that ``POLARBEAR_LIBRARY`` names, else a folder for user data."""
    if named := os.environ.get(VARIABLE):
        return Path(named)
    import platformdirs

    return Path(platformdirs.user_data_dir("polarbear", appauthor=False)) / "library"


def data_set_name(path: Path) -> str:
    """The ``NAME@VERSION`` of the data set whose `DataSet.path` is `path`; empty if it is not in a library."""
    kept = path.name == _DATA and (path.parent / _ENTRY).is_file()
    return f"{path.parent.parent.name}@{path.parent.name}" if kept else ""


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set of the library.

    Attributes:
        name: The data set's name.
        version: The data set's version.
        sources: The paths that it was imported from.
        runs: Number of runs.
        algorithms: Names of the algorithms.
        added: Time of addition, in UTC.
        checksum: SHA-256 of the manifest, which contains the checksums of all files.
        folder: The data set's folder.
    """

    name: str
    version: str
    sources: tuple[str, ...]
    runs: int
    algorithms: tuple[str, ...]
    added: str
    checksum: str
    folder: Path

    @property
    def path(self) -> Path:
        """The study that contains the runs.

        Raises:
            StudyError: If the study is not the one that was added.
        """
        study = self.folder / _DATA
        try:
            checksum = sha256((study / MANIFEST).read_bytes())
        except OSError:
            checksum = "missing"
        if checksum != self.checksum:
            raise StudyError(
                f"data set {self.name} {self.version} in {self.folder} differs from what was added: its checksum is "
                f"{checksum[:12]}, not {self.checksum[:12]}; remove it and add it again"
            )
        return study


class Library:
    """A folder of data sets.

    Args:
        folder: The library's folder, by default `default_folder`; it is created when something is added.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = default_folder() if folder is None else Path(folder)

    def list(self) -> list[DataSet]:
        """All data sets, sorted by name; for each name, the latest addition comes last."""
        entries = [_read(path) for path in self.folder.glob(f"*/*/{_ENTRY}")]
        return sorted(entries, key=lambda entry: (entry.name, entry.added, entry.version))

    def add(self, name: str, paths: Sequence[str | Path], *, version: str = "1", **options: Any) -> DataSet:
        """Import recorded runs and keep them under a name.

        Args:
            name: The name: letters, digits, dots, plus signs and hyphens.
            paths: Files, folders, archives or studies.
            version: The version, with the same characters as `name`; a name may have several versions.
            options: Options of `polarbear.store.import_runs`, such as ``suite="bbob"``.

        Raises:
            ValueError: If the name or version is invalid, the version exists already, or nothing can be read.
            OSError: If the library cannot be written.
        """
        for word, what in ((name, "name"), (version, "version")):
            if not _NAME.fullmatch(word):
                raise ValueError(f"the {what} is {word!r}; give letters, digits, dots, plus signs and hyphens")
        folder = self.folder / name / version
        if (folder / _ENTRY).exists():
            raise ValueError(f"{name} already has version {version}; give another version, or remove it first")
        shutil.rmtree(folder, ignore_errors=True)  # left by an import that did not finish
        folder.mkdir(parents=True)
        try:
            done = import_runs([str(path) for path in paths], folder / _DATA, **options)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        entry = DataSet(
            name=name,
            version=version,
            sources=tuple(map(str, paths)),
            runs=done.added,
            algorithms=tuple(done.algorithms),
            added=datetime.now(UTC).isoformat(timespec="seconds"),
            checksum=sha256((folder / _DATA / MANIFEST).read_bytes()),
            folder=folder,
        )
        content = asdict(entry)
        del content["folder"]
        write_atomically(folder / _ENTRY, json.dumps(content, indent=1, ensure_ascii=False).encode())
        return entry

    def get(self, name: str) -> DataSet:
        """The data set of a name: its latest version, or a particular one given as ``"name@version"``.

        Raises:
            ValueError: If there is none; the message suggests the closest one.
        """
        word, _, version = name.partition("@")
        listed = self.list()
        matches = [entry for entry in listed if entry.name == word and version in {"", entry.version}]
        if not listed:
            raise ValueError(
                f"the library {self.folder} has no data set {name!r}: it is empty; add one with polarbear archive add"
            )
        if not matches:
            valid = [f"{entry.name}@{entry.version}" if version else entry.name for entry in listed]
            raise ValueError(f"the library {self.folder} has no data set {name!r};{did_you_mean(name, valid)}")
        return matches[-1]

    def remove(self, name: str) -> DataSet:
        """Remove a data set, with `name` as for `get`; its sources are kept."""
        entry = self.get(name)
        shutil.rmtree(entry.folder)
        if not any(entry.folder.parent.iterdir()):
            entry.folder.parent.rmdir()
        return entry

    def holds(self, name: str) -> bool:
        """Whether there is a data set of the given name; none is read."""
        word, _, version = name.partition("@")
        if not _NAME.fullmatch(word) or (version and not _NAME.fullmatch(version)):
            return False
        return any((self.folder / word).glob(f"{version or '*'}/{_ENTRY}"))


def _read(path: Path) -> DataSet:
    try:
        content: dict[str, Any] = json.loads(path.read_text("utf-8"))
        content |= {"sources": tuple(content["sources"]), "algorithms": tuple(content["algorithms"])}
        return DataSet(**content, folder=path.parent)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError(f"{path} is damaged ({error}); remove its folder, and add the data set again") from error

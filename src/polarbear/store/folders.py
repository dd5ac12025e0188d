"""The folders of a study: numbered files, named with the first digits of their own and the manifest's checksums."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from polarbear.records import RunKey, Samples
from polarbear.store import parts
from polarbear.store.atomic import TEMPORARY
from polarbear.store.errors import EXHAUSTED, NoTemporaryFile
from polarbear.store.manifest import MANIFEST, SHORT, Manifest, altered, sha256
from polarbear.store.paths import remote

if TYPE_CHECKING:
    import polars as pl

MISSING_FILE = "the file is missing"
_AT_ONCE = 8
"""Number of files of a remote study that are fetched at the same time."""
_NAME = re.compile(r"(?P<number>\d{6,})(-(?P<digest>[0-9a-f]{16})(-(?P<head>[0-9a-f]{16}))?)?\.(parquet|json)")


@dataclass(frozen=True, slots=True)
class _Listing:
    """The files in a folder, by name.

    Attributes:
        belonging: Files of the study, with the first digits of their checksums.
        absent: The files of the study that the directory does not list.
        unknown: Files that do not belong there, and why.
    """

    belonging: dict[str, str]
    absent: frozenset[str]
    unknown: dict[str, str]


class Folder:
    """The files of one folder of a study.

    Attributes:
        digests: The SHA-256 of each usable file, by name.
        damaged: What is wrong with each unusable or missing file, by name.
    """

    suffix = parts.SUFFIX

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.digests: dict[str, str] = {}
        self.damaged: dict[str, str] = {}

    @property
    def next_number(self) -> int:
        """The number of the next file, chosen so that no damaged one is overwritten."""
        return max(map(file_number, (*self.digests, *self.damaged)), default=0) + 1

    def next_name(self, data: bytes, head: str) -> str:
        """The name of the next file: its number, and the first digits of its checksum and the manifest's."""
        return f"{self.next_number:06d}-{sha256(data)[:SHORT]}-{head}{self.suffix}"

    def add(self, name: str, data: bytes) -> None:
        """Add a file; ValueError if its bytes cannot be read."""
        self.digests[name] = sha256(data)

    def forget(self, names: Collection[str]) -> None:
        """Forget files."""
        for name in names:
            del self.digests[name]

    def refresh(self, manifest: Manifest | None) -> bool:
        """List the directory again: add new files and forget those that are gone.

        Returns:
            Whether any file was added or forgotten.

        Raises:
            OSError: If a remote store cannot be reached, files cannot be opened for lack of resources, or as
                `NoTemporaryFile`.
        """
        listing = self._list(manifest)
        gone = self.digests.keys() & (self.digests.keys() - listing.belonging.keys() | listing.absent)
        self.forget(gone)
        new = sorted(listing.belonging.keys() - self.digests.keys())
        self.damaged = dict(listing.unknown)
        for name, data in self._fetch_all({name: listing.belonging[name] for name in new}):
            try:
                if isinstance(data, Exception):
                    raise data
                self.add(name, data)
            except (OSError, ValueError) as error:
                self.damaged[name] = self._fault(error)
        return bool(gone or set(new) - self.damaged.keys())

    def read(self, name: str) -> bytes:
        """The bytes of a file.

        Raises:
            OSError: If the file cannot be read; FileNotFoundError if it is gone.
            ValueError: If its bytes differ from those written.
        """
        return self._read(name, self.digests[name])

    def damaged_since(self, name: str, why: str) -> ValueError:
        """The error for a file that was damaged after the study was opened; the file is given up."""
        self._give_up(name, why)
        return ValueError(f"{self._directory / name} was damaged after the study was opened: {why}")

    def _give_up(self, name: str, why: str) -> None:
        self.forget(self.digests.keys() & {name})
        self.damaged[name] = why

    def _read(self, name: str, digest: str) -> bytes:
        data = (self._directory / name).read_bytes()
        if not sha256(data).startswith(digest):
            raise ValueError(altered(data))
        return data

    def _fault(self, error: OSError | ValueError) -> str:
        """What is wrong with a file that cannot be read; errors that say nothing about the file are re-raised."""
        if isinstance(error, FileNotFoundError):
            return MISSING_FILE
        if isinstance(error, OSError) and (
            isinstance(error, NoTemporaryFile) or error.errno in EXHAUSTED or remote(self._directory)
        ):
            raise error
        return str(error)

    def _fetch_all(self, digests: Mapping[str, str]) -> Iterator[tuple[str, bytes | Exception]]:
        """The bytes of files, or the errors in reading them."""

        def fetch(name: str) -> tuple[str, bytes | Exception]:
            try:
                return name, self._read(name, digests[name])
            except (OSError, ValueError) as error:
                return name, error

        names = list(digests)
        if not remote(self._directory) or len(names) < 2:
            yield from map(fetch, names)
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:  # most of the time is spent waiting for the store
            for first in range(0, len(names), _AT_ONCE):
                yield from pool.map(fetch, names[first : first + _AT_ONCE])

    def _list(self, manifest: Manifest | None) -> _Listing:
        """Classify the files of the directory; without a manifest, all belong to the study."""
        paths = self._directory.glob(f"*{self.suffix}")
        present = {path.name for path in paths if not path.name.startswith(TEMPORARY)}
        if manifest is None:
            return _Listing({name: digest_in(name) for name in present}, frozenset(), {})
        folder = f"{self._directory.name}/"
        listed, replaced, lost = (
            {path.removeprefix(folder): digest for path, digest in files.items() if path.startswith(folder)}
            for files in (manifest.files, manifest.replaced, manifest.lost)
        )
        others = present - listed.keys() - replaced.keys() - lost.keys()
        new = {name for name in others if _in_name(name, "head") == manifest.head}  # of an active or killed writer
        unknown = dict.fromkeys(others - new, f"{MANIFEST} does not list it; if it is from another study, remove it")
        return _Listing({name: digest_in(name) for name in new} | listed, frozenset(listed.keys() - present), unknown)


class RoundFiles(Folder):
    """The rounds of a race, one JSON file each.

    Attributes:
        contents: Each usable round, by file name.
    """

    suffix = ".json"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.contents: dict[str, dict[str, Any]] = {}

    def add(self, name: str, data: bytes) -> None:
        """Add a round; ValueError if its bytes cannot be parsed."""
        try:
            content: Any = json.loads(data)
        except RecursionError as error:
            raise ValueError("it is nested too deeply to be read") from error
        if not isinstance(content, dict):
            raise ValueError(f"it holds a JSON value of type {type(content).__name__} instead of a round")  # noqa: TRY004 - the file is wrong
        self.contents[name] = cast("dict[str, Any]", content)
        super().add(name, data)

    def forget(self, names: Collection[str]) -> None:
        """Forget rounds."""
        for name in names:
            del self.contents[name]
        super().forget(names)

    def refresh(self, manifest: Manifest | None) -> bool:
        """As for `Folder`; without a manifest, gaps in the rounds' numbers count as damage."""
        changed = super().refresh(manifest)
        if manifest is None:
            present = set(map(file_number, (*self.digests, *self.damaged)))
            for number in set(range(1, max(present, default=0))) - present:
                self.damaged[f"{number:06d}{self.suffix}"] = f"{MISSING_FILE}, though there are later rounds"
        return changed


class SampleFiles(Folder):
    """The points that runs evaluated, in Parquet files read on demand only. The row of a run names its file.

    Attributes:
        sizes: Sizes in bytes of the files written through this object.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.sizes: dict[str, int] = {}

    def add(self, name: str, data: bytes) -> None:
        """Add a file that was written."""
        super().add(name, data)
        self.sizes[name] = len(data)

    def forget(self, names: Collection[str]) -> None:
        """Forget files."""
        super().forget(names)
        for name in names:
            self.sizes.pop(name, None)

    def refresh(self, manifest: Manifest | None) -> bool:
        """As for `Folder`, but reading only files whose checksums are not fully known."""
        before, listing = self.digests, self._list(manifest)
        self.damaged = listing.unknown | dict.fromkeys(listing.absent, MISSING_FILE)
        self.digests = {name: digest for name, digest in listing.belonging.items() if name not in self.damaged}
        self.check([name for name, digest in self.digests.items() if len(digest) <= SHORT])
        return before != self.digests

    def check(self, names: Collection[str] | None = None) -> None:
        """Read files, by default all, so that `damaged` names altered ones; OSError as for `refresh`."""
        for name in list(self.digests if names is None else names):
            try:
                data = self.read(name)
            except (OSError, ValueError) as error:
                self._give_up(name, self._fault(error))
            else:
                if len(self.digests[name]) <= SHORT:
                    self.digests[name] = sha256(data)

    def points(self, name: str, keys: Collection[RunKey]) -> dict[RunKey, Samples | None]:
        """The points of given runs in a file; none if the file is known to be damaged.

        Raises:
            OSError: If the file can no longer be read.
            ValueError: If it was damaged after the study was opened.
        """
        if name not in self.digests:
            return {}
        try:
            rows = parts.decode_samples(self.read(name))
        except ValueError as error:
            raise self.damaged_since(name, str(error)) from error
        return {key: samples for key, samples in rows if key in keys}

    def table(self, names: Collection[str]) -> pl.DataFrame:
        """The concatenated rows of several files; raises as `read`."""
        import polars as pl

        return pl.concat(parts.decode_samples_table(self.read(name)) for name in names)


def digest_in(name: str) -> str:
    """The first digits of a file's checksum according to its name; empty if the name has none."""
    return _in_name(name, "digest")


def file_number(name: str) -> int:
    """A file's number according to its name; 0 if the name has none."""
    return int(_in_name(name, "number") or 0)


def _in_name(name: str, field: str) -> str:
    match = _NAME.fullmatch(name)
    return (match[field] or "") if match else ""

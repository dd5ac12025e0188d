"""The parts of a study: which there are, which runs lie in them, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from polarbear.records import Instance, Outcome, Run, RunKey
from polarbear.store import parts
from polarbear.store.errors import EXHAUSTED, NoTemporaryFile
from polarbear.store.locations import Locations, PartOfRuns
from polarbear.store.manifest import Manifest, file_name, file_number, read_file, sha256, sort_out
from polarbear.store.paths import remote

if TYPE_CHECKING:
    import polars as pl


_AT_ONCE = 8
"""How many parts are fetched at the same time from elsewhere."""


class Size(NamedTuple):
    """How large a part is."""

    bytes: int
    runs: int


class PartIndex:
    """The parts of a study and where in them each run lies.

    Attributes:
        digests: The SHA-256 of each part that can be used, by file name.
        damaged: The parts that cannot be used or are missing, and why.
        problems: The problems of the runs whose names do not tell them.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sizes: dict[str, Size] = {}
        self.digests: dict[str, str] = {}
        self._locations = Locations()
        self.damaged: dict[str, str] = {}
        self.problems: dict[RunKey, Instance] = {}
        self._last: tuple[str, pl.DataFrame] | None = None

    def __contains__(self, key: RunKey) -> bool:
        return key in self._locations

    def __iter__(self) -> Iterator[RunKey]:
        return iter(self._locations)

    def __len__(self) -> int:
        return len(self._locations)

    @property
    def sizes(self) -> dict[str, Size]:
        """How large each part is that can be used, by file name."""
        return dict(self._sizes)

    def next_name(self, data: bytes, head: str) -> str:
        """What the next part is called, by its place in the order of commits."""
        number = max(map(file_number, (*self._sizes, *self.damaged)), default=0) + 1
        return file_name(number, data, head, parts.SUFFIX)

    def refresh(self, manifest: Manifest | None) -> bool:
        """Look at the directory again: take in new parts, let go of those that were merged into others.

        Returns:
            Whether anything was taken in or let go of.

        Raises:
            OSError: If it lies elsewhere and cannot be reached, files cannot be opened for lack of resources, or as
                `NoTemporaryFile`.
        """
        found = sort_out(self._directory, parts.SUFFIX, manifest)
        gone = self._sizes.keys() & (self._sizes.keys() - found.belonging.keys() | found.absent)
        self.forget(gone)
        new = found.belonging.keys() - self._sizes.keys()
        self.damaged = dict(found.unknown)
        for name, data in self._fetched({name: found.belonging[name] for name in sorted(new)}):
            self._take(name, data)
        return bool(gone or new - self.damaged.keys())

    def add(self, name: str, data: bytes) -> None:
        """Take in a part; ValueError if its bytes cannot be read."""
        keys = parts.decode_keys(data)
        self.problems |= parts.decode_unnamed_problems(data)
        self._locations.add(name, keys)
        self._sizes[name], self.digests[name] = Size(len(data), len(keys)), sha256(data)

    def forget(self, names: Collection[str]) -> None:
        """Let go of parts. A run that lies in another one as well is still known."""
        self._locations.remove(names)
        for name in names:
            del self._sizes[name], self.digests[name]

    def rows(self, keys: Collection[RunKey] | None = None) -> dict[str, list[int]]:
        """The parts that these runs are read from, by default all, and their rows in each; KeyError if one is gone."""
        return self._locations.find_all(keys)

    def runs(self, rows: Mapping[str, list[int]]) -> list[Run]:
        """The runs in some rows of each part.

        Raises:
            OSError: If a part cannot be read any more, as `ValueError` if it has been damaged since.
        """
        found: list[Run] = []
        for name, some in rows.items():
            with self._naming(name):
                found += parts.runs_of(self._table(name), some)
        return found

    def outcomes(self, rows: Mapping[str, list[int]]) -> list[tuple[RunKey, Outcome]]:
        """How the runs in some rows of each part ended; errors as for `runs`."""
        found: list[tuple[RunKey, Outcome]] = []
        for name, some in rows.items():
            with self._naming(name):
                ended = parts.decode_outcomes(self._data(name))
                found += [ended[row] for row in some]
        return found

    def table(self, names: Sequence[str]) -> pl.DataFrame:
        """The rows that are read from these parts.

        Raises:
            OSError: If a part cannot be read any more, as `ValueError` if it has been damaged since.
        """
        import polars as pl

        found: list[pl.DataFrame] = []
        keys = [key for name in names for key in self._locations.held_by(name)]
        for part, rows in self.rows(keys).items():
            with self._naming(part):
                found.append(self._table(part)[rows])
        return pl.concat(found or [self._table(names[0])[:0]])

    def sample_files(self, rows: Mapping[str, list[int]]) -> dict[RunKey, str]:
        """The files in which the points of those runs lie that have any; errors as for `runs`."""
        found: dict[RunKey, str] = {}
        for name, some in rows.items():
            with self._naming(name):
                found |= parts.sample_files_of(self._table(name), some)
        return found

    def by_part(self) -> Iterator[PartOfRuns]:
        """The runs that are read from each part, in the order of commits, as it is now."""
        return self._locations.by_part()

    def _table(self, name: str) -> pl.DataFrame:
        """A part's rows. The last one is kept: runs that are asked for one by one often lie together."""
        if self._last is None or self._last[0] != name:
            self._last = name, parts.decode_table(self._data(name))
        return self._last[1]

    def _data(self, name: str) -> bytes:
        return read_file(self._directory / name, self.digests[name])

    @contextmanager
    def _naming(self, name: str) -> Generator[None]:
        """Say of what cannot be read that it was damaged, and let go of the part."""
        try:
            yield
        except ValueError as error:
            self.forget([name])
            self.damaged[name] = str(error)
            path = self._directory / name
            raise ValueError(f"{path} was damaged since the study was opened: {error}") from error

    def _fetched(self, digests: Mapping[str, str]) -> Iterator[tuple[str, bytes | Exception]]:
        """The bytes of parts, or what keeps them from being read."""
        if remote(self._directory) is None or len(digests) < 2:
            yield from ((name, self._fetch(name, digest)) for name, digest in digests.items())
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:  # most of the time is waiting for the store
            names = list(digests)
            for first in range(0, len(names), _AT_ONCE):
                some = names[first : first + _AT_ONCE]
                yield from zip(some, pool.map(self._fetch, some, map(digests.__getitem__, some)), strict=True)

    def _fetch(self, name: str, digest: str) -> bytes | Exception:
        try:
            return read_file(self._directory / name, digest)
        except (OSError, ValueError) as error:
            return error

    def _take(self, name: str, data: bytes | Exception) -> None:
        try:
            if isinstance(data, Exception):
                raise data
            self.add(name, data)
        except FileNotFoundError:
            self.damaged[name] = "the file is missing"
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and (
                isinstance(error, NoTemporaryFile) or error.errno in EXHAUSTED or remote(self._directory)
            ):
                raise  # which says nothing about the part
            self.damaged[name] = str(error)

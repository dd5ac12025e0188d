"""The parts of a study: which there are, which runs lie in them, and what is wrong with them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from polarbear.records import Outcome, Run, RunKey
from polarbear.store import parts
from polarbear.store.atomic import TEMPORARY
from polarbear.store.errors import NoTemporaryFile
from polarbear.store.locations import Locations
from polarbear.store.places import remote

if TYPE_CHECKING:
    import polars as pl


ATTEMPTS = 20
"""How often to look again for a part that the writer merges into others meanwhile."""
_AT_ONCE = 8
"""How many parts are fetched at the same time from elsewhere."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A file of a study that cannot be used.

    Attributes:
        path: Which file.
        why: What is wrong with it.
    """

    path: Path
    why: str

    def __str__(self) -> str:
        return f"{self.path} cannot be used: {self.why}"


class Size(NamedTuple):
    """How large a part is."""

    bytes: int
    runs: int


class PartIndex:
    """The parts of a study and where in them each run lies.

    Attributes:
        damaged: The parts that cannot be used, and why, by file name.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._sizes: dict[str, Size] = {}
        self._locations = Locations()
        self.damaged: dict[str, str] = {}
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

    @property
    def next_number(self) -> int:
        """The place of the next part in the order of commits."""
        return max(map(parts.part_number, (*self._sizes, *self.damaged)), default=0) + 1

    def refresh(self) -> None:
        """Look at the directory again: take in new parts, let go of those that were merged into others.

        Raises:
            OSError: If it lies elsewhere and cannot be reached, or as `NoTemporaryFile`.
        """
        # A listing made while the writer merges parts can miss both the merged part and its sources. All are known
        # once nothing has changed between two listings.
        seen: set[str] | None = None
        while (present := _listing(self._directory)) != seen:
            seen = present
            self.forget({*self._sizes, *self.damaged} - present)
            for name, data in self._fetched(sorted(present - self._sizes.keys() - self.damaged.keys())):
                self._take(name, data)

    def add(self, name: str, data: bytes) -> None:
        """Take in a part; ValueError if its bytes cannot be read."""
        keys = parts.decode_keys(data)
        self._locations.add(name, keys)
        self._sizes[name] = Size(len(data), len(keys))

    def forget(self, names: set[str]) -> None:
        """Let go of parts. A run that lies in another one as well is still known."""
        self._locations.remove(names)
        self._sizes = {name: size for name, size in self._sizes.items() if name not in names}
        self.damaged = {name: why for name, why in self.damaged.items() if name not in names}

    def runs(self, keys: Iterable[RunKey]) -> list[Run]:
        """The runs with these keys, read from disk in no particular order.

        Raises:
            KeyError: If no part holds one of them.
            OSError: If a part cannot be read any more, as `ValueError` if it has been damaged since.
        """
        wanted = list(keys)
        for _ in range(ATTEMPTS):
            with suppress(FileNotFoundError):
                return self._read(wanted)
            self.refresh()  # a part was merged into another one since the index was read
        return self._read(wanted)

    def table(self, names: Sequence[str]) -> pl.DataFrame:
        """The rows that are read from these parts.

        Raises:
            OSError: If a part cannot be read any more, as `ValueError` if it has been damaged since.
        """
        import polars as pl

        keys = [key for name in names for key in self._locations.held_by(name)]
        return pl.concat([self._table(name)[rows] for name, rows in self._rows(keys)] or [self._table(names[0])[:0]])

    def by_part(self) -> Iterator[list[RunKey]]:
        """The keys of the runs that are read from each part, in the order of commits, as it is now."""
        return self._locations.by_part()

    def outcomes(self, keys: Iterable[RunKey]) -> list[tuple[RunKey, Outcome]]:
        """How these runs ended; errors as for `runs`."""
        wanted = list(keys)
        for _ in range(ATTEMPTS):
            with suppress(FileNotFoundError):
                return self._read_outcomes(wanted)
            self.refresh()
        return self._read_outcomes(wanted)

    def _read_outcomes(self, keys: Iterable[RunKey]) -> list[tuple[RunKey, Outcome]]:
        found: list[tuple[RunKey, Outcome]] = []
        for name, rows in self._rows(keys):
            ended = parts.decode_outcomes(parts.read_part(self._directory / name))
            found += [ended[row] for row in rows]
        return found

    def _read(self, keys: Iterable[RunKey]) -> list[Run]:
        return [run for name, rows in self._rows(keys) for run in parts.runs_of(self._table(name), rows)]

    def _rows(self, keys: Iterable[RunKey]) -> list[tuple[str, list[int]]]:
        """The parts these runs are read from, and the rows in each."""
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for key in keys:
            if (found := self._locations.find(key)) is None:
                raise KeyError(key)
            rows[found[0]].append(found[1])
        return [(name, sorted(rows[name])) for name in sorted(rows)]

    def _table(self, name: str) -> pl.DataFrame:
        """A part's rows. The last one is kept: runs that are asked for one by one often lie together."""
        if self._last is None or self._last[0] != name:
            path = self._directory / name
            try:
                self._last = name, parts.decode_table(parts.read_part(path))
            except ValueError as error:
                self.forget({name})
                self.damaged[name] = str(error)
                raise ValueError(f"{path} was damaged since the study was opened: {error}") from error
        return self._last[1]

    def _fetched(self, names: Sequence[str]) -> Iterator[tuple[str, bytes | Exception]]:
        """The bytes of parts, or what keeps them from being read."""
        if remote(self._directory) is None or len(names) < 2:
            yield from ((name, self._fetch(name)) for name in names)
            return
        with ThreadPoolExecutor(_AT_ONCE) as pool:  # most of the time is waiting for the store
            for first in range(0, len(names), _AT_ONCE):
                some = names[first : first + _AT_ONCE]
                yield from zip(some, pool.map(self._fetch, some), strict=True)

    def _fetch(self, name: str) -> bytes | Exception:
        try:
            return parts.read_part(self._directory / name)
        except (OSError, ValueError) as error:
            return error

    def _take(self, name: str, data: bytes | Exception) -> None:
        try:
            if isinstance(data, Exception):
                raise data
            self.add(name, data)
        except FileNotFoundError:
            return  # merged since the listing; the next listing differs
        except (OSError, ValueError) as error:
            if isinstance(error, NoTemporaryFile) or (isinstance(error, OSError) and remote(self._directory)):
                raise  # there is no room, or the store cannot be reached, which says nothing about the part
            self.damaged[name] = str(error)


def _listing(directory: Path) -> set[str]:
    return {path.name for path in directory.glob(f"*{parts.SUFFIX}") if not path.name.startswith(TEMPORARY)}

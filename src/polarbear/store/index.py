"""Which run lies in which part: read from the parts, kept in memory without the trajectories."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from polarbear.records import Outcome, Run, RunKey
from polarbear.store import parts
from polarbear.store.atomic import TEMPORARY
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


class PartIndex:
    """The parts of a study and where in them each run lies.

    Attributes:
        damaged: The parts that cannot be used, and why, by file name.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._parts: dict[str, _Part] = {}
        self._where: dict[RunKey, tuple[str, int]] = {}  # part and row; a run that lies in two parts counts once
        self.damaged: dict[str, str] = {}
        self._last: tuple[str, pl.DataFrame] | None = None

    def __contains__(self, key: RunKey) -> bool:
        return key in self._where

    def __iter__(self) -> Iterator[RunKey]:
        return iter(self._where)

    @property
    def sizes(self) -> dict[str, int]:
        """The bytes of each part that can be used, by file name."""
        return {name: part.size for name, part in self._parts.items()}

    @property
    def next_number(self) -> int:
        """The place of the next part in the order of commits."""
        return max(map(parts.part_number, (*self._parts, *self.damaged)), default=0) + 1

    def refresh(self) -> None:
        """Look at the directory again: take in new parts, let go of those that were merged into others.

        Raises:
            OSError: If it lies elsewhere and cannot be reached.
        """
        # A listing made while the writer merges parts can miss both the merged part and its sources. All are known
        # once nothing has changed between two listings.
        seen: set[str] | None = None
        while (present := _listing(self._directory)) != seen:
            seen = present
            self.forget({*self._parts, *self.damaged} - present)
            for name, data in self._fetched(sorted(present - self._parts.keys() - self.damaged.keys())):
                self._take(name, data)

    def add(self, name: str, data: bytes) -> None:
        """Take in a part; ValueError if its bytes cannot be read."""
        self._parts[name] = _Part(len(data), parts.decode_keys(data))
        self._locate(name)

    def forget(self, names: set[str]) -> None:
        """Let go of parts. A run that lies in another one as well is still known."""
        if names:
            self._parts = {name: part for name, part in self._parts.items() if name not in names}
            self.damaged = {name: why for name, why in self.damaged.items() if name not in names}
            self._where = {}
            for name in self._parts:
                self._locate(name)

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

    def held_by(self, names: Sequence[str]) -> list[RunKey]:
        """The keys of the runs that are read from these parts."""
        return [key for key, (name, _) in self._where.items() if name in names]

    def by_part(self) -> dict[str, list[RunKey]]:
        """The keys of the runs that are read from each part, by file name in the order of commits."""
        held: dict[str, list[RunKey]] = {name: [] for name in sorted(self._parts)}
        for key, (name, _) in self._where.items():
            held[name].append(key)
        return held

    def outcomes(self, keys: Iterable[RunKey]) -> list[tuple[RunKey, Outcome]]:
        """How these runs ended; errors as for `runs`."""
        wanted = list(keys)
        for _ in range(ATTEMPTS):
            with suppress(FileNotFoundError):
                return self._read_outcomes(wanted)
            self.refresh()
        return self._read_outcomes(wanted)

    def _read_outcomes(self, keys: Iterable[RunKey]) -> list[tuple[RunKey, Outcome]]:
        wanted = set(keys)
        found: list[tuple[RunKey, Outcome]] = []
        for name in sorted({self._where[key][0] for key in wanted}):
            ended = parts.decode_outcomes(parts.read_part(self._directory / name))
            found += [(key, outcome) for key, outcome in ended if key in wanted and self._where[key][0] == name]
        return found

    def _read(self, keys: Iterable[RunKey]) -> list[Run]:
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for key in keys:
            name, row = self._where[key]
            rows[name].append(row)
        return [run for name in sorted(rows) for run in parts.runs_of(self._table(name), sorted(rows[name]))]

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
            if isinstance(error, OSError) and remote(self._directory):
                raise  # the store cannot be reached, which says nothing about the part
            self.damaged[name] = str(error)

    def _locate(self, name: str) -> None:
        for row, key in enumerate(self._parts[name].keys):
            self._where[key] = (name, row)


@dataclass(frozen=True, slots=True)
class _Part:
    size: int
    keys: list[RunKey]


def _listing(directory: Path) -> set[str]:
    return {path.name for path in directory.glob(f"*{parts.SUFFIX}") if not path.name.startswith(TEMPORARY)}

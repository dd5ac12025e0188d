"""The part that contains each run, in a database that needs little memory however many runs there are."""

from __future__ import annotations

import math
import operator
import os
import sqlite3
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import astuple
from functools import partial
from typing import Any, NamedTuple, cast

from polarbear.records import RunKey
from polarbear.store.errors import NoTemporaryFile

_CACHE_KB = 65_536
"""Memory used before the database moves to a temporary file, which is removed when the process ends."""
_PAGE = 10_000
"""Number of keys in memory at a time during an iteration over all."""
_FEW = 100
"""Below this number, runs are looked up one by one."""
_TABLES = """
    CREATE TABLE locations (
        instance TEXT, algorithm TEXT, seed INTEGER, part INTEGER, line INTEGER,
        PRIMARY KEY (instance, algorithm, seed, part)
    ) WITHOUT ROWID;
    CREATE INDEX of_part ON locations (part);
    CREATE TEMP TABLE snapshots (
        number INTEGER, part INTEGER, line INTEGER, instance TEXT, algorithm TEXT, seed INTEGER,
        PRIMARY KEY (number, part, line)
    ) WITHOUT ROWID;
    CREATE TEMP TABLE wanted (instance TEXT, algorithm TEXT, seed INTEGER);
"""


class PartOfRuns(NamedTuple):
    """The runs that are read from one part.

    Attributes:
        name: The part's name.
        rows: The runs' rows in the part.
        keys: A function that returns their keys; callable until the iteration moves to the next part.
    """

    name: str
    rows: list[int]
    keys: Callable[[], list[RunKey]]


class Locations:
    """The part and row of each run. A run in several parts counts once and is read from the part added last.

    The methods may be called from any thread. They raise NoTemporaryFile if the database needs a file and has no room.
    """

    def __init__(self) -> None:
        self._mutex = threading.RLock()
        self._names: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._added = 0
        self._snapshots = 0
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._database.close).atexit = False  # exit handlers may still use it
        with self._locked() as database:
            database.executescript(f"PRAGMA journal_mode = MEMORY; PRAGMA cache_size = -{_CACHE_KB}; {_TABLES}")

    def __contains__(self, key: RunKey) -> bool:
        return self.find(key) is not None

    def __iter__(self) -> Iterator[RunKey]:
        last: tuple[Any, ...] = "", "", -math.inf
        while page := self._keys(
            "SELECT DISTINCT instance, algorithm, seed FROM locations WHERE (instance, algorithm, seed) > (?, ?, ?) "
            "ORDER BY instance, algorithm, seed LIMIT ?",
            *(*last, _PAGE),
        ):
            yield from page
            last = astuple(page[-1])

    def __len__(self) -> int:
        with self._locked() as database:
            distinct = "SELECT COUNT(*) FROM (SELECT DISTINCT instance, algorithm, seed FROM locations)"
            return database.execute(distinct).fetchone()[0]

    def find(self, key: RunKey) -> tuple[str, int] | None:
        """The part and row of a run; None if there is none with this key."""
        with self._locked() as database:
            try:
                location = database.execute(
                    "SELECT part, line FROM locations WHERE instance = ? AND algorithm = ? AND seed = ? "
                    "ORDER BY part DESC LIMIT 1",
                    (key.instance, key.algorithm, operator.index(key.seed)),
                ).fetchone()
            except (TypeError, UnicodeEncodeError, OverflowError):
                return None  # no such key can be stored
            return None if location is None else (self._names[location[0]], location[1])

    def find_all(self, keys: Collection[RunKey] | None = None) -> dict[str, list[int]]:
        """The parts, sorted by name, and the rows of the given runs in each, by default of all runs.

        Raises:
            KeyError: If one of them is missing.
        """
        if keys is None:
            locations = self._last_locations("FROM locations")
        elif len(keys) < _FEW:
            locations = [location for key in keys if (location := self.find(key)) is not None]
        else:
            with self._locked() as database:
                database.execute("BEGIN")
                with database:
                    database.execute("DELETE FROM wanted")
                    rows = ((key.instance, key.algorithm, key.seed) for key in keys)
                    database.executemany("INSERT INTO wanted VALUES (?, ?, ?)", rows)
                    locations = self._last_locations("FROM wanted JOIN locations USING (instance, algorithm, seed)")
                    database.execute("DELETE FROM wanted")
        if keys is not None and len(locations) < len(keys):
            raise KeyError(next(key for key in keys if key not in self))
        rows_of: defaultdict[str, list[int]] = defaultdict(list)
        for name, line in locations:
            rows_of[name].append(line)
        return {name: sorted(rows_of[name]) for name in sorted(rows_of)}

    def add(self, name: str, keys: Iterable[RunKey]) -> None:
        """Add a part, given the keys of its rows."""
        with self._locked() as database:
            self._added += 1
            number = self._added
            rows = ((key.instance, key.algorithm, key.seed, number, line) for line, key in enumerate(keys))
            database.execute("BEGIN")
            with database:
                database.executemany("INSERT OR REPLACE INTO locations VALUES (?, ?, ?, ?, ?)", rows)
            self._names[number], self._numbers[name] = name, number

    def remove(self, names: Iterable[str]) -> None:
        """Remove parts. A run that is in another part as well stays known."""
        with self._locked() as database:
            for name in set(names) & self._numbers.keys():
                database.execute("DELETE FROM locations WHERE part = ?", (self._numbers[name],))
                del self._names[self._numbers.pop(name)]

    def held_by(self, name: str) -> list[RunKey]:
        """The runs that are read from a part; none if there is no such part."""
        return self._keys(
            "SELECT instance, algorithm, seed FROM locations AS here WHERE part = ? AND NOT EXISTS ("
            "SELECT 1 FROM locations AS later WHERE later.part > here.part AND "
            "(later.instance, later.algorithm, later.seed) = (here.instance, here.algorithm, here.seed))",
            self._numbers.get(name, 0),
        )

    def by_part(self) -> Iterator[PartOfRuns]:
        """The runs that are read from each part, in the order of the parts' names, as of now."""
        snapshot = self._snapshot()
        next(snapshot)  # a generator that has not started would not clean up
        return cast("Iterator[PartOfRuns]", snapshot)

    def _snapshot(self) -> Iterator[PartOfRuns | None]:
        process = os.getpid()
        with self._locked() as database:
            self._snapshots += 1
            number, parts = self._snapshots, [(name, self._numbers[name]) for name in sorted(self._numbers)]
            database.execute(
                "INSERT INTO snapshots SELECT ?, MAX(part), line, instance, algorithm, seed FROM locations "
                "GROUP BY instance, algorithm, seed ORDER BY MAX(part), line",
                (number,),
            )
        try:
            yield None
            for name, part in parts:
                of_part = "FROM snapshots WHERE number = ? AND part = ? ORDER BY line"
                with self._locked() as database:
                    rows = [line for (line,) in database.execute(f"SELECT line {of_part}", (number, part))]
                keys = partial(self._keys, f"SELECT instance, algorithm, seed {of_part}", number, part)
                yield PartOfRuns(name, rows, keys)
        finally:
            if os.getpid() == process:  # a forked process must not write to the same file
                with self._mutex, suppress(sqlite3.Error):  # otherwise it is removed with the database
                    self._database.execute("DELETE FROM snapshots WHERE number = ?", (number,))

    def _last_locations(self, source: str) -> list[tuple[str, int]]:
        with self._locked() as database:
            last = f"SELECT MAX(part), line {source} GROUP BY instance, algorithm, seed"
            return [(self._names[part], line) for part, line in database.execute(last)]

    def _keys(self, query: str, *parameters: str | float) -> list[RunKey]:
        with self._locked() as database:
            return [RunKey(*row) for row in database.execute(query, parameters)]

    @contextmanager
    def _locked(self) -> Generator[sqlite3.Connection]:
        """The database, for one thread at a time."""
        with self._mutex:
            try:
                yield self._database
            except sqlite3.OperationalError as error:
                raise NoTemporaryFile(
                    f"the list of the study's runs cannot be kept in a temporary file: {error}; free space in the "
                    "temporary directory, or set TMPDIR to another one. The study itself is intact"
                ) from error

"""Which run lies in which part, in a database that needs little memory however many runs there are."""

from __future__ import annotations

import sqlite3
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence

from polarbear.records import RunKey

_CACHE_KB = 65_536
"""Memory that is used before the database goes to a temporary file, which ends with the process."""
_PAGE = 10_000
_TABLES = """
    CREATE TABLE lies (
        instance TEXT, algorithm TEXT, seed INTEGER, part INTEGER, line INTEGER,
        PRIMARY KEY (instance, algorithm, seed, part)
    ) WITHOUT ROWID;
    CREATE INDEX of_part ON lies (part);
    CREATE TEMP TABLE snapshots (number INTEGER, part INTEGER, instance TEXT, algorithm TEXT, seed INTEGER);
    CREATE INDEX temp.of_snapshot ON snapshots (number, part);
"""


class Locations:
    """The part and row of each run. A run that lies in several parts counts once, and is read from the last one added.

    Its methods may be called from any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._names: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._added = 0
        self._snapshots = 0
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._database.close)
        self._database.executescript(f"PRAGMA journal_mode = MEMORY; PRAGMA cache_size = -{_CACHE_KB}; {_TABLES}")

    def __contains__(self, key: RunKey) -> bool:
        return self.find(key) is not None

    def __iter__(self) -> Iterator[RunKey]:
        page = self._keys(
            "SELECT DISTINCT instance, algorithm, seed FROM lies ORDER BY instance, algorithm, seed LIMIT ?", _PAGE
        )
        while page:
            yield from page
            last = page[-1]
            page = self._keys(
                "SELECT DISTINCT instance, algorithm, seed FROM lies WHERE (instance, algorithm, seed) > (?, ?, ?) "
                "ORDER BY instance, algorithm, seed LIMIT ?",
                *(last.instance, last.algorithm, last.seed, _PAGE),
            )

    def __len__(self) -> int:
        with self._lock:
            distinct = "SELECT COUNT(*) FROM (SELECT DISTINCT instance, algorithm, seed FROM lies)"
            return self._database.execute(distinct).fetchone()[0]

    def find(self, key: RunKey) -> tuple[str, int] | None:
        """The part and row of a run, if there is one with this key."""
        with self._lock:
            try:
                found = self._database.execute(
                    "SELECT part, line FROM lies WHERE instance = ? AND algorithm = ? AND seed = ? "
                    "ORDER BY part DESC LIMIT 1",
                    (key.instance, key.algorithm, key.seed),
                ).fetchone()
            except (UnicodeEncodeError, OverflowError):
                return None  # no such key can be stored
            return None if found is None else (self._names[found[0]], found[1])

    def add(self, name: str, keys: Iterable[RunKey]) -> None:
        """Take in a part, whose rows have these keys; OSError if there is no room for more temporary files."""
        with self._lock:
            self._added += 1
            number = self._added
            rows = ((key.instance, key.algorithm, key.seed, number, line) for line, key in enumerate(keys))
            try:
                self._database.execute("BEGIN")
                with self._database:
                    self._database.executemany("INSERT OR REPLACE INTO lies VALUES (?, ?, ?, ?, ?)", rows)
            except sqlite3.OperationalError as error:
                raise OSError(
                    f"the list of the study's runs needs a temporary file, and that failed: {error}; make room in "
                    f"{tempfile.gettempdir()}, or set TMPDIR to another folder"
                ) from error
            self._names[number], self._numbers[name] = name, number

    def remove(self, names: Iterable[str]) -> None:
        """Let go of parts. A run that lies in another one as well is still known."""
        with self._lock:
            for number in [self._numbers.pop(name) for name in names if name in self._numbers]:
                del self._names[number]
                self._database.execute("DELETE FROM lies WHERE part = ?", (number,))

    def held_by(self, name: str) -> list[RunKey]:
        """The keys of the runs that are read from a part."""
        return self._keys(
            "SELECT instance, algorithm, seed FROM lies AS here WHERE part = ? AND NOT EXISTS ("
            "SELECT 1 FROM lies AS later WHERE later.part > here.part AND "
            "(later.instance, later.algorithm, later.seed) = (here.instance, here.algorithm, here.seed))",
            self._numbers[name],
        )

    def by_part(self) -> Iterator[list[RunKey]]:
        """The keys of the runs that are read from each part, in the order of the parts' names, as it is now."""
        with self._lock:
            self._snapshots += 1
            self._database.execute(
                "INSERT INTO snapshots SELECT ?, MAX(part), instance, algorithm, seed FROM lies "
                "GROUP BY instance, algorithm, seed",
                (self._snapshots,),
            )
            return self._snapshot(self._snapshots, [self._numbers[name] for name in sorted(self._numbers)])

    def _snapshot(self, number: int, parts: Sequence[int]) -> Iterator[list[RunKey]]:
        try:
            for part in parts:
                yield self._keys(
                    "SELECT instance, algorithm, seed FROM snapshots WHERE number = ? AND part = ?", number, part
                )
        finally:
            with self._lock:
                self._database.execute("DELETE FROM snapshots WHERE number = ?", (number,))

    def _keys(self, query: str, *parameters: str | int) -> list[RunKey]:
        with self._lock:
            return [RunKey(*row) for row in self._database.execute(query, parameters)]

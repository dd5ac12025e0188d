"""An open study: runs and rounds go in and come out."""

from __future__ import annotations

import copy
import json
import os
import threading
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any

from polarbear.records import Outcome, Run, RunKey
from polarbear.store import parts
from polarbear.store.atomic import flush_directory, remove_temporaries, write_atomically
from polarbear.store.errors import StudyError, StudyLocked
from polarbear.store.index import Damage, PartIndex, Size
from polarbear.store.lock import Lock, lock_for_writing
from polarbear.store.places import place, remote
from polarbear.store.query import Wanted, matching
from polarbear.store.rounds import RoundFiles
from polarbear.store.specification import (
    ROUNDS,
    RUNS,
    SPEC,
    encode_spec,
    read_spec,
    require_free,
    to_json,
)
from polarbear.store.undisturbed import undisturbed

COMMIT_SECONDS = 1.0
"""An appended run is on disk at the latest after so many seconds."""
COMMIT_RUNS = 1000
"""Runs that are committed at once, however recent the last commit."""
SMALL = Size(8 << 20, 20_000)
"""Bytes and runs below which a part counts as small and is worth merging."""
MANY = 128
"""How many small parts a commit leaves before it merges them."""
_NOT_CREATED = "cannot be created", "Mend that and try again, or choose another place"
_NOT_OPENED = (
    "cannot be opened for writing",
    "It can still be read; mend that, or copy the study elsewhere, to go on with it",
)


def create(path: str | Path, spec: dict[str, Any], *, commit_seconds: float = COMMIT_SECONDS) -> StudyStore:
    """Create a study and open it for writing.

    Args:
        path: Its directory, new or empty; or a URL of a place elsewhere, such as ``s3://bucket/a.study``.
        spec: What can be written as JSON; non-finite numbers are written as Python's ``json`` does.
        commit_seconds: An appended run is on disk at the latest after so many seconds.

    Raises:
        FileExistsError: If there is a study or anything else already.
        TypeError: If `spec` cannot be written as JSON.
        StudyLocked: If another process creates a study there at the same time, or left its lock there.
        OSError: If it cannot be written there; the message names the file. What is left is no study, and it can be
            created again. As `NoTemporaryFile` if the list of its runs has no room.
    """
    path = place(path)
    data = encode_spec(path, spec)
    require_free(path)
    with _told(path, *_NOT_CREATED):
        path.mkdir(parents=True, exist_ok=True)
        lock = lock_for_writing(path)
    try:
        require_free(path)
        with _told(path, *_NOT_CREATED):
            for name in (RUNS, ROUNDS):
                (path / name).mkdir(exist_ok=True)
            write_atomically(path / SPEC, data)
            if remote(path) is None:
                flush_directory(path.parent)
        return StudyStore(path, json.loads(data)["spec"], lock, commit_seconds)
    except BaseException:
        lock.release()
        raise


def open_study(path: str | Path, write: bool = False, *, commit_seconds: float = COMMIT_SECONDS) -> StudyStore:
    """Open a study, for reading unless `write` is true.

    Raises:
        StudyNotFound: If there is no study; the message says what is missing.
        StudyError: If its ``study.json`` cannot be used, or was written by a newer polarbear.
        StudyLocked: If `write` and another process writes to it, or left its lock there; the message names it.
        OSError: If `write` and the directory is not writable; as `NoTemporaryFile` if the list of its runs has no room.
    """
    path = place(path)
    spec = read_spec(path)
    lock = None
    if write:
        with _told(path, *_NOT_OPENED):
            lock = lock_for_writing(path)
    return StudyStore(path, spec, lock, commit_seconds)


@contextmanager
def _told(study: Path, what: str, mend: str) -> Generator[None]:
    """Say of an OSError what becomes of the study, and what to do."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise OSError(error.errno, f"study {study} {what}: {error.strerror}{where}. {mend}") from error


class StudyStore:
    """An open study. Use it in a ``with`` statement, or `close` it: what was appended is committed then.

    A reader sees the study as it was when opened or last refreshed. Its methods may be called from any thread,
    but not in a forked process, whose end does nothing to it.

    Attributes:
        path: Its directory; for studies elsewhere what stands in for a `Path` (see `polarbear.store.place`).
        spec: Its specification.
    """

    def __init__(self, path: Path, spec: dict[str, Any], lock: Lock | None, commit_seconds: float) -> None:
        self.path = path
        self.spec = spec
        self._lock = lock
        self._own_mutex = threading.RLock()
        self._process = os.getpid()
        self._index = PartIndex(path / RUNS)
        self._rounds = RoundFiles(path / ROUNDS)
        self._buffer: dict[RunKey, Run] = {}
        self._commit_seconds = commit_seconds
        self._committed = time.monotonic()
        self._timer: threading.Timer | None = None
        try:
            if lock is not None and remote(path) is None:
                for directory in (path, path / RUNS, path / ROUNDS):
                    directory.mkdir(exist_ok=True)
                    remove_temporaries(directory)
            self.refresh()
        except BaseException:
            self._release()
            raise

    def __enter__(self) -> StudyStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.close()
        finally:
            self._release()

    def __contains__(self, key: RunKey) -> bool:
        with self._mutex:
            return key in self._buffer or key in self._index

    def __iter__(self) -> Iterator[RunKey]:
        """The keys of all runs, in no particular order, so that memory holds few of them."""
        with self._mutex:
            buffered = set(self._buffer)
        yield from buffered
        yield from (key for key in self._index if key not in buffered)

    def __len__(self) -> int:
        with self._mutex:
            return len(self._index) + len(self._buffer)

    def __repr__(self) -> str:
        return f"<StudyStore {self.path} open for {'reading' if self._lock is None else 'writing'}>"

    @property
    def damaged(self) -> tuple[Damage, ...]:
        """The files that cannot be used. The runs and rounds of all others are there."""
        with self._mutex:
            # Elsewhere there are no directories that could be missing.
            directories = () if remote(self.path) else (RUNS, ROUNDS)
            missing = {name: "the directory is missing" for name in directories if not (self.path / name).is_dir()}
            found = [Damage(self.path / name, why) for name, why in missing.items()]
            found += [Damage(self.path / RUNS / name, why) for name, why in sorted(self._index.damaged.items())]
            found += [Damage(self.path / ROUNDS / name, why) for name, why in sorted(self._rounds.damaged.items())]
            return tuple(found)

    @property
    def _mutex(self) -> AbstractContextManager[Any]:
        """What each method holds. The lock and the temporary file of the list of runs are not for two processes."""
        if self._forked:
            raise StudyError(
                f"study {self.path} was opened by the process that this one was forked from; open it again here, or "
                "start processes by spawning"
            )
        return self._own_mutex

    @property
    def _forked(self) -> bool:
        return self._process != os.getpid()

    # Reading

    def keys(self) -> list[RunKey]:
        """The keys of all runs, sorted."""
        with self._mutex:
            return sorted({*self._index, *self._buffer}, key=_order)

    def find(
        self,
        *,
        algorithm: Wanted[str] = None,
        suite: Wanted[str] = None,
        function: Wanted[str] = None,
        dimension: Wanted[int] = None,
        instance: Wanted[str] = None,
        seed: Wanted[int] = None,
    ) -> list[RunKey]:
        """The keys of the runs that meet every criterion given, sorted; `runs` reads them.

        A criterion is a value or a collection of values, of which any will do. All but `algorithm` and `seed` are about
        what the instance's name tells (`Instance.parse`): ``study.runs(study.find(function="3", dimension=(5, 20)))``.
        """
        return matching(
            self.keys(),
            algorithm=algorithm,
            suite=suite,
            function=function,
            dimension=dimension,
            instance=instance,
            seed=seed,
        )

    def run(self, key: RunKey) -> Run:
        """One run; KeyError if there is none with this key."""
        return self.runs([key])[0]

    def runs(self, keys: Iterable[RunKey] | None = None) -> list[Run]:
        """The runs with these keys, by default all, sorted by key: the order of commits does not matter.

        Raises:
            KeyError: If one of the keys is not in the study; the message names it.
            OSError: If a file cannot be read any more, as `ValueError` if it has been damaged since.
        """
        with self._mutex:
            wanted = set(self._index) | set(self._buffer) if keys is None else set(keys)
            for key in wanted:
                if key not in self:
                    raise KeyError(f"study {self.path} holds no run of {key}")
            found = [self._buffer[key] for key in wanted if key in self._buffer]
            found += self._index.runs(wanted - self._buffer.keys())
        return sorted(found, key=lambda run: _order(run.key))

    def batches(self) -> Iterator[list[Run]]:
        """All runs, a file of the study at a time in no particular order, so that memory holds few of them.

        Raises:
            OSError: If a file cannot be read any more, as `ValueError` if it has been damaged since.
        """
        for keys in self._keys_by_part():
            yield self.runs(keys)

    def outcomes(self) -> Iterator[tuple[RunKey, Outcome]]:
        """How each run ended, in no particular order; the trajectories are not read. Errors as for `batches`."""
        for keys in self._keys_by_part():
            with self._mutex:
                ended = [(key, self._buffer[key].outcome) for key in keys if key in self._buffer]
                ended += self._index.outcomes(key for key in keys if key not in self._buffer)
            yield from ended

    def _keys_by_part(self) -> Iterator[list[RunKey]]:
        with self._mutex:
            each = chain([list(self._buffer)], self._index.by_part())
        return (keys for keys in each if keys)

    def rounds(self) -> list[dict[str, Any]]:
        """The rounds in order, without damaged ones."""
        with self._mutex:
            return copy.deepcopy([self._rounds.contents[number] for number in sorted(self._rounds.contents)])

    def refresh(self) -> None:
        """See what was written since the study was opened or last refreshed.

        Raises:
            OSError: If it lies elsewhere and cannot be reached; as `NoTemporaryFile` if the list of its runs has no
                room. Runs may be missing then, until it succeeds.
        """
        with self._mutex:
            self._rounds.refresh()  # first: the runs of a round are on disk before the round is
            self._index.refresh()
            # A commit may have failed after its file was written.
            self._buffer = {key: run for key, run in self._buffer.items() if key not in self._index}

    # Writing

    def append(self, run: Run) -> None:
        """Add a run. It is on disk after the next commit, which comes by itself within `commit_seconds`.

        Adding the same run again does nothing.

        Raises:
            ValueError: If another run with the same key is there, the run cannot be stored, or the study is not open
                for writing.
            OSError: As for `commit`; the run is kept in memory.
        """
        with self._mutex:
            self._require_writer()
            parts.require_storable(run)
            run = parts.as_stored(run)
            if run.key in self:
                if parts.storable(self.run(run.key)) != parts.storable(run):
                    raise ValueError(
                        f"study {self.path} already holds a different run of {run.key}; a key names one run for good"
                    )
                return
            self._buffer[run.key] = run
            if len(self._buffer) >= COMMIT_RUNS or time.monotonic() - self._committed >= self._commit_seconds:
                self.commit()
            else:
                self._commit_soon()

    def extend(self, runs: Iterable[Run]) -> None:
        """`append` each run."""
        for run in runs:
            self.append(run)

    def commit(self) -> None:
        """Bring what was appended to disk. Once it returns, no kill can undo it.

        Raises:
            OSError: If the disk is full or not writable. Nothing committed before is lost, and what was appended is
                kept in memory: mend the cause and commit again, or resume the study later. As `NoTemporaryFile` if the
                list of its runs has no room.
            StudyLocked: If the lock of a study elsewhere was taken from this process.
        """
        with self._mutex, undisturbed():
            if not self._buffer:
                return
            self._require_writer()
            self._write_part(parts.encode(list(self._buffer.values())))
            self._buffer.clear()
            self._committed = time.monotonic()
            if self._count_small() >= MANY:
                self.compact()

    def append_round(self, content: dict[str, Any]) -> None:
        """Write the next round to disk, after the runs that were appended before it.

        Raises:
            TypeError: If it cannot be written as JSON.
            ValueError: If the study is not open for writing.
            OSError: As for `commit`.
        """
        with self._mutex:
            self._require_writer()
            number = self._rounds.next_number
            data = to_json(content, f"round {number} of study {self.path}")
            with undisturbed():
                self.commit()
                self._write(self._rounds.path(number), data)
                self._rounds.contents[number] = json.loads(data)

    def replace_spec(self, spec: dict[str, Any]) -> None:
        """Replace the specification, atomically.

        Raises:
            TypeError: If it cannot be written as JSON.
            ValueError: If the study is not open for writing.
            OSError: As for `commit`.
        """
        with self._mutex:
            self._require_writer()
            data = encode_spec(self.path, spec)
            self._write(self.path / SPEC, data)
            self.spec = json.loads(data)["spec"]

    def compact(self) -> None:
        """Merge small parts. A kill in between leaves some runs in two parts, which does no harm.

        Raises:
            ValueError: If the study is not open for writing.
            OSError: As for `commit`.
        """
        with self._mutex:
            self._require_writer()
            for names in self._groups_to_merge():
                try:
                    table = self._index.table(names)
                except ValueError:
                    continue  # damaged since the study was opened: `damaged` names it from now on
                except FileNotFoundError:
                    self._index.refresh()  # its runs are gone with it, so that they can be run again
                    continue
                if len(table):
                    self._write_part(parts.encode_table(table))
                self._index.forget(set(names))
                for name in names:
                    (self.path / RUNS / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Commit and let others write. Reading stays possible. If the commit fails, the study stays open."""
        if self._forked:
            return
        with self._mutex:
            self.commit()
            self._release()

    def _write_part(self, data: bytes) -> None:
        name = parts.part_name(self._index.next_number, data)
        self._write(self.path / RUNS / name, data)
        self._index.add(name, data)

    def _write(self, path: Path, data: bytes) -> None:
        try:
            write_atomically(path, data)
        except OSError as error:
            raise OSError(
                error.errno,
                f"{path} could not be written: {error.strerror}. Nothing committed before is lost, and the "
                f"{len(self._buffer)} runs since then are kept in memory: make room or the directory writable and "
                "commit again, or resume the study later",
            ) from error

    def _groups_to_merge(self) -> list[list[str]]:
        groups: list[list[str]] = [[]]
        filled = Size(0, 0)
        for name, size in sorted(self._index.sizes.items()):
            if _is_small(size):
                groups[-1].append(name)
                filled = Size(filled.bytes + size.bytes, filled.runs + size.runs)
                if not _is_small(filled):
                    groups.append([])
                    filled = Size(0, 0)
        return [group for group in groups if len(group) > 1]

    def _count_small(self) -> int:
        return sum(map(_is_small, self._index.sizes.values()))

    def _commit_soon(self) -> None:
        if self._timer is None:
            timer = threading.Timer(self._commit_seconds, self._commit_by_timer)
            timer.daemon = True
            try:
                timer.start()
            except RuntimeError:  # no thread can be started, as when Python ends
                self.commit()
            else:
                self._timer = timer

    def _commit_by_timer(self) -> None:
        with self._mutex:
            self._timer = None
            if self._lock is not None:
                with suppress(OSError, StudyLocked):  # the runs are kept, so that the next append or commit says it
                    self.commit()

    def _require_writer(self) -> None:
        if self._lock is None:
            raise ValueError(f"study {self.path} is not open for writing; open it with write=True")
        self._lock.require_held()

    def _release(self) -> None:
        if self._forked:
            return
        with self._mutex:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._lock is not None:
                self._lock.release()
                self._lock = None


def _order(key: RunKey) -> tuple[str, str, int]:
    return key.instance, key.algorithm, key.seed


def _is_small(size: Size) -> bool:
    return size.bytes < SMALL.bytes and size.runs < SMALL.runs

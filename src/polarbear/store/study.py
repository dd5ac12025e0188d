"""An open study, to which runs and rounds are appended and from which they are read."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from html import escape
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, cast

from polarbear.descriptions import html_table
from polarbear.records import Instance, Outcome, Reason, Run, RunKey, without_samples
from polarbear.store import contents, parts
from polarbear.store.atomic import critical_section, flush_directory, make_directory, write_atomically
from polarbear.store.contents import Contents
from polarbear.store.errors import Damage, StudyError, StudyLocked, explain
from polarbear.store.locations import PartOfRuns
from polarbear.store.lock import Lock, lock_for_writing
from polarbear.store.manifest import Manifest, sha256
from polarbear.store.origin import origin
from polarbear.store.paths import place, remote
from polarbear.store.specification import ROUNDS, RUNS, SPEC, encode_spec, read_study_file, require_free, to_json

COMMIT_SECONDS = 1.0
"""Maximum time, in seconds, until an appended run is on disk."""
COMMIT_RUNS = 5_000
"""Number of appended runs that triggers a commit, however recent the last one."""
_SHOWN = 20
"""Number of damaged files that a message lists."""
_NOT_CREATED = "Fix this and try again, or choose another location"
_NOT_OPENED = "It can still be read; to continue it, fix this or copy the study elsewhere"
Value = TypeVar("Value", str, int)
Wanted = Value | Collection[Value] | None
_order = attrgetter("instance", "algorithm", "seed")


def create(path: str | Path, spec: dict[str, Any], *, commit_seconds: float = COMMIT_SECONDS) -> StudyStore:
    """Create a study and open it for writing.

    Args:
        path: The study's directory, new or empty; or a URL, such as ``s3://bucket/a.study``.
        spec: Content that can be written as JSON; non-finite numbers are written as by Python's ``json``.
        commit_seconds: Maximum time, in seconds, until an appended run is on disk.

    Raises:
        FileExistsError: If there already is a study or anything else.
        TypeError: If `spec` cannot be written as JSON.
        StudyLocked: If another process creates a study there at the same time, or left its lock there.
        OSError: If it cannot be written; the message names the file. What is left is not a study, and creation can be
            repeated. As `NoTemporaryFile` if there is no room for the list of its runs.
    """
    path = place(path)
    data = encode_spec(path, spec, origin())
    require_free(path)
    with explain(f"study {path} cannot be created", _NOT_CREATED):
        path.mkdir(parents=True, exist_ok=True)
        lock = lock_for_writing(path)
    try:
        require_free(path)
        with explain(f"study {path} cannot be created", _NOT_CREATED):
            for name in (RUNS, ROUNDS):
                make_directory(path / name)
            Manifest(files={SPEC: sha256(data)}).write(path)
            write_atomically(path / SPEC, data)
            if remote(path) is None:
                flush_directory(path.parent)
        return StudyStore(path, lock, commit_seconds)
    except BaseException:
        lock.release()
        raise


def open_study(
    path: str | Path, write: bool = False, *, commit_seconds: float = COMMIT_SECONDS, accept_damage: bool = False
) -> StudyStore:
    """Open a study, for reading unless `write` is true.

    Args:
        path: The study's directory or URL.
        write: Whether to open it for writing. A study of an earlier format version is upgraded to the current one.
        commit_seconds: Maximum time, in seconds, until an appended run is on disk.
        accept_damage: With `write`, whether to accept the study permanently as it is. Damaged or missing files are
            given up; files that the manifest does not name are added if they can be read, and so is a ``study.json``
            that was changed by hand.

    Raises:
        StudyNotFound: If there is no study; the message says what is missing.
        StudyError: If its ``study.json`` is unusable or was written by a newer polarbear; or, with `write`, if its
            manifest is unusable and that is not accepted.
        StudyLocked: With `write`, if another process writes to it or left its lock there; the message names it.
        OSError: With `write`, if the directory is not writable, or files cannot be opened for lack of resources; as
            `NoTemporaryFile` if there is no room for the list of its runs.
    """
    path = place(path)
    if not write:
        return StudyStore(path, None, commit_seconds)
    read_study_file(path, changed=accept_damage)
    with explain(f"study {path} cannot be opened for writing", _NOT_OPENED):
        lock = lock_for_writing(path)
    return StudyStore(path, lock, commit_seconds, accept_damage=accept_damage)


def not_accepted(study: StudyStore) -> str:
    """A description of the damage to a study that was not accepted; empty if there is none."""
    damaged = [damage for damage in study.damaged if not damage.accepted]
    shown = "; ".join(map(str, damaged[:_SHOWN]))
    return f"{shown}; and {len(damaged) - _SHOWN:,} more" if len(damaged) > _SHOWN else shown


class StudyStore:
    """An open study. Use it in a ``with`` statement or `close` it, which commits appended runs.

    A reader sees the study as it was when opened or last refreshed. The methods may be called from any thread, but not
    in a forked process, whose end does not affect the study.

    Attributes:
        path: The study's directory; a `RemotePath` for remote studies (see `polarbear.store.place`).
        lock: The lock held while the study may be written to; None for a study open for reading.
        commit_seconds: Time, in seconds, after which runs are committed, from when the first of them was appended.
        accept_damage: Whether to continue without damaged files.
    """

    def __init__(self, path: Path, lock: Lock | None, commit_seconds: float, *, accept_damage: bool = False) -> None:
        self.path = path
        self._lock = lock
        self._own_mutex = threading.RLock()
        self._process = os.getpid()
        self._buffer: dict[RunKey, Run] = {}
        self._commit_seconds = commit_seconds
        self._timer: threading.Timer | None = None
        try:
            self._contents = Contents(path, read_study_file(path, changed=accept_damage))
            if lock is None:
                self._contents.refresh()
            else:
                self._contents.begin_writing(accept_damage=accept_damage)
        except BaseException:
            self._release()
            raise
        self._committed = time.monotonic()

    @property
    def spec(self) -> dict[str, Any]:
        """The study's specification."""
        return self._contents.spec

    @property
    def version(self) -> int:
        """The version of the study's format; before version 2, only parts have checksums."""
        return self._contents.version

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
            return key in self._buffer or key in self._contents.index

    def __iter__(self) -> Iterator[RunKey]:
        """The keys of all runs in no particular order, of which few are in memory at a time."""
        with self._mutex:
            buffered = set(self._buffer)
        yield from buffered
        yield from (key for key in self._contents.index if key not in buffered)

    def __len__(self) -> int:
        with self._mutex:
            return len(self._contents.index) + sum(key not in self._contents.index for key in self._buffer)

    def __repr__(self) -> str:
        return f"<StudyStore {self.path} open for {'reading' if self._lock is None else 'writing'}>"

    def _repr_html_(self) -> str:
        """The number of runs of each algorithm, for notebooks."""
        counts = sorted(Counter(key.algorithm for key in self).items())
        rows = [(name, f"{count:,}") for name, count in counts]
        return f"<p>{escape(repr(self))}</p>{html_table(('algorithm', 'runs'), rows)}"

    @property
    def damaged(self) -> tuple[Damage, ...]:
        """The unusable files. The runs and rounds of all others can be read."""
        with self._mutex:
            return tuple(self._contents.damaged)

    @property
    def _mutex(self) -> AbstractContextManager[Any]:
        """The mutex of all methods. Two processes cannot share the lock and the list's temporary file."""
        if self._forked:
            raise StudyError(
                f"study {self.path} was opened before this process was forked; open it again here, or start "
                "processes with the spawn method"
            )
        return self._own_mutex

    @property
    def _forked(self) -> bool:
        return self._process != os.getpid()

    # Reading

    def keys(self) -> list[RunKey]:
        """The keys of all runs, sorted."""
        with self._mutex:
            return sorted({*self._contents.index, *self._buffer}, key=_order)

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
        """The sorted keys of the runs that meet all given criteria; `runs` reads them.

        A criterion is a value or a collection of values, any of which matches; those on the problem are fields of
        `Run.problem`. ``study.runs(study.find(function="3", dimension=(5, 20)))`` reads the runs.
        """
        with self._mutex:
            problems = self._contents.index.problems | {run.key: run.problem for run in self._buffer.values()}
        keys = self.keys()
        for name, values in _chosen(algorithm=algorithm, seed=seed).items():
            keys = [key for key in keys if getattr(key, name) in values]
        criteria = _chosen(suite=suite, function=function, dimension=dimension, instance=instance)
        if criteria:
            pairs = [(key, problems.get(key) or Instance.parse(key.instance)) for key in keys]
            for name, values in criteria.items():
                pairs = [(key, problem) for key, problem in pairs if getattr(problem, name) in values]
            keys = [key for key, _ in pairs]
        return keys

    def run(self, key: RunKey) -> Run:
        """The run with the given key; KeyError if there is none."""
        return self.runs([key])[0]

    def runs(self, keys: Iterable[RunKey] | None = None, *, samples: bool = False) -> list[Run]:
        """The runs with the given keys, by default all, sorted by key; `samples` includes the points that they kept.

        Raises:
            KeyError: If a key is not in the study; the message names it.
            OSError: If a file can no longer be read; as a `ValueError` if it has been damaged meanwhile.
        """
        with self._mutex:
            wanted = None if keys is None else set(keys)
            runs = [run for key, run in self._buffer.items() if wanted is None or key in wanted]
            try:
                stored = self._contents.runs(None if wanted is None else wanted - self._buffer.keys())
            except KeyError as error:
                raise KeyError(f"study {self.path} holds no run of {error.args[0]}") from None
            runs += [run for run in stored if run.key not in self._buffer] if self._buffer else stored
        read = chain.from_iterable(self.with_samples(runs)) if samples else map(without_samples, runs)
        return sorted(read, key=lambda run: _order(run.key))

    def with_samples(self, runs: Iterable[Run]) -> Iterator[list[Run]]:
        """The given runs with the points that they evaluated, one file at a time, so that few are in memory.

        Raises:
            KeyError, OSError: As for `runs`. Files of points that `damaged` names are skipped.
        """
        wanted, by_file = list(runs), defaultdict[str, list[Run]](list)
        with self._mutex:
            buffered = {run.key: self._buffer[run.key] for run in wanted if run.key in self._buffer}
            files = self._contents.sample_files({run.key for run in wanted} - buffered.keys())
        for run in wanted:
            by_file[files.get(run.key, "")].append(buffered.get(run.key, run))
        yield by_file.pop("", [])
        for batch in by_file.values():
            with self._mutex:
                samples = self._contents.samples_of({run.key for run in batch})
            yield [replace(run, samples=samples.get(run.key)) for run in batch]

    def batches(self) -> Iterator[list[Run]]:
        """All runs without `samples`, one file at a time in no particular order, so that few are in memory.

        Raises:
            OSError: If a file can no longer be read; as a `ValueError` if it has been damaged meanwhile.
        """
        buffered, stored = self._all_runs()
        if buffered:
            yield buffered
        for part in stored:
            with self._mutex:
                batch = self._contents.runs_of(part)
            if batch:
                yield batch

    def outcomes(self) -> Iterator[tuple[RunKey, Outcome]]:
        """The outcome of each run, in no particular order; the trajectories are not read. Raises as `batches`."""
        buffered, stored = self._all_runs()
        yield from ((run.key, run.outcome) for run in buffered)
        for part in stored:
            with self._mutex:
                outcomes = self._contents.outcomes_of(part)
            yield from outcomes

    def _all_runs(self) -> tuple[list[Run], Iterator[PartOfRuns]]:
        """All current runs: those in memory and those of each part."""
        with self._mutex:
            index = self._contents.index
            return [without_samples(run) for key, run in self._buffer.items() if key not in index], index.by_part()

    def rounds(self) -> list[dict[str, Any]]:
        """The rounds in order, without damaged ones."""
        return list(self.rounds_by_file().values())

    def rounds_by_file(self) -> dict[Path, dict[str, Any]]:
        """The rounds in order, without damaged ones, each under the path of its file."""
        with self._mutex:
            return self._contents.rounds_by_file()

    def refresh(self) -> None:
        """Take in what was written since the study was opened or last refreshed.

        Raises:
            OSError: If a remote store cannot be reached; as `NoTemporaryFile` if there is no room for the list of its
                runs. Until a call succeeds, runs may be missing.
        """
        with self._mutex:
            self._contents.refresh()
            # A commit may have failed after its file was written.
            self._buffer = {key: run for key, run in self._buffer.items() if key not in self._contents.index}

    # Writing

    def append(self, run: Run) -> None:
        """Add a run. It is on disk after the next commit, which happens automatically within `commit_seconds`.

        Adding the same run again has no effect, whether it was read with its `samples` or without.

        Raises:
            ValueError: If a different run with the same key exists, the run cannot be stored, or the study is not open
                for writing.
            OSError: As for `commit`; the run is kept in memory.
        """
        with self._mutex:
            self._require_writer()
            parts.require_storable(run)
            run = parts.as_stored(run)
            if run.key in self:
                (stored,) = self.runs([run.key], samples=run.samples is not None)
                if parts.storable(stored) != parts.storable(run) or stored.samples != run.samples:
                    raise ValueError(
                        f"study {self.path} already holds a different run of {run.key}; a key identifies one run"
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

    def replace_killed(self, run: Run) -> None:
        """Replace a killed run by a later attempt. It is on disk when this method returns.

        It is written to a separate part: of a run in several parts, the last one counts, and merging parts drops the
        others. A kill leaves one or the other.

        Raises:
            ValueError: If there is no run with this key, or it was not killed; otherwise as for `append`.
            OSError: As for `commit`; the killed run is kept.
        """
        with self._writing():
            parts.require_storable(run)
            if run.key not in self or self.run(run.key).outcome.reason is not Reason.KILLED:
                raise ValueError(f"study {self.path} holds no killed run of {run.key} to replace; append this one")
            self.commit()
            self._contents.add_runs([parts.as_stored(run)])

    def commit(self) -> None:
        """Write appended runs to disk. Once this method returns, no kill can undo it.

        Raises:
            OSError: If the disk is full or not writable. Nothing committed before is lost, and appended runs stay in
                memory: resolve the cause and commit again, or resume the study later. As `NoTemporaryFile` if there is
                no room for the list of its runs.
            StudyLocked: If the lock of a remote study was taken from this process.
        """
        with self._mutex, critical_section():
            if not self._buffer:
                return
            self._require_writer()
            self._contents.add_runs(list(self._buffer.values()))
            self._buffer.clear()
            self._committed = time.monotonic()
            if self._contents.small_parts >= contents.MANY:
                self.compact()

    def append_round(self, content: dict[str, Any]) -> None:
        """Write the next round to disk, after the runs that were appended before it.

        Raises:
            TypeError: If `content` cannot be written as JSON.
            ValueError: If the study is not open for writing.
            OSError: As for `commit`.
        """
        with self._writing():
            data = to_json(content, f"round {self._contents.rounds.next_number} of study {self.path}")
            self.commit()
            self._contents.add_round(data)

    def replace_spec(self, spec: dict[str, Any]) -> None:
        """Replace the specification, atomically.

        Raises:
            TypeError: If `spec` cannot be written as JSON.
            ValueError: If the study is not open for writing.
            OSError: As for `commit`.
        """
        with self._writing():
            self._contents.replace_spec(spec)

    def compact(self) -> None:
        """Merge small parts. A kill in between leaves some runs in two parts, which is harmless.

        Raises:
            ValueError: If the study is not open for writing.
            OSError: As for `commit`.
        """
        with self._writing():
            self._contents.merge_small()

    def close(self) -> None:
        """Commit and let others write; reading remains possible. If the commit fails, the study stays open."""
        if not self._forked:
            with self._mutex:
                self.commit()
                self._release()

    def _commit_soon(self) -> None:
        if self._timer is None:
            timer = threading.Timer(self._commit_seconds, self._commit_by_timer)
            timer.daemon = True
            try:
                timer.start()
            except RuntimeError:  # no thread can be started, as when Python exits
                self.commit()
            else:
                self._timer = timer

    def _commit_by_timer(self) -> None:
        with self._mutex:
            self._timer = None
            if self._lock is not None:
                with suppress(OSError, StudyLocked):  # the runs are kept; the next append or commit raises the error
                    self.commit()

    @contextmanager
    def _writing(self) -> Generator[None]:
        with self._mutex, critical_section():
            self._require_writer()
            yield

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


def _chosen(**criteria: Wanted[Any]) -> dict[str, Collection[Any]]:
    """The accepted values of each field, without fields in which any value is accepted."""
    chosen: dict[str, Collection[Any]] = {}
    for name, value in criteria.items():
        if value is not None:
            several = isinstance(value, Collection) and not isinstance(value, str)
            chosen[name] = frozenset(cast("Collection[Any]", value) if several else [value])
    return chosen

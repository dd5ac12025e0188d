"""Execution of many tasks through an executor, a bounded number at a time."""

from __future__ import annotations

import dataclasses
import pickle
import platform
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from queue import Empty, SimpleQueue
from typing import Any

import cloudpickle

from polarbear.experiment.limits import LONGEST
from polarbear.experiment.pool import WorkerPool
from polarbear.experiment.process import MOMENT, WorkerError, WorkerTimedOut
from polarbear.experiment.run import Task, execute
from polarbear.experiment.worker import last_answer
from polarbear.extras import ExtraMissing
from polarbear.protocols import identity_of
from polarbear.records import Reason, Run, RunKey, lost, tried_again

IN_FLIGHT = 256
"""Number of tasks submitted to the executor at a time: enough to keep many workers busy, few enough for memory."""


class WorkerUnprepared(BrokenExecutor):
    """A worker cannot unpickle a task or lacks a package for it: no run is to blame, but none can be executed."""


def run_tasks(
    tasks: Iterable[Task],
    executor: Executor,
    *,
    in_flight: int | None = None,
    until: float | None = None,
    retry_killed: int = 0,
) -> Iterator[Run]:
    """Execute tasks and yield their runs as they complete, in no particular order.

    Tasks are drawn from the iterable as there is room for them. When the iterator is closed or interrupted by Ctrl-C,
    or time is up, tasks that have not begun are cancelled; a `WorkerPool` also kills the workers busy with the others.
    Before an error is raised, the runs that have completed meanwhile are yielded.

    Args:
        tasks: The tasks to execute.
        executor: Any `concurrent.futures.Executor`; it stays open.
        in_flight: Number of tasks that the executor holds at a time; None for the executor's own preference, or 256.
        until: The `time.monotonic()` at which time is up; None for never.
        retry_killed: How often a run whose worker died is retried. Its result is what it would have been at first,
            since all its randomness derives from its key; the outcome's message reports each try that was killed.

    Yields:
        One run for each task. A task whose worker was lost yields a run without evaluations that says why:
        `Reason.TIMED_OUT` if the worker was killed at the time limit, `Reason.KILLED` if it died. Its seconds count
        from when the task was passed to its worker process, or are 0 where that is unknown.

    Raises:
        BrokenExecutor: If no worker starts up, or the executor broke, as `ProcessPoolExecutor` does when a worker dies.
            It is unknown then which task is to blame, so that none of those it held counts as run.
        WorkerUnprepared: If a worker cannot unpickle a task, or lacks a module for it.
        Exception: Whatever the executor raised for a task that could not be sent to a worker, with a note that names
            the task.
    """
    most = in_flight or getattr(executor, "in_flight", IN_FLIGHT)
    waiting, held = iter(tasks), _Held(executor, retry_killed)
    try:
        while True:
            while len(held.tasks) < most and _remaining(until) != 0 and (task := next(waiting, None)) is not None:
                held.start(task)
            try:
                run = held.next_run(until)
            except Exception:
                yield from held.completed()
                raise
            if run is None:
                break
            yield run
    finally:
        held.abandon()


class _Held:
    """The tasks that an executor holds."""

    def __init__(self, executor: Executor, retry_killed: int) -> None:
        self.tasks: dict[Future[Run], Task] = {}
        self._executor, self._retry_killed = executor, retry_killed
        self._done: SimpleQueue[Future[Run]] = SimpleQueue()
        self._killed: defaultdict[RunKey, list[str]] = defaultdict(list)

    def start(self, task: Task) -> None:
        future = self._executor.submit(_execute, _Parcel(*_fields(task)))
        self.tasks[future] = task
        future.add_done_callback(self._done.put)

    def next_run(self, until: float | None) -> Run | None:
        """The next completed run; None if there are no tasks or time is up."""
        while self.tasks:
            try:
                future = self._done.get(timeout=_remaining(until))
            except Empty:
                return None
            task = self.tasks.pop(future)
            run, tries = _run(task, future), self._killed[task.key]
            if run.outcome.reason is not Reason.KILLED or len(tries) >= self._retry_killed:
                return tried_again(run, self._killed.pop(task.key))
            tries.append(run.outcome.message)
            self.start(task)
        return None

    def completed(self) -> Iterator[Run]:
        """The runs that have already completed."""
        while not self._done.empty():
            future = self._done.get()
            task = self.tasks.pop(future)
            if not future.cancelled() and future.exception() is None:
                yield tried_again(future.result(), self._killed.pop(task.key, ()))

    def abandon(self) -> None:
        for future in self.tasks:
            future.cancel()
        if self.tasks and isinstance(self._executor, WorkerPool):
            self._executor.kill(self.tasks)


class _Parcel(Task):
    """A task that is sent as bytes, so that nobody on the way needs the user's modules.

    A Dask worker that cannot unpickle what it is sent ends silently, and the task waits forever (distributed 2026.8);
    its scheduler unpickles it too. The process that executes the task opens the bytes and can report what it lacks.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Sealed, (str(self.key), cloudpickle.dumps(Task(*_fields(self))))


@dataclasses.dataclass(frozen=True, slots=True)
class _Sealed:
    """A `_Parcel` as received by a worker."""

    run: str
    content: bytes

    def opened(self) -> Task:
        try:
            return pickle.loads(self.content)
        except (Exception, SystemExit) as error:  # a module that calls sys.exit
            raise _unprepared(
                self.run, error, f"a worker could not load it ({sys.executable} on {platform.node()})"
            ) from error


def _fields(task: Task) -> list[Any]:
    return [getattr(task, field.name) for field in dataclasses.fields(Task)]


def _execute(task: Task | _Sealed) -> Run:
    return execute(task.opened() if isinstance(task, _Sealed) else task, hand_over=last_answer())


def _unprepared(run: str, error: BaseException, obstacle: str) -> WorkerUnprepared:
    lacks, mend = f"{type(error).__name__}: {error}", "Use the same versions of the modules named here in all processes"
    if isinstance(error, ModuleNotFoundError) and error.name:
        lacks = f"there is no module {error.name!r}"
        package = error.name.partition(".")[0]
        mend = f"Install {package} for all workers, or put its folder on the PYTHONPATH they are started with"
    return WorkerUnprepared(
        f"the run of {run} did not start: {obstacle}: {lacks}. Finished runs are kept. {mend}, and resume"
    )


def _remaining(until: float | None) -> float | None:
    """Seconds until the given time; None if it never comes."""
    seconds = None if until is None else max(0.0, until - time.monotonic())
    return None if seconds is None or seconds > LONGEST else seconds


def _run(task: Task, future: Future[Run]) -> Run:
    try:
        return future.result()
    except WorkerTimedOut as error:
        return lost(task.key, Reason.TIMED_OUT, str(error), error.seconds, identity_of(task.problem))
    except WorkerError as error:
        if error.terminated:
            time.sleep(MOMENT)  # a SIGTERM that is meant for all processes ends this one now
        return lost(task.key, Reason.KILLED, str(error), error.seconds, identity_of(task.problem))
    except WorkerUnprepared:
        raise
    except ExtraMissing as error:
        mend = "Finished runs are kept. Install it for all workers, and resume"
        raise WorkerUnprepared(f"the run of {task.key} did not start: {error}. {mend}") from error
    except Exception as error:
        if missing := _missing(error):
            raise _unprepared(str(task.key), missing, "the executor could not send it to a worker") from error
        error.add_note(f"while executing the run of {task.key}")
        raise


def _missing(error: BaseException | None) -> ImportError | None:
    """The import error that caused an error, if any."""
    while error is not None and not isinstance(error, ImportError):
        error = error.__cause__
    return error

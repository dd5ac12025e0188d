"""Work that may take long, in separate threads that report progress and can be cancelled."""

from __future__ import annotations

import ctypes
import logging
import secrets
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

MOST = 8
"""Maximum number of jobs in progress."""
_KEPT = 64
"""Maximum number of jobs remembered; finished jobs that nobody fetched are dropped first."""
_CURRENT: ContextVar[Job | None] = ContextVar("job", default=None)
_log = logging.getLogger(__name__)


class Cancelled(BaseException):
    """The work of this thread was cancelled."""


class Job:
    """Work in a separate thread.

    Attributes:
        id: Identifier that cannot be guessed, so that only whoever began the job can query or cancel it.
        said: Progress in words.
        cancelled: Whether it was cancelled.
    """

    def __init__(self, task: Callable[[], Any]) -> None:
        self.id, self.said, self.cancelled = secrets.token_urlsafe(12), "", False
        self._began, self._done, self._lock = time.monotonic(), threading.Event(), threading.Lock()
        self._result: Any = None
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(task,), daemon=True)
        self._thread.start()

    def _run(self, task: Callable[[], Any]) -> None:
        _CURRENT.set(self)
        try:
            self._result = task()
        except Cancelled:
            self._result = None
        except Exception as fault:  # noqa: BLE001 - logged, and said where it was asked for
            _log.exception("work in the background failed")
            self._fault = fault
        finally:
            with self._lock:  # from here on it cannot be cancelled
                self._done.set()

    def wait(self, seconds: float | None) -> bool:
        """Wait up to this many seconds, None for ever, and return whether the job is done."""
        return self._done.wait(seconds)

    @property
    def seconds(self) -> float:
        """Seconds since the job began."""
        return time.monotonic() - self._began

    @property
    def result(self) -> Any:
        """What the job has made; None if it was cancelled.

        Raises:
            RuntimeError: If it failed through no fault of the visitor's.
        """
        if self._fault is not None:
            kind = type(self._fault).__name__
            raise RuntimeError(f"this is a bug in polarbear, please report it ({kind}: {self._fault})")
        return self._result

    def cancel(self) -> None:
        """Cancel the job: Python raises `Cancelled` in its thread, before the next instruction."""
        with self._lock:
            if self._done.is_set():
                return
            self.cancelled = True
            thread = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Cancelled))


class Work:
    """The jobs in progress, and finished ones whose results have not been fetched."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def begin(self, task: Callable[[], Any]) -> Job:
        """Begin a job.

        Raises:
            ValueError: If too many jobs are in progress.
        """
        with self._lock:
            running = [job for job in self._jobs.values() if not job.wait(0)]
            if len(running) >= MOST:
                raise ValueError(f"{MOST} longer computations are running; wait until one is done, or cancel one")
            for job in [job for job in self._jobs.values() if job.wait(0)][: max(0, len(self._jobs) - _KEPT)]:
                del self._jobs[job.id]
            job = Job(task)
            self._jobs[job.id] = job
            return job

    def find(self, job: str) -> Job:
        """The job with this identifier.

        Raises:
            ValueError: If there is no such job.
        """
        if (known := self._jobs.get(job)) is None:
            raise ValueError("this computation no longer exists; reload the page")
        return known

    def forget(self, job: Job) -> None:
        """Drop a job whose result has been fetched."""
        self._jobs.pop(job.id, None)


def say(text: str) -> None:
    """Report the progress of this thread's work, if it belongs to a job."""
    if (job := _CURRENT.get()) is not None:
        job.said = text


def say_reading(path: str, done: int, total: int) -> None:
    """Report the progress of reading; has the signature of `polarbear.store.Progress`."""
    say(f"Reading {path.rpartition('/')[2]}, {done + 1:,} of {total:,} …")

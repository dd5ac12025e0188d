"""Work that may take long: in threads of their own, which say how far they are and can be cancelled."""

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
"""Jobs that are under way at once."""
_KEPT = 64
"""Jobs that are remembered; what is done and was not asked for goes first."""
_CURRENT: ContextVar[Job | None] = ContextVar("job", default=None)
_log = logging.getLogger(__name__)


class Cancelled(BaseException):
    """Somebody has cancelled the work of this thread."""


class Job:
    """Work in a thread of its own.

    Attributes:
        id: Its name, which nobody guesses: who began it alone can ask for it or cancel it.
        said: How far it is.
        cancelled: Whether somebody has cancelled it.
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
            with self._lock:  # from here on nobody cancels it
                self._done.set()

    def wait(self, seconds: float | None) -> bool:
        """Whether it is done within so many seconds; None waits for ever."""
        return self._done.wait(seconds)

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    @property
    def result(self) -> Any:
        """What it has made; None if it was cancelled.

        Raises:
            RuntimeError: If it has failed by a fault that is not the visitor's.
        """
        if self._fault is not None:
            kind = type(self._fault).__name__
            raise RuntimeError(f"this is a fault of polarbear, please report it ({kind}: {self._fault})")
        return self._result

    def cancel(self) -> None:
        """Stop it: Python raises `Cancelled` in its thread, before its next step."""
        with self._lock:
            if self._done.is_set():
                return
            self.cancelled = True
            thread = ctypes.c_ulong(self._thread.ident or 0)
            ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(Cancelled))


class Work:
    """What is under way, or done and not asked for yet."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._lock = threading.Lock()

    def begin(self, task: Callable[[], Any]) -> Job:
        """Begin something.

        Raises:
            ValueError: If too much is under way.
        """
        with self._lock:
            running = [job for job in self._jobs.values() if not job.wait(0)]
            if len(running) >= MOST:
                raise ValueError(f"{MOST} longer computations are under way; wait for one, or cancel one")
            for job in [job for job in self._jobs.values() if job.wait(0)][: max(0, len(self._jobs) - _KEPT)]:
                del self._jobs[job.id]
            job = Job(task)
            self._jobs[job.id] = job
            return job

    def find(self, job: str) -> Job:
        """A job by its name.

        Raises:
            ValueError: If there is none.
        """
        if (known := self._jobs.get(job)) is None:
            raise ValueError("this computation is not known any more; load the page again")
        return known

    def forget(self, job: Job) -> None:
        """Drop a job whose result has been fetched."""
        self._jobs.pop(job.id, None)


def say(text: str) -> None:
    """Say how far the work of this thread is, if it is that of a job."""
    if (job := _CURRENT.get()) is not None:
        job.said = text


def say_reading(path: str, done: int, total: int) -> None:
    """Say how far reading is; as `polarbear.store.Progress`."""
    say(f"Reading {path.rpartition('/')[2]}, {done + 1:,} of {total:,} …")

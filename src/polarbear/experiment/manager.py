"""The thread behind a `WorkerPool`: starts workers, hands out calls, collects answers, buries the dead."""

from __future__ import annotations

import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from polarbear.experiment.process import (
    Call,
    WorkerDied,
    WorkerError,
    WorkerProcess,
    WorkersUnavailable,
    WorkerTimedOut,
)

POLL = 0.5
"""Seconds between looks for workers that died while a child of theirs holds the pipe open."""
FAREWELL = 5.0
"""Seconds a worker has to end by itself once its input is closed."""
STARTS = 3
"""How many workers in a row may die before they come up until the queued calls are given up."""


class Bell:
    """Wakes a thread that waits in a selector."""

    def __init__(self) -> None:
        self.reads, self._writes = os.pipe()
        os.set_blocking(self.reads, False)
        os.set_blocking(self._writes, False)

    def ring(self) -> None:
        """Wake the thread."""
        with suppress(BlockingIOError):  # a full pipe wakes as well
            os.write(self._writes, b"!")

    def silence(self) -> None:
        """Forget the rings so far."""
        with suppress(BlockingIOError):
            while os.read(self.reads, 4096):
                pass

    def close(self) -> None:
        """Free the pipe."""
        os.close(self.reads)
        os.close(self._writes)


class Manager:
    """Owns the workers and the queue of a pool. Its thread starts with the first call.

    Args:
        workers: How many worker processes there may be.
        allowed: Seconds a call may take before its worker is killed, None for no limit.
        pinned: As for `WorkerPool`.

    Attributes:
        crowded: For each place among the workers, why the last one there has no core of its own; see `WorkerProcess`.
    """

    def __init__(self, workers: int, allowed: float | None, *, pinned: bool) -> None:
        self.crowded = [""] * workers
        self._limit = workers
        self._pinned = pinned
        self._allowed = allowed
        self._lock = threading.RLock()  # the garbage collector may call `abandon` inside any other method
        self._queue: deque[Call] = deque()
        self._condemned: list[set[Future[Any]] | None] = []
        self._closed = False
        self._thread: threading.Thread | None = None
        self._bell: Bell | None = None
        self._workers: dict[WorkerProcess, None] = {}
        self._failed_starts = 0
        self._next_poll = 0.0

    # For any thread

    def put(self, call: Call) -> None:
        """Queue a call; RuntimeError once closed, WorkersUnavailable without a thread or files for the pool."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the worker pool was shut down; it accepts no more calls")
            if self._thread is None:
                self._begin()
            self._queue.append(call)
            self._wake()

    def _begin(self) -> None:
        try:
            bell = Bell()
            thread = threading.Thread(target=self._run, args=(bell,), name="polarbear-pool", daemon=True)
            thread.start()
        except (OSError, RuntimeError) as error:  # too many open files, or threads
            raise WorkersUnavailable(
                f"no worker process can be managed: {error}; raise the limits on open files and processes (ulimit -n, "
                "ulimit -u), or end other programs"
            ) from error
        self._bell, self._thread = bell, thread

    def kill(self, futures: set[Future[Any]] | None) -> None:
        """Cancel these calls (None: all) and kill the workers busy with them."""
        with self._lock:
            self._drop(lambda call: futures is None or call.future in futures)
            self._condemned.append(futures)
            self._wake()

    def close(self, *, cancel: bool) -> None:
        """Accept no more calls; `cancel` those that have not begun."""
        with self._lock:
            self._closed = True
            if cancel:
                self._drop(lambda _: True)
            self._wake()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the workers and the thread to end."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def abandon(self) -> None:
        """End everything at once: the pool is gone, or the interpreter ends."""
        self.close(cancel=True)
        self.kill(None)
        self.join(FAREWELL)

    def _wake(self) -> None:
        if self._bell is not None:
            self._bell.ring()

    def _drop(self, which: Callable[[Call], bool]) -> None:
        calls, self._queue = self._queue, deque()
        for call in calls:
            if which(call):
                call.future.cancel()
                call.future.set_running_or_notify_cancel()
            else:
                self._queue.append(call)

    # The manager's own thread

    def _run(self, bell: Bell) -> None:
        with selectors.DefaultSelector() as self._selector:
            self._selector.register(bell.reads, selectors.EVENT_READ)
            try:
                while self._step(bell):
                    pass
            finally:
                for worker in list(self._workers):
                    self._lose(worker, WorkerDied("the worker pool ended"))
                with self._lock:
                    self._closed, self._bell = True, None
                bell.close()
                self._give_up("the worker pool ended")

    def _step(self, bell: Bell) -> bool:
        """One round of the loop; False when there is nothing left to do for ever."""
        self._execute_condemned()
        self._hire()
        self._assign()
        if self._closed and not self._queue:
            self._dismiss()
            if not self._workers:
                return False
        for key, events in self._selector.select(self._patience()):
            if key.data is None:
                bell.silence()
            elif key.data in self._workers:
                self._attend(key.data, events)
        self._look_around()
        return True

    def _hire(self) -> None:
        free = sum(worker.call is None and not worker.leaving for worker in self._workers)
        for _ in range(min(len(self._queue) - free, self._limit - len(self._workers))):
            try:
                number = min(set(range(self._limit)) - {worker.number for worker in self._workers})
                worker = WorkerProcess(number, pinned=self._pinned)
            except OSError as error:
                if not self._workers:
                    self._give_up(f"no worker process could be started: {error}")
                return
            self._workers[worker] = None
            self._selector.register(worker.reads, selectors.EVENT_READ, worker)

    def _assign(self) -> None:
        for worker in self._workers:
            if worker.ready and worker.call is None and not worker.leaving:
                call = self._next_call()
                if call is None:
                    return
                worker.begin(call, float("inf") if self._allowed is None else self._allowed)
                if worker.unsent:
                    self._selector.register(worker.writes, selectors.EVENT_WRITE, worker)

    def _next_call(self) -> Call | None:
        with self._lock:
            while self._queue:
                call = self._queue.popleft()
                if call.future.set_running_or_notify_cancel():
                    return call
        return None

    def _attend(self, worker: WorkerProcess, events: int) -> None:
        if events & selectors.EVENT_WRITE:
            worker.send()
            if not worker.unsent:
                self._selector.unregister(worker.writes)
            return
        came_up = not worker.ready
        if not worker.receive():
            self._lose(worker)
        elif came_up and worker.ready:
            self._failed_starts = 0
            self.crowded[worker.number] = worker.crowded

    def _execute_condemned(self) -> None:
        with self._lock:
            condemned, self._condemned = self._condemned, []
        for futures in condemned:
            for worker in list(self._workers):
                if worker.call is not None and (futures is None or worker.call.future in futures):
                    self._lose(worker, WorkerDied("its worker process was killed on request"))

    def _dismiss(self) -> None:
        for worker in self._workers:
            if worker.call is None and not worker.leaving:
                worker.close_input()
                worker.deadline = time.monotonic() + FAREWELL

    def _look_around(self) -> None:
        now = time.monotonic()
        for worker in [worker for worker in self._workers if worker.deadline <= now]:
            self._lose(worker, WorkerTimedOut(f"not done after {self._allowed or 0:g} s, so its worker was killed"))
        if now >= self._next_poll:
            self._next_poll = now + POLL
            for worker in [worker for worker in self._workers if worker.has_ended()]:
                worker.receive()
                self._lose(worker)

    def _lose(self, worker: WorkerProcess, error: WorkerError | None = None) -> None:
        self._selector.unregister(worker.reads)
        if worker.unsent:
            self._selector.unregister(worker.writes)
        del self._workers[worker]
        how = worker.bury()
        if worker.call is not None:
            error = error or WorkerDied(f"its worker process {how}")
            error.seconds = time.monotonic() - worker.begun
            error.terminated = worker.terminated
            worker.call.future.set_exception(error)
        elif not worker.ready and not worker.leaving:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                self._give_up(f"{STARTS} worker processes in a row did not come up; the last one {how}")

    def _give_up(self, why: str) -> None:
        self._failed_starts = 0
        while (call := self._next_call()) is not None:
            call.future.set_exception(WorkersUnavailable(why))

    def _patience(self) -> float | None:
        if not self._workers:
            return None
        earliest = min(self._next_poll, *(worker.deadline for worker in self._workers))
        return max(0.0, earliest - time.monotonic())

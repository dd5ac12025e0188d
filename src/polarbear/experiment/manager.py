"""The implementation of `WorkerPool`: a queue, and for each worker process a thread that feeds and reaps it."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from polarbear.experiment.confinement import Confinement
from polarbear.experiment.process import (
    POLL,
    WorkerDied,
    WorkerError,
    WorkerProcess,
    WorkersUnavailable,
    WorkerTimedOut,
    settle,
)

FAREWELL = 5.0
"""Seconds that a worker has to end by itself once its input is closed."""
STARTS = 3
"""Number of workers in a row that may die during startup before the queued calls are given up."""


class Call(NamedTuple):
    """A submitted call: the future for its result, and its pickled function and arguments."""

    future: Future[Any]
    payload: bytes


class Manager:
    """Owns the queue and the workers of a pool.

    Args:
        workers: Maximum number of worker processes.
        allowed: Seconds that a call may take before its worker is killed.
        pinned: As for `WorkerPool`.
        confinement: As for `WorkerPool`.
        preload: As for `WorkerPool`.

    Attributes:
        crowded: For each worker, the reason why it has no core of its own; empty if it has one or is not pinned.
    """

    def __init__(
        self,
        workers: int,
        allowed: float,
        *,
        pinned: bool,
        confinement: Confinement | None = None,
        preload: tuple[str, ...] = (),
    ) -> None:
        self.crowded = [""] * workers
        self._allowed, self._pinned, self._confinement, self._preload = allowed, pinned, confinement, preload
        self._changed = threading.Condition(threading.RLock())  # the garbage collector may call `abandon` inside it
        self._queue: deque[Call] = deque()
        self._threads: dict[int, threading.Thread] = {}
        self._up: set[int] = set()
        self._busy: dict[WorkerProcess, Future[Any]] = {}
        self._failed_starts = 0
        self._closed = False

    # Called from any thread

    def put(self, call: Call) -> None:
        """Queue a call; RuntimeError once closed, WorkersUnavailable if no thread can be started for a worker."""
        with self._changed:
            if self._closed:
                raise RuntimeError("the worker pool was shut down; it accepts no more calls")
            free = len(self._threads) - len(self._busy)
            if len(self._queue) >= free and len(self._threads) < len(self.crowded):
                self._hire()
            self._queue.append(call)
            self._changed.notify()

    def _hire(self) -> None:
        number = next(number for number in range(len(self.crowded)) if number not in self._threads)
        thread = threading.Thread(target=self._serve, args=(number,), name="polarbear-pool", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            if self._threads:
                return  # the other threads do its work
            raise WorkersUnavailable(
                f"no thread can be started to manage a worker process: {error}; raise the limit on processes (ulimit "
                "-u), or end other programs"
            ) from error
        self._threads[number] = thread

    def kill(self, futures: set[Future[Any]] | None) -> None:
        """Cancel the given calls, or all if None, and kill the workers busy with them."""
        with self._changed:
            self._cancel(lambda future: futures is None or future in futures)
            for worker, future in self._busy.items():
                if futures is None or future in futures:
                    worker.kill()

    def close(self, *, cancel: bool) -> None:
        """Accept no more calls, and with `cancel`, cancel those that have not begun."""
        with self._changed:
            self._closed = True
            if cancel:
                self._cancel(lambda _: True)
            self._changed.notify_all()

    def _cancel(self, chosen: Callable[[Future[Any]], bool]) -> None:
        calls, self._queue = self._queue, deque()
        for call in calls:
            if chosen(call.future):
                call.future.cancel()
                call.future.set_running_or_notify_cancel()
            else:
                self._queue.append(call)

    def join(self, timeout: float | None = None) -> None:
        """Wait for the workers and their threads to end."""
        for thread in list(self._threads.values()):
            if thread is not threading.current_thread():
                thread.join(timeout)

    def abandon(self) -> None:
        """End everything immediately, when the pool is garbage-collected or the interpreter exits."""
        self.close(cancel=True)
        self.kill(None)
        self.join(FAREWELL)

    # Called from the workers' threads

    def _serve(self, number: int) -> None:
        """Keep a worker process running, replaced if it ends, as long as there are calls."""
        worker: WorkerProcess | None = None
        try:
            while (calls_wait := self._wait()) is not None:
                if worker is not None and worker.has_ended():
                    worker.bury()
                    worker = None
                if calls_wait and (worker := worker or self._start(number)) and not self._execute_next(worker):
                    worker = None
        finally:
            if worker is not None:
                worker.dismiss(FAREWELL)
            with self._changed:
                self._up.discard(number)
                del self._threads[number]
                if not self._threads and not self._closed:
                    self._give_up("the worker pool ended")

    def _wait(self) -> bool | None:
        """Wait up to `POLL` seconds and return whether calls are waiting; None once no more can come."""
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closed, POLL)
            return bool(self._queue) or (None if self._closed else False)

    def _start(self, number: int) -> WorkerProcess | None:
        """A worker process that has started up; None if it failed to."""
        with self._changed:
            self._up.discard(number)
        try:
            worker = WorkerProcess(pinned=self._pinned, confinement=self._confinement, preload=self._preload)
        except OSError as error:
            with self._changed:
                if not self._up:
                    self._give_up(f"no worker process could be started: {error}")
            time.sleep(POLL)  # another process may end meanwhile
            return None
        try:
            crowded = worker.receive().decode()
        except EOFError:
            how = worker.bury()
            with self._changed:
                self._failed_starts += 1
                if self._failed_starts >= STARTS:
                    self._give_up(f"{STARTS} worker processes in a row failed to start; the last one {how}")
            return None
        with self._changed:
            self._up.add(number)
            self._failed_starts, self.crowded[number] = 0, crowded
        return worker

    def _execute_next(self, worker: WorkerProcess) -> bool:
        """Let a worker answer the next call, if one is left; return False if the worker ended."""
        with self._changed:
            if (call := self._next()) is None:
                return True
            self._busy[worker] = call.future
        error: WorkerError | None = None
        answer, begun = b"", time.monotonic()
        try:
            answer = worker.ask(call.payload, begun + self._allowed)
        except TimeoutError:
            error = WorkerTimedOut(f"not done after {self._allowed:g} s, so its worker was killed")
        except EOFError:
            error = WorkerDied("its worker process was killed on request") if worker.killed else WorkerDied()
        with self._changed:
            del self._busy[worker]
        if error is not None:
            how = worker.bury()
            error.args = error.args or (f"its worker process {how}",)
            error.seconds, error.terminated = time.monotonic() - begun, worker.terminated
            call.future.set_exception(error)
            return False
        if worker.leaving:
            worker.bury()
        settle(call.future, answer)
        return not worker.leaving

    def _next(self) -> Call | None:
        while self._queue:
            call = self._queue.popleft()
            if call.future.set_running_or_notify_cancel():
                return call
        return None

    def _give_up(self, why: str) -> None:
        self._failed_starts = 0
        while (call := self._next()) is not None:
            call.future.set_exception(WorkersUnavailable(why))

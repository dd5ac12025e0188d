"""One worker process as the driver sees it."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polarbear.experiment.frames import CHUNK, FrameReader, framed
from polarbear.experiment.worker import FREE_CORE

ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "POLARS_MAX_THREADS",
    ),
    "1",
)
"""One thread per worker: BLAS threads of several busy processes slow each other down many times over."""

MOMENT = 1.0
"""Seconds between the first and the last process of a job that get a signal meant for all."""
_EXITING = 0x4
"""Linux's flag of a process that is about to end."""
_BOOT = (
    "import sys; driver, core, *sys.path = sys.argv[1:]; del sys.argv[1:]; "
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "  # Ctrl-C is for the driver to handle
    "from polarbear.experiment.worker import main; main(int(driver), core)"
)


class WorkerError(RuntimeError):
    """A call was lost with its worker.

    Attributes:
        seconds: How long the worker process had the call; 0 if that is not known.
        terminated: Whether the worker process was ended by SIGTERM, which may have been meant for all processes.
    """

    seconds = 0.0
    terminated = False


class WorkerDied(WorkerError):  # noqa: N818 - says what is the case
    """The worker process of a call ended before it answered."""


class WorkersUnavailable(BrokenExecutor):
    """No worker process comes up, so that no call can be answered."""


class WorkerTimedOut(WorkerError):  # noqa: N818 - says what is the case
    """The worker process of a call was killed because the call did not end in time."""


class RemoteTraceback(Exception):  # noqa: N818 - carries a text, as the cause of the error itself
    """The traceback of an exception in a worker."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


@dataclass(slots=True, eq=False)
class Call:
    """A submitted call: its pickled function and arguments, and where its answer goes."""

    future: Future[Any]
    payload: bytes


class WorkerProcess:
    """A worker process and the call it is busy with.

    Args:
        number: Its place among the workers, from 0.
        pinned: Whether it keeps to a core that no other such worker of the user's holds.

    Attributes:
        number: As given.
        ready: Whether it has come up.
        crowded: Why it has no core of its own, once it is ready; empty if it has, or was not to have one.
        leaving: Whether it was asked to end, or is about to.
        call: What it is busy with, or None.
        begun: `time.monotonic()` at which it was handed its call.
        deadline: The same at which its call is overdue.
    """

    def __init__(self, number: int, *, pinned: bool) -> None:
        self.number = number
        path = [entry or os.getcwd() for entry in sys.path]  # noqa: PTH109 - sys.path holds strings
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-c", _BOOT, str(os.getpid()), FREE_CORE if pinned else "", *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            env=os.environ | ONE_THREAD,
            start_new_session=True,  # its children end with it, and the terminal's Ctrl-C does not reach it
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise OSError("the worker process has no pipes")
        self._calls, self._answers = self._process.stdin, self._process.stdout
        os.set_blocking(self._calls.fileno(), False)
        os.set_blocking(self._answers.fileno(), False)
        self._unsent = memoryview(b"")
        self._frames = FrameReader()
        self._hung_up = False
        self.ready = False
        self.crowded = ""
        self.leaving = False
        self.call: Call | None = None
        self.begun = 0.0
        self.deadline = float("inf")

    @property
    def reads(self) -> int:
        """The descriptor its answers come from."""
        return self._answers.fileno()

    @property
    def writes(self) -> int:
        """The descriptor its calls go to."""
        return self._calls.fileno()

    @property
    def unsent(self) -> bool:
        """Whether part of a call waits for room in the pipe."""
        return bool(self._unsent)

    def begin(self, call: Call, allowed: float) -> None:
        """Hand it a call that may take so many seconds."""
        self.call, self.begun = call, time.monotonic()
        self.deadline = self.begun + allowed
        self._unsent = memoryview(framed(call.payload))
        self.send()

    def send(self) -> None:
        """Write as much of the call as the pipe takes; that the pipe is broken shows when reading."""
        with suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                self._unsent = self._unsent[os.write(self.writes, self._unsent) :]

    def receive(self) -> bool:
        """Read all that has come and settle the call it answers; False at the end of the answers."""
        with suppress(BlockingIOError):
            while data := os.read(self.reads, CHUNK):
                for frame in self._frames.feed(data):
                    self._take(frame)
            self._hung_up = _goes_on(self._process.pid)
            return False
        return True

    def _take(self, frame: bytes) -> None:
        if not self.ready:
            self.ready, self.crowded = True, frame.decode()
        elif not frame:
            self.leaving = True  # the answer that follows is its last
        elif self.call is not None:
            future, self.call, self.deadline = self.call.future, None, float("inf")
            _settle(future, frame)

    def has_ended(self) -> bool:
        """Whether the process has ended. It stays a zombie, so that its group can still be named safely."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def close_input(self) -> None:
        """Let it end by itself."""
        self.leaving = True
        with suppress(BrokenPipeError):
            self._calls.close()

    @property
    def terminated(self) -> bool:
        """Whether it was ended by SIGTERM, once it is buried."""
        return self._process.returncode == -signal.SIGTERM

    def bury(self) -> str:
        """Kill it with all its children if it still lives, and tell how it ended."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        status = self._process.wait()
        for pipe in (self._calls, self._answers):
            with suppress(BrokenPipeError):
                pipe.close()
        if self._hung_up:
            return "closed its connection and was given up: code it ran closed file descriptors that were not its own"
        if status >= 0:
            return f"exited with code {status}"
        try:
            return f"was killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"was killed by signal {-status}"


def _goes_on(process: int) -> bool:
    """Whether it lives and is not about to end, as one is that closed its pipes by ending.

    False where the system does not tell: there are no such flags outside Linux.
    """
    try:
        stat = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return False
    flags = int(stat.rpartition(b")")[2].split()[6])
    return flags != 0 and not flags & _EXITING


def _settle(future: Future[Any], frame: bytes) -> None:
    try:
        fine, value, trace = pickle.loads(frame)
        if not fine:
            value.__cause__ = RemoteTraceback(trace)
    except Exception as error:  # noqa: BLE001 - what a worker's answer raises here belongs to its future
        future.set_exception(error)
        return
    if fine:
        future.set_result(value)
    else:
        future.set_exception(value)

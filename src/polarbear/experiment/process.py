"""One worker process as the driver sees it."""

from __future__ import annotations

import os
import pickle
import select
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, Future
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import IO, Any, cast

from polarbear.experiment.confinement import Confinement
from polarbear.experiment.worker import CHUNK, FREE_CORE, LENGTH

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
"""One thread per worker: BLAS threads of several busy processes slow each other down considerably."""

POLL = 0.5
"""Seconds between checks for workers that died while a child of theirs holds the pipe open."""
MOMENT = 1.0
"""Seconds within which a signal meant for all processes of a job reaches the last of them."""
_EXITING = 0x4
"""Linux's flag for a process that is about to exit."""
_BOOT = (
    "import sys; driver, core, memory, preload, *sys.path = sys.argv[1:]; del sys.argv[1:]; "
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "  # Ctrl-C is for the driver to handle
    "from polarbear.experiment.worker import main; main(int(driver), core, int(memory), preload)"
)


class WorkerError(RuntimeError):
    """A call that was lost with its worker.

    Attributes:
        seconds: Seconds for which the worker process had the call; 0 if unknown.
        terminated: Whether the worker process was ended by SIGTERM, which may have been meant for all processes.
    """

    seconds = 0.0
    terminated = False


class WorkerDied(WorkerError):  # noqa: N818 - states what happened
    """The worker process of a call ended before it answered."""


class WorkersUnavailable(BrokenExecutor):
    """No worker process starts up, so that no call can be answered."""


class WorkerTimedOut(WorkerError):  # noqa: N818 - states what happened
    """The worker process of a call was killed because the call did not end in time."""


class RemoteTraceback(Exception):  # noqa: N818 - carries text, as the cause of the error itself
    """The traceback of an exception in a worker."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class WorkerProcess:
    """A worker process as seen by the thread that serves it.

    Args:
        pinned: Whether it is pinned to a core that no other pinned worker of this user holds.
        confinement: Restrictions on the process.
        preload: Modules that it imports before it accepts calls.

    Attributes:
        killed: Whether it was killed on request.
        leaving: Whether its last answer was its final one.
    """

    def __init__(self, *, pinned: bool, confinement: Confinement | None = None, preload: tuple[str, ...] = ()) -> None:
        path = [str(Path(entry).absolute()) for entry in sys.path]
        inside = confinement.inside if confinement else ()
        memory = str(confinement.memory if confinement else 0)
        driver = str(0 if inside else os.getpid())  # the command in between may be the parent
        arguments = (driver, FREE_CORE if pinned else "", memory, " ".join(preload))
        self._folder = confinement.folder() if confinement else None
        self._process = subprocess.Popen(
            [*inside, sys.executable, "-u", "-c", _BOOT, *arguments, *path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if confinement else None,
            bufsize=0,
            cwd=self._folder,
            env=(confinement.environment() if confinement else os.environ) | ONE_THREAD,
            start_new_session=True,  # its children end with it, and the terminal's Ctrl-C does not reach it
        )
        self._calls, self._answers = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        os.set_blocking(self._calls.fileno(), False)
        self._room, self._news = select.poll(), select.poll()
        self._room.register(self._calls, select.POLLOUT)
        self._news.register(self._answers, select.POLLIN)
        self._buffer = bytearray()
        self._hung_up = self.killed = self.leaving = False

    def ask(self, call: bytes, deadline: float) -> bytes:
        """The worker's answer to a call.

        Raises:
            EOFError: If the worker ends before it answers, or closes its pipes.
            TimeoutError: If there is no answer by `deadline`, a `time.monotonic()`.
        """
        rest = memoryview(LENGTH.pack(len(call)) + call)
        with suppress(BrokenPipeError):  # reading will reveal it
            while rest:
                try:
                    rest = rest[os.write(self._calls.fileno(), rest) :]
                except BlockingIOError:
                    self._await(self._room, deadline)
        answer = self.receive(deadline)
        if not answer:
            self.leaving = True
            answer = self.receive(deadline)
        return answer

    def receive(self, deadline: float = inf) -> bytes:
        """The next frame that the worker writes; raises as `ask`."""
        buffer = self._buffer
        while len(buffer) < (end := LENGTH.size + (LENGTH.unpack_from(buffer)[0] if len(buffer) >= LENGTH.size else 0)):
            self._await(self._news, deadline)
            if not (data := os.read(self._answers.fileno(), CHUNK)):
                self._hung_up = _goes_on(self._process.pid)
                raise EOFError
            buffer += data
        frame = bytes(buffer[LENGTH.size : end])
        del buffer[:end]
        return frame

    def _await(self, poll: select.poll, deadline: float) -> None:
        """Wait for a pipe, and notice the worker's death even while a child of its holds the pipe open."""
        while not poll.poll(1000 * max(0.0, min(POLL, deadline - time.monotonic()))):
            if self.has_ended() and not poll.poll(0):
                raise EOFError
            if time.monotonic() >= deadline:
                raise TimeoutError

    def has_ended(self) -> bool:
        """Whether the process has ended. It stays a zombie, so that its group can still be addressed safely."""
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def dismiss(self, seconds: float) -> None:
        """Let the worker end by itself within some seconds, and reap it."""
        with suppress(BrokenPipeError):
            self._calls.close()
        with suppress(EOFError, TimeoutError):
            self.receive(time.monotonic() + seconds)
        self.bury()

    @property
    def terminated(self) -> bool:
        """Whether the worker was ended by SIGTERM; known once it is reaped."""
        return self._process.returncode == -signal.SIGTERM

    def kill(self) -> None:
        """Kill the worker with all its children, on request; for any thread, as long as it is not reaped."""
        self.killed = True
        self._kill_group()

    def _kill_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def bury(self) -> str:
        """Kill the worker with all its children if it is still alive, reap it, and return how it ended."""
        self._kill_group()
        status = self._process.wait()
        for pipe in (self._calls, self._answers):
            with suppress(BrokenPipeError):
                pipe.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._hung_up:
            return (
                "closed its connection and was killed: code that it ran closed file descriptors that it had not opened"
            )
        if status >= 0:
            return f"exited with code {status}"
        try:
            return f"was killed by {signal.Signals(-status).name}"
        except ValueError:
            return f"was killed by signal {-status}"


def _goes_on(process: int) -> bool:
    """Whether a process is alive and not about to exit; False outside Linux, where no flag says so."""
    try:
        stat = Path(f"/proc/{process}/stat").read_bytes()
    except OSError:
        return False
    flags = int(stat.rpartition(b")")[2].split()[6])
    return flags != 0 and not flags & _EXITING


def settle(future: Future[Any], frame: bytes) -> None:
    """Set the result or exception of a future."""
    try:
        fine, value, trace = pickle.loads(frame)
        if not fine:
            value.__cause__ = RemoteTraceback(trace)
    except Exception as error:  # noqa: BLE001 - an exception from a worker's answer belongs to its future
        future.set_exception(error)
        return
    if fine:
        future.set_result(value)
    else:
        future.set_exception(value)

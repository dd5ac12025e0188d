"""Reading in a separate process, which the system ends if it takes too long or too much memory.

Data of other tools may be damaged or hostile in ways that no reader foresees. They are therefore read by a process
(`reader_process`) under the kernel's limits on time and memory. If it dies, the current file is given up and reported,
and another process reads the rest. A process that has answered is kept for the next path.
"""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import cloudpickle

from polarbear.extras import ExtraMissing
from polarbear.records import Reference, Run
from polarbear.store.formats import reference
from polarbear.store.formats.reader_process import unpack
from polarbear.store.formats.reading import Options, read_data
from polarbear.store.formats.reports import ArchiveRefused, Limits, Progress, Reading, Report

Take = Callable[[str, Any], None]
POSSIBLE = os.name == "posix"
"""Whether the system can limit a process; if not, data are read in this process, without limits."""
_BOOT = (
    "import sys; connection, *sys.path = sys.argv[1:]; del sys.argv[1:]; "
    "from polarbear.store.formats.reader_process import main; main(int(connection))"
)
_ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "POLARS_MAX_THREADS": str(min(4, os.cpu_count() or 1)),
    "MALLOC_ARENA_MAX": "2",
}
"""Few threads, as each reserves address space, which is limited."""
_MOMENT = 2.0
"""Seconds within which a process whose connection has closed must end."""
_NAP = 0.1
"""Maximum number of seconds between checks for an interrupt."""
_ERRORS: dict[str, type[Exception]] = {
    error.__name__: error for error in (ArchiveRefused, ExtraMissing, FileNotFoundError, OSError, ValueError)
}


def read(path: str | Path, options: Options, progress: Progress | None = None) -> Reading:
    """Read a file, folder or archive in a process with limits; `polarbear.store.read_checked` for other tools' data.

    Raises:
        FileNotFoundError: If there is nothing.
        ArchiveRefused: If it exceeds the limits on archives, time or memory.
        ValueError: If nothing is in a known format, or two archives contain different runs with the same key.
    """
    if not POSSIBLE:
        return read_data(path, options, Report(progress))
    runs: list[Run] = []

    def take(kind: str, content: Any) -> None:
        if kind == "runs":
            runs.extend(unpack(content))
        elif progress is not None:
            progress(*content)

    while True:
        runs.clear()
        try:
            done = _ask("read", path, options, options.limits, take)
        except _Died as died:
            if died.at in options.avoid:
                raise ArchiveRefused(f"{path} cannot be read: {died.why(options.limits)}") from died
            options = replace(options, avoid={**options.avoid, died.at: died.why(options.limits)})
        else:
            return replace(done, runs=tuple(runs))


def read_reference(path: str | Path, *, limits: Limits | None = None) -> dict[tuple[str, int], Reference]:
    """Read an archive or folder of a reference algorithm.

    Args:
        path: The archive or folder.
        limits: Limits on the resources for reading.

    Returns:
        The expected runtimes for each function, as in `Instance.function`, and dimension.

    Raises:
        FileNotFoundError: If there is nothing.
        ArchiveRefused: If it exceeds the limits on archives, time or memory.
        ValueError: If it contains no reference algorithm or is damaged; the message names the file and line.
    """
    limits = limits or Limits()
    if not POSSIBLE:
        return reference.read_reference(path, limits)
    try:
        return _ask("reference", path, limits, limits)
    except _Died as died:
        raise ArchiveRefused(f"{died.at or path}: {died.why(limits)}") from died


def _ask(what: str, path: str | Path, how: object, limits: Limits, take: Take | None = None) -> Any:
    """Let a reading process execute a task, and return its answer.

    Raises:
        _Died: If the process ends before it answers.
    """
    folder = None if Path(path).is_absolute() else os.getcwd()  # noqa: PTH109 - as text
    task = cloudpickle.dumps((what, str(path), how, limits, folder))
    while True:
        with _reader() as reader:
            try:
                kind, answer = reader.ask(task, take)
            except _Died as died:
                if died.at or not reader.answered:
                    raise
                continue  # it has ended since its last task
        if kind == "error":
            names, message = answer
            raise next((_ERRORS[name] for name in names if name in _ERRORS), RuntimeError)(message)
        return answer


@contextmanager
def _no_search_for_cycles() -> Generator[None]:
    """Pause the garbage collector, which takes most of the time with many new objects without cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _Died(Exception):  # noqa: N818 - says what is the case
    """The process ended before it answered.

    Attributes:
        at: The label of what it was reading; empty if it had not started.
    """

    def __init__(self, at: str, status: int, stderr: str) -> None:
        super().__init__(at, status, stderr)
        self.at, self._status, self._stderr = at, status, stderr

    def why(self, limits: Limits) -> str:
        """A description of how it ended."""
        if self._status == -signal.SIGALRM:
            return limits.too_long()
        if self._status == -signal.SIGABRT or "MemoryError" in self._stderr:
            return limits.too_large()
        return f"the process that read it ended with status {self._status}: {self._stderr or 'it was killed'}"


class _Reader:
    """A process that reads data.

    Attributes:
        answered: Whether it has answered before.
    """

    def __init__(self) -> None:
        self.answered = False
        self._connection, theirs = multiprocessing.Pipe()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        path = [entry for entry in sys.path if entry]  # nothing is imported from the current folder
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _BOOT, str(theirs.fileno()), *path],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=(theirs.fileno(),),
                env=os.environ | _ENVIRONMENT,
                start_new_session=True,  # the terminal's Ctrl-C does not reach it
            )

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def ask(self, task: bytes, take: Take | None) -> tuple[str, Any]:
        """Send a task to the process and return its answer: "done" or "error", and the content.

        Raises:
            _Died: If the process ends before it answers.
        """
        at = ""
        try:
            self._connection.send_bytes(task)
            while True:
                while not self._connection.poll(_NAP):
                    pass  # wakes regularly, so that the caller can be interrupted
                with _no_search_for_cycles():
                    kind, content = pickle.loads(self._connection.recv_bytes())
                if kind == "at":
                    at = content
                elif kind in {"done", "error"}:
                    self.answered = True
                    return kind, content
                elif take is not None:
                    take(kind, content)
        except (EOFError, ConnectionError) as error:
            raise _Died(at, self._status(), self._last_words()) from error

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        self._connection.close()
        self._errors.close()

    def _status(self) -> int:
        try:
            return self._process.wait(_MOMENT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""


_idle: dict[int, list[_Reader]] = {}
"""Idle processes by the id of the process that started them, so that a fork has none."""


@contextmanager
def _reader() -> Generator[_Reader]:
    """A reading process, an idle one if there is any. It becomes idle again unless an exception is raised."""
    waiting = _idle.setdefault(os.getpid(), [])
    reader = waiting.pop() if waiting else _Reader()
    try:
        yield reader
    except BaseException:
        reader.end()
        raise
    if reader.alive:
        waiting.append(reader)
    else:
        reader.end()


@atexit.register
def _end_waiting() -> None:
    for reader in _idle.pop(os.getpid(), []):
        reader.end()

"""A worker process, which reads calls from its standard input and answers on its standard output.

The two pipes are first moved out of reach, so that whatever a user's code prints goes to standard error and cannot mix
with the answers. The worker ends when its input closes, and on Linux as soon as the driver dies.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import pickle
import signal
import struct
import sys
import threading
from collections.abc import Callable
from io import FileIO

import cloudpickle

from polarbear.experiment.confinement import confine
from polarbear.experiment.errors import described, described_traceback
from polarbear.machine import take_core

LEAVING = b""
"""The frame before a final answer. The very first frame says why the worker has no core of its own, or is empty."""
FREE_CORE = "free"
"""Argument of a worker that is pinned to a free core."""
LENGTH = struct.Struct("<Q")
"""The header of each call and answer: its number of bytes."""
CHUNK = 1 << 20
"""Number of bytes read at a time."""
_PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def main(driver: int, core: str, memory: int, preload: str) -> None:
    """Serve calls until the input closes.

    Args:
        driver: The driver's process id; 0 if it did not start this process itself.
        core: `FREE_CORE` to be pinned to a free core, or empty.
        memory: Bytes of address space of a confined worker; 0 if it is not confined.
        preload: Modules to import first, separated by blanks.
    """
    if memory:
        confine(memory)
    lock, why = take_core() if core == FREE_CORE else (None, "")
    _die_with(driver)
    calls, pipe = _private_pipes()
    faulthandler.enable()
    _answers.append(answers := Answers(pipe))
    for module in preload.split():
        importlib.import_module(module)
    _write_frame(pipe, why.encode())
    while (call := _read_frame(calls)) is not None:
        answers.give(_answer(call))
    del lock  # the core belongs to this worker until here


class Answers:
    """Sends the answers to calls, one after another.

    Args:
        pipe: The pipe that they are written to.
    """

    def __init__(self, pipe: FileIO) -> None:
        self._pipe, self._me = pipe, os.getpid()
        self._count, self._lock = 0, threading.Lock()

    def give(self, answer: bytes) -> None:
        """Answer the current call."""
        self._only_here()
        with self._lock:
            self._count += 1
            _write_frame(self._pipe, answer)

    def last(self) -> Callable[[object], None]:
        """A function that answers the current call and ends the process, from any place and thread.

        It returns if the call has been answered meanwhile.
        """
        call = self._count

        def hand_over(value: object) -> None:
            self._only_here()
            answer = cloudpickle.dumps((True, value, ""))
            with self._lock:
                if call == self._count:
                    try:
                        _write_frame(self._pipe, LEAVING)
                        _write_frame(self._pipe, answer)
                    finally:
                        os._exit(0)

        return hand_over

    def _only_here(self) -> None:
        if os.getpid() != self._me:  # a forked child of a user's code that returned here answers nothing
            os._exit(0)


_answers: list[Answers] = []
"""The answers of this process, if it is a worker."""


def last_answer() -> Callable[[object], None] | None:
    """As `Answers.last` for the current call of this worker; None in a process that is not a worker."""
    return _answers[0].last() if _answers else None


def _private_pipes() -> tuple[FileIO, FileIO]:
    """Standard input and output, moved out of a user's reach and closed in forked children.

    The driver notices a dead worker by the end of its pipes, which children would otherwise hold open.
    """
    pipes = FileIO(os.dup(0), "rb"), FileIO(os.dup(1), "wb")
    for pipe in pipes:
        os.register_at_fork(after_in_child=pipe.close)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return pipes


def _read_frame(pipe: FileIO) -> bytes | None:
    """The next call; None at the end."""
    header = _read_exactly(pipe, LENGTH.size)
    return header and _read_exactly(pipe, LENGTH.unpack(header)[0])


def _read_exactly(pipe: FileIO, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        if not (piece := pipe.read(min(count - len(data), CHUNK))):
            return None
        data += piece
    return bytes(data)


def _write_frame(pipe: FileIO, payload: bytes) -> None:
    rest = memoryview(LENGTH.pack(len(payload)) + payload)
    while rest:
        rest = rest[pipe.write(rest) :]


def _die_with(driver: int) -> None:
    """Ask Linux to kill this process when the thread that started it ends, for whatever reason."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if driver and os.getppid() != driver:  # the driver died before the request
        os._exit(1)


def _answer(call: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(call)
        return cloudpickle.dumps((True, function(*args, **kwargs), ""))
    except BaseException as error:  # noqa: BLE001 - whatever a call raises is sent to its future
        return _failure(error)


def _failure(error: BaseException) -> bytes:
    text = described_traceback(error)
    try:
        return cloudpickle.dumps((False, error, text))
    except Exception:  # noqa: BLE001 - an exception that cannot be pickled is described
        return cloudpickle.dumps((False, RuntimeError(described(error)), text))

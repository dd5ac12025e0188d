"""A worker process: reads calls from its standard input, answers on its standard output.

The two pipes are moved out of reach first, so that whatever a user's code prints goes to standard error and cannot
mix with the answers. The worker ends when its input closes, and on Linux at once when the driver dies.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import sys
import traceback

import cloudpickle

from polarbear.experiment.frames import read_frame, write_frame

READY = b""
"""The first frame a worker sends."""
_PR_SET_PDEATHSIG = 1


def main(driver: int) -> None:
    """Serve calls until the input closes. `driver` is the process id of the driver."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver to handle
    _die_with(driver)
    calls, answers = _private_pipes()
    faulthandler.enable()
    me = os.getpid()
    write_frame(answers, READY)
    while (call := read_frame(calls)) is not None:
        answer = _answer(call)
        if os.getpid() != me:  # a user's code forked and the child came back here: it answers nothing
            os._exit(0)
        write_frame(answers, answer)


def _private_pipes() -> tuple[int, int]:
    calls, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    # A forked child must not keep the pipes open: the driver notices a dead worker by their end.
    os.register_at_fork(after_in_child=lambda: (os.close(calls), os.close(answers)))
    return calls, answers


def _die_with(driver: int) -> None:
    """Ask Linux to kill this process when the thread that started it ends, however that happens."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != driver:  # it died before we could ask
        os._exit(1)


def _answer(call: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(call)
        return cloudpickle.dumps((True, function(*args, **kwargs), ""))
    except BaseException as error:  # noqa: BLE001 - whatever a call raises travels to its future
        return _failure(error)


def _failure(error: BaseException) -> bytes:
    text = "".join(traceback.format_exception(error))
    try:
        return cloudpickle.dumps((False, error, text))
    except Exception:  # noqa: BLE001 - an exception that cannot travel is told in words
        return cloudpickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}"), text))

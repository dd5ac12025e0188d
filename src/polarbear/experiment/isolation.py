"""Isolation of runs: what a run changed of its process is restored, so that all runs start alike.

NumPy's error state and print options and the decimal context are context variables, which a run in its own context
cannot change for others. The rest is read before the run, compared after it, and restored where it differs;
`python -m benchmarks.isolation` measures the cost. Out of reach are the variables of modules other than those below,
threads that are left running, and global generators other than Python's and NumPy's.
"""

from __future__ import annotations

import builtins
import contextvars
import decimal
import gc
import importlib
import locale
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from polarbear.experiment import recorder
from polarbear.records import RunKey

T = TypeVar("T")


class _Aspect(NamedTuple):
    """A part of the process's state, with functions that read and set it."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


class RestoredProcess:
    """A context in which a run may change its process: at its end, everything is restored.

    The global generators of Python and NumPy are seeded from the run's key. If threads run at the same time, what they
    change is restored when the last of them ends.

    Args:
        key: The run's key.
        keep: Whether the state of Python's global generator is restored too; a process that only executes runs need
            not.

    Attributes:
        unrestored: What could not be restored, and why, once the context has ended.
    """

    _lock = threading.RLock()
    _inside = 0
    _before: tuple[list[Any], list[tuple[int, int]], Any, Any]

    def __init__(self, key: RunKey, *, keep: bool = True) -> None:
        self._keep = keep
        self._seed = key.entropy("process") % 2**32
        self._open = False
        self.unrestored: list[str] = []

    def __enter__(self) -> RestoredProcess:
        with self._lock:
            if not RestoredProcess._inside:
                state = [read() for read in _READ_ALL]
                generators = random.getstate() if self._keep else None, _NUMPY.get_bit_generator()
                RestoredProcess._before = (state, _spare_descriptors(), *generators)
                _NUMPY.set_bit_generator(_BITS)  # copying the state of the caller's generator takes 40 µs
            RestoredProcess._inside += 1
            self._open = True
            random.seed(self._seed)
            np.random.seed(self._seed)  # noqa: NPY002 - for optimizers that draw from it
        return self

    def __exit__(self, *error: object) -> None:
        self.put_back()

    def run(self, function: Callable[[], T]) -> T:
        """Call a function in a copy of the current context."""
        return contextvars.copy_context().run(_with_own_decimals, function)

    def put_back(self) -> None:
        """Restore everything. Calling it twice does no harm."""
        with self._lock:
            if not self._open:
                return
            self._open = False
            RestoredProcess._inside -= 1
            if RestoredProcess._inside:
                return
            state, descriptors, python, bits = RestoredProcess._before
            self.unrestored += _put_back_descriptors(descriptors)
            if _differ(lambda: [read() for read in _READ_ALL], state):
                self.unrestored += _put_back(state)
            if python is not None:
                random.setstate(python)
            _NUMPY.set_bit_generator(bits)


def _with_own_decimals(function: Callable[[], T]) -> T:
    decimal.setcontext(decimal.getcontext().copy())
    return function()


def _put_back(state: list[Any]) -> Iterator[str]:
    for aspect, before in zip(_ASPECTS, state, strict=True):
        try:
            if _differ(aspect.read, before):
                aspect.write(before)
        except Exception as error:  # noqa: BLE001 - the caller reports what was not restored
            yield f"{aspect.name} ({type(error).__name__}: {error})"


def _differ(read: Callable[[], Any], before: Any) -> bool:
    try:
        return bool(read() != before)
    except Exception:  # noqa: BLE001 - what cannot be read or compared has been changed
        return True


def _spare_descriptors() -> list[tuple[int, int]]:
    """Copies of the file descriptors of standard output and standard error, as far as they are open."""
    copies: list[tuple[int, int]] = []
    for number in (1, 2):
        with suppress(OSError):  # a service may have none
            copies.append((number, os.dup(number)))
    return copies


def _put_back_descriptors(spares: list[tuple[int, int]]) -> Iterator[str]:
    for number, spare in spares:
        try:
            os.dup2(spare, number, inheritable=True)
            os.close(spare)
        except OSError as error:
            yield f"file descriptor {number} ({error})"


def _set_environment(before: dict[Any, Any]) -> None:
    environment: Any = os.environ
    now: dict[Any, Any] = vars(os.environ)["_data"]
    for name in {*now, *before}:
        if name not in before:
            del environment[environment.decodekey(name)]
        else:
            environment[environment.decodekey(name)] = environment.decodevalue(before[name])


def _timers() -> list[bool]:
    return [signal.getitimer(timer)[0] > 0 for timer in _TIMERS]


def _set_timers(before: list[bool]) -> None:
    for timer, running in zip(_TIMERS, before, strict=True):
        if not running:  # one that ran before has fired meanwhile, as it would have without the run
            signal.setitimer(timer, 0)


def _set_filters(before: list[Any]) -> None:
    warnings.resetwarnings()  # so that Python notices
    vars(warnings)["filters"][:] = before


def _umask() -> int | None:
    """The mask for new files; None if other threads could notice, since reading it requires setting it."""
    if threading.active_count() > 1:
        return None
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _set_path(before: list[str]) -> None:
    sys.path[:] = before


def _set_collection(before: bool) -> None:
    (gc.enable if before else gc.disable)()


def _set_thresholds(before: tuple[int, int, int]) -> None:
    gc.set_threshold(*before)


def _unless_unknown(write: Callable[[Any], object]) -> Callable[[Any], object]:
    return lambda before: None if before is None else write(before)


def _closed(name: str) -> bool:
    return getattr(getattr(sys, name), "closed", True)


def _reopen(name: str, closed: bool) -> None:
    if not closed:
        descriptor = 1 if name == "stdout" else 2
        setattr(sys, name, open(descriptor, "w", buffering=1, errors="backslashreplace", closefd=False))  # noqa: SIM115


def _folder() -> str | None:
    """The current folder; None if it was removed."""
    try:
        return os.getcwd()  # noqa: PTH109 - `Path.cwd` takes three times as long
    except FileNotFoundError:
        return None


def _handlers() -> list[Any]:
    return [_handler(number) for number in _SIGNALS]


def _set_handlers(before: list[Any]) -> None:
    for number, handler in zip(_SIGNALS, before, strict=True):
        if _handler(number) is not handler:
            signal.signal(number, handler)


def _unix() -> Iterator[_Aspect]:
    """The parts of the state that only Unix has."""
    import resource

    yield _Aspect("signal handlers", _handlers, _set_handlers)
    yield _Aspect(
        "blocked signals",
        partial(signal.pthread_sigmask, signal.SIG_BLOCK, ()),
        partial(signal.pthread_sigmask, signal.SIG_SETMASK),
    )
    yield _Aspect("timers", _timers, _set_timers)
    for name in ("AS", "FSIZE", "NOFILE"):
        limit = getattr(resource, f"RLIMIT_{name}")
        yield _Aspect(f"limit {name}", partial(resource.getrlimit, limit), partial(resource.setrlimit, limit))
    if hasattr(os, "sched_setaffinity"):
        yield _Aspect("the CPU affinity", partial(os.sched_getaffinity, 0), partial(os.sched_setaffinity, 0))


_SIGNALS = tuple(int(number) for number in signal.valid_signals() if number < 32 and number not in {9, 19})
"""All signals except SIGKILL and SIGSTOP, which cannot be handled, and real-time signals."""
_handler: Callable[[int], Any] = importlib.import_module("_signal").getsignal
"""Like `signal.getsignal`, but without its enumeration lookup, which takes ten times as long."""
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF) if os.name == "posix" else ()
_NUMPY: Any = np.random
_BITS = np.random.MT19937(0)
"""The bit generator of NumPy's global generator during a run."""
_ASPECTS: tuple[_Aspect, ...] = (
    *(
        # sys.stdout, warnings.showwarning, time.perf_counter …; packages that freeze time reach the recorder's clock
        _Aspect(f"module {module.__name__}", vars(module).copy, vars(module).update)
        for module in (builtins, random, recorder, sys, time, warnings)
    ),
    *(_Aspect(f"sys.{name}", partial(_closed, name), partial(_reopen, name)) for name in ("stdout", "stderr")),
    _Aspect("sys.path", lambda: sys.path[:], _set_path),
    _Aspect("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
    _Aspect("the switch interval", sys.getswitchinterval, sys.setswitchinterval),
    _Aspect("the limit on digits of integers", sys.get_int_max_str_digits, sys.set_int_max_str_digits),
    _Aspect("the trace function", sys.gettrace, sys.settrace),
    _Aspect("the profile function", sys.getprofile, sys.setprofile),
    _Aspect("garbage collection", gc.isenabled, _set_collection),
    _Aspect("the garbage collection thresholds", gc.get_threshold, _set_thresholds),
    _Aspect("the garbage collection debug flags", gc.get_debug, gc.set_debug),
    _Aspect("environment variables", vars(os.environ)["_data"].copy, _set_environment),  # ten times as fast as dict
    _Aspect("the current folder", _folder, _unless_unknown(os.chdir)),
    _Aspect("the locale", partial(locale.setlocale, locale.LC_ALL), partial(locale.setlocale, locale.LC_ALL)),
    _Aspect("warning filters", lambda: warnings.filters[:], _set_filters),
    _Aspect("the file mode mask (umask)", _umask, _unless_unknown(os.umask)),
    *(_unix() if os.name == "posix" else ()),
)
_READ_ALL = tuple(aspect.read for aspect in _ASPECTS)

"""Repetitions of a run, in this Python process and in another one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import wait
from functools import lru_cache
from typing import ParamSpec, TypeVar

import numpy as np

from polarbear.conformance.probes import OFF_CENTRE, USUAL, fault_of, run_on
from polarbear.experiment import Confinement, WorkerError, WorkerPool
from polarbear.optimizers import Optimizer
from polarbear.quantities import plural
from polarbear.records import FloatArray

P = ParamSpec("P")
T = TypeVar("T")


def repeat_here(optimizer: Optimizer) -> tuple[FloatArray, str]:
    """The points of a run, and what is wrong when it is repeated in this process with the same and another seed."""
    first, fault = _points(optimizer, 1)
    if fault:
        return first, fault
    other, _ = _points(optimizer, 2)
    if len(other) > 1 and np.array_equal(first, other):
        return first, "runs with different seeds evaluate the same points"
    return first, _difference(first, *_points(optimizer, 1))


def repeat_elsewhere(
    optimizer: Optimizer, first: FloatArray, timeout: float, confinement: Confinement | None = None
) -> str:
    """What is wrong when the run is repeated in another process.

    If anything is, a new process decides: the previous one may hold an older version of a module, or another optimizer
    may have changed its state.

    Args:
        optimizer: The optimizer.
        first: (evaluations, d) points of the run in this process.
        timeout: Maximum number of seconds of the run.
        confinement: Restrictions on the other process.
    """
    if wrong := _elsewhere(optimizer, first, timeout, confinement):
        end_second_process()
        wrong = _elsewhere(optimizer, first, timeout, confinement)
    return wrong


def call_elsewhere(timeout: float, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a second Python process, where strings have other hashes and modules are imported anew.

    All calls share this process; it ends with the current one.

    Args:
        timeout: Maximum number of seconds of the call.
        function: The function.
        args: Its arguments.
        kwargs: Its keyword arguments.

    Raises:
        WorkerError: If the process dies or the call does not end in time. The next call gets a new process.
        Exception: Whatever the call raises, or the pickling of the call or its result.
    """
    return _call(timeout, None, function, *args, **kwargs)


def _call(
    timeout: float, confinement: Confinement | None, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
) -> T:
    path = tuple(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 - sys.path holds strings
    pool = _second_process(os.getpid(), path, timeout, confinement)
    future = pool.submit(function, *args, **kwargs)
    try:
        wait([future])
    except BaseException:  # Ctrl-C
        pool.kill([future])
        raise
    return future.result()


def end_second_process() -> None:
    """End the second process; the next call gets a new one."""
    _second_process.cache_clear()


@lru_cache(maxsize=1)
def _second_process(
    driver: int,  # noqa: ARG001 - the key
    path: tuple[str, ...],  # noqa: ARG001
    timeout: float,
    confinement: Confinement | None,
) -> WorkerPool:
    """The second process; a fork or another module path needs a different one."""
    return WorkerPool(1, timeout=timeout, grace=0, confinement=confinement)


def _points(optimizer: Optimizer, seed: int) -> tuple[FloatArray, str]:
    """The points (evaluations, d) of a run, and how it failed, if it did."""
    run, watched = run_on(optimizer, OFF_CENTRE, USUAL, seed)
    return np.array(watched.points).reshape(-1, OFF_CENTRE.dimension), fault_of(run)


def _difference(first: FloatArray, again: FloatArray, fault: str) -> str:
    """How a run's repetition differs, if it does."""
    if fault:
        return f"a run repeated with the same seed ends differently: {fault}"
    if first.shape != again.shape:
        return f"a run repeated with the same seed evaluates {plural(again, 'point')} instead of {len(first):,}"
    differ = np.flatnonzero((first != again).any(axis=1))
    return f"a run repeated with the same seed differs from point {int(differ[0]) + 1} on" if differ.size else ""


def _elsewhere(optimizer: Optimizer, first: FloatArray, timeout: float, confinement: Confinement | None) -> str:
    try:
        again = _call(timeout, confinement, _points, optimizer, 1)
    except WorkerError as error:
        return f"the second process, which repeats its run, was lost: {error}"
    except Exception as error:  # noqa: BLE001 - pickling raises any error
        return f"its run cannot be repeated in another process (see 'travel'): {type(error).__name__}: {error}"
    wrong = _difference(first, *again)
    hint = "hash() of a string and random numbers drawn on import differ between processes"
    return f"in another process, {wrong}; {hint}" if wrong else ""

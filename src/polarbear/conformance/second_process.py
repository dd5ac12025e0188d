"""Repeat a run in a second Python process, where texts have other hashes and modules are imported anew."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import wait
from functools import lru_cache
from typing import ParamSpec, TypeVar

from polarbear.experiment import WorkerPool

P = ParamSpec("P")
T = TypeVar("T")


def elsewhere(timeout: float, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in the second process. All calls share it; it ends with this one.

    Args:
        timeout: Seconds the call may take.
        function: What is called.
        args: Its arguments.
        kwargs: Its keyword arguments.

    Raises:
        WorkerError: If the process dies, or the call does not end in time. The next call gets a new process.
        Exception: Whatever the call raises, or the pickling of the call or of its result.
    """
    path = tuple(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 - sys.path holds strings
    pool = _process(os.getpid(), path, timeout)
    future = pool.submit(function, *args, **kwargs)
    try:
        wait([future])
    except BaseException:  # Ctrl-C
        pool.kill([future])
        raise
    return future.result()


def forget() -> None:
    """End the process; the next call gets a new one, which knows nothing of what happened in this one."""
    _process.cache_clear()


@lru_cache(maxsize=1)
def _process(driver: int, path: tuple[str, ...], timeout: float) -> WorkerPool:  # noqa: ARG001 - where it is of use
    """The process. Another one is needed after a fork, and once modules are looked for elsewhere."""
    return WorkerPool(1, timeout=timeout, grace=0)

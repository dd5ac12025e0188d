"""One thread for linear algebra, several for timepoints.

BLAS results depend in their last bits on its number of threads, by default the number of cores. The matrices here are
small and gain nothing from several threads. But timepoints that do not inform each other can be computed in parallel,
since NumPy lets other threads run while it computes.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from polarbear.machine import cores

_Result = TypeVar("_Result")

_LOCK = threading.Lock()
_LIMIT = ExitStack()
"""The limit on BLAS threads, which holds for the whole process while anything runs within `one_thread`."""
_running = 0
_MOST = 4
"""Maximum number of threads: more of them would wait for each other's Python code."""


@functools.cache
def _libraries(_with_scipy: bool) -> Any:
    """The loaded BLAS libraries: NumPy's, and SciPy's once that is imported."""
    return importlib.import_module("threadpoolctl").ThreadpoolController()


@contextmanager
def one_thread() -> Generator[None]:
    """Limit BLAS to one thread, in the whole process, until the last block that asked for it ends."""
    global _running
    with _LOCK:
        if not _running:
            _LIMIT.enter_context(_libraries("scipy.linalg" in sys.modules).limit(limits=1, user_api="blas"))
        _running += 1
    try:
        yield
    finally:
        with _LOCK:
            _running -= 1
            if not _running:
                _LIMIT.close()


def side_by_side(function: Callable[..., _Result], *items: Iterable[Any]) -> list[_Result]:
    """Compute ``list(map(function, *items))`` in up to four threads, at most one for each core of this process."""
    with ThreadPoolExecutor(min(cores(), _MOST)) as threads:
        return list(threads.map(function, *items))

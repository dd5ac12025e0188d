"""One thread for linear algebra, several for timepoints.

The last bits of what BLAS computes depend on its number of threads, which is that of the cores by default. The matrices
here are small, and several threads gain nothing on them. But timepoints that do not learn from each other can be
computed side by side, as NumPy lets other threads run while it computes.
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
"""Threads at a time: more of them would wait for each other's Python code."""


@functools.cache
def _libraries(_with_scipy: bool) -> Any:
    """The BLAS libraries that are loaded: NumPy's own, and SciPy's once it is imported."""
    return importlib.import_module("threadpoolctl").ThreadpoolController()


@contextmanager
def one_thread() -> Generator[None]:
    """BLAS computes in one thread, in the whole process, until the last of those that asked for it is done."""
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
    """As ``list(map(function, *items))``, computed in as many threads as this process may keep cores busy."""
    with ThreadPoolExecutor(min(cores(), _MOST)) as threads:
        return list(threads.map(function, *items))

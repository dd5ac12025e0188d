"""One thread for linear algebra.

What BLAS computes depends, in its last bits, on its number of threads, which is that of the cores unless something else
is said. The matrices here are small, and several threads gain nothing on them.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any


class _OneThread:
    """The limit on BLAS threads, which holds for the whole process as long as anybody asks for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._askers = 0
        self._limit = ExitStack()

    def begin(self) -> None:
        with self._lock:
            if not self._askers:
                libraries = _libraries("scipy.linalg" in sys.modules)
                self._limit.enter_context(libraries.limit(limits=1, user_api="blas"))
            self._askers += 1

    def end(self) -> None:
        with self._lock:
            self._askers -= 1
            if not self._askers:
                self._limit.close()


@functools.cache
def _libraries(_with_scipy: bool) -> Any:
    """The BLAS libraries that are loaded; NumPy's own, and once it is imported SciPy's."""
    return importlib.import_module("threadpoolctl").ThreadpoolController()


_ONE_THREAD = _OneThread()


@contextmanager
def one_thread() -> Generator[None]:
    """BLAS computes in one thread, in the whole process, as long as this lasts."""
    _ONE_THREAD.begin()
    try:
        yield
    finally:
        _ONE_THREAD.end()

"""Delay signals while a commit is under way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

_UNDER_WAY: list[None] = []
_AFTERWARDS: list[Callable[[], object]] = []


@contextmanager
def critical_section() -> Generator[None]:
    """Mark what should not be left by an exception of a signal handler; see `after_commit`."""
    if threading.current_thread() is not threading.main_thread():  # where no signal handler runs
        yield
        return
    _UNDER_WAY.append(None)
    try:
        yield
    finally:
        _UNDER_WAY.pop()
        while _AFTERWARDS and not _UNDER_WAY:
            _AFTERWARDS.pop()()


def after_commit(action: Callable[[], object]) -> bool:
    """Put an action off to the end of the commit that the main thread is in the midst of, for signal handlers.

    Nothing committed before is lost by an exception in a commit, but what is being committed may be: packages that
    write files are not made for exceptions at any moment.

    Returns:
        Whether there is such a commit; if not, the action will not be called.
    """
    if _UNDER_WAY:
        _AFTERWARDS.append(action)
    return bool(_UNDER_WAY)

"""Commits that a signal handler need not tear apart."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

_UNDER_WAY: list[None] = []


@contextmanager
def undisturbed() -> Generator[None]:
    """Mark what should not be left by an exception of a signal handler; see `committing`."""
    if threading.current_thread() is not threading.main_thread():  # where no signal handler runs
        yield
        return
    _UNDER_WAY.append(None)
    try:
        yield
    finally:
        _UNDER_WAY.pop()


def committing() -> bool:
    """Whether the main thread is in the midst of a commit. A signal handler that is to raise an exception waits for it.

    Nothing committed before is lost in any case, but what is being committed may be: packages that write files are not
    made for exceptions at any moment.
    """
    return bool(_UNDER_WAY)

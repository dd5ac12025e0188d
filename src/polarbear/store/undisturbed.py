"""Commits that a signal handler need not tear apart."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

_UNDER_WAY: list[None] = []


@contextmanager
def undisturbed() -> Generator[None]:
    """Mark what should not be left by an exception of a signal handler; see `committing`."""
    _UNDER_WAY.append(None)
    try:
        yield
    finally:
        _UNDER_WAY.pop()


def committing() -> bool:
    """Whether a commit is under way. A signal handler that is to raise an exception had better wait for its end.

    Nothing committed before is lost in any case, but what is being committed may be: packages that write files are not
    made for exceptions at any moment.
    """
    return bool(_UNDER_WAY)

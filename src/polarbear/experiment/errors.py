"""Descriptions of exceptions from users' code, robust to whatever their methods do."""

from __future__ import annotations

import traceback

LONGEST_TEXT = 20_000
"""Maximum number of characters kept of an exception's message, and of its traceback."""


def described(error: BaseException) -> str:
    """An exception as ``TypeName: text``, shortened if it is too long."""
    name = type.__getattribute__(type(error), "__name__")
    try:
        text = str.__str__(str(error))  # a plain str, not a subclass
    except BaseException:  # noqa: BLE001 - an exception whose text is unavailable is still reported
        text = "(its text cannot be shown)"
    return f"{name}: {text}"[:LONGEST_TEXT] if text else name


def described_traceback(error: BaseException) -> str:
    """The last part of an exception's traceback."""
    try:
        return "".join(traceback.format_exception(error))[-LONGEST_TEXT:]
    except BaseException:  # noqa: BLE001 - as above
        return f"(the traceback of {described(error)} cannot be shown)"

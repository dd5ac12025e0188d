"""Descriptions of exceptions of users' code, whatever the methods of these do."""

from __future__ import annotations

import traceback

LONGEST_TEXT = 20_000
"""Characters kept of an exception's message, and of its traceback."""


def described(error: BaseException) -> str:
    """An exception as ``TypeName: text``, shortened if it is endless."""
    name = type.__getattribute__(type(error), "__name__")
    try:
        text = str.__str__(str(error))  # no subclass of str
    except BaseException:  # noqa: BLE001 - one whose text cannot be had is still reported
        text = "(its text cannot be shown)"
    return f"{name}: {text}"[:LONGEST_TEXT] if text else name


def described_traceback(error: BaseException) -> str:
    """The last part of its traceback."""
    try:
        return "".join(traceback.format_exception(error))[-LONGEST_TEXT:]
    except BaseException:  # noqa: BLE001 - as above
        return f"(the traceback of {described(error)} cannot be shown)"

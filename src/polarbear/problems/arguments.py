"""Checking what users write: whole numbers and sets of them."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

NumbersLike = int | str | Iterable[int]
"""What users may write for a set of whole numbers."""

Numbers = range | tuple[int, ...]
"""A set of whole numbers to draw from; ranges stay ranges, so that they are short to write down."""


def whole_number(value: Any, what: str, low: int, high: int | None = None) -> int:
    """Return `value` as an int, or raise naming `what` and its valid range, both ends inclusive."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}; it must be a whole number") from None
    if isinstance(value, bool):
        raise TypeError(f"{what} is {value!r}; it must be a whole number")
    if number < low or (high is not None and number > high):
        valid = f"{low} to {high}" if high is not None else f"{low} or more"
        raise ValueError(f"{what} is {number}; valid is {valid}")
    return number


def numbers(value: Any, what: str, low: int, high: int | None = None) -> Numbers:
    """A set of whole numbers from an int, a range, a sequence, or COCO's notation ``"1-5,8"``.

    Args:
        value: What the user wrote.
        what: The argument's name, for messages.
        low: The smallest valid number.
        high: The largest valid number; None for no limit.

    Raises:
        TypeError: If an entry is no whole number.
        ValueError: If it is empty, repeats a number, or leaves the valid range.
    """
    if isinstance(value, str):
        value = _parsed(value, what)
    if isinstance(value, range):
        chosen: Numbers = value
        for end in (value[:1], value[-1:]):
            for number in end:
                whole_number(number, what, low, high)
    else:
        try:
            entries = tuple(value)
        except TypeError:
            entries = (value,)
        chosen = _compact(tuple(whole_number(entry, what, low, high) for entry in entries))
    if not chosen:
        raise ValueError(f"{what} is empty; at least one number is needed")
    if not isinstance(chosen, range) and len(set(chosen)) < len(chosen):
        raise ValueError(f"{what} is {list(chosen)}, which names a number twice")
    return chosen


def _parsed(text: str, what: str) -> Numbers:
    chosen: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            chosen += range(int(first), int(last) + 1) if dash else [int(first)]
        except ValueError:
            raise ValueError(f"{what} is {text!r}; write it like '1-5' or '1,3,5-7'") from None
    return _compact(tuple(chosen))


def _compact(chosen: tuple[int, ...]) -> Numbers:
    if len(chosen) < 2 or len(set(chosen)) < len(chosen):
        return chosen
    step = chosen[1] - chosen[0]
    spanned = range(chosen[0], chosen[-1] + (1 if step > 0 else -1), step)
    return spanned if tuple(spanned) == chosen else chosen


def plain(chosen: Numbers) -> int | str | list[int]:
    """A set of whole numbers as it is written to JSON or TOML; `numbers` reads it back."""
    if isinstance(chosen, range) and chosen.step == 1 and len(chosen) > 1:
        return f"{chosen[0]}-{chosen[-1]}"
    return list(chosen)

"""Checking what users write: whole numbers and sets of them."""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

NumbersLike = int | str | Iterable[int]
"""What users may write for a set of whole numbers."""

Numbers = range | tuple[int, ...]
"""A set of whole numbers to draw from; ranges stay ranges, so that they are short to write down."""

MOST = 1_000_000
"""How many numbers a set may have that is not one range between fixed ends: some of its users go through all."""

_SHOWN = 60
"""How much of what users wrote messages repeat."""


def set_fields(frozen: object, **values: Any) -> None:
    """Give fields of a frozen dataclass their values, from its ``__post_init__``."""
    for field, value in values.items():
        object.__setattr__(frozen, field, value)


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


def flag(value: Any, what: str) -> bool:
    """Return `value`, which must be True or False."""
    if type(value) not in (bool, np.bool_):
        raise TypeError(f"{what} is {value!r}; it must be true or false")
    return bool(value)


def real_number(value: Any, what: str) -> float:
    """Return `value` as a float, or raise naming `what`, unless it is a finite real number."""
    if hasattr(value, "ndim") and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{what} is {value!r}; it must be a number")
    try:
        number = float(value)
    except OverflowError:
        raise ValueError(f"{what} is {shortened(value)}; a number must be below 1.8e308") from None
    if not math.isfinite(number):
        raise ValueError(f"{what} is {value!r}; it must be finite")
    return number


def real_numbers(value: Any, what: str) -> tuple[float, ...]:
    """Return the entries of `value` as floats, or raise naming `what`, unless all are finite real numbers."""
    if isinstance(value, str) or not np.iterable(value):
        raise TypeError(f"{what} is {value!r}; it must be a list of numbers")
    return tuple(real_number(entry, f"{what}[{i}]") for i, entry in enumerate(value))


def numbers(value: Any, what: str, low: int, high: int | None = None) -> Numbers:
    """A set of whole numbers from an int, a range, a sequence, or COCO's notation ``"1-5,8"``.

    Args:
        value: What the user wrote.
        what: The argument's name, for messages.
        low: The smallest valid number.
        high: The largest valid number; None for no limit.

    Raises:
        TypeError: If an entry is no whole number.
        ValueError: If it is empty, repeats a number, leaves the valid range, or has too many numbers.
    """
    if isinstance(value, (str, range)):
        spans = _spans(value, what) if isinstance(value, str) else [value]
        for end in (end for span in spans for end in (*span[:1], *span[-1:])):
            whole_number(end, what, low, high)
        count = sum((span[-1] - span[0]) // span.step + 1 for span in spans if span)  # len() takes no such numbers
        if count > MOST and (high is None or len(spans) > 1):
            raise ValueError(f"{what} is {shortened(value)}, which names more than {MOST} numbers; give fewer")
        chosen = _compact(spans[0] if len(spans) == 1 else tuple(itertools.chain(*spans)))
    else:
        try:
            entries = tuple(value)
        except TypeError:
            entries = (value,)
        chosen = _compact(tuple(whole_number(entry, what, low, high) for entry in entries))
    if not chosen:
        raise ValueError(f"{what} is empty; at least one number is needed")
    if not isinstance(chosen, range) and len(set(chosen)) < len(chosen):
        twice, _ = Counter(chosen).most_common(1)[0]
        raise ValueError(f"{what} is {shortened(value)}, which names {twice} twice; name each number once")
    return chosen


def _spans(text: str, what: str) -> list[range]:
    """The parts of COCO's notation, which are not written out."""
    spans: list[range] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            spans.append(range(int(first), int(last if dash else first) + 1))
        except ValueError:
            raise ValueError(f"{what} is {shortened(text)}; write it like '1-5' or '1,3,5-7'") from None
        if not spans[-1]:
            raise ValueError(f"{what} is {shortened(text)}, where {part.strip()!r} is empty; write {last}-{first}")
    return spans


def shortened(value: object) -> str:
    """What the user wrote, for messages; of what is long, the beginning."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _compact(chosen: Sequence[int]) -> Numbers:
    """The one way to write down these numbers: a range that ends with its last number, if they make one."""
    if len(chosen) < 2 or (not isinstance(chosen, range) and len(set(chosen)) < len(chosen)):
        return tuple(chosen)
    step = chosen[1] - chosen[0]
    spanned = range(chosen[0], chosen[-1] + (1 if step > 0 else -1), step)
    return spanned if isinstance(chosen, range) or tuple(spanned) == chosen else tuple(chosen)


def plain(chosen: Numbers) -> int | str | list[int]:
    """A set of whole numbers as it is written to JSON or TOML; `numbers` reads it back."""
    if isinstance(chosen, range) and chosen.step == 1 and len(chosen) > 1:
        return f"{chosen[0]}-{chosen[-1]}"
    return list(chosen)

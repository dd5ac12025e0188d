"""Sets of whole numbers: the functions, dimensions and instances to draw from."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from polarbear.descriptions import FieldError, shortened
from polarbear.validation import Checked, real_number, whole_number

NumbersLike = int | str | Iterable[int]
"""The notations that users may write for a set of whole numbers."""

Numbers = range | tuple[int, ...]
"""A set of whole numbers to draw from; ranges stay ranges, so that their notation is short."""

MOST = 1_000_000
"""Maximum size of a set other than a single range between fixed limits, as some callers enumerate it."""


def number_set(ge: int, le: int | None = None) -> Checked:
    """A field for a set of whole numbers within limits: an int, a range, a sequence or a string like "1-5,8"."""
    return Checked(functools.partial(numbers, ge=ge, le=le))


def numbers(value: Any, name: str, ge: int, le: int | None = None) -> Numbers:
    """A set of whole numbers from an int, a range, a sequence, or COCO's notation ``"1-5,8"``.

    Args:
        value: What the user specified.
        name: The argument's name.
        ge: The smallest valid number.
        le: The largest valid number; None for no limit.

    Raises:
        FieldTypeError: If an entry is not a whole number.
        FieldError: If the set is empty, repeats a number, leaves the valid range, or has too many numbers.
    """
    if isinstance(value, (str, range)):
        spans = _spans(value, name) if isinstance(value, str) else [value]
        for end in (end for span in spans for end in (*span[:1], *span[-1:])):
            whole_number(end, name, ge, le)
        count = sum((span[-1] - span[0]) // span.step + 1 for span in spans if span)  # len() fails for such numbers
        if count > MOST and (le is None or len(spans) > 1):
            raise FieldError(
                (name,), f"{name} is {shortened(value)}, which contains more than {MOST} numbers; give fewer"
            )
        chosen = _compact(spans[0] if len(spans) == 1 else tuple(itertools.chain(*spans)))
    else:
        try:
            entries = tuple(value)
        except TypeError:
            entries = (value,)
        chosen = _compact(tuple(whole_number(entry, name, ge, le) for entry in entries))
    if not chosen:
        raise FieldError((name,), f"{name} is empty; at least one number is needed")
    if not isinstance(chosen, range) and len(set(chosen)) < len(chosen):
        twice, _ = Counter(chosen).most_common(1)[0]
        raise FieldError((name,), f"{name} is {shortened(value)}, which contains {twice} twice; list each number once")
    return chosen


def _spans(text: str, name: str) -> list[range]:
    """The parts of COCO's notation, as ranges that are not expanded."""
    spans: list[range] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            spans.append(range(int(first), int(last if dash else first) + 1))
        except ValueError:
            raise FieldError((name,), f"{name} is {shortened(text)}; write it like '1-5' or '1,3,5-7'") from None
        if not spans[-1]:
            empty = f"{shortened(text)}, in which {part.strip()!r} is an empty range"
            raise FieldError((name,), f"{name} is {empty}; write {last}-{first}")
    return spans


def _compact(chosen: Sequence[int]) -> Numbers:
    """The canonical form of these numbers: a range that ends with its last number, if they form one."""
    step = chosen[1] - chosen[0] if len(chosen) > 1 else 0
    if not step:
        return tuple(chosen)
    spanned = range(chosen[0], chosen[-1] + (1 if step > 0 else -1), step)
    return spanned if isinstance(chosen, range) or tuple(spanned) == chosen else tuple(chosen)


def shares(value: Any, name: str) -> tuple[float, ...]:
    """One or several distinct numbers from 0 to 1."""
    entries: Iterable[Any] = value if np.iterable(value) and not isinstance(value, str) else (value,)
    return distinct((real_number(entry, name, ge=0, le=1) for entry in entries), name)


def distinct(values: Iterable[Any], name: str) -> tuple[Any, ...]:
    """`values` as a tuple, which must be non-empty and without repetitions."""
    chosen = tuple(values)
    if not chosen:
        raise FieldError((name,), f"{name} is empty; at least one entry is needed")
    if len(set(chosen)) < len(chosen):
        raise FieldError((name,), f"{name} is {list(chosen)}, which contains an entry twice; list each entry once")
    return chosen


def plain(chosen: Numbers) -> int | str | list[int]:
    """The notation of a set of whole numbers in JSON or TOML, which `numbers` reads back."""
    if isinstance(chosen, range) and chosen.step == 1 and len(chosen) > 1:
        return f"{chosen[0]}-{chosen[-1]}"
    return list(chosen)

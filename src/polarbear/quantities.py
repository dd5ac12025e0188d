"""Amounts, durations and counts as text."""

from __future__ import annotations

from collections.abc import Sized

_YEAR = 31_536_000
_UNITS = (
    ("year", "d", _YEAR, 86_400),
    ("d", "h", 86_400, 3_600),
    ("h", "min", 3_600, 60),
    ("min", "s", 60, 1),
)
"""Each unit of time, the next smaller one, and both in seconds."""
_MOST_WRITTEN = 10**12
"""Counts from here on are written in scientific notation."""


def amount(number: float) -> str:
    """A large number in readable form: 8,660, 640,000, 15.4 million, 3.5e+20."""
    if abs(number) >= 1e15:
        return f"{number:.1e}"
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if abs(number) >= size:
            return f"{number / size:.3g} {word}"
    return f"{number:,.0f}"


def duration(seconds: float) -> str:
    """Seconds in the largest units that fit: 0.25 s, 3 min 20 s, 2.9e+20 years."""
    if seconds >= 1_000 * _YEAR:
        return f"{seconds / _YEAR:.1e} years"
    if seconds < 10:
        return f"{seconds:.2g} s"
    for unit, smaller, size, part in _UNITS:
        if seconds >= size:
            whole, rest = divmod(round(seconds / part), size // part)
            first = plural(whole, unit) if unit == "year" else f"{whole} {unit}"
            return f"{first} {rest} {smaller}" if rest else first
    return f"{seconds:.0f} s"


def plural(items: Sized | int, noun: str) -> str:
    """A count with its noun: 1 pair, 2,000 pairs, 3.5e+20 runs."""
    count = len(items) if isinstance(items, Sized) else items
    number = f"{count:,}" if count < _MOST_WRITTEN else f"{count:.1e}"
    return f"{number} {noun}{'' if count == 1 else 's'}"

"""Probabilities, budgets and lists of timepoints as text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from polarbear.descriptions import listed
from polarbear.quantities import plural
from polarbear.records import Axis, FloatArray

_MOST_SPANS = 3


def probability(p: float) -> str:
    """A probability with as many digits as a few thousand draws justify; never exactly 0 or 1."""
    if p > 0.999:
        return ">0.999"
    if p < 0.001:
        return "<0.001"
    return f"{p:.3f}" if p > 0.99 or p < 0.01 else f"{p:.2f}"


def at_least(p: float) -> str:
    """A lower bound on a probability, rounded down."""
    if p > 0.999:
        return "more than 0.999"
    return f"at least {np.floor(p * 1000 + 1e-9) / 1000:.3f}"


def instant(time: float) -> str:
    """A timepoint without its unit."""
    return f"{time:,.0f}" if float(time).is_integer() or time >= 1000 else f"{time:.3g}"


def budget(time: float, axis: Axis) -> str:
    """A timepoint with its unit."""
    return f"{instant(time)} {axis}"


def two_digits(number: float) -> float:
    """A number rounded to two significant digits; forecasts are no more precise."""
    size = 10.0 ** max(np.floor(np.log10(max(number, 1))) - 1, 0)
    return float(np.ceil(number / size) * size)


def runs_of(mask: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """First and last index of every maximal run of true entries."""
    bounds = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0))
    for start, stop in bounds.reshape(-1, 2):
        yield int(start), int(stop) - 1


def spans(times: FloatArray, mask: NDArray[np.bool_], unit: str) -> str:
    """The timepoints where `mask` holds, such as ``at every timepoint``, ``from 50 to 400 and at 900 evaluations``.

    The unit, such as ``evaluations``, may be empty. If there are more than three stretches, the three longest are
    listed and the others counted.
    """
    if mask.all():
        return "at every timepoint"
    if not mask.any():
        return "at no timepoint"
    stretches = sorted(runs_of(mask), key=lambda run: run[0] - run[1])
    longest = sorted(stretches[:_MOST_SPANS])
    words = [
        f"at {instant(times[start])}" if start == stop else f"from {instant(times[start])} to {instant(times[stop])}"
        for start, stop in longest
    ]
    rest = sum(stop - start + 1 for start, stop in stretches[_MOST_SPANS:])
    return f"{listed(words)} {unit}".rstrip() + (f" (and at {plural(rest, 'more timepoint')})" if rest else "")

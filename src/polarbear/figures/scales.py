"""Axes and their ticks, and checks of the numbers to be drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.figures.panels import Axis
from polarbear.figures.style import Spacing, compact, spacing_of
from polarbear.records import FloatArray

BEND = 0.9
"""Probability above which an axis of probabilities is logarithmic in 1 - p; the slope is continuous there."""
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of an axis.

    Attributes:
        low: Number at which the axis begins.
        high: Number at which it ends.
        log: Whether it is logarithmic.
        zero: Whether 0 is among the numbers of a logarithmic axis; if so, it is drawn at `low`.
    """

    low: float
    high: float
    log: bool
    zero: bool = False

    @classmethod
    def of(cls, values: Iterable[ArrayLike], spacing: Spacing | None = None) -> Scale:
        """The scale that shows all finite numbers in `values`, with a small margin.

        Numbers beyond 1e300, such as the largest float used as a penalty, count as infinite.

        Args:
            values: Arrays of any shape.
            spacing: "log" or "linear"; default "log" if no number is negative and they span at least a factor of ten.

        Raises:
            ValueError: If a number is negative on a log scale.
        """
        numbers = np.concatenate([np.empty(0), *(np.ravel(floats(array)) for array in values)])
        finite = numbers[np.abs(numbers) <= _LARGEST]
        positive = finite[finite > 0]
        if spacing is None:
            wide = positive.size > 0 and positive.max() >= 10 * positive.min()
            spacing = "log" if wide and finite.min() >= 0 else "linear"
        if spacing == "log":
            if (finite < 0).any():
                raise ValueError(f"{finite.min():g} cannot be drawn on a log axis; use linear spacing")
            return cls._logarithmic(positive, zero=positive.size < finite.size)
        if not finite.size:
            return cls(0.0, 1.0, log=False)
        low, high = float(finite.min()), float(finite.max())
        margin = 0.04 * (high - low) or 0.1 * abs(high) or 0.5
        return cls(low - margin, high + margin, log=False)

    @classmethod
    def _logarithmic(cls, positive: FloatArray, *, zero: bool) -> Scale:
        if not positive.size:
            return cls(1.0, 10.0, log=True, zero=zero)
        low, high = float(positive.min()), float(positive.max())
        margin = (high / low) ** 0.04 if high > low else 3.0
        begin = 10.0 ** (np.floor(np.log10(low)) - 1) if zero else low / margin
        return cls(begin, high * margin, log=True, zero=zero)

    def place(self, values: ArrayLike) -> FloatArray:
        """Positions at which numbers are drawn: 0 at the lower end of a logarithmic axis, all others unchanged."""
        at = floats(values)
        return np.where(at == 0, self.low, at) if self.zero else at

    def axis(self, label: str, *, reverse: bool = False, grid: bool = False) -> Axis:
        """An axis with this scale; with `reverse`, large numbers come first."""
        low, high = (self.high, self.low) if reverse else (self.low, self.high)
        if not self.log:
            return Axis(label=label, low=low, high=high, most=5, grid=grid)
        ticks, minor, texts = self.ticks()
        return Axis(label=label, low=low, high=high, scale="log", ticks=ticks, minor=minor, texts=texts, grid=grid)

    def ticks(self, most: int = 8) -> tuple[tuple[float, ...], tuple[float, ...], tuple[str, ...]]:
        """About `most` labelled ticks of a logarithmic axis, its unlabelled ticks, and the labels."""
        first, last = int(np.ceil(np.log10(self.low) - 1e-9)), int(np.floor(np.log10(self.high) + 1e-9))
        if last - first < 2 and not self.zero:
            ticks = few_log_ticks(self.low, self.high)
            if len(ticks) < 2:
                ticks = round_ticks(self.low, self.high)
            return ticks, (), _in_few_digits(ticks)
        powers = range(first + self.zero, last + 1)
        step = -(-len(powers) // most)
        major = tuple(10.0**k for k in powers if k % step == 0)
        labels = tuple(power_of_ten(k) for k in powers if k % step == 0)
        minor = tuple(10.0**k for k in powers if k % step)
        if self.zero:
            return (self.low, *major), minor, ("0", *labels)
        if len(powers) <= 4:
            within = (digit * 10.0**k for k in range(first - 1, last + 1) for digit in range(2, 10))
            minor = tuple(tick for tick in within if self.low <= tick <= self.high)
        return major, minor, labels


def _in_few_digits(ticks: Sequence[float]) -> tuple[str, ...]:
    """Numbers with as few digits as are needed to distinguish them."""
    texts = [compact(tick) for tick in ticks]
    for digits in range(4, 18):
        if len(set(texts)) == len(texts):
            break
        texts = [f"{tick:.{digits}g}" for tick in ticks]
    return tuple(texts)


def power_of_ten(exponent: int) -> str:
    """10 with a superscript exponent, as plain text."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def few_log_ticks(low: float, high: float) -> tuple[float, ...]:
    """1, 2 and 5 times powers of ten between two positive numbers."""
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = (digit * 10.0**power for power in decades for digit in (1, 2, 5))
    return tuple(tick for tick in ticks if low <= tick <= high)


def round_ticks(low: float, high: float, *, integer: bool = False) -> tuple[float, ...]:
    """About four round numbers from low to high."""
    return tuple(float(t) for t in MaxNLocator(4, integer=integer).tick_values(low, high) if low <= t <= high)


def stretch(probability: FloatArray) -> FloatArray:
    """Positions on an axis of probabilities: linear up to `BEND`, then logarithmic in 1 - p, joined without a kink."""
    p = floats(probability)
    scale = 1 - BEND
    above = BEND + scale * np.log(scale / np.maximum(1 - p, 1e-15))
    return np.where(p <= BEND, p, above)


def unstretch(height: FloatArray) -> FloatArray:
    """The inverse of `stretch`."""
    y = floats(height)
    scale = 1 - BEND
    return np.where(y <= BEND, y, 1 - scale * np.exp(-(np.maximum(y, BEND) - BEND) / scale))


def time_axis(times: FloatArray, unit: str, spacing: Spacing | None, *, narrow: bool = False) -> Axis:
    """A horizontal axis of budgets, with fewer ticks if it is narrow.

    Raises:
        ValueError: If a log axis would begin at a non-positive budget.
    """
    first, last, label = float(times[0]), float(times[-1]), f"budget ({unit})"
    if spacing == "log" and first <= 0:
        raise ValueError(f"budget {first:g} cannot be drawn on a log axis; use linear spacing")
    if first == last:
        margin = 0.5 * max(first, 1e-9)
        return Axis(label=label, low=first - margin, high=last + margin, ticks=(first,), counts=True)
    scale = spacing or spacing_of(times)
    return Axis(label=label, low=first, high=last, scale=scale, counts=True, most=4 if narrow else 6)


def share_axis(label: str) -> Axis:
    """A vertical axis from 0 to 1 with pale grid lines."""
    return Axis(label=label, low=0, high=1, ticks=(0, 0.2, 0.4, 0.6, 0.8, 1), grid=True)


def row_axis(rows: int, *, hills: bool = True) -> Axis:
    """A hidden vertical axis of rows from top to bottom, with more room above than below for hills."""
    return Axis(low=rows - (0.6 if hills else 0.4), high=-0.95 if hills else -0.6, hidden=True)


def arrays_of(arrays: Mapping[str, ArrayLike], shape: tuple[int, ...], what: str) -> dict[str, FloatArray]:
    """The arrays as floats.

    Raises:
        ValueError: If an array has the wrong shape; the message says which.
    """
    converted = {name: floats(array) for name, array in arrays.items()}
    for name, array in converted.items():
        if array.shape != shape:
            raise ValueError(f"{what} of {name!r}: shape is {array.shape}; expected {shape}")
    return converted


def increasing(numbers: ArrayLike, what: str) -> FloatArray:
    """(k,) numbers as floats.

    Raises:
        ValueError: If they are empty, not finite or not strictly increasing.
    """
    at = floats(numbers)
    if at.ndim != 1 or not at.size or not np.isfinite(at).all() or (np.diff(at) <= 0).any():
        raise ValueError(f"{what} must be one or more finite, strictly increasing numbers; got shape {at.shape}: {at}")
    return at


def choose(algorithms: Sequence[str] | None, names: Sequence[str]) -> tuple[str, ...]:
    """The names to show, by default all; raises ValueError if one is not among `names`."""
    chosen = tuple(names if algorithms is None else algorithms)
    unknown = [name for name in chosen if name not in names]
    if unknown or not chosen:
        wrong = f"{unknown} are unknown" if unknown else "is empty"
        raise ValueError(f"algorithms {wrong}; choose from {', '.join(names)}")
    return chosen

"""Axes, numbers checked before they are drawn, and names at the ends of lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from polarbear.figures.marks import EndLabel, Label, Markers
from polarbear.figures.panels import Axis
from polarbear.figures.style import MUTED, WIDE, Look, Spacing, compact, shown, spacing_of
from polarbear.records import FloatArray

BEND = 0.9
"""Probability above which an axis of probabilities is logarithmic in 1 - p; there both parts have the same slope."""
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LARGEST = 1e300


@dataclass(frozen=True, slots=True)
class Scale:
    """How numbers are laid out along one axis.

    Attributes:
        low: Where the axis begins.
        high: Where it ends.
        log: Whether it is logarithmic.
        zero: Whether 0 is among the numbers of a logarithmic axis; it is drawn at `low` then.
    """

    low: float
    high: float
    log: bool
    zero: bool = False

    @classmethod
    def of(cls, values: Iterable[ArrayLike], spacing: Spacing | None = None) -> Scale:
        """The scale that shows all finite numbers in `values`, with a small margin.

        Numbers beyond 1e300, such as the largest float that stands for a penalty, count as infinite.

        Args:
            values: Arrays of any shape.
            spacing: "log" or "linear"; default "log" if no number is negative and they span a factor of ten.

        Raises:
            ValueError: If a number is negative on a log scale.
        """
        finite = np.concatenate([np.empty(0), *(np.ravel(np.asarray(array, dtype=np.float64)) for array in values)])
        finite = finite[np.abs(finite) <= _LARGEST]
        if not finite.size:
            return cls(1.0, 10.0, log=True) if spacing == "log" else cls(0.0, 1.0, log=False)
        positive, negative = finite[finite > 0], bool((finite < 0).any())
        if spacing == "log" and negative:
            raise ValueError(f"{finite.min():g} has no place on a log axis; draw it with linear spacing")
        wide = not negative and positive.size > 0 and positive.max() >= 10 * positive.min()
        if spacing == "log" or (spacing is None and wide):
            return cls._logarithmic(positive, zero=positive.size < finite.size)
        low, high = float(finite.min()), float(finite.max())
        margin = 0.04 * (high - low) or 0.1 * abs(high) or 0.5
        return cls(low - margin, high + margin, log=False)

    @classmethod
    def _logarithmic(cls, positive: FloatArray, *, zero: bool) -> Scale:
        if not positive.size:
            return cls(1.0, 10.0, log=True, zero=zero)
        low, high = float(positive.min()), float(positive.max())
        margin = (high / low) ** 0.04 if high > low else 3.0
        if zero:
            return cls(10.0 ** (np.floor(np.log10(low)) - 1), high * margin, log=True, zero=True)
        return cls(low / margin, high * margin, log=True)

    def place(self, values: ArrayLike) -> FloatArray:
        """Where to draw numbers: 0 at the lower end of a logarithmic axis, all others where they are."""
        at = np.asarray(values, dtype=np.float64)
        return np.where(at == 0, self.low, at) if self.zero else at

    def axis(self, label: str, *, reverse: bool = False, grid: bool = False) -> Axis:
        """An axis with this scale; `reverse` has large numbers first."""
        low, high = (self.high, self.low) if reverse else (self.low, self.high)
        if not self.log:
            return Axis(label=label, low=low, high=high, most=5, grid=grid)
        major, minor, texts = self.ticks()
        return Axis(
            label=label, low=low, high=high, scale="log", ticks=(*major,), minor=(*minor,), texts=(*texts,), grid=grid
        )

    def ticks(self, most: int = 8) -> tuple[list[float], list[float], list[str]]:
        """Of a logarithmic axis: about `most` ticks with a label, ticks without one, the labels."""
        first, last = int(np.ceil(np.log10(self.low) - 1e-9)), int(np.floor(np.log10(self.high) + 1e-9))
        first += self.zero
        powers = range(first, last + 1)
        if last - first < 2 and not self.zero:
            ticks = few_log_ticks(self.low, self.high)
            ticks = ticks if len(ticks) > 1 else [float(t) for t in MaxNLocator(4).tick_values(self.low, self.high)]
            ticks = [tick for tick in ticks if self.low <= tick <= self.high]
            return ticks, [], _distinct(ticks)
        step = -(-len(powers) // most)
        major = [10.0**k for k in powers if k % step == 0]
        labels = [power_of_ten(k) for k in powers if k % step == 0]
        minor = [10.0**k for k in powers if k % step]
        if len(powers) <= 4 and not self.zero:
            within = [digit * 10.0**k for k in range(first - 1, last + 1) for digit in range(2, 10)]
            minor = [tick for tick in within if self.low <= tick <= self.high]
        return ([self.low, *major], minor, ["0", *labels]) if self.zero else (major, minor, labels)


def _distinct(ticks: Sequence[float]) -> list[str]:
    """Numbers in as few digits as tell them apart."""
    texts = [compact(tick) for tick in ticks]
    for digits in range(4, 18):
        if len(set(texts)) == len(texts):
            break
        texts = [f"{tick:.{digits}g}" for tick in ticks]
    return texts


def power_of_ten(exponent: int) -> str:
    """10 with a raised exponent, as plain text."""
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}"


def few_log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten between two positive numbers."""
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [digit * 10.0**power for power in decades for digit in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]


def stretch(probability: FloatArray) -> FloatArray:
    """An axis of probabilities: linear up to `BEND`, then logarithmic in 1 - p, joined without a kink."""
    p = np.asarray(probability, dtype=np.float64)
    scale = 1 - BEND
    above = BEND + scale * np.log(scale / np.maximum(1 - p, 1e-15))
    return np.where(p <= BEND, p, above)


def unstretch(height: FloatArray) -> FloatArray:
    """The inverse of `stretch`."""
    y = np.asarray(height, dtype=np.float64)
    scale = 1 - BEND
    return np.where(y <= BEND, y, 1 - scale * np.exp(-(np.maximum(y, BEND) - BEND) / scale))


def time_axis(times: FloatArray, unit: str, spacing: Spacing | None, *, narrow: bool = False) -> Axis:
    """A horizontal axis of budgets; few ticks if it is narrow.

    Raises:
        ValueError: If a log axis should begin at a budget that is not positive.
    """
    first, last, label = float(times[0]), float(times[-1]), f"budget ({unit})"
    if spacing == "log" and first <= 0:
        raise ValueError(f"budget {first:g} has no place on a log axis; draw it with linear spacing")
    if first == last:
        around = 0.5 * max(first, 1e-9)
        return Axis(label=label, low=first - around, high=last + around, ticks=(first,), counts=True)
    scale = spacing or spacing_of(times)
    return Axis(label=label, low=first, high=last, scale=scale, counts=True, most=4 if narrow else 6)


def share_axis(label: str) -> Axis:
    """A vertical axis from 0 to 1 with pale rules."""
    return Axis(label=label, low=0, high=1, ticks=(0, 0.2, 0.4, 0.6, 0.8, 1), grid=True)


def row_axis(rows: int, *, hills: bool = True) -> Axis:
    """A vertical axis, not to be seen, of rows from top to bottom; hills need more room above than below."""
    return Axis(low=rows - (0.6 if hills else 0.4), high=-0.95 if hills else -0.6, hidden=True)


def budget_limits(arrays: Iterable[ArrayLike], spacing: Spacing) -> FloatArray:
    """(2,) the smallest and the largest finite number, to lay out a budget axis.

    Raises:
        ValueError: If there is none, or one is not positive on a log axis.
    """
    at = np.concatenate([np.empty(0), *(np.ravel(np.asarray(array, dtype=np.float64)) for array in arrays)])
    at = at[np.isfinite(at)]
    if not at.size:
        raise ValueError("no budget is given, so the axis has no limits; give `limits`")
    if spacing == "log" and at.min() <= 0:
        raise ValueError(f"budget {at.min():g} has no place on a log axis; draw it with linear spacing")
    return np.array([at.min(), at.max()])


def named(names: Collection[str], order: Sequence[str] | None, what: str) -> tuple[str, ...]:
    """All names in the order in which colours are dealt.

    Raises:
        ValueError: If there is no name, or one is missing in `order`.
    """
    if not names:
        raise ValueError(f"there is no {what} to draw")
    dealt = tuple(order or names)
    unknown = [name for name in names if name not in dealt]
    if unknown:
        raise ValueError(f"{unknown} are not in the order {list(dealt)}; name every algorithm there")
    return dealt


def arrays_of(given: Mapping[str, ArrayLike], shape: tuple[int, ...], what: str) -> dict[str, FloatArray]:
    """The arrays as floats.

    Raises:
        ValueError: If one has another shape; the message says which.
    """
    arrays = {name: np.asarray(array, dtype=np.float64) for name, array in given.items()}
    for name, array in arrays.items():
        if array.shape != shape:
            raise ValueError(f"{what} of {name!r} has shape {array.shape}; expected {shape}")
    return arrays


def increasing(given: ArrayLike, what: str) -> FloatArray:
    """(k,) numbers as floats.

    Raises:
        ValueError: If they are not a strictly increasing, finite sequence of at least one.
    """
    at = np.asarray(given, dtype=np.float64)
    if at.ndim != 1 or not at.size or not np.isfinite(at).all() or (np.diff(at) <= 0).any():
        raise ValueError(f"{what} have to be finite and strictly increasing, at least one; got shape {at.shape}: {at}")
    return at


def tall(width: float, names: int) -> float:
    """A height in inches with room for as many names at the right."""
    return max(0.52 * min(width, WIDE), 2.2, 0.14 * names + 0.8)


def end_labels(ends: Iterable[tuple[float, float, str, str]]) -> Iterator[EndLabel]:
    """Names of lines that end at (x, y): x, y, text, algorithm."""
    return (EndLabel(x=x, y=y, text=shown(text), algorithm=name) for x, y, text, name in ends)


def last_known(x: FloatArray, y: FloatArray) -> tuple[float, float] | None:
    """Where a line ends: its last point with a finite height; None if it has none."""
    known = np.flatnonzero(np.isfinite(y) & np.isfinite(x))
    return (float(x[known[-1]]), float(y[known[-1]])) if known.size else None


def missing(names: Sequence[str]) -> tuple[Label, ...]:
    """A note above the panel on which names have nothing to draw."""
    if not names:
        return ()
    said = ", ".join(shown(name, 18) for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return (Label(name="no-data", text=f"no data: {said}", shift=(0, 3), ends=True, color=MUTED),)


def markers_of(look: Look, index: int) -> Markers | None:
    """Markers along a line, at equal distances on paper, where its look has one."""
    if not look.marker:
        return None
    return Markers(look.marker, apart=(0.03 + 0.015 * (index % 5), 0.12))


def checked(algorithms: Sequence[str] | None, names: Sequence[str]) -> tuple[str, ...]:
    """The names to show; ValueError if one is not among `names`."""
    chosen = tuple(names if algorithms is None else algorithms)
    unknown = [name for name in chosen if name not in names]
    if unknown or not chosen:
        raise ValueError(f"algorithms {unknown or '[]'} are not among the posterior's {', '.join(names)}")
    return chosen

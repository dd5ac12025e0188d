"""Axes of values and of shares, lines that end before the axis does, and names of what has no data."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import XAxis
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from polarbear.figures.style import (
    MICRO,
    MUTED,
    RULE,
    SMALL,
    WIDE,
    Look,
    Spacing,
    compact,
    end_labels,
    few_log_ticks,
    figure_of,
    literal,
)
from polarbear.records import FloatArray

CROWD = 8
"""With more algorithms than this, figures leave out what would only cover the lines."""
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

    def apply(self, ax: Axes, which: str, label: str, *, reverse: bool = False) -> None:
        """Set scale, limits, ticks and label of the "x" or the "y" axis; `reverse` has large numbers first."""
        axis = ax.xaxis if which == "x" else ax.yaxis
        limits = (self.high, self.low) if reverse else (self.low, self.high)
        if isinstance(axis, XAxis):
            ax.set_xscale("log" if self.log else "linear")
            ax.set_xlim(*limits)
            ax.set_xlabel(label)
        else:
            ax.set_yscale("log" if self.log else "linear")
            ax.set_ylim(*limits)
            ax.set_ylabel(label)
        if not self.log:
            axis.set_major_locator(MaxNLocator(5))
            return
        major, minor, labels = self.ticks()
        axis.set_major_locator(FixedLocator(major))
        axis.set_major_formatter(FixedFormatter(labels))
        axis.set_minor_locator(FixedLocator(minor))
        axis.set_minor_formatter(NullFormatter())

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


def share_axis(ax: Axes, label: str) -> None:
    """A vertical axis from 0 to 1 with pale rules."""
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 0.2, 0.4, 0.6, 0.8, 1])
    ax.grid(axis="y", color=RULE, linewidth=0.5)
    ax.set_ylabel(label)


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


def line_ends(
    ax: Axes,
    ends: Sequence[tuple[float, float, str, Look]],
) -> None:
    """Names at the right of lines that end at (x, y); a dotted line leads there from one that ends early.

    Args:
        ax: Axes whose limits are final.
        ends: Last x and y of each line in data units, what to write, look.
    """
    right = ax.get_xlim()[1]
    inside = ax.transData + ax.transAxes.inverted()
    for x, y, _, look in ends:
        if inside.transform((x, y))[0] < 0.995:
            ax.plot([x, right], [y, y], color=look.color, linewidth=0.6, linestyle=(0, (1, 2)), zorder=1.5, gid="lead")
    narrow = figure_of(ax).get_figwidth() < 5
    labels = [(y, text, look, False) for _, y, text, look in ends]
    end_labels(ax, labels, SMALL - 0.5 if narrow else SMALL)


def last_known(x: FloatArray, y: FloatArray) -> tuple[float, float] | None:
    """Where a line ends: its last point with a finite height; None if it has none."""
    known = np.flatnonzero(np.isfinite(y) & np.isfinite(x))
    return (float(x[known[-1]]), float(y[known[-1]])) if known.size else None


def note_missing(ax: Axes, names: Sequence[str]) -> None:
    """Say above the axes, at the right, which names have nothing to draw."""
    if not names:
        return
    shown = ", ".join(literal(name, 18) for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    ax.annotate(
        f"no data: {shown}{more}",
        (1, 1),
        xycoords="axes fraction",
        xytext=(0, 3),
        textcoords="offset points",
        ha="right",
        fontsize=MICRO,
        color=MUTED,
        gid="no-data",
    )


def mark_every(look: Look, index: int) -> dict[str, Any]:
    """Properties of the markers along a line, at equal distances on paper, where its look has one."""
    if not look.marker:
        return {}
    return {
        "marker": look.marker,
        "markersize": 3.5,
        "markeredgewidth": 0,
        "markevery": (0.03 + 0.015 * (index % 5), 0.12),
    }

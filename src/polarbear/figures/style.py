"""The common look of all figures: colours, sizes, names and numbers as text. Independent of any plotting library."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.descriptions import printable
from polarbear.records import FloatArray

Spacing = Literal["log", "linear"]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#882255", "#332288")
"""Six colours of Okabe and Ito (2008) and two of Tol (2021) instead of their yellow and black: yellow is lost on white
paper and black is needed for other marks. Any two differ by ΔE ≥ 16 (CIE 1976) under every kind of colour blindness."""
MARKERS = ("", "o", "^", "s", "v")
"""From the ninth algorithm on, colours repeat and are distinguished by markers along the line."""
INK, MUTED, RULE, SURFACE = "#222222", "#5F6368", "#D9DCE0", "#FFFFFF"
SHADES = ("#DCE9F2", "#8FBBD9", "#3C82B5", "#124A7D", "#08264A")
"""Sequential colours, from little to much."""
DIVERGING = ("#004C8C", "#7FB2DA", "#F7F7F7", "#F0A97F", "#9C3D00")
"""Diverging colours: blue below the centre, orange above."""
WIDE = 7.2
"""Figure width in inches: two columns of a paper."""
MICRO, SMALL, BODY = 6.5, 7.5, 8.5
FAINT = "#9AA0A6"
"""Grey of algorithms without a colour of their own."""
CROWD = 8
"""With more algorithms than this, figures leave out whatever would cover the lines."""
QUARTILES = (0.25, 0.5, 0.75)
_COLOR = re.compile(r"#[0-9A-Fa-f]{6}")


@dataclass(frozen=True, slots=True)
class Look:
    """How an algorithm is drawn, the same in every figure of a report; without a name unless it is `named`."""

    color: str
    marker: str
    named: bool = True

    @property
    def ink(self) -> str:
        """The colour, darkened until text in it is readable on white (contrast ≥ 4.5, WCAG 2.2)."""
        return readable(self.color)


_CHOSEN: ContextVar[Mapping[str, Look]] = ContextVar("looks of algorithms")


def chosen_looks() -> Mapping[str, Look]:
    """The looks set by `drawn_as`."""
    return _CHOSEN.get({})


@contextmanager
def drawn_as(chosen: Mapping[str, Look]) -> Generator[None]:
    """Context in which all figures use these looks, whatever the positions of the algorithms."""
    token = _CHOSEN.set({**chosen_looks(), **chosen})
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def looks(names: Sequence[str], everyone: Sequence[str] = ()) -> dict[str, Look]:
    """The look of every algorithm, by its position in `names`; pass the same names in the same order to all figures.

    Algorithms of `everyone` that are not among `names` are grey and without a name. `drawn_as` takes precedence.
    """
    faint, chosen = {name: Look(FAINT, "", named=False) for name in everyone}, chosen_looks()
    return faint | {
        name: chosen.get(name, Look(PALETTE[index % len(PALETTE)], MARKERS[index // len(PALETTE) % len(MARKERS)]))
        for index, name in enumerate(names)
    }


def looks_for(names: Collection[str], order: Sequence[str] | None, what: str) -> dict[str, Look]:
    """The look of every algorithm, by its position in `order`, by default in `names`.

    Raises:
        ValueError: If there is no name, or one is missing from `order`.
    """
    if not names:
        raise ValueError(f"there is no {what} to draw")
    everyone = tuple(order or names)
    unknown = [name for name in names if name not in everyone]
    if unknown:
        raise ValueError(f"order is {list(everyone)}; it must name every algorithm, but lacks {unknown}")
    return looks(everyone)


def rgb_of(color: str) -> FloatArray:
    """(3,) red, green and blue of a colour such as ``"#0072B2"``, from 0 to 1."""
    return np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)], dtype=np.float64) / 255


def hex_of(rgb: FloatArray) -> str:
    """The colour with these red, green and blue parts, from 0 to 1."""
    return "#" + "".join(f"{round(float(part) * 255):02x}" for part in rgb)


def color_of(text: str) -> str:
    """The text, if it is a colour.

    Raises:
        ValueError: If it is not.
    """
    if not _COLOR.fullmatch(text):
        raise ValueError(f"{text!r} is not a colour; it must be '#' and six hexadecimal digits, such as '#0072B2'")
    return text


def readable(color: str) -> str:
    """`color`, darkened until its contrast to white reaches 4.5."""
    rgb = rgb_of(color)
    while contrast(hex_of(rgb), SURFACE) < 4.5:
        rgb = rgb * 0.96
    return hex_of(rgb)


def pale(color: str, strength: float) -> str:
    """`color` mixed with white; strength 1 is the colour itself, 0 white."""
    return hex_of(1 - strength * (1 - rgb_of(color)))


def blend(stops: Sequence[str], position: float) -> str:
    """The colour at a position from 0 to 1 along equidistant colours."""
    at, channels = np.linspace(0, 1, len(stops)), zip(*map(rgb_of, stops), strict=True)
    return hex_of(np.array([np.interp(position, at, channel) for channel in channels]))


def shortened(name: str, longest: int = 26) -> str:
    """A long name with its middle left out."""
    if len(name) <= longest:
        return name
    head = (longest - 1) * 2 // 3
    return f"{name[:head]}…{name[head + 1 - longest :]}"


def shown(name: str, longest: int = 26) -> str:
    """A name as figures show it: without control characters, and with the middle left out if it is long."""
    return shortened(printable(name), longest)


def literal(text: str) -> str:
    """The text with its dollar signs, which otherwise enclose mathematics, escaped."""
    return text.replace("$", r"\$")


def spacing_of(times: ArrayLike) -> Spacing:
    """The scale, log or linear, on which timepoints are spaced more evenly."""
    at = floats(times)
    if at.size < 3 or at[0] <= 0:
        return "linear"
    linear, log = np.diff(at), np.diff(np.log(at))
    return "log" if log.std() / log.mean() < linear.std() / linear.mean() else "linear"


def compact(value: float) -> str:
    """A number in few characters, such as 4,500, 250k, 1.25M."""
    for size, unit, suffix in ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e5, 1e3, "k")):
        if abs(value) >= size:
            return f"{value / unit:.3g}{suffix}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def brief(value: float) -> str:
    """A number with one to three significant digits in about four characters, such as 0.83, 1.2, 120, 3e4, ∞."""
    size = abs(value)
    if np.isinf(value):
        text = "∞"
    elif value == 0:
        text = "0"
    elif size < 0.00995 or size >= 999.5:
        mantissa, exponent = f"{size:.0e}".split("e")
        text = f"{mantissa}e{int(exponent)}".replace("-", "−")
    elif size < 0.995:
        text = f"{size:.2f}"
    else:
        text = f"{size:.1f}" if size < 9.95 else f"{size:.0f}"
    return f"−{text}" if value < 0 else text


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two colours (WCAG 2.2), from 1 to 21."""
    dark, light = sorted((_luminance(rgb_of(first)), _luminance(rgb_of(second))))
    return (light + 0.05) / (dark + 0.05)


def _luminance(rgb: FloatArray) -> float:
    """The relative luminance of a colour (WCAG 2.2), from 0 to 1."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ np.array([0.2126, 0.7152, 0.0722]))

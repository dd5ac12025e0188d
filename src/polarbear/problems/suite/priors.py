"""Distributions of a single number, in the notation of table 3 of Wurth et al. (2026)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from numbers import Real
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

STANDARD = NormalDist()
LEAST_MASS = 1e-9
"""Smallest probability of an interval to which a distribution is truncated, for accuracy."""

EXAMPLES = "'N(240, 30)', 'LN(2, 1)', 'Cauchy(0, 1)', 'U(0, 1)', 'DU{32, ..., 128}', '1000 * Cauchy(0, 1)'"

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BASE = (
    rf"(?P<kind>N|LN|Cauchy|U|DU)\s*[({{]\s*(?P<first>{_NUMBER})\s*,(?:\s*\.\.\.\s*,)?\s*(?P<second>{_NUMBER})\s*[)}}]"
)
_SCALE = rf"(?:(?P<scale>{_NUMBER})\s*\*\s*)?"
_PLAIN = re.compile(rf"\s*{_SCALE}{_BASE}\s*")
_TRUNCATED = re.compile(
    rf"\s*{_SCALE}Trunc\s*\(\s*{_BASE}\s*;\s*\[\s*(?P<low>{_NUMBER})\s*,\s*(?P<high>{_NUMBER})\s*\]\s*\)\s*"
)


@dataclass(frozen=True, slots=True)
class Prior:
    """A distribution of a single number, or a fixed number.

    It is written ``N(mean, sd)``; ``LN(mean, sd)`` for the exponential of that; ``Cauchy(location, scale)``;
    ``U(low, high)``; ``DU{low, ..., high}`` for integers; ``Trunc(…; [low, high])`` for one of these conditioned on an
    interval (values outside are not moved to its ends: they do not occur); and with a factor in front,
    ``1000 * Cauchy(0, 1)``.

    Attributes:
        kind: ``"N"``, ``"LN"``, ``"Cauchy"``, ``"U"``, ``"DU"``, or ``"fixed"``.
        first: The first parameter, or the fixed number.
        second: The second parameter.
        low: The lower truncation point, before scaling.
        high: The upper truncation point, before scaling.
        scale: The factor in front, positive.
    """

    kind: str
    first: float
    second: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    scale: float = 1.0

    @classmethod
    def parse(cls, value: Any, name: str) -> Prior:
        """Read a distribution, or a number for a fixed one.

        Args:
            value: The notation, such as ``"Trunc(LN(1.1, 0.5); [2, 24])"`` or 3.
            name: The argument's name.

        Raises:
            TypeError: If `value` is neither a string nor a number.
            ValueError: If it is malformed, a parameter is impossible, or the interval has almost no probability.
        """
        if isinstance(value, Prior):
            return value
        if not isinstance(value, bool) and isinstance(value, Real):
            if not math.isfinite(value):
                raise ValueError(f"{name} is {value!r}; it must be finite")
            return cls("fixed", float(value))
        if not isinstance(value, str):
            raise TypeError(f"{name} is {value!r}; give a number, or a distribution such as {EXAMPLES}")
        match = _PLAIN.fullmatch(value) or _TRUNCATED.fullmatch(value)
        if not match:
            raise ValueError(
                f"{name} is {value!r}; distributions are written like {EXAMPLES}, or truncated as in "
                "'Trunc(LN(1.1, 0.5); [2, 24])'"
            )
        parameters = {group: float(text) for group, text in match.groupdict().items() if group != "kind" and text}
        prior = cls(match["kind"], **parameters)
        if fault := prior._fault():
            raise ValueError(f"{name} is {value!r}; {fault}")
        return prior

    def _fault(self) -> str:
        """A description of what is impossible about the parameters; empty if nothing is."""
        if self.kind in {"U", "DU"}:
            if self.second < self.first or (self.kind == "U" and self.second == self.first):
                return "the first number must be below the second"
        elif self.second <= 0:
            return "the second number must be positive"
        if self.kind == "DU" and not (self.first.is_integer() and self.second.is_integer()):
            return "DU takes whole numbers"
        if self.kind == "DU" and math.isfinite(self.low):
            return "write the smaller range instead of truncating DU"
        if self.scale <= 0:
            return "the factor must be positive"
        if self.low >= self.high or self._mass()[1] < LEAST_MASS:
            return "the interval is empty or has almost no probability"
        return ""

    def __str__(self) -> str:
        if self.kind == "fixed":
            return _text(self.first)
        first, second = _text(self.first), _text(self.second)
        text = f"DU{{{first}, ..., {second}}}" if self.kind == "DU" else f"{self.kind}({first}, {second})"
        if math.isfinite(self.low):
            text = f"Trunc({text}; [{_text(self.low)}, {_text(self.high)}])"
        return text if self.scale == 1 else f"{_text(self.scale)} * {text}"

    @property
    def written(self) -> str | float:
        """The notation in settings: the number if it is fixed, else the string that `parse` reads."""
        if self.kind != "fixed":
            return str(self)
        return int(self.first) if self.first.is_integer() else self.first

    @property
    def support(self) -> tuple[float, float]:
        """The smallest and the largest value, possibly infinite."""
        if self.kind == "fixed":
            return self.first, self.first
        least = {"LN": 0.0, "U": self.first, "DU": self.first}.get(self.kind, -math.inf)
        greatest = self.second if self.kind in {"U", "DU"} else math.inf
        return self.scale * max(least, self.low), self.scale * min(greatest, self.high)

    def below(self, x: float) -> float:
        """The probability P(X < x)."""
        if self.kind == "fixed":
            return float(self.first < x)
        begin, mass = self._mass()
        return min(max((self._base_below(x / self.scale) - begin) / mass, 0.0), 1.0)

    def quantile(self, u: float) -> float:
        """The u-quantile, 0 < u < 1."""
        if self.kind == "fixed":
            return self.first
        begin, mass = self._mass()
        return self.scale * min(max(self._base_quantile(begin + u * mass), self.low), self.high)

    def draw(self, rng: np.random.Generator) -> float:
        """Draw one value."""
        return self.quantile(max(rng.random(), 2.0**-54))

    def _mass(self) -> tuple[float, float]:
        """The probabilities below and inside the interval, before truncation."""
        begin = self._base_below(self.low) if math.isfinite(self.low) else 0.0
        end = self._base_below(self.high) if math.isfinite(self.high) else 1.0
        return begin, end - begin

    def _base_below(self, x: float) -> float:
        """The probability P(X < x) before truncation and scaling."""
        first, second = self.first, self.second
        if self.kind == "U":
            return min(max((x - first) / (second - first), 0.0), 1.0)
        if self.kind == "DU":
            return min(max((math.ceil(x) - first) / (second - first + 1), 0.0), 1.0)
        if self.kind == "Cauchy":
            return 0.5 + math.atan((x - first) / second) / math.pi
        if self.kind == "LN":
            return NormalDist(first, second).cdf(math.log(x)) if x > 0 else 0.0
        return NormalDist(first, second).cdf(x)

    def _base_quantile(self, u: float) -> float:
        """The quantile before truncation and scaling."""
        first, second = self.first, self.second
        if self.kind == "U":
            return first + u * (second - first)
        if self.kind == "DU":
            return first + math.floor(u * (second - first + 1))
        if self.kind == "Cauchy":
            return first + second * math.tan(math.pi * (u - 0.5))
        normal = NormalDist(first, second).inv_cdf(min(max(u, 2.0**-54), 1 - 2.0**-53))
        return math.exp(normal) if self.kind == "LN" else normal


def _text(x: float) -> str:
    return str(int(x)) if x.is_integer() and abs(x) < 1e15 else repr(x)

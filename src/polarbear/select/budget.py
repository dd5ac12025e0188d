"""Budgets as users write them: "300", "100..1000", "normal(300, 50)", "log-uniform", "1000*d"."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol, runtime_checkable

import numpy as np

from polarbear.descriptions import did_you_mean
from polarbear.quantities import plural
from polarbear.records import FloatArray
from polarbear.validation import parse_number, real_number

NAMED = ("uniform", "log-uniform", "final", "worst")
"""Names of preferences."""

FORMS = "300, 1000*d, 100..1000, uniform(100, 1000), log-uniform(100, 1000), normal(300, 50), lognormal(300, 0.5)"
"""Examples of budgets as text, for help and messages."""

_PARAMETERS = {
    "uniform": "the ends of a range, as in uniform(100, 1000)",
    "log-uniform": "the ends of a range, as in log-uniform(100, 1000)",
    "loguniform": "the ends of a range, as in loguniform(100, 1000)",
    "normal": "the mean and the standard deviation, as in normal(300, 50)",
    "lognormal": "the median and the standard deviation of the logarithm, as in lognormal(300, 0.5)",
}
"""Descriptions of the two parameters of each distribution."""

_CALL = re.compile(r"([a-z][a-z-]*)\s*\((.*)\)", re.IGNORECASE)


@runtime_checkable
class BudgetDistribution(Protocol):
    """A continuous distribution of the budget, such as a frozen one of `scipy.stats`."""

    def cdf(self, x: FloatArray, /) -> FloatArray:
        """P(budget ≤ x)."""
        ...


@dataclass(frozen=True, slots=True)
class BudgetRange:
    """A distribution of the budget between `low` and `high`, inclusive.

    Attributes:
        low: The smallest budget.
        high: The largest budget.
        logarithmic: Whether every order of magnitude is equally probable, w(t) = 1/t; otherwise every budget is.

    Raises:
        FieldError: If an end is not positive and finite, or `low` is not below `high`.
    """

    low: float
    high: float
    logarithmic: bool = False

    def __post_init__(self) -> None:
        low, high = real_number(self.low, "low", gt=0), real_number(self.high, "high", gt=0)
        if not low < high:
            raise ValueError(f"the range of budgets {low:g}..{high:g} is empty; give the smaller budget first")

    def cdf(self, x: FloatArray, /) -> FloatArray:
        """P(budget ≤ x)."""
        inside = np.clip(x, self.low, self.high)
        if self.logarithmic:
            return np.log(inside / self.low) / np.log(self.high / self.low)
        return (inside - self.low) / (self.high - self.low)

    def __str__(self) -> str:
        return f"log-uniform({self.low:g}, {self.high:g})" if self.logarithmic else f"{self.low:g}..{self.high:g}"


def parse_budget(text: str, dimension: int | None = None) -> str | float | BudgetRange | BudgetDistribution:
    """Parse a preference over budgets.

    - ``"uniform"``, ``"log-uniform"``, ``"final"`` and ``"worst"`` are returned as they are; see
      `polarbear.select.Preference`;
    - ``"300"`` is a number; ``"100..1000"`` and ``"uniform(100, 1000)"`` are ranges; in ``"log-uniform(100, 1000)"``
      orders of magnitude count equally;
    - ``"normal(300, 50)"`` has mean and standard deviation; ``"lognormal(300, 0.5)"`` has the median, and the standard
      deviation of the logarithm.

    Every number may be a multiple of the dimension, such as ``"1000*d"``.

    Args:
        text: The preference as text.
        dimension: The problems' number of variables, if all have the same.

    Raises:
        ValueError: If the text is not a budget, or needs the dimension and that is not given.
    """
    said = text.strip()
    if said in NAMED:
        return said
    if ".." in said:
        low, high = said.split("..", 1)
        return BudgetRange(parse_number(low, dimension), parse_number(high, dimension))
    if call := _CALL.fullmatch(said):
        return _distribution(call[1].lower(), [parse_number(number, dimension) for number in call[2].split(",")], said)
    if said[:1].isalpha():
        raise ValueError(
            f"budget {said!r} is unknown; choose one of {', '.join(NAMED)}, or give a budget such as {FORMS}"
        )
    return parse_number(said, dimension)


def _distribution(name: str, numbers: list[float], said: str) -> BudgetRange | BudgetDistribution:
    """The named distribution with two parameters."""

    def frozen(family: str, *parameters: float, **scale: float) -> BudgetDistribution:
        from scipy import stats

        return getattr(stats, family)(*parameters, **scale)

    made: dict[str, Callable[[float, float], BudgetRange | BudgetDistribution]] = {
        "uniform": BudgetRange,
        "log-uniform": lambda low, high: BudgetRange(low, high, logarithmic=True),
        "loguniform": lambda low, high: BudgetRange(low, high, logarithmic=True),
        "normal": lambda mean, deviation: frozen("norm", mean, deviation),
        "lognormal": lambda median, deviation: frozen("lognorm", deviation, scale=median),
    }
    if name not in made:
        raise ValueError(f"distribution {name!r} in {said!r} is unknown;{did_you_mean(name, made)}")
    if len(numbers) != 2:
        raise ValueError(f"{said!r} has {plural(numbers, 'parameter')}; {name} needs two, {_PARAMETERS[name]}")
    return made[name](*numbers)


def budget_name(preference: Any) -> str:
    """A preference in a few words, such as ``"log-uniform"``, ``"100..1000"``, ``"norm(300, 50)"``, ``"weights"``."""
    if isinstance(preference, str | BudgetRange):
        return str(preference)
    if hasattr(preference, "dist"):  # a frozen distribution of SciPy
        given = [f"{value:g}" for value in preference.args]
        given += [f"{name}={value:g}" for name, value in preference.kwds.items()]
        return f"{preference.dist.name}({', '.join(given)})"
    if isinstance(preference, Real):
        return f"{float(preference):g}"
    return type(preference).__name__ if callable(preference) or hasattr(preference, "cdf") else "weights"

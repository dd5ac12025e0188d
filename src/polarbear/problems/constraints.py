"""Constraints of a user's own function."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from polarbear.descriptions import did_you_mean, imported
from polarbear.problems.arguments import real_number, set_fields
from polarbear.problems.evaluation import one_number

if TYPE_CHECKING:
    from polarbear.records import FloatArray

KINDS = ("hard", "soft", "told")


@dataclass(frozen=True)
class Constraint:
    """g(x) <= 0, and what follows where it does not hold (Vermetten 2025, section 3.1.1).

    A hard constraint makes the objective value the worst there is, and the objective is not evaluated; a soft one adds
    the penalty weight · g(x)^exponent; one that is told leaves the value alone, and the optimizer learns g(x) by
    ``problem.constraints(x)``. An equality h(x) = 0 is written as the absolute value of h(x) less a tolerance.

    Attributes:
        function: g, called with a (d,) point, or where to import it from, ``"module:function"``. NaN makes the
            objective NaN.
        kind: ``"hard"``, ``"soft"`` or ``"told"``.
        weight: Of the penalty of a soft constraint, at least 0.
        exponent: Of the penalty of a soft constraint, above 0.

    Raises:
        TypeError: If the function cannot be called, or the weight or the exponent is no number.
        ValueError: If the kind is unknown or a number out of its range.
    """

    function: Callable[[FloatArray], float] | str
    kind: Literal["hard", "soft", "told"] = "hard"
    weight: float = 1.0
    exponent: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.function, str):
            set_fields(self, function=imported(self.function, "the function of a constraint"))
        if not callable(self.function):
            raise TypeError(f"the function of a constraint is {self.function!r}, which cannot be called")
        if self.kind not in KINDS:
            raise ValueError(f"the kind of a constraint is {self.kind!r};{did_you_mean(str(self.kind), KINDS)}")
        for name in ("weight", "exponent"):
            set_fields(self, **{name: real_number(getattr(self, name), f"the {name} of a constraint")})
        if self.weight < 0 or self.exponent <= 0:
            raise ValueError(
                f"a constraint has weight {self.weight!r} and exponent {self.exponent!r}; the weight must be at least "
                "0 and the exponent above 0"
            )

    def __call__(self, x: FloatArray) -> float:
        """g(x); TypeError if the function returns no real number."""
        function: Any = self.function
        return one_number(function(x), f"the constraint {getattr(function, '__name__', repr(function))}")


def constraints_of(given: Any) -> tuple[Constraint, ...]:
    """The constraints a user wrote: `Constraint`s, tables of their fields, or functions for hard ones."""
    listed: Sequence[Any] = cast("Sequence[Any]", given) if isinstance(given, (list, tuple)) else (given,)
    return tuple(map(_constraint, listed))


def _constraint(given: Any) -> Constraint:
    if isinstance(given, Constraint):
        return given
    if not isinstance(given, Mapping):
        return Constraint(given)
    fields = dict(cast("Mapping[str, Any]", given))
    valid = [field.name for field in dataclasses.fields(Constraint)]
    for name in fields:
        if name not in valid:
            raise ValueError(f"a constraint has no field {name!r};{did_you_mean(name, valid)}")
    if "function" not in fields:
        raise ValueError(f"the constraint {fields!r} names no function")
    return Constraint(**fields)


def penalty(constraints: Sequence[Constraint], x: FloatArray) -> float:
    """What constraints add to a minimized objective at a (d,) point: inf where a hard one is violated."""
    total = 0.0
    for constraint in constraints:
        excess = constraint(x)
        if excess != excess:  # NaN
            return excess
        if excess > 0:
            total += np.inf if constraint.kind == "hard" else constraint.weight * excess**constraint.exponent
    return total

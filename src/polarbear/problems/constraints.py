"""Constraints of a user's own function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np

from polarbear.descriptions import FieldTypeError, check_runs_when_called, errors_at, imported, made
from polarbear.problems.evaluation import as_points, one_number
from polarbear.records import FloatArray
from polarbear.validation import Checked, real, settings

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _callable(value: Any, name: str) -> Callable[..., Any]:
    function = imported(value, name) if isinstance(value, str) else value
    if not callable(function):
        raise FieldTypeError((name,), f"{name} is {function!r}, which cannot be called")
    check_runs_when_called(function, name)
    return function


@settings
class Constraint:
    """g(x) <= 0, and what follows where it does not hold (Vermetten 2025, section 3.1.1).

    A hard constraint makes the objective value the worst there is, and the objective is not evaluated; a soft one adds
    the penalty weight · g(x)^exponent; one that is told leaves the value alone, and the optimizer learns g(x) by
    ``problem.constraints(x)``. An equality h(x) = 0 is written as the absolute value of h(x) less a tolerance.

    Attributes:
        function: g, called with one (d,) point at a time, or where to import it from, ``"module:function"``. NaN makes
            the objective NaN.
        kind: ``"hard"``, ``"soft"`` or ``"told"``.
        weight: Of the penalty of a soft constraint, at least 0.
        exponent: Of the penalty of a soft constraint, above 0.

    Raises:
        TypeError: If the function cannot be called, or is a generator or async function; or if the weight or the
            exponent is no number.
        ValueError: If the kind is unknown or a number out of its range.
    """

    function: Annotated[Callable[[FloatArray], float] | str, Checked(_callable)]
    kind: Literal["hard", "soft", "told"] = "hard"
    weight: Annotated[float, real(ge=0)] = 1.0
    exponent: Annotated[float, real(gt=0)] = 1.0

    def __call__(self, x: FloatArray) -> float:
        """g(x); TypeError if the function returns no real number. A note at its own errors names it."""
        function: Any = self.function
        who = f"the constraint {getattr(function, '__name__', repr(function))}"
        try:
            value = function(x)
        except Exception as error:
            error.add_note(f"in {who}, called with one point, an array of shape {np.shape(x)}")
            raise
        return one_number(value, who)


class Constraints(tuple[Constraint, ...]):
    """The constraints of one function; called with points, they give g(x) of those that are told.

    Attributes:
        dimension: Number of variables d.
        integers: (d,) which variables are rounded first, or None if none is.
    """

    dimension: int
    integers: NDArray[np.bool_] | None

    @property
    def told(self) -> tuple[Constraint, ...]:
        """Those that optimizers are told."""
        return tuple(constraint for constraint in self if constraint.kind == "told")

    @property
    def imposed(self) -> tuple[Constraint, ...]:
        """Those that change the objective."""
        return tuple(constraint for constraint in self if constraint.kind != "told")

    def __call__(self, x: Any) -> FloatArray:
        """g(x) of the c constraints that are told: (d,) -> (c,), or (m, d) -> (m, c).

        Raises:
            TypeError: If `x` does not hold real numbers, or a constraint returns no real number.
            ValueError: If `x` has the wrong shape or holds NaN.
        """
        points = rounded(as_points(x, self.dimension, "constraints"), self.integers)
        if points.ndim == 1:
            return np.array([constraint(points) for constraint in self.told], dtype=np.float64)
        return np.array([self(point) for point in points], dtype=np.float64).reshape(len(points), len(self.told))


def rounded(points: FloatArray, integers: NDArray[np.bool_] | None) -> FloatArray:
    """Points (d,) or (m, d) with the variables rounded that are whole numbers."""
    return points if integers is None else np.where(integers, np.rint(points), points)


def constraints_of(given: Any, dimension: int, integers: NDArray[np.bool_] | None) -> Constraints:
    """The constraints a user wrote: `Constraint`s, tables of their fields, or functions for hard ones.

    Args:
        given: One or several of these.
        dimension: The problem's number of variables d.
        integers: (d,) which variables are whole numbers, or None if none is.
    """
    several: Sequence[Any] = cast("Sequence[Any]", given) if isinstance(given, (list, tuple)) else (given,)
    constraints: list[Constraint] = []
    for position, entry in enumerate(several):
        with errors_at("constraints", position):
            fields = cast("Mapping[str, Any]", entry) if isinstance(entry, Mapping) else {"function": entry}
            constraints.append(entry if isinstance(entry, Constraint) else made(Constraint, fields, "a constraint"))
    result = Constraints(constraints)
    result.dimension, result.integers = dimension, integers
    return result


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

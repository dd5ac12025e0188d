"""Constraints of functions, and problems whose constraints are observed by optimizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import numpy as np

from polarbear.descriptions import FieldTypeError, check_runs_when_called, errors_at, imported, made
from polarbear.problems.evaluation import BuiltProblem, PointwiseTrial, as_points, evaluated_in_turn, one_number
from polarbear.records import FloatArray
from polarbear.validation import Checked, real, settings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polarbear.protocols import ProblemSpec, Traits


def called_function(value: Any, name: str) -> Callable[..., Any]:
    """A function, given directly or by its import path ``"module:function"``; FieldTypeError if a call runs nothing."""
    function = imported(value, name) if isinstance(value, str) else value
    if not callable(function):
        raise FieldTypeError((name,), f"{name} is {function!r}, which cannot be called")
    check_runs_when_called(function, name)
    return function


@settings
class Constraint:
    """A constraint g(x) <= 0, and what happens where it is violated (Vermetten 2025, section 3.1.1).

    A violated hard constraint makes the objective value the worst there is, and the objective is not evaluated. A soft
    one adds the penalty weight · g(x)^exponent. A ``"told"`` one leaves the value unchanged; optimizers read g(x)
    from ``problem.constraints(x)``. An equality h(x) = 0 is written as the absolute value of h(x) minus a tolerance.

    Attributes:
        function: g, called with one (d,) point at a time, or its import path ``"module:function"``. NaN makes the
            objective NaN.
        kind: ``"hard"``, ``"soft"`` or ``"told"``.
        weight: The weight of a soft constraint's penalty, at least 0.
        exponent: The exponent of a soft constraint's penalty, above 0.

    Raises:
        FieldError: If the function cannot be called or is a generator or async function, the kind is unknown, or a
            number is out of range.
    """

    function: Annotated[Callable[[FloatArray], float] | str, Checked(called_function)]
    kind: Literal["hard", "soft", "told"] = "hard"
    weight: Annotated[float, real(ge=0)] = 1.0
    exponent: Annotated[float, real(gt=0)] = 1.0

    def __call__(self, x: FloatArray) -> float:
        """g(x); TypeError if the function does not return a real number. Its own errors get a note that names it."""
        function: Any = self.function
        label = f"the constraint {getattr(function, '__name__', repr(function))}"
        try:
            value = function(x)
        except Exception as error:
            error.add_note(f"in {label}, called with one point, an array of shape {np.shape(x)}")
            raise
        return one_number(value, label)


class Constraints(tuple[Constraint, ...]):
    """The constraints of one function; a call with points returns g(x) of those that are told.

    Attributes:
        dimension: Number of variables d.
        integers: (d,) mask of the variables that are rounded first; None if there are none.
    """

    dimension: int
    integers: NDArray[np.bool_] | None

    @property
    def told(self) -> tuple[Constraint, ...]:
        """The constraints that optimizers are told."""
        return tuple(constraint for constraint in self if constraint.kind == "told")

    @property
    def imposed(self) -> tuple[Constraint, ...]:
        """The constraints that change the objective."""
        return tuple(constraint for constraint in self if constraint.kind != "told")

    def __call__(self, x: Any) -> FloatArray:
        """g(x) of the c constraints that are told: (d,) -> (c,), or (m, d) -> (m, c).

        Raises:
            TypeError: If `x` does not hold real numbers, or a constraint does not return a real number.
            ValueError: If `x` has the wrong shape or contains NaN.
        """
        points = rounded(as_points(x, self.dimension, "constraints"), self.integers)
        constraints = self.told
        values = [[constraint(point) for constraint in constraints] for point in np.atleast_2d(points)]
        return np.array(values, dtype=np.float64).reshape(*points.shape[:-1], len(constraints))


def rounded(points: FloatArray, integers: NDArray[np.bool_] | None) -> FloatArray:
    """Points (d,) or (m, d) with their integer variables rounded."""
    return points if integers is None else np.where(integers, np.rint(points), points)


def constraints_of(given: Any, dimension: int, integers: NDArray[np.bool_] | None) -> Constraints:
    """The constraints that a user specified: `Constraint`s, tables of their fields, or functions for hard ones.

    Args:
        given: One or several of these specifications.
        dimension: The problem's number of variables d.
        integers: (d,) mask of the integer variables; None if there are none.
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
    """The penalty that constraints add to a minimized objective at a point (d,): inf if a hard one is violated."""
    total = 0.0
    for constraint in constraints:
        excess = constraint(x)
        if excess != excess:  # NaN
            return excess
        if excess > 0:
            total += np.inf if constraint.kind == "hard" else constraint.weight * excess**constraint.exponent
    return total


def constrained_value(value: float, constraints: FloatArray, optimum: float | None) -> float:
    """The value by which a run on a minimized problem is judged (Hansen et al. 2022, section III-A).

    Args:
        value: f(x).
        constraints: (c,) g(x), at most 0 where satisfied.
        optimum: The best value of a feasible point, f_opt; None if it is unknown.

    Returns:
        f_opt + max(f(x) - f_opt, 0) + Σ max(g_i(x), 0), in which all constraints have weight 1. Without f_opt, f(x) if
        all constraints are satisfied, otherwise +inf. NaN if f or a constraint is NaN.
    """
    if np.isnan(constraints).any():
        return np.nan
    violation = float(constraints[constraints > 0].sum())
    if optimum is None:
        return np.inf if violation and value == value else value
    return (optimum if value < optimum else value) + violation


class ConstrainedTrial(PointwiseTrial):
    """One run's view of a problem with constraints: f(x) is observed, and `constrained_value` judges the run.

    `constraints` returns g(x) of the point evaluated last without computing it again.
    """

    __slots__ = ("_constraints", "_last", "_objective", "_optimum")

    def __init__(
        self,
        objective: Callable[[FloatArray], float],
        constraints: Callable[[FloatArray], FloatArray],
        optimum: float | None,
    ) -> None:
        """Start from f: (d,) -> float and g: (d,) -> (c,)."""
        self._objective, self._constraints, self._optimum = objective, constraints, optimum
        self._last: tuple[FloatArray, FloatArray] | None = None

    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """Evaluate one point (d,): f(x), and the value by which the run is judged."""
        value, constraints = self._objective(x), self._constraints(x)
        self._last = x.copy(), constraints
        return value, constrained_value(value, constraints, self._optimum)

    def constraints(self, x: FloatArray, /) -> FloatArray:
        """(c,) g(x): at most 0 where x is feasible."""
        if self._last is not None and np.array_equal(self._last[0], x):
            return self._last[1].copy()
        return self._constraints(x)


class ConstrainedProblem(BuiltProblem):
    """A built problem with constraints; its value is f(x) alone, feasible or not.

    Attributes:
        spec, raw, bounds, optimum, traits: See `BuiltProblem`.
        constraints: (d,) -> (c,) g(x), at most 0 where x is feasible.
    """

    __slots__ = ("constraints",)

    def __init__(
        self,
        spec: ProblemSpec,
        raw: Callable[[FloatArray], float],
        constraints: Callable[[FloatArray], FloatArray],
        bounds: tuple[FloatArray, FloatArray],
        optimum: float | None,
        traits: Traits,
    ) -> None:
        """Combine f, g, the box and the best feasible value."""
        super().__init__(spec, raw, evaluated_in_turn(raw), bounds, optimum, traits=traits)
        self.constraints = constraints

    def trial(self, rng: np.random.Generator, /) -> ConstrainedTrial:  # noqa: ARG002
        """A new trial; it involves no randomness."""
        return ConstrainedTrial(self.raw, self.constraints, self.optimum)

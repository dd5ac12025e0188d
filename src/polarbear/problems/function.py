"""Python functions as problems."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.descriptions import FieldError, checked_name
from polarbear.problems.constraints import (
    ConstrainedProblem,
    Constraint,
    Constraints,
    called_function,
    constraints_of,
    penalty,
    rounded,
)
from polarbear.problems.evaluation import FLOAT64, Evaluation, as_points, one_number, read_only, unmasked
from polarbear.protocols import Traits
from polarbear.validation import flag, real_number, real_numbers, set_fields, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from polarbear.protocols import Problem
    from polarbear.records import FloatArray


@dataclass(frozen=True, eq=False, init=False)
class FunctionProblem(Evaluation):
    """A Python function over a box, which is specification and problem in one.

    The function is called with a (d,) float64 array and returns a number; with ``vectorized=True`` it is called
    with (m, d) and returns (m,). It must be picklable to be sent to worker processes. Optimizers that ignore bounds
    may call it outside the box. A NaN that it returns counts as the worst value and is reported.

    Attributes:
        function: The objective.
        lower: (d,) lower ends of the box.
        upper: (d,) upper ends of the box.
        dimension: Number of variables d.
        name: The instance's name; by default the function's name and dimension, such as ``"sphere-d5"``.
        optimum: The best objective value; None if it is unknown.
        minimize: Whether lower values are better.
        vectorized: Whether the function accepts batches.
        integers: (d,) mask of the integer variables, or None if there are none. Their bounds are whole numbers, and
            they are rounded before anything is evaluated.
        constraints: The constraints and what happens where they are violated; called with one (d,) point at a time,
            even if the function accepts batches. ``constraints(x)`` returns the values of those that are told.

    Raises:
        TypeError: If the function is not callable, or is a generator or async function.
        FieldError: If the bounds or the optimum are not finite numbers or do not fit the dimension, lower is not below
            upper, or bounds of integer variables are not whole.
        ValueError: If constraints are told of a function that is maximized.
    """

    function: Callable[[FloatArray], Any]
    lower: FloatArray
    upper: FloatArray
    dimension: int
    name: str
    optimum: float | None
    minimize: bool
    vectorized: bool
    integers: NDArray[np.bool_] | None
    constraints: Constraints

    def __init__(
        self,
        function: Callable[[FloatArray], Any] | str,
        lower: ArrayLike,
        upper: ArrayLike,
        dimension: int | None = None,
        name: str | None = None,
        optimum: float | None = None,
        minimize: bool = True,
        vectorized: bool = False,
        integers: ArrayLike | None = None,
        constraints: Any = (),
    ) -> None:
        """Describe the problem; `lower` and `upper` may be single numbers for all variables, with a `dimension`.

        `function` may also be an import path ``"module:function"``; `integers` is true or false for all variables,
        or one value for each, or a list of indices; `constraints` are `Constraint`s, or functions for hard ones.
        """
        objective = called_function(function, "function")
        box = _box(lower, upper, dimension)
        whole = _whole(integers, box)
        label = getattr(objective, "__name__", type(objective).__name__)
        set_fields(
            self,
            function=objective,
            lower=read_only(box[0]),
            upper=read_only(box[1]),
            dimension=box.shape[1],
            name=checked_name(name or f"{label}-d{box.shape[1]}"),
            optimum=None if optimum is None else real_number(optimum, "optimum"),
            minimize=flag(minimize, "minimize"),
            vectorized=flag(vectorized, "vectorized"),
            integers=whole,
            constraints=constraints_of(constraints, box.shape[1], whole),
        )
        if self.traits.constraints and not self.minimize:
            raise ValueError(
                f"{self.name} is maximized and has constraints of the kind 'told'; minimize the negative value instead"
            )

    @cached_property
    def traits(self) -> Traits:
        """The integer variables, and the number of constraints that are told."""
        return Traits(self.integers, constraints=len(self.constraints.told))

    def raw(self, x: FloatArray) -> float:
        """Evaluate one (d,) point.

        Unlike `ioh`, a Python function may mistake a bad point for a good one, so all points are checked here.
        """
        if type(x) is not np.ndarray or x.dtype is not FLOAT64 or x.shape != self.lower.shape or np.isnan(x).any():
            x = as_points(x, self.dimension, self.name)
            if x.ndim != 1:
                raise ValueError(f"x has shape {x.shape}; raw takes one point of shape ({self.dimension},)")
        return self._evaluate(x)

    def _evaluate(self, point: FloatArray) -> float:
        if self._limited:
            return self._evaluate_limited(point)
        value = self.function(point[None, :] if self.vectorized else point)
        return value if type(value) is float else self._number(value)

    def _evaluate_limited(self, point: FloatArray) -> float:
        point, sign = rounded(point, self.integers), 1.0 if self.minimize else -1.0
        added = sign * penalty(self._imposed, point)
        if not math.isfinite(added):
            return added
        return self._number(self.function(point[None, :] if self.vectorized else point)) + added

    @cached_property
    def _imposed(self) -> tuple[Constraint, ...]:
        return self.constraints.imposed

    @cached_property
    def _limited(self) -> bool:
        return bool(self._imposed) or self.integers is not None

    def __call__(self, x: Any) -> Any:
        """Evaluate `x`: (d,) -> float, or (m, d) -> (m,) float64.

        Raises:
            TypeError: If `x` does not hold real numbers, or the function does not return a real number.
            ValueError: If `x` has the wrong shape or contains NaN.
        """
        points = as_points(x, self.dimension, self.name)
        return self._evaluate(points) if points.ndim == 1 else self.batch(points)

    def batch(self, points: FloatArray) -> FloatArray:
        """Evaluate (m, d) points -> (m,) float64."""
        if not self.vectorized:
            return np.array([self._evaluate(point) for point in points], dtype=np.float64)
        if not self._limited:
            return self._values(points)
        points, sign = rounded(points, self.integers), 1.0 if self.minimize else -1.0
        values = sign * np.array([penalty(self._imposed, point) for point in points], dtype=np.float64)
        possible = np.isfinite(values)
        if possible.any():
            values[possible] += self._values(points[possible])
        return values

    def _values(self, points: FloatArray) -> FloatArray:
        values = np.asarray(unmasked(self.function(points), f"{self.name}: the vectorized function"))
        if values.shape != (len(points),) or values.dtype.kind not in "fiub":
            raise TypeError(
                f"{self.name}: the vectorized function returned shape {values.shape} of {values.dtype} for "
                f"{len(points)} points; it must return one real number for each, shape ({len(points)},)"
            )
        return values.astype(np.float64)

    def build(self) -> Problem:
        """The problem itself; with constraints that are told, a problem that judges runs by them too."""
        if not self.traits.constraints:
            return self
        bounds = (self.lower, self.upper)
        return ConstrainedProblem(self, self.raw, self.constraints, bounds, self.optimum, self.traits)

    def _number(self, value: Any) -> float:
        return one_number(value, f"{self.name}: the function")

    def _arguments(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    def _identity(self) -> tuple[Any, ...]:
        return tuple(value.tobytes() if isinstance(value, np.ndarray) else value for value in self._arguments())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionProblem) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments()


def _whole(integers: ArrayLike | None, box: FloatArray) -> NDArray[np.bool_] | None:
    """(d,) mask of the integer variables, whose bounds must be whole numbers; None if there are none."""
    if integers is None:
        return None
    array = np.asarray(integers)
    d: int = box.shape[1]
    if array.dtype == np.bool_ and array.shape in {(), (d,)}:
        mask = np.array(np.broadcast_to(array, (d,)))
    elif array.ndim == 1 and (array.dtype.kind in "iu" or not array.size) and bool(((array >= 0) & (array < d)).all()):
        mask = np.isin(np.arange(d), array)
    else:
        valid = f"true or false, a list of {d} of these, or a list of indices from 0 to {d - 1}"
        raise FieldError(("integers",), f"integers is {integers!r}; give {valid}")
    for i, (low, high) in enumerate(box.T.tolist()):
        if mask[i]:
            _check_whole(i, low, high)
    mask.flags.writeable = False
    return mask if mask.any() else None


def _check_whole(i: int, low: float, high: float) -> None:
    """Raise a FieldError if the bounds of variable i are not whole."""
    if low.is_integer() and high.is_integer():
        return
    bound, value, nearest = ("lower", low, math.ceil(low)) if low % 1 else ("upper", high, math.floor(high))
    mend = f"give the nearest whole number inside the box, {nearest}"
    if math.ceil(low) >= math.floor(high):
        mend = f"there are fewer than two whole numbers from {low!r} to {high!r}; widen the box"
    message = f"{bound}[{i}] is {value!r}, but variable {i} takes whole numbers only (integers); {mend}"
    raise FieldError((bound,), message)


def _box(lower: ArrayLike, upper: ArrayLike, dimension: int | None) -> FloatArray:
    """(2, d) lower and upper bounds."""
    ends = {name: np.array(_numbers(end, name)) for name, end in (("lower", lower), ("upper", upper))}
    if dimension is None:
        if all(end.ndim == 0 for end in ends.values()):
            raise ValueError("lower and upper are single numbers; give the dimension as well (dimension=...)")
        dimension = max(end.size for end in ends.values())
    d = whole_number(dimension, "dimension", 1)
    for name, end in ends.items():
        if end.shape not in {(), (d,)}:
            raise FieldError((name,), f"{name} has shape {end.shape}; dimension {d} needs one number or shape ({d},)")
    box = np.stack([np.broadcast_to(end, (d,)) for end in ends.values()])
    if not (box[0] < box[1]).all():
        i = int(np.argmin(box[0] < box[1]))
        message = f"lower[{i}] is {box[0, i]:g} and upper[{i}] is {box[1, i]:g}; lower must be below upper"
        raise FieldError(("lower",), message)
    return box


def _numbers(value: Any, name: str) -> float | tuple[float, ...]:
    """One or several finite real numbers; strings and booleans are not accepted."""
    plain = np.asarray(value).tolist() if hasattr(value, "__array__") else value
    several = isinstance(plain, Sequence) and not isinstance(plain, str)
    return real_numbers(plain, name) if several else real_number(plain, name)

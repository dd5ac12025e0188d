"""Any Python function as a problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.descriptions import FieldError, check_runs_when_called, checked_name, imported
from polarbear.problems.constrained import ConstrainedProblem
from polarbear.problems.constraints import Constraint, Constraints, constraints_of, penalty, rounded
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
    """A Python function over a box: specification and problem in one.

    The function is called with a (d,) float64 array and returns a number; with ``vectorized=True`` it is called
    with (m, d) and returns (m,). It has to be picklable to travel to worker processes. It may be called outside
    the box by optimizers that ignore bounds. A NaN it returns counts as the worst value and is reported.

    Attributes:
        function: The objective.
        lower: (d,) lower ends of the box.
        upper: (d,) upper ends of the box.
        dimension: Number of variables d.
        name: The instance's name; by default the function's name and dimension, such as ``"sphere-d5"``.
        optimum: The best objective value, if it is known; else None.
        minimize: Whether low values are good.
        vectorized: Whether the function takes batches.
        integers: (d,) which variables are whole numbers, or None if none is; their bounds are whole, and they are
            rounded before anything is evaluated.
        constraints: What has to hold, and what follows where it does not; called with one (d,) point at a time, also
            where the function takes batches. ``constraints(x)`` gives the values of those that are told.

    Raises:
        TypeError: If the function is not callable, or is a generator or async function; or if the bounds or the optimum
            are not numbers.
        ValueError: If the bounds are not finite, do not fit the dimension, or lower is not below upper; if bounds of
            whole variables are not whole; or if constraints are told of a function that is maximized.
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
        """Describe the problem; `lower` and `upper` may be one number for all variables, with a `dimension`.

        `function` may also be a reference ``"module:function"`` to import it from; `integers` is true or false for all
        variables or one each, or a list of indices; `constraints` are `Constraint`s, or functions for hard ones.
        """
        objective = imported(function, "function") if isinstance(function, str) else function
        if not callable(objective):
            raise TypeError(f"function is {objective!r}, which cannot be called")
        check_runs_when_called(objective, "function")
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
            raise ValueError(f"{self.name} tells constraints and is maximized; minimize the negative value instead")

    @cached_property
    def traits(self) -> Traits:
        """Which variables are whole numbers, and how many constraints are told."""
        return Traits(self.integers, constraints=len(self.constraints.told))

    def raw(self, x: FloatArray) -> float:
        """Evaluate one (d,) point.

        Unlike `ioh`, a Python function may well take a bad point for a good one: so all is checked here.
        """
        if type(x) is not np.ndarray or x.dtype is not FLOAT64 or x.shape != self.lower.shape or np.isnan(x).any():
            return self._raw_unusual(x)
        return self._evaluate(x)

    def _raw_unusual(self, x: object) -> float:
        point = as_points(x, self.dimension, self.name)
        if point.ndim != 1:
            raise ValueError(f"x has shape {point.shape}; raw takes one point of {self.dimension} numbers")
        return self._evaluate(point)

    def _evaluate(self, point: FloatArray) -> float:
        if self._limited:
            return self._evaluate_limited(point)
        value = self.function(point[None, :] if self.vectorized else point)
        return value if type(value) is float else self._number(value)

    def _evaluate_limited(self, point: FloatArray) -> float:
        point, sign = rounded(point, self.integers), 1.0 if self.minimize else -1.0
        charge = penalty(self._imposed, point)
        if not np.isfinite(charge):
            return sign * charge
        return self._number(self.function(point[None, :] if self.vectorized else point)) + sign * charge

    @cached_property
    def _imposed(self) -> tuple[Constraint, ...]:
        return self.constraints.imposed

    @cached_property
    def _limited(self) -> bool:
        return bool(self._imposed) or self.integers is not None

    def __call__(self, x: Any) -> Any:
        """Evaluate `x`: (d,) -> float, or (m, d) -> (m,) float64.

        Raises:
            TypeError: If `x` does not hold real numbers, or the function returns no real number.
            ValueError: If `x` has the wrong shape or holds NaN.
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
        """The problem itself; with constraints that are told, one that judges runs by them too."""
        if not self.traits.constraints:
            return self
        bounds = (self.lower, self.upper)
        return ConstrainedProblem(self, self.raw, self.constraints, bounds, self.optimum, self.traits)

    def _number(self, value: Any) -> float:
        return one_number(value, f"{self.name}: the function")

    def _identity(self) -> tuple[Any, ...]:
        box = (self.lower.tobytes(), self.upper.tobytes())
        integers = None if self.integers is None else self.integers.tobytes()
        settings = (self.name, self.optimum, self.minimize, self.vectorized, integers, self.constraints)
        return (self.function, *box, *settings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionProblem) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        box = (self.lower, self.upper, self.dimension)
        settings = (self.name, self.optimum, self.minimize, self.vectorized, self.integers, self.constraints)
        return type(self), (self.function, *box, *settings)


def _whole(integers: ArrayLike | None, box: FloatArray) -> NDArray[np.bool_] | None:
    """(d,) which variables are whole numbers, or None if none is; the bounds of those that are have to be whole."""
    if integers is None:
        return None
    given = np.asarray(integers)
    d: int = box.shape[1]
    if given.dtype == np.bool_ and given.shape in {(), (d,)}:
        mask = np.array(np.broadcast_to(given, (d,)))
    elif given.ndim == 1 and (given.dtype.kind in "iu" or not given.size) and bool(((given >= 0) & (given < d)).all()):
        mask = np.isin(np.arange(d), given)
    else:
        raise FieldError(
            ("integers",),
            f"integers is {integers!r}; give true or false, {d} of these, or a list of indices from 0 to {d - 1}",
        )
    if (mask & (box != np.rint(box))).any():
        i = int(np.argmax((mask & (box != np.rint(box))).any(axis=0)))
        raise _not_whole(i, *box[:, i].tolist())
    mask.flags.writeable = False
    return mask if mask.any() else None


def _not_whole(i: int, low: float, high: float) -> FieldError:
    """What is wrong with the bounds of variable i, a whole number, and what to do."""
    bound, value, nearest = ("lower", low, math.ceil(low)) if low % 1 else ("upper", high, math.floor(high))
    mend = f"give the nearest whole number inside, {nearest}"
    if math.ceil(low) >= math.floor(high):
        mend = f"from {low!r} to {high!r} there are less than two; widen the box"
    message = f"{bound}[{i}] is {value!r}, but variable {i} takes whole numbers only (integers); {mend}"
    return FieldError((bound,), message)


def _box(lower: ArrayLike, upper: ArrayLike, dimension: int | None) -> FloatArray:
    ends = [np.array(_numbers(end, label)) for label, end in (("lower", lower), ("upper", upper))]
    if dimension is None:
        if ends[0].ndim == ends[1].ndim == 0:
            raise ValueError("lower and upper are single numbers; give the dimension too, dimension=...")
        dimension = max(end.size for end in ends)
    d = whole_number(dimension, "dimension", 1)
    for label, end in zip(("lower", "upper"), ends, strict=True):
        if end.shape not in {(), (d,)}:
            raise FieldError((label,), f"{label} has shape {end.shape}; dimension {d} needs one number or shape ({d},)")
    box = np.stack([np.broadcast_to(end, (d,)) for end in ends])
    if not (box[0] < box[1]).all():
        i = int(np.argmin(box[0] < box[1]))
        message = f"lower[{i}] is {box[0, i]:g} and upper[{i}] is {box[1, i]:g}; lower must be below upper"
        raise FieldError(("lower",), message)
    return box


def _numbers(value: Any, what: str) -> float | tuple[float, ...]:
    """One finite real number, or several; text and true or false are none."""
    given = np.asarray(value).tolist() if hasattr(value, "__array__") else value
    several = isinstance(given, Sequence) and not isinstance(given, str)
    return real_numbers(given, what) if several else real_number(given, what)

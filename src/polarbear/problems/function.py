"""Any Python function as a problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.descriptions import imported
from polarbear.problems.arguments import whole_number
from polarbear.problems.evaluation import FLOAT64, Evaluation, as_points, read_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

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

    Raises:
        TypeError: If the function is not callable, or the bounds are not numbers.
        ValueError: If the bounds are not finite, do not fit the dimension, or lower is not below upper.
    """

    function: Callable[[FloatArray], Any]
    lower: FloatArray
    upper: FloatArray
    dimension: int
    name: str
    optimum: float | None
    minimize: bool
    vectorized: bool

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
    ) -> None:
        """Describe the problem; `lower` and `upper` may be one number for all variables, with a `dimension`.

        `function` may also be a reference ``"module:function"`` to import it from.
        """
        objective = imported(function, "function") if isinstance(function, str) else function
        if not callable(objective):
            raise TypeError(f"function is {objective!r}, which cannot be called")
        box = _box(lower, upper, dimension)
        label = getattr(objective, "__name__", type(objective).__name__)
        values = {
            "function": objective,
            "lower": read_only(box[0]),
            "upper": read_only(box[1]),
            "dimension": box.shape[1],
            "name": name or f"{label}-d{box.shape[1]}",
            "optimum": None if optimum is None else float(optimum),
            "minimize": bool(minimize),
            "vectorized": bool(vectorized),
        }
        for field, value in values.items():
            object.__setattr__(self, field, value)

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
        value = self.function(point[None, :] if self.vectorized else point)
        return value if type(value) is float else self._number(value)

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
        values = np.asarray(self.function(points))
        if values.shape != (len(points),) or values.dtype.kind not in "fiub":
            raise TypeError(
                f"{self.name}: the vectorized function returned shape {values.shape} of {values.dtype} for "
                f"{len(points)} points; it must return one real number for each, shape ({len(points)},)"
            )
        return values.astype(np.float64)

    def build(self) -> FunctionProblem:
        """The problem itself."""
        return self

    def _number(self, value: Any) -> float:
        array = np.asarray(value)
        if array.size != 1 or array.dtype.kind not in "fiub":
            kind = f"{type(value).__name__} {value!r}"
            raise TypeError(f"{self.name}: the function returned {kind}; it must return one real number")
        return float(array.reshape(-1)[0])

    def _identity(self) -> tuple[Any, ...]:
        box = (self.lower.tobytes(), self.upper.tobytes())
        return (self.function, *box, self.name, self.optimum, self.minimize, self.vectorized)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionProblem) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def __reduce__(self) -> tuple[Any, ...]:
        box = (self.lower, self.upper, self.dimension)
        return type(self), (self.function, *box, self.name, self.optimum, self.minimize, self.vectorized)


def _box(lower: ArrayLike, upper: ArrayLike, dimension: int | None) -> FloatArray:
    try:
        ends = [np.asarray(end, dtype=np.float64) for end in (lower, upper)]
    except (TypeError, ValueError):
        raise TypeError(f"lower is {lower!r} and upper is {upper!r}; they must be real numbers") from None
    if dimension is None:
        if ends[0].ndim == ends[1].ndim == 0:
            raise ValueError("lower and upper are single numbers; give the dimension too, dimension=...")
        dimension = max(end.size for end in ends)
    d = whole_number(dimension, "dimension", 1)
    for label, end in zip(("lower", "upper"), ends, strict=True):
        if end.shape not in {(), (d,)}:
            raise ValueError(f"{label} has shape {end.shape}; dimension {d} needs one number or shape ({d},)")
    box = np.stack([np.broadcast_to(end, (d,)) for end in ends])
    if not np.isfinite(box).all():
        raise ValueError(f"lower is {lower!r} and upper is {upper!r}; the box must be finite")
    if not (box[0] < box[1]).all():
        i = int(np.argmin(box[0] < box[1]))
        raise ValueError(f"lower[{i}] is {box[0, i]:g} and upper[{i}] is {box[1, i]:g}; lower must be below upper")
    return box

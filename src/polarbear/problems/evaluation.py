"""The evaluation of problems; input is checked only where that costs nothing or the result is NaN."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polarbear.protocols import PLAIN, Traits

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.protocols import Problem, ProblemSpec
    from polarbear.records import FloatArray

FLOAT64 = np.dtype(np.float64)
_REAL_KINDS = "fiub"


def as_points(x: object, dimension: int, name: str) -> FloatArray:
    """Turn `x` into one point (d,) or a batch of points (m, d), or raise an error that says what is wrong with it.

    Args:
        x: Anything that a user may pass to a problem.
        dimension: The problem's number of variables d.
        name: The problem's name, for the messages.

    Returns:
        float64, shape (d,) or (m, d).

    Raises:
        TypeError: If `x` does not hold real numbers.
        ValueError: If its shape is neither (d,) nor (m, d), or if it holds NaN.
    """
    wanted = f"{name} takes one point of shape ({dimension},) or a batch of shape (m, {dimension})"
    if x is None or isinstance(x, (str, bytes, dict, set)):
        raise TypeError(f"x is {x!r}; {wanted}")
    try:
        array: np.ndarray[Any, Any] = np.asarray(x)
    except ValueError:
        raise ValueError(f"x holds rows of unequal length; {wanted}") from None
    if array.dtype.kind not in _REAL_KINDS:
        raise TypeError(f"x has data type {array.dtype}, which is not a real number type; {wanted}")
    if array.ndim not in {1, 2} or array.shape[-1] != dimension:
        raise ValueError(f"x has shape {array.shape}; {wanted}")
    points = array.astype(np.float64, copy=False)
    missing = np.argwhere(np.isnan(points))
    if missing.size:
        index = ", ".join(str(int(i)) for i in missing[0])
        raise ValueError(f"x[{index}] is NaN; {name} takes numbers only")
    return points


def unmasked(values: Any, source: str) -> Any:
    """`values` unchanged; TypeError if one is masked, since NumPy keeps an arbitrary number behind a mask.

    Args:
        values: The return value of a user's function.
        source: The function that returned it, for the message.
    """
    if np.ma.is_masked(values):
        raise TypeError(f"{source} returned masked values; return NaN where there is no value")
    return values


def one_number(value: Any, source: str) -> float:
    """The single real number that a user's function must return; TypeError if it returned anything else."""
    if isinstance(value, Real):
        return float(value)
    array = np.asarray(unmasked(value, source))
    if array.size != 1 or array.dtype.kind not in _REAL_KINDS:
        raise TypeError(f"{source} returned {type(value).__name__} {value!r}; it must return one real number")
    return float(array.reshape(-1)[0])


class Evaluation:
    """The `__call__` that all problems share, based on their `raw` (one point) and `batch` (many points) evaluation."""

    __slots__ = ()
    name: str
    dimension: int
    raw: Any
    batch: Any

    def __call__(self, x: Any) -> Any:
        """Evaluate `x`: (d,) -> float, or (m, d) -> (m,) float64.

        Points outside the box, even infinite ones, are evaluated too. The input is checked for NaN and wrong lengths
        only when the result is NaN.

        Raises:
            TypeError: If `x` does not hold real numbers.
            ValueError: If `x` has the wrong shape or contains NaN.
        """
        if type(x) is np.ndarray and x.dtype is FLOAT64 and x.ndim == 1:
            value = self.raw(x)
            if value != value:  # NaN
                self.diagnose(x)
            return value
        points = as_points(x, self.dimension, self.name)
        return self.raw(points) if points.ndim == 1 else self.batch(points)

    def diagnose(self, x: object) -> None:
        """Raise a TypeError or ValueError that says what is wrong with `x`; return if nothing is."""
        as_points(x, self.dimension, self.name)


class BuiltProblem(Evaluation):
    """A problem built from its specification, which wraps a compiled or hand-written evaluation.

    Attributes:
        spec: The specification it was built from; a built problem is sent between processes as its specification.
        raw: The evaluation of a point, (d,) -> f(x).
        batch: The evaluation of several points, (k, d) -> (k,) f(x).
        bounds: (d,) lower and upper bounds.
        optimum: The best value there is, if it is known.
        minimize: Whether lower values are better.
        traits: Integer variables, objectives, constraints and noise.
    """

    __slots__ = ("batch", "dimension", "lower", "minimize", "name", "optimum", "raw", "spec", "traits", "upper")

    def __init__(
        self,
        spec: ProblemSpec,
        raw: Callable[[FloatArray], float],
        batch: Callable[[FloatArray], FloatArray],
        bounds: tuple[FloatArray, FloatArray],
        optimum: float | None,
        minimize: bool = True,
        traits: Traits = PLAIN,
    ) -> None:
        """Combine an evaluation with its box (lower, upper), both (d,), and its best value."""
        self.spec = spec
        self.name = spec.name
        self.raw = raw
        self.batch = batch
        self.lower, self.upper = read_only(bounds[0]), read_only(bounds[1])
        self.dimension = len(self.lower)
        self.optimum = optimum
        self.minimize = minimize
        self.traits = traits

    def __repr__(self) -> str:
        return f"<problem {self.name}>"

    def __reduce__(self) -> tuple[Callable[[ProblemSpec], Problem], tuple[ProblemSpec]]:
        return _rebuild, (self.spec,)


def _rebuild(spec: ProblemSpec) -> Problem:
    return spec.build()


def evaluated_in_turn(raw: Callable[[FloatArray], float]) -> Callable[[FloatArray], FloatArray]:
    """The evaluation of points (m, d) -> (m,) by means of that of a single point."""
    return lambda points: np.array([raw(point) for point in points], dtype=np.float64)


class PointwiseTrial(ABC):
    """One run's view of a problem whose points are evaluated one after another."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """Evaluate one point (d,): the value that the optimizer observes, and the one by which the run is judged."""

    def batch(self, points: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Evaluate (m, d) points: (m,) observations, and (m,) values by which the run is judged."""
        values = np.array([self(point) for point in points], dtype=np.float64).reshape(-1, 2)
        return values[:, 0].copy(), values[:, 1].copy()


class MultiObjectiveProblem(BuiltProblem):
    """A built problem with several objectives, all of them minimized.

    Attributes:
        spec, bounds, traits: See `BuiltProblem`.
        raw: The evaluation of a point, (d,) -> (k,) f(x).
        interest: The ideal and the nadir point, (k,) each.
        ideal: (k,) the smallest value of each objective by itself.
        nadir: (k,) the largest value of each objective among Pareto-optimal solutions.
    """

    __slots__ = ("ideal", "nadir")

    def __init__(
        self,
        spec: ProblemSpec,
        raw: Callable[[FloatArray], FloatArray],
        bounds: tuple[FloatArray, FloatArray],
        interest: tuple[FloatArray, FloatArray],
        traits: Traits,
    ) -> None:
        """Combine the evaluation (d,) -> (k,), the box, and the ideal and nadir points."""

        def batch(points: FloatArray) -> FloatArray:
            return np.array([raw(point) for point in points], dtype=np.float64).reshape(-1, traits.objectives)

        super().__init__(spec, cast("Any", raw), batch, bounds, None, traits=traits)
        self.ideal, self.nadir = read_only(interest[0]), read_only(interest[1])

    def __call__(self, x: Any) -> FloatArray:
        """Evaluate `x`: (d,) -> (k,), or (m, d) -> (m, k).

        Raises:
            TypeError: If `x` does not hold real numbers.
            ValueError: If `x` has the wrong shape or contains NaN.
        """
        points = as_points(x, self.dimension, self.name)
        return self.raw(points) if points.ndim == 1 else self.batch(points)


def read_only(values: object) -> FloatArray:
    """A float64 copy of `values` that cannot be written to."""
    array = np.array(values, dtype=np.float64)
    array.flags.writeable = False
    return array

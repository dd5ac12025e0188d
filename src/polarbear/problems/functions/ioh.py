"""Construction and safe evaluation of problems of the library `ioh`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from polarbear.problems.evaluation import BuiltProblem, evaluated_in_turn
from polarbear.protocols import Traits

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.protocols import ProblemSpec
    from polarbear.records import FloatArray

T = TypeVar("T")

Box: TypeAlias = "tuple[FloatArray, FloatArray]"
"""Lower and upper bounds of a box, (d,) each."""

_LOCK = threading.Lock()
"""`ioh` deadlocks when two threads construct its first problem, or its first array, at once."""

FUNCTIONS = 24
"""Number of functions of BBOB and of SBOX-BBOB."""


def with_ioh(make: Callable[[Any], T]) -> T:
    """Call `make` with the library while no other thread constructs anything with it."""
    with _LOCK:
        import ioh

        return make(ioh)


def ioh_problem(family: str, function: int, instance: int, dimension: int) -> tuple[Any, Box]:
    """An `ioh` problem and its box; unlike ``ioh.get_problem``, this never downloads anything."""

    def create(ioh: Any) -> tuple[Any, Box]:
        problem = getattr(ioh.problem, ioh.ProblemClass[family].value).create(function, instance, dimension)
        return problem, box_of(problem)

    return with_ioh(create)


def box_of(problem: Any) -> Box:
    """The lower and upper bounds of an `ioh` problem; call it inside `with_ioh`."""
    return np.array(problem.bounds.lb, dtype=np.float64), np.array(problem.bounds.ub, dtype=np.float64)


def best_bbob_value(function: int, instance: int) -> float:
    """The best value of a BBOB function, which does not depend on the dimension."""
    return float(ioh_problem("BBOB", function, instance, 2)[0].optimum.y)


def batch_evaluation(problem: Any) -> Callable[[FloatArray], FloatArray]:
    """The evaluation of points, (m, d) -> (m,), by an `ioh` problem with real variables."""

    def batch(points: FloatArray) -> FloatArray:
        return np.array(problem(points) if len(points) else [], dtype=np.float64)

    return batch


def without_nan(
    problem: Any, dimension: int, worst: float
) -> tuple[Callable[[FloatArray], float], Callable[[FloatArray], FloatArray]]:
    """Evaluations of a point and of a batch that return `worst` where valid input gives NaN."""
    evaluate = batch_evaluation(problem)

    def raw(x: FloatArray) -> float:
        value = problem(x)
        if value == value:
            return value
        return worst if np.shape(x) == (dimension,) and not np.isnan(x).any() else np.nan

    def batch(points: FloatArray) -> FloatArray:
        values = evaluate(points)
        values[np.isnan(values) & ~np.isnan(points).any(axis=1)] = worst
        return values

    return raw, batch


def integer_problem(
    spec: ProblemSpec, objective: Callable[[Any], float], box: Box, optimum: float | None
) -> BuiltProblem:
    """An integer problem to be maximized, based on an `ioh` problem.

    Coordinates are rounded to the nearest integer, halves to the even one; points that then lie outside the box have
    the value -inf, since `ioh` would read foreign memory there. NaN or a wrong length give NaN.
    """
    low, high, shape = box[0][0], box[1][0], box[0].shape

    def raw(x: FloatArray) -> float:
        if np.shape(x) != shape:
            return np.nan
        whole = np.rint(x)
        if whole.min() >= low and whole.max() <= high:
            return float(objective(whole.astype(np.int32)))
        return np.nan if np.isnan(whole).any() else -np.inf

    traits = Traits(integers=np.ones(shape, dtype=np.bool_))
    return BuiltProblem(spec, raw, evaluated_in_turn(raw), box, optimum, minimize=False, traits=traits)

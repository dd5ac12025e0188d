"""Pairwise affine combinations of BBOB functions: interpolations between two functions with a weight α."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.bbob import as_list, objective
from polarbear.problems.functions.ioh import FUNCTIONS
from polarbear.problems.number_sets import NumbersLike, number_set, shares
from polarbear.problems.suite.base import ProductStream, SuiteProblem
from polarbear.problems.suite.bbob import BBOBInstance, BBOBInstances, Dimension, Dimensions
from polarbear.records import Instance
from polarbear.validation import Checked, Natural, Share, settings, whole

if TYPE_CHECKING:
    from polarbear.records import FloatArray

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The weights in figure 6.1 of the thesis."""


class Combination:
    """C(F₁, I₁, F₂, I₂, α), the geometric mean of two functions' precisions (thesis, section 6.1.1).

    A batch gives the same values as its points one by one: bit for bit up to 144 variables, above up to rounding.
    """

    __slots__ = ("_alpha", "_dimension", "_first", "_optimum", "_second", "_second_optimum")

    def __init__(self, spec: AffineBBOBProblem) -> None:
        """Build the two functions, or only the one that has all the weight."""
        d, self._alpha = spec.dimension, spec.alpha
        first = objective(spec.first, spec.instance, d)
        second = objective(spec.second, spec.second_instance, d) if spec.alpha < 1 else first
        evaluate, self._optimum, best = first
        self._first = evaluate, best
        evaluate, self._second_optimum, best = second
        self._second = evaluate, best
        self._dimension = d

    def __call__(self, x: FloatArray) -> float:
        """Evaluate one (d,) point; NaN if it has the wrong length."""
        if len(x) != self._dimension:
            return math.nan
        alpha = self._alpha
        (first, best), (second, second_best) = self._first, self._second
        logarithm = 0.0
        if alpha > 0:
            logarithm += alpha * _log10(first(x) - best)
        if alpha < 1:
            logarithm += (1 - alpha) * _log10(second((x - self._optimum) + self._second_optimum) - second_best)
        return _power(logarithm)

    def batch(self, points: FloatArray) -> FloatArray:
        """Evaluate (m, d) points -> (m,) float64."""
        logarithms = [0.0] * len(points)
        shifted = (points - self._optimum) + self._second_optimum
        terms = ((self._first, points, self._alpha), (self._second, shifted, 1 - self._alpha))
        for (evaluate, best), x, weight in terms:
            for i, value in enumerate(as_list(evaluate(x)) if weight > 0 and len(points) else ()):
                logarithms[i] += weight * _log10(value - best)
        return np.array([_power(logarithm) for logarithm in logarithms])


def _log10(precision: float) -> float:
    """log₁₀, with -inf at 0 and at values that rounding makes negative."""
    return -math.inf if precision <= 0 else math.log10(precision)


def _power(logarithm: float) -> float:
    """10 to the power of `logarithm`, inf on overflow; NaN from precisions of 0 and inf is passed on."""
    return math.pow(10, logarithm) if logarithm < 308 or logarithm != logarithm else math.inf


@settings
class AffineBBOBProblem(SuiteProblem):
    """One pairwise affine combination of BBOB functions in the box [-5, 5]^d (thesis, section 6.1.1).

    Its value is 10^(α log₁₀(F₁(x) - F₁(O₁)) + (1 - α) log₁₀(F₂(x - O₁ + O₂) - F₂(O₂))), where O₁ and O₂ are the
    functions' optima; the best value is 0, at O₁. Unlike in MA-BBOB, there are no scale factors and no caps. Points
    outside the box are evaluated as well. Above 64 variables the optimum of f19 is misplaced, as in `ioh`.

    Attributes:
        first: F₁, 1 to 24, the function at α = 1.
        second: F₂, 1 to 24, the function at α = 0, with its optimum moved to O₁.
        alpha: α, from 0 to 1.
        instance: I₁, the instance of F₁.
        dimension: Number of variables, from 2.
        second_instance: I₂, the instance of F₂; 1 throughout the thesis.

    Raises:
        FieldError: If a field is not a number or out of range.
    """

    first: Annotated[int, whole(1, FUNCTIONS)]
    second: Annotated[int, whole(1, FUNCTIONS)]
    alpha: Share
    instance: BBOBInstance
    dimension: Dimension
    second_instance: BBOBInstance = 1

    @property
    def identity(self) -> Instance:
        """The identity, as in ``"affine-bbob-f21_1_a0.25-i1-d5"``; with ``_j2`` after α if F₂'s instance is 2."""
        other = f"_j{self.second_instance}" if self.second_instance != 1 else ""
        function = f"{self.first}_{self.second}_a{self.alpha!r}{other}"
        return Instance("affine-bbob", function, self.dimension, str(self.instance))

    def build(self) -> BuiltProblem:
        """Construct the two functions."""
        function = Combination(self)
        box = np.full(self.dimension, 5.0)
        return BuiltProblem(self, function, function.batch, (-box, box), 0.0)


@settings
class PairwiseAffine(ProductStream):
    """An endless stream of pairwise affine combinations: all parameters are drawn uniformly and independently.

    Attributes:
        functions: The first functions, of 1 to 24.
        second_functions: The second functions; by default only the sphere, as in section 6.2 of the thesis.
        alphas: One or several weights of the first function, from 0 to 1.
        dimensions: Numbers of variables, from 2.
        instances: The first function's instances, from 1.
        second_instances: The second function's instances.
        seed: Seed of the stream.

    Raises:
        FieldError: If a field holds no number, one out of range, or one twice, or is empty.
    """

    functions: Annotated[NumbersLike, number_set(1, FUNCTIONS)] = range(1, FUNCTIONS + 1)
    second_functions: Annotated[NumbersLike, number_set(1, FUNCTIONS)] = (1,)
    alphas: Annotated[float | Sequence[float], Checked(shares)] = QUARTERS
    dimensions: Dimensions = (5,)
    instances: BBOBInstances = range(1, 1000)
    second_instances: BBOBInstances = (1,)
    seed: Natural = 0

    problem: ClassVar[Any] = AffineBBOBProblem
    choices: ClassVar[Mapping[str, str]] = {
        "first": "functions",
        "second": "second_functions",
        "alpha": "alphas",
        "second_instance": "second_instances",
        "instance": "instances",
        "dimension": "dimensions",
    }

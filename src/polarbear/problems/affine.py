"""Pairwise affine combinations of BBOB functions: from one function to another in steps of a weight α."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from polarbear.problems.bbob_functions import as_list, objective
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.ioh_suites import FUNCTIONS, LAST_INSTANCE
from polarbear.problems.number_sets import NumbersLike, number_set, shares
from polarbear.problems.streams import ProductStream, SuiteProblem
from polarbear.records import Instance
from polarbear.validation import Checked, Natural, Share, settings, whole

if TYPE_CHECKING:
    from polarbear.records import FloatArray

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The weights of the thesis' figure 6.1."""


class Combination:
    """C(F₁, I₁, F₂, I₂, α), the geometric mean of two functions' precisions (thesis, section 6.1.1).

    A batch gives what its points give one by one, bit for bit up to 144 variables, above up to rounding.
    """

    __slots__ = ("_alpha", "_dimension", "_first", "_here", "_second", "_there")

    def __init__(self, spec: AffineBBOBProblem) -> None:
        """Build the two functions, or the one that has all the weight."""
        d, self._alpha = spec.dimension, spec.alpha
        first = objective(spec.first, spec.instance, d)
        second = objective(spec.second, spec.second_instance, d) if spec.alpha < 1 else first
        (one, self._here, best), (other, self._there, other_best) = first, second
        self._first, self._second = (one, best), (other, other_best)
        self._dimension = d

    def __call__(self, x: FloatArray) -> float:
        """Evaluate one (d,) point; NaN at a wrong length."""
        if len(x) != self._dimension:
            return math.nan
        alpha = self._alpha
        (one, best), (other, other_best) = self._first, self._second
        logarithm = 0.0
        if alpha > 0:
            logarithm += alpha * _log10(one(x) - best)
        if alpha < 1:
            logarithm += (1 - alpha) * _log10(other((x - self._here) + self._there) - other_best)
        return _power(logarithm)

    def batch(self, points: FloatArray) -> FloatArray:
        """Evaluate (m, d) points -> (m,) float64."""
        logarithms = [0.0] * len(points)
        shifted = (points - self._here) + self._there
        for (evaluate, best), where, weight in (
            (self._first, points, self._alpha),
            (self._second, shifted, 1 - self._alpha),
        ):
            for i, value in enumerate(as_list(evaluate(where)) if weight > 0 and len(points) else ()):
                logarithms[i] += weight * _log10(value - best)
        return np.array([_power(logarithm) for logarithm in logarithms])


def _log10(precision: float) -> float:
    """log₁₀, -inf at 0 and at what rounding puts below."""
    return -math.inf if precision <= 0 else math.log10(precision)


def _power(logarithm: float) -> float:
    """10 to the power of `logarithm`, inf where that is too large; two precisions, 0 and inf, make NaN."""
    return math.pow(10, logarithm) if logarithm < 308 or logarithm != logarithm else math.inf


@settings
class AffineBBOBProblem(SuiteProblem):
    """One pairwise affine combination of BBOB functions in the box [-5, 5]^d (thesis, section 6.1.1).

    Its value is 10^(α log₁₀(F₁(x) - F₁(O₁)) + (1 - α) log₁₀(F₂(x - O₁ + O₂) - F₂(O₂))), O the functions' optima: the
    best value is 0, at O₁. There are no scale factors and no caps, other than in MA-BBOB. Points outside the box are
    evaluated as well. Above 64 variables `ioh` misplaces the optimum of f19, and so do these.

    Attributes:
        first: F₁, 1 to 24, which is what α = 1 gives.
        second: F₂, 1 to 24, which is what α = 0 gives, its optimum moved to O₁.
        alpha: α, from 0 to 1.
        instance: I₁, F₁'s instance.
        dimension: Number of variables, from 2.
        second_instance: I₂, F₂'s instance; 1 throughout the thesis.

    Raises:
        TypeError: If something is no number.
        ValueError: If something is out of its range.
    """

    first: Annotated[int, whole(1, FUNCTIONS)]
    second: Annotated[int, whole(1, FUNCTIONS)]
    alpha: Share
    instance: Annotated[int, whole(1, LAST_INSTANCE)]
    dimension: Annotated[int, whole(2)]
    second_instance: Annotated[int, whole(1, LAST_INSTANCE)] = 1

    @property
    def identity(self) -> Instance:
        """As in ``"affine-bbob-f21_1_a0.25-i1-d5"``; with ``_j2`` behind α if F₂'s instance is 2."""
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
    """An endless stream of pairwise affine combinations: all choices drawn uniformly and independently.

    Attributes:
        functions: The first functions, of 1 to 24.
        second_functions: The second functions; by default the sphere alone, as in the thesis' section 6.2.
        alphas: One or several weights of the first function, from 0 to 1.
        dimensions: Numbers of variables, from 2.
        instances: The first function's instances, from 1.
        second_instances: The second function's instances.
        seed: Which stream.

    Raises:
        TypeError: If something is no number.
        ValueError: If something is out of its range, empty, or named twice.
    """

    functions: Annotated[NumbersLike, number_set(1, FUNCTIONS)] = range(1, FUNCTIONS + 1)
    second_functions: Annotated[NumbersLike, number_set(1, FUNCTIONS)] = (1,)
    alphas: Annotated[float | Sequence[float], Checked(shares)] = QUARTERS
    dimensions: Annotated[NumbersLike, number_set(2)] = (5,)
    instances: Annotated[NumbersLike, number_set(1, LAST_INSTANCE)] = range(1, 1000)
    second_instances: Annotated[NumbersLike, number_set(1, LAST_INSTANCE)] = (1,)
    seed: Natural = 0

    problem: ClassVar[Any] = AffineBBOBProblem
    drawn: ClassVar[Mapping[str, str]] = {
        "first": "functions",
        "second": "second_functions",
        "alpha": "alphas",
        "second_instance": "second_instances",
        "instance": "instances",
        "dimension": "dimensions",
    }

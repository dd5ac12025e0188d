"""Star discrepancy: how unevenly points are spread over the unit cube, from `ioh`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.ioh import integer_problem, ioh_problem, without_nan
from polarbear.problems.number_sets import NumbersLike, number_set
from polarbear.problems.suite.base import IohProblem, IohStream
from polarbear.records import Instance
from polarbear.validation import Flag, Natural, Positive, settings, whole

FIRST, LAST = 30, 59
SOBOL = range(40, 50)
LAST_SOBOL_DIMENSION = 1111
LAST_INSTANCE = 2**31 - 1


@settings
class StarDiscrepancyProblem(IohProblem):
    """The local discrepancy of a point set (Clément et al. 2023), to be maximized; its maximum is unknown.

    The value at x in [0, 1]^d is the excess of the volume of the box [0, x) over the share of points in it, or the
    excess of the share in [0, x] over the volume, whichever is larger; outside the unit cube it is -inf. The maximum
    lies on the grid of the points' coordinates and 1. With ``integer=True``, variables are indices into that grid:
    x_j = k, from 0, stands for the points' j-th coordinate that has k smaller ones, and the number of points for 1;
    variables are rounded to the nearest integer.

    Attributes:
        function: The sampler and number of points: 30 to 39 uniform, 40 to 49 Sobol, 50 to 59 Halton; each has 10, 25,
            50, 100, 150, 200, 250, 500, 750 and 1,000 points.
        instance: Seed of uniform points, or start of the Halton sequence; Sobol points are always the same.
        dimension: Number of variables, from 1; for Sobol points at most 1,111.
        integer: Whether variables are indices into the grid.

    Raises:
        FieldError: If a number is not whole or out of range, or `integer` is not a bool.
    """

    function: Annotated[int, whole(FIRST, LAST)]
    instance: Annotated[int, whole(1, LAST_INSTANCE)]
    dimension: Positive
    integer: Flag = False

    suite: ClassVar[str] = "star-discrepancy"

    @classmethod
    def check(cls, function: int, dimension: int) -> None:
        """Raise a ValueError if there are no Sobol points in `dimension`."""
        if function in SOBOL and dimension > LAST_SOBOL_DIMENSION:
            raise ValueError(
                f"star-discrepancy function {function} does not exist in dimension {dimension}; "
                f"Sobol points have at most {LAST_SOBOL_DIMENSION} dimensions"
            )

    @property
    def identity(self) -> Instance:
        """The suite, ``"star-discrepancy"`` or ``"star-discrepancy-integer"``, function, dimension and instance."""
        identity = super().identity
        return replace(identity, suite=f"{self.suite}-integer") if self.integer else identity

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem."""
        family = "STAR_INTEGER" if self.integer else "STAR_REAL"
        problem, box = ioh_problem(family, self.function, self.instance, self.dimension)
        if self.integer:
            return integer_problem(self, problem, box, None)
        return BuiltProblem(self, *without_nan(problem, self.dimension, -np.inf), box, None, minimize=False)


@settings
class StarDiscrepancy(IohStream):
    """An endless stream of discrepancies: point set, instance and dimension are drawn uniformly and independently.

    Attributes:
        functions: The functions' numbers, of 30 to 59.
        dimensions: Numbers of variables, from 1.
        instances: Seeds of the samplers, from 1.
        integer: Whether variables are indices into the grid of the points' coordinates.
        seed: Seed of the stream.

    Raises:
        FieldError: If a set holds a non-integer, out-of-range or repeated number or is empty, or `integer` is no bool.
    """

    functions: Annotated[NumbersLike, number_set(FIRST, LAST)] = range(FIRST, LAST + 1)
    dimensions: Annotated[NumbersLike, number_set(1)] = (5,)
    instances: Annotated[NumbersLike, number_set(1, LAST_INSTANCE)] = range(1, 1000)
    integer: Flag = False
    seed: Natural = 0

    problem: ClassVar[Any] = StarDiscrepancyProblem

    def _fixed(self) -> dict[str, Any]:
        return {"integer": self.integer}

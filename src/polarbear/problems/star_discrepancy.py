"""Star discrepancy: how unevenly points lie in the unit cube, over `ioh`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.ioh_suites import Box, IohProblem, IohStream, constructed, created, defined, integer_problem
from polarbear.problems.number_sets import NumbersLike, number_set
from polarbear.records import Instance
from polarbear.validation import Flag, Natural, settings, whole

FIRST, LAST = 30, 59
SOBOL = range(40, 50)
LAST_SOBOL_DIMENSION = 1111
LAST_INSTANCE = 2**31 - 1


@settings
class StarDiscrepancyProblem(IohProblem):
    """The local discrepancy of a point set (Clément et al. 2023), to be maximized; its maximum is not known.

    At x in [0, 1]^d the value is how much the volume of the box [0, x) exceeds the share of points in it, or how much
    the share in [0, x] exceeds the volume, whichever is more; outside the unit cube it is -inf. The maximum lies on the
    grid of the points' coordinates and 1. With ``integer=True``, variables choose from that grid: x_j = k, from 0,
    stands for the points' j-th coordinate that has k smaller ones, and the number of points for 1; variables are
    rounded to the nearest integer.

    Attributes:
        function: The sampler and number of points: 30 to 39 uniform, 40 to 49 Sobol, 50 to 59 Halton; in each ten 10,
            25, 50, 100, 150, 200, 250, 500, 750 and 1,000 points.
        instance: Seeds uniform points, and says where the Halton sequence starts; Sobol points are always the same.
        dimension: Number of variables, from 1; for Sobol points at most 1,111.
        integer: Whether variables are indices into the grid.

    Raises:
        TypeError: If one of the numbers is no whole number, or `integer` no bool.
        ValueError: If one of them is out of its range.
    """

    function: Annotated[int, whole(FIRST, LAST)]
    instance: Annotated[int, whole(1, LAST_INSTANCE)]
    dimension: Annotated[int, whole(1)]
    integer: Flag = False

    suite: ClassVar[str] = "star-discrepancy"

    @classmethod
    def check(cls, function: int, dimension: int) -> None:
        """Raise a ValueError if there are no Sobol points in `dimension`."""
        if function in SOBOL and dimension > LAST_SOBOL_DIMENSION:
            raise ValueError(
                f"star-discrepancy function {function} in dimension {dimension}; "
                f"Sobol points have at most {LAST_SOBOL_DIMENSION} dimensions"
            )

    @property
    def identity(self) -> Instance:
        """Its suite, ``"star-discrepancy"`` or ``"star-discrepancy-integer"``, function, dimension and instance."""
        own = super().identity
        return replace(own, suite=f"{self.suite}-integer") if self.integer else own

    def _made(self, ioh: Any) -> tuple[Any, Box]:
        family = "STAR_INTEGER" if self.integer else "STAR_REAL"
        return created(ioh, family, self.function, self.instance, self.dimension)

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem."""
        problem, box = constructed(self._made)
        if self.integer:
            return integer_problem(self, problem, box, None)
        return BuiltProblem(self, *defined(problem, self.dimension, -np.inf), box, None, minimize=False)


@settings
class StarDiscrepancy(IohStream):
    """An endless stream of discrepancies: point set, instance and dimension drawn uniformly and independently.

    Attributes:
        functions: Which of 30 to 59.
        dimensions: Numbers of variables, from 1.
        instances: Seeds of the samplers, from 1.
        integer: Whether variables are indices into the grid of the points' coordinates.
        seed: Which stream.

    Raises:
        TypeError: If something is no whole number, or `integer` no bool.
        ValueError: If something is out of its range, empty, or named twice.
    """

    functions: Annotated[NumbersLike, number_set(FIRST, LAST)] = range(FIRST, LAST + 1)
    dimensions: Annotated[NumbersLike, number_set(1)] = (5,)
    instances: Annotated[NumbersLike, number_set(1, LAST_INSTANCE)] = range(1, 1000)
    integer: Flag = False
    seed: Natural = 0

    problem: ClassVar[Any] = StarDiscrepancyProblem

    def _fixed(self) -> dict[str, Any]:
        return {"integer": self.integer}

"""PBO: the 25 pseudo-Boolean functions of IOHprofiler, from `ioh`, and the optima to which its recorded data refer."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, Any, ClassVar

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.ioh import integer_problem, ioh_problem
from polarbear.problems.number_sets import NumbersLike, number_set
from polarbear.problems.suite.base import IohProblem, IohStream
from polarbear.problems.suite.bbob import Dimension, Dimensions
from polarbear.records import Instance
from polarbear.validation import Natural, settings, whole

LAST_FUNCTION = 25
LAST_INSTANCE = 100

ON_SQUARES = {21: "IsingTriangular", 23: "NQueens"}
"""Functions on a square lattice or board, whose dimension is a square number."""

MAXIMUM_INDEPENDENT_SET, N_QUEENS, CONCATENATED_TRAP = 22, 23, 24

TRAP_LENGTH = 5


@settings
class PBOProblem(IohProblem):
    """One pseudo-Boolean function (Doerr et al. 2020), to be maximized over {0, 1}^d.

    Coordinates are rounded to the nearest integer, and the value is -inf outside the box.

    Attributes:
        function: 1 to 25: 1 OneMax, 2 LeadingOnes, 3 linear, 4 to 17 variants of the first two, 18 low
            autocorrelation, 19 to 21 Ising, 22 independent set, 23 queens, 24 concatenated trap, 25 NK landscape.
        instance: 1 is the function itself; 2 to 50 flip bits, 51 to 100 permute them; both scale and shift values.
        dimension: Number of bits, from 2; a square number for functions 21 and 23.

    Raises:
        FieldError: If a number is not whole or out of range.
    """

    function: Annotated[int, whole(1, LAST_FUNCTION)]
    instance: Annotated[int, whole(1, LAST_INSTANCE)]
    dimension: Dimension

    suite: ClassVar[str] = "pbo"

    @classmethod
    def check(cls, function: int, dimension: int) -> None:
        """Raise a ValueError if the function needs a square number of bits and `dimension` is not one."""
        if function in ON_SQUARES and math.isqrt(dimension) ** 2 != dimension:
            near = max(math.isqrt(dimension), 2)
            raise ValueError(
                f"pbo function {function} ({ON_SQUARES[function]}) does not exist in dimension {dimension}; "
                f"its dimension must be a square, such as {near**2} or {(near + 1) ** 2}"
            )

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem."""
        problem, box = self._ioh(self.function)
        best = self._best()
        if best is None:
            optimum = float(problem.optimum.y)
        else:
            shift = self._ioh(4, 1)[0].optimum.y  # the optimum of a function that is 0
            scale = self._ioh(1, 1)[0].optimum.y - shift
            optimum = scale * best + shift
        return integer_problem(self, problem, box, optimum if math.isfinite(optimum) else None)

    def _ioh(self, function: int, dimension: int | None = None) -> tuple[Any, Any]:
        return ioh_problem("PBO", function, self.instance, dimension or self.dimension)

    def _best(self) -> float | None:
        """The best value of instance 1 where `ioh` states a wrong one, NaN if unknown; None where `ioh` is right."""
        d = self.dimension
        if self.function == MAXIMUM_INDEPENDENT_SET:
            return 2.0 * math.ceil((d // 2) / 2)
        if self.function == N_QUEENS and d in {4, 9}:
            return math.sqrt(d) - 1
        if self.function == CONCATENATED_TRAP and d > TRAP_LENGTH and d % TRAP_LENGTH:
            return math.nan
        return None


@settings
class PBO(IohStream):
    """An endless stream of PBO problems: function, instance and dimension are drawn uniformly and independently.

    Attributes:
        functions: The functions' numbers, of 1 to 25.
        dimensions: Numbers of bits, from 2; square numbers if functions 21 or 23 are among the functions.
        instances: Instance numbers, of 1 to 100.
        seed: Seed of the stream.

    Raises:
        FieldError: If a field holds no whole number, one out of range, or one twice, or is empty.
    """

    functions: Annotated[NumbersLike, number_set(1, LAST_FUNCTION)] = range(1, LAST_FUNCTION + 1)
    dimensions: Dimensions = (100,)
    instances: Annotated[NumbersLike, number_set(1, LAST_INSTANCE)] = range(1, LAST_INSTANCE + 1)
    seed: Natural = 0

    problem: ClassVar[Any] = PBOProblem


def raw_optimum(instance: Instance) -> float | None:
    """The lowest raw value on an instance of the suites bbob and pbo, as logged by IOHexperimenter.

    Raw values precede the shifting and scaling of the function's values to those of the instance: precisions on bbob,
    and the values on instance 1 on pbo.

    Args:
        instance: The instance, with the numbers of its function and instance.

    Returns:
        The optimum, to be minimized; None for another suite or an unknown optimum.
    """
    if instance.suite == "bbob":
        return 0.0
    if instance.suite == "pbo" and instance.function.isdecimal():
        return _raw_pbo_optimum(int(instance.function), instance.dimension)
    return None


@lru_cache
def _raw_pbo_optimum(function: int, dimension: int) -> float | None:
    try:
        optimum = PBOProblem(function, 1, dimension).build().optimum
    except ValueError:  # the suite has no such problem
        return None
    return None if optimum is None else -optimum

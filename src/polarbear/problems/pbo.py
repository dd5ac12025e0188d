"""PBO: the 25 pseudo-Boolean functions of IOHprofiler, over `ioh`."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.ioh_suites import IohProblem, IohStream, constructed, integer_problem
from polarbear.problems.number_sets import NumbersLike, number_set
from polarbear.validation import Natural, settings, whole

LAST_FUNCTION = 25
LAST_INSTANCE = 100

ON_SQUARES = {21: "IsingTriangular", 23: "NQueens"}
"""Functions of a square lattice or board, whose dimension is a square number."""

MAXIMUM_INDEPENDENT_SET, N_QUEENS, CONCATENATED_TRAP = 22, 23, 24

TRAP_LENGTH = 5


@settings
class PBOProblem(IohProblem):
    """One pseudo-Boolean function (Doerr et al. 2020), to be maximized over {0, 1}^d.

    Coordinates are rounded to the nearest integer, and the value is -inf outside the box.

    Attributes:
        function: 1 to 25; 1 OneMax, 2 LeadingOnes, 3 linear, 4 to 17 variants of the first two, 18 low
            autocorrelation, 19 to 21 Ising, 22 independent set, 23 queens, 24 concatenated trap, 25 NK landscape.
        instance: 1 is the function itself; 2 to 50 flip bits, 51 to 100 permute them; both scale and shift values.
        dimension: Number of bits, from 2; a square for functions 21 and 23.

    Raises:
        TypeError: If one of them is no whole number.
        ValueError: If one of them is out of its range.
    """

    function: Annotated[int, whole(1, LAST_FUNCTION)]
    instance: Annotated[int, whole(1, LAST_INSTANCE)]
    dimension: Annotated[int, whole(2)]

    suite: ClassVar[str] = "pbo"
    ioh_class: ClassVar[str] = "PBO"

    @classmethod
    def check(cls, function: int, dimension: int) -> None:
        """Raise a ValueError if the function needs a square number of bits and `dimension` is none."""
        if function in ON_SQUARES and math.isqrt(dimension) ** 2 != dimension:
            near = max(math.isqrt(dimension), 2)
            raise ValueError(
                f"pbo function {function} ({ON_SQUARES[function]}) in dimension {dimension}; "
                f"its dimension must be a square, such as {near**2} or {(near + 1) ** 2}"
            )

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem."""
        problem, box, optimum = constructed(self._with_optimum)
        return integer_problem(self, problem, box, optimum)

    def _with_optimum(self, ioh: Any) -> tuple[Any, Any, float | None]:
        problem, box = self._made(ioh)
        best = self._best()
        if best is None:
            stated = float(problem.optimum.y)
            return problem, box, stated if math.isfinite(stated) else None
        shift = ioh.problem.PBO.create(4, self.instance, 1).optimum.y  # that of a function which is 0
        scale = ioh.problem.PBO.create(1, self.instance, 1).optimum.y - shift
        return problem, box, (scale * best + shift if math.isfinite(best) else None)

    def _best(self) -> float | None:
        """The best value of instance 1 where `ioh` states a wrong one, NaN if it is not known; None: as stated."""
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
    """An endless stream of PBO problems: function, instance and dimension drawn uniformly and independently.

    Attributes:
        functions: Which of 1 to 25.
        dimensions: Numbers of bits, from 2; squares if functions 21 or 23 are among the functions.
        instances: Which of 1 to 100.
        seed: Which stream.

    Raises:
        TypeError: If something is no whole number.
        ValueError: If something is out of its range, empty, or named twice.
    """

    functions: Annotated[NumbersLike, number_set(1, LAST_FUNCTION)] = range(1, LAST_FUNCTION + 1)
    dimensions: Annotated[NumbersLike, number_set(2)] = (100,)
    instances: Annotated[NumbersLike, number_set(1, LAST_INSTANCE)] = range(1, LAST_INSTANCE + 1)
    seed: Natural = 0

    problem: ClassVar[Any] = PBOProblem

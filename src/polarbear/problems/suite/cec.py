"""The functions of the CEC competitions of 2013 (niching) and 2022 (bound-constrained), from `ioh`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.ioh import ioh_problem, without_nan
from polarbear.problems.number_sets import NumbersLike, number_set
from polarbear.problems.suite.base import IohProblem, IohStream, ProductStream, SuiteProblem
from polarbear.problems.suite.bbob import Dimension, Dimensions
from polarbear.validation import Natural, settings, whole

if TYPE_CHECKING:
    from polarbear.protocols import ProblemSpec

DIMENSIONS_2013 = (1, 1, 1, 2, 2, 2, 2, 3, 3, 2, 2, 2, 2, 3, 3, 5, 5, 10, 10, 20)
"""Dimensions of functions 1 to 20."""

DIMENSIONS_2022 = (2, 10, 20)

HYBRIDS_2022 = (6, 7, 8)
"""Functions of 2022 that are not defined in two dimensions."""

FIRST_2013, FIRST_2022 = 1101, 1001
"""The numbers that `ioh` gives to function 1 of each suite."""

MAXIMA_2013 = {3: 0.9999998284544727, 5: 1.031628453489877}
"""Uneven decreasing maxima and six-hump camel back; `ioh` states 0.999999828 and 1.03162842."""


@settings
class CEC2013Problem(SuiteProblem):
    """One function of the CEC 2013 niching competition (Li, Engelbrecht and Epitropakis 2013), to be maximized.

    The best value found is recorded, not the number of optima found. Points outside the box are evaluated as well, and
    have the value -inf where the function is not defined.

    Attributes:
        function: The function's number, 1 to 20; each has a single dimension, from 1 to 20, and a single instance.

    Raises:
        FieldError: If the number is not whole or out of range.
    """

    function: Annotated[int, whole(1, len(DIMENSIONS_2013))]

    suite: ClassVar[str] = "cec2013"
    instance: ClassVar[int] = 1

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return DIMENSIONS_2013[self.function - 1]

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem."""
        problem, box = ioh_problem("CEC2013", FIRST_2013 + self.function - 1, 1, self.dimension)
        optimum = MAXIMA_2013.get(self.function, float(problem.optimum.y))
        return BuiltProblem(self, *without_nan(problem, self.dimension, -np.inf), box, optimum, minimize=False)


@settings
class CEC2013(ProductStream):
    """An endless stream of functions of CEC 2013, drawn uniformly.

    Attributes:
        functions: The functions' numbers, of 1 to 20.
        seed: Seed of the stream.

    Raises:
        FieldError: If a field holds no whole number, one out of range, or one twice, or is empty.
    """

    functions: Annotated[NumbersLike, number_set(1, len(DIMENSIONS_2013))] = range(1, len(DIMENSIONS_2013) + 1)
    seed: Natural = 0

    problem: ClassVar[Any] = CEC2013Problem
    choices: ClassVar[Mapping[str, str]] = {"function": "functions"}

    def grid(self) -> tuple[ProblemSpec, ...]:
        """All problems of the suite: by dimension, then by function."""
        return tuple(sorted(super().grid(), key=lambda spec: (spec.dimension, spec.function)))  # pyright: ignore


@settings
class CEC2022Problem(IohProblem):
    """One function of the CEC 2022 competition (Kumar et al. 2021) in the box [-100, 100]^d, to be minimized.

    Points outside the box are evaluated as well, except infinite ones, whose value is +inf.

    Attributes:
        function: The function's number, 1 to 12.
        instance: 1, as there is only one shift and rotation.
        dimension: 2, 10 or 20; functions 6, 7 and 8 are not defined in dimension 2.

    Raises:
        FieldError: If a number is not whole or out of range.
    """

    function: Annotated[int, whole(1, 12)]
    instance: Annotated[int, whole(1, 1)]
    dimension: Dimension

    suite: ClassVar[str] = "cec2022"

    @classmethod
    def check(cls, function: int, dimension: int) -> None:
        """Raise a ValueError if the function is not defined in `dimension`."""
        if dimension not in DIMENSIONS_2022:
            raise ValueError(f"cec2022 dimension is {dimension}; it must be 2, 10 or 20")
        if function in HYBRIDS_2022 and dimension == 2:
            raise ValueError(
                f"cec2022 function {function} does not exist in dimension 2; functions 6 to 8 need dimension 10 or 20"
            )

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem."""
        problem, box = ioh_problem("CEC2022", FIRST_2022 + self.function - 1, 1, self.dimension)
        return BuiltProblem(self, *without_nan(problem, self.dimension, np.inf), box, float(problem.optimum.y))


@settings
class CEC2022(IohStream):
    """An endless stream of functions of CEC 2022: function and dimension are drawn uniformly and independently.

    Attributes:
        functions: The functions' numbers, of 1 to 12.
        dimensions: Numbers of variables, of 2, 10 and 20; 2 only without functions 6 to 8.
        seed: Seed of the stream.

    Raises:
        FieldError: If a field holds no whole number, one out of range, or one twice, or is empty.
    """

    functions: Annotated[NumbersLike, number_set(1, 12)] = range(1, 13)
    dimensions: Dimensions = (10,)
    seed: Natural = 0

    instances: ClassVar[NumbersLike] = range(1, 2)
    problem: ClassVar[Any] = CEC2022Problem

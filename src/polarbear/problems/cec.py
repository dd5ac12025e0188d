"""The functions of the CEC competitions of 2013 (niching) and 2022 (bound-constrained), over `ioh`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.ioh_suites import IohProblem, IohStream, constructed, created, defined
from polarbear.problems.number_sets import NumbersLike, number_set
from polarbear.problems.streams import ProductStream, SuiteProblem
from polarbear.validation import Natural, settings, whole

if TYPE_CHECKING:
    from polarbear.protocols import ProblemSpec

DIMENSIONS_2013 = (1, 1, 1, 2, 2, 2, 2, 3, 3, 2, 2, 2, 2, 3, 3, 5, 5, 10, 10, 20)
"""Of functions 1 to 20."""

DIMENSIONS_2022 = (2, 10, 20)

HYBRIDS_2022 = (6, 7, 8)
"""Functions of 2022 that are not defined in two dimensions."""

FIRST_2013, FIRST_2022 = 1101, 1001
"""The numbers `ioh` gives to functions 1."""

SIX_HUMPS, SIX_HUMPS_MAXIMUM = 5, 1.031628453489877
"""The six-hump camel back's maximum; `ioh` states 1.03162842."""

UNEVEN_MAXIMA, UNEVEN_MAXIMUM = 3, 0.9999998284544727
"""The greatest of the uneven decreasing maxima; `ioh` states 0.999999828."""


@settings
class CEC2013Problem(SuiteProblem):
    """One function of the CEC 2013 niching competition (Li, Engelbrecht and Epitropakis 2013), to be maximized.

    What is recorded is the best value found; how many optima were found is not. Points outside the box are evaluated
    as well, and have the value -inf where the function is not defined.

    Attributes:
        function: 1 to 20; it has one dimension, from 1 to 20, and one instance.

    Raises:
        TypeError: If it is no whole number.
        ValueError: If it is out of its range.
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
        number = FIRST_2013 + self.function - 1
        problem, box = constructed(lambda ioh: created(ioh, "CEC2013", number, 1, self.dimension))
        mended = {SIX_HUMPS: SIX_HUMPS_MAXIMUM, UNEVEN_MAXIMA: UNEVEN_MAXIMUM}
        optimum = mended.get(self.function, float(problem.optimum.y))
        return BuiltProblem(self, *defined(problem, self.dimension, -np.inf), box, optimum, minimize=False)


@settings
class CEC2013(ProductStream):
    """An endless stream of functions of CEC 2013, drawn uniformly.

    Attributes:
        functions: Which of 1 to 20.
        seed: Which stream.

    Raises:
        TypeError: If something is no whole number.
        ValueError: If something is out of its range, empty, or named twice.
    """

    functions: Annotated[NumbersLike, number_set(1, len(DIMENSIONS_2013))] = range(1, len(DIMENSIONS_2013) + 1)
    seed: Natural = 0

    problem: ClassVar[Any] = CEC2013Problem
    drawn: ClassVar[Mapping[str, str]] = {"function": "functions"}

    def grid(self) -> tuple[ProblemSpec, ...]:
        """All problems of the suite: by dimension, then by function."""
        return tuple(sorted(super().grid(), key=lambda spec: (spec.dimension, spec.function)))  # pyright: ignore


@settings
class CEC2022Problem(IohProblem):
    """One function of the CEC 2022 competition (Kumar et al. 2021) in the box [-100, 100]^d, to be minimized.

    Points outside the box are evaluated as well, but for infinite ones, whose value is +inf.

    Attributes:
        function: 1 to 12.
        instance: 1: there is one shift and rotation.
        dimension: 2, 10 or 20; functions 6, 7 and 8 are not defined in dimension 2.

    Raises:
        TypeError: If one of them is no whole number.
        ValueError: If one of them is out of its range.
    """

    function: Annotated[int, whole(1, 12)]
    instance: Annotated[int, whole(1, 1)]
    dimension: Annotated[int, whole(2)]

    suite: ClassVar[str] = "cec2022"
    ioh_class: ClassVar[str] = "CEC2022"

    @classmethod
    def check(cls, function: int, dimension: int) -> None:
        """Raise a ValueError if the function is not defined in `dimension`."""
        if dimension not in DIMENSIONS_2022:
            raise ValueError(f"cec2022 dimension is {dimension}; valid are 2, 10 and 20")
        if function in HYBRIDS_2022 and dimension == 2:
            raise ValueError(f"cec2022 function {function} in dimension 2; functions 6 to 8 need dimension 10 or 20")

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem."""
        number = FIRST_2022 + self.function - 1
        problem, box = constructed(lambda ioh: created(ioh, self.ioh_class, number, 1, self.dimension))
        return BuiltProblem(self, *defined(problem, self.dimension, np.inf), box, float(problem.optimum.y))


@settings
class CEC2022(IohStream):
    """An endless stream of functions of CEC 2022: function and dimension drawn uniformly and independently.

    Attributes:
        functions: Which of 1 to 12.
        dimensions: Which of 2, 10 and 20; 2 only without functions 6 to 8.
        seed: Which stream.

    Raises:
        TypeError: If something is no whole number.
        ValueError: If something is out of its range, empty, or named twice.
    """

    functions: Annotated[NumbersLike, number_set(1, 12)] = range(1, 13)
    dimensions: Annotated[NumbersLike, number_set(2)] = (10,)
    seed: Natural = 0

    instances: ClassVar[NumbersLike] = range(1, 2)  # pyright: ignore[reportIncompatibleVariableOverride]
    problem: ClassVar[Any] = CEC2022Problem

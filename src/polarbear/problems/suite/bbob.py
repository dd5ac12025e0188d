"""BBOB and SBOX-BBOB, the 24 noiseless functions of COCO, from `ioh`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from polarbear.descriptions import FieldError, errors_at
from polarbear.problems.functions.ioh import FUNCTIONS, ioh_problem
from polarbear.problems.number_sets import NumbersLike, number_set
from polarbear.problems.suite.base import IohProblem, ProductStream
from polarbear.validation import Checked, Natural, settings, whole, whole_number

LAST_INSTANCE = 200_000
"""COCO's seed of an instance, function + 10,000 · instance, has 32 bits and overflows beyond this instance."""

BBOBInstance = Annotated[int, whole(1, LAST_INSTANCE)]
"""COCO's instance number, which determines where the optimum lies and how the space is rotated."""

BBOBInstances = Annotated[NumbersLike, number_set(1, LAST_INSTANCE)]
Dimension = Annotated[int, whole(2)]
Dimensions = Annotated[NumbersLike, number_set(2)]


def _instances(value: Any, name: str) -> tuple[int, ...]:
    numbers = tuple(value)
    if len(numbers) != FUNCTIONS:
        raise FieldError(
            (name,), f"{name} has length {len(numbers)}; it must have one number for each of the {FUNCTIONS} functions"
        )
    with errors_at(name):
        return tuple(whole_number(i, f"instance of function {f}", 1, LAST_INSTANCE) for f, i in enumerate(numbers, 1))


InstanceOfEach = Annotated[Sequence[int], Checked(_instances)]
"""An instance number for each of the 24 functions."""


@settings
class BBOBProblem(IohProblem):
    """One BBOB function (Hansen et al. 2009), in the box [-5, 5]^d; points outside are evaluated as well.

    It is evaluated by the `ioh` object itself.

    Attributes:
        function: The function's number, 1 to 24.
        instance: COCO's instance number, from 1, which determines where the optimum lies and how the space is rotated.
        dimension: Number of variables, from 2.

    Raises:
        FieldError: If a number is not whole or out of range.
    """

    function: Annotated[int, whole(1, FUNCTIONS)]
    instance: BBOBInstance
    dimension: Dimension

    suite: ClassVar[str] = "bbob"
    family: ClassVar[str] = "BBOB"

    @property
    def location(self) -> tuple[float, ...]:
        """(d,) the location of the optimum according to `ioh`, which misplaces that of f19 above 64 variables."""
        return tuple(ioh_problem(self.family, self.function, self.instance, self.dimension)[0].optimum.x)


@settings
class SBOXProblem(BBOBProblem):
    """One function of SBOX-BBOB (Vermetten et al. 2023): BBOB with a strict box; the value outside is +inf."""

    suite: ClassVar[str] = "sbox"
    family: ClassVar[str] = "SBOX"


@settings
class BBOB(ProductStream):
    """An endless stream of BBOB problems: function, instance and dimension are drawn uniformly and independently.

    The numbers are given as ints, ranges, sequences, or in COCO's notation ``"1-5,8"``.

    Attributes:
        functions: The functions' numbers, of 1 to 24.
        dimensions: Numbers of variables, from 2.
        instances: COCO's instance numbers, from 1.
        seed: Seed of the stream.

    Raises:
        FieldError: If a field holds no whole number, one out of range, or one twice, or is empty.
    """

    functions: Annotated[NumbersLike, number_set(1, FUNCTIONS)] = range(1, FUNCTIONS + 1)
    dimensions: Dimensions = (5,)
    instances: BBOBInstances = range(1, 1000)
    seed: Natural = 0

    problem: ClassVar[Any] = BBOBProblem


@settings
class SBOX(BBOB):
    """An endless stream of SBOX-BBOB problems; see `BBOB`."""

    problem: ClassVar[Any] = SBOXProblem

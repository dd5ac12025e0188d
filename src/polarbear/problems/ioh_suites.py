"""BBOB and SBOX-BBOB, the 24 noiseless functions of COCO, over `ioh`; and what all suites over `ioh` share."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias, TypeVar, cast

import numpy as np

from polarbear.descriptions import FieldError, errors_at
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.number_sets import Numbers, NumbersLike, number_set
from polarbear.problems.streams import ProductStream, SuiteProblem
from polarbear.protocols import Traits
from polarbear.validation import Checked, Natural, settings, whole, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from polarbear.protocols import ProblemSpec
    from polarbear.records import FloatArray

Made = TypeVar("Made")

Box: TypeAlias = "tuple[FloatArray, FloatArray]"
"""Lower and upper ends of a box, (d,) each."""

_ONE_AT_A_TIME = threading.Lock()
"""`ioh` deadlocks when two threads make its first problem, or its first array, at once."""

FUNCTIONS = 24
LAST_INSTANCE = 200_000
"""COCO seeds an instance with function + 10,000 · instance in 32 bits; beyond this it overflows."""


def _instances(value: Any, name: str) -> tuple[int, ...]:
    given = tuple(value)
    if len(given) != FUNCTIONS:
        raise FieldError((name,), f"{name} holds {len(given)} numbers, not one for each of the {FUNCTIONS} functions")
    with errors_at(name):
        return tuple(whole_number(i, f"instance of function {f}", 1, LAST_INSTANCE) for f, i in enumerate(given, 1))


BBOBInstances = Annotated[Sequence[int], Checked(_instances)]
"""An instance number for each of the 24 functions."""


def constructed(make: Callable[[Any], Made]) -> Made:
    """Call `make` with the library `ioh` while no other thread constructs anything with it."""
    with _ONE_AT_A_TIME:
        import ioh

        return make(ioh)


def created(ioh: Any, family: str, function: int, instance: int, dimension: int) -> tuple[Any, Box]:
    """The `ioh` problem and its box; to be called within `constructed`.

    Unlike ``ioh.get_problem``, this never downloads anything.
    """
    problem = getattr(ioh.problem, ioh.ProblemClass[family].value).create(function, instance, dimension)
    return problem, box_of(problem)


def box_of(problem: Any) -> Box:
    """Lower and upper ends of the box of an `ioh` problem."""
    return np.array(problem.bounds.lb, dtype=np.float64), np.array(problem.bounds.ub, dtype=np.float64)


class IohProblem(SuiteProblem):
    """One function of a suite over `ioh`; subclasses are settings with a function, an instance and a dimension."""

    function: int
    instance: int
    dimension: int

    suite: ClassVar[str]
    ioh_class: ClassVar[str]

    def __post_init__(self) -> None:
        self.check(self.function, self.dimension)

    @classmethod
    def check(cls, function: int, dimension: int) -> None:
        """Raise a ValueError if there is no such function in this dimension."""

    def _made(self, ioh: Any) -> tuple[Any, Box]:
        """The `ioh` problem and its box."""
        return created(ioh, self.ioh_class, self.function, self.instance, self.dimension)

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem."""
        problem, box = constructed(self._made)
        return BuiltProblem(self, problem, batched(problem), box, float(problem.optimum.y))


def batched(problem: Any) -> Callable[[FloatArray], FloatArray]:
    """The evaluation of (m, d) points -> (m,) by an `ioh` problem over real variables."""

    def batch(points: FloatArray) -> FloatArray:
        return np.array(problem(points) if len(points) else [], dtype=np.float64)

    return batch


def defined(
    problem: Any, dimension: int, worst: float
) -> tuple[Callable[[FloatArray], float], Callable[[FloatArray], FloatArray]]:
    """Evaluations of a point and of a batch that give `worst` where sound input gives NaN."""
    evaluate = batched(problem)

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


def one_by_one(raw: Callable[[FloatArray], float]) -> Callable[[FloatArray], FloatArray]:
    """The evaluation of (m, d) points -> (m,) from that of a point."""

    def batch(points: FloatArray) -> FloatArray:
        return np.array([raw(point) for point in points], dtype=np.float64)

    return batch


def rounded(objective: Callable[[Any], float], box: Box) -> Callable[[FloatArray], float]:
    """An objective of integers, to be maximized, made one of real numbers.

    Coordinates are rounded to the nearest integer, halves to the even one; what then lies outside the box has the
    value -inf, since `ioh` reads memory that is not its own there. NaN or a wrong length give NaN.
    """
    low, high, shape = box[0][0], box[1][0], box[0].shape

    def raw(x: FloatArray) -> float:
        if np.shape(x) != shape:
            return np.nan
        whole = np.rint(x)
        if whole.min() >= low and whole.max() <= high:
            return float(objective(whole.astype(np.int32)))
        return np.nan if np.isnan(whole).any() else -np.inf

    return raw


def integer_problem(
    spec: ProblemSpec,
    objective: Callable[[Any], float],
    box: Box,
    optimum: float | None,
) -> BuiltProblem:
    """A problem of integers to be maximized, around an `ioh` problem."""
    raw = rounded(objective, box)
    traits = Traits(integers=np.ones(len(box[0]), dtype=np.bool_))
    return BuiltProblem(spec, raw, one_by_one(raw), box, optimum, minimize=False, traits=traits)


@settings
class BBOBProblem(IohProblem):
    """One BBOB function (Hansen et al. 2009), in the box [-5, 5]^d; points outside are evaluated as well.

    Its evaluation is the `ioh` object itself.

    Attributes:
        function: 1 to 24.
        instance: COCO's instance number, from 1: where the optimum lies, and how the space is rotated.
        dimension: Number of variables, from 2.

    Raises:
        TypeError: If one of them is no whole number.
        ValueError: If one of them is out of its range.
    """

    function: Annotated[int, whole(1, FUNCTIONS)]
    instance: Annotated[int, whole(1, LAST_INSTANCE)]
    dimension: Annotated[int, whole(2)]

    suite: ClassVar[str] = "bbob"
    ioh_class: ClassVar[str] = "BBOB"


@settings
class SBOXProblem(BBOBProblem):
    """One function of SBOX-BBOB (Vermetten et al. 2023): BBOB with a strict box; the value outside is +inf."""

    suite: ClassVar[str] = "sbox"
    ioh_class: ClassVar[str] = "SBOX"


class IohStream(ProductStream):
    """Functions, dimensions and instances of an `IohProblem`; subclasses are settings with these fields."""

    functions: NumbersLike
    dimensions: NumbersLike
    instances: NumbersLike

    drawn: ClassVar[Mapping[str, str]] = {"function": "functions", "instance": "instances", "dimension": "dimensions"}

    def __post_init__(self) -> None:
        for function in cast("Numbers", self.functions):
            for dimension in cast("Numbers", self.dimensions):
                self.problem.check(function, dimension)


@settings
class BBOB(IohStream):
    """An endless stream of BBOB problems: function, instance and dimension drawn uniformly and independently.

    The numbers are given as ints, ranges, sequences, or in COCO's notation ``"1-5,8"``.

    Attributes:
        functions: Which of 1 to 24.
        dimensions: Numbers of variables, from 2.
        instances: COCO's instance numbers, from 1.
        seed: Which stream.

    Raises:
        TypeError: If something is no whole number.
        ValueError: If something is out of its range, empty, or named twice.
    """

    functions: Annotated[NumbersLike, number_set(1, FUNCTIONS)] = range(1, FUNCTIONS + 1)
    dimensions: Annotated[NumbersLike, number_set(2)] = (5,)
    instances: Annotated[NumbersLike, number_set(1, LAST_INSTANCE)] = range(1, 1000)
    seed: Natural = 0

    problem: ClassVar[Any] = BBOBProblem


@settings
class SBOX(BBOB):
    """An endless stream of SBOX-BBOB problems; as `BBOB`."""

    problem: ClassVar[Any] = SBOXProblem

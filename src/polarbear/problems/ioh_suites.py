"""BBOB and SBOX-BBOB: the 24 noiseless functions of COCO, over `ioh`."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from polarbear.problems.arguments import Numbers, NumbersLike, numbers, whole_number
from polarbear.problems.evaluation import BuiltProblem
from polarbear.records import Instance

if TYPE_CHECKING:
    from polarbear.problems.protocol import ProblemSpec
    from polarbear.records import FloatArray

_ONE_AT_A_TIME = threading.Lock()
"""`ioh` deadlocks when two threads make its first problem, or its first array, at once."""

FUNCTIONS = 24
LAST_INSTANCE = 200_000
"""COCO seeds an instance with function + 10,000 · instance in 32 bits; beyond this it overflows."""


@dataclass(frozen=True)
class BBOBProblem:
    """One BBOB function (Hansen et al. 2009), in the box [-5, 5]^d; points outside are evaluated as well.

    Attributes:
        function: 1 to 24.
        instance: COCO's instance number, from 1: where the optimum lies, and how the space is rotated.
        dimension: Number of variables, from 2.

    Raises:
        TypeError: If one of them is no whole number.
        ValueError: If one of them is out of its range.
    """

    function: int
    instance: int
    dimension: int

    suite: ClassVar[str] = "bbob"
    ioh_class: ClassVar[str] = "BBOB"

    def __post_init__(self) -> None:
        checked = {
            "function": whole_number(self.function, f"{self.suite} function", 1, FUNCTIONS),
            "instance": whole_number(self.instance, f"{self.suite} instance", 1, LAST_INSTANCE),
            "dimension": whole_number(self.dimension, f"{self.suite} dimension", 2),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    @property
    def name(self) -> str:
        """Such as ``"bbob-f3-i7-d5"``."""
        return Instance(self.suite, str(self.function), int(self.dimension), str(self.instance)).name

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem; its evaluation is the `ioh` object itself."""
        with _ONE_AT_A_TIME:
            import ioh

            problem = ioh.get_problem(self.function, self.instance, self.dimension, ioh.ProblemClass[self.ioh_class])
            bounds = (np.array(problem.bounds.lb), np.array(problem.bounds.ub))

        def batch(points: FloatArray) -> FloatArray:
            return np.array(problem(points) if len(points) else [], dtype=np.float64)

        return BuiltProblem(self, problem, batch, bounds, problem.optimum.y)


@dataclass(frozen=True)
class SBOXProblem(BBOBProblem):
    """One function of SBOX-BBOB (Vermetten et al. 2023): BBOB with a strict box; the value outside is +inf."""

    suite: ClassVar[str] = "sbox"
    ioh_class: ClassVar[str] = "SBOX"


@dataclass(frozen=True)
class BBOB:
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

    functions: NumbersLike = range(1, FUNCTIONS + 1)
    dimensions: NumbersLike = (5,)
    instances: NumbersLike = range(1, 1000)
    seed: int = 0

    problem: ClassVar[type[BBOBProblem]] = BBOBProblem

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "functions": numbers(self.functions, "functions", 1, FUNCTIONS),
            "dimensions": numbers(self.dimensions, "dimensions", 2),
            "instances": numbers(self.instances, "instances", 1, LAST_INSTANCE),
            "seed": whole_number(self.seed, "seed", 0),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

    @property
    def size(self) -> None:
        """None: the stream is endless."""
        return

    def __getitem__(self, index: int) -> ProblemSpec:
        """The problem at `index`, from 0; always the same one for the same seed."""
        if index < 0:
            raise IndexError(f"instance {index}; they are counted from 0")
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, index]))
        axes = cast("list[Numbers]", [self.functions, self.instances, self.dimensions])
        return self.problem(*(axis[int(rng.integers(len(axis)))] for axis in axes))


@dataclass(frozen=True)
class SBOX(BBOB):
    """An endless stream of SBOX-BBOB problems; as `BBOB`."""

    problem: ClassVar[type[BBOBProblem]] = SBOXProblem

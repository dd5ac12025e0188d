"""What polarbear uses of ioh."""

import enum
from collections.abc import Sequence
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

class ProblemClass(enum.Enum):
    BBOB = ...
    SBOX = ...

class _Solution(Protocol):
    x: list[float]
    y: float

class _Bounds(Protocol):
    lb: list[float]
    ub: list[float]

class RealProblem(Protocol):
    @property
    def optimum(self) -> _Solution: ...
    @property
    def bounds(self) -> _Bounds: ...
    def __call__(self, x: NDArray[np.float64], /) -> float: ...

def get_problem(fid: int, instance: int, dimension: int, problem_class: ProblemClass, /) -> RealProblem: ...

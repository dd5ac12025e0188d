"""f0, which returns a random number at every evaluation; the best point of a run then shows the optimizer's bias."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

import numpy as np

from polarbear.descriptions import FieldError
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.number_sets import NumbersLike, number_set
from polarbear.problems.suite.base import ProductStream, SuiteProblem
from polarbear.protocols import ProblemSpec, Traits
from polarbear.records import FloatArray, Instance
from polarbear.validation import Finite, Natural, Positive, settings


class RandomValuesTrial:
    """One run's view of f0: a new random number for each evaluation, the same ones for equal generators."""

    __slots__ = ("_lower", "_random", "_upper")

    def __init__(self, lower: float, upper: float, rng: np.random.Generator) -> None:
        self._lower, self._upper, self._random = lower, upper, rng.random

    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """Evaluate one point (d,): the observed number also judges the run."""
        number = self._random()
        value = number if x.min() >= self._lower and x.max() <= self._upper else np.nan if np.isnan(x).any() else np.inf
        return value, value

    def batch(self, points: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Evaluate points (m, d): the observed numbers (m,), which also judge the run."""
        values = self._random(len(points))
        values[((points < self._lower) | (points > self._upper)).any(axis=1)] = np.inf
        values[np.isnan(points).any(axis=1)] = np.nan
        return values, values


class BuiltRandomValues(BuiltProblem):
    """f0, which each run sees through its own trial; calls without a trial continue one that starts at construction."""

    __slots__ = ("trial",)

    def __init__(self, spec: ProblemSpec, dimension: int, lower: float, upper: float) -> None:
        def trial(rng: np.random.Generator, /) -> RandomValuesTrial:
            return RandomValuesTrial(lower, upper, rng)

        own, box = trial(np.random.default_rng(0)), (np.full(dimension, lower), np.full(dimension, upper))

        def raw(x: FloatArray) -> float:
            return own(x)[0] if len(x) == dimension else np.nan

        super().__init__(spec, raw, lambda points: own.batch(points)[0], box, None, traits=Traits(noisy=True))
        self.trial: Callable[[np.random.Generator], RandomValuesTrial] = trial


@settings
class RandomValuesProblem(SuiteProblem):
    """The function f0 of structural bias: f0(x) ~ U(0, 1), drawn anew for each evaluation (Vermetten 2025, eq. 3.1).

    No point is better than another, so that the best points of many runs are spread evenly over the box unless the
    optimizer prefers some part of it. Outside the box the value is +inf, so that best points lie inside.

    Attributes:
        dimension: Number of variables.
        lower: Lower bound of each variable.
        upper: Upper bound of each variable.

    Raises:
        FieldError: If a number is out of range, or lower is not below upper.
    """

    dimension: Positive
    lower: Finite = 0.0
    upper: Finite = 1.0

    suite: ClassVar[str] = "random-values"

    def __post_init__(self) -> None:
        _check_interval(self.lower, self.upper)

    @property
    def identity(self) -> Instance:
        """The identity, as in ``"random-values-f0-i1-d5"``; in another box, ``"random-values-f0_-5.0_5.0-i1-d5"``."""
        box = "" if (self.lower, self.upper) == (0.0, 1.0) else f"_{self.lower!r}_{self.upper!r}"
        return Instance(self.suite, f"0{box}", self.dimension, "1")

    def build(self) -> BuiltRandomValues:
        """Construct the problem; runs draw their numbers from their own generators."""
        return BuiltRandomValues(self, self.dimension, self.lower, self.upper)


@settings
class RandomValues(ProductStream):
    """An endless stream of f0 in the box [lower, upper]^d, with random dimension; see `RandomValuesProblem`.

    Attributes:
        dimensions: Numbers of variables, drawn uniformly.
        lower: Lower bound of each variable.
        upper: Upper bound of each variable.
        seed: Seed of the stream.

    Raises:
        FieldError: If a number is out of range, or lower is not below upper.
    """

    dimensions: Annotated[NumbersLike, number_set(1)] = (5,)
    lower: Finite = 0.0
    upper: Finite = 1.0
    seed: Natural = 0

    problem: ClassVar[Any] = RandomValuesProblem
    choices: ClassVar[Mapping[str, str]] = {"dimension": "dimensions"}

    def __post_init__(self) -> None:
        _check_interval(self.lower, self.upper)

    def _fixed(self) -> dict[str, Any]:
        return {"lower": self.lower, "upper": self.upper}


def _check_interval(lower: float, upper: float) -> None:
    if not lower < upper:
        raise FieldError(("lower",), f"lower is {lower}, which is not below upper, {upper}; the box would be empty")

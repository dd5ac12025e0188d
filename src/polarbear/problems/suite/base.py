"""Base classes of suites: problems with a function, dimension and instance, and endless streams of them."""

from __future__ import annotations

import hashlib
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, cast

import numpy as np

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.ioh import batch_evaluation, ioh_problem
from polarbear.problems.number_sets import Numbers, NumbersLike
from polarbear.records import Instance

if TYPE_CHECKING:
    from typing import Self

    from polarbear.protocols import ProblemSpec

Spec = TypeVar("Spec", bound="ProblemSpec")


def digest(contents: object, length: int) -> str:
    """A digest of `contents` as a number of hexadecimal digits, for use in names."""
    return hashlib.sha256(repr(contents).encode()).hexdigest()[:length]


class SuiteProblem:
    """A problem identified by suite, function, dimension and instance; subclasses have these attributes."""

    @property
    def identity(self) -> Instance:
        """Its suite, function, dimension and instance."""
        own: Any = self
        return Instance(own.suite, str(own.function), own.dimension, str(own.instance))

    @property
    def name(self) -> str:
        """The problem's name, such as ``"bbob-f3-i7-d5"``."""
        return self.identity.name


class IohProblem(SuiteProblem):
    """One function of a suite based on `ioh`; subclasses are settings with a function, an instance and a dimension."""

    function: int
    instance: int
    dimension: int

    suite: ClassVar[str]
    family: ClassVar[str]

    def __post_init__(self) -> None:
        self.check(self.function, self.dimension)

    @classmethod
    def check(cls, function: int, dimension: int) -> None:
        """Raise a ValueError if there is no such function in this dimension."""

    def build(self) -> BuiltProblem:
        """Construct the `ioh` problem."""
        problem, box = ioh_problem(self.family, self.function, self.instance, self.dimension)
        return BuiltProblem(self, problem, batch_evaluation(problem), box, float(problem.optimum.y))


class EndlessStream(ABC, Generic[Spec]):
    """A seeded stream without end; subclasses construct the problem at an index."""

    @property
    def size(self) -> None:
        """None: the stream is endless."""
        return

    def __getitem__(self, index: int) -> Spec:
        """The problem at `index`, from 0; always the same one for the same seed."""
        if index < 0:
            raise IndexError(f"there is no instance {index}; instances are counted from 0")
        return self._at(index)

    @abstractmethod
    def _at(self, index: int) -> Spec: ...


class ProductStream(EndlessStream["ProblemSpec"]):
    """An endless stream over a product of choices, each drawn uniformly and independently.

    Subclasses are settings with a field for each choice and a `seed`.

    Attributes:
        problem: A function that makes a specification from one value of each choice.
        choices: The arguments of `problem` and the fields that hold their values, in the order they are drawn.
    """

    problem: ClassVar[Any]
    choices: ClassVar[Mapping[str, str]] = {"function": "functions", "instance": "instances", "dimension": "dimensions"}
    seed: int

    @property
    def combinations(self) -> int:
        """Number of problems in `grid`."""
        return math.prod(len(getattr(self, field)) for field in self.choices.values())

    def _at(self, index: int) -> ProblemSpec:
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, index]))
        values = {name: getattr(self, field) for name, field in self.choices.items()}
        chosen = {name: choices[int(rng.integers(len(choices)))] for name, choices in values.items()}
        return self.problem(**chosen, **self._fixed())

    def grid(self) -> tuple[ProblemSpec, ...]:
        """All problems of the suite; dimensions vary slowest, then functions and other choices, then instances."""
        names = sorted(self.choices, key=lambda name: (name == "instance") - (name == "dimension"))
        fixed = self._fixed()
        return tuple(
            self.problem(**dict(zip(names, values, strict=True)), **fixed)
            for values in itertools.product(*(getattr(self, self.choices[name]) for name in names))
        )

    def parts(self, by: Sequence[str]) -> dict[str, Self]:
        """The suite divided by function, dimension and so on, for example to hold a race on each part.

        Args:
            by: The choices to divide by, such as ``["function", "dimension"]``.

        Returns:
            Suites by names such as ``"f3-d5"``, all with the same seed as this one.

        Raises:
            ValueError: If the suite has no such choice.
        """
        if unknown := [name for name in by if name not in self.choices]:
            raise ValueError(f"the suite has no {unknown[0]} to divide by; it has {', '.join(self.choices)}")
        made: Any = self
        return {
            "-".join(f"{name[0]}{value}" for name, value in zip(by, values, strict=True)): replace(
                made, **{self.choices[name]: (value,) for name, value in zip(by, values, strict=True)}
            )
            for values in itertools.product(*(getattr(self, self.choices[name]) for name in by))
        }

    def _fixed(self) -> dict[str, Any]:
        """The arguments of `problem` that all problems of the suite share."""
        return {}


class IohStream(ProductStream):
    """Functions, dimensions and instances of an `IohProblem`, which must exist for all combinations."""

    functions: NumbersLike
    dimensions: NumbersLike

    def __post_init__(self) -> None:
        numbers = cast("tuple[Numbers, Numbers]", (self.functions, self.dimensions))
        for function, dimension in itertools.product(*numbers):
            self.problem.check(function, dimension)

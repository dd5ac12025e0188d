"""What suites have in common: problems with a function, dimension and instance, and endless streams of them."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np

from polarbear.records import Instance

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from polarbear.protocols import ProblemSpec

Spec = TypeVar("Spec", bound="ProblemSpec")


class SuiteProblem:
    """A problem that its suite, function, dimension and instance identify; subclasses have these attributes."""

    @property
    def identity(self) -> Instance:
        """Its suite, function, dimension and instance."""
        own: Any = self
        return Instance(own.suite, str(own.function), own.dimension, str(own.instance))

    @property
    def name(self) -> str:
        """Such as ``"bbob-f3-i7-d5"``."""
        return self.identity.name


class EndlessStream(ABC, Generic[Spec]):
    """A seeded stream without an end; subclasses say what is at an index."""

    @property
    def size(self) -> None:
        """None: the stream is endless."""
        return

    def __getitem__(self, index: int) -> Spec:
        """The problem at `index`, from 0; always the same one for the same seed."""
        if index < 0:
            raise IndexError(f"instance {index}; they are counted from 0")
        return self._at(index)

    @abstractmethod
    def _at(self, index: int) -> Spec:
        """The problem at `index`, which is not negative."""


class ProductStream(EndlessStream["ProblemSpec"]):
    """An endless stream over a product of choices, each of which is drawn uniformly and independently.

    Subclasses are frozen dataclasses with a field for each choice and a `seed`.

    Attributes:
        problem: Makes a specification from one value of each choice.
        drawn: The arguments of `problem` with the fields that hold their values, in the order they are drawn.
    """

    problem: ClassVar[Any]
    drawn: ClassVar[Mapping[str, str]]
    seed: int

    @property
    def combinations(self) -> int:
        """How many problems `grid` has."""
        return math.prod(len(getattr(self, field)) for field in self.drawn.values())

    def _at(self, index: int) -> ProblemSpec:
        rng = np.random.default_rng(np.random.SeedSequence([self.seed, index]))
        chosen: dict[str, Any] = {}
        for argument, field in self.drawn.items():
            choices: Sequence[Any] = getattr(self, field)
            chosen[argument] = choices[int(rng.integers(len(choices)))]
        return self.problem(**chosen, **self._fixed())

    def grid(self) -> tuple[ProblemSpec, ...]:
        """All problems of the suite: dimensions slowest, then functions and what else there is, then instances."""
        arguments = sorted(self.drawn, key=lambda name: (name == "instance") - (name == "dimension"))
        choices = [getattr(self, self.drawn[argument]) for argument in arguments]
        fixed = self._fixed()
        return tuple(
            self.problem(**dict(zip(arguments, values, strict=True)), **fixed) for values in itertools.product(*choices)
        )

    def _fixed(self) -> dict[str, Any]:
        """Arguments of `problem` that all problems of the suite share."""
        return {}

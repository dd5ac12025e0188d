"""Uniform random search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polarbear.optimizers.arguments import checked_keywords

if TYPE_CHECKING:
    import numpy as np

    from polarbear.optimizers.protocol import Objective

BLOCK = 256
"""Points drawn at once; it has no influence on which points are drawn."""


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class RandomSearch:
    """Evaluates independent points, uniform in the box, until it is stopped.

    Attributes:
        name: What it is called.
    """

    name: str = "RandomSearch"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or "RandomSearch")

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Search until the problem stops it."""
        while True:
            for x in rng.uniform(problem.lower, problem.upper, size=(BLOCK, problem.dimension)):
                problem(x)

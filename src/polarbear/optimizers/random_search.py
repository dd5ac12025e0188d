"""Uniform random search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polarbear.optimizers.adapters import Best, Front, objectives
from polarbear.optimizers.arguments import checked_keywords
from polarbear.optimizers.telemetry import recommend

if TYPE_CHECKING:
    import numpy as np

    from polarbear.protocols import Objective

BLOCK = 256
"""Points drawn at once; it has no influence on which points are drawn."""


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class RandomSearch:
    """Evaluates independent points, uniform in the box, until it is stopped.

    It recommends the best point it was told of, a feasible one if there is any; see `Best`. With several objectives it
    recommends the points that no other one dominates; see `Front`.

    Attributes:
        name: What it is called.
    """

    name: str = "RandomSearch"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or "RandomSearch")

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Search until the problem stops it."""
        best, front = Best(problem), Front(problem) if objectives(problem) > 1 else None
        recommend(problem, best.recommended if front is None else front.recommended)
        while True:
            for x in rng.uniform(problem.lower, problem.upper, size=(BLOCK, problem.dimension)):
                value = problem(x)
                if front is not None:
                    front.keep(x, value)
                elif value < best.bar:
                    best.keep(x, value)

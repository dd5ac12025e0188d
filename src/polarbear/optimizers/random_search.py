"""Uniform random search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from polarbear.optimizers.arguments import checked_keywords
from polarbear.optimizers.native import Native, Space, State

if TYPE_CHECKING:
    import numpy as np

    from polarbear.records import FloatArray

BLOCK = 256
"""Points drawn at once; it has no influence on which points are drawn."""


@dataclass(kw_only=True, eq=False)
class _State(State):
    rng: np.random.Generator


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class RandomSearch(Native[_State]):
    """Evaluates independent points, uniform in the box, until it is stopped.

    It recommends the best point it was told of, a feasible one if there is any; see `Best`. With several objectives it
    recommends the points that no other one dominates; see `Front`.

    Attributes:
        name: What it is called.
    """

    one_by_one = True

    name: str = "RandomSearch"

    def _default_name(self) -> str:
        return "RandomSearch"

    def _begin(self, space: Space, rng: np.random.Generator) -> _State:
        return _State(space=space, rng=rng)

    def _next(self, state: _State) -> FloatArray:
        space = state.space
        return state.rng.uniform(space.lower, space.upper, size=(BLOCK, space.dimension))

"""Random and quasi-random search."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from polarbear.optimizers.native import Continuable, Native, Space, State
from polarbear.optimizers.settings import family
from polarbear.protocols import Traits, WarmStart
from polarbear.records import FloatArray
from polarbear.validation import Flag, choice, whole

BLOCK = 256
"""Points that random search draws at once; the points do not depend on it."""

SEQUENCES = {"SOBOL": "Sobol", "HALTON": "Halton", "LATIN_HYPERCUBE": "LatinHypercube"}
"""The sequences, with their classes in `scipy.stats.qmc`."""

GREATEST_SOBOL_DIMENSION = 21_201
"""Number of variables for which direction numbers of the Sobol sequence are known (Joe and Kuo, 2008)."""

SOBOL_BITS = 53
"""Binary digits of Sobol points, all that a float has; the sequence ends after 2⁵³ points."""


@dataclass(kw_only=True, eq=False)
class _RandomState(State):
    rng: np.random.Generator


@family("random-search", "RandomSearch")
class RandomSearch(Continuable[_RandomState]):
    """Evaluates independent points, uniform in the box, until it is stopped.

    It recommends the best point evaluated, a feasible one if there is any; see `Best`. With several objectives it
    recommends the nondominated points; see `Front`.

    Attributes:
        name: Its name.
    """

    one_by_one = True
    ends_steps = False
    switch_cost = 0

    name: str = "RandomSearch"

    def _init(self, space: Space, rng: np.random.Generator) -> _RandomState:
        return _RandomState(space=space, rng=rng)

    def _warm(self, state: _RandomState, start: WarmStart) -> None:
        """It remembers nothing, and so goes on as it would have begun."""

    def _ask(self, state: _RandomState) -> FloatArray:
        space = state.space
        return state.rng.uniform(space.lower, space.upper, size=(BLOCK, space.dimension))


@dataclass(kw_only=True, eq=False)
class _SequenceState(State):
    sequence: Any


@family("quasi-random-search", "QuasiRandomSearch-{sequence}", scramble="not-scrambled")
class QuasiRandomSearch(Native[_SequenceState]):
    """Evaluates points of low discrepancy in the box until it is stopped.

    A real variable is uniform between its bounds, an integer one uniform over the integers between them. With
    scrambling, each single point, the first included, is uniform in the box.
    It recommends the best point evaluated, a feasible one if there is any; see `Best`. With several objectives it
    recommends the nondominated points; see `Front`.

    Attributes:
        sequence: SOBOL, HALTON or LATIN_HYPERCUBE, in upper or lower case. Each Latin hypercube is one batch,
            independent of the others.
        batch: Points evaluated at once; for SOBOL best a power of two. The points of SOBOL and HALTON do not depend on
            it; it is the size of LATIN_HYPERCUBE's hypercubes.
        scramble: Whether the sequence is randomized; without it, it is the same in all runs. Latin hypercubes without
            it have their points in the cells' centres, and are random all the same.
        name: Its name; by default "QuasiRandomSearch", the sequence, and the fields that differ from their defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    ends_steps = False

    sequence: Annotated[str, choice(*SEQUENCES, LHS="LATIN_HYPERCUBE", LHC="LATIN_HYPERCUBE")] = "SOBOL"
    batch: Annotated[int, whole(1, 2**20)] = 64
    scramble: Flag = True
    name: str = ""

    def refuses(self, traits: Traits, dimension: int, /) -> str:  # noqa: ARG002 - other optimizers need it
        """Why it takes no problem of these traits and this dimension; empty if it does."""
        if self.sequence != "SOBOL" or dimension <= GREATEST_SOBOL_DIMENSION:
            return ""
        return (
            f"the Sobol sequence has at most {GREATEST_SOBOL_DIMENSION} variables; the problem has {dimension}; "
            "take sequence='HALTON'"
        )

    def _init(self, space: Space, rng: np.random.Generator) -> _SequenceState:
        qmc: Any = importlib.import_module("scipy.stats.qmc")
        bits = {"bits": SOBOL_BITS} if self.sequence == "SOBOL" else {}
        sequence = getattr(qmc, SEQUENCES[self.sequence])(space.dimension, scramble=self.scramble, rng=rng, **bits)
        return _SequenceState(space=space, sequence=sequence)

    def _ask(self, state: _SequenceState) -> FloatArray:
        sequence, space = state.sequence, state.space
        if self.sequence == "SOBOL" and sequence.num_generated == 0 and self.batch & (self.batch - 1):
            # SciPy warns if the first batch is no power of two
            points = np.concatenate((sequence.random(1), sequence.random(self.batch - 1)))
        else:
            points = sequence.random(self.batch)
        return in_box(points, space.lower, space.upper, space.traits.integer_mask)


def in_box(units: FloatArray, lower: FloatArray, upper: FloatArray, mask: NDArray[np.bool_] | None) -> FloatArray:
    """Map points of the unit cube into a box.

    Args:
        units: (m, d) points in [0, 1)^d.
        lower: (d,) lower bounds.
        upper: (d,) upper bounds.
        mask: (d,) which variables are integers; None: none.

    Returns:
        (m, d); an integer variable takes each integer between its bounds for an equal part of [0, 1).
    """
    points = lower + units * (upper - lower)
    if mask is not None:
        low, high = np.ceil(lower[mask]), np.floor(upper[mask])
        points[:, mask] = np.minimum(low + np.floor(units[:, mask] * (high - low + 1)), high)
    return np.clip(points, lower, upper)

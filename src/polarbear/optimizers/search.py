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
"""Number of points that random search draws at once; it does not affect the points."""

SEQUENCES = {"SOBOL": "Sobol", "HALTON": "Halton", "LATIN_HYPERCUBE": "LatinHypercube"}
"""The sequences and their classes in `scipy.stats.qmc`."""

GREATEST_SOBOL_DIMENSION = 21_201
"""Largest number of variables with known direction numbers of the Sobol sequence (Joe and Kuo, 2008)."""

SOBOL_BITS = 53
"""Binary digits of Sobol points, as many as a float holds; the sequence ends after 2⁵³ points."""


@dataclass(kw_only=True, eq=False)
class _RandomState(State):
    rng: np.random.Generator


@family("random-search", "RandomSearch")
class RandomSearch(Continuable[_RandomState]):
    """Evaluates independent points, uniform in the box, until it is stopped.

    It recommends the best point evaluated, a feasible one if there is any; see `Best`. With several objectives it
    recommends the nondominated points; see `Front`.

    Attributes:
        name: The optimizer's name.
    """

    one_by_one = True
    ends_steps = False
    switch_cost = 0

    name: str = "RandomSearch"

    def _init(self, space: Space, rng: np.random.Generator) -> _RandomState:
        return _RandomState(space=space, rng=rng)

    def _warm(self, state: _RandomState, start: WarmStart) -> None:
        """Do nothing: random search has no memory."""

    def _ask(self, state: _RandomState) -> FloatArray:
        space = state.space
        return state.rng.uniform(space.lower, space.upper, size=(BLOCK, space.dimension))


@dataclass(kw_only=True, eq=False)
class _SequenceState(State):
    sequence: Any


@family("quasi-random-search", "QuasiRandomSearch-{sequence}", scramble="not-scrambled")
class QuasiRandomSearch(Native[_SequenceState]):
    """Evaluates a low-discrepancy sequence of points in the box until it is stopped.

    A real variable is uniform between its bounds, an integer one uniform over the integers between them. With
    scrambling, every single point, including the first, is uniform in the box.
    It recommends the best point evaluated, a feasible one if there is any; see `Best`. With several objectives it
    recommends the nondominated points; see `Front`.

    Attributes:
        sequence: SOBOL, HALTON or LATIN_HYPERCUBE, in upper or lower case. Each Latin hypercube is one batch,
            independent of the others.
        batch: Number of points evaluated at once; for SOBOL, preferably a power of two. The points of SOBOL and HALTON
            do not depend on it; for LATIN_HYPERCUBE it is the size of each hypercube.
        scramble: Whether the sequence is randomized; otherwise it is the same in all runs. Without scrambling, the
            points of Latin hypercubes lie in the centres of the cells, but are still random.
        name: The optimizer's name; by default "QuasiRandomSearch", the sequence, and the fields that differ from their
            defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    ends_steps = False

    sequence: Annotated[str, choice(*SEQUENCES, LHS="LATIN_HYPERCUBE", LHC="LATIN_HYPERCUBE")] = "SOBOL"
    batch: Annotated[int, whole(1, 2**20)] = 64
    scramble: Flag = True
    name: str = ""

    def refuses(self, traits: Traits, dimension: int, /) -> str:  # noqa: ARG002 - other optimizers need it
        """The reason why it refuses problems of these traits and this dimension; empty if it accepts them."""
        if self.sequence != "SOBOL" or dimension <= GREATEST_SOBOL_DIMENSION:
            return ""
        return (
            f"the Sobol sequence has at most {GREATEST_SOBOL_DIMENSION} variables; the problem has {dimension}; "
            "use sequence='HALTON'"
        )

    def _init(self, space: Space, rng: np.random.Generator) -> _SequenceState:
        qmc: Any = importlib.import_module("scipy.stats.qmc")
        bits = {"bits": SOBOL_BITS} if self.sequence == "SOBOL" else {}
        sequence = getattr(qmc, SEQUENCES[self.sequence])(space.dimension, scramble=self.scramble, rng=rng, **bits)
        return _SequenceState(space=space, sequence=sequence)

    def _ask(self, state: _SequenceState) -> FloatArray:
        sequence, space = state.sequence, state.space
        if self.sequence == "SOBOL" and sequence.num_generated == 0 and self.batch & (self.batch - 1):
            # SciPy warns if the size of the first batch is not a power of two
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
        mask: (d,) mask of the integer variables; None if there are none.

    Returns:
        (m, d) points in the box; an integer variable takes each integer between its bounds for an equal part of [0, 1).
    """
    points = lower + units * (upper - lower)
    if mask is not None:
        low, high = np.ceil(lower[mask]), np.floor(upper[mask])
        points[:, mask] = np.minimum(low + np.floor(units[:, mask] * (high - low + 1)), high)
    return np.clip(points, lower, upper)

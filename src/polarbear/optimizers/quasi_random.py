"""Quasi-random search: points of low discrepancy in place of independent ones."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.optimizers.adapters import integers
from polarbear.optimizers.arguments import checked_keywords, flag, number, option, set_fields, told_name
from polarbear.optimizers.native import Native, Space, State

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polarbear.protocols import Traits
    from polarbear.records import FloatArray

SEQUENCES = {"SOBOL": "Sobol", "HALTON": "Halton", "LATIN_HYPERCUBE": "LatinHypercube"}
"""The sequences, with their classes in `scipy.stats.qmc`."""

GREATEST_SOBOL_DIMENSION = 21_201
"""Variables up to which direction numbers of the Sobol sequence are known (Joe and Kuo, 2008)."""

SOBOL_BITS = 53
"""Binary digits of Sobol points: all that a float has; the sequence ends after 2⁵³ points."""


@dataclass(kw_only=True, eq=False)
class _State(State):
    sequence: Any


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class QuasiRandomSearch(Native[_State]):
    """Evaluates points of low discrepancy in the box until it is stopped.

    A real variable is uniform between its ends, and an integer one uniform over the whole numbers between them. The
    first point is no special one: with scrambling, each point alone is uniform in the box.
    It recommends the best point it was told of, a feasible one if there is any; see `Best`. With several objectives it
    recommends the points that no other one dominates; see `Front`.

    Attributes:
        sequence: SOBOL, HALTON or LATIN_HYPERCUBE, in upper or lower case. Latin hypercubes are independent of each
            other, and each is one batch.
        batch: Points evaluated at once; for SOBOL best a power of two. Of SOBOL's and HALTON's points the batch has no
            influence; it is the size of LATIN_HYPERCUBE's hypercubes.
        scramble: Whether the sequence is randomized, the same for all runs otherwise. Latin hypercubes without it have
            their points in the cells' centres, and are random all the same.
        name: What it is called; by default "QuasiRandomSearch", the sequence, and what differs from the defaults.

    Raises:
        TypeError: If a keyword is unknown or has the wrong type.
        ValueError: If the sequence is unknown or the batch below 1; valid ones are listed.
    """

    sequence: str = "SOBOL"
    batch: int = 64
    scramble: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        sequence = option(self.sequence, "sequence", SEQUENCES, {"LHS": "LATIN_HYPERCUBE", "LHC": "LATIN_HYPERCUBE"})
        set_fields(self, {"sequence": sequence, "batch": number(self.batch, "batch", 1, 2**20, whole=True)})
        flag(self.scramble, "scramble")

    def _default_name(self) -> str:
        name = told_name(self, f"QuasiRandomSearch-{self.sequence}", "sequence", "scramble")
        return name if self.scramble else f"{name}-not-scrambled"

    def refuses(self, traits: Traits, dimension: int, /) -> str:  # noqa: ARG002 - other optimizers need it
        """Why it takes no problem of these traits and so many variables; empty if it takes them."""
        if self.sequence != "SOBOL" or dimension <= GREATEST_SOBOL_DIMENSION:
            return ""
        return (
            f"the Sobol sequence has at most {GREATEST_SOBOL_DIMENSION} variables; the problem has {dimension}; "
            "take sequence='HALTON'"
        )

    def _begin(self, space: Space, rng: np.random.Generator) -> _State:
        qmc: Any = importlib.import_module("scipy.stats.qmc")
        more = {"bits": SOBOL_BITS} if self.sequence == "SOBOL" else {}
        made = getattr(qmc, SEQUENCES[self.sequence])(space.dimension, scramble=self.scramble, rng=rng, **more)
        return _State(space=space, sequence=made)

    def _next(self, state: _State) -> FloatArray:
        sequence, space = state.sequence, state.space
        if self.sequence == "SOBOL" and sequence.num_generated == 0 and self.batch & (self.batch - 1):
            # it warns where the first batch is no power of two
            units = np.concatenate((sequence.random(1), sequence.random(self.batch - 1)))
        else:
            units = sequence.random(self.batch)
        return in_box(units, space.lower, space.upper, integers(space))


def in_box(units: FloatArray, lower: FloatArray, upper: FloatArray, mask: NDArray[np.bool_] | None) -> FloatArray:
    """Bring points of the unit cube into a box.

    Args:
        units: (m, d) points in [0, 1)^d.
        lower: (d,) lower ends.
        upper: (d,) upper ends.
        mask: (d,) which variables take whole numbers; None: none.

    Returns:
        (m, d); a whole variable takes each whole number between its ends for an equal part of [0, 1).
    """
    points = lower + units * (upper - lower)
    if mask is not None:
        low, high = np.ceil(lower[mask]), np.floor(upper[mask])
        points[:, mask] = np.minimum(low + np.floor(units[:, mask] * (high - low + 1)), high)
    return np.clip(points, lower, upper)

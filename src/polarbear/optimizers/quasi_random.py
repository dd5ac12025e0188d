"""Quasi-random search: points of low discrepancy in place of independent ones."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.optimizers.adapters import Best, Front, check_taken, constraints, integers, objectives
from polarbear.optimizers.arguments import checked_keywords, flag, number, option
from polarbear.optimizers.telemetry import recommend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from polarbear.protocols import Objective, Traits
    from polarbear.records import FloatArray

SEQUENCES = {"SOBOL": "Sobol", "HALTON": "Halton", "LATIN_HYPERCUBE": "LatinHypercube"}
"""The sequences, with their classes in `scipy.stats.qmc`."""

GREATEST_SOBOL_DIMENSION = 21_201
"""Variables up to which direction numbers of the Sobol sequence are known (Joe and Kuo, 2008)."""

SOBOL_BITS = 53
"""Binary digits of Sobol points: all that a float has; the sequence ends after 2⁵³ points."""


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class QuasiRandomSearch:
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
        object.__setattr__(self, "sequence", sequence)
        object.__setattr__(self, "batch", number(self.batch, "batch", 1, 2**20, whole=True))
        flag(self.scramble, "scramble")
        if not self.name:
            parts = [f"batch={self.batch}"] if self.batch != QuasiRandomSearch.batch else []
            parts += [] if self.scramble else ["not-scrambled"]
            object.__setattr__(self, "name", "-".join(["QuasiRandomSearch", sequence, *parts]))

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Search until the problem stops it.

        Raises:
            ValueError: If the problem has more variables than the sequence.
        """
        check_taken(self, problem)
        source = self._source(problem.dimension, rng)
        lower, upper = np.asarray(problem.lower), np.asarray(problem.upper)
        mask = integers(problem)
        one_by_one = constraints(problem) is not None
        best, front = Best(problem), Front(problem) if objectives(problem) > 1 else None
        recommend(problem, best.recommended if front is None else front.recommended)
        while True:
            points = in_box(self._next(source), lower, upper, mask)
            for asked in points if one_by_one else (points,):
                told = problem(asked)
                if front is not None:
                    front.keep(asked, told)
                elif np.min(told) < best.bar:
                    best.keep(asked if one_by_one else points[np.argmin(told)], float(np.min(told)))

    def refuses(self, traits: Traits, dimension: int, /) -> str:  # noqa: ARG002 - other optimizers need it
        """Why it takes no problem of these traits and so many variables; empty if it takes them."""
        if self.sequence != "SOBOL" or dimension <= GREATEST_SOBOL_DIMENSION:
            return ""
        return (
            f"the Sobol sequence has at most {GREATEST_SOBOL_DIMENSION} variables; the problem has {dimension}; "
            "take sequence='HALTON'"
        )

    def _source(self, dimension: int, rng: np.random.Generator) -> Any:
        qmc: Any = importlib.import_module("scipy.stats.qmc")
        more = {"bits": SOBOL_BITS} if self.sequence == "SOBOL" else {}
        return getattr(qmc, SEQUENCES[self.sequence])(dimension, scramble=self.scramble, rng=rng, **more)

    def _next(self, source: Any) -> FloatArray:
        """The next (batch, d) points in the unit cube."""
        if self.sequence != "SOBOL":
            return source.random(self.batch)
        warned = source.num_generated == 0 and self.batch & (self.batch - 1)
        first = source.random(1) if warned else None  # it warns where the first batch is no power of two
        rest = source.random(self.batch - 1) if warned else source.random(self.batch)
        return rest if first is None else np.concatenate((first, rest))


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

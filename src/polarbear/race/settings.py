"""The choices that make a race."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from polarbear.inference import Posterior, Wins
from polarbear.records import Axis, check_axis

Elimination = Literal["pointwise", "joint"]
Resolution = Literal["strict", "crossing"]
Compared = Literal["ratings", "wins"]
Batches = Literal["doubling", "forecast"]


@dataclass(frozen=True)
class RaceSettings:
    """The choices that make a race, apart from its algorithms, timepoints and model, and their defaults.

    Attributes:
        alpha: Decision threshold α in (0.5, 1]: the posterior probability at which a relation is decided.
        epsilon: ε in [0, 0.5): win probabilities within 0.5 ± ε count as equivalent.
        elimination: "pointwise" (eq. 27) or "joint" (eq. 28; by ratings it needs a model with a joint posterior over
            time).
        resolution: "strict" (eq. 30) or "crossing" (eq. 31: enough for membership of the Pareto set).
        relations: What algorithms are compared by: "ratings", or "wins", the share of instances on which one beats the
            other, with no model in between.
        axis: What timepoints are counted in, "evaluations" or "seconds".
        batches: How many instances the next round has: "doubling", twice as many when no pair was resolved, half as
            many when more than a fifth were (section 4.3), or by "forecast" a quarter of those it would take until
            a pair is resolved or needs shorter runs.
        batch: Instances in the first round.
        smallest_batch: Lower limit of the adaptive batch size.
        largest_batch: Upper limit of the adaptive batch size.
        draws: Posterior draws.
        precision: Values that agree after rounding to multiples of this tie; None: only equal values tie.
        seed: Non-negative; all randomness of the race derives from it.
    """

    alpha: float = 0.99
    epsilon: float = 0.05
    elimination: Elimination = "pointwise"
    resolution: Resolution = "strict"
    relations: Compared = "ratings"
    axis: Axis = "evaluations"
    batches: Batches = "doubling"
    batch: int = 8
    smallest_batch: int = 8
    largest_batch: int = 128
    draws: int = 4000
    precision: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch", "smallest_batch", "largest_batch", "draws", "seed"):
            object.__setattr__(self, name, _whole(name, getattr(self, name)))
        if not 0.5 < self.alpha <= 1:
            raise ValueError(f"alpha is {self.alpha!r}; a decision threshold lies in (0.5, 1]")
        if not 0 <= self.epsilon < 0.5:
            raise ValueError(f"epsilon is {self.epsilon!r}; the region of equivalence needs 0 <= epsilon < 0.5")
        for name, choice, choices in (
            ("elimination", self.elimination, get_args(Elimination)),
            ("resolution", self.resolution, get_args(Resolution)),
            ("relations", self.relations, get_args(Compared)),
            ("batches", self.batches, get_args(Batches)),
        ):
            if choice not in choices:
                raise ValueError(f"{name} is {choice!r}; choose one of {', '.join(choices)}")
        check_axis(self.axis)
        if not 1 <= self.smallest_batch <= self.batch <= self.largest_batch:
            raise ValueError(
                f"smallest_batch is {self.smallest_batch!r}, batch {self.batch!r}, largest_batch "
                f"{self.largest_batch!r}; they need 1 <= smallest_batch <= batch <= largest_batch"
            )
        if self.draws < 100:
            raise ValueError(f"draws is {self.draws!r}; at least 100 posterior draws are needed")
        if self.precision is not None and not 0 < self.precision < np.inf:
            raise ValueError(f"precision is {self.precision!r}; it is a positive number, or None")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed!r}; seeds are not negative")

    def compared(self, posterior: Posterior) -> Posterior | Wins:
        """What the race's relations are statements about: the ratings, or who beat whom."""
        return posterior if self.relations == "ratings" else posterior.known_wins


def _whole(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; it must be a whole number") from None

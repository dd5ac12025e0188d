"""Rankings as the Plackett–Luce model would have them, on the instances that were run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.checking.outcomes import Outcomes, Repetition
from polarbear.records import FloatArray

_HALVINGS = 8
_FEWEST_INSTANCES = 200
"""The persistence of noise is found from replicates of so many instances in all."""


@dataclass(frozen=True, slots=True, eq=False)
class Replicator:
    """Draws rankings anew: the same algorithms run on the same instances at the same timepoints, and ties stay ties.

    At each timepoint utilities are log-ratings plus standard Gumbel noise, independent over instances and algorithms,
    so that each ranking is exactly a Plackett–Luce one. From one timepoint to the next each algorithm keeps its noise
    on an instance with a probability, its persistence; else it is drawn afresh. Where some tie, the values that were
    observed are dealt out in the order of the utilities, so that the places that tied tie again.

    Attributes:
        outcomes: What was observed.
        tied: (T, P) whether a ranking has ties.
        order: (·, n) the observed values of each of those rankings in increasing order, NaN last.
        alone: (·, n) whether nobody shares the place.
        persistence: From 0, independent timepoints, to 1.
    """

    outcomes: Outcomes
    tied: NDArray[np.bool_]
    order: FloatArray
    alone: NDArray[np.bool_]
    persistence: float

    @classmethod
    def of(cls, outcomes: Outcomes, persistence: float = 0.0) -> Replicator:
        """Replicates of what was observed."""
        tied = (outcomes.alone != outcomes.present).any(axis=2)
        values, alone = outcomes.values[tied], outcomes.alone[tied]
        places = np.argsort(values, axis=1)
        order, alone = np.take_along_axis(values, places, axis=1), np.take_along_axis(alone, places, axis=1)
        return cls(outcomes, tied, order, alone, persistence)

    def won(self, log_theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """(T, P, K) who won in a replicate with log-ratings (T, n)."""
        shape = self.outcomes.values.shape
        noise = rng.gumbel(size=shape)
        if self.persistence > 0:
            kept = rng.random((shape[0] - 1, *shape[1:])) < self.persistence
            for t in range(1, shape[0]):
                np.copyto(noise[t], noise[t - 1], where=kept[t - 1])
        alone = self.outcomes.present
        cost = np.where(alone, -(noise + log_theta[:, np.newaxis]), np.nan)
        if self.tied.any():
            place = np.argsort(np.argsort(cost[self.tied], axis=1), axis=1)
            cost[self.tied] = np.take_along_axis(self.order, place, axis=1)
            alone[self.tied] = np.take_along_axis(self.alone, place, axis=1)
        return self.outcomes.won(cost, alone)


def persistent(outcomes: Outcomes, log_theta: FloatArray, rng: np.random.Generator) -> Replicator:
    """Replicates in which the timepoints repeat each other as much as was observed, found by bisection."""
    goal = Repetition.of(outcomes.observed()).factor
    seeds = rng.integers(1 << 63, size=max(1, _FEWEST_INSTANCES // outcomes.values.shape[1]))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        trial = Replicator.of(outcomes, middle)
        drawn = [trial.won(log_theta, np.random.default_rng(seed)) for seed in seeds]
        factor = np.mean([Repetition.of(won).factor for won in drawn])
        low, high = (middle, high) if factor < goal else (low, middle)
    return Replicator.of(outcomes, low)

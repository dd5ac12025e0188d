"""The Plackett–Luce log-likelihood at one timepoint, fast for many ratings at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.likelihood.choice_sets import ChoiceSets, choice_sets
from polarbear.inference.likelihood.large_ties import TieTerms
from polarbear.rankings import ChoiceCounts, set_sizes
from polarbear.records import FloatArray

_SMALLEST = -700.0
"""Exponentials of log-ratings below this underflow; sums of nothing else are therefore computed in logarithms."""


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Wins and choice-set counts at one timepoint, and a symmetric Dirichlet prior.

    A Dirichlet prior with parameter α amounts to additional choices, α wins for each algorithm from the whole set,
    because the density of log-ratings under it is Π_i θ_i^α.

    Attributes:
        wins: (n,) how often each algorithm was chosen, plus α.
        sets: The s choice sets, without the set of all algorithms.
        counts: (s,) how often each set was chosen from.
        whole: How often the set of all algorithms was chosen from, not including the prior's n α.
        alpha: The prior's parameter α.
        ties: Large ties, whose choices neither `wins` nor `counts` include.
    """

    wins: FloatArray
    sets: ChoiceSets
    counts: FloatArray
    whole: float
    alpha: float
    ties: TieTerms

    @property
    def total(self) -> float:
        """How often the set of all algorithms was chosen from, including the prior's n α."""
        return self.whole + self.wins.size * self.alpha

    @classmethod
    def at(cls, counts: ChoiceCounts, timepoint: int, alpha: float) -> Choices:
        """The choices at one timepoint of `counts`, with a Dirichlet prior."""
        wins, masks, amounts = counts.at(timepoint)
        whole = set_sizes(masks) == wins.size
        sets, order = choice_sets(masks[~whole], wins.size)
        ties = TieTerms.at(counts.ties, timepoint, wins.size)
        return cls(wins + alpha, sets, amounts[~whole][order], float(amounts[whole].sum()), alpha, ties)

    def groups(self) -> list[NDArray[np.intp]]:
        """Groups of algorithms that rankings connect, directly or through others."""
        label = np.arange(self.wins.size)
        if self.whole > 0:
            return [label]
        for members in (*self.sets.connected(), *(self.ties.tied | self.ties.below)):
            label[np.isin(label, label[members])] = label[members][0]
        return [np.flatnonzero(label == group) for group in np.unique(label)]

    def of_algorithms(self, chosen: NDArray[np.intp]) -> Choices:
        """The choices from one of the `groups`, or from all algorithms in another order."""
        sizes = self.sets.sizes_among(chosen)
        part = (sizes > 0) & (sizes < chosen.size)
        return Choices(
            self.wins[chosen],
            self.sets.among(chosen, part),
            self.counts[part],
            self.whole + float(self.counts[sizes == chosen.size].sum()),
            self.alpha,
            self.ties.of_algorithms(chosen),
        )

    def log_density(self, log_theta: FloatArray) -> FloatArray:
        """The log-density (D,) of log-ratings (n, D) whose ratings sum to 1, up to a constant."""
        density = self.wins @ log_theta
        theta = np.exp(np.maximum(log_theta, _SMALLEST))
        for draws, terms in self.sets.weighted_log_sums(theta, self.counts):
            density[draws] -= terms
        if (faint := log_theta.min(axis=0) < _SMALLEST).any():
            log_faint = log_theta[:, faint]
            density[faint] = self.wins @ log_faint - self.sets.log_sums(log_faint.T) @ self.counts
        return density + self.ties.value(log_theta[np.newaxis], theta[np.newaxis])


def normalized(log_ratings: FloatArray) -> FloatArray:
    """(..., n) log-ratings whose ratings sum to 1."""
    top = log_ratings.max(axis=-1, keepdims=True)
    return log_ratings - (top + np.log(np.exp(log_ratings - top).sum(axis=-1, keepdims=True)))

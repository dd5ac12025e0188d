"""The Plackett–Luce log-likelihood at one timepoint, fast for many ratings at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.likelihood.choice_sets import ChoiceSets, choice_sets
from polarbear.inference.likelihood.large_ties import TieTerms
from polarbear.rankings import ChoiceCounts, set_sizes
from polarbear.records import FloatArray

_LEAST = -700.0
"""The exponentials of log-ratings below this vanish. They matter in sums of such alone, which are taken apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Wins and choice-set counts at one timepoint, and a symmetric Dirichlet prior.

    A Dirichlet prior with parameter α is one more set of choices, α wins for each algorithm, all chosen from the
    whole set, because the density of log-ratings under it is Π_i θ_i^α.

    Attributes:
        wins: (n,) how often each algorithm was chosen, and α.
        sets: The s choice sets; the set of all algorithms is left out.
        counts: (s,) how often each of them was chosen from.
        whole: How often the set of all algorithms was chosen from, the prior's n α left out.
        alpha: The prior's parameter α.
        ties: Ties of so many algorithms that their choices are in neither `wins` nor `counts`.
    """

    wins: FloatArray
    sets: ChoiceSets
    counts: FloatArray
    whole: float
    alpha: float
    ties: TieTerms

    @property
    def total(self) -> float:
        """How often the set of all algorithms was chosen from, the prior's n α among them."""
        return self.whole + self.wins.size * self.alpha

    @classmethod
    def at(cls, counts: ChoiceCounts, timepoint: int, alpha: float) -> Choices:
        """The choices at one timepoint of `counts`, with a Dirichlet prior."""
        wins, sets, amounts = counts.at(timepoint)
        whole = set_sizes(sets) == wins.size
        parts, order = choice_sets(sets[~whole], wins.size)
        return cls(
            wins=wins + alpha,
            sets=parts,
            counts=amounts[~whole][order],
            whole=float(amounts[whole].sum()),
            alpha=alpha,
            ties=TieTerms.at(counts.ties, timepoint, wins.size),
        )

    def groups(self) -> list[NDArray[np.intp]]:
        """The algorithms that rankings connect, directly or through others, group by group."""
        if self.whole > 0:
            return [np.arange(self.wins.size)]
        label = np.arange(self.wins.size)
        for met in (*self.sets.connected(), *(self.ties.tied | self.ties.below)):
            label[np.isin(label, label[met])] = label[met][0]
        return [np.flatnonzero(label == one) for one in np.unique(label)]

    def within(self, group: NDArray[np.intp]) -> Choices:
        """The choices from members of one of the `groups`."""
        size = self.sets.sizes_among(group)
        whole, part = size == group.size, (size > 0) & (size < group.size)
        return Choices(
            self.wins[group],
            self.sets.among(group, part),
            self.counts[part],
            float(self.counts[whole].sum()),
            self.alpha,
            self.ties.of_algorithms(group),
        )

    def ordered(self, order: NDArray[np.intp]) -> Choices:
        """The same choices, algorithms in another order."""
        return replace(self, wins=self.wins[order], sets=self.sets.ordered(order), ties=self.ties.of_algorithms(order))

    def log_density(self, log_theta: FloatArray) -> FloatArray:
        """The log-density (D,) of log-ratings (n, D) whose ratings sum to 1, up to a constant."""
        density = self.wins @ log_theta
        theta = np.exp(np.maximum(log_theta, _LEAST))
        self.sets.subtract_logarithms(density, theta, self.counts)
        if (faint := log_theta.min(axis=0) < _LEAST).any():
            below = self.wins @ log_theta[:, faint]
            self.sets.subtract_faint(below, log_theta[:, faint], self.counts)
            density[faint] = below
        return density + self.ties.value(log_theta[np.newaxis], theta[np.newaxis])

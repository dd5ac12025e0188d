"""Who beats whom, and who is first: shares of instances, inferred without a model of the rankings.

Instances are independent draws from an unknown distribution. Its posterior is the Bayesian bootstrap (Rubin 1981):
instance p has a weight ξ_p ~ Exponential(1), the same at all timepoints, so that repeated outcomes are not new
evidence. A priori each algorithm has won γ ~ Gamma(α) comparisons with each other algorithm. If two algorithms were
compared without ties, the probability that i beats j at t is Beta(α + wins, α + losses), as under the Plackett–Luce
model; a tie is half a win for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.sampling.settings import Seed
from polarbear.rankings import Rankings
from polarbear.records import FloatArray

_TINY = np.finfo(np.float32).tiny
_Weights = tuple[NDArray[np.float32], NDArray[np.float32]]
_PAIRS_AT_ONCE = 1 << 11
"""Number of pairs computed together: about all pairs of 64 algorithms."""


@dataclass(frozen=True, slots=True, eq=False)
class Wins:
    """Draws of the probability that one algorithm beats another, or all others, on a new instance.

    Each comparison involves two algorithms only, on all instances on which both ran up to the timepoint. So A may beat
    B, B beat C, and C beat A, which ratings rule out.

    Attributes:
        instances: The rankings of n algorithms at T timepoints.
        draws: Number of draws D.
        seed: Seed of the weights, which are the same for every query, so that draws are joint across queries.
        alpha: α > 0, the expected number of comparisons each algorithm has won a priori.
    """

    instances: Rankings
    draws: int
    seed: Seed
    alpha: float = 1.0

    def probability(self, i: int, j: int) -> FloatArray:
        """(D, T) draws of the probability that i beats j; a tie counts half."""
        return self._probability(i, j, self._weights())

    def log_ratio(self, i: int, j: int) -> FloatArray:
        """(D, T) draws of the log-odds of i against j."""
        return self.log_ratios()(i, j)

    def log_ratios(self) -> Callable[[int, int], FloatArray]:
        """`log_ratio` for many pairs."""
        weights = self._weights()

        def log_ratio(i: int, j: int) -> FloatArray:
            share = self._probability(i, j, weights)
            return np.log(np.maximum(share, _TINY)) - np.log(np.maximum(1.0 - share, _TINY))

        return log_ratio

    def first(self, among: NDArray[np.intp]) -> FloatArray:
        """(D, T, k) draws of the probability that each of k algorithms is the best of them; ties share first place.

        Only instances on which all of them ran up to the timepoint count.
        """
        weights, prior = self._weights()
        probability = np.empty((self.instances.ranks.shape[1], among.size, self.draws))
        for t, shares in enumerate(probability):
            ranks = self.instances.ranks[:, t, among]
            best = ranks == ranks.min(axis=1, keepdims=True)
            known = (ranks >= 0).all(axis=1) & (ranks.min(axis=1) < self.instances.unordered)
            won = self.instances.group_sums(best * (known / best.sum(axis=1))[:, np.newaxis])
            shares[:] = won.T @ weights + prior[among]
            shares /= shares.sum(axis=0)
        return probability.transpose(2, 0, 1)

    def pairwise_probabilities(self) -> FloatArray:
        """(T, n, n) P(i beats j with a probability above one half); exactly one half counts half."""
        better = self._over_pairs(0.5, lambda share: 0.5 * ((share > 0.5).mean(axis=1) + (share >= 0.5).mean(axis=1)))
        lower = np.tri(better.shape[1], k=-1, dtype=bool)
        return np.where(lower, 1.0 - better, better)

    def equivalence_probabilities(self, epsilon: float) -> FloatArray:
        """(T, n, n) P(the probability that i beats j is within ε of one half) (eq. 26)."""
        return self._over_pairs(1.0, lambda share: (np.abs(share - 0.5) <= epsilon).mean(axis=1))

    def dominance_probabilities(self) -> FloatArray:
        """(n, n) P(i beats j with a probability above one half at all timepoints) (eq. 24)."""
        dominates, weights = np.zeros((self.instances.ranks.shape[2],) * 2), self._weights()
        for i, j in self._pairs():
            dominates[i, j], dominates[j, i] = (always.mean(axis=1) for always in self._always(i, j, weights))
        return dominates

    def false_elimination(self, eliminated: Sequence[int], by: Sequence[int]) -> float:
        """P(at least one eliminated algorithm is dominated, as in `dominance_probabilities`, by none of `by`)."""
        erroneous, weights = np.zeros(self.draws, bool), self._weights()
        for some in np.array_split(np.array(eliminated), 1 + len(eliminated) * len(by) // (2 * _PAIRS_AT_ONCE)):
            losers, rivals = (each.ravel() for each in np.meshgrid(some, by, indexing="ij"))
            beaten = self._always(rivals, losers, weights)[0] & (rivals != losers)[:, np.newaxis]
            erroneous |= (~beaten.reshape(len(some), len(by), self.draws).any(axis=1)).any(axis=0)
        return float(erroneous.mean())

    def _probability(self, i: int, j: int, weights: _Weights) -> FloatArray:
        shares = self._over_time(np.array([i]), np.array([j]), weights)
        return np.stack([share[0] for share in shares], axis=1, dtype=np.float64)

    def _always(
        self, i: NDArray[np.intp], j: NDArray[np.intp], weights: _Weights
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(K, D) whether i, and whether j, beats the other with a probability above one half at all timepoints."""
        ahead, behind = np.ones((2, i.size, self.draws), bool)
        for share in self._over_time(i, j, weights):
            ahead &= share > 0.5
            behind &= share < 0.5
        return ahead, behind

    def _over_pairs(self, diagonal: float, mean: Callable[[NDArray[np.float32]], FloatArray]) -> FloatArray:
        """(T, n, n) symmetric: for each pair a mean over draws (K, D) of the probability that i beats j."""
        _, timepoints, n = self.instances.ranks.shape
        result, weights = np.broadcast_to(diagonal * np.eye(n), (timepoints, n, n)).copy(), self._weights()
        for i, j in self._pairs():
            for t, share in enumerate(self._over_time(i, j, weights)):
                result[t, i, j] = result[t, j, i] = mean(share)
        return result

    def _over_time(self, i: NDArray[np.intp], j: NDArray[np.intp], sampled: _Weights) -> Iterator[NDArray[np.float32]]:
        """At each timepoint (K, D) draws of the probability that i beats j, for K pairs."""
        weights, prior = sampled
        for t in range(self.instances.ranks.shape[1]):
            first, second = self.instances.ranks[:, t, i], self.instances.ranks[:, t, j]
            both = (first >= 0) & (second >= 0) & (np.minimum(first, second) < self.instances.unordered)
            won = np.where(both, (first < second) + 0.5 * (first == second), 0.0)
            both = both[:, :1] if both.all() else both  # then all pairs share one sum
            wins, comparisons = (
                self.instances.group_sums(count).astype(np.float32).T @ weights for count in (won, both.astype(float))
            )
            yield np.asarray((wins + prior[i]) / (comparisons + prior[i] + prior[j]), np.float32)

    def _weights(self) -> _Weights:
        """(G, D) weights of groups of instances, and (n, D) prior wins."""
        rng, groups = self.seed.generator(), self.instances.units
        prior = rng.standard_gamma(self.alpha, (self.instances.ranks.shape[2], self.draws), np.float32)
        return rng.standard_exponential((groups, self.draws), np.float32), np.maximum(prior, _TINY)

    def _pairs(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """All pairs, a limited number at a time."""
        first, second = np.triu_indices(self.instances.ranks.shape[2], 1)
        for start in range(0, first.size, _PAIRS_AT_ONCE):
            some = slice(start, start + _PAIRS_AT_ONCE)
            yield first[some], second[some]

"""Who beat whom on each instance, and the statistics that checks look at."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polarbear.records import FloatArray

_FEWEST_ON_A_SIDE = 5
"""An algorithm's presence is compared with its absence at timepoints with so many instances of both kinds."""
_LEAST = -300.0
"""Log-ratings are held this close to the largest."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Who met whom: T timepoints, P instances, n algorithms and their K = n (n − 1) / 2 pairs.

    What is drawn anew in a replicate, who won, is kept apart: as an array `won` (T, P, K) of 1 where the first of a
    pair won, ½ where they tie, 0 where the second won or one of them was not run.

    Attributes:
        values: (T, P, n) lower is better, NaN where not run.
        first: (K,) the first algorithm of each pair.
        second: (K,) the second.
        present: (T, P, n) whether it ran.
        met: (T, P, K) 1 where both ran, else 0.
    """

    values: FloatArray
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    present: NDArray[np.bool_]
    met: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Outcomes:
        """From values (P, T, n)."""
        cells = np.ascontiguousarray(values.transpose(1, 0, 2))
        present = ~np.isnan(cells)
        first, second = np.triu_indices(cells.shape[2], k=1)
        return cls(cells, first, second, present, (present[..., first] & present[..., second]).astype(np.float64))

    @property
    def algorithms(self) -> int:
        """Number of algorithms n."""
        return self.values.shape[2]

    @property
    def contrast(self) -> FloatArray:
        """(K, n) 1 for the first algorithm of a pair, −1 for the second."""
        pairs, found = np.arange(self.first.size), np.zeros((self.first.size, self.algorithms))
        found[pairs, self.first], found[pairs, self.second] = 1.0, -1.0
        return found

    def won(self, values: FloatArray) -> FloatArray:
        """(T, P, K) who won, by values (T, P, n)."""
        ours, theirs = values[..., self.first], values[..., self.second]
        return ((ours < theirs) + 0.5 * (ours == theirs)) * self.met

    def crowded(self) -> FloatArray:
        """(T, P) 1 where three algorithms or more ran: the order of two says nothing but who won."""
        return (self.present.sum(axis=2) >= 3).astype(np.float64)


def tied_share(values: FloatArray) -> FloatArray:
    """(T,) share of all comparisons of two algorithms that are ties, by values (P, T, n); 0 if there are none."""
    ties, met = np.zeros((2, values.shape[1]))
    for first, second in combinations(np.moveaxis(values, 2, 0), 2):
        ties += (first == second).sum(axis=0)
        met += (~(np.isnan(first) | np.isnan(second))).sum(axis=0)
    return ties / np.maximum(met, 1.0)


class Statistic(Protocol):
    """Numbers that a check looks at, such as one for each pair; NaN where the data say nothing."""

    def __call__(self, won: FloatArray) -> FloatArray:
        """(M,) from who won (T, P, K)."""
        ...


class WinRates:
    """(K,) how much more often the first of each pair won than its ratings say."""

    def __init__(self, outcomes: Outcomes, expected: FloatArray) -> None:
        self._expected = (outcomes.met * expected[:, np.newaxis]).sum(axis=(0, 1))
        self._meetings = outcomes.met.sum(axis=(0, 1))

    @property
    def rates(self) -> FloatArray:
        """(K,) how often the first of each pair should win by the ratings."""
        return _share(self._expected, self._meetings)

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        return _share(won.sum(axis=(0, 1)) - self._expected, self._meetings)


class RankCorrelations:
    """(K,) correlation of the ranks of each pair over the instances on which three algorithms or more ran.

    Ranks are taken relative to their mean at the timepoint, given who ran.
    """

    def __init__(self, outcomes: Outcomes, expected: FloatArray) -> None:
        self._outcomes = outcomes
        self._expected = outcomes.met * expected[:, np.newaxis]
        self._ranked = outcomes.present * outcomes.crowded()[..., np.newaxis]
        self._number = np.maximum(self._ranked.sum(axis=1, keepdims=True), 1.0)
        self._both = self._ranked[..., outcomes.first] * self._ranked[..., outcomes.second]
        self._contrast = outcomes.contrast

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        beaten = ((won - self._expected) @ self._contrast) * self._ranked
        beaten -= beaten.sum(axis=1, keepdims=True) / self._number * self._ranked
        first, second = beaten[..., self._outcomes.first], beaten[..., self._outcomes.second]
        together = np.einsum("tpk,tpk->k", first, second)
        squares = [np.einsum("tpk,tpk,tpk->k", one, one, self._both) for one in (first, second)]
        return _share(together, np.sqrt(squares[0] * squares[1]))


class IrrelevantAlternatives:
    """(K · n,) how much more often the first of each pair won where a third algorithm ran than where it did not.

    At timepoints with five instances of both kinds, relative to what ratings say there.
    """

    def __init__(self, outcomes: Outcomes, expected: FloatArray) -> None:
        pairs = np.arange(outcomes.first.size)
        ranked = (outcomes.present.sum(axis=2) >= 2)[..., np.newaxis]
        there, gone = outcomes.present & ranked, ~outcomes.present & ranked
        enough = np.minimum(there.sum(axis=1), gone.sum(axis=1)) >= _FEWEST_ON_A_SIDE
        self._with = (there & enough[:, np.newaxis]).astype(np.float64)
        self._without = (gone & enough[:, np.newaxis]).astype(np.float64)
        self._expected = outcomes.met * expected[:, np.newaxis]
        self._sizes = [self._summed(outcomes.met, side) for side in (self._with, self._without)]
        for size in self._sizes:
            size[size < _FEWEST_ON_A_SIDE] = 0.0
            size[pairs, outcomes.first] = size[pairs, outcomes.second] = 0.0

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        excess = won - self._expected
        sides = zip((self._with, self._without), self._sizes, strict=True)
        rates = [_share(self._summed(excess, side), size) for side, size in sides]
        return (rates[0] - rates[1]).ravel()

    @staticmethod
    def _summed(by_pair: FloatArray, side: FloatArray) -> FloatArray:
        """(K, n) sum over timepoints and instances on one side."""
        return by_pair.reshape(-1, by_pair.shape[2]).T @ side.reshape(-1, side.shape[2])


class NoiseShape:
    """(1,) by how much the Plackett–Luce model describes a ranking better than its reversal does, in log-likelihood.

    The reversal takes rankings for choices of the worst, the second worst, …, with ratings 1/θ. Its win probabilities
    of pairs are the same. Under Gumbel noise the Plackett–Luce model is better, under the mirror image of Gumbel noise
    the reversal, and under symmetric noise neither. Who ties counts half in the sets chosen from.
    """

    def __init__(self, outcomes: Outcomes, log_theta: FloatArray) -> None:
        self._crowded = outcomes.crowded()
        self._rankings = np.array([self._crowded.sum()])
        self._forward, self._backward = _Choices(outcomes, log_theta), _Choices(outcomes, -log_theta)
        self._met = outcomes.met

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        lost = self._met - won
        better = self._forward.log_likelihood(won, lost) - self._backward.log_likelihood(lost, won)
        return _share(np.array([(better * self._crowded).sum()]), self._rankings)


class Agreement:
    """(1,) correlation of who won on the same instance at successive timepoints, given the mean at each."""

    def __init__(self, outcomes: Outcomes) -> None:
        self._met = outcomes.met

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        return np.array([Repetition.of(won, self._met).agreement])


@dataclass(frozen=True, slots=True)
class Repetition:
    """How much the outcomes on the same instance at T timepoints repeat each other; sums add up over pairs.

    Attributes:
        squares: Sum of squares of the outcomes, relative to their mean over the instances at each timepoint.
        together: Sum of squares of their sums over the timepoints.
        products: Sum of their products with those at the next timepoint, where the pair met at both.
        earlier: Sum of squares of the one factor.
        later: And of the other.
    """

    squares: float = 0.0
    together: float = 0.0
    products: float = 0.0
    earlier: float = 0.0
    later: float = 0.0

    @classmethod
    def of(cls, won: FloatArray, met: FloatArray) -> Repetition:
        """From who won and who met (T, P, K)."""
        rates = _share(won.sum(axis=1, keepdims=True), met.sum(axis=1, keepdims=True))
        excess = np.where(met > 0, won - rates, 0.0)
        total, both = excess.sum(axis=0), met[1:] * met[:-1]
        earlier, later = excess[:-1] * both, excess[1:] * both
        pairs = ((excess, excess), (total, total), (earlier, later), (earlier, earlier), (later, later))
        return cls(*(float(np.vdot(one, other)) for one, other in pairs))

    @classmethod
    def over(cls, values: FloatArray) -> Repetition:
        """From values (P, T, n), pair by pair to save memory."""
        found = cls()
        for first, second in combinations(range(values.shape[2]), 2):
            pair = Outcomes.of(values[:, :, [first, second]])
            one = cls.of(pair.won(pair.values), pair.met)
            found = cls(*(getattr(found, field.name) + getattr(one, field.name) for field in fields(cls)))
        return found

    @property
    def agreement(self) -> float:
        """Correlation of the outcomes at neighbouring timepoints; NaN if they never differ."""
        scale = np.sqrt(self.earlier * self.later)
        return self.products / scale if scale > 0 else float("nan")

    @property
    def factor(self) -> float:
        """How many timepoints say what one independent one would, from 1 to T (the design effect)."""
        return self.together / self.squares if self.squares > 0 else 1.0


class _Choices:
    """Rankings as choices of the best of all, of the rest, and so on, at T timepoints."""

    def __init__(self, outcomes: Outcomes, log_theta: FloatArray) -> None:
        pairs = np.arange(outcomes.first.size)
        self._log_theta = np.maximum(log_theta - log_theta.max(axis=1, keepdims=True), _LEAST)
        self._theta = np.exp(self._log_theta)
        self._below_first, self._below_second = np.zeros((2, len(log_theta), pairs.size, outcomes.algorithms))
        self._below_first[:, pairs, outcomes.first] = self._theta[:, outcomes.second]
        self._below_second[:, pairs, outcomes.second] = self._theta[:, outcomes.first]

    def log_likelihood(self, won: FloatArray, lost: FloatArray) -> FloatArray:
        """(T, P) log-likelihood of each ranking, by who won and who lost (T, P, K)."""
        chosen_from = won @ self._below_first
        chosen_from += lost @ self._below_second
        chosen_from += self._theta[:, np.newaxis]
        return (self._log_theta[:, np.newaxis] - np.log(chosen_from)).sum(axis=2)


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole > 0)

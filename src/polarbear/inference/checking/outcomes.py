"""Who beat whom on each instance, and the statistics that checks look at."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import combinations
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from polarbear.rankings import ChoiceCounts, choice_counts
from polarbear.records import FloatArray

_FEWEST_ON_A_SIDE = 5
"""An algorithm's presence is compared with its absence at timepoints with so many instances of both kinds."""
_LEAST = -300.0
"""Log-ratings are held this close to the largest."""
_LEAST_INFORMATION = 1e-9
"""Of the shape of the noise; less is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Who met whom: T timepoints, P instances, n algorithms and their K = n (n − 1) / 2 pairs.

    A comparison counts if its winner is alone at its place in the ranking: then it was chosen from all that come
    later, whether these tie or not. What is drawn anew in a replicate is kept apart, as an array `won` (T, P, K) of
    1 where the first of a pair won, −1 where the second won, and 0 where the comparison does not count.

    Attributes:
        values: (T, P, n) lower is better, NaN where not run.
        alone: (T, P, n) whether it ran and nobody ties with it.
        first: (K,) the first algorithm of each pair.
        second: (K,) the second.
    """

    values: FloatArray
    alone: NDArray[np.bool_]
    first: NDArray[np.intp]
    second: NDArray[np.intp]

    @classmethod
    def of(cls, values: FloatArray) -> Outcomes:
        """From values (P, T, n)."""
        cells = np.ascontiguousarray(values.transpose(1, 0, 2))
        alone = [(cells == cells[..., [i]]).sum(axis=2) == 1 for i in range(cells.shape[2])]
        first, second = np.triu_indices(cells.shape[2], k=1)
        return cls(cells, np.stack(alone, axis=2), first, second)

    @property
    def algorithms(self) -> int:
        """Number of algorithms n."""
        return self.values.shape[2]

    @property
    def present(self) -> NDArray[np.bool_]:
        """(T, P, n) whether it ran."""
        return ~np.isnan(self.values)

    @property
    def crowded(self) -> NDArray[np.bool_]:
        """(T, P) where three algorithms or more ran: the order of two says nothing but who won."""
        return self.present.sum(axis=2) >= 3

    @property
    def contrast(self) -> FloatArray:
        """(K, n) 1 for the first algorithm of a pair, −1 for the second."""
        pairs, found = np.arange(self.first.size), np.zeros((self.first.size, self.algorithms))
        found[pairs, self.first], found[pairs, self.second] = 1.0, -1.0
        return found

    def won(self, values: FloatArray, alone: NDArray[np.bool_]) -> FloatArray:
        """(T, P, K) who won, by values and who is alone (T, P, n)."""
        ours, theirs = values[..., self.first], values[..., self.second]
        won = ((ours < theirs) & alone[..., self.first]).astype(np.float64)
        won -= (theirs < ours) & alone[..., self.second]
        return won

    def observed(self) -> FloatArray:
        """(T, P, K) who won."""
        return self.won(self.values, self.alone)

    def choices(self) -> ChoiceCounts:
        """The choices of those that are alone, each from itself and all that come later."""
        parts: list[FloatArray] = []
        for i in range(self.algorithms):
            own = self.values[..., [i]]
            part = np.where((self.values >= own) & self.alone[..., [i]], np.inf, np.nan)
            part[..., i] = np.where(self.alone[..., i], 0.0, np.nan)
            parts.append(part)
        return choice_counts(np.concatenate(parts, axis=1).transpose(1, 0, 2), tail="unordered")

    @property
    def met(self) -> NDArray[np.bool_]:
        """(T, P, K) where both ran."""
        present = self.present
        return present[..., self.first] & present[..., self.second]

    def hidden_share(self) -> float:
        """Share of all comparisons that do not count."""
        return 1.0 - float(np.abs(self.observed()).sum()) / max(np.count_nonzero(self.met), 1)

    def tied_inside(self) -> FloatArray:
        """(T,) share of all comparisons that are ties of algorithms that are neither the best nor the worst there."""
        best, worst = (one(self.values, axis=2, keepdims=True) for one in (np.fmin.reduce, np.fmax.reduce))
        inside = np.where((self.values > best) & (self.values < worst), self.values, np.nan)
        ties = inside[..., self.first] == inside[..., self.second]
        return ties.sum(axis=(1, 2)) / np.maximum(self.met.sum(axis=(1, 2)), 1)


class Statistic(Protocol):
    """Numbers that a check looks at, such as one for each pair; NaN where the data say nothing."""

    def __call__(self, won: FloatArray) -> FloatArray:
        """(M,) from who won (T, P, K)."""
        ...


def _excess(won: FloatArray, expected: FloatArray) -> FloatArray:
    """(T, P, K) by how much more than expected (T, K) the first of each pair won; 0 where it is not seen."""
    return 0.5 * won + (0.5 - expected[:, np.newaxis]) * np.abs(won)


class WinRates:
    """(K,) how much more often the first of each pair won than its ratings say."""

    def __init__(self, outcomes: Outcomes, expected: FloatArray) -> None:
        seen = np.abs(outcomes.observed()).sum(axis=1)
        self._expected, self._meetings = expected, seen.sum(axis=0)
        self.rates = _share((seen * expected).sum(axis=0), self._meetings)

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        return _share(_excess(won, self._expected).sum(axis=(0, 1)), self._meetings)


class RankCorrelations:
    """(K,) correlation of the ranks of each pair over the instances on which three algorithms or more ran.

    Ranks are taken relative to their mean at the timepoint, given who ran.
    """

    def __init__(self, outcomes: Outcomes, expected: FloatArray) -> None:
        self._outcomes, self._expected = outcomes, expected
        self._ranked = (outcomes.present & outcomes.crowded[..., np.newaxis]).astype(np.float64)
        self._number = np.maximum(self._ranked.sum(axis=1, keepdims=True), 1.0)
        self._both = self._ranked[..., outcomes.first] * self._ranked[..., outcomes.second]
        self._contrast = outcomes.contrast

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        beaten = (_excess(won, self._expected) @ self._contrast) * self._ranked
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
        self._expected = expected
        seen = np.abs(outcomes.observed())
        self._sizes = [self._summed(seen, side) for side in (self._with, self._without)]
        for size in self._sizes:
            size[size < _FEWEST_ON_A_SIDE] = 0.0
            size[pairs, outcomes.first] = size[pairs, outcomes.second] = 0.0

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        excess = _excess(won, self._expected)
        sides = zip((self._with, self._without), self._sizes, strict=True)
        rates = [_share(self._summed(excess, side), size) for side, size in sides]
        return (rates[0] - rates[1]).ravel()

    @staticmethod
    def _summed(by_pair: FloatArray, side: FloatArray) -> FloatArray:
        """(K, n) sum over timepoints and instances on one side."""
        return by_pair.reshape(-1, by_pair.shape[2]).T @ side.reshape(-1, side.shape[2])


class NoiseShape:
    """(1,) by how much more early choices go by the ratings than late ones do, compared with Gumbel noise.

    If noise were the mirror image of Gumbel noise, rankings would be choices of the worst, the second worst, …, with
    ratings 1/θ. Up to a factor that all who are left share, the probability of the choice of i, after algorithms B
    have been chosen, has then the factor 1 / (1 + θ_i Σ_B 1/θ) in place of θ_i. The statistic is the weight β of the
    logarithm of the former, added to log-odds log θ_i, after one step of Newton's method from 0, while each timepoint
    has a scale of log θ of its own. It is 0 with Gumbel noise, about 0.8 with normal noise and 1.5 with the mirror
    image. Each choice adds its deviation from what is expected given who is left, so it is 0 in the mean whatever ties
    hide. Timepoints that are not `usable` (T,) are passed over.
    """

    def __init__(self, outcomes: Outcomes, log_theta: FloatArray, usable: NDArray[np.bool_]) -> None:
        self._first, self._second = outcomes.first, outcomes.second
        log = np.maximum(log_theta - log_theta.max(axis=1, keepdims=True), _LEAST)
        self._powers = np.stack([log, log**2], axis=-1)[:, np.newaxis]
        self._theta, self._usable = np.exp(log)[:, np.newaxis, np.newaxis], usable

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        n = self._theta.shape[-1]
        beaten = np.zeros((*won.shape[:2], n, n))
        beaten[..., self._first, self._second], beaten[..., self._second, self._first] = won > 0, won < 0
        before = (1.0 / self._theta) @ beaten  # (T, P, 1, n), Σ_B 1/θ at each choice
        share = (beaten + np.eye(n)) * self._theta
        share /= share.sum(axis=-1, keepdims=True)
        late = np.log1p(before.swapaxes(-1, -2) * self._theta)

        weighted = share * late
        mean, square = np.moveaxis(share @ self._powers, -1, 0)
        late_mean, late_square = weighted.sum(axis=-1), np.einsum("tpci,tpci->tpc", weighted, late)
        product = (weighted @ self._powers[..., :1])[..., 0]

        def summed(cells: FloatArray) -> FloatArray:
            return cells.sum(axis=(1, 2))

        scale = summed(self._powers[..., 0] - mean)
        score = summed(np.diagonal(late, axis1=2, axis2=3) - late_mean)
        variance, covariance = summed(square - mean**2), summed(product - mean * late_mean)
        slope = np.divide(covariance, variance, out=np.zeros_like(variance), where=variance > _LEAST_INFORMATION)
        information = summed(late_square - late_mean**2) - slope * covariance
        total = np.array([information[self._usable].sum()])
        beta = np.array([(slope * scale - score)[self._usable].sum()])
        return _share(beta, np.where(total > _LEAST_INFORMATION, total, 0.0))


class FirstPlaces:
    """(T · n,) how much more often each algorithm is first at each timepoint than its rating says.

    Of the rankings of three algorithms or more in which somebody is alone at the first place.
    """

    def __init__(self, outcomes: Outcomes, log_theta: FloatArray) -> None:
        theta = np.exp(np.maximum(log_theta - log_theta.max(axis=1, keepdims=True), _LEAST))[:, np.newaxis]
        theta = theta * outcomes.present
        self._expected = theta / theta.sum(axis=2, keepdims=True).clip(np.finfo(np.float64).tiny)
        self._contrast = outcomes.contrast
        rivals = outcomes.present.sum(axis=2) - 1
        self._rivals = np.where(outcomes.crowded, rivals, np.inf)[..., np.newaxis]
        first = self._first(outcomes.observed())
        self.instances = first.sum(axis=(1, 2))
        self.ratings = _share(
            (self._expected * first.any(axis=2, keepdims=True)).sum(axis=1), self.instances[:, np.newaxis]
        )

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        first = self._first(won)
        excess = (first - self._expected * first.any(axis=2, keepdims=True)).sum(axis=1)
        return _share(excess, self.instances[:, np.newaxis]).ravel()

    def _first(self, won: FloatArray) -> NDArray[np.bool_]:
        """(T, P, n) who won all its comparisons."""
        return won @ self._contrast == self._rivals


class Agreement:
    """(1,) correlation of who won on the same instance at successive timepoints, given the mean at each."""

    def __call__(self, won: FloatArray) -> FloatArray:
        """The statistic."""
        return np.array([Repetition.of(won).agreement])


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
    def of(cls, won: FloatArray) -> Repetition:
        """From who won (T, P, K)."""
        met = np.abs(won)
        rates = _share(won.sum(axis=1, keepdims=True), met.sum(axis=1, keepdims=True))
        excess = np.where(met > 0, won - rates, 0.0)
        total, both = excess.sum(axis=0), met[1:] * met[:-1]
        earlier, later = excess[:-1] * both, excess[1:] * both
        pairs = ((excess, excess), (total, total), (earlier, later), (earlier, earlier), (later, later))
        return cls(*(float(np.vdot(one, other)) for one, other in pairs))

    @classmethod
    def over(cls, values: FloatArray) -> Repetition:
        """From values (P, T, n), pair by pair to save memory."""
        outcomes, found = Outcomes.of(values), cls()
        for pair in combinations(range(outcomes.algorithms), 2):
            of_two = Outcomes.of(values[:, :, pair])
            one = cls.of(of_two.won(of_two.values, outcomes.alone[..., pair]))
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


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole > 0)

"""Who beat whom on each instance, in the data and in replicates, and the statistics that checks compare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from polarbear.rankings import ChoiceCounts, Rankings, choice_counts
from polarbear.records import FloatArray, IntArray

_FEWEST_ON_A_SIDE = 5
"""Minimum number of instances both with and without an algorithm at a timepoint, to compare presence with absence."""
_LEAST = -300.0
"""Log-ratings are clipped this far below the largest."""
_LEAST_INFORMATION = 1e-9
"""Smallest information on the shape of the noise that is not rounding error."""
_HALVINGS = 8
_FEWEST_INSTANCES = 200
"""The persistence of noise is estimated from replicates with at least this many instances in all."""
Statistic = Callable[[FloatArray], FloatArray]
"""Maps who won (T, P, K) to the (M,) statistics of a check, such as one for each pair; NaN where undefined."""


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """The comparisons of n algorithms, in K = n (n − 1) / 2 pairs, on P instances at T timepoints.

    A comparison counts if its winner is alone at its place in the ranking: then it was chosen from all that come
    later, whether these tie or not. Replicates share these fields, and differ in an array `won` (T, P, K): 1 where the
    first of a pair won, −1 where the second won, and 0 where the comparison does not count.

    Attributes:
        values: (T, P, n) values, lower is better; NaN where not run.
        alone: (T, P, n) whether the algorithm ran and ties with no other.
        first: (K,) index of the first algorithm of each pair.
        second: (K,) index of the second.
    """

    values: FloatArray
    alone: NDArray[np.bool_]
    first: NDArray[np.intp]
    second: NDArray[np.intp]

    @classmethod
    def of(cls, rankings: Rankings) -> Outcomes:
        """The comparisons of rankings."""
        values = np.ascontiguousarray(rankings.values().transpose(1, 0, 2))
        n = values.shape[2]
        alone = [(values == values[..., [i]]).sum(axis=2) == 1 for i in range(n)]
        return cls(values, np.stack(alone, axis=2), *np.triu_indices(n, k=1))

    @property
    def algorithms(self) -> int:
        """Number of algorithms n."""
        return self.values.shape[2]

    @property
    def present(self) -> NDArray[np.bool_]:
        """(T, P, n) whether the algorithm ran."""
        return ~np.isnan(self.values)

    @property
    def crowded(self) -> NDArray[np.bool_]:
        """(T, P) whether three algorithms or more ran: the order of two says only who won."""
        return self.present.sum(axis=2) >= 3

    @property
    def contrast(self) -> FloatArray:
        """(K, n) 1 for the first algorithm of a pair, −1 for the second."""
        eye = np.eye(self.algorithms)
        return eye[self.first] - eye[self.second]

    def won(self, values: FloatArray, alone: NDArray[np.bool_]) -> FloatArray:
        """(T, P, K) who won, from values (T, P, n) and who is alone."""
        first, second = values[..., self.first], values[..., self.second]
        won = ((first < second) & alone[..., self.first]).astype(np.float64)
        won -= (second < first) & alone[..., self.second]
        return won

    def observed(self) -> FloatArray:
        """(T, P, K) who won in the data."""
        return self.won(self.values, self.alone)

    def choices(self) -> ChoiceCounts:
        """Counts of the choices of algorithms that are alone, each from itself and all that come later."""
        parts: list[FloatArray] = []
        for i in range(self.algorithms):
            chosen, alone = self.values[..., [i]], self.alone[..., i]
            part = np.where((self.values >= chosen) & alone[..., np.newaxis], np.inf, np.nan)
            part[..., i] = np.where(alone, 0.0, np.nan)
            parts.append(part)
        return choice_counts(np.concatenate(parts, axis=1).transpose(1, 0, 2), tail="unordered")

    @property
    def compared(self) -> NDArray[np.bool_]:
        """(T, P, K) whether both ran."""
        present = self.present
        return present[..., self.first] & present[..., self.second]

    def hidden_share(self) -> float:
        """Share of all comparisons that do not count."""
        return 1.0 - float(np.abs(self.observed()).sum()) / max(np.count_nonzero(self.compared), 1)

    def tied_inside(self) -> FloatArray:
        """(T,) share of all comparisons that are ties of algorithms that are neither the best nor the worst there."""
        best, worst = (reduce(self.values, axis=2, keepdims=True) for reduce in (np.fmin.reduce, np.fmax.reduce))
        inside = np.where((self.values > best) & (self.values < worst), self.values, np.nan)
        ties = inside[..., self.first] == inside[..., self.second]
        return ties.sum(axis=(1, 2)) / np.maximum(self.compared.sum(axis=(1, 2)), 1)


def _excess(won: FloatArray, expected: FloatArray) -> FloatArray:
    """(T, P, K) excess of the first algorithm's wins over the expected (T, K); 0 if the comparison does not count."""
    return 0.5 * won + (0.5 - expected[:, np.newaxis]) * np.abs(won)


def win_rates(outcomes: Outcomes, expected: FloatArray) -> tuple[Statistic, FloatArray]:
    """(K,) excess of the first algorithm's win rate over that implied by the ratings, and (K,) the implied rates."""
    counted = np.abs(outcomes.observed()).sum(axis=1)
    comparisons = counted.sum(axis=0)
    rates = _share((counted * expected).sum(axis=0), comparisons)
    return lambda won: _share(_excess(won, expected).sum(axis=(0, 1)), comparisons), rates


def rank_correlations(outcomes: Outcomes, expected: FloatArray) -> Statistic:
    """(K,) correlation of the ranks of each pair over the instances on which three algorithms or more ran.

    Ranks are relative to what is expected given who ran, and to their mean at the timepoint.
    """
    ranked = (outcomes.present & outcomes.crowded[..., np.newaxis]).astype(np.float64)
    number = np.maximum(ranked.sum(axis=1, keepdims=True), 1.0)
    both = ranked[..., outcomes.first] * ranked[..., outcomes.second]
    contrast = outcomes.contrast

    def statistic(won: FloatArray) -> FloatArray:
        beaten = (_excess(won, expected) @ contrast) * ranked
        beaten -= beaten.sum(axis=1, keepdims=True) / number * ranked
        first, second = beaten[..., outcomes.first], beaten[..., outcomes.second]
        products = np.einsum("tpk,tpk->k", first, second)
        squares = [np.einsum("tpk,tpk,tpk->k", ranks, ranks, both) for ranks in (first, second)]
        return _share(products, np.sqrt(squares[0] * squares[1]))

    return statistic


def irrelevant_alternatives(outcomes: Outcomes, expected: FloatArray) -> Statistic:
    """(K · n,) how much more often the first of each pair won where a third algorithm ran than where it did not.

    Only timepoints with five instances of both kinds count, and wins are relative to what the ratings imply there.
    """
    ranked = (outcomes.present.sum(axis=2) >= 2)[..., np.newaxis]
    ran, absent = outcomes.present & ranked, ~outcomes.present & ranked
    enough = np.minimum(ran.sum(axis=1), absent.sum(axis=1)) >= _FEWEST_ON_A_SIDE
    kinds = ((kind & enough[:, np.newaxis]).astype(np.float64) for kind in (ran, absent))
    sides = [kind.reshape(-1, outcomes.algorithms) for kind in kinds]

    def summed(by_pair: FloatArray) -> list[FloatArray]:
        """(K, n) sums over the timepoints and instances on each side."""
        return [by_pair.reshape(-1, by_pair.shape[2]).T @ side for side in sides]

    sizes = summed(np.abs(outcomes.observed()))
    for size in sizes:
        size[size < _FEWEST_ON_A_SIDE] = 0.0
        size[outcomes.contrast != 0] = 0.0

    def statistic(won: FloatArray) -> FloatArray:
        present, missing = map(_share, summed(_excess(won, expected)), sizes)
        return (present - missing).ravel()

    return statistic


def noise_shape(outcomes: Outcomes, log_theta: FloatArray, usable: NDArray[np.bool_]) -> Statistic:
    """(1,) how much more early choices follow the ratings than late ones do, compared with Gumbel noise.

    If noise were the mirror image of Gumbel noise, rankings would be choices of the worst, the second worst, …, with
    ratings 1/θ. Up to a factor that all remaining algorithms share, the probability of choosing i, after algorithms B
    have been chosen, then has the factor 1 / (1 + θ_i Σ_B 1/θ) in place of θ_i. The statistic is the weight β of the
    logarithm of the former, added to log-odds log θ_i, after one step of Newton's method from 0, while each timepoint
    has its own scale of log θ. It is 0 with Gumbel noise, about 0.8 with normal noise and 1.5 with the mirror image.
    Each choice adds its deviation from what is expected given the remaining algorithms, so its mean is 0 whatever ties
    hide. Timepoints that are not `usable` (T,) are skipped.
    """
    log = np.maximum(log_theta - log_theta.max(axis=1, keepdims=True), _LEAST)
    powers = np.stack([log, log**2], axis=-1)[:, np.newaxis]
    theta, n = np.exp(log)[:, np.newaxis, np.newaxis], outcomes.algorithms

    def statistic(won: FloatArray) -> FloatArray:
        beaten = np.zeros((*won.shape[:2], n, n))
        beaten[..., outcomes.first, outcomes.second], beaten[..., outcomes.second, outcomes.first] = won > 0, won < 0
        before = (1.0 / theta) @ beaten  # (T, P, 1, n), Σ_B 1/θ at each choice
        share = (beaten + np.eye(n)) * theta
        share /= share.sum(axis=-1, keepdims=True)
        late = np.log1p(before.swapaxes(-1, -2) * theta)

        weighted = share * late
        mean, square = np.moveaxis(share @ powers, -1, 0)
        late_mean, late_square = weighted.sum(axis=-1), np.einsum("tpci,tpci->tpc", weighted, late)
        product = (weighted @ powers[..., :1])[..., 0]

        def summed(cells: FloatArray) -> FloatArray:
            return cells.sum(axis=(1, 2))

        scale = summed(powers[..., 0] - mean)
        score = summed(np.diagonal(late, axis1=2, axis2=3) - late_mean)
        variance, covariance = summed(square - mean**2), summed(product - mean * late_mean)
        slope = np.divide(covariance, variance, out=np.zeros_like(variance), where=variance > _LEAST_INFORMATION)
        information = summed(late_square - late_mean**2) - slope * covariance
        total = np.array([information[usable].sum()])
        beta = np.array([(slope * scale - score)[usable].sum()])
        return _share(beta, np.where(total > _LEAST_INFORMATION, total, 0.0))

    return statistic


def first_places(outcomes: Outcomes, log_theta: FloatArray) -> tuple[Statistic, FloatArray, IntArray]:
    """(T · n,) how much more often each algorithm is first at each timepoint than its rating says.

    Only rankings of three algorithms or more in which one is alone at the first place count; their (T, n) mean ratings
    and (T,) number are returned, too.
    """
    theta = np.exp(np.maximum(log_theta - log_theta.max(axis=1, keepdims=True), _LEAST))[:, np.newaxis]
    theta = theta * outcomes.present
    expected = theta / theta.sum(axis=2, keepdims=True).clip(np.finfo(np.float64).tiny)
    contrast = outcomes.contrast
    rivals = np.where(outcomes.crowded, outcomes.present.sum(axis=2) - 1, np.inf)[..., np.newaxis]

    def is_first(won: FloatArray) -> NDArray[np.bool_]:
        """(T, P, n) whether it won all its comparisons."""
        return won @ contrast == rivals

    def statistic(won: FloatArray) -> FloatArray:
        first = is_first(won)
        excess = (first - expected * first.any(axis=2, keepdims=True)).sum(axis=1)
        return _share(excess, instances[:, np.newaxis]).ravel()

    observed = is_first(outcomes.observed())
    instances = observed.sum(axis=(1, 2))
    ratings = _share((expected * observed.any(axis=2, keepdims=True)).sum(axis=1), instances[:, np.newaxis])
    return statistic, ratings, instances


@dataclass(frozen=True, slots=True)
class Repetition:
    """How much the outcomes on the same instance at T timepoints repeat each other; sums add up over pairs.

    Attributes:
        squares: Sum of squares of the outcomes, relative to their mean over the instances at each timepoint.
        together: Sum of squares of their sums over the timepoints.
        products: Sum of products of outcomes at successive timepoints, where the comparison counts at both.
        earlier: Sum of squares of the first factor.
        later: Sum of squares of the second factor.
    """

    squares: float = 0.0
    together: float = 0.0
    products: float = 0.0
    earlier: float = 0.0
    later: float = 0.0

    @classmethod
    def of(cls, won: FloatArray) -> Repetition:
        """Compute the sums from who won (T, P, K)."""
        counted = np.abs(won)
        rates = _share(won.sum(axis=1, keepdims=True), counted.sum(axis=1, keepdims=True))
        excess = np.where(counted > 0, won - rates, 0.0)
        total, both = excess.sum(axis=0), counted[1:] * counted[:-1]
        earlier, later = excess[:-1] * both, excess[1:] * both
        factors = ((excess, excess), (total, total), (earlier, later), (earlier, earlier), (later, later))
        return cls(*(float(np.vdot(first, second)) for first, second in factors))

    @classmethod
    def over(cls, outcomes: Outcomes) -> Repetition:
        """Compute the sums from all outcomes, pair by pair to save memory."""
        repetition = cls()
        for pair in combinations(range(outcomes.algorithms), 2):
            values, alone = outcomes.values[..., pair], outcomes.alone[..., pair]
            of_pair = cls.of(Outcomes(values, alone, np.array([0]), np.array([1])).observed())
            repetition = cls(*map(sum, zip(astuple(repetition), astuple(of_pair), strict=True)))
        return repetition

    @property
    def agreement(self) -> float:
        """Correlation of the outcomes at neighbouring timepoints; NaN if they never differ."""
        scale = np.sqrt(self.earlier * self.later)
        return self.products / scale if scale > 0 else float("nan")

    @property
    def factor(self) -> float:
        """Number of timepoints that say as much as one independent timepoint, from 1 to T (the design effect)."""
        return self.together / self.squares if self.squares > 0 else 1.0


def agreement(won: FloatArray) -> FloatArray:
    """(1,) correlation of who won on the same instance at successive timepoints, given the mean at each."""
    return np.array([Repetition.of(won).agreement])


@dataclass(frozen=True, slots=True, eq=False)
class Replicator:
    """Draws rankings of the same algorithms on the same instances at the same timepoints, with the same ties.

    At each timepoint utilities are log-ratings plus standard Gumbel noise, independent over instances and algorithms,
    so that each ranking is exactly a Plackett–Luce one. From one timepoint to the next each algorithm keeps its noise
    on an instance with a certain probability, the persistence; otherwise it is redrawn. If some tie, the observed
    values are assigned in the order of the utilities, so that the same places tie again.

    Attributes:
        outcomes: The observed outcomes.
        tied: (T, P) whether a ranking has ties.
        order: (·, n) observed values of each ranking with ties in increasing order, NaN last.
        alone: (·, n) whether the algorithm at each place ties with no other.
        persistence: The persistence, from 0 (independent timepoints) to 1.
    """

    outcomes: Outcomes
    tied: NDArray[np.bool_]
    order: FloatArray
    alone: NDArray[np.bool_]
    persistence: float

    @classmethod
    def of(cls, outcomes: Outcomes, persistence: float = 0.0) -> Replicator:
        """A replicator of these outcomes."""
        tied = (outcomes.alone != outcomes.present).any(axis=2)
        values, alone = outcomes.values[tied], outcomes.alone[tied]
        by_value = np.argsort(values, axis=1)
        order, alone = np.take_along_axis(values, by_value, axis=1), np.take_along_axis(alone, by_value, axis=1)
        return cls(outcomes, tied, order, alone, persistence)

    def won(self, log_theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """(T, P, K) who won in a replicate with log-ratings (T, n)."""
        shape = self.outcomes.values.shape
        noise = rng.gumbel(size=shape)
        if self.persistence > 0:
            persists = rng.random((shape[0] - 1, *shape[1:])) < self.persistence
            for t in range(1, shape[0]):
                np.copyto(noise[t], noise[t - 1], where=persists[t - 1])
        alone = self.outcomes.present
        cost = np.where(alone, -(noise + log_theta[:, np.newaxis]), np.nan)
        if self.tied.any():
            rank = np.argsort(np.argsort(cost[self.tied], axis=1), axis=1)
            cost[self.tied] = np.take_along_axis(self.order, rank, axis=1)
            alone[self.tied] = np.take_along_axis(self.alone, rank, axis=1)
        return self.outcomes.won(cost, alone)


def persistent(outcomes: Outcomes, log_theta: FloatArray, rng: np.random.Generator) -> Replicator:
    """A replicator whose timepoints repeat each other as much as the data's, found by bisection."""
    goal = Repetition.of(outcomes.observed()).factor
    seeds = rng.integers(1 << 63, size=max(1, _FEWEST_INSTANCES // outcomes.values.shape[1]))
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        trial = Replicator.of(outcomes, middle)
        replicates = [trial.won(log_theta, np.random.default_rng(seed)) for seed in seeds]
        factor = np.mean([Repetition.of(won).factor for won in replicates])
        low, high = (middle, high) if factor < goal else (low, middle)
    return Replicator.of(outcomes, low)


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.full(np.broadcast(part, whole).shape, np.nan), where=whole > 0)

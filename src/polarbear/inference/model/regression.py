"""Plackett–Luce regressions over time: log-ratings that are linear in coefficients.

At each timepoint the coefficients' mode is found under a normal prior. The prior's scales are estimated, as products of
one for each kind of coefficient and one for each timepoint, so that irrelevant kinds shrink to 0 (automatic relevance
determination, MacKay 1992). Draws are one-step weighted likelihood bootstraps (Newton and Raftery 1994): each group of
instances has one random weight for all timepoints, so that rankings repeated over time do not count as new evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from polarbear.inference.likelihood.orders import Expansion, Orders
from polarbear.rankings import Rankings
from polarbear.records import FloatArray, IntArray

_ROUNDS = 12
"""Number of rounds of estimating the scales of coefficients."""
_BALANCING = 10
"""Number of iterations in each round that factor the scales into one for each kind and one for each timepoint."""
_TYPICAL = 0.01
"""Number of pseudo-coefficients per timepoint, as large as the average of all kinds, added to each kind a priori."""
_STEPS = 50
_CLIMBED = 1e-9
"""Largest gain in log-density of a further Newton step at which the mode counts as reached."""
_LEAST_VARIANCE = 1e-6
"""Smallest prior variance of a coefficient."""
_TINY = np.finfo(np.float64).tiny


class Band(NamedTuple):
    """An effect over time: posterior mean and 95 % interval, and the probability that it is positive."""

    mean: FloatArray
    low: FloatArray
    high: FloatArray
    positive: FloatArray

    @classmethod
    def of(cls, draws: FloatArray) -> Band:
        """The band of draws (D, ...)."""
        low, high = np.quantile(draws, (0.025, 0.975), axis=0)
        return cls(draws.mean(axis=0), low, high, (draws > 0).mean(axis=0))

    @classmethod
    def of_shares(cls, shares: Mapping[str, FloatArray]) -> dict[str, Band]:
        """The band of each share (D, T), where ``positive`` is the probability that it is the largest."""
        largest = np.stack(list(shares.values())).argmax(axis=0) if shares else np.empty(0)
        return {
            name: cls.of(share)._replace(positive=(largest == index).mean(axis=0))
            for index, (name, share) in enumerate(shares.items())
        }


class Design(Protocol):
    """How log-ratings depend on the coefficients.

    Attributes:
        kinds: (k,) kind of each coefficient, from 0; coefficients of one kind share the scale of their prior.
    """

    kinds: IntArray

    def ratings(self, coefficients: FloatArray) -> FloatArray:
        """(T, P, n) log-ratings, or (T, 1, n) if they are the same on all instances, from coefficients (T, k)."""
        ...

    def scores(self, by_rating: FloatArray) -> FloatArray:
        """(T, P, k) gradients with respect to the coefficients, from those with respect to log-ratings (T, P, n)."""
        ...

    def curvature(self, by_rating: FloatArray, weights: FloatArray) -> FloatArray:
        """(k, k) curvature in the coefficients, from each instance's in log-ratings (P, n, n) and weights (P,)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """The posterior of the coefficients.

    Attributes:
        modes: (T, k) posterior mode at each timepoint.
        covariances: (T, k, k) inverse curvatures at the modes.
        precision: (T, k) estimated precisions of the prior.
        scores: (G, T, k) gradients of the groups' log-likelihoods at the modes.
    """

    modes: FloatArray
    covariances: FloatArray
    precision: FloatArray
    scores: FloatArray

    def draw(self, draws: int, rng: np.random.Generator) -> FloatArray:
        """(D, T, k) draws, joint over time."""
        weights = rng.standard_exponential((draws, len(self.scores))) - 1
        prior = rng.standard_normal((draws, self.modes.shape[1]))
        drawn = np.empty((draws, *self.modes.shape))
        for t, (mode, covariance, precision) in enumerate(
            zip(self.modes, self.covariances, self.precision, strict=True)
        ):
            scores = self.scores[:, t]
            spent = len(mode) - float(precision @ np.diagonal(covariance))  # degrees of freedom
            inflated = np.sqrt(len(scores) / max(len(scores) - spent, 1.0))  # scores at the mode vary too little
            drawn[:, t] = mode + (inflated * weights @ scores + prior * np.sqrt(precision)) @ covariance
        return drawn


def regress(design: Design, rankings: Rankings, rng: np.random.Generator) -> Regression:
    """Infer the coefficients of a design from rankings.

    Args:
        design: The design for the rankings' instances.
        rankings: The rankings; their groups of instances are independent of each other.
        rng: The source of random orders of large ties.
    """
    start = np.zeros((rankings.times.size, len(design.kinds)))
    climb = _Climb(design, Orders.of(rankings, rng), rankings.weights, start)
    precision = np.ones(climb.modes.shape)
    for _ in range(_ROUNDS):
        covariances = climb.step(precision)[0]
        known = np.clip(1 - precision * np.diagonal(covariances, axis1=1, axis2=2), _TINY, 1)
        precision = _precision(design.kinds, climb.modes**2, known, precision)
    covariances, gain = climb.step(precision)
    for _ in range(_STEPS):
        if gain <= _CLIMBED:
            break
        covariances, gain = climb.step(precision)
    scores = design.scores(climb.expansion.scores).transpose(1, 0, 2)
    grouped = rankings.group_sums(scores.reshape(len(scores), -1)).reshape(-1, *climb.modes.shape)
    return Regression(climb.modes, covariances, precision, grouped)


def _precision(kinds: IntArray, squares: FloatArray, known: FloatArray, precision: FloatArray) -> FloatArray:
    """(T, k) new estimates: variances are products of one for each kind and one for each timepoint.

    Args:
        kinds: (k,) kinds of the coefficients.
        squares: (T, k) squared modes.
        known: (T, k) degree to which the rankings, rather than the prior, determine each coefficient (MacKay 1992, γ).
        precision: (T, k) current estimates.
    """
    over_time = np.exp(-np.log(precision).mean(axis=1))
    over_time /= over_time.max()
    extra = _TYPICAL * len(squares)
    size = np.bincount(kinds, weights=known.sum(axis=0))
    by_kind = np.empty(size.size)
    for _ in range(_BALANCING):
        sums = np.bincount(kinds, weights=(squares / over_time[:, np.newaxis]).sum(axis=0))
        by_kind = np.maximum((sums + extra * sums.sum() / size.sum()) / (size + extra), _LEAST_VARIANCE)
        over_time = np.maximum((squares / by_kind[kinds]).sum(axis=1) / known.sum(axis=1), _LEAST_VARIANCE)
        over_time /= over_time.max()
    return 1 / np.maximum(over_time[:, np.newaxis] * by_kind[kinds], _LEAST_VARIANCE)


class _Climb:
    """Newton steps to the modes of all timepoints, each halved until the log-density increases."""

    def __init__(self, design: Design, orders: Orders, weights: FloatArray, start: FloatArray) -> None:
        self._design, self._orders, self._weights = design, orders, weights
        self.modes, self.expansion = start, orders.expand(design.ratings(start))

    def step(self, precision: FloatArray) -> tuple[FloatArray, float]:
        """Take a step; return the (T, k, k) inverse curvatures before it and the largest predicted gain."""
        design, weights, expansion = self._design, self._weights, self.expansion
        slopes = design.scores(expansion.scores * weights[:, np.newaxis]).sum(axis=1) - precision * self.modes
        curvatures = (
            design.curvature(expansion.curvature(t), weights) + np.diag(each) for t, each in enumerate(precision)
        )
        covariances = np.stack([np.asarray(np.linalg.inv(each), dtype=np.float64) for each in curvatures])
        steps = (covariances @ slopes[:, :, np.newaxis])[:, :, 0]
        gains = (slopes * steps).sum(axis=1)
        gain = float(gains.max())
        height = self._height(expansion, self.modes, precision)
        while True:
            expansion = self._orders.expand(design.ratings(self.modes + steps))
            down = (self._height(expansion, self.modes + steps, precision) < height) & (gains > _CLIMBED)
            if not down.any():
                break
            steps[down] /= 2
            gains[down] /= 2
        self.modes, self.expansion = self.modes + steps, expansion
        return covariances, gain

    def _height(self, expansion: Expansion, modes: FloatArray, precision: FloatArray) -> FloatArray:
        """(T,) log-density."""
        return expansion.value @ self._weights - (modes**2 * precision).sum(axis=1) / 2

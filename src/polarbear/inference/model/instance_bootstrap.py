"""The posterior of the independent model at each timepoint, tied together over time by the instances.

The rankings of one instance at different timepoints come from the same runs and repeat each other. The weighted
likelihood bootstrap (Newton and Raftery 1994) respects that if it gives one random weight ξ to all rankings of an
instance. To first order a draw of the log-ratings z(t) then is

    ẑ(t) + Σ(t) Σ_p (ξ_p − 1) s_p(t),

where s_p(t) is the score, the gradient of the log-likelihood, of instance p at timepoint t, and Σ the inverse of the
log-density's curvature. So draws at two timepoints belong together as far as the scores there agree. That is taken from
the bootstrap, and the shape of the posterior at each timepoint from the independent Dirichlet model.

If rankings are Plackett–Luce's, J = Σ_p s_p s_pᵀ is about Σ⁻¹. If not, the covariance of such draws, Σ J Σ, is right
where Σ is not (the sandwich; Müller 2013). With few instances J is hardly known. So in units in which Σ is the identity
it is averaged with the identity, which counts as n instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from polarbear.inference.likelihood.newton import expansion, mode
from polarbear.inference.likelihood.path_likelihood import helmert
from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.model.adjustment import widening
from polarbear.inference.model.independent import IndependentDirichlet
from polarbear.inference.posterior import Posterior
from polarbear.inference.sampling.proposal import stick_breaking
from polarbear.inference.sampling.settings import EXACT_GIBBS, NLIS, Sampling
from polarbear.rankings import NOT_RUN, ChoiceCounts, DistinctRankings, Rankings
from polarbear.records import FloatArray, IntArray
from polarbear.validation import real, settings

_TINY = np.finfo(np.float64).tiny
_RIDGE = 1e-12
_ENTRIES_AT_ONCE = 1 << 22


@settings
class InstanceBootstrap(IndependentDirichlet):
    """θ(t) ~ Dirichlet(α, …, α) at each timepoint, tied over time by the weights of instances.

    At each timepoint its posterior is that of `IndependentDirichlet`, its covariance adapted to how much the instances
    differ: where rankings are not Plackett–Luce's, ratings are known less well, or better, than the likelihood says.
    Over time it is joint: its draws at different timepoints are as dependent as the instances' rankings repeat each
    other, by a Gaussian copula with the covariance of the instances' scores. It assumes nothing about how ratings
    change over time, and does not count repeated rankings as new ones. Instances, or the groups given to
    `choice_counts`, have to be independent of each other. It does not predict times between the timepoints.

    Attributes:
        alpha: Concentration α > 0 of the prior, as of `IndependentDirichlet`.

    Raises:
        ValueError: If `alpha` is not positive and finite.
    """

    name: ClassVar[str] = "instance-bootstrap"
    joint: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = (NLIS, EXACT_GIBBS)

    alpha: Annotated[float, real(gt=0)] = 1.0

    def draw_prior(
        self, *, times: FloatArray, algorithms: int, sampling: Sampling, held: Mapping[str, float]
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draws of the prior, the same at all timepoints; see `polarbear.inference.prior`."""
        theta, none = super().draw_prior(times=times[:1], algorithms=algorithms, sampling=sampling, held=held)
        return np.repeat(theta, times.size, axis=0), none

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior after the rankings in `counts`; see `polarbear.inference.fit`.

        Raises:
            ValueError: If `counts` has no rankings.
        """
        rankings = counts.known_instances
        apart = super().fit(counts, times=times, names=names, sampling=sampling)
        together = _tied(apart.draws, counts, rankings, self.alpha, sampling.rng.spawn(1)[0])
        diagnostics = replace(apart.diagnostics, widened=widening(apart.draws, together))
        return Posterior(together, times, names, self.joint, diagnostics, model=self)


@dataclass(frozen=True, slots=True, eq=False)
class _Timepoint:
    """Draws at one timepoint, prepared for reordering.

    Algorithms are sorted: those that were run least often first, then the best. The logits
    y_i = log(θ_i / Σ_{j > i} θ_j) of stick breaking (see `inference.sampling.proposal`) are mean + axes @ e, with
    uncorrelated and nearly independent e.

    Attributes:
        order: (n,) the algorithms, sorted.
        mean: (n − 1,).
        axes: (n − 1, n − 1) upper triangular.
        values: (n − 1, D) e, increasing on each axis.
        influence: (G + n, n − 1) orthonormal columns: the influence of the weight of each group of instances, and of
            each of the prior's choices, on e.
        centre: (n − 1,) mean of Helmert's contrasts of the log-ratings.
        root: (n − 1, n − 1) root of the target covariance of these contrasts.
    """

    order: NDArray[np.intp]
    mean: FloatArray
    axes: FloatArray
    values: FloatArray
    influence: FloatArray
    centre: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, theta: FloatArray, scores: FloatArray, centre: _Centre, runs: IntArray, alpha: float) -> _Timepoint:
        """Prepare draws (n, D).

        Args:
            theta: The draws.
            scores: (G, n) scores of groups of instances.
            centre: The ratings at which they were computed.
            runs: (n,) number of runs of each algorithm.
            alpha: The prior's concentration.
        """
        log_theta, n = np.log(np.maximum(theta, _TINY)), len(theta)
        order = np.lexsort((-centre.ratings, runs))
        behind = np.cumsum(theta[order[:0:-1]], axis=0)[::-1]
        logits = log_theta[order[:-1]] - np.log(np.maximum(behind, _TINY))
        mean = logits.mean(axis=1)
        axes = _root(logits)
        values = np.sort(_solved(axes, logits - mean[:, np.newaxis]), axis=1)
        stick = _Stick.of(centre.ratings[order])
        scores = scores[:, order] @ stick.by_logits
        prior = np.sqrt(alpha) * (np.eye(n) - centre.ratings)[:, order] @ stick.by_logits
        by_axis = np.concatenate([scores, prior]) @ axes
        variances, rotation = np.linalg.eigh(by_axis.T @ by_axis)
        influence = by_axis @ (rotation / np.sqrt(np.maximum(variances, _TINY))) @ rotation.T
        contrasts = helmert(n).T @ log_theta
        curvature = stick.by_logits.T @ centre.curvature[np.ix_(order, order)] @ stick.by_logits
        back = helmert(n)[order].T @ stick.by_logits
        root = back @ stick.widened(scores, curvature, alpha) @ stick.of_ratings @ helmert(n)[order] @ _root(contrasts)
        return cls(order, mean, axes, values, influence, contrasts.mean(axis=1), root)

    def draw(self, order: NDArray[np.float32]) -> FloatArray:
        """(n, D) ratings: the draws, on each axis sorted like `order` (D, n − 1), moved to centre and root."""
        values = np.empty_like(self.values)
        np.put_along_axis(values, np.argsort(order.T, axis=1), self.values, axis=1)
        log_theta = np.empty((self.order.size, values.shape[1]))
        log_theta[self.order] = stick_breaking(self.mean[:, np.newaxis] + self.axes @ values)
        to_ratings = helmert(self.order.size)
        contrasts = to_ratings.T @ log_theta
        root = _root(contrasts)
        left, _, right = np.linalg.svd(root.T @ self.root)  # the linear map that moves the draws least
        contrasts = _solved(root, contrasts - contrasts.mean(axis=1)[:, np.newaxis])
        log_theta = to_ratings @ (self.root @ (left @ right).T @ contrasts + self.centre[:, np.newaxis])
        theta = np.exp(log_theta - log_theta.max(axis=0))
        return theta / theta.sum(axis=0)


def _tied(apart: FloatArray, counts: ChoiceCounts, rankings: Rankings, alpha: float, rng: Generator) -> FloatArray:
    """(D, T, n) draws that are joint over time, from draws that are not."""
    draws, timepoints, n = apart.shape
    if n == 1:
        return apart
    distinct, groups = DistinctRankings.of(rankings), rankings.units
    weights = rng.standard_normal((draws, groups + n), np.float32)  # only the order of their sums matters
    theta = np.empty((timepoints, n, draws))
    step = max(1, _ENTRIES_AT_ONCE // (max(draws, groups + n) * n))
    for start in range(0, timepoints, step):
        prepared: list[_Timepoint] = []
        for t in range(start, min(start + step, timepoints)):
            centre = _Centre.of(Choices.at(counts, t, alpha), apart[:, t])
            scores = rankings.group_sums(distinct.scores(t, centre.ratings))
            runs = np.count_nonzero(rankings.ranks[distinct.ranked[:, t], t] != NOT_RUN, axis=0)
            prepared.append(_Timepoint.of(apart[:, t].T, scores, centre, runs, alpha))
        orders = weights @ np.concatenate([each.influence for each in prepared], axis=1, dtype=np.float32)
        for t, (each, order) in enumerate(zip(prepared, np.split(orders, len(prepared), axis=1), strict=True), start):
            theta[t] = each.draw(order)
    return theta.transpose(2, 0, 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Centre:
    """The mode of the log-ratings: (n,) ratings there, and (n, n) the curvature of the rankings' log-likelihood."""

    ratings: FloatArray
    curvature: FloatArray

    @classmethod
    def of(cls, choices: Choices, draws: FloatArray) -> _Centre:
        """The mode; the mean of draws (D, n) where floating-point numbers are too coarse to find it."""
        try:
            log_ratings, curvature = mode(choices)
        except np.linalg.LinAlgError:
            log_ratings = np.log(np.maximum(draws.mean(axis=0), _TINY))
            curvature = expansion(choices, log_ratings)[2]
        ratings = np.exp(log_ratings)
        prior = ratings.size * choices.alpha * (np.diag(ratings) - np.outer(ratings, ratings))
        return cls(ratings, curvature - prior)


@dataclass(frozen=True, slots=True, eq=False)
class _Stick:
    """Ratings as parts of a stick that is broken n − 1 times.

    Under the Dirichlet prior the k-th break takes v_k ~ Beta(α, m_k α), independently; m_k algorithms follow it.

    Attributes:
        taken: (n − 1,) v.
        left: (n − 1,) 1 − v.
        by_logits: (n, n − 1) derivatives of the log-ratings by the logits of v.
        of_ratings: (n − 1, n) derivatives of the logits by the log-ratings.
    """

    taken: FloatArray
    left: FloatArray
    by_logits: FloatArray
    of_ratings: FloatArray

    @classmethod
    def of(cls, ratings: FloatArray) -> _Stick:
        """The stick of ratings (n,), in the order in which they are broken off."""
        rest = np.cumsum(ratings[::-1])[::-1]
        taken, left = ratings[:-1] / rest[:-1], rest[1:] / rest[:-1]
        later = np.tri(ratings.size, ratings.size - 1, -1, dtype=bool)
        by_logits = np.where(later, -taken, 0.0)
        np.fill_diagonal(by_logits, left)
        of_ratings = np.where(later, -ratings[:, np.newaxis] / rest[1:], 0.0).T
        np.fill_diagonal(of_ratings, 1.0)
        return cls(taken, left, by_logits, of_ratings)

    def widened(self, scores: FloatArray, curvature: FloatArray, alpha: float) -> FloatArray:
        """(q, q) the matrix by which the sandwich multiplies deviations of the logits.

        The prior counts as α breaks in favour of each algorithm, and m α against it: then the posterior does not change
        where all instances agree, and where there are two algorithms.

        Args:
            scores: (G, q) of groups of instances, by the logits.
            curvature: (q, q) of the rankings' log-likelihood, by the logits.
            alpha: The prior's concentration.
        """
        behind = np.arange(self.taken.size, 0, -1)
        known, n = np.count_nonzero(scores.any(axis=1)), self.taken.size + 1
        scatter = scores.T @ scores + np.diag(alpha * (self.left**2 + behind * self.taken**2))
        scales, axes = np.linalg.eigh(curvature + np.diag((behind + 1) * alpha * self.taken * self.left))
        scales = np.sqrt(np.maximum(scales, _RIDGE * scales[-1] + _TINY))
        whitened = axes.T @ scatter @ axes / np.outer(scales, scales)
        variances, rotation = np.linalg.eigh((known * whitened + n * np.eye(n - 1)) / (known + n))
        return (axes / scales) @ (rotation * np.sqrt(variances)) @ rotation.T @ (axes * scales).T


def _root(values: FloatArray) -> FloatArray:
    """(q, q) the upper triangular root of the covariance of values (q, D)."""
    covariance: FloatArray = np.cov(values, ddof=0, dtype=np.float64).reshape(len(values), -1)
    covariance += np.diag(_RIDGE + _RIDGE * np.diag(covariance))
    return np.asarray(np.linalg.cholesky(covariance[::-1, ::-1]), dtype=np.float64)[::-1, ::-1]


def _solved(root: FloatArray, values: FloatArray) -> FloatArray:
    """(q, D) x with root @ x = values, where the root is upper triangular."""
    return np.asarray(solve_triangular(root, values), dtype=np.float64)

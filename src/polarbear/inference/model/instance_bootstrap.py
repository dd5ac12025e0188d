"""The posterior of the independent model at each timepoint, coupled over time through the instances.

The rankings of one instance at different timepoints come from the same runs and repeat each other. The weighted
likelihood bootstrap (Newton and Raftery 1994) accounts for that if it gives one random weight ξ to all rankings of an
instance. To first order a draw of the log-ratings z(t) is then

    ẑ(t) + Σ(t) Σ_p (ξ_p − 1) s_p(t),

where s_p(t) is the score, the gradient of the log-likelihood, of instance p at timepoint t, and Σ the inverse of the
log-density's curvature. So draws at two timepoints are as dependent as the scores there. This dependence is taken from
the bootstrap, the shape of the posterior at each timepoint from the independent Dirichlet model.

If rankings follow the Plackett–Luce model, J = Σ_p s_p s_pᵀ is about Σ⁻¹. If not, the covariance of such draws, Σ J Σ,
is right and Σ is not (the sandwich; Müller 2013). With few instances J is poorly known. So, in units in which Σ is the
identity, it is averaged with the identity, which counts as n instances.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from polarbear.inference.batches import batches
from polarbear.inference.likelihood.newton import expansion, mode
from polarbear.inference.likelihood.path_likelihood import helmert
from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.model.adjustment import widening
from polarbear.inference.model.independent import IndependentDirichlet
from polarbear.inference.posterior import Posterior
from polarbear.inference.sampling.proposal import stick_breaking
from polarbear.inference.sampling.settings import EXACT_GIBBS, NLIS, Sampling
from polarbear.inference.sampling.threads import side_by_side
from polarbear.rankings import NOT_RUN, ChoiceCounts, DistinctRankings, Rankings
from polarbear.records import FloatArray, IntArray
from polarbear.validation import real, settings

_TINY = np.finfo(np.float64).tiny
_RIDGE = 1e-12
_ENTRIES_AT_ONCE = 1 << 18
"""Number of entries computed together: several timepoints at a time, so that the weights are not reread for each."""
_Reorder = Callable[[NDArray[np.float32]], FloatArray]


@settings
class InstanceBootstrap(IndependentDirichlet):
    """θ(t) ~ Dirichlet(α, …, α) at each timepoint, coupled over time by the weights of instances.

    At each timepoint the posterior is that of `IndependentDirichlet`, with its covariance adapted to how much the
    instances differ: if rankings do not follow the Plackett–Luce model, ratings are known less well, or better, than
    the likelihood implies. The posterior is joint over time: its draws at different timepoints are as dependent as the
    instances' rankings, through a Gaussian copula with the covariance of the instances' scores. The model assumes
    nothing about how ratings change over time, and does not count repeated rankings as new evidence. Instances, or the
    groups given to `choice_counts`, must be independent of each other. It cannot predict between the timepoints.

    Attributes:
        alpha: Concentration α > 0 of the prior, as for `IndependentDirichlet`.

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
        """Draw from the prior, the same ratings at all timepoints; see `polarbear.inference.prior`."""
        theta, none = super().draw_prior(times=times[:1], algorithms=algorithms, sampling=sampling, held=held)
        return np.repeat(theta, times.size, axis=0), none

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior given the rankings in `counts`; see `polarbear.inference.fit`.

        Raises:
            ValueError: If `counts` has no rankings.
        """
        rankings = counts.known_instances
        apart = super().fit(counts, times=times, names=names, sampling=sampling)
        together = _joint(apart.draws, counts, rankings, self.alpha, sampling.rng.spawn(1)[0])
        diagnostics = replace(apart.diagnostics, widened=widening(apart.draws, together))
        return Posterior(together, times, names, self.joint, diagnostics, model=self)


def _joint(apart: FloatArray, counts: ChoiceCounts, rankings: Rankings, alpha: float, rng: Generator) -> FloatArray:
    """(D, T, n) draws that are joint over time, from draws that are not."""
    draws, timepoints, n = apart.shape
    if n == 1:
        return apart
    distinct, groups = DistinctRankings.of(rankings), rankings.units
    weights = rng.standard_normal((draws, groups + n), np.float32)  # only the order of their sums matters
    theta = np.empty((timepoints, n, draws))

    def tie(part: slice) -> None:
        influences, reorders = list[FloatArray](), list[_Reorder]()
        for t in range(part.start, part.stop):
            centre, curvature = _centre(Choices.at(counts, t, alpha), apart[:, t])
            scores = rankings.group_sums(distinct.scores(t, centre))
            runs = np.count_nonzero(rankings.ranks[distinct.ranked[:, t], t] != NOT_RUN, axis=0)
            influence, reorder = _prepared(apart[:, t].T, scores, centre, curvature, runs, alpha)
            influences.append(influence)
            reorders.append(reorder)
        orders = weights @ np.concatenate(influences, axis=1, dtype=np.float32)
        for t, (reorder, order) in enumerate(
            zip(reorders, np.split(orders, len(reorders), axis=1), strict=True), part.start
        ):
            theta[t] = reorder(order)

    side_by_side(tie, batches(timepoints, max(draws, groups + n) * n, _ENTRIES_AT_ONCE))
    return theta.transpose(2, 0, 1)


def _centre(choices: Choices, draws: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n,) ratings at the mode of the log-ratings, and (n, n) curvature of the rankings' log-likelihood there.

    If floating-point precision does not suffice to find the mode, the mean of the draws (D, n) is used instead.
    """
    try:
        log_ratings, curvature = mode(choices)
    except np.linalg.LinAlgError:
        log_ratings = np.log(np.maximum(draws.mean(axis=0), _TINY))
        curvature = expansion(choices, log_ratings)[2]
    ratings = np.exp(log_ratings)
    return ratings, curvature - ratings.size * choices.alpha * (np.diag(ratings) - np.outer(ratings, ratings))


def _prepared(
    theta: FloatArray, scores: FloatArray, centre: FloatArray, curvature: FloatArray, runs: IntArray, alpha: float
) -> tuple[FloatArray, _Reorder]:
    """Prepare draws (n, D) at one timepoint for reordering.

    Algorithms are sorted by the number of runs, fewest first, and then by rating, best first. The logits
    y_i = log(θ_i / Σ_{j > i} θ_j) of stick breaking (see `inference.sampling.proposal`) are mean + axes @ e, with
    uncorrelated and nearly independent e.

    Args:
        theta: The draws.
        scores: (G, n) scores of groups of instances.
        centre: (n,) ratings at which they were computed.
        curvature: (n, n) curvature of the rankings' log-likelihood there.
        runs: (n,) number of runs of each algorithm.
        alpha: The prior's concentration.

    Returns:
        (G + n, n − 1) orthonormal columns: the influence of the weight of each group of instances, and of each of the
        prior's choices, on e; and a function that sorts the draws on each axis in the order of an array (D, n − 1),
        and then maps them linearly to their former mean and the covariance of the sandwich.
    """
    log_theta, n = np.log(np.maximum(theta, _TINY)), len(theta)
    algorithms = np.lexsort((-centre, runs))
    behind = np.cumsum(theta[algorithms[:0:-1]], axis=0)[::-1]
    logits = log_theta[algorithms[:-1]] - np.log(np.maximum(behind, _TINY))
    mean = logits.mean(axis=1, keepdims=True)
    axes = _root(logits)
    sorted_values = np.sort(_solved(axes, logits - mean), axis=1)

    taken, passed, by_logits, of_ratings = _stick(centre[algorithms])
    scores = scores[:, algorithms] @ by_logits
    prior = np.sqrt(alpha) * (np.eye(n) - centre)[:, algorithms] @ by_logits
    by_axis = np.concatenate([scores, prior]) @ axes
    variances, rotation = np.linalg.eigh(by_axis.T @ by_axis)
    influence = by_axis @ (rotation / np.sqrt(np.maximum(variances, _TINY))) @ rotation.T

    to_contrasts, contrasts = helmert(n), helmert(n).T @ log_theta
    by_stick = by_logits.T @ curvature[np.ix_(algorithms, algorithms)] @ by_logits
    back = to_contrasts[algorithms].T @ by_logits
    widened = back @ _sandwich(taken, passed, scores, by_stick, alpha) @ of_ratings @ to_contrasts[algorithms]
    target_root, target_mean = widened @ _root(contrasts), contrasts.mean(axis=1, keepdims=True)

    def reorder(order: NDArray[np.float32]) -> FloatArray:
        values = np.empty_like(sorted_values)
        np.put_along_axis(values, np.argsort(order.T, axis=1), sorted_values, axis=1)
        log_theta = np.empty(theta.shape)
        log_theta[algorithms] = stick_breaking(mean + axes @ values)
        contrasts = to_contrasts.T @ log_theta
        root = _root(contrasts)
        u, _, v = np.linalg.svd(root.T @ target_root)  # the linear map that moves the draws least
        contrasts = _solved(root, contrasts - contrasts.mean(axis=1)[:, np.newaxis])
        log_theta = to_contrasts @ (target_root @ (u @ v).T @ contrasts + target_mean)
        ratings = np.exp(log_theta - log_theta.max(axis=0))
        return ratings / ratings.sum(axis=0)

    return influence, reorder


def _stick(ratings: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Represent ratings (n,), in their order, as parts of a stick that is broken n − 1 times.

    Under the Dirichlet prior the k-th break takes v_k ~ Beta(α, m_k α), independently; m_k algorithms follow it.

    Returns:
        (n − 1,) v; (n − 1,) 1 − v; (n, n − 1) derivatives of the log-ratings with respect to the logits of v; and
        (n − 1, n) derivatives of the logits with respect to the log-ratings.
    """
    rest = np.cumsum(ratings[::-1])[::-1]
    taken, passed = ratings[:-1] / rest[:-1], rest[1:] / rest[:-1]
    later = np.tri(ratings.size, ratings.size - 1, -1, dtype=bool)
    by_logits = np.where(later, -taken, 0.0)
    np.fill_diagonal(by_logits, passed)
    of_ratings = np.where(later, -ratings[:, np.newaxis] / rest[1:], 0.0).T
    np.fill_diagonal(of_ratings, 1.0)
    return taken, passed, by_logits, of_ratings


def _sandwich(
    taken: FloatArray, passed: FloatArray, scores: FloatArray, curvature: FloatArray, alpha: float
) -> FloatArray:
    """(q, q) matrix by which the sandwich multiplies deviations of the logits.

    The prior counts as α breaks in favour of each algorithm, and m α against it: then the posterior does not change if
    all instances agree, or if there are only two algorithms. Scores (G, q) of groups of instances and curvature (q, q)
    are derivatives with respect to the logits.
    """
    behind = np.arange(taken.size, 0, -1)
    known, n = np.count_nonzero(scores.any(axis=1)), taken.size + 1
    scatter = scores.T @ scores + np.diag(alpha * (passed**2 + behind * taken**2))
    scales, axes = np.linalg.eigh(curvature + np.diag((behind + 1) * alpha * taken * passed))
    scales = np.sqrt(np.maximum(scales, _RIDGE * scales[-1] + _TINY))
    whitened = axes.T @ scatter @ axes / np.outer(scales, scales)
    variances, rotation = np.linalg.eigh((known * whitened + n * np.eye(n - 1)) / (known + n))
    return (axes / scales) @ (rotation * np.sqrt(variances)) @ rotation.T @ (axes * scales).T


def _root(values: FloatArray) -> FloatArray:
    """(q, q) upper triangular root of the covariance of values (q, D)."""
    covariance: FloatArray = np.cov(values, ddof=0, dtype=np.float64).reshape(len(values), -1)
    covariance += np.diag(_RIDGE + _RIDGE * np.diag(covariance))
    return np.asarray(np.linalg.cholesky(covariance[::-1, ::-1]), dtype=np.float64)[::-1, ::-1]


def _solved(root: FloatArray, values: FloatArray) -> FloatArray:
    """(q, D) x with root @ x = values, where the root is upper triangular."""
    return np.asarray(solve_triangular(root, values), dtype=np.float64)

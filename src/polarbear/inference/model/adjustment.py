"""Widen posteriors over time to account for the same runs being ranked at every timepoint.

A pooled model counts repeated rankings of an instance as new evidence. To first order, instance p shifts the posterior
mean of the log-ratings by S g_p, where S is their posterior covariance over all timepoints and g_p the instance's
score, the gradient of its log-likelihood. So under resampling of the instances the mean has the covariance

    V = S J S,  J = Σ_p g_p g_pᵀ,

the sandwich (Müller 2013). Where V exceeds S, the draws are transformed linearly about their mean to have covariance V
(the curvature adjustment of Ribatet, Cooley and Davison 2012); elsewhere they remain unchanged.

With the scores as columns of G, and W diag(a) Wᵀ the eigendecomposition of Gᵀ S G, deviations are multiplied by

    A = I + S G W diag((√max(a, 1) − 1) / a) Wᵀ Gᵀ,

so that A S Aᵀ = S^½ max(S^½ J S^½, I) S^½. Since V is estimated from only P instances, a is multiplied by 1 + 2 / P,
about the variance of Student's t with P degrees of freedom.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polarbear.inference.likelihood.path_likelihood import helmert, ratings
from polarbear.inference.posterior import Posterior
from polarbear.rankings import DistinctRankings, Rankings
from polarbear.records import FloatArray

_TINY = np.finfo(np.float64).tiny
_NEGLIGIBLE = 1e-12
_ENTRIES_AT_ONCE = 1 << 20
_ENOUGH = 1000
"""Number of draws that give a standard deviation to about 2 %."""


def adjusted(posterior: Posterior, rankings: Rankings) -> Posterior:
    """Widen the posterior given these rankings to match the variation between their instances."""
    timepoints, n = posterior.times.size, len(posterior.names)
    if min(timepoints, n - 1) < 1:
        return posterior
    contrasts, draws = helmert(n), len(posterior.draws)
    step = max(1, _ENTRIES_AT_ONCE // (n * draws))
    parts = [slice(start, start + step) for start in range(0, timepoints, step)]

    def paths(some: slice) -> FloatArray:
        """(t, q, D) Helmert contrasts of the log-ratings, at some timepoints at a time to save memory."""
        return contrasts.T @ np.log(np.maximum(posterior.draws[:, some].transpose(1, 2, 0), _TINY))

    centre = np.concatenate([paths(some).mean(axis=2, keepdims=True) for some in parts])
    scores = _scores(rankings, ratings(centre, contrasts)[:, :, 0]) @ contrasts
    groups, flat = int(scores.any(axis=(1, 2)).sum()), scores.reshape(len(scores), timepoints * (n - 1))
    if len(flat) > flat.shape[1]:
        flat = np.asarray(np.linalg.qr(flat, mode="r"), dtype=np.float64)  # fewer columns of G, the same J
    scores = flat.reshape(-1, timepoints, n - 1)
    pulls = np.zeros((len(scores), draws))
    for some in parts:
        pulls += np.tensordot(scores[:, some], paths(some) - centre[some], axes=2)
    weights, pulls = _stretch(pulls, groups)
    theta = np.empty((timepoints, n, draws))
    for some in parts:
        path = paths(some)
        path += ((path - centre[some]) @ weights.T) @ pulls
        theta[some] = ratings(path, contrasts)
    together = theta.transpose(2, 0, 1)
    widened = widening(posterior.draws, together)
    return replace(posterior, draws=together, diagnostics=replace(posterior.diagnostics, widened=widened))


def widening(before: FloatArray, after: FloatArray) -> FloatArray:
    """(T,) factor by which the draws (D, T, n) have become wider in log-ratings."""
    spreads: list[FloatArray] = []
    step = -(-len(before) // _ENOUGH)
    for theta in (before[::step], after[::step]):
        log_theta = np.log(np.maximum(theta, _TINY))
        log_theta -= log_theta.mean(axis=2, keepdims=True)
        spreads.append(log_theta.var(axis=0).sum(axis=1))
    return np.sqrt(np.divide(spreads[1], spreads[0], out=np.ones_like(spreads[0]), where=spreads[0] > 0))


def _scores(rankings: Rankings, theta: FloatArray) -> FloatArray:
    """(G, T, n) gradient of each group's log-likelihood with respect to the log-ratings, at ratings (T, n)."""
    distinct = DistinctRankings.of(rankings)
    return np.stack([rankings.group_sums(distinct.scores(t, at)) for t, at in enumerate(theta)], axis=1)


def _stretch(pulls: FloatArray, groups: int) -> tuple[FloatArray, FloatArray]:
    """Arrays w and u (k, D) that map deviations d to d + (d wᵀ) u, from the projections Gᵀ d (P, D) on the scores."""
    variances, axes = np.linalg.eigh(pulls @ pulls.T / pulls.shape[1])
    large = variances > _NEGLIGIBLE
    variances, along = variances[large, np.newaxis], axes[:, large].T @ pulls
    factors = np.sqrt(np.maximum(variances * (1 + 2 / max(groups, 1)), 1.0)) - 1.0
    return along * (factors / variances / pulls.shape[1]), along

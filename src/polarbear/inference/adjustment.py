"""Posteriors over time, widened where the same runs are ranked at every timepoint.

A model that ties timepoints together takes what an instance's rankings repeat for new evidence. To first order instance
p moves the posterior mean of the log-ratings by S g_p, where S is their posterior covariance over all timepoints and
g_p the instance's score, the gradient of its log-likelihood. So if instances were drawn anew, the mean would scatter by

    V = S J S,  J = Σ_p g_p g_pᵀ,

the sandwich (Müller 2013). Where V is more than S, the draws are moved linearly about their mean until their covariance
is V (the curvature adjustment of Ribatet, Cooley and Davison 2012); elsewhere they stay as they are.

With the scores as columns of G, and W diag(a) Wᵀ the eigendecomposition of Gᵀ S G, deviations are multiplied by

    A = I + S G W diag((√max(a, 1) − 1) / a) Wᵀ Gᵀ,

so that A S Aᵀ = S^½ max(S^½ J S^½, I) S^½. Since V is known from P instances only, a is multiplied by 1 + 2 / P, about
the variance of Student's t with P degrees of freedom.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polarbear.inference.likelihood import helmert, ratings
from polarbear.inference.posterior import Posterior
from polarbear.rankings import ChoiceCounts, DistinctRankings, InstanceRanks
from polarbear.records import FloatArray

_TINY = np.finfo(np.float64).tiny
_NEGLIGIBLE = 1e-12
_ENOUGH = 1000
"""Draws that tell a standard deviation to 2 %."""


def adjusted(posterior: Posterior, counts: ChoiceCounts) -> Posterior:
    """The posterior after the rankings in `counts`, made as wide as their instances differ.

    Raises:
        ValueError: If `counts` does not know the instances.
    """
    timepoints, n = posterior.times.size, len(posterior.names)
    if min(timepoints, n - 1) < 1:
        return posterior
    contrasts = helmert(n)
    paths = contrasts.T @ np.log(np.maximum(posterior.draws.transpose(1, 2, 0), _TINY))
    centre = paths.mean(axis=2, keepdims=True)
    paths -= centre
    scores = _scores(counts.known_instances, ratings(centre, contrasts)[:, :, 0]) @ contrasts
    paths += _added(paths.reshape(-1, paths.shape[2]), scores.reshape(-1, timepoints * (n - 1))).reshape(paths.shape)
    theta = ratings(paths + centre, contrasts).transpose(2, 0, 1)
    widened = widening(posterior.draws, theta)
    return replace(posterior, draws=theta, diagnostics=replace(posterior.diagnostics, widened=widened))


def widening(before: FloatArray, after: FloatArray) -> FloatArray:
    """(T,) how many times as wide draws of the log-ratings (D, T, n) have become."""
    spreads: list[FloatArray] = []
    some = slice(None, None, -(-len(before) // _ENOUGH))
    for theta in (before[some], after[some]):
        log_theta = np.log(np.maximum(theta, _TINY))
        log_theta -= log_theta.mean(axis=2, keepdims=True)
        spreads.append(log_theta.var(axis=0).sum(axis=1))
    return np.sqrt(np.divide(spreads[1], spreads[0], out=np.ones_like(spreads[0]), where=spreads[0] > 0))


def _scores(instances: InstanceRanks, theta: FloatArray) -> FloatArray:
    """(G, T, n) gradient of each group's log-likelihood by the log-ratings, at ratings (T, n)."""
    rankings = DistinctRankings.of(instances)
    return np.stack([instances.summed(rankings.scores(t, here)) for t, here in enumerate(theta)], axis=1)


def _added(deviations: FloatArray, scores: FloatArray) -> FloatArray:
    """(T q, D) what the adjustment adds to deviations (T q, D), from scores (G, T q)."""
    draws, groups = deviations.shape[1], np.count_nonzero(scores.any(axis=1))
    if len(scores) > len(deviations):
        scores = np.asarray(np.linalg.qr(scores, mode="r"), dtype=np.float64)  # fewer columns of G, the same J
    pulls = scores @ deviations
    variances, axes = np.linalg.eigh(pulls @ pulls.T / draws)
    large = variances > _NEGLIGIBLE
    variances, pulls = variances[large], axes[:, large].T @ pulls
    factors = np.sqrt(np.maximum(variances * (1 + 2 / max(groups, 1)), 1.0)) - 1.0
    return (deviations @ pulls.T / draws * (factors / variances)) @ pulls

"""The posterior of the independent model at each timepoint, tied together over time by the instances.

The rankings of one instance at different timepoints come from the same runs and repeat each other. The weighted
likelihood bootstrap (Newton and Raftery 1994) respects that if it gives one random weight ξ to all rankings of an
instance. To first order a draw of the log-ratings z(t) then is

    ẑ(t) + Σ(t) Σ_p (ξ_p − 1) s_p(t),

where s_p(t) is the score, the gradient of the log-likelihood, of instance p at timepoint t, and Σ the inverse of the
log-density's curvature. So draws at two timepoints belong together as far as the scores there agree. That is taken from
the bootstrap, and the shape of the posterior at each timepoint from the independent Dirichlet model.

If rankings are Plackett–Luce's, J = Σ_p s_p s_pᵀ is about Σ⁻¹. If not, the covariance of such draws, Σ J Σ, is right
where Σ is not (the sandwich; Müller 2013). With few instances J is hardly known. So in units in
which Σ is the identity it is averaged with the identity, which counts as n instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from polarbear.inference.dirichlet import IndependentDirichlet
from polarbear.inference.likelihood import Likelihood, helmert, ratings
from polarbear.inference.posterior import Posterior
from polarbear.inference.proposal import stick_breaking
from polarbear.inference.sampling import EXACT_GIBBS, NLIS, Sampling
from polarbear.rankings import NOT_RUN, ChoiceCounts, DistinctRankings, InstanceRanks
from polarbear.records import FloatArray, IntArray

_TINY = np.finfo(np.float64).tiny
_RIDGE = 1e-12
_ENTRIES_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class InstanceBootstrap:
    """θ(t) ~ Dirichlet(α, …, α) at each timepoint, and instances that keep their luck over time.

    At each timepoint its posterior is that of `IndependentDirichlet`, its covariance adapted to how much the instances
    differ: where rankings are not Plackett–Luce's, ratings are known less well, or better, than the likelihood says.
    Over time it is joint: its draws at different timepoints belong together as much as the instances' rankings repeat
    each other, by a Gaussian copula with the covariance of the instances' scores. It assumes nothing of how ratings
    change over time, and does not count repeated rankings as new ones. Instances, or the groups given to
    `choice_counts`, have to be independent of each other. Nothing is said of times between the timepoints.

    Attributes:
        alpha: Concentration α > 0 of the prior, as of `IndependentDirichlet`.

    Raises:
        ValueError: If `alpha` is not positive and finite.
    """

    name: ClassVar[str] = "instance-bootstrap"
    joint: ClassVar[bool] = True
    pooled: ClassVar[bool] = False
    methods: ClassVar[tuple[str, ...]] = (NLIS, EXACT_GIBBS)

    alpha: float = 1.0

    def __post_init__(self) -> None:
        IndependentDirichlet(self.alpha)

    def describe(self) -> dict[str, Any]:
        """The model as plain values."""
        return {"model": self.name, "alpha": self.alpha}

    def draw_prior(
        self, *, times: FloatArray, algorithms: int, sampling: Sampling, held: Mapping[str, float]
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draws of the prior, the same at all timepoints; see `polarbear.inference.prior`."""
        independent = IndependentDirichlet(self.alpha)
        theta, none = independent.draw_prior(times=times[:1], algorithms=algorithms, sampling=sampling, held=held)
        return np.repeat(theta, times.size, axis=0), none

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior after the rankings in `counts`; see `polarbear.inference.fit`.

        Raises:
            ValueError: If `counts` does not know the instances.
        """
        if counts.instances is None:
            raise ValueError(
                f"{self.name} needs the ranking of each instance, and these counts are sums only; make them by "
                "polarbear.rankings.choice_counts"
            )
        apart = IndependentDirichlet(self.alpha).fit(counts, times=times, names=names, sampling=sampling)
        together = _tied(apart.draws, counts, counts.instances, self.alpha, sampling.rng.spawn(1)[0])
        return Posterior(together, times, names, self.joint, apart.diagnostics, model=self)


@dataclass(frozen=True, slots=True, eq=False)
class _Timepoint:
    """Draws at one timepoint, ready to be put into another order.

    Algorithms are sorted: those that were run least often first, then the best. The logits
    y_i = log(θ_i / Σ_{j > i} θ_j) of breaking the stick (see `polarbear.inference.proposal`) are mean + axes @ e, with
    uncorrelated e that hardly depend on each other.

    Attributes:
        order: (n,) the algorithms, sorted.
        mean: (n − 1,).
        axes: (n − 1, n − 1) upper triangular.
        values: (n − 1, D) e, increasing on each axis.
        influence: (G + n, n − 1) orthonormal columns: what the weight of each group of instances, and of each of the
            prior's choices, adds to e.
        centre: (n − 1,) mean of Helmert's contrasts of the log-ratings.
        root: (n − 1, n − 1) root of the covariance that these contrasts are to have.
    """

    order: NDArray[np.intp]
    mean: FloatArray
    axes: FloatArray
    values: FloatArray
    influence: FloatArray
    centre: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, theta: FloatArray, scores: FloatArray, curvature: FloatArray, runs: IntArray) -> _Timepoint:
        """Prepare draws (n, D).

        Args:
            theta: The draws.
            scores: (G + n, n) scores of groups and of the prior's choices.
            curvature: (n − 1, n − 1) negative Hessian of the log-density by Helmert's contrasts.
            runs: (n,) how often each algorithm was run.
        """
        log_theta, contrasts = np.log(np.maximum(theta, _TINY)), helmert(len(theta))
        order = np.lexsort((-theta.mean(axis=1), runs))
        behind = np.cumsum(theta[order[:0:-1]], axis=0)[::-1]
        logits = log_theta[order[:-1]] - np.log(np.maximum(behind, _TINY))
        mean = logits.mean(axis=1)
        axes = _root(logits)
        values = np.sort(_solved(axes, logits - mean[:, np.newaxis]), axis=1)
        by_axis = scores[:, order] @ _slope(theta.mean(axis=1)[order]) @ axes
        variances, turn = np.linalg.eigh(by_axis.T @ by_axis)
        influence = by_axis @ (turn / np.sqrt(np.maximum(variances, _TINY))) @ turn.T
        of_contrasts = contrasts.T @ log_theta
        root = _widened(curvature, scores @ contrasts, len(theta)) @ _root(of_contrasts)
        return cls(order, mean, axes, values, influence, of_contrasts.mean(axis=1), root)

    def draw(self, luck: NDArray[np.float32]) -> FloatArray:
        """(n, D) ratings: the draws, on each axis in the order of `luck` (D, n − 1), moved to centre and root."""
        values = np.empty_like(self.values)
        np.put_along_axis(values, np.argsort(luck.T, axis=1), self.values, axis=1)
        log_theta = np.empty((self.order.size, values.shape[1]))
        log_theta[self.order] = stick_breaking(self.mean[:, np.newaxis] + self.axes @ values)
        to_ratings = helmert(self.order.size)
        contrasts = to_ratings.T @ log_theta
        root = _root(contrasts)
        left, _, right = np.linalg.svd(root.T @ self.root)  # of all linear maps, the one that moves the draws least
        contrasts = _solved(root, contrasts - contrasts.mean(axis=1)[:, np.newaxis])
        return ratings(self.root @ (left @ right).T @ contrasts + self.centre[:, np.newaxis], to_ratings)


def _tied(
    apart: FloatArray, counts: ChoiceCounts, instances: InstanceRanks, alpha: float, rng: Generator
) -> FloatArray:
    """(D, T, n) draws that belong together over time, from draws that do not."""
    draws, timepoints, n = apart.shape
    if n == 1:
        return apart
    rankings, groups = DistinctRankings.of(instances), int(instances.groups.max(initial=-1)) + 1
    ratings = np.maximum(apart.mean(axis=0), _TINY)
    curvature = Likelihood(counts).expansion((np.log(ratings) @ helmert(n))[:, :, np.newaxis]).curvature[0]
    weights = rng.standard_normal((draws, groups + n), np.float32)  # only the order of what comes of them matters
    theta = np.empty((timepoints, n, draws))
    step = max(1, _ENTRIES_AT_ONCE // (max(draws, groups + n) * n))
    for start in range(0, timepoints, step):
        prepared: list[_Timepoint] = []
        for t in range(start, min(start + step, timepoints)):
            scores = np.zeros((groups + n, n))
            here = rankings.scores(t, ratings[t])
            np.add.at(scores, instances.groups, here * instances.weights[:, np.newaxis])
            scores[groups:] = np.sqrt(alpha) * (np.eye(n) - ratings[t])
            prior = n * alpha * (np.diag(ratings[t]) - np.outer(ratings[t], ratings[t]))
            bent = curvature[t] + helmert(n).T @ prior @ helmert(n)
            runs = np.count_nonzero(instances.ranks[rankings.ranked[:, t], t] != NOT_RUN, axis=0)
            prepared.append(_Timepoint.of(apart[:, t].T, scores, bent, runs))
        luck = weights @ np.concatenate([here.influence for here in prepared], axis=1, dtype=np.float32)
        for t, (here, part) in enumerate(zip(prepared, np.split(luck, len(prepared), axis=1), strict=True), start):
            theta[t] = here.draw(part)
    return theta.transpose(2, 0, 1)


def _widened(curvature: FloatArray, scores: FloatArray, n: int) -> FloatArray:
    """(q, q) what the sandwich multiplies deviations (q,) by, from the curvature (q, q) and the scores (G + n, q)."""
    known = np.count_nonzero(scores[:-n].any(axis=1))
    root = np.linalg.cholesky(curvature)
    whitened = np.linalg.solve(root, scores.T)
    variances, turn = np.linalg.eigh((known * (whitened @ whitened.T) + n * np.eye(len(root))) / (known + n))
    return np.asarray(np.linalg.solve(root.T, (turn * np.sqrt(variances)) @ turn.T @ root.T), dtype=np.float64)


def _root(values: FloatArray) -> FloatArray:
    """(q, q) the upper triangular root of the covariance of values (q, D)."""
    covariance: FloatArray = np.cov(values, ddof=0, dtype=np.float64).reshape(len(values), -1)
    covariance += np.diag(_RIDGE + _RIDGE * np.diag(covariance))
    return np.asarray(np.linalg.cholesky(covariance[::-1, ::-1]), dtype=np.float64)[::-1, ::-1]


def _solved(root: FloatArray, values: FloatArray) -> FloatArray:
    """(q, D) x with root @ x = values, where the root is upper triangular."""
    return np.asarray(solve_triangular(root, values), dtype=np.float64)


def _slope(ratings: FloatArray) -> FloatArray:
    """(n, n − 1) derivatives of the log-ratings by the logits of breaking the stick, in the same order."""
    behind = np.cumsum(ratings[::-1])[::-1]
    broken = ratings[:-1] / np.maximum(behind[:-1], _TINY)
    slope = np.where(np.tri(ratings.size, ratings.size - 1, -1, dtype=bool), -broken, 0.0)
    np.fill_diagonal(slope, 1.0 - broken)
    return slope

"""How overconfident a posterior is, measured over instances."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.inference.checking.values import check_unadjusted, checked_values, is_pooled, log_ratings
from polarbear.inference.posterior import Posterior
from polarbear.rankings import DistinctRankings, InstanceRanks
from polarbear.records import FloatArray

TOO_SURE = 1.25
"""A posterior that is as sure as of so many times more instances is too sure."""
_DRAWS = 1000
_TIMEPOINTS = 16


def overconfidence(posterior: Posterior, values: ArrayLike, *, precision: float | None = None) -> float:
    """How many times more instances the posterior is as sure of as were run; about 1 where its assumptions hold.

    The likelihood takes the rankings of one run at different timepoints for independent, which those of a best-so-far
    trajectory are not: they repeat each other. A model that lets timepoints learn from each other then counts the
    same evidence several times.

    How far an instance moves the posterior mean of a log-rating is the posterior covariance of that log-rating and the
    instance's log-likelihood. The spread of these moves over the instances gives the variance that posterior means
    would have if instances were drawn anew, whatever the assumptions (the infinitesimal jackknife; Giordano and
    Broderick 2023). The result is that variance over the posterior variance, the median over algorithms and up
    to 16 timepoints: 4 means that intervals should be twice as wide. It is below 1 where the prior says much.

    Args:
        posterior: The posterior after the rankings in `values`, each counted once.
        values: (P, T, n) the values, as for `polarbear.rankings.choice_counts`.
        precision: As for `choice_counts`.

    Raises:
        ValueError: If the values do not fit the posterior, or there are fewer than two instances.
    """
    cells = checked_values(posterior, values, precision)
    check_unadjusted(posterior)
    if len(cells) < 2:
        raise ValueError(f"values has {len(cells)} instances; at least 2 are needed to see how much they differ")
    rankings, log_theta = DistinctRankings.of(InstanceRanks.of(cells)), log_ratings(posterior.draws, _DRAWS)
    at = evenly(posterior.times.size, _TIMEPOINTS)
    centred = log_theta - log_theta.mean(axis=2, keepdims=True)
    centred -= centred.mean(axis=0)
    if is_pooled(posterior):
        likelihood = _likelihood_over_time(rankings, log_theta)
        ratios = [_inflation(likelihood, centred[:, t]) for t in at]
    else:
        ratios = [_inflation(_likelihood(rankings, log_theta, t), centred[:, t]) for t in at]
    return float(np.median(ratios))


def overconfidence_of(posterior: Posterior, quantities: ArrayLike) -> float:
    """The same for what one asks of a posterior, such as values over budgets: about 1 where its uncertainty is right.

    The mean over the quantities is returned. Groups of instances count as one, as they were fitted.

    Args:
        posterior: A posterior that knows its rankings, as `polarbear.inference.fit` makes it.
        quantities: (D, k) what each of its draws says of k of them.

    Raises:
        ValueError: If the draws were adjusted, the posterior does not know its rankings, the quantities do not fit
            it, or there are fewer than two groups of instances.
    """
    check_unadjusted(posterior)
    instances, asked = posterior.known_wins.instances, np.asarray(quantities, dtype=np.float64)
    if asked.ndim != 2 or len(asked) != len(posterior.draws):
        raise ValueError(f"quantities has shape {asked.shape}; the posterior has {len(posterior.draws)} draws (D, k)")
    if instances.units < 2:
        raise ValueError(
            f"there are {instances.units} groups of instances; at least 2 are needed to see how they differ"
        )
    likelihood = _likelihood_over_time(DistinctRankings.of(instances), log_ratings(posterior.draws, _DRAWS))
    chosen = asked[evenly(len(asked), _DRAWS)]
    return float(_inflation(instances.summed(likelihood), chosen - chosen.mean(axis=0)).mean())


def evenly(count: int, most: int) -> NDArray[np.intp]:
    """Indices of at most so many of `count` things, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp))


def _likelihood_over_time(rankings: DistinctRankings, log_theta: FloatArray) -> FloatArray:
    """(P, D) log-likelihood of each instance at all timepoints together, of log-ratings (D, T, n)."""
    return sum((_likelihood(rankings, log_theta, t) for t in range(log_theta.shape[1])), np.zeros(()))


def _likelihood(rankings: DistinctRankings, log_theta: FloatArray, t: int) -> FloatArray:
    """(P, D) log-likelihood of each instance at one timepoint; 0 without a ranking."""
    likelihood, which = rankings.log_likelihood(t, log_theta[:, t])
    return (
        np.where((which >= 0)[:, np.newaxis], likelihood[which], 0.0)
        if len(likelihood)
        else np.zeros((which.size, len(log_theta)))
    )


def _inflation(likelihood: FloatArray, centred: FloatArray) -> FloatArray:
    """(n,) jackknife variance over posterior variance, from log-likelihoods (P, D) and centred log-ratings (D, n).

    What the covariances owe to the finite number of draws is taken off their squares.
    """
    instances, draws = likelihood.shape
    deviation = likelihood - likelihood.mean(axis=1, keepdims=True)
    variance = centred.var(axis=0, ddof=1)
    moves = deviation @ centred / (draws - 1)
    spread = instances * moves.var(axis=0, ddof=1)
    noise = deviation.var(axis=1, ddof=1).sum() * variance / draws
    return np.divide(np.maximum(spread - noise, 0.0), variance, out=np.zeros_like(moves[0]), where=variance > 0)

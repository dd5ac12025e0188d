"""How overconfident a posterior is, measured by the variation over instances."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.inference.posterior import Posterior
from polarbear.quantities import plural
from polarbear.rankings import DistinctRankings, Rankings
from polarbear.records import FloatArray

TOO_SURE = 1.25
"""Overconfidence factor above which a posterior is too sure."""
_DRAWS = 1000
_TIMEPOINTS = 16


def overconfidence(
    posterior: Posterior, values: ArrayLike | Rankings | None = None, *, precision: float | None = None
) -> float:
    """The factor by which the posterior overstates the number of instances; about 1 if its assumptions hold.

    The likelihood treats the rankings of one run at different timepoints as independent, which those of a best-so-far
    trajectory are not: they repeat each other. A model in which timepoints inform each other then counts the same
    evidence several times.

    An instance shifts the posterior mean of a log-rating by the posterior covariance of that log-rating and the
    instance's log-likelihood. The spread of these shifts over the instances estimates the variance of posterior means
    under resampling of the instances, whatever the assumptions (the infinitesimal jackknife; Giordano and Broderick
    2023). The result is that variance over the posterior variance, the median over algorithms and up to 16 timepoints:
    4 means that intervals should be twice as wide. It is below 1 if the prior is informative.

    Args:
        posterior: The posterior given the rankings in `values`, each counted once.
        values: Those rankings, or (P, T, n) values as for `polarbear.rankings.choice_counts`; by default the rankings
            that the posterior knows.
        precision: As for `choice_counts`.

    Raises:
        ValueError: If the values do not match the posterior, its draws were adjusted, or there are fewer than two
            instances.
    """
    rankings = checked_rankings(posterior, values, precision)
    check_unadjusted(posterior)
    if rankings.units < 2:
        raise ValueError(
            f"values has {plural(rankings.units, 'instance')}; at least 2 are needed to see how much they differ"
        )
    distinct, log_theta = DistinctRankings.of(rankings), log_ratings(posterior.draws, _DRAWS)
    centred = log_theta - log_theta.mean(axis=2, keepdims=True)
    centred -= centred.mean(axis=0)
    pooled = log_likelihood(distinct, log_theta, range(posterior.times.size)) if is_pooled(posterior) else None
    ratios: list[FloatArray] = []
    for t in evenly(posterior.times.size, _TIMEPOINTS).tolist():
        likelihood = log_likelihood(distinct, log_theta, [t]) if pooled is None else pooled
        ratios.append(_inflation(rankings.group_sums(likelihood), centred[:, t]))
    return float(np.median(ratios))


def overconfidence_of(posterior: Posterior, quantities: ArrayLike) -> float:
    """The overconfidence of quantities derived from a posterior, such as values over budgets; the mean over them.

    Args:
        posterior: A posterior that knows its rankings, as returned by `polarbear.inference.fit`. A group of instances
            counts as one instance.
        quantities: (D, k) values of k quantities in each of its draws.

    Raises:
        ValueError: If the draws were adjusted, the posterior does not know its rankings, the quantities do not match
            it, or there are fewer than two groups of instances.
    """
    check_unadjusted(posterior)
    rankings, derived = posterior.known_wins.instances, np.asarray(quantities, dtype=np.float64)
    if derived.ndim != 2 or len(derived) != len(posterior.draws):
        raise ValueError(
            f"quantities has shape {derived.shape}; it must be ({len(posterior.draws)}, k), one row per posterior draw"
        )
    if rankings.units < 2:
        raise ValueError(
            f"the rankings have {plural(rankings.units, 'group')} of instances; at least 2 are needed to see how "
            "much they differ"
        )
    timepoints = range(posterior.times.size)
    likelihood = log_likelihood(DistinctRankings.of(rankings), log_ratings(posterior.draws, _DRAWS), timepoints)
    chosen = derived[evenly(len(derived), _DRAWS)]
    return float(_inflation(rankings.group_sums(likelihood), chosen - chosen.mean(axis=0)).mean())


def checked_rankings(posterior: Posterior, values: ArrayLike | Rankings | None, precision: float | None) -> Rankings:
    """The rankings by values that match a posterior; the rankings it knows if `values` is None.

    Raises:
        ValueError: If the shapes do not match, the precision is not positive, or instances have weights.
    """
    rankings = posterior.known_wins.instances if values is None else values
    shape = np.shape(rankings.ranks if isinstance(rankings, Rankings) else rankings)
    timepoints, n = posterior.draws.shape[1:]
    if len(shape) != 3 or shape[1:] != (timepoints, n):
        raise ValueError(
            f"values has shape {shape}; a posterior of {timepoints} timepoints and {n} algorithms needs "
            f"(instances, {timepoints}, {n}), the values it was fitted to"
        )
    if not isinstance(rankings, Rankings):
        return Rankings.of(rankings, precision=precision)
    if precision is not None:
        raise ValueError(f"precision is {precision!r}, but these are rankings already; give it to Rankings.of")
    if (rankings.weights != 1.0).any():
        raise ValueError("the rankings have weights; give rankings in which each instance counts once")
    return rankings


def is_pooled(posterior: Posterior) -> bool:
    """Whether the posterior at one timepoint depends on the rankings at all timepoints."""
    return posterior.joint and (posterior.model is None or posterior.model.pooled)


def check_unadjusted(posterior: Posterior) -> None:
    """Raise a ValueError if the draws were widened beyond the likelihood's spread."""
    if posterior.diagnostics.widened is not None:
        raise ValueError(
            "the draws were widened to match how much instances differ, so they no longer follow the likelihood; fit "
            "polarbear.inference.as_published(model) to the same rankings, and use that posterior"
        )


def evenly(count: int, most: int) -> NDArray[np.intp]:
    """At most `most` evenly spaced indices below `count`, including the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.intp))


def log_ratings(draws: FloatArray, most: int) -> FloatArray:
    """Log-ratings (D′, T, n) of D′ evenly spaced draws, at most `most`."""
    return np.log(np.maximum(draws[evenly(len(draws), most)], np.finfo(np.float64).tiny))


def log_likelihood(rankings: DistinctRankings, log_theta: FloatArray, timepoints: Iterable[int]) -> FloatArray:
    """(P, D) joint log-likelihood of each instance at some timepoints, at log-ratings (D, T, n)."""
    total = np.zeros((len(rankings.index), len(log_theta)))
    for t in timepoints:
        likelihood, which = rankings.log_likelihood(t, log_theta[:, t])
        ranked = which >= 0
        total[ranked] += likelihood[which[ranked]]
    return total


def _inflation(likelihood: FloatArray, centred: FloatArray) -> FloatArray:
    """(n,) jackknife variance over posterior variance, from log-likelihoods (P, D) and centred log-ratings (D, n).

    The Monte Carlo noise of the estimated covariances is subtracted from their squares.
    """
    instances, draws = likelihood.shape
    deviation = likelihood - likelihood.mean(axis=1, keepdims=True)
    variance = centred.var(axis=0, ddof=1)
    moves = deviation @ centred / (draws - 1)
    spread = instances * moves.var(axis=0, ddof=1)
    noise = deviation.var(axis=1, ddof=1).sum() * variance / draws
    return np.divide(np.maximum(spread - noise, 0.0), variance, out=np.zeros_like(moves[0]), where=variance > 0)

"""Leave-one-instance-out predictive scores."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.inference.checking.certainty import (
    check_unadjusted,
    checked_rankings,
    is_pooled,
    log_likelihood,
    log_ratings,
)
from polarbear.inference.fitting import fit
from polarbear.inference.posterior import Model, Posterior
from polarbear.inference.sampling.diagnostics import LARGEST_K_HAT
from polarbear.inference.sampling.psis import smooth
from polarbear.quantities import plural
from polarbear.rankings import DistinctRankings, Rankings
from polarbear.records import FloatArray

_NEARLY_EQUAL = 2.0
"""Importance weights need no smoothing if none exceeds the mean by more than this factor."""


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOneOut:
    """How well a model predicts the rankings on an instance from those on all others.

    Attributes:
        pointwise: (P, T) log-probability of each instance's ranking at each timepoint, under the posterior without any
            of that instance's rankings; NaN where there is no ranking.
        in_sample: (P, T) the same under the posterior with them.
        k_hat: (P,) Pareto k-hat of the importance weights that leave each instance out, the largest over the
            timepoints if these are independent; −inf where all weights are nearly equal.
        refitted: (P,) whether the instance was left out by refitting, so that its k-hat does not matter.
    """

    pointwise: FloatArray
    in_sample: FloatArray
    k_hat: FloatArray
    refitted: NDArray[np.bool_]

    def __post_init__(self) -> None:
        for field in fields(self):
            view = np.asarray(getattr(self, field.name)).view()
            view.flags.writeable = False
            object.__setattr__(self, field.name, view)

    @property
    def by_instance(self) -> FloatArray:
        """(P,) sums of `pointwise` over the timepoints; NaN for instances without a ranking."""
        return np.where(self._known, np.nansum(self.pointwise, axis=1), np.nan)

    @property
    def elpd(self) -> float:
        """The score: the sum of the log-probabilities of all rankings; higher is better."""
        return float(np.nansum(self.pointwise))

    @property
    def standard_error(self) -> float:
        """Standard error of the score, from its spread over the instances; NaN with fewer than two."""
        return error_of_sum(self.by_instance)

    @property
    def effective_parameters(self) -> float:
        """Effective number of parameters, p_loo: the in-sample score minus the leave-one-out score."""
        return float(np.nansum(self.in_sample - self.pointwise))

    @property
    def rankings(self) -> int:
        """Number of rankings."""
        return int(np.count_nonzero(~np.isnan(self.pointwise)))

    @property
    def unreliable(self) -> NDArray[np.intp]:
        """Indices of the instances whose part of the score is unreliable: k-hat above 0.7, not refitted."""
        return np.flatnonzero(~(self.k_hat <= LARGEST_K_HAT) & ~self.refitted)

    @property
    def _known(self) -> NDArray[np.bool_]:
        return np.count_nonzero(~np.isnan(self.pointwise), axis=1) > 0

    def summary(self) -> str:
        """The score in plain words."""
        instances = int(np.count_nonzero(self._known))
        if not instances:
            return "There are no rankings to predict."
        words = [
            f"The score is {self.elpd:,.1f} ± {self.standard_error:,.1f} for {plural(self.rankings, 'ranking')} on "
            f"{plural(instances, 'instance')}, {self.elpd / self.rankings:.3f} per ranking; "
            f"the effective number of parameters is {self.effective_parameters:.1f}."
        ]
        refitted, bad = int(self.refitted.sum()), self.unreliable.size
        if refitted:
            were = "was" if refitted == 1 else "were"
            words.append(f"{refitted:,} of {plural(instances, 'instance')} {were} left out by refitting the model.")
        if bad:
            words.append(
                f"{bad:,} of {plural(instances, 'instance')} {'has' if bad == 1 else 'have'} too much influence to be "
                f"left out by reweighting (k-hat above {LARGEST_K_HAT:g}), so the score is likely too high: give "
                "leave_one_out a generator, and it refits the model without each of them."
            )
        else:
            words.append("The score is reliable.")
        return " ".join(words)

    def __str__(self) -> str:
        return self.summary()


def leave_one_out(
    posterior: Posterior,
    values: ArrayLike | Rankings | None = None,
    *,
    rng: np.random.Generator | None = None,
    model: Model | None = None,
    precision: float | None = None,
    draws: int = 1000,
) -> LeaveOneOut:
    """Score a model by how well it predicts the rankings on each instance from those on all others.

    The unit is the instance, because the rankings of the same runs at different timepoints depend on each other: all of
    them are left out at once. The posterior without them is the posterior with them, its draws weighted by the inverse
    of their likelihood and Pareto-smoothed (PSIS-LOO; Vehtari, Gelman and Gabry 2017, section 2). Under a model of
    independent timepoints the posterior is a product over timepoints, so the weights at each timepoint are those of
    the ranking there, which is exact. (Under the hierarchical Dirichlet model the instance's other timepoints still
    inform κ.)

    Each ranking is then predicted at its own timepoint. Scoring the T rankings of an instance jointly would reward an
    uncertain posterior: uncertainty makes predictions at several timepoints dependent, while the rankings are dependent
    for other reasons. The score of a tie is that of the likelihood, the mean log-probability of its orders.

    Args:
        posterior: The posterior given the rankings in `values`, each counted once.
        values: Those rankings, or (P, T, n) values as for `polarbear.rankings.choice_counts`; by default the rankings
            that the posterior knows.
        rng: The source of randomness for refitting the model without each instance whose k-hat is above 0.7, which
            takes one fit each; None to leave these out by reweighting, too.
        model: The model to refit, if the posterior does not know its own.
        precision: As for `choice_counts`.
        draws: Number of draws to use, evenly spaced.

    Returns:
        The score, instance by instance.

    Raises:
        ValueError: If the values do not match the posterior, its draws were adjusted, `draws` is below 1, or the model
            to refit is unknown.
        TypeError: If `rng` is neither None nor a NumPy Generator.
    """
    rankings = checked_rankings(posterior, values, precision)
    check_unadjusted(posterior)
    if draws < 1:
        raise ValueError(f"draws is {draws!r}; at least 1 posterior draw is needed")
    if rng is not None and not isinstance(rng, np.random.Generator):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"rng is {rng!r}; give a generator such as numpy.random.default_rng(1), or None")
    model = posterior.model if model is None else model
    if rng is not None and model is None:
        raise ValueError("the posterior does not say which model to refit without an instance; give model")
    scores = _by_reweighting(
        DistinctRankings.of(rankings), log_ratings(posterior.draws, draws), pooled=is_pooled(posterior)
    )
    if rng is None or model is None:
        return scores
    pointwise, refitted = scores.pointwise.copy(), scores.refitted.copy()
    generators = rng.spawn(len(pointwise))
    for instance in map(int, scores.unreliable):
        pointwise[instance] = _refitted(posterior, model, rankings, instance, draws, generators[instance])
        refitted[instance] = True
    return replace(scores, pointwise=pointwise, refitted=refitted)


def error_of_sum(by_instance: FloatArray) -> float:
    """Standard error of a sum over instances, without those that are NaN (eq. 23 of Vehtari et al. 2017)."""
    known = by_instance[~np.isnan(by_instance)]
    return float(np.sqrt(known.size * known.var(ddof=1))) if known.size > 1 else float("nan")


def _by_reweighting(rankings: DistinctRankings, log_theta: FloatArray, *, pooled: bool) -> LeaveOneOut:
    """Scores by importance weights: one for all rankings of an instance if `pooled`, else one for each ranking."""
    instances, timepoints = rankings.index.shape
    pointwise, in_sample = np.full((2, instances, timepoints), np.nan)
    weights, k_hat = np.empty(0), np.full(instances, -np.inf)
    if pooled:
        weights, k_hat = _weights(log_likelihood(rankings, log_theta, range(timepoints)))
    for t in range(timepoints):
        likelihood, which = rankings.log_likelihood(t, log_theta[:, t])
        ranked = which >= 0
        rows = which[ranked]
        in_sample[ranked, t] = _log_mean(likelihood)[rows]
        if pooled:
            pointwise[ranked, t] = _log_mean(likelihood[rows], weights[ranked])
        else:
            weights, k_hat_here = _weights(likelihood)
            pointwise[ranked, t] = _log_mean(likelihood, weights)[rows]
            k_hat[ranked] = np.maximum(k_hat[ranked], k_hat_here[rows])
    return LeaveOneOut(pointwise, in_sample, k_hat, np.zeros(k_hat.shape, np.bool_))


def _refitted(
    posterior: Posterior, model: Model, rankings: Rankings, instance: int, draws: int, rng: np.random.Generator
) -> FloatArray:
    """(T,) log-probability of an instance's rankings under the posterior refitted without them."""
    others, own = rankings.among(np.arange(len(rankings.ranks)) != instance), rankings.among([instance])
    without = fit(others, times=posterior.times, names=posterior.names, model=model, draws=draws, rng=rng)
    distinct, log_theta = DistinctRankings.of(own), log_ratings(without.draws, draws)
    predicted = np.full(posterior.times.size, np.nan)
    for t in np.flatnonzero(distinct.ranked[0]).tolist():
        predicted[t] = _log_mean(distinct.log_likelihood(t, log_theta[:, t])[0])[0]
    return predicted


def _weights(likelihood: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights (U, D) that remove each of U log-likelihoods (U, D) from the posterior, and their k-hat (U,)."""
    ratios = -likelihood
    ratios -= ratios.max(axis=1, keepdims=True, initial=-np.inf)
    weights = np.exp(ratios)
    weights /= weights.sum(axis=1, keepdims=True)
    k_hat = np.full(len(ratios), -np.inf)
    for row in np.flatnonzero(weights.max(axis=1, initial=0.0) > _NEARLY_EQUAL / ratios.shape[1]):
        weights[row], k_hat[row] = smooth(ratios[row])
    return weights, k_hat


def _log_mean(likelihood: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """(U,) logarithm of the mean likelihood, from log-likelihoods (U, D) and weights (U, D), equal by default."""
    top = likelihood.max(axis=1, initial=-np.inf)
    likely = np.exp(likelihood - top[:, np.newaxis])
    return top + np.log(likely.mean(axis=1) if weights is None else (weights * likely).sum(axis=1))

"""Pareto-smoothed importance sampling of the posterior of the ratings at one timepoint."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.inference.sampling.diagnostics import IMPORTANCE_SAMPLING, Sampled
from polarbear.inference.sampling.proposal import Proposal
from polarbear.records import FloatArray

_MIN_TAIL = 5
"""Minimum number of weights that a Pareto distribution is fitted to (Vehtari et al. 2024)."""
_SMALLEST_LOG, _ROOM = -690.0, 15.0
"""Log-ratings below the first number are compressed into the second's width below it; exponentials end at −708."""


def smooth(log_weights: FloatArray) -> tuple[FloatArray, float]:
    """Importance weights whose largest ones are smoothed by a Pareto distribution (Vehtari et al. 2024, section 3).

    Args:
        log_weights: (S,) log importance ratios.

    Returns:
        (S,) weights that sum to 1, and the tail's shape k-hat: NaN if a ratio is NaN, +inf if the tail is too short to
        judge, -inf if all ratios are equal.
    """
    number = log_weights.size
    top = log_weights.max()
    if not np.isfinite(top):
        return np.full(number, 1.0 / number), float("nan")
    shifted = log_weights - top
    if shifted.min() > -1e-6:
        return _normalized(shifted), -np.inf
    length = int(np.ceil(min(0.2 * number, 3.0 * np.sqrt(number))))
    if length < _MIN_TAIL:
        return _normalized(shifted), np.inf
    cutoff = max(np.partition(shifted, -length - 1)[-length - 1], np.log(np.finfo(np.float64).tiny))
    tail = np.flatnonzero(shifted > cutoff)
    tail = tail[np.argsort(shifted[tail], kind="stable")]
    if tail.size < _MIN_TAIL:
        return _normalized(shifted), np.inf
    excess = np.exp(shifted[tail]) - np.exp(cutoff)
    k_hat, scale = _generalized_pareto(excess)
    if np.isfinite(k_hat):
        level = (np.arange(tail.size) + 0.5) / tail.size
        with np.errstate(over="ignore"):
            growth = -np.log1p(-level) if abs(k_hat) < 1e-12 else np.expm1(-k_hat * np.log1p(-level)) / k_hat
        shifted[tail] = np.minimum(np.log(scale * growth + np.exp(cutoff)), 0.0)
    return _normalized(shifted), float(k_hat)


def _generalized_pareto(excess: FloatArray) -> tuple[float, float]:
    """Shape k and scale σ of the generalized Pareto distribution of sorted positive excesses.

    Zhang and Stephens (2009), with the weak prior on k of Vehtari et al. (2024, appendix G): ten observations at 0.5.
    """
    number = excess.size
    grid = np.arange(1, 30 + int(np.sqrt(number)) + 1)
    quartile = excess[int(number / 4 + 0.5) - 1]
    b = 1.0 / excess[-1] + (1.0 - np.sqrt(grid.size / (grid - 0.5))) / (3.0 * quartile)
    k = np.log1p(-b[:, np.newaxis] * excess).mean(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        profile = number * (np.log(-b / k) - k - 1.0)
    weight = _normalized(np.where(np.isnan(profile), -np.inf, profile))
    b_hat = float(b @ weight)
    k_hat = float(np.log1p(-b_hat * excess).mean())
    scale = -k_hat / b_hat
    return (k_hat * number + 5.0) / (number + 10.0), scale


def _normalized(log_weights: FloatArray) -> FloatArray:
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


def importance(choices: Choices, source: Proposal, *, draws: int, proposals: int, rng: np.random.Generator) -> Sampled:
    """Weight proposals by the posterior density, smooth the weights, and resample.

    Args:
        choices: The choices, including the prior, with algorithms in the proposal's order.
        source: The proposal distribution.
        draws: Number of equally weighted draws to return.
        proposals: Number of proposals to weight.
        rng: The source of randomness.
    """
    log_theta, log_proposed = source.draw(proposals, rng)
    weights, k_hat = smooth(choices.log_density(log_theta) - log_proposed)
    chosen = resample(weights, draws, rng)
    ess = min(1.0 / float(weights @ weights), float(draws))
    return Sampled(ratings_in_order(np.take(log_theta, chosen, axis=1)), IMPORTANCE_SAMPLING, ess, k_hat)


def ratings_in_order(log_theta: FloatArray) -> FloatArray:
    """Ratings from their logarithms; those too small for floating-point numbers are compressed, in order."""
    below = np.maximum(_SMALLEST_LOG - log_theta, 0.0)
    return np.exp(np.maximum(log_theta, _SMALLEST_LOG) - _ROOM * below / (1000.0 + below))


def resample(weights: FloatArray, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Indices (draws,) of equally weighted draws by systematic resampling, in random order."""
    cumulative = np.cumsum(weights)
    ends = np.ceil(cumulative * (draws / float(cumulative[-1])) - rng.random())
    ends[-1] = draws
    copies = np.diff(ends, prepend=0.0).astype(np.int64)
    return rng.permutation(np.repeat(np.arange(weights.size), copies))

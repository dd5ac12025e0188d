"""Pareto-smoothed importance weights."""

from __future__ import annotations

import numpy as np

from polarbear.records import FloatArray

_FEWEST_IN_TAIL = 5


def smooth(log_weights: FloatArray) -> tuple[FloatArray, float]:
    """Importance weights whose largest ones are smoothed by a Pareto distribution (Vehtari et al. 2024, section 3).

    Args:
        log_weights: (S,) log importance ratios.

    Returns:
        (S,) weights that sum to 1, and the tail's shape k-hat: NaN if a ratio is not a number, +inf if the tail is
        too short to judge, -inf if all ratios are equal.
    """
    number = log_weights.size
    top = log_weights.max()
    if not np.isfinite(top):
        return np.full(number, 1.0 / number), float("nan")
    shifted = log_weights - top
    if shifted.min() > -1e-6:
        return _normalized(shifted), -np.inf
    length = int(np.ceil(min(0.2 * number, 3.0 * np.sqrt(number))))
    if length < _FEWEST_IN_TAIL:
        return _normalized(shifted), np.inf
    cutoff = max(np.partition(shifted, -length - 1)[-length - 1], np.log(np.finfo(np.float64).tiny))
    tail = np.flatnonzero(shifted > cutoff)
    tail = tail[np.argsort(shifted[tail], kind="stable")]
    if tail.size < _FEWEST_IN_TAIL:
        return _normalized(shifted), np.inf
    excess = np.exp(shifted[tail]) - np.exp(cutoff)
    k_hat, scale = _generalized_pareto(excess)
    if np.isfinite(k_hat):
        at = (np.arange(tail.size) + 0.5) / tail.size
        with np.errstate(over="ignore"):
            growth = -np.log1p(-at) if abs(k_hat) < 1e-12 else np.expm1(-k_hat * np.log1p(-at)) / k_hat
        quantile = scale * growth
        shifted[tail] = np.minimum(np.log(quantile + np.exp(cutoff)), 0.0)
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

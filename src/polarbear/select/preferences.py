"""Preferences over budgets: what an algorithm is worth when time preferences are stated (Wurth et al. 2026, section 4).

A preference u turns ratings over time into one value, V_A = u(θ_A(t_1), …, θ_A(t_T)) (eq. 17), and never decreases
when a rating rises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from polarbear.inference import Posterior
from polarbear.records import FloatArray

NAMED = ("uniform", "log-uniform", "final")


@runtime_checkable
class BudgetDistribution(Protocol):
    """A continuous distribution of the budget, such as a frozen one of `scipy.stats`."""

    def cdf(self, x: FloatArray, /) -> FloatArray:
        """P(budget ≤ x)."""
        ...


Preference = str | ArrayLike | BudgetDistribution | Callable[[FloatArray], ArrayLike]
"""How much each budget matters:

- ``"uniform"``: every budget between the first and the last timepoint matters equally, w(t) = 1;
- ``"log-uniform"``: every order of magnitude matters equally, w(t) = 1/t;
- ``"final"``: the last timepoint alone;
- an array of T non-negative weights, one per timepoint;
- a continuous distribution of the budget with a ``cdf``, cut to the span of the timepoints;
- a callable from ratings of shape (..., T) to values of shape (...), increasing in every rating.
"""


def preference_weights(preference: Preference, times: ArrayLike) -> FloatArray:
    """The weight of each timepoint under a linear preference.

    The mean rating over the budgets is integrated by the trapezoidal rule: the probability of each interval between
    two timepoints goes to both ends in halves.

    Args:
        preference: A name, an array of weights or a distribution with a ``cdf``.
        times: (T,) strictly increasing.

    Returns:
        (T,) non-negative, sums to 1.

    Raises:
        ValueError: If the name is unknown, or the weights have the wrong shape or sign, or are all zero.
    """
    timepoints = np.asarray(times, dtype=np.float64)
    if isinstance(preference, str):
        weights = _named_weights(preference, timepoints)
    elif isinstance(preference, BudgetDistribution):
        if hasattr(preference, "pmf"):
            raise TypeError("the distribution of the budget is discrete; give the timepoints' weights as an array")
        weights = _trapezoidal(np.asarray(preference.cdf(timepoints), dtype=np.float64))
    elif callable(preference):
        raise TypeError("a callable preference has no weights; call it, or use preference_values")
    else:
        weights = np.asarray(preference, dtype=np.float64)
        if weights.shape != timepoints.shape:
            raise ValueError(
                f"the preference has shape {weights.shape}; {timepoints.size} timepoints need shape {timepoints.shape}"
            )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.sum() > 0):
        raise ValueError("preference weights must be finite and not negative, and at least one must be positive")
    return weights / weights.sum()


def preference_values(posterior: Posterior, preference: Preference) -> FloatArray:
    """Posterior draws of the value of every algorithm under a preference (section 4.4).

    Args:
        posterior: (draws, T, n) ratings.
        preference: See `Preference`.

    Returns:
        (draws, n).

    Raises:
        ValueError: If the preference is unknown or does not fit the timepoints.
    """
    return values_of(posterior.draws, posterior.times, preference)


def values_of(ratings: FloatArray, times: FloatArray, preference: Preference) -> FloatArray:
    """Values (draws, n) of `ratings` (draws, T, n) at `times` (T,) under a preference."""
    if is_linear(preference):
        return np.einsum("dtn,t->dn", ratings, preference_weights(preference, times), optimize=True)
    if not callable(preference):
        raise TypeError(f"{preference!r} is no preference")
    over_time = np.moveaxis(ratings, 1, 2)
    values = np.asarray(preference(over_time), dtype=np.float64)
    if values.shape != over_time.shape[:-1]:
        raise ValueError(
            f"the preference turned ratings of shape {over_time.shape} into values of shape {values.shape}; "
            f"it must reduce the last axis, giving {over_time.shape[:-1]}"
        )
    if np.isnan(values).any():
        raise ValueError("the preference turned some ratings into NaN; it must give numbers")
    return values


def is_linear(preference: Preference) -> bool:
    """Whether the preference is a weighting of timepoints, so that a portfolio's value is the sum of its members'."""
    return not callable(preference) or isinstance(preference, BudgetDistribution)


def _named_weights(name: str, times: FloatArray) -> FloatArray:
    if name not in NAMED:
        raise ValueError(f"preference {name!r} is unknown; choose one of {', '.join(NAMED)}, weights, or a callable")
    if name == "final" or times.size == 1:
        return np.eye(times.size)[-1]
    return _trapezoidal(np.log(times) if name == "log-uniform" else times)


def _trapezoidal(cumulative: FloatArray) -> FloatArray:
    """Weights of the timepoints, up to a factor, from the budget's distribution function at them."""
    steps = np.diff(cumulative)
    return np.append(steps, 0.0) + np.insert(steps, 0, 0.0)

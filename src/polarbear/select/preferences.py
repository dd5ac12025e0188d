"""Preferences over budgets, which determine the value of an algorithm (Wurth et al. 2026, section 4).

A preference u maps ratings over time to one value, V_A = u(θ_A(t_1), …, θ_A(t_T)) (eq. 17), which never decreases when
a rating increases.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from polarbear.inference import Posterior
from polarbear.inference.posterior import Predictive
from polarbear.records import FloatArray
from polarbear.select.budget import BudgetDistribution, BudgetRange, budget_name, parse_budget

Preference = str | float | tuple[float, float] | ArrayLike | BudgetDistribution | Callable[[FloatArray], ArrayLike]
"""How much each budget matters:

- a number, the budget itself: the timepoint nearest to it on a log scale;
- ``(low, high)``, or a `BudgetRange`: any budget between two, all of them equally probable;
- ``"uniform"``: every budget between the first and the last timepoint matters equally, w(t) = 1;
- ``"log-uniform"``: every order of magnitude matters equally, w(t) = 1/t;
- ``"final"``: only the last timepoint matters;
- ``"worst"``: the lowest rating over all timepoints, so that the choice fails at none;
- any other text accepted by `parse_budget`, such as ``"300"``, ``"100..1000"`` or ``"normal(300, 50)"``;
- an array of T non-negative weights, one per timepoint;
- a continuous distribution of the budget with a ``cdf``, truncated to the span of the timepoints;
- a callable from ratings of shape (..., T) to values of shape (...), increasing in every rating.
"""


def preference_weights(preference: Preference, times: ArrayLike) -> FloatArray:
    """The weight of each timepoint under a linear preference.

    The mean rating over the budgets is integrated by the trapezoidal rule: the probability of each interval between two
    timepoints is split equally between its ends.

    Args:
        preference: Any preference but "worst" or a callable, which have no weights.
        times: (T,) strictly increasing timepoints.

    Returns:
        (T,) non-negative weights that sum to 1.

    Raises:
        ValueError: If the preference is unknown, asks for budgets outside the timepoints, or its weights have the wrong
            shape or sign, or are all zero.
        TypeError: If the preference has no weights.
    """
    timepoints = np.asarray(times, dtype=np.float64)
    meant = _meant(preference, timepoints)
    if not is_linear(meant):
        raise TypeError('"worst" and a callable preference have no weights; use preference_values')
    if isinstance(meant, str):
        weights = _named_weights(meant, timepoints)
    elif isinstance(meant, BudgetDistribution):
        weights = _probabilities(meant, timepoints)
    elif isinstance(meant, float):
        weights = np.eye(timepoints.size)[_nearest(meant, timepoints)]
    else:
        weights = np.asarray(meant, dtype=np.float64)
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
        posterior: The posterior of n algorithms' ratings, with D draws.
        preference: The preference; see `Preference`.

    Returns:
        (D, n) values.

    Raises:
        ValueError: If the preference is unknown or does not match the timepoints.
    """
    return values_of(posterior.draws, posterior.times, preference)


def values_of(ratings: FloatArray, times: FloatArray, preference: Preference) -> FloatArray:
    """(D, n) values of `ratings` (D, T, n) at `times` (T,) under a preference."""
    if is_linear(preference):
        return np.einsum("dtn,t->dn", ratings, preference_weights(preference, times), optimize=True)
    if isinstance(preference, str):  # "worst"
        return ratings.min(axis=1)
    if not callable(preference):
        raise TypeError(f"preference is {preference!r}; {_MEND}")
    over_time = np.moveaxis(ratings, 1, 2)
    values = np.asarray(preference(over_time), dtype=np.float64)
    if values.shape != over_time.shape[:-1]:
        raise ValueError(
            f"the preference turned ratings of shape {over_time.shape} into values of shape {values.shape}; "
            f"it must reduce the last axis, giving {over_time.shape[:-1]}"
        )
    if np.isnan(values).any():
        raise ValueError("the preference turned some ratings into NaN; it must return numbers")
    return values


def is_linear(preference: Preference) -> bool:
    """Whether the preference is a weighting of timepoints, so that a portfolio's value is the sum of its members'."""
    return not (callable(preference) or _is_worst(preference)) or isinstance(preference, BudgetDistribution)


def posterior_at_budget(
    posterior: Posterior, preference: Preference, rng: np.random.Generator | None
) -> tuple[Posterior, Preference]:
    """The posterior to use under a preference, which is the model's prediction for a budget between timepoints.

    Args:
        posterior: The posterior of the ratings.
        preference: The preference; see `Preference`.
        rng: The source of randomness of a prediction; None to use the nearest timepoint instead.

    Returns:
        The posterior at the budget alone if that is a number, the model can predict and `rng` is given; otherwise the
        given posterior. And the preference, with texts and pairs parsed.

    Raises:
        ValueError: If a budget lies outside the timepoints.
    """
    meant: Any = _meant(preference, posterior.times)
    if isinstance(meant, float):
        _nearest(meant, posterior.times)
        model = getattr(posterior, "model", None)
        if rng is not None and isinstance(model, Predictive) and posterior.times.size > 1 and not posterior.excerpt:
            return posterior.at(meant, rng=rng), meant
    return posterior, meant


def described(preference: Preference, times: FloatArray) -> str:
    """A preference in words, with the part of it that the timepoints do not cover."""
    meant = _meant(preference, times)
    if isinstance(meant, BudgetDistribution) and (inside := _mass(meant, times)) < _ALL:
        return f"{budget_name(meant)} ({inside:.0%} of it within the timepoints)"
    if isinstance(meant, float) and (there := times[_nearest(meant, times)]) != meant:
        return f"{budget_name(meant)} (timepoint {there:g})"
    return budget_name(meant)


def under(name: str) -> str:
    """A preference's name in a sentence: "at a budget of 300", "under a log-uniform preference"."""
    return f"at a budget of {name}" if name[0].isdigit() else f"under a {name} preference"


_ALL = 0.995
"""Probability inside the timepoints from which the part outside is not mentioned."""
_MEND = "give a budget, a range, a distribution, a name or weights"
"""What to do about a preference that is none."""


def _meant(preference: Any, times: FloatArray) -> Any:
    """The preference, with texts and pairs parsed."""
    if isinstance(preference, str):
        return parse_budget(preference)
    if isinstance(preference, bool | np.bool_) or preference is None:
        raise TypeError(f"preference is {preference!r}; {_MEND}")
    if isinstance(preference, Real):
        return float(preference)
    pair: tuple[Any, ...] = cast(Any, preference) if isinstance(preference, tuple) else ()
    if len(pair) != 2 or (times.size == 2 and not times[0] <= pair[0] < pair[1] <= times[1]):
        return cast(Any, preference)
    if times.size == 2:
        message = f"{pair} may be a range of budgets, or the weights of the two timepoints"
        raise ValueError(f'{message}; give "{pair[0]}..{pair[1]}" for the range, or the weights as a list')
    return BudgetRange(*pair)


def _is_worst(preference: Preference) -> bool:
    return isinstance(preference, str) and preference.strip() == "worst"


def _nearest(budget: float, times: FloatArray) -> int:
    """Index of the timepoint nearest to a budget on a log scale; ValueError if it lies outside the timepoints."""
    _check_inside(budget, budget, f"budget {budget:g}", times)
    logarithms = np.log(np.maximum(np.append(times, budget), np.finfo(np.float64).tiny))
    return int(np.argmin(np.abs(logarithms[:-1] - logarithms[-1])))


def _check_inside(low: float, high: float, name: str, times: FloatArray) -> None:
    if not times[0] <= low <= high <= times[-1]:
        raise ValueError(
            f"{name} lies outside the timepoints, which span {times[0]:g} to {times[-1]:g}, and nothing is known "
            "beyond them; stay within them, or race with timepoints that include it"
        )


def _probabilities(budget: BudgetDistribution, times: FloatArray) -> FloatArray:
    """Weights of the timepoints under a distribution of the budget."""
    if hasattr(budget, "pmf"):
        raise TypeError("the distribution of the budget is discrete; give the timepoints' weights as an array")
    if isinstance(budget, BudgetRange):
        _check_inside(budget.low, budget.high, f"the range {budget}", times)
    weights = _trapezoidal(np.asarray(budget.cdf(times), dtype=np.float64))
    if times.size > 1 and not weights.any():
        raise ValueError(
            f"{budget_name(budget)} has no probability mass between the first and the last timepoint, {times[0]:g} and "
            f"{times[-1]:g}, so all weights are zero; at least one must be positive"
        )
    return weights


def _mass(budget: BudgetDistribution, times: FloatArray) -> float:
    """The probability that the budget lies within the timepoints."""
    first, last = np.asarray(budget.cdf(times[[0, -1]]), dtype=np.float64)
    return float(last - first)


def _named_weights(name: str, times: FloatArray) -> FloatArray:
    if name == "final" or times.size == 1:
        return np.eye(times.size)[-1]
    return _trapezoidal(np.log(times) if name == "log-uniform" else times)


def _trapezoidal(cumulative: FloatArray) -> FloatArray:
    """Weights of the timepoints, up to a factor, from the budget's cumulative distribution at them."""
    steps = np.diff(cumulative)
    return np.append(steps, 0.0) + np.insert(steps, 0, 0.0)

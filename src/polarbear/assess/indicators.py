"""Quality indicators of one run's sequence of proposed solutions (Hansen et al. 2022, section III-A).

Each maps the values of the solutions 1, 2, … to an indicator value after each solution, to be minimized; `first_hits`
gives the runtimes. The indicator for several objectives is in `hypervolume`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.records import FloatArray


def last_value(values: ArrayLike) -> FloatArray:
    """(t,) value of the last solution after each evaluation, which has the same first hitting times as the best."""
    return _sequence(values)


def best_value(values: ArrayLike) -> FloatArray:
    """(t,) best value so far after each evaluation.

    Raises:
        ValueError: If values are not 1-D or contain NaN.
    """
    return np.minimum.accumulate(_sequence(values))


def noisy_window(t: ArrayLike) -> NDArray[np.int64]:
    """Number of latest values used by the indicator for noisy functions after t evaluations: ⌈ln²(t + 3)/2⌉."""
    return np.ceil(np.log(floats(t) + 3) ** 2 / 2).astype(np.int64)


def noisy_indicator(values: ArrayLike) -> FloatArray:
    """The indicator for noisy functions: the 1 %-ile worst of the last ⌈ln²(t + 3)/2⌉ values.

    A single lucky solution cannot lower it.

    Args:
        values: (t,) deterministic, noiseless values of the proposed solutions, such as the medians of their
            distributions.

    Returns:
        (t,) ⌈w/100⌉-th worst of the w latest values; that is the worst up to w = 100, or t about 1.4 million.

    Raises:
        ValueError: If values are not 1-D or contain NaN.
    """
    sequence = _sequence(values)
    widths = noisy_window(np.arange(1, sequence.size + 1))
    indicator = np.empty(sequence.size)
    for width in map(int, np.unique(widths)):
        begin, end = np.searchsorted(widths, [width, width + 1])
        windows = np.lib.stride_tricks.sliding_window_view(sequence[begin - width + 1 : end], width)
        worst = -(-width // 100)
        indicator[begin:end] = np.partition(windows, width - worst, axis=1)[:, width - worst]
    return indicator


def constrained_indicator(
    values: ArrayLike, constraints: ArrayLike, optimum: float, *, weights: ArrayLike = 1.0
) -> FloatArray:
    """The indicator for constrained functions: |f − f_opt|⁺ + Σ λᵢ |gᵢ|⁺ of each solution, where |x|⁺ is max(x, 0).

    Args:
        values: (t,) objective values f.
        constraints: (t, constraints) constraint values g, at most 0 where feasible.
        optimum: Objective value of the feasible optimum.
        weights: Positive weights λ, one for all or one per constraint; inf excludes infeasible solutions.

    Returns:
        (t,) indicator value of each solution, not best so far.

    Raises:
        ValueError: If a number is NaN, a weight is not positive, or shapes do not match.
    """
    objective = _sequence(values)
    violation = np.maximum(floats(constraints), 0.0)
    if violation.ndim != 2 or len(violation) != objective.size or np.isnan(violation).any():
        raise ValueError(
            f"constraints have shape {violation.shape}; they must be ({objective.size}, constraints) without NaN"
        )
    factors = np.broadcast_to(floats(weights), violation.shape[1:])
    if not (factors > 0).all():
        raise ValueError(f"weights are {factors!r}; they must be positive")
    penalties = np.multiply(factors, violation, out=np.zeros(violation.shape), where=violation > 0)
    return np.maximum(objective - optimum, 0.0) + penalties.sum(axis=1)


def _sequence(values: ArrayLike) -> FloatArray:
    sequence = floats(values)
    if sequence.ndim != 1 or np.isnan(sequence).any():
        raise ValueError(f"values have shape {sequence.shape}; give one number per solution, none of them NaN")
    return sequence

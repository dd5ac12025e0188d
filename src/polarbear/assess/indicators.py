"""Quality indicators of one run's sequence of proposal solutions (Hansen et al. 2022, section III-A).

Each maps the values of the solutions 1, 2, … to an indicator value after each, to be minimized; runtimes follow by
`first_hits`. The indicator for several objectives is in `hypervolume`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.records import FloatArray


def last_value(values: ArrayLike) -> FloatArray:
    """The value of the last solution after each evaluation, (t,); it has the same first hitting times as the best."""
    return _sequence(values)


def best_value(values: ArrayLike) -> FloatArray:
    """The best value so far after each evaluation, (t,).

    Raises:
        ValueError: If values are not 1-D or hold NaN.
    """
    return np.minimum.accumulate(_sequence(values))


def noisy_window(t: ArrayLike) -> NDArray[np.int64]:
    """The number of latest values that the indicator for noisy functions uses: ⌈ln²(t + 3)/2⌉."""
    return np.ceil(np.log(floats(t) + 3) ** 2 / 2).astype(np.int64)


def noisy_indicator(values: ArrayLike) -> FloatArray:
    """For noisy functions: the 1 %-ile worst of the last ⌈ln²(t + 3)/2⌉ values, which a lucky solution cannot lower.

    Args:
        values: (t,) a deterministic, noiseless value of each proposed solution, such as the median of its
            distribution.

    Returns:
        (t,): of the w latest values the ⌈w/100⌉-th worst; that is the worst up to w = 100, or t about 1.4 million.

    Raises:
        ValueError: If values are not 1-D or hold NaN.
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
    """For constrained functions: |f − f_opt|⁺ + Σ λᵢ |gᵢ|⁺ of each solution, where |·|⁺ cuts off below zero.

    Args:
        values: (t,) objective values f.
        constraints: (t, constraints) values g; not positive where feasible.
        optimum: The objective value of the feasible optimum.
        weights: Positive λ, one or one per constraint; inf lets no infeasible solution count.

    Returns:
        (t,) indicator values of the solutions one by one, not best so far.

    Raises:
        ValueError: If a number is NaN, a weight is not positive, or shapes do not fit.
    """
    objective = _sequence(values)
    violation = np.maximum(floats(constraints), 0.0)
    if violation.ndim != 2 or len(violation) != objective.size or np.isnan(violation).any():
        raise ValueError(
            f"constraints have shape {violation.shape}; {objective.size} solutions need (t, constraints) without NaN"
        )
    factors = np.broadcast_to(floats(weights), violation.shape[1:])
    if not (factors > 0).all():
        raise ValueError(f"weights are {factors!r}; give positive ones")
    penalties = np.multiply(factors, violation, out=np.zeros(violation.shape), where=violation > 0)
    return np.maximum(objective - optimum, 0.0) + penalties.sum(axis=1)


def _sequence(values: ArrayLike) -> FloatArray:
    sequence = floats(values)
    if sequence.ndim != 1 or np.isnan(sequence).any():
        raise ValueError(f"values have shape {sequence.shape}; give one number per solution, none of them NaN")
    return sequence

"""The EAF-based ECDF, the area over the convergence curve (AOCC) of each run, and the weighted area under the EAF.

López-Ibáñez et al. 2024. The ECDF needs no targets (section II-C): it is the EAF averaged over all values between two
bounds. By eq. 6 the average may be taken run by run: the share of the values that a run has reached is one minus its
scaled best-so-far value. The target-based ECDF converges to it as targets become dense. The mean AOCC of the runs is
the area under their EAF (section II-D, eq. 11).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.assess.step_functions import (
    Bounds,
    Curve,
    FloatArray,
    IntArray,
    StepFunction,
    pointwise_mean,
    step_functions,
)


def attained_share(runs: Sequence[Curve], *, values: Bounds | Sequence[Bounds]) -> tuple[StepFunction, ...]:
    """Each run's share of the values between the bounds that it has reached, as a function of time.

    This is the inner integral of eq. 6: from 0, at or above the upper bound, to 1, at or below the lower bound.

    Args:
        runs: Runs in any form that `step_functions` accepts.
        values: Bounds of the values and their scale: one for all runs, or one for each (such as that of its instance).

    Raises:
        ValueError: If there are not as many bounds as runs.
    """
    functions = step_functions(runs)
    levels = [np.append(run.before, run.y) for run in functions]
    if isinstance(values, Bounds):
        ends = np.cumsum([level.size for level in levels])
        scaled = np.split(values.scaled(np.concatenate(levels)), ends[:-1])
    elif len(values) == len(functions):
        scaled = [bound.scaled(level) for bound, level in zip(values, levels, strict=True)]
    else:
        raise ValueError(
            f"there are {len(values)} bounds for {len(functions)} runs; give one for each, or a single one"
        )
    return tuple(
        StepFunction.known(run.x, 1 - share[1:], float(1 - share[0]), run.until)
        for run, share in zip(functions, scaled, strict=True)
    )


def attainment_ecdf(runs: Sequence[Curve], *, values: Bounds | Sequence[Bounds]) -> StepFunction:
    """The EAF-based ECDF (eq. 4) at all times, exactly.

    Runs of several instances or functions may be given together and then have equal weights; for equal weights of
    groups of unequal size take `pointwise_mean` of their ECDFs.

    Args:
        runs: Runs in any form that `step_functions` accepts.
        values: Bounds as in `attained_share`. COCO's convention is `Bounds(1e-8, 100, log=True)` for precisions.

    Returns:
        A step function of time from 0 to 1. Its `mean` between bounds of time is its normalized area (eq. 7), which
        equals the mean of `aocc`. It is unknown as soon as any run is.
    """
    return pointwise_mean(attained_share(runs, values=values))


def aocc(runs: Sequence[Curve], *, times: Bounds, values: Bounds | Sequence[Bounds]) -> FloatArray:
    """The normalized AOCC of each run, from 0 to 1; higher is better.

    It is the share of the box between the bounds of time and value that lies above the best-so-far curve, with both
    measured on their scales, and is exact: no grid is involved. With `Bounds(1, t_max)` for evaluations and linear
    scales it is eq. 9 over (t_max - 1)(z_max - z_min). With `Bounds(1, B + 1)` it is the mean over the evaluations 1 to
    B, the AOCC of the IOHprofiler thesis (section 2.4), there with `Bounds(1e-8, 100, log=True)` for precisions.

    Args:
        runs: Runs in any form that `step_functions` accepts.
        times: Bounds of the times and their scale.
        values: Bounds of the values and their scale: one for all runs, or one for each.

    Returns:
        (runs,) AOCC; NaN for a run that was cut short before `times.high` (use `step_functions(..., carry=True)` to
        assume that the run would not have improved again). A run without any value has 0.

    Raises:
        ValueError: If there are no runs, or not as many bounds as runs.
    """
    if not isinstance(values, Bounds):
        return np.array([share.mean(times) for share in attained_share(runs, values=values)])
    functions = step_functions(runs)  # all at once, each with an extra entry for the value before its first one
    lengths = np.array([1 + run.x.size for run in functions])
    first = np.cumsum(lengths) - lengths
    at, best = (np.zeros(lengths.sum()) for _ in range(2))
    later = np.ones(at.size, dtype=np.bool_)
    later[first] = False
    at[later] = times.scaled(np.concatenate([run.x for run in functions]))
    best[later] = np.concatenate([run.y for run in functions])
    best[first] = [run.before for run in functions]
    until = np.append(at[1:], 1.0)
    until[np.append(first[1:], at.size) - 1] = 1.0
    areas = np.add.reduceat((until - at) * (1 - values.scaled(best)), first)
    known = np.array([run.until for run in functions]) >= times.high
    return np.where(known, areas, np.nan)


def weighted_auc(
    runs: Sequence[Curve], weights: ArrayLike, *, times: Bounds, values: Bounds | Sequence[Bounds]
) -> FloatArray:
    """The weighted mean of each run's attainment over the box; its mean over runs is the weighted area under the EAF.

    This is the generalized hypervolume of López-Ibáñez et al. 2024, section II-D (after Grunert da Fonseca and Fonseca
    2012): attainment times a weight, integrated over time and value, divided by the integral of the weight. Equal
    weights give `aocc`. A weight that is the product of one for time and one for value is a change of scale: a
    logarithmic scale corresponds to the weight 1/t or 1/z.

    Args:
        runs: Runs in any form that `step_functions` accepts.
        weights: (m, n) non-negative weights, one for each cell of an even division of the box, on the scales of the
            bounds, into m intervals of time and n of value.
        times: Bounds of the times and their scale.
        values: Bounds of the values and their scale: one for all runs, or one for each.

    Returns:
        (runs,) weighted means from 0 to 1; NaN for a run that was cut short before `times.high`.

    Raises:
        ValueError: If weights are not two-dimensional, negative, not finite or all zero.
    """
    table = floats(weights)
    if table.ndim != 2 or not (np.isfinite(table) & (table >= 0)).all() or not table.sum() > 0:
        raise ValueError(
            f"weights have shape {table.shape}; they must be (times, values), finite, nonnegative and not all zero"
        )
    return np.array([_weighted(share, table, times) for share in attained_share(runs, values=values)]) / table.mean()


def _weighted(share: StepFunction, weights: FloatArray, times: Bounds) -> float:
    """The integral of weight times attainment over the unit square."""
    if share.until < times.high:
        return float("nan")
    columns, rows = weights.shape
    grid = np.linspace(0.0, 1.0, columns + 1)
    starts = np.concatenate(([0.0], times.scaled(share.x)))
    edges = np.union1d(starts, grid)
    heights = np.concatenate(([share.before], share.y))[_latest(starts, edges[:-1])]
    # a run that has reached the share h of the values attains the upper part of the box: rows from 1 - h up
    filled = np.clip(np.linspace(0.0, 1.0, rows + 1)[1:] - (1 - heights[:, None]), 0, 1 / rows)
    return float(np.diff(edges) @ (filled * weights[_latest(grid, edges[:-1])]).sum(axis=1))


def _latest(starts: FloatArray, at: FloatArray) -> IntArray:
    """Index of the last start at or before each position."""
    return np.searchsorted(starts, at, side="right") - 1

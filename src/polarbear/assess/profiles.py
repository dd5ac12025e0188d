"""Data profiles (Moré and Wild) and performance profiles (Dolan and Moré); Hansen et al. 2022, section VII."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.runtimes import checked_runtimes
from polarbear.records import FloatArray


def data_profile(runtimes: ArrayLike, dimensions: ArrayLike, budgets: ArrayLike) -> FloatArray:
    """The proportion of problems each solver solves within budgets counted in simplex gradients, n + 1 evaluations.

    Args:
        runtimes: (problems, solvers), inf where a solver missed the problem's target.
        dimensions: (problems,) number of variables n of each problem.
        budgets: (budgets,) in units of n + 1 evaluations.

    Returns:
        (budgets, solvers).

    Raises:
        ValueError: If a runtime is NaN, a dimension is below 1, or shapes do not fit.
    """
    times = checked_runtimes(runtimes)
    variables = np.asarray(dimensions, dtype=np.float64)
    if variables.shape != times.shape[:1] or not (variables >= 1).all():
        raise ValueError(f"dimensions are {variables!r}; {len(times)} problems need one number from 1 each")
    return _proportions(times / (variables + 1)[:, None], budgets)


def performance_profile(runtimes: ArrayLike, ratios: ArrayLike) -> FloatArray:
    """The proportion of problems each solver solves within a multiple of the fastest solver's runtime.

    Args:
        runtimes: (problems, solvers), positive; inf where a solver missed the problem's target.
        ratios: (ratios,) multiples, from 1.

    Returns:
        (ratios, solvers). A problem no solver solved counts as unsolved for all.

    Raises:
        ValueError: If a runtime is NaN or not positive, or shapes do not fit.
    """
    times = checked_runtimes(runtimes)
    if not (times > 0).all():
        raise ValueError("performance profiles divide by the shortest runtime; all runtimes have to be positive")
    fastest = times.min(axis=1, keepdims=True)
    return _proportions(
        np.where(np.isfinite(fastest), times / np.where(np.isfinite(fastest), fastest, 1), np.inf), ratios
    )


def _proportions(costs: FloatArray, limits: ArrayLike) -> FloatArray:
    wanted = np.minimum(np.asarray(limits, dtype=np.float64), np.finfo(np.float64).max)  # inf costs are never within
    ranked = np.sort(costs, axis=0)
    solved = [np.searchsorted(ranked[:, solver], wanted, side="right") for solver in range(costs.shape[1])]
    return np.stack(solved, axis=-1) / len(costs)

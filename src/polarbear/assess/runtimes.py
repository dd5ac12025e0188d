"""Runtimes: when a run first reaches a target, and what many runs together say about it.

Runtimes are arrays (runs, targets), inf where a run missed the target; beside them stand the evaluations each run
spent in all, (runs,). Hansen et al. 2022, sections III-E, IV and V-B; statistics as in Wang's thesis, section 2.4.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records import Axis, FloatArray, Run

_NEVER = np.array([np.inf])


def first_hits(times: ArrayLike, values: ArrayLike, targets: ArrayLike) -> FloatArray:
    """When a sequence of indicator values first reaches each target (section III-E).

    Args:
        times: (k,) increasing: the evaluations, seconds or other cumulative cost at which `values` were obtained.
        values: (k,) indicator values, minimized; they need not decrease.
        targets: Any shape; a value at or below a target reaches it.

    Returns:
        Same shape as `targets`: the time of the first value at or below it, inf if there is none.

    Raises:
        ValueError: If times and values differ in length, or a target is NaN.
    """
    when = np.asarray(times, dtype=np.float64)
    best = np.minimum.accumulate(np.asarray(values, dtype=np.float64))
    if when.shape != best.shape or when.ndim != 1:
        raise ValueError(f"times have shape {when.shape} and values {best.shape}; they need one 1-D entry per value")
    return _first_hits(when, best, _without_nan(targets, "targets"))


def runtimes(
    runs: Sequence[Run], targets: ArrayLike, *, axis: Axis = "evaluations", absolute: bool = False
) -> FloatArray:
    """The runtime of each run to each target: its first hitting time (Hansen et al. 2022, sections III-E and IV).

    Args:
        runs: The runs.
        targets: (targets,), the same for all runs, or (runs, targets). Precisions, that is differences to the
            run's optimum (eq. 1), unless `absolute`.
        axis: Whether runtimes are counted in evaluations or in seconds.
        absolute: Whether targets are objective values themselves.

    Returns:
        (runs, targets) float64, inf where a run did not reach the target.

    Raises:
        ValueError: If the shapes do not fit, a target is NaN, or a run's optimum is not known and `absolute` is False.
    """
    wanted = _without_nan(targets, "targets")
    if wanted.ndim not in (1, 2) or (wanted.ndim == 2 and len(wanted) != len(runs)):
        raise ValueError(
            f"targets have shape {wanted.shape}; give (targets,) for all runs, or ({len(runs)}, targets) to the runs"
        )
    hits = np.empty((len(runs), wanted.shape[-1]))
    for row, run in enumerate(runs):
        trajectory = run.trajectory
        values = trajectory.values if absolute else trajectory.values - optimum_of(run)
        hits[row] = _first_hits(trajectory.along(axis), values, wanted if wanted.ndim == 1 else wanted[row])
    return hits


def optimum_of(run: Run) -> float:
    """The run's optimum, above which precisions are counted.

    Raises:
        ValueError: If it is not known.
    """
    if run.optimum is None:
        raise ValueError(f"{run.key}: its optimum is not known, so it has no precisions; pass absolute=True")
    return run.optimum


def instance_weights(instances: Sequence[Hashable]) -> FloatArray:
    """Weights that give every instance the same say however often it was run.

    Five instances run three times each and fifteen run once weigh each run alike; where repetitions differ, a run
    weighs the less the more often its instance was repeated. Where the repetitions' least common multiple is small,
    this is the same as repeating runs until all instances occur equally often.

    Args:
        instances: For each run, which instance it solved.

    Returns:
        (runs,) positive weights with mean 1.
    """
    number: dict[Hashable, int] = {}
    rows = np.array([number.setdefault(instance, len(number)) for instance in instances], dtype=np.intp)
    repetitions = np.bincount(rows)[rows]
    return len(rows) / len(number) / repetitions if len(rows) else np.empty(0)


def success_rate(runtimes: ArrayLike, *, weights: ArrayLike | None = None) -> FloatArray:
    """The proportion of runs that reached each target (Wang, eq. 2.16).

    Args:
        runtimes: (runs, targets), inf where a target was missed.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Returns:
        (targets,) between 0 and 1.

    Raises:
        ValueError: If there are no runs, a runtime is NaN, or shapes do not fit.
    """
    times = checked_runtimes(runtimes)
    counts = checked_weights(weights, len(times))
    return counts @ np.isfinite(times) / counts.sum()


def ert(runtimes: ArrayLike, evaluations: ArrayLike, *, weights: ArrayLike | None = None) -> FloatArray:
    """Expected runtime to each target: all evaluations spent before reaching it, per success (section V-B).

    It estimates the mean runtime of an algorithm that is restarted until it succeeds (eq. 3).

    Args:
        runtimes: (runs, targets), inf where a target was missed.
        evaluations: (runs,) evaluations each run spent in all; they count for the targets it missed.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Returns:
        (targets,), inf where no run reached the target.

    Raises:
        ValueError: If there are no runs, a number is NaN, or shapes do not fit.
    """
    times = checked_runtimes(runtimes)
    counts = checked_weights(weights, len(times))
    spent, successes = counts @ effort(times, evaluations), counts @ np.isfinite(times)
    return np.divide(spent, successes, out=np.full(spent.shape, np.inf), where=successes > 0)


def average_effort(runtimes: ArrayLike, evaluations: ArrayLike, *, weights: ArrayLike | None = None) -> FloatArray:
    """Mean evaluations spent on each target by reaching it or in vain, (targets,): the ERT times the success rate.

    Arguments and errors are those of `ert`.
    """
    times = checked_runtimes(runtimes)
    counts = checked_weights(weights, len(times))
    return counts @ effort(times, evaluations) / counts.sum()


def par(
    runtimes: ArrayLike, budgets: ArrayLike, penalty: float = 10.0, *, weights: ArrayLike | None = None
) -> FloatArray:
    """Penalized average runtime PAR-c: missed targets count `penalty` times the budget (Wang, eq. 2.13).

    Args:
        runtimes: (runs, targets), inf where a target was missed.
        budgets: The budget of all runs, or (runs,) of each.
        penalty: The factor c, at least 1.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Returns:
        (targets,).

    Raises:
        ValueError: If the penalty is below 1, there are no runs, a number is NaN, or shapes do not fit.
    """
    if not penalty >= 1:
        raise ValueError(f"penalty is {penalty!r}; a missed target cannot count less than the budget, give at least 1")
    times = checked_runtimes(runtimes)
    allowed = np.broadcast_to(np.asarray(budgets, dtype=np.float64), (len(times),))
    counts = checked_weights(weights, len(times))
    return counts @ np.minimum(times, penalty * allowed[:, None]) / counts.sum()


def effort(runtimes: FloatArray, evaluations: ArrayLike) -> FloatArray:
    """(runs, targets): the runtime where a run reached the target, all it spent where it did not."""
    spent = _without_nan(evaluations, "evaluations")
    if spent.shape != runtimes.shape[:1]:
        raise ValueError(f"evaluations have shape {spent.shape}; {len(runtimes)} runs need one number each")
    return np.where(np.isfinite(runtimes), runtimes, spent[:, None])


def checked_runtimes(runtimes: ArrayLike) -> FloatArray:
    """Runtimes as a float array.

    Raises:
        ValueError: If they are not (at least one run, targets), or one is NaN.
    """
    times = _without_nan(runtimes, "runtimes")
    if times.ndim != 2 or not len(times):
        raise ValueError(f"runtimes have shape {times.shape}; they need to be (runs, targets) with at least one run")
    return times


def checked_weights(weights: ArrayLike | None, runs: int) -> FloatArray:
    """(runs,) positive weights, all 1 if None.

    Raises:
        ValueError: If there is not one positive number per run.
    """
    if weights is None:
        return np.ones(runs)
    counts = np.asarray(weights, dtype=np.float64)
    if counts.shape != (runs,) or not (np.isfinite(counts) & (counts > 0)).all():
        raise ValueError(f"weights are {counts!r}; {runs} runs need one positive number each")
    return counts


def _first_hits(times: NDArray[np.generic], best: FloatArray, targets: FloatArray) -> FloatArray:
    found = np.searchsorted(-best, -targets)
    return np.concatenate((times, _NEVER), dtype=np.float64)[found]


def _without_nan(numbers: ArrayLike, name: str) -> FloatArray:
    array = np.asarray(numbers, dtype=np.float64)
    if np.isnan(array).any():
        raise ValueError(f"{name} hold NaN at entry {tuple(map(int, np.argwhere(np.isnan(array))[0]))}; leave it out")
    return array

"""Runtimes: when a run first reaches a target, statistics over many runs, and other costs.

Runtimes are arrays (runs, targets), inf where a run missed the target; they are accompanied by the total numbers of
evaluations of the runs, (runs,). Hansen et al. 2022, sections III-E, IV and V-B; statistics as in Wang's thesis,
section 2.4.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import checked_runtimes, checked_weights, floats, without_nan
from polarbear.records import Axis, FloatArray, IntArray, Run

Misses = Literal["last", "par-1", "par-10", "ert", "remove"]
"""How a run that missed a target counts in a comparison; see `treat_misses`."""
_NEVER = np.array([np.inf])


def first_hits(times: ArrayLike, values: ArrayLike, targets: ArrayLike) -> FloatArray:
    """When a sequence of indicator values first reaches each target (section III-E).

    Args:
        times: (k,) increasing evaluations, seconds or other cumulative costs at which `values` were obtained.
        values: (k,) indicator values, minimized; they need not decrease.
        targets: Targets of any shape; a value at or below a target reaches it.

    Returns:
        The time of the first value at or below each target, of the same shape as `targets`; inf if there is none.

    Raises:
        ValueError: If times and values differ in length, or a target is NaN.
    """
    when = floats(times)
    best = np.minimum.accumulate(floats(values))
    if when.shape != best.shape or when.ndim != 1:
        raise ValueError(f"times have shape {when.shape} and values {best.shape}; they must be 1-D and of equal length")
    first = np.searchsorted(-best, -without_nan(targets, "targets"))
    return np.concatenate((when, _NEVER), dtype=np.float64)[first]


def runtimes(
    runs: Sequence[Run], targets: ArrayLike, *, axis: Axis = "evaluations", absolute: bool = False
) -> FloatArray:
    """The runtime of each run to each target: its first hitting time (Hansen et al. 2022, sections III-E and IV).

    Args:
        runs: The runs.
        targets: (targets,) targets for all runs, or (runs, targets); precisions, that is, differences to the run's
            optimum (eq. 1), unless `absolute`.
        axis: The unit of runtimes, "evaluations" or "seconds".
        absolute: Whether targets are objective values.

    Returns:
        (runs, targets) float64 runtimes, inf where a run did not reach the target.

    Raises:
        ValueError: If the shapes do not match, a target is NaN, or a run's optimum is unknown and `absolute` is False.
    """
    wanted = without_nan(targets, "targets")
    if wanted.ndim not in (1, 2) or (wanted.ndim == 2 and len(wanted) != len(runs)):
        raise ValueError(
            f"targets have shape {wanted.shape}; give (targets,) for all runs, or ({len(runs)}, targets) with one "
            "row per run"
        )
    if not len(runs):
        return np.empty((0, wanted.shape[-1]))
    trajectories = [run.trajectory for run in runs]
    rows, sizes = np.arange(len(runs)), np.array([each.values.size for each in trajectories])
    values = np.concatenate([each.values for each in trajectories])
    if not absolute:
        values = values - np.repeat([optimum_of(run) for run in runs], sizes)
    first = by_run(np.repeat(rows, sizes), -values).searchsorted(by_run(rows[:, np.newaxis], -wanted))
    times = np.concatenate([*(each.along(axis) for each in trajectories), _NEVER], dtype=np.float64)
    return np.where(first < np.cumsum(sizes)[:, np.newaxis], times[first], np.inf)


def by_run(rows: IntArray, numbers: FloatArray) -> NDArray[np.complex128]:
    """Complex numbers for searching many runs at once: NumPy orders them by their real part first, the run.

    Args:
        rows: Indices of the runs.
        numbers: Numbers to order within a run; broadcast with `rows`.
    """
    ordered = np.empty(np.broadcast(rows, numbers).shape, dtype=np.complex128)
    ordered.real, ordered.imag = rows, numbers
    return ordered


def optimum_of(run: Run) -> float:
    """The run's optimum, relative to which precisions are measured.

    Raises:
        ValueError: If it is unknown.
    """
    if run.optimum is None:
        raise ValueError(f"{run.key}: its optimum is not known, so it has no precisions; pass absolute=True")
    return run.optimum


def instance_weights(instances: Sequence[Hashable]) -> FloatArray:
    """Weights that give every instance the same total weight, however often it was run.

    If all instances are repeated equally often, all runs have the same weight; otherwise a run weighs less the more
    often its instance was repeated. This is equivalent to repeating runs until all instances occur equally often.

    Args:
        instances: (runs,) the instance of each run.

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
        runtimes: (runs, targets) runtimes, inf where a target was missed.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Returns:
        (targets,) proportions between 0 and 1.

    Raises:
        ValueError: If there are no runs, a runtime is NaN, or shapes do not match.
    """
    times = checked_runtimes(runtimes)
    counts = checked_weights(weights, len(times))
    return counts @ np.isfinite(times) / counts.sum()


def ert(runtimes: ArrayLike, evaluations: ArrayLike, *, weights: ArrayLike | None = None) -> FloatArray:
    """Expected runtime to each target: all evaluations spent before reaching it, per success (section V-B).

    It estimates the mean runtime of an algorithm that is restarted until it succeeds (eq. 3).

    Args:
        runtimes: (runs, targets) runtimes, inf where a target was missed.
        evaluations: (runs,) total number of evaluations of each run, which count for the targets it missed.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Returns:
        (targets,) ERTs, inf where no run reached the target.

    Raises:
        ValueError: If there are no runs, a number is NaN, or shapes do not match.
    """
    times = checked_runtimes(runtimes)
    counts = checked_weights(weights, len(times))
    spent, successes = counts @ effort(times, evaluations), counts @ np.isfinite(times)
    return np.divide(spent, successes, out=np.full(spent.shape, np.inf), where=successes > 0)


def average_effort(runtimes: ArrayLike, evaluations: ArrayLike, *, weights: ArrayLike | None = None) -> FloatArray:
    """(targets,) mean number of evaluations spent on each target, reached or not: the ERT times the success rate.

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
        runtimes: (runs, targets) runtimes, inf where a target was missed.
        budgets: The budget of all runs, or (runs,) budgets.
        penalty: The factor c, at least 1.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Returns:
        (targets,) PAR-c.

    Raises:
        ValueError: If the penalty is below 1, there are no runs, a number is NaN, or shapes do not match.
    """
    if not penalty >= 1:
        raise ValueError(
            f"penalty is {penalty!r}; it must be at least 1, so that a miss counts no less than the budget"
        )
    times = checked_runtimes(runtimes)
    allowed = np.broadcast_to(floats(budgets), (len(times),))
    counts = checked_weights(weights, len(times))
    return counts @ np.minimum(times, penalty * allowed[:, None]) / counts.sum()


def treat_misses(runtimes: ArrayLike, evaluations: ArrayLike, misses: Misses) -> FloatArray:
    """Replace missed runtimes to one target by numbers, as in IOHanalyzer's deep comparisons.

    Args:
        runtimes: (runs,) runtimes, inf where the target was missed.
        evaluations: (runs,) total number of evaluations of each run.
        misses: How misses are treated: "last" keeps them at inf, slower than every success; "par-1" and "par-10"
            replace them by one or ten times the run's evaluations; "ert" by the expected runtime, or by the evaluations
            of all runs if none succeeded; "remove" leaves the run out, so that only successes are compared.

    Returns:
        (runs,) or, with "remove", (successes,) runtimes.

    Raises:
        ValueError: If `misses` is unknown, there are no runs, a number is NaN, or shapes do not match.
    """
    if misses not in get_args(Misses):
        raise ValueError(f"misses is {misses!r}; it must be one of {', '.join(get_args(Misses))}")
    times, spent = floats(runtimes), floats(evaluations)
    expected = float(ert(times[:, None], spent)[0])
    if misses == "last":
        return times
    if misses == "remove":
        return times[np.isfinite(times)]
    if misses == "ert":
        return np.where(np.isfinite(times), times, expected if np.isfinite(expected) else spent.sum())
    return np.where(np.isfinite(times), times, (10 if misses == "par-10" else 1) * spent)


def sp1(runtimes: ArrayLike, *, weights: ArrayLike | None = None) -> FloatArray:
    """SP1: the mean runtime of the successful runs over the success rate (Hansen et al. 2022, footnote 23).

    It is the ERT under the assumption that unsuccessful runs spend as much as successful ones on average.

    Args:
        runtimes: (runs, targets) runtimes, inf where a target was missed.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Returns:
        (targets,) SP1, inf where no run reached the target.

    Raises:
        ValueError: If there are no runs, a runtime is NaN, or shapes do not match.
    """
    times = checked_runtimes(runtimes)
    counts = checked_weights(weights, len(times))
    hit = np.isfinite(times)
    successes, total = counts @ hit, counts @ np.where(hit, times, 0.0)
    squares = np.where(successes > 0, successes, 1.0) ** 2
    return np.where(successes > 0, total * counts.sum() / squares, np.inf)


def average_runtime_attainment(
    runs: Sequence[ArrayLike], evaluations: ArrayLike, points: ArrayLike, *, weights: ArrayLike | None = None
) -> FloatArray:
    """The expected runtime until some solution is at least as good as a point in all objectives.

    Brockhoff, Auger, Hansen and Tušar (2017), The average runtime attainment function (Hansen et al. 2022,
    section IX, reference 8).

    Args:
        runs: An array (k, 1 + m) for each run: the evaluation at which a solution was found, and its m objectives.
        evaluations: (runs,) total number of evaluations of each run.
        points: (points, m) points in objective space.
        weights: (runs,) weights of the runs; equal by default.

    Returns:
        (points,) expected runtimes, inf where no run attains the point.

    Raises:
        ValueError: If shapes do not match, or for the same reasons as `ert`.
    """
    wanted = without_nan(points, "points")
    if wanted.ndim != 2:
        raise ValueError(f"points have shape {wanted.shape}; they must be (points, objectives)")
    times = np.empty((len(runs), len(wanted)))
    for row, run in enumerate(runs):
        solutions = without_nan(run, f"run {row}")
        if solutions.ndim != 2 or solutions.shape[1] != 1 + wanted.shape[1]:
            shape = f"(k, {1 + wanted.shape[1]}): time and objectives"
            raise ValueError(f"run {row} has shape {solutions.shape}; give {shape}")
        for column, point in enumerate(wanted):
            attains = (solutions[:, 1:] <= point).all(axis=1)
            times[row, column] = solutions[attains, 0].min(initial=np.inf)
    return ert(times, evaluations, weights=weights)


def effort(runtimes: FloatArray, evaluations: ArrayLike) -> FloatArray:
    """(runs, targets) runtime where a run reached the target, its total evaluations where it did not."""
    spent = without_nan(evaluations, "evaluations")
    if spent.shape != runtimes.shape[:1]:
        raise ValueError(f"evaluations have shape {spent.shape}; give one number per run, {len(runtimes)} in all")
    return np.where(np.isfinite(runtimes), runtimes, spent[:, None])


def cumulative_costs(runtimes: ArrayLike, costs: Sequence[ArrayLike]) -> FloatArray:
    """Convert runtimes in evaluations to cumulative costs, which all other functions accept in their place.

    Args:
        runtimes: (runs, targets) evaluations, inf where a target was missed; or (runs,) evaluations spent.
        costs: (evaluations,) non-negative costs of each run's evaluations: seconds, or sums of objective and constraint
            evaluations.

    Returns:
        Summed costs of all evaluations up to each runtime, of the same shape as `runtimes`; inf where missed.

    Raises:
        ValueError: If there is not one array per run, a cost is negative or NaN, or a runtime exceeds the evaluations
            whose costs are given.
    """
    times = floats(runtimes)
    if times.ndim not in (1, 2) or len(times) != len(costs):
        raise ValueError(
            f"runtimes have shape {times.shape}, but the number of runs with costs is {len(costs)}; give costs "
            "for each run"
        )
    totals = np.empty(times.shape)
    for row, (counts, each) in enumerate(zip(times, costs, strict=True)):
        steps = floats(each)
        if steps.ndim != 1 or not (steps >= 0).all():
            raise ValueError(f"run {row}: costs have shape {steps.shape}; give one nonnegative number per evaluation")
        finite = np.isfinite(counts)
        if (counts[finite] > steps.size).any():
            raise ValueError(f"run {row}: a runtime exceeds the {steps.size} evaluations whose costs are given")
        sums = np.concatenate([[0.0], np.cumsum(steps), [np.inf]])
        totals[row] = sums[np.where(finite, counts, -1).astype(np.intp)]
    return totals

"""Rank-sum test of two algorithms at targets (Hansen et al. 2022, footnote 28), as COCO carries it out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import checked_runtimes, floats
from polarbear.assess.runtimes import average_effort, effort, ert
from polarbear.assess.trials import Trials
from polarbear.records import Axis, FloatArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class RankSum:
    """The outcome of the test at each target.

    Attributes:
        z: (targets,) standardized rank sum, positive where the first algorithm ranks better.
        p_ranks: (targets,) two-sided p-value of z in the normal approximation.
        confirmed: (targets,) whether ERTs and ranks agree on which algorithm is better.
        budgets: (targets,) number of evaluations at which the data were truncated, inf where all trials were
            successful.
    """

    z: FloatArray
    p_ranks: FloatArray
    confirmed: BoolArray
    budgets: FloatArray

    @property
    def p(self) -> FloatArray:
        """(targets,) p-value, 1 where the ERTs do not confirm the ranks."""
        return np.where(self.confirmed, self.p_ranks, 1.0)


def rank_sum(
    first: Trials, second: Trials, targets: ArrayLike, *, axis: Axis = "evaluations", absolute: bool = False
) -> RankSum:
    """Test at each target which of two algorithms is better (footnote 28).

    The data are truncated at the smallest runlength of an unsuccessful trial of either algorithm. Trials successful by
    then rank before all others, ordered by runtime; the others are ordered by the best value found by then.

    Significance requires the ERTs to agree: the algorithm with the better ranks must not have the larger ERT and, as in
    COCO, must have spent less on average per trial.

    Args:
        first: The trials of one algorithm.
        second: The trials of the other algorithm, on the same function in the same dimension.
        targets: (targets,) precisions, or objective values if `absolute`.
        axis: The unit of runtimes.
        absolute: Whether targets are objective values.

    Raises:
        ValueError: If the trials are not of one function and dimension, or an optimum is needed and unknown.
    """
    if (first.suite, first.function, first.dimension) != (second.suite, second.function, second.dimension):
        raise ValueError(
            f"the trials are on function {first.suite} {first.function} in {first.dimension}-D and on "
            f"{second.suite} {second.function} in {second.dimension}-D; they must be on the same function and dimension"
        )
    hits = [group.runtimes(targets, axis=axis, absolute=absolute) for group in (first, second)]
    spent = [group.spent(axis) for group in (first, second)]
    budgets = common_budgets(hits[0], spent[0], hits[1], spent[1])
    values = [group.best_at(budgets, axis=axis, absolute=absolute) for group in (first, second)]
    z = rank_sum_statistic(hits[0], values[0], hits[1], values[1], budgets)
    confirmed = _confirmed(z > 0, hits[0], spent[0], hits[1], spent[1])
    from scipy.special import ndtr

    return RankSum(z, 2 * ndtr(-np.abs(z)), confirmed, budgets)


def common_budgets(
    first_runtimes: ArrayLike, first_evaluations: ArrayLike, second_runtimes: ArrayLike, second_evaluations: ArrayLike
) -> FloatArray:
    """(targets,) largest budget for which all unsuccessful trials of both algorithms have data.

    Args:
        first_runtimes: (runs, targets) runtimes of one algorithm, inf where missed.
        first_evaluations: (runs,) total number of evaluations of its runs.
        second_runtimes: (runs, targets) runtimes of the other algorithm.
        second_evaluations: (runs,) total number of evaluations of its runs.

    Returns:
        The smallest number of evaluations spent by an unsuccessful trial; inf where all trials were successful.
    """
    return np.minimum(
        _shortest_failure(checked_runtimes(first_runtimes), first_evaluations),
        _shortest_failure(checked_runtimes(second_runtimes), second_evaluations),
    )


def rank_sum_statistic(
    first_runtimes: ArrayLike,
    first_values: ArrayLike,
    second_runtimes: ArrayLike,
    second_values: ArrayLike,
    budgets: ArrayLike,
) -> FloatArray:
    """(targets,) standardized rank sum of the first algorithm's trials, positive where they rank better.

    Args:
        first_runtimes: (runs, targets) runtimes of the first algorithm, inf where missed.
        first_values: (runs, targets) best value that each of its trials found by the target's budget.
        second_runtimes: (runs, targets) runtimes of the second algorithm.
        second_values: (runs, targets) best values of the second algorithm.
        budgets: (targets,) numbers of evaluations at which the data are truncated; see `common_budgets`.

    Returns:
        z without correction for ties; equal results get the mean of their ranks.
    """
    times = np.concatenate([checked_runtimes(first_runtimes), checked_runtimes(second_runtimes)])
    values = np.concatenate([floats(first_values), floats(second_values)])
    solved = np.isfinite(times) & (times <= floats(budgets))
    from scipy.stats import rankdata

    by_time = rankdata(np.where(solved, times, np.inf), axis=0)
    by_value = rankdata(np.where(solved, -np.inf, values), axis=0)
    ranks = np.where(solved, by_time, by_value)
    n = len(np.asarray(first_runtimes))
    m = len(times) - n
    deviation = np.sqrt(n * m * (n + m + 1) / 12)
    return (n * (n + m + 1) / 2 - ranks[:n].sum(axis=0)) / deviation


def stars(p: ArrayLike, *, tests: int = 1, level: float = 0.05) -> NDArray[np.int64]:
    """Number of powers of ten by which a Bonferroni-corrected p-value is below 1, printed after a star in Table I.

    Args:
        p: p-values.
        tests: Number of tests, by which p-values are multiplied.
        level: Significance level.

    Returns:
        0 where p * tests is not below the level; else the largest k with p * tests <= 10^-k, from 1 to 9.

    Raises:
        ValueError: If `tests` is below 1.
    """
    if tests < 1:
        raise ValueError(f"tests is {tests!r}; it must be at least 1")
    corrected = floats(p) * tests
    orders = np.floor(-np.log10(np.clip(corrected, 1e-300, 1.0)))
    return np.where(corrected < level, np.clip(orders, 1, 9), 0).astype(np.int64)


def _shortest_failure(runtimes: FloatArray, evaluations: ArrayLike) -> FloatArray:
    return np.where(np.isfinite(runtimes), np.inf, effort(runtimes, evaluations)).min(axis=0)


def _confirmed(
    first_better: BoolArray, times: FloatArray, spent: FloatArray, other_times: FloatArray, other_spent: FloatArray
) -> BoolArray:
    expected, other_expected = ert(times, spent), ert(other_times, other_spent)
    average, other_average = average_effort(times, spent), average_effort(other_times, other_spent)
    forward = (expected <= other_expected) & (average < other_average)
    backward = (other_expected <= expected) & (other_average < average)
    return np.where(first_better, forward, backward)

"""Robust ranking over time: how certain a ranking is, given that instances are a sample.

At each timepoint algorithms are ranked by their mean (or median) value over instances, on many bootstrap samples of the
instances. Algorithms that cannot be distinguished share a group.

Sources: Fawcett et al. (2023), Competitions in AI: robustly ranking solvers using statistical resampling; Rook, Hoos
and Trautmann (2024), the package `robustranking`. Repeated over budgets: Vermetten et al. (2025).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.assess.comparisons.pairwise import adjust_p_values
from polarbear.assess.comparisons.samples import (
    Result,
    check_choice,
    default_names,
    rows_of,
)
from polarbear.records import FloatArray, IntArray
from polarbear.validation import real_number, whole_number

Statistic = Literal["mean", "median"]
"""The statistic of an algorithm's values over the instances by which it is ranked."""

_VALUES_AT_ONCE = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class RobustRanking(Result):
    """Rankings of n algorithms at T timepoints.

    Attributes:
        names: The n algorithms' names.
        times: (T,) timepoints.
        statistic: The statistic by which algorithms are ranked.
        alpha: Level of the tests and intervals.
        observed: (T, n) statistic on the original instances.
        lower: (T, n) lower end of its 1 - `alpha` percentile interval.
        upper: (T, n) upper end of the interval.
        rank_probabilities: (T, n, n) probability of each rank, the best first: (timepoint, algorithm, rank). Ties share
            the ranks they span, so that rows and columns sum to 1.
        worse: (T, n, n) share of bootstrap samples in which the row is not better than the column: the one-sided
            p-values.
        groups: (T, n) group of each algorithm, 1 for the best. A group's leader wins most often; its other members are
            those that the leader does not beat significantly, with Holm's correction among all that remain.
    """

    names: tuple[str, ...]
    times: FloatArray
    statistic: Statistic
    alpha: float
    observed: FloatArray
    lower: FloatArray
    upper: FloatArray
    rank_probabilities: FloatArray
    worse: FloatArray
    groups: IntArray

    @property
    def best_probabilities(self) -> FloatArray:
        """(T, n) probability of being the best; ties share it."""
        return self.rank_probabilities[:, :, 0]

    def rows(self) -> list[dict[str, Any]]:
        """One row per timepoint and algorithm."""
        times, count = self.observed.shape
        return rows_of(
            time=np.repeat(self.times, count),
            algorithm=self.names * times,
            **{self.statistic: self.observed.ravel()},
            lower=self.lower.ravel(),
            upper=self.upper.ravel(),
            best=self.best_probabilities.ravel(),
            group=self.groups.ravel(),
        )


def robust_ranking(
    values: ArrayLike,
    *,
    times: ArrayLike,
    rng: np.random.Generator,
    names: Sequence[str] | None = None,
    statistic: Statistic = "mean",
    resamples: int = 10_000,
    alpha: float = 0.05,
) -> RobustRanking:
    """Rank algorithms at each timepoint, with the ranking's uncertainty over instances.

    All timepoints share the same bootstrap samples.

    Args:
        values: (algorithms, instances, times) values, lower is better, `inf` where nothing was found. A mean with any
            failure is infinite; the median tolerates failures.
        times: (T,) timepoints.
        rng: The source of randomness of the bootstrap.
        names: The algorithms' names; by default "0", "1", ….
        statistic: "mean" or "median" over instances.
        resamples: Number of bootstrap samples.
        alpha: Level of tests and intervals.

    Raises:
        ValueError: If shapes do not match, values are NaN or -inf, or an option is invalid.
    """
    data, at = _values_and_times(values, times)
    check_choice(statistic, Statistic, "statistic")
    real_number(alpha, "alpha", gt=0, lt=1)
    chosen = default_names(names, len(data))
    instances = data.shape[1]
    picks = rng.integers(instances, size=(instances, whole_number(resamples, "resamples", 1)))
    resample = _means(picks) if statistic == "mean" else _medians(picks)
    together = max(1, _VALUES_AT_ONCE // (len(data) * resamples))  # number of timepoints resampled at once
    blocks = (resample(data[:, :, start : start + together]) for start in range(0, at.size, together))
    lower, upper, ranks, worse, groups = zip(
        *(_at_one_time(block[:, t], alpha) for block in blocks for t in range(block.shape[1])), strict=True
    )
    return RobustRanking(
        chosen,
        at,
        statistic,
        alpha,
        (data.mean(axis=1) if statistic == "mean" else _median(data.transpose(1, 0, 2))).T,
        np.array(lower),
        np.array(upper),
        np.array(ranks),
        np.array(worse),
        np.array(groups),
    )


def _values_and_times(values: ArrayLike, times: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Values and times as checked arrays.

    Raises:
        ValueError: If they cannot be ranked.
    """
    data, at = floats(values), floats(times)
    if data.ndim != 3 or at.shape != data.shape[2:] or not data.size:
        raise ValueError(
            f"values have shape {data.shape} and times {at.shape}; they must be (algorithms, instances, times) "
            "and (times,)"
        )
    if np.isnan(data).any() or np.isneginf(data).any():
        index = tuple(int(i) for i in np.argwhere(np.isnan(data) | np.isneginf(data))[0])
        raise ValueError(
            f"values{list(index)} is {data[index]}; rank only at times that all runs reached, with inf for failed runs"
        )
    return data, at


def _at_one_time(
    resampled: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray]:
    """Interval ends, rank probabilities, p-values and groups, from values (algorithms, resamples)."""
    lower, upper = np.quantile(resampled, [alpha / 2, 1 - alpha / 2], axis=1, method="inverted_cdf")
    worse = np.array([(resampled <= row).mean(axis=1) for row in resampled])
    return lower, upper, _rank_probabilities(resampled), worse, _groups(resampled, worse, alpha)


def _means(picks: IntArray) -> Callable[[FloatArray], FloatArray]:
    """Means over bootstrap samples: a function (algorithms, instances, times) -> (algorithms, times, resamples)."""
    instances, resamples = picks.shape
    counts = np.zeros((instances, resamples))
    np.add.at(counts, (picks, np.arange(resamples, dtype=np.int64)), 1)

    def resample(values: FloatArray) -> FloatArray:
        failed = np.isinf(values)
        finite = np.where(failed, 0.0, values).transpose(0, 2, 1)
        # one product per algorithm, so that equal algorithms have equal means to the last digit
        means = np.array([algorithm @ counts for algorithm in finite]) / instances
        for a, t in np.argwhere(failed.any(axis=1)):
            means[a, t, counts[failed[a, :, t]].any(axis=0)] = np.inf
        return means

    return resample


def _medians(picks: IntArray) -> Callable[[FloatArray], FloatArray]:
    """The same for medians."""
    return lambda values: np.array([[_median(row[picks]) for row in algorithm.T] for algorithm in values])


def _median(values: FloatArray) -> FloatArray:
    """Medians along the first axis; infinite if both middle values are."""
    middle = np.sort(values, axis=0)[[(len(values) - 1) // 2, len(values) // 2]]
    return middle.mean(axis=0)


def _rank_probabilities(resampled: FloatArray) -> FloatArray:
    """(algorithms, ranks) probability of each rank, from values (algorithms, resamples)."""
    count, resamples = resampled.shape
    better = np.sum([resampled > other for other in resampled], axis=0)
    equal = np.sum([resampled == other for other in resampled], axis=0)
    steps = [  # an algorithm's share of each rank starts at its first rank and ends after its last
        np.bincount(first, 1 / ties, count + 1) - np.bincount(first + ties, 1 / ties, count + 1)
        for first, ties in zip(better, equal, strict=True)
    ]
    return np.cumsum(steps, axis=1)[:, :count].clip(min=0.0) / resamples


def _groups(resampled: FloatArray, worse: FloatArray, alpha: float) -> IntArray:
    """The group of each algorithm, from 1."""
    groups = np.zeros(len(resampled), dtype=np.int64)
    group = 0
    while not groups.all():
        group += 1
        remaining = np.flatnonzero(groups == 0)
        leader = remaining[np.argmax(_rank_probabilities(resampled[remaining])[:, 0])]
        others = remaining[remaining != leader]
        groups[leader] = group
        groups[others[adjust_p_values(worse[leader, others], correction="holm") > alpha]] = group
    return groups

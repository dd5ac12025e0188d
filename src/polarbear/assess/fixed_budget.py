"""Values at given budgets: their statistics, density, histogram and distribution.

The input is an array (runs, budgets), as returned by `values_at`: +inf where a run had no value yet, NaN where its
value is unknown because the run was cut short before. Sources: the IOHprofiler thesis, section 2.4, "Descriptive
Statistics" and "Cumulative Distribution Functions", and table 3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.assess.step_functions import FloatArray, IntArray, StepFunction, runs_making
from polarbear.validation import whole_number


@dataclass(frozen=True, slots=True, eq=False)
class ValueSummary:
    """Statistics of runs at each of T budgets.

    Attributes:
        count: (T,) int64, number of runs whose value is known.
        mean: (T,) mean; inf where a run has no value yet.
        geometric_mean: (T,) geometric mean; 0 where a value is 0, NaN where one is negative.
        median: (T,) median; the mean of the two middle values if the number of runs is even.
        standard_deviation: (T,) sample standard deviation, with divisor n - 1; NaN for one run or infinite values, inf
            where its square is too large for a float.
        levels: (Q,) levels of the quantiles.
        quantiles: (Q, T) lowest value that at least this share of the runs has reached, without interpolation. As a
            function of time it is a level curve of the attainment function.
    """

    count: IntArray
    mean: FloatArray
    geometric_mean: FloatArray
    median: FloatArray
    standard_deviation: FloatArray
    levels: FloatArray
    quantiles: FloatArray


def summarize_values(
    values: ArrayLike,
    *,
    levels: Sequence[float] = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98),
    omit_unknown: bool = False,
) -> ValueSummary:
    """Statistics over runs at each budget.

    Args:
        values: (runs, budgets) values, NaN where unknown.
        levels: Levels of the quantiles, each from 0 (the best run) to 1 (the worst).
        omit_unknown: Whether to take the statistics over the known runs, counted by `count`, and NaN where there are
            none. By default a budget's statistics are NaN if any run is unknown there. Runs are seldom cut short at
            random, so check `count` before trusting statistics of the known runs.

    Raises:
        ValueError: If values are not (runs, budgets), there are no runs, or a level is outside [0, 1].
    """
    values = floats(values)
    if values.ndim != 2 or not values.shape[0]:
        raise ValueError(f"values have shape {values.shape}; they must be (runs, budgets), with at least one run")
    shares, ordered = floats(levels), np.sort(values, axis=0)  # unknown ones last
    count = (~np.isnan(values)).sum(axis=0)
    usable = np.unique(count[(count > 0) & (omit_unknown | (count == len(values)))])

    samples = [(count == known, ordered[:known, count == known]) for known in usable]

    def each(statistic: Callable[[FloatArray], FloatArray], shape: tuple[int, ...] = ()) -> FloatArray:
        result = np.full((*shape, values.shape[1]), np.nan)
        for where, sample in samples:
            with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # overflow to inf
                result[..., where] = statistic(sample)
        return result

    return ValueSummary(
        count=count,
        mean=each(lambda sample: sample.mean(axis=0)),
        geometric_mean=each(_geometric_mean),
        median=each(lambda sample: sample[(len(sample) - 1) // 2 : len(sample) // 2 + 1].mean(axis=0)),
        standard_deviation=each(_standard_deviation),
        levels=shares,
        quantiles=each(lambda sample: sample[runs_making(shares, len(sample)) - 1], shares.shape),
    )


def value_distribution(values: ArrayLike) -> StepFunction:
    """The empirical distribution function of the values at one budget: the share of runs that reached each value.

    At several budgets it is the share of pairs of a run and a budget (thesis, table 3.1, "ECDF: single function"). Its
    `mean` between bounds is the normalized area below it.

    Args:
        values: (runs,) or (runs, budgets) values, without NaN. Infinite values count as runs that reached no value.

    Returns:
        A step function of the value, from 0 up to the share of runs with a value.

    Raises:
        ValueError: If there are no values, or one is NaN.
    """
    values = _sample(np.ravel(floats(values)), finite=False)
    reached, counts = np.unique(values[values < np.inf], return_counts=True)
    return StepFunction(reached, np.cumsum(counts) / values.size, before=0.0)


def value_density(
    values: ArrayLike, at: ArrayLike, *, log: bool = False, bandwidth: float | Literal["scott", "silverman"] = "scott"
) -> FloatArray:
    """The density of the values at one budget, by a Gaussian kernel (`scipy.stats.gaussian_kde`).

    Args:
        values: (runs,) finite values.
        at: (points,) values at which to evaluate the density.
        log: Whether to estimate the density of log10(value), per decade.
        bandwidth: Scott's or Silverman's rule, or a factor of the sample's standard deviation.

    Returns:
        (points,) density.

    Raises:
        ValueError: If values are not finite (or not positive on a logarithmic scale), or fewer than two of them differ.
    """
    from scipy import stats

    sample, points = _scale(_sample(values), log), _scale(floats(at), log)
    if np.ptp(sample) == 0:
        raise ValueError(f"all {sample.size} values are equal, so they have no density; use value_distribution")
    return floats(stats.gaussian_kde(sample, bw_method=bandwidth)(points))


def value_histogram(
    values: ArrayLike, *, bins: int | str | Sequence[float] = "auto", log: bool = False
) -> tuple[IntArray, FloatArray]:
    """The histogram of the values at one budget (`numpy.histogram`).

    Args:
        values: (runs,) finite values.
        bins: The number of bins, a rule of `numpy.histogram_bin_edges`, or the edges themselves.
        log: Whether bins have equal widths in log10(value).

    Returns:
        Counts (bins,) and edges (bins + 1,).

    Raises:
        ValueError: If values are not finite, or not positive on a logarithmic scale.
    """
    sample = _sample(values)
    edges = bins if isinstance(bins, int | str) else floats(bins)
    if log and isinstance(edges, int | str):
        edges = 10.0 ** np.histogram_bin_edges(_scale(sample, log), edges)
        edges[0], edges[-1] = min(edges[0], sample.min()), max(edges[-1], sample.max())
    counts, edges = np.histogram(sample, edges)
    return counts.astype(np.int64), edges.astype(np.float64)


def shared_histograms(
    samples: Mapping[str, ArrayLike], *, bins: int | str | Sequence[float] = "auto", log: bool = False
) -> tuple[dict[str, IntArray], FloatArray]:
    """Histograms of several samples of values or runtimes, in common bins chosen from all of them together.

    Args:
        samples: (runs,) finite numbers by algorithm.
        bins: As in `value_histogram`.
        log: As in `value_histogram`.

    Returns:
        Counts (bins,) by algorithm, and edges (bins + 1,).

    Raises:
        ValueError: If there are no samples, or for the same reasons as `value_histogram`.
    """
    if not samples:
        raise ValueError("there are no samples; give those of at least one algorithm")
    _, edges = value_histogram(np.concatenate([_sample(sample) for sample in samples.values()]), bins=bins, log=log)
    return {name: value_histogram(sample, bins=edges.tolist())[0] for name, sample in samples.items()}, edges


def even_grid(values: ArrayLike, count: int = 10) -> FloatArray:
    """Evenly spaced values between the extremes, such as targets or budgets of a table of statistics.

    They are evenly spaced on a log scale if the extremes are positive and span a factor of ten (thesis, section 3.1.2,
    footnote 2).

    Args:
        values: Values of any shape; infinite and unknown ones are ignored.
        count: Number of grid values; only one is returned if all `values` are equal.

    Returns:
        (count,) increasing values.

    Raises:
        ValueError: If no value is finite, or `count` is below 1.
    """
    every = floats(values)
    finite = every[np.isfinite(every)]
    if not finite.size:
        raise ValueError("no value is finite, so there is no range for a grid; give targets or budgets explicitly")
    low, high = float(finite.min()), float(finite.max())
    log = low > 0 and high >= 10 * low
    return np.unique((np.geomspace if log else np.linspace)(low, high, whole_number(count, "count", 1)))


def _standard_deviation(ordered: FloatArray) -> FloatArray:
    """(budgets,) standard deviations of columns (runs, budgets) in ascending order."""
    if len(ordered) == 1:
        return np.full_like(ordered[0], np.nan)
    return floats(np.where(np.isfinite(ordered).all(axis=0), ordered.std(axis=0, ddof=1), np.nan))


def _geometric_mean(ordered: FloatArray) -> FloatArray:
    """(budgets,) geometric means of columns (runs, budgets) in ascending order."""
    return np.where(ordered[0] == 0, 0.0, np.exp(np.log(ordered).mean(axis=0)))


def _sample(values: ArrayLike, *, finite: bool = True) -> FloatArray:
    sample = floats(values)
    if sample.ndim != 1 or not sample.size:
        raise ValueError(f"values have shape {sample.shape}; they must be (runs,), the value of each run at one budget")
    bad = ~np.isfinite(sample) if finite else np.isnan(sample)
    if bad.any():
        raise ValueError(
            f"the value of run {int(np.argmax(bad))} is {sample[bad][0]}; leave such runs out, or take a smaller budget"
        )
    return sample


def _scale(sample: FloatArray, log: bool) -> FloatArray:
    if not log:
        return sample
    if (sample <= 0).any():
        raise ValueError(f"{sample.min()} has no logarithm; use log=False, or values above 0 such as precisions")
    return np.log10(sample)

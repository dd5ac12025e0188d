"""Descriptive statistics of runtimes: per target, as geometric averages, and over dimensions.

Wang's thesis, section 2.4 and the columns of its table 3.2; Hansen et al. 2022, sections V-B and V-C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import checked_runtimes, checked_weights, floats
from polarbear.assess.runtimes import ert, par, sp1, success_rate
from polarbear.records import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class RuntimeSummary:
    """Statistics of the runs for each target.

    Attributes:
        runs: Number of runs.
        successes: (targets,) number of runs that reached the target.
        success_rate: (targets,) proportion of runs that reached the target.
        mean: (targets,) mean runtime of the runs that reached the target, NaN if none did.
        standard_deviation: (targets,) sample standard deviation of these runtimes, NaN with fewer than two successes.
        median: (targets,) median over all runs, a missed target counting as inf.
        levels: (levels,) levels of the quantiles.
        quantiles: (levels, targets) quantiles over all runs, a missed target counting as inf.
        par: (targets,) penalized average runtime with `penalty`.
        penalty: The factor c of PAR-c.
        ert: (targets,) expected runtime, inf where no run reached the target.
        sp1: (targets,) mean runtime of the successful runs over the success rate, inf where no run reached the target.
    """

    runs: int
    successes: IntArray
    success_rate: FloatArray
    mean: FloatArray
    standard_deviation: FloatArray
    median: FloatArray
    levels: FloatArray
    quantiles: FloatArray
    par: FloatArray
    penalty: float
    ert: FloatArray
    sp1: FloatArray


def summarize(
    runtimes: ArrayLike,
    evaluations: ArrayLike,
    *,
    levels: Sequence[float] = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98),
    penalty: float = 10.0,
    weights: ArrayLike | None = None,
) -> RuntimeSummary:
    """Success rates, means, standard deviations, quantiles, PAR-c, ERT and SP1 for each target.

    Args:
        runtimes: (runs, targets) runtimes, inf where a target was missed.
        evaluations: (runs,) total number of evaluations of each run, used as its budget in PAR-c.
        levels: Levels of the quantiles, each between 0 and 1.
        penalty: The factor c of PAR-c.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Raises:
        ValueError: If there are no runs, a number is NaN, a level is not in [0, 1], or shapes do not match.
    """
    times = checked_runtimes(runtimes)
    mean, deviation = _moments(times, checked_weights(weights, len(times)))
    median, *quantiles = runtime_quantiles(times, [0.5, *levels], weights=weights)
    return RuntimeSummary(
        runs=len(times),
        successes=np.isfinite(times).sum(axis=0),
        success_rate=success_rate(times, weights=weights),
        mean=mean,
        standard_deviation=deviation,
        median=median,
        levels=floats(levels),
        quantiles=np.reshape(quantiles, (len(levels), times.shape[1])),
        par=par(times, evaluations, penalty, weights=weights),
        penalty=penalty,
        ert=ert(times, evaluations, weights=weights),
        sp1=sp1(times, weights=weights),
    )


def runtime_quantiles(runtimes: ArrayLike, levels: ArrayLike, *, weights: ArrayLike | None = None) -> FloatArray:
    """Quantiles of the runtimes to each target, a missed target counting as inf.

    Between two runtimes the quantile is interpolated linearly, with the i-th of n sorted runtimes at level (i - 1/2)/n
    (Hazen's rule); between a runtime and a missed target it is inf.

    Args:
        runtimes: (runs, targets) runtimes, inf where a target was missed.
        levels: (levels,) levels between 0 and 1.
        weights: (runs,) weights of the runs, such as `instance_weights`; equal by default.

    Returns:
        (levels, targets) quantiles.

    Raises:
        ValueError: If a level is not in [0, 1], there are no runs, a runtime is NaN, or shapes do not match.
    """
    times = checked_runtimes(runtimes)
    wanted = floats(levels)
    if wanted.ndim != 1 or not ((wanted >= 0) & (wanted <= 1)).all():
        raise ValueError(f"levels are {wanted!r}; give a list of numbers between 0 and 1")
    counts = checked_weights(weights, len(times))
    order = np.argsort(times, axis=0, kind="stable")
    share = counts[order]
    centres = (np.cumsum(share, axis=0) - share / 2) / counts.sum()
    ranked = np.take_along_axis(times, order, axis=0)
    above = np.minimum((centres[np.newaxis] < wanted[:, np.newaxis, np.newaxis]).sum(axis=1), len(times) - 1)
    below = np.maximum(above - 1, 0)
    low, high = (np.take_along_axis(centres, at, axis=0) for at in (below, above))
    start, end = (np.take_along_axis(ranked, at, axis=0) for at in (below, above))
    part = np.clip((wanted[:, np.newaxis] - low) / np.where(above > below, high - low, 1.0), 0.0, 1.0)
    with np.errstate(invalid="ignore"):
        between = start + part * (end - start)
    return np.where(part == 0, start, np.where(np.isfinite(end), between, np.inf))


def _moments(times: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean and sample standard deviation of each target's finite runtimes; weights count how often instances repeat."""
    hit = np.isfinite(times)
    finite = np.where(hit, times, 0.0)
    share = counts[:, None] * hit
    total = share.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (share * finite).sum(axis=0) / total
        squares = (share * (finite - np.where(total > 0, mean, 0.0)) ** 2).sum(axis=0)
        variance = squares / (total - (share**2).sum(axis=0) / total)
    return mean, np.sqrt(np.where(hit.sum(axis=0) > 1, variance, np.nan))


def geometric_mean(runtimes: ArrayLike, axis: int | None = None) -> FloatArray:
    """The geometric average of runtimes: eq. 4 with all B equal to 1.

    Args:
        runtimes: Positive runtimes; a missing runtime, inf, makes the average inf.
        axis: Axis along which to average; all by default.

    Raises:
        ValueError: If a runtime is not positive or there are none.
    """
    times = floats(runtimes)
    if not times.size or not (times > 0).all():
        raise ValueError("a geometric average needs at least one runtime, all of them positive")
    return np.exp(np.log(times).mean(axis=axis))


def geometric_mean_ratio(first: ArrayLike, second: ArrayLike, axis: int | None = None) -> FloatArray:
    """Geometric average runtime ratio (eq. 4): how many times longer the first data set's runtimes are.

    It equals the exponential of the area between the two runtime distributions on a logarithmic axis, and depends
    neither on the order of the data nor on a common scale. The sets may differ in size.

    Args:
        first: Positive runtimes A.
        second: Positive runtimes B.
        axis: Axis along which to average; all by default.

    Returns:
        The ratio; NaN where both sets contain a missing runtime, inf.

    Raises:
        ValueError: If a runtime is not positive or there are none.
    """
    above, below = geometric_mean(first, axis), geometric_mean(second, axis)
    with np.errstate(invalid="ignore"):
        return above / below


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Expected runtimes against dimension, and the power law ERT = factor * dimension^exponent fitted to them.

    Attributes:
        dimensions: (dimensions,) numbers of variables.
        per_dimension: (dimensions, ...) ERT divided by dimension, to be plotted against dimension on log-log axes,
            where a horizontal line means linear scaling.
        exponent: (...) fitted exponent, NaN where fewer than two dimensions have a finite ERT.
        factor: (...) fitted factor, in evaluations.
    """

    dimensions: FloatArray
    per_dimension: FloatArray
    exponent: FloatArray
    factor: FloatArray


def scaling(dimensions: ArrayLike, erts: ArrayLike) -> Scaling:
    """Divide expected runtimes by dimension and fit a power law by least squares on log-log axes.

    Args:
        dimensions: (dimensions,) distinct numbers of variables.
        erts: (dimensions, ...) positive ERTs, one column for each target or algorithm; inf where missed.

    Raises:
        ValueError: If a dimension is below 1 or occurs twice, an ERT is NaN or not positive, or shapes do not match.
    """
    sizes, runtimes = floats(dimensions), floats(erts)
    if sizes.ndim != 1 or not (sizes >= 1).all() or np.unique(sizes).size < sizes.size:
        raise ValueError(f"dimensions are {sizes!r}; give different numbers of at least 1")
    if runtimes.shape[:1] != sizes.shape or not (runtimes > 0).all():
        raise ValueError(f"erts have shape {runtimes.shape}; they must be ({sizes.size}, ...) and all positive")
    flat = runtimes.reshape(sizes.size, -1)
    fits = np.array([_power_law(sizes, column) for column in flat.T]).reshape(flat.shape[1], 2)
    shape = runtimes.shape[1:]
    per_dimension = (flat / sizes[:, None]).reshape(runtimes.shape)
    return Scaling(sizes, per_dimension, fits[:, 0].reshape(shape), fits[:, 1].reshape(shape))


def _power_law(dimensions: FloatArray, erts: FloatArray) -> tuple[float, float]:
    finite = np.isfinite(erts)
    if finite.sum() < 2:
        return float("nan"), float("nan")
    x, y = np.log(dimensions[finite]), np.log(erts[finite])
    around = x - x.mean()
    exponent = float(around @ y / (around @ around))
    return exponent, float(np.exp(y.mean() - exponent * x.mean()))

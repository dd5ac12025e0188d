"""Parameters that optimizers logged, at evaluations and at targets.

`parameter_at_times` and `parameter_at_targets` return an array (runs, points) with NaN where nothing was logged. Means,
medians, quantiles and counts of its columns come from `summarize_values(..., omit_unknown=True)` (IOHprofiler thesis,
tables 3.1 and 3.2, "Algorithm Parameters").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.assess.comparisons.samples import check_choice
from polarbear.assess.runtimes import runtimes
from polarbear.assess.step_functions import FloatArray
from polarbear.records import Run
from polarbear.validation import whole_number


def parameter_names(runs: Sequence[Run]) -> tuple[str, ...]:
    """Names of the parameters that any of the runs logged, in order of first occurrence."""
    return tuple(dict.fromkeys(name for run in runs if run.parameters for name in run.parameters.values))


def parameter_at_times(runs: Sequence[Run], name: str, times: ArrayLike) -> FloatArray:
    """The last value that each run had logged by each time.

    Args:
        runs: Runs with parameters.
        name: Name of the parameter.
        times: (times,) numbers of evaluations.

    Returns:
        (runs, times) values; NaN before a run first logged the parameter and after the run ended, for whatever reason.

    Raises:
        ValueError: If there are no runs, or one of them never logged the parameter; the message names the run.
    """
    at = np.atleast_1d(floats(times))
    return np.stack([_latest(run, name, at) for run in _some(runs)])


def parameter_at_targets(runs: Sequence[Run], name: str, targets: ArrayLike, *, absolute: bool = False) -> FloatArray:
    """The last value that each run had logged when it first reached each target.

    Args:
        runs: Runs with parameters.
        name: Name of the parameter.
        targets: (targets,) precisions above each run's optimum; objective values if `absolute`.
        absolute: Whether targets are objective values.

    Returns:
        (runs, targets) values; NaN where the target was missed or reached before the parameter was first logged.

    Raises:
        ValueError: For the same reasons as `parameter_at_times`, or if an optimum is needed and unknown.
    """
    hits = runtimes(_some(runs), np.atleast_1d(floats(targets)), absolute=absolute)
    return np.stack([_latest(run, name, at) for run, at in zip(runs, hits, strict=True)])


def parameter_correlation(
    first: ArrayLike, second: ArrayLike, *, window: int = 1, method: Literal["spearman", "pearson"] = "spearman"
) -> FloatArray:
    """The correlation of two parameters over runs, in a moving window of times.

    Args:
        first: (runs, times) values of one parameter, as returned by `parameter_at_times`; NaN where unknown.
        second: (runs, times) values of the other parameter.
        window: Number of consecutive times that are pooled, odd; fewer at both ends.
        method: Spearman's rank correlation, or Pearson's.

    Returns:
        (times,) correlations; NaN where fewer than 3 pairs are known or one parameter does not vary.

    Raises:
        ValueError: If shapes differ, or an option is invalid.
    """
    from scipy import stats

    ours, theirs = floats(first), floats(second)
    if ours.ndim != 2 or ours.shape != theirs.shape:
        raise ValueError(f"parameters have shapes {ours.shape} and {theirs.shape}; both must be (runs, times)")
    if whole_number(window, "window", 1) % 2 == 0:
        raise ValueError(f"window is {window}; it must be odd, so that it has a middle")
    check_choice(method, Literal["spearman", "pearson"], "method")
    measure = stats.spearmanr if method == "spearman" else stats.pearsonr
    correlations = np.full(ours.shape[1], np.nan)
    for time in range(correlations.size):
        within = slice(max(0, time - window // 2), time + window // 2 + 1)
        x, y = ours[:, within].ravel(), theirs[:, within].ravel()
        known = ~(np.isnan(x) | np.isnan(y))
        if known.sum() >= 3 and np.ptp(x[known]) > 0 and np.ptp(y[known]) > 0:
            correlations[time] = measure(x[known], y[known]).statistic
    return correlations


def _some(runs: Sequence[Run]) -> Sequence[Run]:
    if not len(runs):
        raise ValueError("there are no runs; give at least one")
    return runs


def _latest(run: Run, name: str, at: FloatArray) -> FloatArray:
    """The last value logged at or before each time; NaN before the first value and after the run's end."""
    if run.parameters is None or name not in run.parameters.values:
        logged = ", ".join(run.parameters.values) if run.parameters else "nothing"
        raise ValueError(f"{run.key} never logged {name!r}; it logged {logged}. Leave such runs out")
    column = run.parameters.values[name]
    logged_at = ~np.isnan(column)
    latest = np.searchsorted(run.parameters.evaluations[logged_at], at, side="right")
    values = np.concatenate(([np.nan], column[logged_at]))[latest]
    return np.where(at <= run.outcome.evaluations, values, np.nan)

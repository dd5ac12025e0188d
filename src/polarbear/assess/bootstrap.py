"""Bootstrap confidence bands: how much a curve or surface would change with other runs.

Whole runs are resampled, so that the dependence within a run is kept (López-Ibáñez et al. 2024, section V, mention such
bands for the EAF).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.arrays import floats
from polarbear.assess.step_functions import FloatArray

_BATCH_BYTES = 2**26
"""Maximum memory for the resampled runs held at once, in bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """A statistic of runs with its confidence band; the arrays have the shape of the statistic.

    Attributes:
        lower: Lower end of the band.
        estimate: The statistic of the original runs.
        upper: Upper end of the band.
    """

    lower: FloatArray
    estimate: FloatArray
    upper: FloatArray


def bootstrap_band(
    samples: ArrayLike,
    statistic: Callable[..., Any] = np.mean,
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 2000,
    simultaneous: bool = False,
) -> Band:
    """A percentile bootstrap band of a statistic over runs, by `scipy.stats.bootstrap`.

    The EAF, the EAF-based ECDF and the AOCC are means over runs: of `values[:, :, None] <= targets`, of
    `values_at(attained_share(runs, ...), times)` and of `aocc(runs, ...)`, respectively.

    Args:
        samples: (runs, ...) a quantity of each run, such as (runs, times).
        statistic: Function called as `statistic(samples, axis=...)`, such as `numpy.mean` or `numpy.median`.
        rng: The source of randomness.
        confidence: Confidence level of the band, between 0 and 1.
        resamples: Number of bootstrap samples.
        simultaneous: Whether the band covers all entries simultaneously; by default each has its own interval. A
            simultaneous band has the same width everywhere: half of it bounds the largest deviation of a resampled
            statistic with this confidence. Use it for quantities on one scale, such as shares.

    Returns:
        The band; NaN wherever a sample is NaN. Where all runs agree its width is 0, although other runs might differ.

    Raises:
        ValueError: If there are fewer than two runs, samples are infinite, or confidence is not between 0 and 1.
    """
    samples = floats(samples)
    if samples.ndim < 1 or samples.shape[0] < 2:
        raise ValueError(
            f"samples have shape {samples.shape}; a bootstrap needs at least two runs along the first axis"
        )
    if np.isinf(samples).any():
        raise ValueError("some samples are infinite; start at a later time, or scale them between bounds")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence!r}; it must be between 0 and 1, such as 0.95")
    known = ~np.isnan(samples).any(axis=0)
    ends = _ends(samples[:, known], statistic, rng, confidence, resamples, simultaneous)
    lower, estimate, upper = (np.full(known.shape, np.nan) for _ in range(3))
    lower[known], estimate[known], upper[known] = ends
    return Band(lower, estimate, upper)


def _ends(
    samples: FloatArray,
    statistic: Callable[..., Any],
    rng: np.random.Generator,
    confidence: float,
    resamples: int,
    simultaneous: bool,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Lower end, estimate and upper end for samples (runs, entries) without NaN."""
    from scipy import stats

    estimate = floats(statistic(samples, axis=0))
    if not estimate.size:
        return estimate, estimate, estimate
    resampled = stats.bootstrap(
        (samples,), statistic, axis=0, n_resamples=resamples, method="percentile", rng=rng, vectorized=True,
        batch=max(1, _BATCH_BYTES // samples.nbytes), confidence_level=confidence,
    ).bootstrap_distribution  # fmt: skip
    if simultaneous:
        reach = np.quantile(np.abs(resampled - estimate[:, None]).max(axis=0), confidence)
        return estimate - reach, estimate, estimate + reach
    lower, upper = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2], axis=-1)
    return lower, estimate, upper

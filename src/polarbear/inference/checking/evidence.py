"""Compare statistics with their replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.records import FloatArray

LEVEL = 0.01
"""Rate of false alarms of a check."""
FEWEST_REPLICATES = 100
"""Minimum number of replicates: with fewer, no check could fail at this level."""
_TINY = 1e-9
_SMALLEST_SIDE = 0.1
"""The distance from the median to either quantile is at least this share of the distance between both."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """M observed statistics compared with those of replicates.

    Attributes:
        observed: (M,) the observed statistics.
        low: (M,) 2.5 % quantiles of the replicates and the observed statistic together.
        high: (M,) 97.5 % quantiles.
        z: (M,) distance of the observed statistic from the median, in units of half the distance from the median to the
            quantile on its side, so that both sides count alike; 0 where the data say nothing.
        p_value: Share of the replicates whose largest |z| is at least the observed one. Since the largest of all M is
            compared, a false alarm is as rare as with one statistic.
        critical: The |z| beyond which a statistic is remarkable.
        possible: Whether the data say something about any statistic.
    """

    observed: FloatArray
    low: FloatArray
    high: FloatArray
    z: FloatArray
    p_value: float
    critical: float
    possible: bool

    @classmethod
    def of(cls, observed: FloatArray, replicates: FloatArray) -> Evidence:
        """Compare observed statistics (M,) with those of replicates (R, M); NaN where the data say nothing."""
        usable = np.isfinite(observed) & np.isfinite(replicates).all(axis=0)
        # Data and replicates enter the quantiles alike, so that p is exact with few replicates.
        both = np.where(usable, np.vstack([replicates, observed]), 0.0)
        low, middle, high = np.quantile(both, [0.025, 0.5, 0.975], axis=0)
        usable &= high - low > _TINY
        least = np.maximum(_SMALLEST_SIDE * (high - low), _TINY)
        below, above = np.maximum(middle - low, least) / 2, np.maximum(high - middle, least) / 2

        def standardized(numbers: FloatArray) -> FloatArray:
            distance = np.where(usable, numbers - middle, 0.0)
            return np.maximum(distance, 0.0) / above - np.maximum(-distance, 0.0) / below

        z, count = standardized(observed), len(replicates)
        largest = np.abs(standardized(replicates)).max(axis=1, initial=0.0)
        allowed = int(LEVEL * (count + 1)) - 1
        return cls(
            observed=observed,
            low=low,
            high=high,
            z=z,
            p_value=float(1 + np.count_nonzero(largest >= np.abs(z).max(initial=0.0))) / (count + 1),
            critical=float(np.sort(largest)[count - 1 - allowed]),
            possible=bool(usable.any()),
        )

    @property
    def passed(self) -> bool:
        """Whether nothing is remarkable."""
        return self.p_value > LEVEL

    @property
    def most_remarkable(self) -> int:
        """Index of the statistic with the largest |z|."""
        return int(np.abs(self.z).argmax())

    @property
    def remarkable(self) -> NDArray[np.intp]:
        """Indices of the remarkable statistics, the most remarkable first; none if the check passed."""
        beyond = np.flatnonzero(np.abs(self.z) > self.critical)
        return beyond[np.argsort(-np.abs(self.z[beyond]), kind="stable")]

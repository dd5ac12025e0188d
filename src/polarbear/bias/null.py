"""The distribution of the statistics for uniform samples: by Monte Carlo for any size, exact where known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.stats import beta

from polarbear.bias.kept import remembered
from polarbear.bias.uniformity import SMALLEST_SAMPLE, STATISTICS, uniformity_statistics
from polarbear.records import FloatArray
from polarbear.validation import whole_number

SAMPLES = 100_000
"""Number of uniform samples for critical values, as in section 3.3 of the thesis."""
SEED = 3_300
_AT_ONCE = 200_000
"""Number of values simulated at a time."""

EXACT: dict[str, Callable[[int], tuple[float, float]]] = {
    "range": lambda n: (n - 1, 2),
    "min": lambda n: (1, n),
    "max": lambda n: (n, 1),
}
"""Statistics that are order statistics, with the parameters of their beta distribution."""


@dataclass(frozen=True, eq=False)
class Null:
    """The distribution of the statistics of uniform samples.

    Attributes:
        n: Number of values of each sample.
        ordered: (36, m) the statistics of m uniform samples, each in increasing order.
        p_values: (36, m) the p-values of these samples, kept together by sample: the statistics are dependent.
    """

    n: int
    ordered: FloatArray
    p_values: FloatArray

    def p_values_of(self, statistics: FloatArray) -> FloatArray:
        """The p-values (36, d) of statistics (36, d): the share of uniform samples at least as extreme."""
        return _p_values(self.ordered, statistics, self.n)


def _p_values(ordered: FloatArray, statistics: FloatArray, n: int, own: bool = False) -> FloatArray:
    """Monte Carlo p-values (1 + #) / (1 + m), which are valid for any m; for `EXACT` statistics by their distribution.

    For the uniform samples' `own` statistics, # counts the m - 1 others, so that 1 + # takes the same values.
    """
    p = np.empty_like(statistics)
    for row, (name, statistic) in enumerate(STATISTICS.items()):
        if name in EXACT:
            distribution = beta(*EXACT[name](n))
            p[row] = (distribution.sf if statistic.tail == "above" else distribution.cdf)(statistics[row])
            continue
        reference, observed = ordered[row], np.asarray(statistics[row])
        at_least = (not own) + len(reference) - np.searchsorted(reference, observed, side="left")
        at_most = (not own) + np.searchsorted(reference, observed, side="right")
        counts = {"above": at_least, "below": at_most, "both": 2 * np.minimum(at_least, at_most)}[statistic.tail]
        p[row] = np.minimum(counts / (1 + len(reference)), 1.0)
    return p


@lru_cache(maxsize=4)
def null_distribution(n: int, samples: int = SAMPLES) -> Null:
    """The statistics of `samples` uniform samples of n values; the latest ones are cached in memory.

    100,000 samples of 100 values take about ten seconds, once per computer (`remembered`), and 60 MB.

    Raises:
        FieldError: If n is below 10, or there are fewer than 100 samples.
    """
    whole_number(n, "n", SMALLEST_SAMPLE)
    whole_number(samples, "samples", 100)
    statistics = remembered(f"uniform-{SEED}-{n}-{samples}", lambda: _simulated(n, samples))
    ordered = np.sort(statistics, axis=1)
    return Null(n, ordered, _p_values(ordered, statistics, n, own=True))


def _simulated(n: int, samples: int) -> FloatArray:
    rng, block = np.random.default_rng([SEED, n]), max(1, _AT_ONCE // n)
    counts = [min(block, samples - done) for done in range(0, samples, block)]
    return np.concatenate([uniformity_statistics(rng.random((count, n))) for count in counts], axis=1)


def critical_values(n: int, alpha: float = 0.01, *, samples: int = SAMPLES) -> dict[str, tuple[float, float]]:
    """The interval in which each statistic of n uniform values lies with probability 1 - alpha.

    Args:
        n: Number of values of a sample, at least 10.
        alpha: The level, in (0, 1).
        samples: Number of uniform samples drawn; ``range``, ``min`` and ``max`` are exact.

    Returns:
        The lower and the upper critical value of each statistic, infinite on the side that is not tested.
    """
    null, intervals = null_distribution(n, samples), dict[str, tuple[float, float]]()
    for row, (name, statistic) in enumerate(STATISTICS.items()):
        share = alpha / 2 if statistic.tail == "both" else alpha
        ends = [share, 1 - share]
        exact = name in EXACT
        low, high = beta(*EXACT[name](n)).ppf(ends) if exact else np.quantile(null.ordered[row], ends)
        intervals[name] = (-np.inf if statistic.tail == "above" else low, np.inf if statistic.tail == "below" else high)
    return intervals

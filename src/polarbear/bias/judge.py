"""Whether the best points of many runs on f0 are uniform in the box (Vermetten 2025, section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import false_discovery_control

from polarbear.bias.kinds import DESCRIPTIONS, kind_probabilities
from polarbear.bias.null import SAMPLES, SEED, null_distribution
from polarbear.bias.uniformity import SMALLEST_SAMPLE, STATISTICS, uniformity_statistics
from polarbear.quantities import plural
from polarbear.records import FloatArray
from polarbear.validation import real_number

SHARE = 10
"""Inverse of the share of dimensions, a tenth, in which a test must reject to count."""
UNIFORM_SETS = 20_000
"""Number of uniform samples in d dimensions from which the level is determined."""


@dataclass(frozen=True, eq=False)
class Bias:
    """A verdict on whether final points are biased, and how.

    Attributes:
        rejected: (36, d) whether each test of `tests` rejects uniformity in each dimension, corrected for all of them.
        p_values: (36, d) uncorrected p-values.
        counts: (36,) whether each test counts, that is, rejects in at least a tenth of the dimensions.
        biased: Whether any test counts.
        p_value: The probability that uniform points look at least as biased, by the same rule; at least 5e-5.
        alpha: The allowed probability of calling uniform points biased.
        level: The level of each test: `alpha`, or less if at `alpha` too many uniform points would be called biased.
        runs: Number of points.
        probabilities: The probability of each type of bias, most likely first: "centre", "bounds", "gaps", "clusters"
            and "discretization"; empty if the points are not biased.
    """

    rejected: NDArray[np.bool_]
    p_values: FloatArray
    counts: NDArray[np.bool_]
    biased: bool
    p_value: float
    alpha: float
    level: float
    runs: int
    probabilities: dict[str, float] = field(default_factory=dict[str, float])

    @property
    def kind(self) -> str:
        """The most likely type of bias; "" if the points are not biased."""
        return next(iter(self.probabilities), "")

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests, in the order of rows."""
        return tuple(STATISTICS)

    @property
    def dimension(self) -> int:
        """Number of variables d."""
        return self.rejected.shape[1]

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        points = f"{plural(self.runs, 'final point')} in {plural(self.dimension, 'dimension')}"
        tests = f"of {len(STATISTICS)} tests on {points}"
        if not self.biased:
            return f"No evidence of structural bias: none {tests} rejects uniformity (level {self.alpha:g})."
        rejecting, dimensions = int(self.counts.sum()), int(self.rejected[self.counts].any(axis=0).sum())
        return (
            f"Structurally biased: {rejecting} {tests} {'rejects' if rejecting == 1 else 'reject'} uniformity "
            f"in {dimensions} of the dimensions (level {self.alpha:g}). "
            f"The bias looks most like {DESCRIPTIONS[self.kind]} ({self.probabilities[self.kind]:.0%})."
        )

    def __str__(self) -> str:
        return self.sentence


def judge(
    points: ArrayLike, *, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, alpha: float = 0.01, samples: int = SAMPLES
) -> Bias:
    """Judge whether the best points of an optimizer's runs on f0 are uniform in the box.

    Each of the 36 tests is corrected for the d dimensions by Benjamini and Yekutieli's method, and counts if it rejects
    in at least d / 10 of them; points are biased if any test counts. In few dimensions, this rule alone would call more
    than a share `alpha` of uniform points biased, as there are 36 tests; there the level of all tests is lowered until
    it does not.

    Args:
        points: (n, d) the best point of each of n independent runs, n at least 10; studies use 50 to 600.
        lower: Lower bound of the box, a number or (d,).
        upper: Upper bound of the box, a number or (d,).
        alpha: The allowed probability of calling uniform points biased, in (0, 0.5].
        samples: Number of uniform samples from which p-values are computed.

    Raises:
        ValueError: If there are too few points, or one lies outside the box; the message names it.
    """
    real_number(alpha, "alpha", gt=0, le=0.5)
    u = _in_unit_box(points, lower, upper)
    null = null_distribution(len(u), samples)
    p_values = null.p_values_of(uniformity_statistics(np.ascontiguousarray(u.T)))
    scores = _null_scores(len(u), u.shape[1], samples)
    score = float(verdict_scores(p_values[:, np.newaxis])[0])
    level = min(alpha, level_below(scores, alpha))
    rejected = false_discovery_control(p_values, axis=1, method="by") <= level
    counts = SHARE * np.sum(rejected, axis=1) >= u.shape[1]
    p_value = (1 + int((scores <= score).sum())) / (1 + len(scores))
    biased = bool(counts.any())
    kinds = kind_probabilities(p_values[:, rejected[counts].any(axis=0)]) if biased else {}
    return Bias(rejected, p_values, counts, biased, p_value, alpha, level, len(u), kinds)


def verdict_scores(p_values: FloatArray) -> FloatArray:
    """The smallest level at which each of m sets of points is biased: p-values (36, m, d) -> (m,).

    With p_(j) the j-th smallest p-value of a test, Benjamini and Yekutieli (2001) reject k dimensions or more at level
    α if p_(j) ≤ j α / (d Σ 1/i) for some j ≥ k.
    """
    d: int = p_values.shape[-1]
    ranks: FloatArray = np.arange(1.0, d + 1)
    levels: FloatArray = np.sort(p_values, axis=-1) * (d * np.sum(1 / ranks)) / ranks
    return np.min(levels[..., -(-d // SHARE) - 1 :], axis=(0, -1))


def level_below(scores: FloatArray, alpha: float) -> float:
    """The highest level at which at most a share `alpha` of uniform points is called biased, given their scores.

    Scores are multiples of 1 / (1 + samples), so many of them are equal: none equal to the quantile may count.
    """
    return float(np.nextafter(np.sort(scores)[int(alpha * len(scores))], 0.0))


@lru_cache(maxsize=16)
def _null_scores(n: int, d: int, samples: int) -> FloatArray:
    """The scores of uniform points whose dimensions are drawn from the uniform samples."""
    p, rng = null_distribution(n, samples).p_values, np.random.default_rng([SEED, n, d])
    block = max(1, 10_000 // d)
    counts = [min(block, UNIFORM_SETS - done) for done in range(0, UNIFORM_SETS, block)]
    return np.concatenate([verdict_scores(p[:, rng.integers(p.shape[1], size=(count, d))]) for count in counts])


def _in_unit_box(points: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> FloatArray:
    x = np.asarray(points, dtype=np.float64)
    if x.ndim != 2 or len(x) < SMALLEST_SAMPLE or not x.shape[1]:
        raise ValueError(f"points have shape {x.shape}; give (n, d) final points of at least {SMALLEST_SAMPLE} runs")
    low, high = (np.broadcast_to(np.asarray(end, dtype=np.float64), x.shape[1]) for end in (lower, upper))
    outside = np.argwhere(~((x >= low) & (x <= high)))
    if outside.size:
        i, j = (int(k) for k in outside[0])
        raise ValueError(f"points[{i}, {j}] is {x[i, j]}, outside the box from {low[j]} to {high[j]}; leave it out")
    return np.clip((x - low) / (high - low), 0.0, 1.0)

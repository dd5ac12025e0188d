"""Tests over functions: whether algorithms differ at all, and which differ from a control.

Sources: Demšar (2006), Statistical comparisons of classifiers over multiple data sets (Friedman's test and its post
hoc z); García et al. (2010), Information Sciences 180 (when parametric tests are safe; aligned ranks and Quade's test);
Hodges and Lehmann (1962), Annals of Mathematical Statistics 33 (aligned ranks); Quade (1979), JASA 74; Eftimov and
Korošec (2019), section 3.2, for ranks of the deep statistical comparison.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.assess.comparisons.pairwise import Correction, adjust_p_values
from polarbear.assess.comparisons.samples import Result, default_names, rows_of
from polarbear.records import FloatArray
from polarbear.validation import real_number

OmnibusTest = Literal["friedman", "wilcoxon", "anova", "aligned ranks", "quade"]
"""Friedman's test (3 or more algorithms), Wilcoxon's signed-rank test (2), the analysis of variance of repeated
measures (any number; the squared paired t-test for 2), Friedman's test of aligned ranks, or Quade's test."""
PostHocTest = Literal["friedman", "anova", "aligned ranks", "quade"]


@dataclass(frozen=True, slots=True, eq=False)
class Omnibus(Result):
    """Whether n algorithms differ over functions.

    Attributes:
        names: The n algorithms' names.
        test: The test that was applied.
        statistic: χ² of Friedman's test, corrected for ties, or of aligned ranks; W of Wilcoxon's; or F.
        p_value: The p-value of the test.
        alpha: Level of the test.
        rejected: Whether algorithms differ significantly.
        means: (n,) mean of each algorithm over functions.
        normality: (n,) p-values of Shapiro–Wilk tests; NaN if all values are equal or there are fewer than 3.
        homoscedasticity: p-value of Levene's test for equal variances; NaN if it is undefined.
    """

    names: tuple[str, ...]
    test: OmnibusTest
    statistic: float
    p_value: float
    alpha: float
    rejected: bool
    means: FloatArray
    normality: FloatArray
    homoscedasticity: float


@dataclass(frozen=True, slots=True, eq=False)
class PostHoc(Result):
    """How n algorithms differ from a control.

    Attributes:
        names: The n algorithms' names.
        control: The algorithm with which they are compared.
        test: "friedman", "aligned ranks" or "quade" (normal z of mean ranks), or "anova" (t with the pooled error).
        correction: The adjustment of p-values.
        alpha: Probability allowed for any false rejection.
        statistics: (n,) z or t, positive where an algorithm is worse than the control; NaN at the control.
        p_values: (n,) two-sided p-values; NaN at the control.
        adjusted: (n,) adjusted p-values; NaN at the control.
        different: (n,) bool, whether the algorithm differs significantly from the control.
    """

    names: tuple[str, ...]
    control: str
    test: PostHocTest
    correction: Correction
    alpha: float
    statistics: FloatArray
    p_values: FloatArray
    adjusted: FloatArray
    different: NDArray[np.bool_]

    def rows(self) -> list[dict[str, Any]]:
        """One row per algorithm other than the control."""
        others = [i for i, name in enumerate(self.names) if name != self.control]
        return rows_of(
            algorithm=np.array(self.names)[others],
            control=[self.control] * len(others),
            statistic=self.statistics[others],
            p_value=self.p_values[others],
            adjusted=self.adjusted[others],
            different=self.different[others],
        )


def omnibus_test(
    measures: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    test: OmnibusTest | Literal["auto"] = "auto",
    alpha: float = 0.05,
) -> Omnibus:
    """Test whether algorithms differ over functions.

    Args:
        measures: (functions, algorithms) finite numbers, such as ranks or mean values.
        names: The algorithms' names; by default "0", "1", ….
        test: The test. "auto" takes the analysis of variance if neither normality (Shapiro–Wilk) nor equality of
            variances (Levene) is rejected at `alpha`; else Friedman's test, or Wilcoxon's for 2 algorithms. "aligned
            ranks" ranks all differences from the functions' means together, so that their sizes count across functions;
            it has more power with few algorithms. "quade" weights a function by the rank of its range.
        alpha: Level of all tests.

    Raises:
        ValueError: If there are fewer than 2 functions or algorithms, a number is not finite, or `test` is not
            applicable.
    """
    data = _measures(measures)
    real_number(alpha, "alpha", gt=0, lt=1)
    chosen = default_names(names, data.shape[1])
    normality, levene = _conditions(data)
    rank_test: OmnibusTest = "friedman" if data.shape[1] > 2 else "wilcoxon"
    if test == "auto":
        safe = bool((normality > alpha).all()) and levene > alpha
        test = "anova" if safe else rank_test
    elif test not in (allowed := ("anova", rank_test, "aligned ranks", "quade")):
        raise ValueError(
            f"test is {test!r}; for {data.shape[1]} algorithms it must be one of auto, {', '.join(allowed)}"
        )
    statistic, p_value = _apply(test, data)
    return Omnibus(chosen, test, statistic, p_value, alpha, p_value <= alpha, data.mean(axis=0), normality, levene)


def post_hoc(
    measures: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    control: str | None = None,
    test: PostHocTest = "friedman",
    correction: Correction = "holm",
    alpha: float = 0.05,
) -> PostHoc:
    """Compare each algorithm with a control, after an omnibus test has found that they differ.

    Args:
        measures: (functions, algorithms) numbers as in `omnibus_test`, which all tests but "anova" rank.
        names: The algorithms' names; by default "0", "1", ….
        control: The algorithm to compare with; by default the one with the lowest mean (of the test's ranks, if any).
        test: "friedman": z = (R - R_control) / √(n(n+1) / 6F) (Demšar 2006, section 3.2.2). "anova": t with the
            pooled error of the analysis of variance. "aligned ranks" and "quade": z of the mean ranks used by the
            omnibus test of that name, with the variance of their difference under random exchanges of the algorithms on
            each function. García et al. (2010, page 2054) give other standard deviations, √(n(F+1) / 6) and
            √(n(n+1)(2F+1)(n-1) / 18F(F+1)): the first is too small, which rejects too often, and the second is right
            only for 3 algorithms.
        correction: The adjustment of the n - 1 p-values.
        alpha: Probability allowed for any false rejection.

    Raises:
        ValueError: For the same reasons as `omnibus_test`, or if the control is not among the names.
    """
    data = _measures(measures)
    real_number(alpha, "alpha", gt=0, lt=1)
    functions, count = data.shape
    chosen = default_names(names, count)
    from scipy import stats  # slow to import

    if test == "friedman":
        data = floats(stats.rankdata(data, axis=1))
        spread, law = math.sqrt(count * (count + 1) / (6 * functions)), stats.norm
    elif test == "anova":
        freedom, _, error = _variances(data)
        spread, law = math.sqrt(2 * error / functions), stats.t(freedom)
    elif test in get_args(PostHocTest):
        data = _ranked(test, data)
        freedom, between, error = _variances(data)
        spread, law = math.sqrt(2 * (between + (functions - 1) * error)) / functions, stats.norm
    else:
        raise ValueError(f"test is {test!r}; it must be one of {', '.join(get_args(PostHocTest))}")
    if control is not None and control not in chosen:
        raise ValueError(f"control is {control!r}; it must be one of {', '.join(chosen)}")
    means = data.mean(axis=0)
    at = int(np.argmin(means)) if control is None else chosen.index(control)
    others = np.arange(count, dtype=np.int64) != at
    differences = means - means[at]
    infinite = np.where(differences == 0, 0.0, np.copysign(np.inf, differences))
    statistics = differences / spread if spread > 0 else infinite
    p_values = 2 * law.sf(np.abs(statistics))
    statistics[at] = p_values[at] = np.nan
    adjusted = np.full(count, np.nan)
    adjusted[others] = adjust_p_values(p_values[others], correction=correction)
    return PostHoc(chosen, chosen[at], test, correction, alpha, statistics, p_values, adjusted, adjusted <= alpha)


def _measures(measures: ArrayLike) -> FloatArray:
    data = floats(measures)
    if data.ndim != 2 or min(data.shape) < 2:
        raise ValueError(
            f"measures have shape {data.shape}; they must be (functions, algorithms), with at least 2 of each"
        )
    if not np.isfinite(data).all():
        index = np.argwhere(~np.isfinite(data))[0].tolist()
        raise ValueError(f"measures{index} is {data[tuple(index)]}; give finite numbers, such as ranks")
    return data


def _conditions(data: FloatArray) -> tuple[FloatArray, float]:
    """p-values of the conditions of parametric tests; NaN if undefined, which meets no condition."""
    from scipy import stats

    varied = np.ptp(data, axis=0) > 0
    normality = np.full(data.shape[1], np.nan)
    if len(data) >= 3:
        normality[varied] = [stats.shapiro(column).pvalue for column in data[:, varied].T]
    levene = float(stats.levene(*data.T).pvalue) if varied.all() and len(data) >= 3 else math.nan
    return normality, levene


def _apply(test: OmnibusTest, data: FloatArray) -> tuple[float, float]:
    """Statistic and p-value."""
    from scipy import stats

    if (data == data[:, :1]).all():  # all algorithms equal everywhere
        return 0.0, 1.0
    if test == "friedman":
        statistic, p_value = stats.friedmanchisquare(*data.T)
        return float(statistic), float(p_value)
    if test == "wilcoxon":
        result = stats.wilcoxon(*data.T, method="asymptotic")  # pyright: ignore
        return float(result.statistic), float(result.pvalue)
    functions, count = data.shape
    freedom, between, error = _variances(data if test == "anova" else _ranked(test, data))
    if test == "aligned ranks":  # García et al. 2010, page 2051, has it in sums
        statistic = functions * (count - 1) * between / (between + (functions - 1) * error)
        return statistic, float(stats.chi2(count - 1).sf(statistic))
    if test == "quade" and error <= 1e-12 * between:  # the same order F times, with equal ranges
        return math.inf, float(math.factorial(count)) ** (1 - functions)
    statistic = between / error if error > 0 else math.inf
    return statistic, float(stats.f.sf(statistic, count - 1, freedom))


def _ranked(test: str, data: FloatArray) -> FloatArray:
    """(functions, algorithms) aligned ranks, or Quade's: centred ranks within functions times the range's rank."""
    from scipy.stats import rankdata

    if test == "aligned ranks":
        return floats(rankdata(floats(data - data.mean(axis=1, keepdims=True)))).reshape(data.shape)
    ranks = floats(rankdata(data, axis=1)) - (data.shape[1] + 1) / 2
    return floats(rankdata(floats(np.ptp(data, axis=1))))[:, None] * ranks


def _variances(data: FloatArray) -> tuple[int, float, float]:
    """Degrees of freedom of the error, and mean squares between algorithms and of the error (functions as blocks)."""
    functions, count = data.shape
    effect = data.mean(axis=0) - data.mean()
    residual = data - data.mean(axis=1, keepdims=True) - effect
    freedom = (functions - 1) * (count - 1)
    return freedom, functions * float((effect**2).sum()) / (count - 1), float((residual**2).sum()) / freedom

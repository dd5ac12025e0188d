"""Tests of all pairs of algorithms, corrected for multiple testing.

As in van Stein's and Vermetten's IOHanalyzer (thesis, section 3.1.2 and tables 3.1 and 3.2), two-sample tests of all
pairs, with p-values corrected for multiple testing, decide which algorithm beats which.
`polarbear.assess.comparisons.order` turns the decisions into a partial order.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.assess.comparisons.anderson_darling import anderson_darling_pairs
from polarbear.assess.comparisons.samples import Result, Samples, check_choice, read_samples, rows_of
from polarbear.records import FloatArray, IntArray
from polarbear.validation import real_number

Alternative = Literal["two-sided", "less"]
"""The alternative hypothesis: two algorithms differ, or the first tends to lower (better) values."""
Method = Literal["exact", "asymptotic"]
"""Distribution from which p-values are computed: the statistic's exact one, or its limit for large samples."""
Correction = Literal["holm", "bonferroni", "hochberg", "none"]
"""Adjustment of p-values for the number of tests."""


class _Pair(NamedTuple):
    """One test: its statistic, that of the exchanged samples, the p-value, and how far it favours the first sample."""

    statistic: float
    exchanged: float
    p_value: float
    favours: float


_Test: TypeAlias = Callable[[FloatArray, FloatArray, Alternative], _Pair]
_Tests: TypeAlias = Callable[[Mapping[str, FloatArray], IntArray, IntArray], ArrayLike]
"""Maps the runs of all, and the indices of the first and second sample of each pair, to rows that are `_Pair`s."""
_EXACT: dict[tuple[int, ...], _Pair] = {}
"""Cache of exact Kolmogorov–Smirnov tests by sizes and distances, which determine them."""
_MOST_KEPT = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseTests(Result):
    """Tests of n algorithms in pairs. In all matrices the row is compared with the column; the diagonal is NaN.

    Attributes:
        names: The n algorithms' names.
        test: The name of the test.
        method: "exact" or "asymptotic".
        alternative: With "two-sided" the matrices of p-values are symmetric and the correction is for n(n-1)/2
            hypotheses; with "less" (the row tends to lower values) it is for n(n-1).
        correction: The adjustment of p-values.
        alpha: Probability allowed for any false rejection.
        sizes: (n,) number of runs of each algorithm.
        failures: (n,) number of these runs that are `inf`.
        statistics: (n, n) test statistics.
        p_values: (n, n) p-values before correction.
        adjusted: (n, n) adjusted p-values.
        better: (n, n) bool, whether the row is significantly better than the column. One-sided Kolmogorov–Smirnov
            tests may reject in both directions if distribution functions cross.
    """

    names: tuple[str, ...]
    test: str
    method: Method
    alternative: Alternative
    correction: Correction
    alpha: float
    sizes: IntArray
    failures: IntArray
    statistics: FloatArray
    p_values: FloatArray
    adjusted: FloatArray
    better: NDArray[np.bool_]

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence on the failed runs of each algorithm that has any."""
        return tuple(
            f"{name}: {failed} of {size} runs failed; they tie with other failures and lose to every success."
            for name, failed, size in zip(self.names, self.failures, self.sizes, strict=True)
            if failed
        )

    def rows(self) -> list[dict[str, Any]]:
        """One row per test, for tables."""
        i, j = np.array(list(_tested(len(self.names), self.alternative))).T
        names = np.array(self.names)
        mirrored = (self.alternative == "two-sided") & self.better[j, i]
        return rows_of(
            first=names[i],
            second=names[j],
            statistic=self.statistics[i, j],
            p_value=self.p_values[i, j],
            adjusted=self.adjusted[i, j],
            better=np.where(self.better[i, j], names[i], np.where(mirrored, names[j], "")),
        )


def adjust_p_values(p_values: ArrayLike, *, correction: Correction = "holm") -> FloatArray:
    """Adjust p-values for their number.

    If hypotheses with an adjusted p-value of at most α are rejected, the probability of any false rejection is at most
    α. Hochberg's correction requires independent (or positively dependent) tests for that.

    Args:
        p_values: (k,) p-values of one family of tests.
        correction: "holm", "bonferroni", "hochberg" or "none".

    Returns:
        (k,) adjusted p-values.

    Raises:
        ValueError: If a p-value is outside [0, 1] or the correction is unknown.
    """
    p = floats(p_values)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p_values are {p!r}; they must be 1-D and between 0 and 1")
    check_choice(correction, Correction, "correction")
    order = np.argsort(p)
    sorted_ = p[order]
    tests = np.arange(p.size, 0, -1)  # how many hypotheses remain, the smallest p-value first
    if correction == "bonferroni":
        sorted_ = sorted_ * p.size
    elif correction == "holm":
        sorted_ = np.maximum.accumulate(sorted_ * tests)
    elif correction == "hochberg":
        sorted_ = np.minimum.accumulate((sorted_ * tests)[::-1])[::-1]
    adjusted = np.empty_like(p)
    adjusted[order] = sorted_.clip(max=1.0)
    return adjusted


def kolmogorov_smirnov(
    samples: Samples,
    *,
    alternative: Alternative = "less",
    method: Method = "exact",
    correction: Correction = "holm",
    alpha: float = 0.05,
) -> PairwiseTests:
    """Two-sample Kolmogorov–Smirnov tests of all pairs (thesis, section 3.1.2).

    IOHanalyzer computes the same with `method="asymptotic"`. Ties make the exact test conservative, never liberal.

    Args:
        samples: One number per run for each algorithm, lower is better, `inf` if the run failed.
        alternative: "less" tests for each ordered pair whether the first one's distribution function lies above the
            other's somewhere. "two-sided" tests whether they differ; the one above at the largest distance is better.
        method: "exact" or "asymptotic" p-values.
        correction: The adjustment of p-values for the number of tests.
        alpha: Probability allowed for any false rejection.

    Returns:
        The tests; `statistics` are the largest distances.

    Raises:
        ValueError: If samples are invalid, or the exact distribution cannot be computed.
    """

    def tests(runs: Mapping[str, FloatArray], first: IntArray, second: IntArray) -> ArrayLike:
        return kolmogorov_smirnov_pairs(runs, first, second, alternative, method)

    return _all_pairs(samples, tests, "Kolmogorov–Smirnov", method, alternative, correction, alpha)


def kolmogorov_smirnov_pairs(
    runs: Mapping[str, FloatArray], first: IntArray, second: IntArray, alternative: Alternative, method: Method
) -> FloatArray:
    """(pairs, 4) tests of pairs of samples, given by their indices; each row is a `_Pair`.

    Results depend only on the sizes and the largest distances, of which there are few. Errors as in
    `kolmogorov_smirnov`.
    """
    names, every = tuple(runs), np.concatenate([*runs.values()])
    sizes = np.array([sample.size for sample in runs.values()])
    below = np.array([np.searchsorted(np.sort(sample), every, side="right") / sample.size for sample in runs.values()])
    steps = np.lcm(sizes[first], sizes[second])  # distances are multiples of 1 / steps
    highest = np.array([(row - below).max(axis=1) for row in below])  # largest distance of the row's above the column's
    sides = [highest[first, second], *([highest[second, first]] if alternative == "two-sided" else [])]
    keys = [sizes[first], sizes[second], *(np.rint(side * steps) if method == "exact" else side for side in sides)]
    distinct, examples, where = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    results = np.array(
        [
            _distance_test(tuple(key), runs, (names[first[k]], names[second[k]]), alternative, method)
            for key, k in zip(distinct.T.tolist(), examples.tolist(), strict=True)
        ]
    )
    return results[where.ravel()]


def _distance_test(
    key: tuple[float, ...],
    runs: Mapping[str, FloatArray],
    pair: tuple[str, str],
    alternative: Alternative,
    method: Method,
) -> _Pair:
    """Test a pair with these sizes and distances; exact tests are cached.

    Raises:
        ValueError: For the same reasons as `_kolmogorov_smirnov_pair`; the message names the pair.
    """
    exact = tuple(map(int, key)) if method == "exact" else ()
    if exact in _EXACT:
        return _EXACT[exact]
    try:
        result = _kolmogorov_smirnov_pair(runs[pair[0]], runs[pair[1]], alternative, method)
    except ValueError as error:
        raise ValueError(f"{pair[0]} against {pair[1]}: {error}") from error
    if exact:
        if len(_EXACT) >= _MOST_KEPT:
            _EXACT.clear()
        _EXACT[exact] = result
    return result


def _kolmogorov_smirnov_pair(first: FloatArray, second: FloatArray, alternative: Alternative, method: Method) -> _Pair:
    from scipy import stats  # slow to import

    side = "greater" if alternative == "less" else alternative  # a lower sample has the greater distribution function
    result = stats.ks_2samp(first, second, alternative=side, method="asymp")
    distance, p_value = float(result.statistic), float(result.pvalue)
    if method == "exact" and side == "two-sided" and distance * max(first.size, second.size) < 1 + 1e-9:
        p_value = 1.0  # no distance is smaller; SciPy fails if its sum of probabilities rounds to above 1
    elif method == "exact":
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                p_value = float(stats.ks_2samp(first, second, alternative=side, method="exact").pvalue)
            except RuntimeWarning as warning:
                raise ValueError(
                    f"the exact Kolmogorov–Smirnov distribution for {first.size} and {second.size} runs cannot be "
                    f'computed; use method="asymptotic" ({warning})'
                ) from warning
    return _Pair(distance, distance, p_value, float(result.statistic_sign))


def anderson_darling(samples: Samples, *, correction: Correction = "holm", alpha: float = 0.05) -> PairwiseTests:
    """Two-sided, asymptotic two-sample Anderson–Darling tests of all pairs, with midranks for ties.

    In a significantly different pair, the algorithm with the lower mean rank is better. Arguments, result and errors
    as in `kolmogorov_smirnov`; `statistics` are standardized.

    Source: Scholz and Stephens (1987), K-sample Anderson–Darling tests, equations 6 and 7.
    """

    def tests(runs: Mapping[str, FloatArray], first: IntArray, second: IntArray) -> ArrayLike:
        statistics, p_values, favours = anderson_darling_pairs(tuple(runs.values()), first, second)
        return np.column_stack([statistics, statistics, p_values, favours])

    return _all_pairs(samples, tests, "Anderson–Darling", "asymptotic", "two-sided", correction, alpha)


def mann_whitney(
    samples: Samples,
    *,
    alternative: Alternative = "two-sided",
    method: Method = "asymptotic",
    correction: Correction = "holm",
    alpha: float = 0.05,
) -> PairwiseTests:
    """Mann–Whitney U (Wilcoxon rank-sum) tests of all pairs, by SciPy.

    The asymptotic test corrects for ties and for continuity; the exact one does not allow ties.
    Arguments and errors as in `kolmogorov_smirnov`.

    Returns:
        The tests; `statistics` are U of the row, the number of pairs of runs in which the row is higher (worse), with
        ties counting half.

    Raises:
        ValueError: Also if the exact test is requested for tied runs, such as two failures.
    """

    def tests(runs: Mapping[str, FloatArray], first: IntArray, second: IntArray) -> FloatArray:
        from scipy import stats

        names, values = list(runs), list(runs.values())
        sizes: IntArray = np.array([own.size for own in values])
        found = np.empty((first.size, 4))
        for n, m in {*zip(sizes[first].tolist(), sizes[second].tolist(), strict=True)}:  # pairs of equal sizes at once
            pairs = np.flatnonzero((sizes[first] == n) & (sizes[second] == m))
            own = np.array([values[each] for each in first[pairs].tolist()], dtype=np.float64)
            other = np.array([values[each] for each in second[pairs].tolist()], dtype=np.float64)
            if method == "exact":
                pooled = np.sort(np.concatenate([own, other], axis=1), axis=1)
                tied = np.flatnonzero((pooled[:, 1:] == pooled[:, :-1]).any(axis=1))
                if tied.size:
                    i, j = first[pairs[tied[0]]], second[pairs[tied[0]]]
                    raise ValueError(
                        f"{names[i]} against {names[j]}: some runs are tied, so the exact Mann–Whitney test is not "
                        'valid; use method="asymptotic", which corrects for ties'
                    )
            tested: Any = stats.mannwhitneyu(own, other, alternative=alternative, method=method, axis=1)
            u, p_values = tested.statistic, tested.pvalue
            found[pairs] = np.stack([u, n * m - u, p_values, n * m / 2 - u], axis=1)
        return found

    return _all_pairs(samples, tests, "Mann–Whitney", method, alternative, correction, alpha)


def wilcoxon(
    samples: Samples,
    *,
    alternative: Alternative = "two-sided",
    method: Method = "asymptotic",
    correction: Correction = "holm",
    alpha: float = 0.05,
) -> PairwiseTests:
    """Wilcoxon signed-rank tests of all pairs, by SciPy: run k of one algorithm is paired with run k of the other.

    Equal pairs, such as two failures, are left out. A failure against a success is a larger difference than all others.
    The asymptotic test corrects for ties; the exact one allows neither ties nor equal pairs.
    Arguments and errors as in `kolmogorov_smirnov`.

    Returns:
        The tests; `statistics` are the rank sums of the pairs in which the row is higher (worse).

    Raises:
        ValueError: Also if numbers of runs differ, or the exact test is requested with ties or equal pairs.
    """

    def test(first: FloatArray, second: FloatArray, alternative: Alternative) -> _Pair:
        from scipy import stats

        if first.size != second.size:
            raise ValueError(
                f"{first.size} and {second.size} runs cannot be paired; give runs of both on the same instances"
            )
        unequal = first != second
        differences = first[unequal] - second[unequal]
        sizes = np.abs(differences)
        if method == "exact" and (differences.size < first.size or np.unique(sizes).size < sizes.size):
            raise ValueError(
                "some pairs of runs are equal or their differences are tied, so the exact Wilcoxon test is not valid; "
                'use method="asymptotic", which corrects for ties'
            )
        ranks = stats.rankdata(sizes)
        higher, lower = float(ranks[differences > 0].sum()), float(ranks[differences < 0].sum())
        if not differences.size:
            return _Pair(higher, lower, 1.0, 0.0)
        result = stats.wilcoxon(differences, alternative=alternative, method=method)  # pyright: ignore
        return _Pair(higher, lower, float(result.pvalue), lower - higher)

    return _all_pairs(
        samples, _one_by_one(test, alternative), "Wilcoxon signed-rank", method, alternative, correction, alpha
    )


def _one_by_one(test: _Test, alternative: Alternative) -> _Tests:
    """Tests of many pairs, by a test of one pair."""

    def tests(runs: Mapping[str, FloatArray], first: IntArray, second: IntArray) -> ArrayLike:
        names, results = tuple(runs), list[_Pair]()
        pairs: list[tuple[int, int]] = list(zip(first.tolist(), second.tolist(), strict=True))
        for name, other in ((names[i], names[j]) for i, j in pairs):
            try:
                results.append(test(runs[name], runs[other], alternative))
            except ValueError as error:
                raise ValueError(f"{name} against {other}: {error}") from error
        return results

    return tests


def _all_pairs(
    samples: Samples,
    tests: _Tests,
    name: str,
    method: Method,
    alternative: Alternative,
    correction: Correction,
    alpha: float,
) -> PairwiseTests:
    check_choice(alternative, Alternative, "alternative")
    check_choice(method, Method, "method")
    real_number(alpha, "alpha", gt=0, lt=1)
    runs = read_samples(samples)
    names = tuple(runs)
    first, second = np.array(list(_tested(len(runs), alternative))).T
    statistic, exchanged, p_values, favours = floats(tests(runs, first, second)).T
    adjusted = adjust_p_values(p_values, correction=correction)

    def matrix(values: FloatArray, mirrored: FloatArray) -> FloatArray:
        """(n, n), with the samples exchanged below the diagonal of a two-sided test."""
        square = np.full((len(names), len(names)), np.nan)
        square[first, second] = values
        if alternative == "two-sided":
            square[second, first] = mirrored
        return square

    adjusted_matrix = matrix(adjusted, adjusted)
    return PairwiseTests(
        names,
        name,
        method,
        alternative,
        correction,
        alpha,
        np.array([sample.size for sample in runs.values()], dtype=np.int64),
        np.array([np.isinf(sample).sum() for sample in runs.values()], dtype=np.int64),
        matrix(statistic, exchanged),
        matrix(p_values, p_values),
        adjusted_matrix,
        (adjusted_matrix <= alpha) & ((matrix(favours, -favours) > 0) | (alternative == "less")),
    )


def _tested(count: int, alternative: Alternative) -> Iterator[tuple[int, int]]:
    """The pairs to test: unordered for a two-sided test, else ordered."""
    choose = itertools.combinations if alternative == "two-sided" else itertools.permutations
    return choose(range(count), 2)

"""Deep statistical comparison: rank algorithms per function by their whole distributions, then compare over functions.

Sources: Eftimov, Korošec and Koroušić Seljak (2017), A novel approach to statistical comparison of meta-heuristic
stochastic optimization algorithms using deep statistics; its ranking scheme also as equations 1, 2 and 5 to 9 in
Eftimov and Korošec (2019), Information Sciences 489. Practical differences of runs in random order: after Eftimov and
Korošec (2019), Identifying practical significance through statistical comparison of meta-heuristic stochastic
optimization algorithms. IOHanalyzer offers both by the service DSCTool (thesis, tables 3.1 and 3.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.assess.comparisons.anderson_darling import anderson_darling_pairs
from polarbear.assess.comparisons.omnibus import Omnibus, PostHoc, omnibus_test, post_hoc
from polarbear.assess.comparisons.pairwise import (
    Correction,
    adjust_p_values,
    anderson_darling,
    kolmogorov_smirnov,
    kolmogorov_smirnov_pairs,
)
from polarbear.assess.comparisons.samples import Groups, Result, check_choice, read_groups
from polarbear.records import FloatArray
from polarbear.validation import real_number, whole_number

Criterion = Literal["anderson-darling", "kolmogorov-smirnov"]
"""The two-sample test that compares distributions."""
Centre = Literal["mean", "median", "mean rank"]
"""The statistic that orders different distributions; "mean rank" is the mean of a sample's ranks among all runs."""
_AT_ONCE = 25
"""Number of draws tested together, which is fast and takes little memory."""


@dataclass(frozen=True, slots=True, eq=False)
class DeepRanking(Result):
    """Ranks of n algorithms on F functions.

    Attributes:
        names: The n algorithms' names.
        functions: The F functions.
        ranks: (F, n) ranks, 1 is best; algorithms whose distributions do not differ share the mean of their ranks.
        transitive: (F,) whether "not significantly different" was transitive; if not, algorithms are ranked by their
            centres alone.
        adjusted: (F, n, n) adjusted p-values of the pairwise tests, with draws their medians; NaN on the diagonal.
    """

    names: tuple[str, ...]
    functions: tuple[str, ...]
    ranks: FloatArray
    transitive: NDArray[np.bool_]
    adjusted: FloatArray

    @property
    def mean_ranks(self) -> FloatArray:
        """(n,) mean rank of each algorithm over functions."""
        return self.ranks.mean(axis=0)

    def rows(self) -> list[dict[str, Any]]:
        """One row per function: its name and each algorithm's rank."""
        return [
            {"function": function, **dict(zip(self.names, map(float, ranks), strict=True))}
            for function, ranks in zip(self.functions, self.ranks, strict=True)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class DeepComparison(Result):
    """The result of a deep statistical comparison.

    Attributes:
        ranking: Ranks per function.
        omnibus: Test of whether ranks differ between algorithms over functions.
        post_hoc: Comparison with the algorithm of the lowest mean rank; None if the omnibus test does not reject.
    """

    ranking: DeepRanking
    omnibus: Omnibus
    post_hoc: PostHoc | None


def deep_comparison(
    groups: Groups,
    *,
    criterion: Criterion = "anderson-darling",
    centre: Centre = "mean",
    epsilon: float = 0.0,
    draws: int = 0,
    rng: np.random.Generator | None = None,
    alpha: float = 0.05,
) -> DeepComparison:
    """Rank algorithms on each function, test over functions, and compare them with the best.

    The omnibus test is the one whose conditions hold (`omnibus_test` with "auto"); the post hoc test matches it, with
    Holm's correction. Arguments and errors as in `deep_ranking`.
    """
    ranking = deep_ranking(
        groups, criterion=criterion, centre=centre, epsilon=epsilon, draws=draws, rng=rng, alpha=alpha
    )
    omnibus = omnibus_test(ranking.ranks, names=ranking.names, alpha=alpha)
    after = None
    if omnibus.rejected:
        test = "anova" if omnibus.test == "anova" else "friedman"
        after = post_hoc(ranking.ranks, names=ranking.names, test=test, alpha=alpha)
    return DeepComparison(ranking, omnibus, after)


def deep_ranking(
    groups: Groups,
    *,
    criterion: Criterion = "anderson-darling",
    centre: Centre = "mean",
    correction: Correction = "bonferroni",
    epsilon: float = 0.0,
    draws: int = 0,
    rng: np.random.Generator | None = None,
    alpha: float = 0.05,
) -> DeepRanking:
    """Rank algorithms on each function by comparing their distributions.

    On each function all pairs are tested. If "not significantly different" is transitive, it divides the algorithms
    into groups, which are ordered by the mean of their members' centres, and whose members share the mean of their
    ranks. If it is not, algorithms are ranked by their centres.

    Args:
        groups: One number per run for each function (in one dimension) and each algorithm, lower is better.
        criterion: The test that compares distributions: the asymptotic Anderson–Darling or the exact two-sided
            Kolmogorov–Smirnov test.
        centre: The statistic that orders different distributions. The mean, as in the definition, needs finite values.
        correction: The adjustment of p-values on one function; Bonferroni's in the definition.
        epsilon: Largest difference without practical significance: distributions also count as equal if their means (or
            medians) differ by no more; with `draws` it applies to runs.
        draws: Number of times runs are paired at random (practical comparison by Monte Carlo draws). In every draw the
            runs of two algorithms are put in random order and paired, and runs of a pair that differ by at most ε are
            replaced by their mean; the p-value of the two algorithms is the median over draws. Runs without a partner,
            if one sample is longer, keep their values, as failures do.
        rng: The source of randomness of the draws.
        alpha: Probability allowed for any false difference on one function.

    Raises:
        ValueError: If samples are invalid, an option is unknown or out of range, or a mean or median is infinite; or if
            there are draws without `rng` or ε.
    """
    if real_number(epsilon, "epsilon", ge=0) and centre == "mean rank" and not draws:
        raise ValueError(
            f'epsilon is {epsilon:g}, in units of the values, not of ranks; set centre to "mean" or "median", or draws'
        )
    if whole_number(draws, "draws", ge=0) and not epsilon:
        raise ValueError(
            f"draws is {draws} but epsilon is 0, so no runs would be merged; set epsilon above 0, or draws to 0"
        )
    if draws and rng is None:
        raise ValueError(f"draws is {draws} but rng is not given; give one, such as numpy.random.default_rng(1)")
    check_choice(criterion, Criterion, "criterion")
    by_function: list[tuple[FloatArray, bool, FloatArray]] = []
    for function, samples in read_groups(groups).items():
        if rng is not None and draws:
            p_values = _over_draws(list(samples.values()), criterion, epsilon, draws, rng, correction)
        elif criterion == "anderson-darling":
            p_values = anderson_darling(samples, correction=correction, alpha=alpha).adjusted
        else:
            tests = kolmogorov_smirnov(samples, alternative="two-sided", correction=correction, alpha=alpha)
            p_values = tests.adjusted
        alike = np.isnan(p_values) | (p_values > alpha)
        centres = _centres(list(samples.values()), centre, function)
        if epsilon and not draws:
            alike |= np.abs(np.subtract.outer(centres, centres)) <= epsilon
        by_function.append((*ranks_from_likeness(alike, centres), p_values))
    ranks, transitive, adjusted = (np.array(column) for column in zip(*by_function, strict=True))
    return DeepRanking(tuple(next(iter(groups.values()))), tuple(groups), ranks, transitive, adjusted)


Tree: TypeAlias = tuple[tuple[tuple[float, float], tuple[float, float, float]], ...]
"""Brackets of a tree: positions of both legs; heights of the first leg's foot, the bar and the second leg's foot."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusteredRanks(Result):
    """Ranks of n algorithms on F functions, with similar ones next to each other.

    Attributes:
        names: The n algorithms' names, in the order of the tree.
        functions: The F functions, in the order of the tree.
        ranks: (n, F) ranks, 1 is best.
        name_tree: The tree of the algorithms.
        function_tree: The tree of the functions.
    """

    names: tuple[str, ...]
    functions: tuple[str, ...]
    ranks: FloatArray
    name_tree: Tree
    function_tree: Tree


def cluster_ranks(ranking: DeepRanking) -> ClusteredRanks:
    """Order algorithms and functions by the similarity of their ranks (average linkage of Euclidean distances).

    After PerformViz: Eftimov, Hribar and Korošec (2020), A visualization tool for the comparison of optimization
    algorithms. Trees come from `scipy.cluster.hierarchy`, with neighbours as close as the tree allows.
    """
    rows, name_tree = _clustered(ranking.ranks.T)
    columns, function_tree = _clustered(ranking.ranks)
    return ClusteredRanks(
        tuple(ranking.names[i] for i in rows),
        tuple(ranking.functions[i] for i in columns),
        ranking.ranks.T[np.ix_(rows, columns)],
        name_tree,
        function_tree,
    )


def _clustered(items: FloatArray) -> tuple[list[int], Tree]:
    """The order of the leaves, and the tree."""
    from scipy.cluster import hierarchy

    if len(items) < 2:
        return list(range(len(items))), ()
    linkage = hierarchy.linkage(items, "average", optimal_ordering=True)
    leaves: list[int] = hierarchy.leaves_list(linkage).tolist()
    nodes = {leaf: (float(position), 0.0) for position, leaf in enumerate(leaves)}
    tree: list[tuple[tuple[float, float], tuple[float, float, float]]] = []
    for number, (first, second, height, _) in enumerate(linkage.tolist(), len(items)):
        (left, left_height), (right, right_height) = sorted((nodes[int(first)], nodes[int(second)]))
        tree.append(((left, right), (left_height, height, right_height)))
        nodes[number] = (left + right) / 2, height
    return leaves, tuple(tree)


def _over_draws(
    runs: list[FloatArray],
    criterion: Criterion,
    epsilon: float,
    draws: int,
    rng: np.random.Generator,
    correction: Correction,
) -> FloatArray:
    """(n, n) adjusted median p-values of tests in which randomly paired runs within ε are made equal."""
    first, second = np.triu_indices(len(runs), 1)
    p_values = np.empty((first.size, draws))
    for row, pair in zip(p_values, zip(first.tolist(), second.tolist(), strict=True), strict=True):
        one, other = (rng.permuted(np.tile(runs[each], (draws, 1)), axis=1) for each in pair)
        paired = min(one.shape[1], other.shape[1])
        left, right = one[:, :paired], other[:, :paired]
        near = np.isfinite(left) & np.isfinite(right)
        near[near] = np.abs(left[near] - right[near]) <= epsilon
        left[near] = right[near] = (left[near] + right[near]) / 2
        for start in range(0, draws, _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            row[part] = _tested_in_turn([*one[part]], [*other[part]], criterion)
    adjusted = np.full((len(runs), len(runs)), np.nan)
    adjusted[first, second] = adjust_p_values(np.median(p_values, axis=1), correction=correction)
    adjusted[second, first] = adjusted[first, second]
    return adjusted


def _tested_in_turn(ones: list[FloatArray], others: list[FloatArray], criterion: Criterion) -> FloatArray:
    """p-values of each of `ones` against the corresponding one of `others`."""
    samples, first = [*ones, *others], np.arange(len(ones), dtype=np.int64)
    second = first + len(ones)
    if criterion == "anderson-darling":
        return anderson_darling_pairs(samples, first, second)[1]
    named = {str(place): sample for place, sample in enumerate(samples)}
    return kolmogorov_smirnov_pairs(named, first, second, "two-sided", "exact")[:, 2]


def ranks_from_likeness(alike: ArrayLike, centres: ArrayLike) -> tuple[FloatArray, bool]:
    """The ranks of algorithms on one function, and whether `alike` is transitive (equations 2 and 5 to 9).

    Args:
        alike: (n, n) symmetric bool, whether two distributions do not differ significantly; true on the diagonal.
        centres: (n,) statistics that order distributions, lower is better.
    """
    same, middle = np.asarray(alike, dtype=bool), floats(centres)
    transitive = not ((same @ same) & ~same).any()
    if transitive:
        middle = (same @ middle) / same.sum(axis=1)
        middle = middle[same.argmax(axis=1)]  # the first member's value for all, in spite of rounding errors
    return _ranks(middle), transitive


def _ranks(values: FloatArray) -> FloatArray:
    from scipy.stats import rankdata  # slow to import

    return floats(rankdata(values))


def _centres(runs: list[FloatArray], centre: Centre, function: str) -> FloatArray:
    if centre == "mean rank":
        ranks = np.split(_ranks(np.concatenate(runs)), np.cumsum([run.size for run in runs])[:-1])
        return np.array([rank.mean() for rank in ranks])
    check_choice(centre, Centre, "centre")
    centres = np.array([run.mean() if centre == "mean" else np.median(run) for run in runs])
    if np.isinf(centres).any():
        raise ValueError(
            f'runs failed on {function}, so a {centre} is infinite; use centre="mean rank", or replace inf by a '
            "penalty (such as 10 times the budget)"
        )
    return centres

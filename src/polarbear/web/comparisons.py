"""Comparisons of algorithms: pairwise tests, ratings, rankings, and contributions to a portfolio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, get_args

import numpy as np

from polarbear import figures
from polarbear.analyzer.assessment import charts
from polarbear.assess import Contributions, DeepRanking, DynamicVirtualBest, cluster_ranks, deep_ranking, omnibus_test
from polarbear.assess import post_hoc as differences
from polarbear.assess.report import Assessment, Cell, Comparison, compare, switching_data, switching_in_words
from polarbear.assess.report import switching as find_switching
from polarbear.assess.report.comparison import TESTS
from polarbear.assess.report.data import Data
from polarbear.assess.runtimes import Misses
from polarbear.descriptions import listed
from polarbear.figures import Figure
from polarbear.web.kind import Dimension, Number, Problem, Shown, alone, cell_of, kept, one_of, view, within

_MEASURES = ("area over the curve", "values at a budget", "runtimes to a target")
Measure = Annotated[str, one_of("compared", *_MEASURES)]
At = Annotated[float, Number("budget or target", 0, 1e15, 100)]
Switches = Annotated[float, Number("maximum number of switches", 1, 10, 1, whole=True)]
Largest = Annotated[float, Number("largest portfolio (0: all algorithms)", 0, 64, 0, whole=True)]
OmnibusTest = Annotated[str, one_of("test", "auto", "friedman", "aligned ranks", "quade", "anova", "wilcoxon")]
PostHocTest = Annotated[str, one_of("test", "friedman", "aligned ranks", "quade", "anova")]
Corrected = Annotated[str, one_of("correction", "holm", "hochberg", "bonferroni", "none")]
Epsilon = Annotated[float, Number("practical difference ε", 0, 1e15, 0)]
Draws = Annotated[float, Number("draws of ε on pairs of runs (0: ε on medians)", 0, 1000, 0, whole=True)]
Missed = Annotated[str, one_of("missed targets count as", *get_args(Misses))]
PairTest = Annotated[str, one_of("test", *TESTS)]
Criterion = Annotated[str, one_of("distributions compared by", "anderson-darling", "kolmogorov-smirnov")]
Alpha = Annotated[float, Number("level α", 0.0001, 0.5, 0.05)]


@view("comparisons", "Tests of pairs")
def pair_tests(
    assessment: Assessment, problem: Problem, compared: Measure, at: At, test: PairTest, correction: Corrected
) -> Shown:
    """Corrected p-values of all pairs on one problem: small where the row is better than the column."""
    comparison = _compare_on(assessment, problem, compared, at, test=test, correction=correction)
    tests = comparison.tests[problem]
    return _shown("tests", tests.rows(), figures.p_values(tests), comparison, problem)


@view("comparisons", "Order of algorithms")
def order(
    assessment: Assessment,
    problem: Problem,
    compared: Measure,
    at: At,
    test: PairTest,
    correction: Corrected,
    alpha: Alpha,
) -> Shown:
    """Which algorithms are significantly better than which others on one problem."""
    comparison = _compare_on(assessment, problem, compared, at, test=test, correction=correction, alpha=alpha)
    partial = comparison.orders[problem]
    layers = [
        [name for name, level in zip(partial.names, partial.levels.tolist(), strict=True) if level == depth]
        for depth in range(int(partial.levels.max()) + 1)
    ]
    arrows = [(row["better"], row["worse"]) for row in partial.rows()]
    drawn = figures.partial_order(layers, arrows, order=partial.names, alpha=comparison.alpha)
    return _shown("order", partial.rows(), drawn, comparison, problem)


@view("comparisons", "Wins over problems")
def wins(
    assessment: Assessment, compared: Measure, at: At, test: PairTest, correction: Corrected, alpha: Alpha
) -> Shown:
    """Number of problems on which the row is significantly better than the column."""
    comparison = _compare(assessment, compared, at, test=test, correction=correction, alpha=alpha)
    names = comparison.algorithms
    drawn = figures.heat_map(
        comparison.wins,
        names,
        names,
        label="problems won",
        numbers=f"Number of problems (out of {len(comparison.cells)}) on which the row significantly beats the column",
        form=lambda count: f"{count:g}",
    )
    rows = [dict(zip(("better", *names), row, strict=True)) for row in charts.labelled(names, comparison.wins)]
    return _shown("wins", rows, drawn, comparison)


@view("comparisons", "Glicko-2 ratings")
def glicko(assessment: Assessment, compared: Measure, at: At) -> Shown:
    """Ratings from games between runs, with their deviations."""
    comparison = _compare(assessment, compared, at)
    drawn = figures.rating_candlesticks(comparison.ratings, order=comparison.algorithms)
    return _shown("glicko", comparison.ratings.rows(), drawn, comparison)


@view("comparisons", "Deep statistical comparison")
def deep(
    assessment: Assessment,
    compared: Measure,
    at: At,
    misses: Missed,
    epsilon: Epsilon,
    draws: Draws,
    criterion: Criterion,
    alpha: Alpha,
) -> Shown:
    """Ranks from comparing distributions, with similar algorithms and problems side by side (PerformViz)."""
    comparison = _compare(assessment, compared, at, misses)
    ranking = _deep_on_several(comparison, epsilon, int(draws), criterion, alpha)
    return _shown("deep", ranking.rows(), figures.clustered_ranks(cluster_ranks(ranking)), comparison)


@view("comparisons", "Omnibus test")
def omnibus(
    assessment: Assessment,
    compared: Measure,
    at: At,
    misses: Missed,
    epsilon: Epsilon,
    draws: Draws,
    criterion: Criterion,
    test: OmnibusTest,
    alpha: Alpha,
) -> Shown:
    """Whether the algorithms differ across problems, by their ranks in the deep statistical comparison."""
    comparison = _compare(assessment, compared, at, misses)
    ranking = _deep_on_several(comparison, epsilon, int(draws), criterion, alpha)
    result = omnibus_test(ranking.ranks, names=ranking.names, test=test, alpha=alpha)  # pyright: ignore[reportArgumentType]
    differ = "differ" if result.rejected else "do not differ significantly"
    text = (
        f"Over {len(ranking.functions)} problems the algorithms {differ}: {result.test}, statistic "
        f"{result.statistic:.4g}, p = {result.p_value:.3g}, level {result.alpha:g}."
    )
    rows = zip(result.names, result.means, result.normality, strict=True)
    return Shown(Data.of("omnibus", ("algorithm", "mean rank", "p of normality"), rows), text=text)


@view("comparisons", "Post-hoc comparison")
def post_hoc(
    assessment: Assessment,
    compared: Measure,
    at: At,
    misses: Missed,
    epsilon: Epsilon,
    draws: Draws,
    criterion: Criterion,
    test: PostHocTest,
    correction: Corrected,
    alpha: Alpha,
) -> Shown:
    """Which algorithms differ from the one with the lowest mean rank in the deep statistical comparison."""
    comparison = _compare(assessment, compared, at, misses)
    ranking = _deep_on_several(comparison, epsilon, int(draws), criterion, alpha)
    how: dict[str, Any] = {"test": test, "correction": correction, "alpha": alpha}
    result = differences(ranking.ranks, names=ranking.names, **how)
    rows = result.rows()
    worse = [row["algorithm"] for row in rows if row["different"]]
    others = listed(worse) if worse else "no other"
    said = f"{result.control} differs significantly from {others} (level {result.alpha:g})."
    return Shown(Data.of("post-hoc", tuple(rows[0]), (row.values() for row in rows)), text=said)


@view("comparisons", "Robust ranking over time")
def robust_ranks(assessment: Assessment) -> Shown:
    """Bootstrap ranking at each budget by the mean share of the way to the best value, with its uncertainty."""
    comparison = _compare(assessment, _MEASURES[0])
    drawn = figures.robust_ranks_over_time(comparison.ranking, order=comparison.algorithms)
    return _shown("robust-ranks", comparison.ranking.rows(), drawn)


@view("comparisons", "Contributions to a portfolio")
def portfolio(assessment: Assessment, largest: Largest) -> Shown:
    """What each algorithm adds to the runtime distribution of a portfolio of all: alone, as the last, Shapley value."""
    comparison = _compare(assessment, _MEASURES[0])
    contributions = _portfolio(assessment, int(largest)) if largest else comparison.contributions
    drawn = figures.contributions(contributions, order=comparison.algorithms)
    return _shown("contributions", contributions.rows(), drawn)


@view("comparisons", "Switching between algorithms")
def switching(assessment: Assessment, dimension: Dimension, most: Switches) -> Shown:
    """What switching at a target would gain on each problem, and how much of it holds on held-out runs."""
    found = _switching(within(assessment, dimension), int(most))
    return Shown(switching_data(found), text=switching_in_words(found))


@view("comparisons", "Pairs of a switch")
def switch_pairs(assessment: Assessment, problem: Problem) -> Shown:
    """Expected runtime on one problem if the row starts and switches to the column at the best target."""
    (best,) = find_switching(alone(assessment, problem), held_out=False).values()
    drawn = figures.heat_map(
        best.pairs,
        best.names,
        best.names,
        label="ERT",
        numbers=f"Expected runtimes on {problem} with one switch, at the best target, from the row to the column",
        best="lowest",
        spacing="log",
        row_label="first",
        column_label="second",
    )
    rows = [dict(zip(("first", *best.names), row, strict=True)) for row in charts.labelled(best.names, best.pairs)]
    return replace(_shown("pairs", rows, drawn, problem=problem), text=f"Best: {best.policy}.")


def _compare_on(assessment: Assessment, problem: str, compared: str, at: float, **how: Any) -> Comparison:
    """The comparison on a single problem, which takes less time than on all.

    Raises:
        ValueError: If an algorithm did not run on the problem.
    """
    ran = cell_of(assessment, problem).trials
    if missing := [name for name in assessment.subject.algorithms if name not in ran]:
        raise ValueError(f"{missing[0]} did not run on {problem}; choose a problem that all algorithms ran on")
    return _compare(alone(assessment, problem), compared, at, **how)


def _compare(assessment: Assessment, compared: str, at: float = 0, misses: str = "last", **how: Any) -> Comparison:
    """A comparison, parts of which several views show; `how` are options of `compare`, `misses` where runs may fail."""
    if compared == "values at a budget":
        return _comparison(assessment, budget=at, **how)
    given: dict[str, Any] = {"target": at, "misses": misses} if compared == "runtimes to a target" else {}
    return _comparison(assessment, **given, **how)


def _deep_on_several(comparison: Comparison, epsilon: float, draws: int, criterion: str, alpha: float) -> DeepRanking:
    """The ranks of a deep statistical comparison.

    Raises:
        ValueError: If all algorithms ran on a single problem only.
    """
    if len(comparison.cells) < 2:
        raise ValueError("only one problem was run by all algorithms; a deep statistical comparison needs at least two")
    return _deep_ranking(comparison, epsilon, draws, criterion, alpha)


_comparison = kept(compare)


@kept
def _deep_ranking(comparison: Comparison, epsilon: float, draws: int, criterion: Any, alpha: float) -> DeepRanking:
    """If differences of centres count only beyond ε, medians determine the order, since mean ranks have no unit."""
    return deep_ranking(
        comparison.samples,
        criterion=criterion,
        centre="median" if epsilon and not draws else "mean rank",
        epsilon=epsilon,
        draws=draws,
        rng=np.random.default_rng(comparison.seed),
        alpha=alpha,
    )


@kept
def _portfolio(assessment: Assessment, largest: int) -> Contributions:
    return _compare(assessment, _MEASURES[0]).portfolio(largest)


@kept
def _switching(assessment: Assessment, switches: int) -> dict[Cell, DynamicVirtualBest]:
    return find_switching(assessment, switches=switches)


def _shown(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    drawn: Figure,
    comparison: Comparison | None = None,
    problem: str = "all problems",
) -> Shown:
    columns = tuple(rows[0]) if rows else ()
    where = next((cell.title for cell in comparison.cells if cell.name == problem), problem) if comparison else problem
    shown = charts.exhibit(drawn, f"{name} {problem}", columns, (row.values() for row in rows), where)
    return Shown(shown.data, shown.figure, f"Compared: {comparison.measure}." if comparison else "")

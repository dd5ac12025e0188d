"""Captions of charts that compare algorithms: by statistics, across functions, in pairs; see `captions`."""

from __future__ import annotations

from typing import Literal

from polarbear.figures.sentences import drawn, markers
from polarbear.figures.style import CROWD
from polarbear.quantities import plural


def across_columns(algorithms: int, label: str, column: str) -> str:
    """Caption of `across_columns` for numbers by function, dimension or another column."""
    return (
        f"The {label} by {column}: a dot for each algorithm and {column}; lines only join the dots of one algorithm. "
        "Where there is no dot, the number is not known or infinite." + markers(algorithms)
    )


def clustered_ranks(algorithms: int, functions: int) -> str:
    """Caption of `clustered_ranks`."""
    return (
        f"The ranks of {plural(algorithms, 'algorithm')} on {plural(functions, 'function')} by their whole "
        "distributions (deep statistical comparison): the darker, the better; algorithms that do not differ "
        "significantly share a rank. Rows and columns with alike ranks stand side by side: the trees join them, the "
        "sooner the more alike they are (average linkage)."
    )


def contributions(whole: float, *, sampled: bool = False, group_size: int | None = None) -> str:
    """Caption of `contributions` to a portfolio that attains `whole`; `sampled`: whether orders were sampled."""
    joining = f"as one of the first {group_size}" if group_size else "in any order"
    return (
        "What each algorithm contributes to the area below the attainment curve of the portfolio of all, which is "
        f"{whole:.3f}. The bar, with its number at the right, is the Shapley value: what the algorithm adds on average "
        f"when algorithms join {joining}."
        + (
            " The line at its end reaches two standard errors to both sides, since orders were sampled."
            if sampled
            else ""
        )
        + " The diamond is the marginal contribution, what the portfolio loses without the algorithm; the circle is "
        "what the algorithm attains alone."
    )


def cumulative_difference(first: str, second: str, *, better: float, level: float) -> str:
    """Caption of `cumulative_difference`; `better`: probability that the first of the two algorithms is better."""
    return (
        "All results of both algorithms are put in one order, from the best at the left to the worst. The line is the "
        f"share of the results of {first} that are among the best so many, less that of the results of {second}. Where "
        f"it rises, there are more results of {first}; where it falls, more of {second}. A line that stays on one side "
        "of zero says that one algorithm is at least as good at every level (stochastic dominance); one that crosses "
        "zero, that one has the better good results and the other the better poor ones. The grey band is the "
        f"{level:.0%} bootstrap interval at each rank by itself. The coloured area tells the probability that a run of "
        f"{first} beats one of {second}, ties counting half: {better:.1%}."
    )


def final_positions(algorithms: int, *, scaled: bool) -> str:
    """Caption of `final_positions`; `scaled`: whether coordinates are scaled to the domain."""
    return (
        "The final points of the runs as parallel coordinates: each thin line is the point of one run, and its height "
        "at a coordinate is where it lies along it"
        + (", from 0, the lower bound of the domain, to 1, the upper" if scaled else "")
        + ". On a function without structure lines fill the area evenly; bundles at an edge or at the centre are signs "
        "of structural bias." + markers(algorithms)
    )


def fixed_budget_curves(algorithms: int, statistic: str, *, band: str = "", runs: bool = False) -> str:
    """Caption of `fixed_budget_curves`; `band`: what bands show; `runs`: whether single runs are drawn."""
    return f"The {statistic} of the best values so far over the budget." + drawn(algorithms, band, runs)


def fixed_target_curves(
    algorithms: int, statistic: str, *, band: str = "", runs: bool = False, budgets: bool = False
) -> str:
    """Caption of `fixed_target_curves`, as for `fixed_budget_curves`; `budgets`: whether budgets are shown."""
    return (
        f"The {statistic} of the runtimes to a target, from easy to hard targets."
        + drawn(algorithms, band, runs)
        + (" Level dashed lines are the budgets that the algorithms had." if budgets else "")
    )


def grid(panels: int, caption: str) -> str:
    """Caption of `grid`, made from the caption of a single panel."""
    return f"{plural(panels, 'panel')}, each with a title of its own; colours are the same in all. In each: {caption}"


def histograms(algorithms: int, value: str) -> str:
    """Caption of `histograms` of a value."""
    return (
        f"How many runs have a {value} within each bin. All algorithms have the same bins; where columns overlap, "
        "their colours mix, and their outlines tell them apart." + markers(algorithms)
    )


def p_values(test: str, correction: str, *, alpha: float, one_sided: bool) -> str:
    """Caption of `p_values` of a pairwise test."""
    question = "the algorithm of the row tends to lower values" if one_sided else "the two algorithms differ"
    adjusted = (
        "not corrected for their number" if correction == "none" else f"corrected for their number ({correction})"
    )
    return (
        f"P-values of the {test} test of every pair, {adjusted}: the smaller, and the darker the cell, the surer it is "
        f"that {question}. Bold: at level {alpha:g} the row is significantly better than the column. The diagonal is "
        "hatched."
    )


def radar(algorithms: int, label: str, column: str, *, best: Literal["lowest", "highest"]) -> str:
    """Caption of `radar` for numbers by function, dimension or another column."""
    return (
        f"The {label} by {column}: on each spoke a dot lies the further out, the better; {best} is best, and the rings "
        "have the numbers beside the first spoke. A dot at the centre has no number or an infinite one. The area "
        f"within a line depends on the order in which each {column} stands, and means nothing." + markers(algorithms)
    )


def rank_chart(algorithms: int, column: str) -> str:
    """Caption of `rank_chart` by function, dimension or way of ranking."""
    return (
        f"The rank of each algorithm by {column}, 1, the best, on top. Lines join the ranks of one algorithm: where "
        "two cross, their order changes." + markers(algorithms)
    )


def rating_candlesticks(games: int) -> str:
    """Caption of `rating_candlesticks` after this many games."""
    return (
        f"Glicko-2 ratings after {plural(games, 'game')} between random runs, best on top. The dot, with its number at "
        "the right, is the rating; the thick line reaches one deviation to both sides, the thin line two, a 95% "
        "interval. The dotted rule is the rating with which everybody began."
    )


def robust_ranks_over_time(algorithms: int, statistic: str, *, alpha: float) -> str:
    """Caption of `robust_ranks_over_time` of a statistic over instances."""
    return (
        f"The rank of each algorithm by its {statistic} over the instances, 1, the best, on top, as it changes when "
        "instances are drawn anew (bootstrap). Lines are expected ranks"
        + (", bands reach over the ranks taken in 95% of the samples" if algorithms <= CROWD else "")
        + f". Dots mark the best group: the leader, and those whom it does not beat significantly at level {alpha:g}."
        + markers(algorithms)
    )


def runtime_densities(target: str, *, histogram: bool = False, runs: bool = False) -> str:
    """Caption of `runtime_densities` to a target such as ``"precision 1e-8"``."""
    return (
        f"How the runtimes to {target} are distributed over the runs that reached it: "
        + ("bars of their number" if histogram else "their density")
        + ", on the same scale in every row."
        + (" Upright strokes are the runtimes of the single runs." if runs else "")
    )


def structural_bias(runs: int, biased: bool) -> str:
    """Caption of `structural_bias` for this many runs; `biased`: whether a test that counts rejects."""
    return (
        f"Above: where {plural(runs, 'run')} ended in each variable, from its lower bound, 0, to its upper one, 1; "
        "dots are moved to the sides so that none hides another. On random values, runs of an optimizer without "
        "preferences "
        "end anywhere alike. Below: the tests that reject that a variable is uniform, corrected for the number of "
        "variables."
        + (
            " Dark: rejections by tests that reject in a tenth of the variables or more, and so count; orange dots are "
            "those of their variables. Pale: by tests that do not count."
            if biased
            else " None counts."
        )
    )

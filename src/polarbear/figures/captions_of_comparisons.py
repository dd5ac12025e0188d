"""Captions of charts that compare algorithms: by statistics, across functions, in pairs; see `captions`."""

from __future__ import annotations

from typing import Literal

from polarbear.figures.sentences import drawn, markers
from polarbear.figures.style import CROWD
from polarbear.quantities import plural


def across_columns(algorithms: int, label: str, column: str) -> str:
    """Caption of `across_columns` for numbers by function, dimension or another column."""
    return (
        f"The {label} by {column}: one dot per algorithm and {column}; lines merely join the dots of an algorithm. "
        "Where there is no dot, the number is unknown or infinite." + markers(algorithms)
    )


def clustered_ranks(algorithms: int, functions: int) -> str:
    """Caption of `clustered_ranks`."""
    return (
        f"The ranks of {plural(algorithms, 'algorithm')} on {plural(functions, 'function')} by whole distributions of "
        "results (deep statistical comparison): the darker, the better; algorithms that do not differ significantly "
        "share a rank. Rows and columns with similar ranks stand side by side; the more similar they are, the sooner "
        "the trees join them (average linkage)."
    )


def contributions(whole: float, *, sampled: bool = False, group_size: int | None = None) -> str:
    """Caption of `contributions` to a portfolio that attains `whole`; `sampled`: whether orders were sampled."""
    first = "the first" if group_size == 1 else f"one of the first {group_size}"
    joining = f"when it is {first} to join" if group_size else "over all orders of joining"
    return (
        "What each algorithm contributes to the area under the attainment curve of the portfolio of all algorithms, "
        f"which is {whole:.3f}. The bar, with its number at the right, is the Shapley value: what the algorithm adds "
        f"on average {joining}."
        + (
            " The line at its end extends two standard errors to either side, since orders were sampled."
            if sampled
            else ""
        )
        + " The diamond is the marginal contribution, what the portfolio loses without the algorithm; the circle is "
        "what the algorithm attains alone."
    )


def cumulative_difference(first: str, second: str, *, better: float, level: float) -> str:
    """Caption of `cumulative_difference`; `better`: probability that the first of the two algorithms is better."""
    return (
        "The results of both algorithms are pooled and ordered, from the best at the left to the worst. The line is "
        f"the share of the results of {first} up to that rank, minus the share of those of {second}. Where it rises, "
        f"there are more results of {first}; where it falls, more of {second}. If it stays on one side of zero, one "
        "algorithm is at least as good at every level (stochastic dominance); if it crosses zero, one algorithm has "
        f"the better good results and the other the better poor ones. The grey band is the pointwise {level:.0%} "
        f"bootstrap interval. The coloured area reflects the probability that a run of {first} beats one of {second}, "
        f"ties counting half: {better:.1%}."
    )


def final_positions(algorithms: int, *, scaled: bool) -> str:
    """Caption of `final_positions`; `scaled`: whether coordinates are scaled to the domain."""
    return (
        "The final points of the runs in parallel coordinates: each thin line is the final point of a run, and its "
        "height at a coordinate is the value of that coordinate"
        + (", scaled from 0, the lower bound of the domain, to 1, the upper bound" if scaled else "")
        + ". On a function without structure, lines fill the area evenly; bundles at an edge or at the centre are "
        "signs of structural bias." + markers(algorithms)
    )


def fixed_budget_curves(algorithms: int, statistic: str, *, band: str = "", runs: bool = False) -> str:
    """Caption of `fixed_budget_curves`; `band`: what bands show; `runs`: whether single runs are drawn."""
    return f"The best values so far over the budget; lines show the {statistic}." + drawn(algorithms, band, runs)


def fixed_target_curves(
    algorithms: int, statistic: str, *, band: str = "", runs: bool = False, budgets: bool = False
) -> str:
    """Caption of `fixed_target_curves`, as for `fixed_budget_curves`; `budgets`: whether budgets are shown."""
    return (
        f"The runtimes to a target, from easy to hard; lines show the {statistic}."
        + drawn(algorithms, band, runs)
        + (" Horizontal dashed lines are the budgets of the algorithms." if budgets else "")
    )


def grid(panels: int, caption: str) -> str:
    """Caption of `grid`, made from the caption of a single panel."""
    return f"{plural(panels, 'panel')}, each with its own title; colours are the same in all. In each panel: {caption}"


def histograms(algorithms: int, value: str) -> str:
    """Caption of `histograms` of a value."""
    return (
        f"The number of runs with a {value} in each bin. All algorithms have the same bins; where columns overlap, "
        "their colours mix and their outlines tell them apart." + markers(algorithms)
    )


def p_values(test: str, correction: str, *, alpha: float, one_sided: bool) -> str:
    """Caption of `p_values` of a pairwise test."""
    question = "the algorithm of the row tends to have lower values" if one_sided else "the two algorithms differ"
    adjusted = "not corrected" if correction == "none" else f"{correction.capitalize()}-corrected"
    return (
        f"P-values of the {test} test of every pair, {adjusted} for multiple testing: the smaller the p-value, and the "
        f"darker the cell, the stronger the evidence that {question}. Bold: the row is significantly better than the "
        f"column at level {alpha:g}. The diagonal is hatched."
    )


def radar(algorithms: int, label: str, column: str, *, best: Literal["lowest", "highest"]) -> str:
    """Caption of `radar` for numbers by function, dimension or another column."""
    return (
        f"The {label} by {column}: the better the number, the further out the dot on its spoke. The {best} number is "
        "the best; the rings are labelled along the first spoke. A dot at the centre has an unknown or infinite "
        "number. The area within a line depends on the order of the spokes, and has no meaning." + markers(algorithms)
    )


def rank_chart(algorithms: int, column: str) -> str:
    """Caption of `rank_chart` by function, dimension or way of ranking."""
    return (
        f"The rank of each algorithm by {column}; rank 1, the best, is at the top. Lines join the ranks of an "
        "algorithm: where two cross, their order changes." + markers(algorithms)
    )


def rating_candlesticks(games: int) -> str:
    """Caption of `rating_candlesticks` after this many games."""
    return (
        f"Glicko-2 ratings after {plural(games, 'game')} between random runs, the best at the top. The dot, with its "
        "number at the right, is the rating; the thick line extends one deviation to either side, the thin line two, a "
        "95% interval. The dotted line is the initial rating of every algorithm."
    )


def robust_ranks_over_time(algorithms: int, statistic: str, *, alpha: float) -> str:
    """Caption of `robust_ranks_over_time` of a statistic over instances."""
    return (
        f"The rank of each algorithm by its {statistic} over the instances, as instances are resampled (bootstrap); "
        "rank 1, the best, is at the top. Lines are expected ranks"
        + ("; bands span the ranks taken in 95% of the samples" if algorithms <= CROWD else "")
        + f". Dots mark the best group: the leader and those not significantly worse at level {alpha:g}."
        + markers(algorithms)
    )


def runtime_densities(target: str, *, histogram: bool = False, runs: bool = False) -> str:
    """Caption of `runtime_densities` to a target such as ``"precision 1e-8"``."""
    return (
        f"The distribution of the runtimes to {target} over the runs that reached it, as a "
        + ("histogram" if histogram else "density")
        + " on the same scale in every row."
        + (" Vertical strokes are the runtimes of single runs." if runs else "")
    )


def structural_bias(runs: int, biased: bool) -> str:
    """Caption of `structural_bias` for this many runs; `biased`: whether a test that counts rejects."""
    return (
        f"Above: the final points of {plural(runs, 'run')} in each variable, from its lower bound, 0, to its upper "
        "bound, 1; dots are shifted sideways so that none hides another. On random values, the final points of an "
        "unbiased optimizer are uniformly distributed. Below: the tests that reject uniformity of a variable, "
        "corrected for the number of variables."
        + (
            " Dark: rejections by tests that count, because they reject in at least a tenth of the variables; dots in "
            "these variables are orange. Pale: rejections by tests that do not count."
            if biased
            else " No test counts."
        )
    )

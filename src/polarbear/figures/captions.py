"""Captions that say what every mark of a figure means, one function per figure and of the same name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from polarbear.descriptions import listed
from polarbear.figures.captions_of_attainment import target_sensitivity, vorobev_expectation
from polarbear.figures.captions_of_comparisons import (
    across_columns,
    clustered_ranks,
    contributions,
    cumulative_difference,
    final_positions,
    fixed_budget_curves,
    fixed_target_curves,
    grid,
    histograms,
    p_values,
    radar,
    rank_chart,
    rating_candlesticks,
    robust_ranks_over_time,
    runtime_densities,
    structural_bias,
)
from polarbear.figures.captions_of_modules import (
    effects_over_time,
    initial_gains,
    module_importance,
    parallel_coordinates,
)
from polarbear.figures.sentences import grey_lines, markers, quantiles
from polarbear.figures.style import CROWD, QUARTILES
from polarbear.quantities import plural

__all__ = [
    "across_columns",
    "allocation",
    "attainment",
    "attainment_difference",
    "attainment_ecdf",
    "clustered_ranks",
    "contributions",
    "convergence",
    "cumulative_difference",
    "data_profiles",
    "dominance_over_rounds",
    "effects_over_time",
    "embedding",
    "ert_over_dimension",
    "ert_over_targets",
    "final_positions",
    "fixed_budget_curves",
    "fixed_target_curves",
    "grid",
    "heat_map",
    "histograms",
    "initial_gains",
    "mean_landscapes",
    "module_importance",
    "optima",
    "p_values",
    "parallel_coordinates",
    "parameter_over_targets",
    "parameter_over_time",
    "partial_order",
    "performance_profiles",
    "preference_values",
    "radar",
    "rank_chart",
    "rating_candlesticks",
    "rating_over_rounds",
    "rating_over_time",
    "recovery",
    "relations_over_time",
    "robust_ranks_over_time",
    "runtime_densities",
    "runtime_distributions",
    "structural_bias",
    "target_sensitivity",
    "value_densities",
    "value_distributions",
    "vorobev_expectation",
]

_UNKNOWN = " Hatched: unknown, because runs were stopped earlier."


def allocation(axis: str) -> str:
    """Caption of `allocation` for budgets in "evaluations" or "seconds"."""
    return (
        f"One bar per algorithm along the budget in {axis}. The shade, and the number where there is room for it, is "
        "the number of problem instances on which the algorithm was observed at that budget. A bar gets paler to the "
        "right where later runs were stopped early because late budgets were already decided. At the right are the "
        "evaluations that each algorithm spent and their share of the total. Members of the Pareto set come first, in "
        "bold; algorithms that are out (×) follow: the eliminated ones, latest first, then the withdrawn ones."
    )


def attainment(*, lines: Sequence[float] = QUARTILES, unknown: bool = False) -> str:
    """Caption of `attainment` with contours at the shares `lines`; `unknown`: whether some regions are unknown."""
    percents = listed(f"{100 * line:g}%" for line in lines)
    bound = "The line bounds the region" if len(lines) == 1 else "Lines bound the regions"
    return (
        "The empirical attainment function: the shade at a point is the share of the runs that found a value at least "
        "as good within that budget; regions that no run attained are white."
        + (f" {bound} attained by {percents} of the runs." if lines else "")
        + (_UNKNOWN if unknown else "")
    )


def part_of_runs(share: float) -> str:
    """A share of the runs, in words."""
    return "half" if share == 0.5 else f"{100 * share:g}%"


def attainment_difference(first: str, second: str, *, unknown: bool = False, level: float | None = None) -> str:
    """Caption of `attainment_difference`; `unknown`: whether some regions are; `level`: share of the lines, if any."""
    return (
        f"The difference between the empirical attainment functions of {first} and {second}. The colour at a point is "
        "that of the algorithm with the larger share of runs that found a value at least as good within that budget; "
        "the larger the difference of the two shares, the darker. White: no difference."
        + ("" if level is None else f" Lines show the value attained by {part_of_runs(level)} of the runs: ")
        + ("" if level is None else f"{first} solid, {second} dashed.")
        + (_UNKNOWN if unknown else "")
    )


def attainment_ecdf(algorithms: int, *, area: bool = True, level: float | None = None) -> str:
    """Caption of `attainment_ecdf`; `area`: whether it shows areas; `level`: confidence level of the bands, if any."""
    return (
        "The share of the range of values that runs attained within the budget, averaged over the runs: the limit of "
        "the runtime distribution as the number of targets grows."
        + (f" Bands are pointwise {level:.0%} confidence intervals." if level else "")
        + (" Beside the names are the mean areas over the convergence curves (AOCC): larger is better, 1 is the "
           "maximum." if area else "")
        + markers(algorithms)
    )  # fmt: skip


def convergence(algorithms: int, *, levels: Sequence[float] = QUARTILES) -> str:
    """Caption of `convergence` with quantiles at these levels."""
    return (
        f"The best value found so far over the budget. {quantiles(algorithms, levels)} Lines end where runs were "
        "stopped; a dotted line leads from there to the name." + markers(algorithms)
    )


def data_profiles(algorithms: int) -> str:
    """Caption of `data_profiles`."""
    return (
        "Data profiles: the share of problems that an algorithm solved within a given number of simplex gradients; on "
        "a problem in dimension d, a simplex gradient takes d + 1 evaluations." + markers(algorithms)
    )


def dominance_over_rounds(*, alpha: float, joint: bool, withdrawn: bool = False, unnamed: int = 0) -> str:
    """Caption of `dominance_over_rounds` for decision threshold `alpha` and joint or pointwise elimination.

    `withdrawn`: whether algorithms were withdrawn; `unnamed`: number of grey lines.
    """
    dominated = (
        "the probability that its strongest rival is better at all timepoints at once"
        if joint
        else "the probability that its strongest rival is better, at the timepoint where that is least likely"
    )
    return (
        f"Each coloured line follows one algorithm from round to round (dots): {dominated}. The left axis is linear up "
        "to 0.9; above, each further 9 takes equal space, so that near-certainty is readable. An algorithm that "
        f"reaches the dashed line, the threshold α = {alpha:g}, is eliminated (cross). A diamond marks the round after "
        "which all relations of a candidate are resolved: it is settled as a member of the Pareto set. Marks that "
        "would overlap stand side by side. The black steps, on the right axis, are the share of all pairs of "
        "algorithms that are resolved at every timepoint. Ticks below the horizontal axis are the rounds."
        + grey_lines(unnamed)
        + (
            " Withdrawn algorithms also end in a cross, after which the lines of those that they had eliminated "
            "continue; an algorithm withdrawn before the first run has no line."
            if withdrawn
            else ""
        )
    )


def embedding(method: str) -> str:
    """Caption of `embedding` for a method such as ``"t-SNE"``."""
    return (
        f"Each symbol is an instance, placed by {method} of its standardized mean features: instances that lie close "
        "together have similar features. Colour and shape indicate the function, whose name stands beside its most "
        "central instance. The axes have no unit, and distances between groups mean little."
    )


def ert_over_dimension(algorithms: int, *, successes: bool = False, spent: bool = False) -> str:
    """Caption of `ert_over_dimension`; whether it shows numbers of successes, and budgets where there were none."""
    numbers = ", with the number of successful runs beside them," if algorithms <= CROWD else ""
    return (
        "The expected runtime (ERT) divided by the dimension, against the dimension. Both axes are logarithmic: along "
        "the horizontal grid lines the runtime grows linearly with the dimension, along the slanted ones quadratically."
        + (f" Dots are hollow{numbers} where not all runs reached the target." if successes else "")
        + (" Where no run reached the target, a pale cross marks the largest budget spent." if spent else "")
        + markers(algorithms)
    )


def ert_over_targets(algorithms: int, *, runs: int | None = None) -> str:
    """Caption of `ert_over_targets`; `runs`: number of runs per algorithm if successes are shown."""
    return (
        "The expected runtime (ERT) against the target, from easy to hard: the evaluations that all runs spent up to "
        "the target, divided by the number of successful runs. "
        + (
            "Lines are solid where all runs reached the target and dashed where only some did. Beside each name is the "
            f"number of runs, out of {runs}, that reached the last target of its line. "
            if runs
            else ""
        )
        + "A line ends at the hardest target that any run reached; a dotted line leads from there to the name."
        + markers(algorithms)
    )


def heat_map(
    label: str,
    *,
    best: Literal["lowest", "highest"] | None = None,
    center: float | None = None,
    reverse: bool = False,
    missing: bool = False,
    infinite: bool = False,
) -> str:
    """Caption of `heat_map`: what its numbers mean, and which marks it has."""
    shade = (
        f"orange above {center:g}, blue below, and the further away, the stronger"
        if center is not None
        else f"darker where the number is {'smaller' if reverse else 'larger'}"
    )
    return (
        f"{label}: {shade}."
        + (f" The {best} number of each column is bold." if best else "")
        + (" Dark grey cells with ∞ are infinite: never reached." if infinite else "")
        + (" Hatched cells have no data." if missing else "")
    )


def mean_landscapes() -> str:
    """Caption of `mean_landscapes`."""
    return (
        "The geometric mean, over the instances of a function, of the precision f − f* at each point: the darker, the "
        "worse the point is on average. Shades are evenly spaced in the logarithm, from the smallest to the largest "
        "mean of each function, which stand above its panel; the best hundredth of the points has the palest shade."
    )


def optima(dimension: int) -> str:
    """Caption of `optima` for problems of this dimension."""
    shown = "" if dimension == 2 else f", in the first two of {dimension} variables"
    return f"Each dot is the optimum of an instance{shown}. The dashed line is the boundary of the box."


def parameter_over_targets(parameter: str, algorithms: int, *, levels: Sequence[float] = QUARTILES) -> str:
    """Caption of `parameter_over_targets` with quantiles at these levels."""
    return (
        f"The logged parameter “{parameter}” at the moment when a run reached a target, from easy to hard. "
        f"{quantiles(algorithms, levels)} Lines end where no run reached the target; a dotted line leads from there to "
        "the name." + markers(algorithms)
    )


def parameter_over_time(parameter: str, algorithms: int, *, levels: Sequence[float] = QUARTILES) -> str:
    """Caption of `parameter_over_time` with quantiles at these levels."""
    return (
        f"The logged parameter “{parameter}” over the budget. {quantiles(algorithms, levels)} Lines end where the "
        "parameter is unknown; a dotted line leads from there to the name." + markers(algorithms)
    )


def partial_order(*, alpha: float | None = None) -> str:
    """Caption of `partial_order` for tests at level `alpha`."""
    level = f" at level {alpha:g}" if alpha is not None else ""
    return (
        f"Which algorithm beats which{level}. A line from a dot to one further right, in the colour of the first, "
        "means that the first beats the second; so does a path of several lines from left to right. Algorithms without "
        "such a path between them are not distinguished. Unbeaten algorithms have bold names. An algorithm's layer is "
        "one more than the number of lines on the longest path that leads to it."
    )


def performance_profiles(algorithms: int) -> str:
    """Caption of `performance_profiles`."""
    return (
        "Performance profiles: the share of problems that an algorithm solved within a given multiple of the runtime "
        "of the fastest algorithm on that problem. At the left end, where this multiple is 1, is the share on which it "
        "was the fastest itself; at the right end, the share that it solved at all." + markers(algorithms)
    )


def preference_values(*, sure: bool) -> str:
    """Caption of `preference_values`; `sure`: whether the uncertainty can be taken at face value."""
    caution = (
        ""
        if sure
        else " The model counts what the same runs repeat from budget to budget as new evidence: for preferences "
        "over more than one budget, hills and intervals are too narrow and P2BB is overconfident. Trust the order, not "
        "the certainty, or race with the model instance-bootstrap."
    )
    return (
        "One panel per preference over budgets, one row per member of the Pareto set. The value is the mean rating "
        "over the budgets, weighted by the preference: uniform weights every evaluation (or second) equally, "
        "log-uniform every order of magnitude; final counts the last budget alone. The dot is the posterior mean of "
        "the value, the line its 95% credible interval, the hill its posterior density (all scaled to the same "
        "height). P2BB is the probability that no other member has a higher value; the highest is bold." + caution
    )


def rating_over_rounds(algorithms: int, *, level: float = 0.95, eliminated: bool = False, unnamed: int = 0) -> str:
    """Caption of `rating_over_rounds` with `algorithms` lines, `unnamed` of which are grey."""
    ratings = rating_over_time(algorithms, level=level, eliminated=eliminated, unnamed=unnamed)
    return f"One panel per moment of the race, all on the same scale. {ratings}"


def rating_over_time(
    algorithms: int,
    *,
    level: float = 0.95,
    eliminated: bool = True,
    withdrawn: bool = False,
    truth: bool = False,
    unnamed: int = 0,
) -> str:
    """Caption of `rating_over_time` with `algorithms` lines, `unnamed` of which are grey.

    `eliminated`: whether some are drawn as eliminated; `withdrawn`: whether some of these were withdrawn instead.
    """
    out = "algorithms eliminated or withdrawn" if withdrawn else "eliminated algorithms"
    everyone = "both" if algorithms == 2 else f"all {algorithms}"
    return (
        "Each solid line is the posterior mean of an algorithm's rating: the probability that, on a new problem "
        f"instance, it has found the best result of {everyone} algorithms by that budget. The band around it is the "
        f"pointwise {level:.0%} credible interval; bands widen where fewer runs went that far. "
        + (f"Pale dashed lines without a band are {out}. " if eliminated else "")
        + "The ratings at one budget sum to 1; "
        + (
            "dotted lines are the true ratings. "
            if truth
            else f"the dotted line is 1/{algorithms}, where equal algorithms would lie. "
        )
        + "Names stand at the right ends of the lines, in bold if the algorithm is in the Pareto set."
        + grey_lines(unnamed)
        + markers(algorithms - unnamed)
    )


def recovery(algorithms: int, *, level: float = 0.95) -> str:
    """Caption of `recovery` with `algorithms` lines."""
    return (
        "First panel: the true ratings, that is, the probability that an algorithm has the best result on a new "
        "instance by that budget; names of the true anytime Pareto set are bold. Following panels: the posterior after "
        f"a round. Solid lines are posterior means, bands are pointwise {level:.0%} credible intervals, dotted lines "
        "are the truth; eliminated algorithms are dashed, pale and without a band. Last panel: the value of each "
        "algorithm under a preference over budgets, at the end of the race. The hill is its posterior density, the dot "
        "its mean, the line its 95% credible interval, the vertical stroke the true value. P2BB is the probability "
        "that no other algorithm has a higher value." + markers(algorithms)
    )


def relations_over_time(*, alpha: float | None, epsilon: float | None, crossing: bool) -> str:
    """Caption of `relations_over_time` for a decision threshold, a region of equivalence and a resolution rule."""
    resolved = (
        " A pair also counts as resolved once it is decided that the two cross, even if some budgets stay undecided."
        if crossing
        else ""
    )
    surely = "" if alpha is None else f", with probability {alpha:g} or more"
    alike = ""
    if alpha is not None and epsilon is not None:
        alike = (
            f", meaning that with at least that probability each beats the other in {0.5 - epsilon:.0%} to "
            f"{0.5 + epsilon:.0%} of all cases"
        )
    return (
        "One strip per pair along the budget; the first algorithm has the upper half, the second the lower. The "
        "coloured area extends from the middle line (both equally likely to be better) towards the one that is more "
        f"likely to be better, in its colour; a full half is certainty. Saturated colour: decided{surely}. Pale "
        f"colour: undecided. A grey bar along the middle: equivalent{alike}." + resolved
    )


def runtime_distributions(
    algorithms: int,
    *,
    crosses: bool = True,
    dots: bool = False,
    restarts: bool = False,
    reference: str | None = None,
    background: int = 0,
) -> str:
    """Caption of `runtime_distributions`: which marks it has, and whether runtimes include simulated restarts."""
    beyond = (
        "with simulated restarts: an unsuccessful run is followed by others, drawn at random from the runs, until one "
        "is successful"
        if restarts
        else "without simulated restarts"
    )
    return (
        "Empirical runtime distributions: the share of all pairs of a function and a target that an algorithm solved "
        f"within the budget, {beyond}. Read vertically, a line shows how much is solved within a budget; read "
        "horizontally, the distance between two lines shows how many times faster one is on its easiest pairs."
        + (" A cross marks the median budget of the unsuccessful runs" if crosses else "")
        + ("; the line's increase beyond it comes from simulated restarts or longer runs." if crosses and restarts
           else "; the line's increase beyond it comes from longer runs." if crosses else "")
        + (" A dot at the right end marks the share of pairs that were solved in at least one run." if dots else "")
        + (f" Broad pale line: {reference}." if reference else "")
        + (f" Thin and grey: {plural(background, 'further algorithm')}." if background else "")
        + markers(algorithms)
    )  # fmt: skip


def value_densities(budget: str, *, histogram: bool = False, runs: bool = False) -> str:
    """Caption of `value_densities` at a budget such as ``"10,000 evaluations"``."""
    return (
        f"The distribution over the runs of the best values after {budget}, as a "
        + ("histogram" if histogram else "density")
        + " on the same scale in every row."
        + (" Vertical strokes are the values of single runs." if runs else "")
    )


def value_distributions(algorithms: int, budget: str, shares_of: str) -> str:
    """Caption of `value_distributions` at a budget such as ``"10,000 evaluations"``."""
    return (
        f"The share of {shares_of} whose best value after {budget} is at least as good as that on the axis. Lines "
        "further left are better; names of lines that end at the same height are in the order of the lines, the best "
        "on top." + markers(algorithms)
    )

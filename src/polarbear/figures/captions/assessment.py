"""Captions of the figures of recorded runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from polarbear.figures.captions.race import MARKERS
from polarbear.figures.scales import CROWD

_QUARTILES = (0.25, 0.5, 0.75)


def runtime_distributions(
    algorithms: int,
    *,
    crosses: bool = True,
    dots: bool = False,
    restarts: bool = False,
    reference: str | None = None,
    background: int = 0,
) -> str:
    """Caption of `runtime_distributions`: which marks it has, and whether runtimes contain simulated restarts."""
    beyond = (
        "with simulated restarts: an unsuccessful run is followed by further ones, drawn from the same runs, until one "
        "is successful"
        if restarts
        else "without simulated restarts"
    )
    return (
        "Empirical runtime distributions: the share of all pairs of a function and a target that an algorithm solved "
        f"within the budget, {beyond}. Read upwards, a line tells how much is solved within a budget; read sideways, "
        "the horizontal distance of two lines tells how many times faster one is on its easiest pairs."
        + (" A cross stands at the median budget of the unsuccessful runs" if crosses else "")
        + ("; what the line gains further right comes from simulated restarts or longer runs." if crosses and restarts
           else "; what the line gains further right comes from longer runs." if crosses else "")
        + (" A dot at the right end is the share of pairs that were solved in at least one run." if dots else "")
        + (f" The broad pale line is {reference}." if reference else "")
        + (f" Thin grey lines are {background} further algorithms." if background else "")
        + (MARKERS if algorithms > CROWD else "")
    )  # fmt: skip


def performance_profiles(algorithms: int) -> str:
    """Caption of `performance_profiles`."""
    return (
        "Performance profiles: the share of problems on which an algorithm needed at most so many times the runtime of "
        "the algorithm that was the fastest there. At the left end, 1, stands the share on which it was the fastest "
        "itself; at the right end the share that it solved at all." + (MARKERS if algorithms > CROWD else "")
    )


def data_profiles(algorithms: int) -> str:
    """Caption of `data_profiles`."""
    return (
        "Data profiles: the share of problems that an algorithm solved within so many simplex gradients, each as many "
        "evaluations as the problem has dimensions, plus one." + (MARKERS if algorithms > CROWD else "")
    )


def ert_over_targets(algorithms: int, *, runs: int | None = None) -> str:
    """Caption of `ert_over_targets`; `runs` if successes are given out of so many."""
    return (
        "The expected runtime (ERT), all evaluations spent by all runs up to the target divided by the number of "
        "successful runs, against the target, from easy to hard. "
        + (
            f"Lines are solid where all {runs} runs reached the target and broken where only some did. Beside each "
            "name stands how many reached the last target of the line. "
            if runs
            else ""
        )
        + "A line ends at the hardest target that any run reached; a dotted line leads from there to the name."
        + (MARKERS if algorithms > CROWD else "")
    )


def ert_over_dimension(algorithms: int, *, successes: bool = False, spent: bool = False) -> str:
    """Caption of `ert_over_dimension`: whether it shows numbers of successes, and budgets where there were none."""
    numbers = " with the number of successful runs beside them" if algorithms <= CROWD else ""
    return (
        "The expected runtime (ERT) divided by the dimension, against the dimension. Both axes are logarithmic: along "
        "the horizontal rules the runtime grows linearly with the dimension, along the slanted rules quadratically."
        + (f" Dots are hollow{numbers} where not all runs reached the target." if successes else "")
        + (" A pale cross is the largest budget spent where no run did." if spent else "")
        + (MARKERS if algorithms > CROWD else "")
    )


def convergence(algorithms: int, *, levels: Sequence[float] = _QUARTILES) -> str:
    """Caption of `convergence` with quantiles of these levels."""
    return (
        f"The best value found so far over the budget. {_quantiles(algorithms, levels)} Lines end where runs were "
        "stopped; a dotted line leads from there to the name." + (MARKERS if algorithms > CROWD else "")
    )


def parameter_over_time(parameter: str, algorithms: int, *, levels: Sequence[float] = _QUARTILES) -> str:
    """Caption of `parameter_over_time` with quantiles of these levels."""
    return (
        f"The logged parameter “{parameter}” over the budget. {_quantiles(algorithms, levels)} Lines end where it is "
        "not known; a dotted line leads from there to the name." + (MARKERS if algorithms > CROWD else "")
    )


def parameter_over_targets(parameter: str, algorithms: int, *, levels: Sequence[float] = _QUARTILES) -> str:
    """Caption of `parameter_over_targets` with quantiles of these levels."""
    return (
        f"The logged parameter “{parameter}” at the moment at which a run reached a target, from easy to hard targets. "
        f"{_quantiles(algorithms, levels)} Lines end where no run reached the target; a dotted line leads from there "
        "to the name." + (MARKERS if algorithms > CROWD else "")
    )


def attainment(*, lines: Sequence[float] = _QUARTILES, unknown: bool = False) -> str:
    """Caption of `attainment` with borders of these shares, and with unknown parts or without."""
    return (
        "The empirical attainment function: the shade at a point is the share of the runs that found a value as good "
        "as that within that budget; white was reached by none."
        + (f" Lines are the borders of what {_listed(lines)} of the runs attained." if lines else "")
        + (" Hatched: unknown, because runs were stopped before." if unknown else "")
    )


def attainment_difference(first: str, second: str, *, unknown: bool = False) -> str:
    """Caption of `attainment_difference` of two algorithms, and with unknown parts or without."""
    return (
        f"The difference of the empirical attainment functions of {first} and {second}. The colour at a point is that "
        "of the algorithm of which more runs found a value as good as that within that budget, the darker, the larger "
        "the difference of the two shares of runs. White: no difference."
        + (" Hatched: unknown, because runs were stopped before." if unknown else "")
    )


def attainment_ecdf(algorithms: int, *, area: bool = True, level: float | None = None) -> str:
    """Caption of `attainment_ecdf`: whether it shows areas, and of which level its bands are, if it has any."""
    return (
        "The share of the range of values that runs had attained within the budget, on average over the runs: what the "
        "distribution of runtimes to targets becomes as their number grows."
        + (f" Bands are {level:.0%} confidence intervals, at each budget by itself." if level else "")
        + (" Beside the names stand the mean areas over the convergence curves (AOCC); larger is better, 1 is the "
           "most." if area else "")
        + (MARKERS if algorithms > CROWD else "")
    )  # fmt: skip


def heat_map(
    label: str,
    *,
    best: Literal["lowest", "highest"] | None = None,
    center: float | None = None,
    reverse: bool = False,
    missing: bool = False,
    infinite: bool = False,
) -> str:
    """Caption of `heat_map`: what its numbers are, and which marks it has."""
    shade = (
        f"orange above {center:g}, blue below, the stronger, the further away"
        if center is not None
        else f"darker where the number is {'smaller' if reverse else 'larger'}"
    )
    return (
        f"{label}: {shade}."
        + (f" The {best} number of each column is bold." if best else "")
        + (" ∞ in a dark grey cell is infinite: never reached." if infinite else "")
        + (" Hatched cells have no data." if missing else "")
    )


def partial_order(*, alpha: float | None = None) -> str:
    """Caption of `partial_order` of tests at level `alpha`."""
    level = f" at level {alpha:g}" if alpha is not None else ""
    return (
        f"Which algorithm beats which{level}. A line from a dot to one further right, in the colour of the first, says "
        "that the first beats the second; whoever is reached along several lines is beaten as well. Algorithms that no "
        "such way connects are not told apart. Names of those that nobody beats are bold. The layer is one more than "
        "the number of lines on the longest way that leads to the dot."
    )


def value_distributions(algorithms: int, budget: str) -> str:
    """Caption of `value_distributions` at a budget such as ``"10,000 evaluations"``."""
    return (
        f"The share of runs whose best value after {budget} is as good as that or better. Lines further left are "
        "better; names that end at one height stand in the order of the lines, the best on top."
        + (MARKERS if algorithms > CROWD else "")
    )


def value_densities(budget: str, *, histogram: bool = False, runs: bool = False) -> str:
    """Caption of `value_densities` at a budget such as ``"10,000 evaluations"``."""
    return (
        f"How the best values after {budget} are distributed over the runs: "
        + ("bars of their number" if histogram else "their density")
        + ", on the same scale in every row."
        + (" Upright strokes are the values of the single runs." if runs else "")
    )


def _quantiles(algorithms: int, levels: Sequence[float]) -> str:
    """What lines and bands are."""
    middle = len(levels) // 2
    line = "the median" if levels[middle] == 0.5 else f"the {levels[middle]:.0%} quantile"
    bands = [f"{levels[i]:.0%} to {levels[-1 - i]:.0%}" for i in reversed(range(middle))]
    if not bands or algorithms > CROWD:
        return f"Lines are {line} over the runs."
    return f"Lines are {line} over the runs, bands reach from the quantiles {' and from '.join(bands)}."


def _listed(shares: Sequence[float]) -> str:
    percents = [f"{share:.0%}" for share in shares]
    return " and ".join([", ".join(percents[:-1]), percents[-1]]) if len(percents) > 1 else percents[0]

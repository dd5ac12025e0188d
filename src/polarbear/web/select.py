"""Which algorithm to deploy."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from polarbear import figures
from polarbear.assess.report.data import Data
from polarbear.results import Result
from polarbear.select import BudgetRange, Preference, Selection, parse_budget, preference_weights
from polarbear.web.kind import Number, Shown, Text, numbers_in, one_of, view

SHAPES = ("log-uniform", "uniform", "final", "worst", "one budget", "range", "normal", "lognormal", "weights by hand")
Budget = Annotated[str, Text("budget", "log-uniform")]
Risk = Annotated[str, one_of("risk", "p2bb", "expected", "quantile")]
Size = Annotated[int, Number("portfolio size", 1, 32, 1, whole=True)]
Level = Annotated[float, Number("quantile", 0.001, 0.999, 0.05)]
Shape = Annotated[str, one_of("preference", *SHAPES)]
Middle = Annotated[float, Number("budget, middle or from (0 first, 1 last)", 0, 1, 0.5, slider=True)]
Upper = Annotated[float, Number("range: to (0 first, 1 last)", 0, 1, 1, slider=True)]
Spread = Annotated[float, Number("spread (of the budgets)", 0.01, 1, 0.2, slider=True)]
Weights = Annotated[str, Text("weights of the timepoints, by hand", "")]


@view("select", "What to deploy")
def deploy(result: Result, budget: Budget, risk: Risk, size: Size, gamma: Level) -> Shown:
    """Algorithm or portfolio to deploy under a preference over budgets, and how sure that choice is."""
    return _selected(result, parse_budget(budget, result.dimension), budget, risk, int(size), gamma)


@view("select", "Preference by sliders or by hand")
def preference(
    result: Result,
    shape: Shape,
    middle: Middle,
    upper: Upper,
    spread: Spread,
    weights: Weights,
    risk: Risk,
    size: Size,
    gamma: Level,
) -> Shown:
    """What to deploy under a preference that you set here: a budget, a range, a distribution, or weights."""
    meant, said = _preference(result, shape, middle, upper, spread, weights)
    return _selected(result, meant, said, risk, int(size), gamma)


@view("select", "Weights of the timepoints")
def preference_table(
    result: Result, shape: Shape, middle: Middle, upper: Upper, spread: Spread, weights: Weights
) -> Shown:
    """Weight of each timepoint under the preference, to edit and enter as weights by hand."""
    meant, said = _preference(result, shape, middle, upper, spread, weights)
    if isinstance(meant, str) and meant == "worst":
        raise ValueError("the worst timepoint counts, whichever it is: this preference has no weights")
    times = result.posterior.times
    share = preference_weights(meant, times)
    typed = " ".join(f"{each:.3g}" for each in share)
    rows = zip(times, share, strict=True)
    return Shown(
        Data.of("weights", (result.settings.axis, "weight"), rows), text=f"The preference: {said}. As weights: {typed}"
    )


def _selected(result: Result, meant: Preference, said: str, risk: str, size: int, gamma: float) -> Shown:
    chosen = result.best(meant, size, gamma if risk == "quantile" else risk)
    columns = ("members", "probability_best", "probability_error", "expected", "low", "high", "quantile")
    rows = (
        [each.label, each.probability_best, each.probability_error, each.expected, each.low, each.high, each.quantile]
        for each in chosen.choices
    )
    figure = figures.preference_values(
        result.posterior, [meant], algorithms=result.pareto_set, order=result.names, titles=[said], sure=chosen.sure
    )
    doubt = "" if chosen.sure else f" {str(chosen).splitlines()[-1]}"
    return Shown(Data.of("selection", columns, rows), figure, f"{_sentence(chosen, said)}{doubt}")


def _sentence(chosen: Selection, said: str) -> str:
    """The algorithms to deploy, with their probability, in words."""
    best, what = chosen.best, "portfolio" if chosen.size > 1 else "algorithm"
    why = {
        "p2bb": f"with probability {best.probability_best:.2f} no other {what} has a higher value",
        "expected": f"its expected value, {best.expected:.3f}, is the highest",
        "quantile": f"the {chosen.gamma:.0%} quantile of its value, {best.quantile:.3f}, is the highest",
    }[chosen.criterion]
    sure = f" (probability {best.probability_best:.2f} of being the best)" if chosen.criterion != "p2bb" else ""
    return f"Deploy {best.label} ({said}): {why}{sure}."


def _preference(
    result: Result, shape: str, middle: float, upper: float, spread: float, weights: str
) -> tuple[Preference, str]:
    """A preference and its name; `middle` and `upper` are positions along the log timepoints, as shares.

    Raises:
        ValueError: If no round is complete, a range is empty, or the number of weights is not that of the timepoints.
    """
    if not result.begun:
        raise ValueError("nothing is known yet: no round is complete")
    times = result.posterior.times
    if shape == "weights by hand":
        given = numbers_in(weights, "weights")
        if given is None or given.size != times.size:
            raise ValueError(f"give {times.size} weights, one for each timepoint: {', '.join(f'{t:g}' for t in times)}")
        return given, "weights by hand"
    if shape in SHAPES[:4]:
        return shape, shape
    first, last = np.log(times[[0, -1]])
    low, high = (float(np.exp(first + share * (last - first))) for share in (middle, upper))
    low, high = (float(np.clip(each, times[0], times[-1])) for each in (low, high))
    if shape == "one budget":
        return low, f"{low:.4g}"
    if shape == "range":
        if not low < high:
            raise ValueError(f"the range from {low:.4g} to {high:.4g} is empty; move its end beyond its beginning")
        return BudgetRange(low, high), f"{low:.4g}..{high:.4g}"
    width = spread * (last - first) if shape == "lognormal" else spread * (times[-1] - times[0])
    said = f"{shape}({low:.4g}, {width:.4g})"
    return parse_budget(said), said

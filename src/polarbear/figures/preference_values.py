"""The value of algorithms under preferences over budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Band, Label, Line, Mark, Points, row_label
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.scales import choose, row_axis
from polarbear.figures.style import INK, MUTED, SURFACE, WIDE, Look, looks, shown
from polarbear.inference import Posterior
from polarbear.records import FloatArray
from polarbear.select import Preference, best, budget_name
from polarbear.select import preference_values as values_under


def preference_values(
    posterior: Posterior,
    preferences: Sequence[Preference] = ("uniform", "log-uniform", "final"),
    *,
    algorithms: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    sure: bool = True,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The value of each algorithm under preferences over budgets (Wurth et al. 2026, figures 2f, 9c and 9d).

    Marks: one panel per preference, one row per algorithm. The hill is the posterior density of the algorithm's value,
    scaled to the same height in every row; the dot is the posterior mean and the line the 95% credible interval. The
    number at the right is P2BB, the probability that no other algorithm shown has a higher value; the highest is bold.

    Args:
        posterior: (draws, T, n) ratings.
        preferences: See `polarbear.select.Preference`.
        algorithms: Names to compare, such as a Pareto set; default all.
        order: Algorithm names in the order in which colours are assigned; default that of the posterior. Others are
            grey.
        titles: One per panel; default the preferences' names.
        sure: Whether the uncertainty can be taken at face value (`polarbear.select.Selection`), for the caption.
        width: Width in inches; narrow figures stack their panels.
        height: Height in inches; default chosen to fit the contents.

    Raises:
        ValueError: If a name is not in the posterior, or a preference does not fit it.
    """
    names, look_of = choose(algorithms, posterior.names), looks(order or posterior.names, posterior.names)
    titles = titles or [budget_name(preference) for preference in preferences]
    columns = len(preferences) if width > 5 else 1
    rows = -(-len(preferences) // columns)
    return Figure(
        title="Values under preferences over budgets",
        alt=f"Dots with intervals: the value of {listed(names)} under {len(preferences)} preferences over budgets.",
        caption=captions.preference_values(sure=sure),
        width=width,
        height=height or rows * (0.26 * len(names) + 0.75),
        panels=tuple(
            Panel(
                title=title,
                x=value_axis("value" if panel >= len(preferences) - columns else ""),
                y=row_axis(len(names)),
                marks=(
                    *value_rows(posterior, preference, names, look_of),
                    *(name_rows(names) if panel % columns == 0 else ()),
                ),
            )
            for panel, (preference, title) in enumerate(zip(preferences, titles, strict=False))
        ),
        columns=columns,
        looks=look_of,
        shared=True,
    )


def density(values: FloatArray, points: int = 120) -> tuple[FloatArray, FloatArray]:
    """A Gaussian kernel density estimate with Silverman's bandwidth, for drawing: positions, and heights up to 1."""
    spread = float(values.std())
    if spread == 0:
        return np.full(2, values[0]), np.array([0.0, 1.0])
    low, high = np.quantile(values, [0.25, 0.75])
    bandwidth = 0.9 * min(spread, float(high - low) / 1.34 or spread) * values.size**-0.2
    left, right = float(values.min()) - 2 * bandwidth, float(values.max()) + 2 * bandwidth
    counts, edges = np.histogram(values, bins=512, range=(left, right))
    at = left + (right - left) / (points - 1) * np.arange(points, dtype=np.float64)
    height = np.exp(-0.5 * ((at[:, np.newaxis] - (edges[:-1] + edges[1:]) / 2) / bandwidth) ** 2) @ counts
    return at, height / height.max()


def value_axis(label: str = "value") -> Axis:
    """A horizontal axis of values whose limits are those of the data."""
    return Axis(label=label, most=4, grid=True)


def value_rows(
    posterior: Posterior, preference: Preference, names: Sequence[str], look_of: Mapping[str, Look]
) -> Iterator[Mark]:
    """One row per algorithm: hill, interval, mean and P2BB of its value."""
    draws = values_under(posterior, preference)
    choices = {choice.members[0]: choice for choice in best(posterior, preference, candidates=names).choices}
    highest = max(choices.values(), key=lambda choice: choice.probability_best)
    for row, name in enumerate(names):
        i, choice = posterior.names.index(name), choices[name]
        at, height = density(draws[:, i])
        ends, level, mean = np.array([choice.low, choice.high]), np.full(2, float(row)), np.array([choice.expected])
        symbol, bold = look_of[name].marker or "o", choice is highest
        yield Band(name=f"hill-{i}", x=at, low=row, high=row - 0.72 * height, algorithm=name, opacity=0.3)
        yield Line(name=f"interval-{i}", x=ends, y=level, algorithm=name, width=2, layer=3)
        yield Points(
            name=f"mean-{i}", x=mean, y=level[:1], algorithm=name, symbol=symbol, edge=0.7, rim=SURFACE, layer=4
        )
        text, color = _percent(choice.probability_best), INK if bold else MUTED
        yield Label(name=f"p2bb-{i}", text=text, y=row, shift=(3, 0), bold=bold, color=color)
    yield Label(text="P2BB", shift=(3, 2), color=MUTED)


def name_rows(names: Sequence[str]) -> Iterator[Label]:
    """Names at the left of their rows."""
    return (row_label(row, shown(name), name) for row, name in enumerate(names))


def _percent(probability: float) -> str:
    if 0.005 <= probability < 0.995:
        return f"{probability:.0%}"
    return "<1%" if probability < 0.5 else ">99%"

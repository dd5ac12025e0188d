"""What algorithms are worth under preferences over budgets."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from polarbear.figures.ratings import checked
from polarbear.figures.style import INK, MICRO, MUTED, RULE, SMALL, WIDE, Look, blank, literal, looks, name_row, styled
from polarbear.inference import Posterior
from polarbear.records import FloatArray
from polarbear.select import Preference, best
from polarbear.select import preference_values as values_under


@styled
def preference_values(
    posterior: Posterior,
    preferences: Sequence[Preference] = ("uniform", "log-uniform", "final"),
    *,
    algorithms: Sequence[str] | None = None,
    order: Sequence[str] | None = None,
    titles: Sequence[str] | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """What each algorithm is worth under preferences over budgets (Wurth et al. 2026, figures 2f, 9c and 9d).

    Marks: one panel per preference, one row per algorithm. The hill is the posterior density of the algorithm's
    value, scaled to the same height in every row; the dot is its mean, the line its 95% credible interval. The
    number at the right is P2BB, the probability that no other algorithm shown has a higher value; the highest is bold.

    Args:
        posterior: (draws, T, n) ratings.
        preferences: See `polarbear.select.Preference`.
        algorithms: The names to compare, such as a Pareto set; default all.
        order: All names in the order in which colours are dealt; default that of the posterior.
        titles: One per panel; default the preferences' names.
        width: Inches; narrow figures stack their panels.
        height: Inches; default in proportion.

    Raises:
        ValueError: If a name is not in the posterior, or a preference does not fit.
    """
    shown, look_of = checked(algorithms, posterior.names), looks(order or posterior.names)
    titles = titles or [p if isinstance(p, str) else type(p).__name__ for p in preferences]
    columns = len(preferences) if width > 5 else 1
    rows = -(-len(preferences) // columns)
    figure = blank(width, height or rows * (0.26 * len(shown) + 0.75))
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for panel, (ax, preference, title) in enumerate(zip(axes, preferences, titles, strict=False)):
        value_rows(ax, posterior, preference, shown, look_of)
        ax.set_title(title, fontsize=SMALL, pad=8)
        if panel >= len(preferences) - columns:
            ax.set_xlabel("value")
        ax.tick_params(labelleft=False, left=False)
        if panel % columns == 0:
            name_rows(ax, shown, look_of)
    return figure


def density(values: FloatArray, points: int = 120) -> tuple[FloatArray, FloatArray]:
    """A Gaussian kernel density of draws with Silverman's bandwidth, for drawing: where, and height up to 1."""
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


def value_rows(
    ax: Axes, posterior: Posterior, preference: Preference, shown: Sequence[str], look_of: dict[str, Look]
) -> None:
    """One row per algorithm: hill, interval, mean and P2BB of its value."""
    draws = values_under(posterior, preference)
    choices = {choice.members[0]: choice for choice in best(posterior, preference, candidates=shown).choices}
    winner = max(choices.values(), key=lambda choice: choice.probability_best)
    for row, name in enumerate(shown):
        column, look, choice = posterior.names.index(name), look_of[name], choices[name]
        at, height = density(draws[:, column])
        ax.fill_between(
            at, row, row - 0.72 * height, color=look.color, alpha=0.3, linewidth=0, zorder=2, gid=f"hill-{column}"
        )
        ax.plot(
            [choice.low, choice.high], [row, row], color=look.color, linewidth=2, zorder=3, gid=f"interval-{column}"
        )
        ax.plot(
            choice.expected,
            row,
            look.marker or "o",
            color=look.color,
            markersize=5,
            mec="white",
            mew=0.7,
            zorder=4,
            gid=f"mean-{column}",
        )
        ax.annotate(
            _percent(choice.probability_best),
            (1, row),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            va="center_baseline",
            fontsize=MICRO,
            fontweight="bold" if choice is winner else "normal",
            color=INK if choice is winner else MUTED,
            gid=f"p2bb-{column}",
        )
    ax.annotate(
        "P2BB", (1, 1), xycoords="axes fraction", xytext=(3, 2), textcoords="offset points", fontsize=MICRO, color=MUTED
    )
    ax.set_ylim(len(shown) - 0.6, -0.95)
    ax.grid(axis="x", color=RULE, linewidth=0.5)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.spines["left"].set_visible(False)


def name_rows(ax: Axes, shown: Sequence[str], look_of: dict[str, Look]) -> None:
    """Names at the left of their rows."""
    for row, name in enumerate(shown):
        name_row(ax, row, literal(name), look_of[name])


def _percent(probability: float) -> str:
    if probability < 0.005:
        return "<1%"
    if probability >= 0.995:
        return ">99%"
    return f"{probability:.0%}"

"""How the posterior closes in on a known truth."""

# pyright: reportUnknownMemberType=false
# (matplotlib's own types leave keyword arguments untyped)
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polarbear.figures.ratings import draw_line, draw_ratings, label_ends
from polarbear.figures.style import SMALL, WIDE, Look, Spacing, blank, looks, styled, time_axis
from polarbear.figures.values import name_rows, value_rows
from polarbear.inference import Posterior
from polarbear.records import Axis
from polarbear.select import Preference
from polarbear.select.preferences import values_of
from polarbear.simulate import Truth


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was believed at one moment of a race.

    Attributes:
        title: Such as ``"after 16 instances"``.
        posterior: (draws, T, n) ratings.
        eliminated: Names of the algorithms eliminated by then.
    """

    title: str
    posterior: Posterior
    eliminated: Collection[str] = ()


@styled
def recovery(
    truth: Truth,
    snapshots: Sequence[Snapshot],
    *,
    preference: Preference = "uniform",
    axis: Axis = "evaluations",
    spacing: Spacing | None = None,
    level: float = 0.95,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """True ratings, the posterior at moments of the race, and values at its end (Wurth et al. 2026, figures 2, 4, 5).

    Marks: the first panel has the true ratings; names of the true Pareto set are bold. The panels that follow have the
    posterior mean as a solid line, the credible interval of each timepoint as a band, and the truth dotted; eliminated
    algorithms are dashed, pale and without a band. The last panel has one row per algorithm: the density of its value
    under the preference at the last moment (hill), mean (dot), 95% credible interval (line), the value under the true
    ratings (upright stroke), and P2BB, the probability that no other algorithm has a higher value. All panels of
    ratings have the same scale.

    Args:
        truth: T timepoints, n algorithms.
        snapshots: At least one, the last one last; of the truth's timepoints and algorithms.
        preference: See `polarbear.select.Preference`.
        axis: What the timepoints are counted in.
        spacing: "log" or "linear" budget axis; default as the timepoints are spaced.
        level: Probability of the intervals.
        width: Inches; narrow figures stack their panels.
        height: Inches; default in proportion to the numbers of panels and algorithms.

    Raises:
        ValueError: If there is no snapshot, or one is of other timepoints or algorithms than the truth.
    """
    _check_snapshots(truth, snapshots)
    names, look_of = truth.names, looks(truth.names)
    columns = 2 if width > 5 else 1
    rows = -(-(len(snapshots) + 2) // columns)
    figure = blank(width, height or rows * max(1.9, 0.14 * len(names) + 0.75))
    first, *middle, final = _panels(figure, rows, columns, len(snapshots) + 2)
    for column, name in enumerate(names):
        draw_line(first, truth.times, truth.ratings[:, column], look_of[name], column=column)
    first.set_title("ground truth", fontsize=SMALL)
    top = float(truth.ratings.max())
    for ax, shot in zip(middle, snapshots, strict=True):
        out, posterior = shot.eliminated, shot.posterior
        reached = draw_ratings(ax, posterior, names, look_of, eliminated=out, truth=truth.ratings, level=level)
        top = max(top, reached)
        ax.set_title(shot.title, fontsize=SMALL)
    for ax in (first, *middle):
        ax.set_ylim(0, min(1.0, 1.04 * top))
        time_axis(ax, truth.times, axis, spacing, narrow=True)
        ax.set_ylabel("rating")
    _values(final, snapshots[-1], truth, preference, look_of)
    label_ends(
        first, truth.ratings[-1], names, names, look_of, [name for name in names if name not in truth.pareto_set]
    )
    for ax, shot in zip(middle, snapshots, strict=True):
        label_ends(ax, shot.posterior.mean()[-1], names, names, look_of, shot.eliminated)
    return figure


def _check_snapshots(truth: Truth, snapshots: Sequence[Snapshot]) -> None:
    if not snapshots:
        raise ValueError("there is no snapshot to draw; give at least the posterior at the end")
    for shot in snapshots:
        if shot.posterior.names != truth.names or not np.array_equal(shot.posterior.times, truth.times):
            raise ValueError(f"snapshot {shot.title!r} is of other algorithms or timepoints than the truth")


def _panels(figure: Figure, rows: int, columns: int, count: int) -> list[Axes]:
    panels: list[Axes] = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
    for unused in panels[count:]:
        unused.remove()
    return panels[:count]


def _values(ax: Axes, shot: Snapshot, truth: Truth, preference: Preference, look_of: dict[str, Look]) -> None:
    value_rows(ax, shot.posterior, preference, truth.names, look_of)
    name_rows(ax, truth.names, look_of)
    (true_values,) = values_of(truth.ratings[np.newaxis], truth.times, preference)
    for row, name in enumerate(truth.names):
        ax.plot(
            true_values[row],
            row,
            "|",
            color=look_of[name].ink,
            markersize=9,
            mew=1.3,
            zorder=5,
            gid=f"true-value-{row}",
        )
    of = f"the {preference} preference" if isinstance(preference, str) else "the preference"
    ax.set_title(f"value under {of}", fontsize=SMALL)
    ax.set_xlabel("value")
    ax.tick_params(labelleft=False, left=False)

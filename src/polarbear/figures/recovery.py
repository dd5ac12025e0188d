"""The posterior at several moments of a race, beside the truth if it is known."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from polarbear.descriptions import listed
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Mark, Points
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.preference_values import name_rows, value_axis, value_rows
from polarbear.figures.ratings import end_names, rating_axis, rating_line, rating_lines
from polarbear.figures.scales import row_axis, time_axis
from polarbear.figures.style import WIDE, Look, Spacing, looks
from polarbear.inference import Posterior
from polarbear.quantities import plural
from polarbear.records import Axis as Unit
from polarbear.select import Preference
from polarbear.select.preferences import values_of
from polarbear.simulate import Truth


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The posterior at one moment of a race.

    Attributes:
        title: Title of the panel, such as ``"after 16 instances"``.
        posterior: (draws, T, n) ratings.
        eliminated: Names of the algorithms eliminated so far.
    """

    title: str
    posterior: Posterior
    eliminated: Collection[str] = ()


def recovery(
    truth: Truth,
    snapshots: Sequence[Snapshot],
    *,
    preference: Preference = "uniform",
    axis: Unit = "evaluations",
    spacing: Spacing | None = None,
    level: float = 0.95,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """True ratings, the posterior at moments of the race, and values at its end (Wurth et al. 2026, figures 2, 4, 5).

    Marks: the first panel shows the true ratings; members of the true Pareto set have bold names. The panels that
    follow show the posterior mean as a solid line, the pointwise credible interval as a band, and the truth as a dotted
    line; eliminated algorithms are dashed, pale and without a band. All panels of ratings have the same scale. The last
    panel has one row per algorithm: the posterior density of its value under the preference at the last moment (hill),
    the mean (dot), the 95% credible interval (line), the value under the true ratings (vertical stroke), and P2BB, the
    probability that no other algorithm has a higher value.

    Args:
        truth: True ratings at T timepoints, for n algorithms.
        snapshots: One or more moments in order, with the timepoints and algorithms of the truth.
        preference: See `polarbear.select.Preference`.
        axis: Unit of the timepoints.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the timepoints.
        level: Probability of the intervals.
        width: Width in inches; narrow figures stack their panels.
        height: Height in inches; default proportional to the numbers of panels and algorithms.

    Raises:
        ValueError: If there is no snapshot, or one has other timepoints or algorithms than the truth.
    """
    _check_snapshots(snapshots, truth.times)
    names, look_of = truth.names, looks(truth.names)
    if other := next((snapshot for snapshot in snapshots if snapshot.posterior.names != names), None):
        raise ValueError(f"snapshot {other.title!r} has different algorithms from the truth")
    columns = 2 if width > 5 else 1
    x = time_axis(truth.times, axis, spacing, narrow=True)
    values = Panel(
        title=f"value under the {f'{preference} ' * isinstance(preference, str)}preference",
        x=value_axis(),
        y=row_axis(len(names)),
        marks=(
            *value_rows(snapshots[-1].posterior, preference, names, look_of),
            *name_rows(names),
            *_true_values(truth, preference),
        ),
    )
    return Figure(
        title="Recovery of a known truth",
        alt=f"True and estimated ratings of {listed(names)} over the budget, and their values.",
        caption=captions.recovery(len(names), level=level),
        width=width,
        height=height or _height(len(snapshots) + 2, columns, len(names)),
        panels=(*_rating_panels(truth, snapshots, look_of, x, level), values),
        columns=columns,
        looks=look_of,
    )


def rating_over_rounds(
    snapshots: Sequence[Snapshot],
    *,
    order: Sequence[str] | None = None,
    axis: Unit = "evaluations",
    spacing: Spacing | None = None,
    level: float = 0.95,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The posterior ratings over the budget at several moments of a race (Wurth et al. 2026, figure 8).

    Marks: as in `rating_over_time`, with one panel per moment, all on the same scale.

    Args:
        snapshots: One or more moments; `polarbear.study.load(path, after=3).result` is the result of a study after
            round 3.
        order: Algorithm names in the order in which colours are assigned; default those of the last posterior first.
            Others are grey and have no label.
        axis: Unit of the timepoints.
        spacing: "log" or "linear" budget axis; default inferred from the spacing of the timepoints.
        level: Probability of the intervals.
        width: Width in inches; narrow figures stack their panels.
        height: Height in inches; default proportional to the numbers of panels and algorithms.

    Raises:
        ValueError: If there is no snapshot, or their timepoints differ.
    """
    _check_snapshots(snapshots, snapshots[-1].posterior.times if snapshots else ())
    times, out = snapshots[-1].posterior.times, any(snapshot.eliminated for snapshot in snapshots)
    names = tuple(dict.fromkeys(name for snapshot in reversed(snapshots) for name in snapshot.posterior.names))
    look_of, columns = looks(order or names, names), 2 if width > 5 and len(snapshots) > 1 else 1
    x, named = time_axis(times, axis, spacing, narrow=True), sum(look_of[name].named for name in names)
    return Figure(
        title="Ratings round by round",
        alt=f"Ratings of {listed(names)} over the budget, at {plural(snapshots, 'moment')} of a race.",
        caption=captions.rating_over_rounds(len(names), level=level, eliminated=out, unnamed=len(names) - named),
        width=width,
        height=height or _height(len(snapshots), columns, named),
        panels=tuple(_rating_panels(None, snapshots, look_of, x, level)),
        columns=columns,
        looks=look_of,
    )


def _height(panels: int, columns: int, names: int) -> float:
    return -(-panels // columns) * max(1.9, 0.14 * names + 0.75)


def _check_snapshots(snapshots: Sequence[Snapshot], times: ArrayLike) -> None:
    if not snapshots:
        raise ValueError("there is no snapshot to draw; give at least the posterior at the end")
    for snapshot in snapshots:
        if not np.array_equal(snapshot.posterior.times, times):
            raise ValueError(
                f"snapshot {snapshot.title!r} has different timepoints from the truth or the last snapshot"
            )


def _rating_panels(
    truth: Truth | None, snapshots: Sequence[Snapshot], look_of: Mapping[str, Look], x: Axis, level: float
) -> Iterator[Panel]:
    """The truth, if it is known, and the posterior at each moment, all on the same scale."""
    panels: list[tuple[str, tuple[Mark, ...]]] = []
    top = 0.0
    if truth is not None:
        names, out = truth.names, [name for name in truth.names if name not in truth.pareto_set]
        lines = (
            rating_line(truth.times, truth.ratings[:, index], name, look_of[name], index, out=False)
            for index, name in enumerate(names)
        )
        panels.append(("ground truth", (*lines, *end_names(x, truth.ratings[-1], names, names, out))))
        top = float(truth.ratings.max())
    true_ratings = None if truth is None else truth.ratings
    for snapshot in snapshots:
        posterior, out = snapshot.posterior, snapshot.eliminated
        names = posterior.names
        believed, reached = rating_lines(posterior, names, look_of, x, out=out, truth=true_ratings, level=level)
        named = [name for name in names if look_of[name].named]
        panels.append((snapshot.title, (*believed, *end_names(x, posterior.mean()[-1], names, named, out))))
        top = max(top, reached)
    for title, marks in panels:
        yield Panel(title=title, x=x, y=rating_axis(top), marks=marks)


def _true_values(truth: Truth, preference: Preference) -> Iterator[Points]:
    (values,) = values_of(truth.ratings[np.newaxis], truth.times, preference)
    for row, (name, value) in enumerate(zip(truth.names, values, strict=True)):
        x, y = np.array([value]), np.array([float(row)])
        yield Points(
            name=f"true-value-{row}", x=x, y=y, algorithm=name, ink=True, symbol="|", size=9, edge=1.3, layer=5
        )

"""Which of two algorithms is better among the good results, and which among the poor ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polarbear.assess.cumulative_difference import CumulativeDifference
from polarbear.figures import captions
from polarbear.figures.figure import Figure
from polarbear.figures.marks import Band, Label, Line
from polarbear.figures.panels import Axis, Panel
from polarbear.figures.style import INK, MICRO, MUTED, WIDE, looks_for, shown


def cumulative_difference(
    difference: CumulativeDifference,
    names: tuple[str, str],
    *,
    order: Sequence[str] | None = None,
    width: float = WIDE,
    height: float | None = None,
) -> Figure:
    """The cumulative difference plot of two algorithms (Arza et al. 2022, figure 4).

    Marks: when the results of both algorithms are pooled and ordered, the line is the share of the first algorithm's
    results among the best so many, minus the share of the second's; the band around it is a bootstrap interval. Areas
    above zero, where the first algorithm is ahead, have its colour; areas below zero have that of the second.

    Args:
        difference: Cumulative difference of the two samples.
        names: Names of the two algorithms.
        order: All algorithm names in the order in which colours are assigned; default `names`.
        width: Width in inches.
        height: Height in inches; default chosen to fit the contents.

    Raises:
        ValueError: If a name is missing from `order`.
    """
    looks, at = looks_for(names, order, "algorithm"), difference.levels
    zero = np.zeros(at.size)
    above, below = np.maximum(difference.difference, 0), np.minimum(difference.difference, 0)
    reach = 1.08 * float(np.max(np.abs([difference.lower, difference.upper, difference.difference]))) or 1.0
    marks = (
        Line(x=at[[0, -1]], y=zero[:2], color=MUTED, width=0.8, layer=1),
        Band(name="ahead-0", x=at, low=zero, high=above, algorithm=names[0], opacity=0.5),
        Band(name="ahead-1", x=at, low=below, high=zero, algorithm=names[1], opacity=0.5),
        Band(name="band", x=at, low=difference.lower, high=difference.upper, color=INK, opacity=0.12, layer=2.2),
        Line(name="difference", x=at, y=difference.difference, color=INK, layer=3),
        Label(text=shown(names[0], 18), y=0.8 * reach, algorithm=names[0], ink=True, size=MICRO + 1, bold=True),
        Label(text="is ahead", y=0.8 * reach, shift=(4, -9), color=MUTED),
        Label(text=shown(names[1], 18), y=-0.7 * reach, algorithm=names[1], ink=True, size=MICRO + 1, bold=True),
        Label(text="is ahead", y=-0.7 * reach, shift=(4, -9), color=MUTED),
    )
    x = Axis(
        label="rank among the results of both",
        low=0,
        high=1,
        ticks=(0, 0.25, 0.5, 0.75, 1),
        texts=("best", "25%", "50%", "75%", "worst"),
    )
    y = Axis(label="difference of shares", low=-reach, high=reach, most=5, grid=True)
    return Figure(
        title=f"Cumulative difference between {names[0]} and {names[1]}",
        alt=f"Line chart of the share of the results of {names[0]} up to each rank, minus that of {names[1]}.",
        caption=captions.cumulative_difference(*names, better=difference.better, level=difference.confidence),
        width=width,
        height=height or max(0.42 * min(width, WIDE), 2.2),
        panels=(Panel(x=x, y=y, marks=marks),),
        looks=looks,
    )

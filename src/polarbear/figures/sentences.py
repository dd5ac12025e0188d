"""Sentences that several captions share."""

from __future__ import annotations

from collections.abc import Sequence

from polarbear.figures.style import CROWD
from polarbear.quantities import plural


def drawn(algorithms: int, band: str, runs: bool) -> str:
    """What areas, thin lines and line ends mean."""
    few = algorithms <= CROWD
    return (
        (f" Bands: {band}." if band and few else "")
        + (" Thin lines are single runs." if runs and few else "")
        + " Lines end where the number is unknown; a dotted line leads from there to the name."
        + markers(algorithms)
    )


def grey_lines(algorithms: int) -> str:
    """How many lines are grey."""
    if not algorithms:
        return ""
    return f" Grey, without a name: {plural(algorithms, 'further algorithm')}."


def markers(algorithms: int) -> str:
    """How algorithms of the same colour are distinguished."""
    if algorithms <= CROWD:
        return ""
    return " From the ninth algorithm on, colours repeat and markers along the lines tell algorithms apart."


def quantiles(algorithms: int, levels: Sequence[float]) -> str:
    """What lines and bands mean."""
    middle = len(levels) // 2
    line = "the median" if levels[middle] == 0.5 else f"the {levels[middle]:.0%} quantile"
    bands = [f"{levels[i]:.0%} to {levels[-1 - i]:.0%}" for i in reversed(range(middle))]
    if not bands or algorithms > CROWD:
        return f"Lines are {line} over the runs."
    return f"Lines are {line} over the runs; bands span the quantiles from {' and from '.join(bands)}."

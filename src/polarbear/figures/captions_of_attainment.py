"""Captions of figures derived from attainment functions, other than the function itself; see `captions`."""

from __future__ import annotations

from collections.abc import Mapping

from polarbear.descriptions import listed
from polarbear.figures.sentences import markers
from polarbear.figures.style import CROWD
from polarbear.quantities import plural


def target_sensitivity(algorithms: int, changes: Mapping[int, float]) -> str:
    """Caption of `target_sensitivity`; `changes`: change of ranks for each number of targets."""
    amounts = listed(f"{change:g} ({plural(count, 'target')})" for count, change in changes.items())
    return (
        "Left: the mean share attained within the budget, averaged over all values (EAF, solid) or over evenly spaced "
        "targets (dashed). Right: the target-based share minus the EAF-based one, as a mean over "
        f"{plural(algorithms, 'algorithm')} and, as dots, one standard deviation to either side. Rankings by the area "
        f"under the target-based curves differ from the EAF-based one by {amounts}: half the sum of the absolute "
        "differences of ranks."
    )


def vorobev_expectation(algorithms: int, *, runs: bool = False) -> str:
    """Caption of `vorobev_expectation`; `runs`: whether single runs are shown."""
    return (
        "Vorob'ev expectations: the level curve of an algorithm's attainment function whose area over the convergence "
        "curve is closest to the mean over its runs. The number beside the name is the Vorob'ev deviation, the mean "
        "share of the area that lies between a run and this line."
        + (" Thin lines are single runs." if runs and algorithms <= CROWD else "")
        + markers(algorithms)
    )

"""Where one algorithm attains more than another, or than every other of a portfolio.

López-Ibáñez et al. 2024, section IV: figure 5 (a pair) and figure 6 (one against the upper envelope of the others).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import ArrayLike

from polarbear.assess.attainment import eaf_grid, point_sets, stacked
from polarbear.assess.step_functions import Curve, FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class AttainmentDifference:
    """The difference of two EAFs: constant on each of n disjoint rectangles, 0 outside them.

    Attributes:
        lower: (n, 2) time and value of each rectangle's lower left corner, which belongs to it.
        upper: (n, 2) its upper right corner, which does not; inf where it is unbounded.
        difference: (n,) from -1 to 1: the share of the first algorithm's runs that attain it less that of the second's.
        until: From this time on some runs are unknown, and so is the difference.
    """

    lower: FloatArray
    upper: FloatArray
    difference: FloatArray
    until: float = np.inf


def eaf_difference(first: Sequence[Curve], second: Sequence[Curve]) -> AttainmentDifference:
    """The exact difference of the EAFs of two algorithms, by `moocore.eafdiff`.

    Runs need not be equally many: `moocore` counts runs, so with different numbers of them each run is repeated up to
    the least common multiple, which leaves both EAFs as they are.

    Args:
        first: Runs of one algorithm, as `step_functions` takes them.
        second: Runs of the other.

    Raises:
        ValueError: If there are no runs, or points are not (k, 2) or hold NaN.
    """
    from moocore import eafdiff

    sides = [point_sets(first), point_sets(second)]
    if any(points.shape[1] != 2 for sets, _ in sides for points in sets):
        raise ValueError("differences are of runs as (k, 2) points of time and value; these have three columns")
    common = lcm(*(len(sets) for sets, _ in sides))
    tables = [np.column_stack(stacked(sets * (common // len(sets)))) for sets, _ in sides]
    runs = [points for sets, _ in sides for points in sets]
    if all(np.array_equal(points, runs[0]) for points in runs):
        found = np.empty((0, 5))  # all level sets coincide, which `eafdiff` of moocore 0.3 cannot return
    else:
        found = eafdiff(tables[0], tables[1], rectangles=True)
    found = found[(found[:, :2] < np.inf).all(axis=1) & (found[:, 4] != 0)]
    return AttainmentDifference(found[:, :2], found[:, 2:4], found[:, 4] / common, min(until for _, until in sides))


def eaf_difference_grid(
    first: ArrayLike, portfolio: Sequence[ArrayLike], targets: ArrayLike, *, omit_unknown: bool = False
) -> FloatArray:
    """One algorithm's EAF less the upper envelope of a portfolio's EAFs, at the points of a grid.

    Positive where the algorithm attains a target by a time more often than every algorithm of the portfolio.

    Args:
        first: (runs, times) best-so-far values, as `values_at` makes them.
        portfolio: The same at the same times for each of the other algorithms; a pair is a portfolio of one.
        targets: (targets,).
        omit_unknown: As in `eaf_grid`.

    Returns:
        (times, targets), each from -1 to 1; NaN where any of the EAFs is unknown.

    Raises:
        ValueError: If the portfolio is empty, or the numbers of times differ.
    """
    if not len(portfolio):
        raise ValueError("the portfolio is empty; give at least one algorithm to compare with")
    surface, *others = (eaf_grid(values, targets, omit_unknown=omit_unknown) for values in (first, *portfolio))
    if any(other.shape != surface.shape for other in others):
        raise ValueError(f"the algorithms have values at {[len(s) for s in (surface, *others)]} times; take the same")
    return surface - np.max(others, axis=0)

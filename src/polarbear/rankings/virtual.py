"""Portfolios as algorithms: their outcome is built from the recorded runs of their members."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.records import FloatArray


def virtual_algorithm(
    values: ArrayLike, members: Sequence[int], combine: Callable[[FloatArray], ArrayLike] | None = None
) -> FloatArray:
    """Values with one more algorithm: a portfolio of recorded ones, run in parallel (Wurth et al. 2026, section 3).

    When the user takes the best solution any member finds, the rating of a portfolio is the sum of its members'
    (eq. 8), and `polarbear.select.best` needs no more than the posterior. A virtual algorithm serves outcomes that
    combine otherwise, such as the hypervolume of the members' united fronts (eq. 9). A portfolio never does worse
    than its own members on the same runs; compare it with others.

    Args:
        values: (P, T, n) as for `choice_counts`: lower is better, NaN where not run.
        members: Indices of the portfolio's members.
        combine: Turns the members' values (P, T, k) into the portfolio's (P, T); default the best of them.

    Returns:
        (P, T, n + 1): `values`, and the portfolio as the last algorithm. It is NaN where a member's value is.

    Raises:
        ValueError: If there are no members, an index is out of range, or `combine` gives another shape.
    """
    cells = np.asarray(values, dtype=np.float64)
    chosen = list(members)
    if cells.ndim != 3:
        raise ValueError(f"values has shape {cells.shape}; it needs (instances, timepoints, algorithms)")
    if not chosen or not all(0 <= member < cells.shape[2] for member in chosen):
        raise ValueError(f"members are {chosen}; a portfolio needs indices from 0 to {cells.shape[2] - 1}")
    theirs = cells[:, :, chosen]
    outcome = np.min(theirs, axis=2) if combine is None else np.asarray(combine(theirs), dtype=np.float64)
    if outcome.shape != cells.shape[:2]:
        raise ValueError(f"combine gave shape {outcome.shape}; it must turn {theirs.shape} into {cells.shape[:2]}")
    outcome = np.where(np.isnan(theirs).any(axis=2), np.nan, outcome)
    return np.concatenate([cells, outcome[:, :, np.newaxis]], axis=2)

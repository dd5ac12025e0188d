"""Portfolios as algorithms: their outcome is built from the recorded runs of their members."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from polarbear.records import FloatArray


def virtual_algorithm(
    values: ArrayLike, members: Sequence[int], combine: Callable[[FloatArray], ArrayLike] | None = None
) -> FloatArray:
    """Values with a portfolio of recorded algorithms in its members' place (Wurth et al. 2026, section 3).

    When the user takes the best solution any member finds, the rating of a portfolio is the sum of its members'
    (eq. 8), and `polarbear.select.best` needs no more than the posterior. A virtual algorithm serves outcomes that
    combine otherwise, such as the hypervolume of the members' united fronts (eq. 9).

    The members leave, since the portfolio's runs are theirs: it never does worse than they do on the same instance,
    which no rating describes, and the ratings of all others would suffer.

    Args:
        values: (P, T, n) as for `choice_counts`: lower is better, NaN where not run.
        members: Indices of the portfolio's members, each once: there is one run of each.
        combine: Turns the members' values (P, T, k) into the portfolio's (P, T); default the best of them.

    Returns:
        (P, T, n − k + 1): the values of all others, in their order, and the portfolio as the last algorithm. It is NaN
        where a member's value is.

    Raises:
        ValueError: If there are no members, an index is out of range or repeated, or `combine` gives another shape.
    """
    cells = np.asarray(values, dtype=np.float64)
    chosen = list(members)
    if cells.ndim != 3:
        raise ValueError(f"values has shape {cells.shape}; it needs (instances, timepoints, algorithms)")
    if not chosen or not all(0 <= member < cells.shape[2] for member in chosen):
        raise ValueError(f"members are {chosen}; a portfolio needs indices from 0 to {cells.shape[2] - 1}")
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"members are {chosen}; each has one run on an instance, so name it once")
    theirs = cells[:, :, chosen]
    outcome = np.min(theirs, axis=2) if combine is None else np.asarray(combine(theirs), dtype=np.float64)
    if outcome.shape != cells.shape[:2]:
        raise ValueError(f"combine gave shape {outcome.shape}; it must turn {theirs.shape} into {cells.shape[:2]}")
    outcome = np.where(np.isnan(theirs).any(axis=2), np.nan, outcome)
    return np.concatenate([np.delete(cells, chosen, axis=2), outcome[:, :, np.newaxis]], axis=2)

"""Who is best on which instances: shares by groups of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polarbear.rankings import Rankings
from polarbear.records import FloatArray


def best_shares(
    values: FloatArray, groups: Sequence[str], *, precision: float | None = None
) -> dict[str, tuple[int, FloatArray]]:
    """For each group the number of instances that count, and on which share of them each algorithm is the best of all.

    Only instances on which all algorithms ran to a timepoint count there; algorithms that tie share the instance. No
    model is behind it, and nothing tells how sure it is but the number of instances.

    Args:
        values: (P, T, k) best values found, lower is better, NaN where not run.
        groups: (P,) the group of each instance; those of group "" are left out.
        precision: As in `RaceSettings`.

    Returns:
        By group, in order of appearance: how many instances count at most, and (T, k) shares, NaN where none counts.
    """
    rankings = Rankings.of(values, precision=precision)
    best = (rankings.ranks == 0) & (rankings.ranks >= 0).all(axis=2, keepdims=True)
    shares = best / np.maximum(best.sum(axis=2, keepdims=True), 1)
    by_group: dict[str, tuple[int, FloatArray]] = {}
    for group in dict.fromkeys(filter(None, groups)):
        own = shares[[each == group for each in groups]]
        counted = own.sum(axis=(0, 2))[:, np.newaxis]
        by_group[group] = (
            round(float(counted.max())),
            np.where(counted > 0, own.sum(axis=0) / np.maximum(counted, 1), np.nan),
        )
    return by_group


def average_share(share: FloatArray) -> FloatArray:
    """(k,) the average of shares (T, k) over the timepoints at which they are known; NaN if there is none."""
    timepoints = int(np.isfinite(share[:, 0]).sum())
    return np.where(np.isfinite(share), share, 0.0).sum(axis=0) / timepoints if timepoints else share[0]

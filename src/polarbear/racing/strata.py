"""Which algorithms are best on which groups of instances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polarbear.rankings import Rankings
from polarbear.records import FloatArray


def best_shares(
    values: FloatArray, groups: Sequence[str], *, precision: float | None = None
) -> dict[str, tuple[int, FloatArray]]:
    """The number of instances in each group, and the share of them on which each algorithm is the best of all.

    Only instances on which all algorithms ran up to a timepoint count there; algorithms that tie share the instance.
    These are plain shares, without a model; only the number of instances indicates how certain they are.

    Args:
        values: (P, T, k) best values found, lower is better, NaN where not run.
        groups: (P,) group of each instance; instances of group "" are left out.
        precision: As in `RaceSettings`.

    Returns:
        By group, in order of appearance: the largest number of instances that count at a timepoint, and (T, k) shares,
        NaN where none counts.
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
    """(k,) average of shares (T, k) over the timepoints at which they are known; NaN if there is none."""
    timepoints = int(np.isfinite(share[:, 0]).sum())
    return np.where(np.isfinite(share), share, 0.0).sum(axis=0) / timepoints if timepoints else share[0]

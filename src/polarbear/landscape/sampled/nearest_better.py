"""nbc: distances to the nearest and to the nearest better point (Kerschke et al. 2015)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polarbear.landscape.design import Design
from polarbear.landscape.feature_set import Computed, FeatureSet
from polarbear.records import FloatArray

_NAMES = (
    "nbc.nn_nb.sd_ratio",
    "nbc.nn_nb.mean_ratio",
    "nbc.nn_nb.cor",
    "nbc.dist_ratio.coeff_var",
    "nbc.nb_fitness.cor",
)
_FEWEST = 3


def _compute(design: Design, values: FloatArray) -> Computed:
    if design.size < _FEWEST:
        return dict.fromkeys(_NAMES, f"{design.size} points are too few; at least {_FEWEST} are needed")
    return dict(zip(_NAMES, np.array([_of_row(design, row) for row in values]).T, strict=True))


def _of_row(design: Design, values: FloatArray) -> FloatArray:
    nearest = design.neighbour_distances[:, 0]
    better = nearest_better(design, values)
    chosen = np.flatnonzero(better >= 0)
    to_better = nearest.copy()  # for points without a better one
    to_better[chosen] = design.distances[chosen, better[chosen]]
    followers = np.bincount(better[chosen], minlength=design.size)
    share = nearest / to_better
    statistics = [
        nearest.std(ddof=1) / to_better.std(ddof=1),
        nearest.mean() / to_better.mean(),
        np.corrcoef(nearest, to_better)[0, 1],
        np.nanstd(share, ddof=1) / np.nanmean(share),
        np.corrcoef(followers, values)[0, 1],
    ]
    return np.array(statistics, dtype=np.float64)


def nearest_better(design: Design, values: FloatArray) -> NDArray[np.intp]:
    """Index of each point's nearest better point, else of its nearest equal point, else -1.

    Ties are broken by index, so that nothing is random.
    """
    better = values[design.neighbours] < values[:, None]
    nearest = np.where(better.any(axis=1), design.neighbours[np.arange(design.size), better.argmax(axis=1)], -1)
    for compare in (np.less, np.equal):
        rows = np.flatnonzero(nearest < 0)
        candidates = compare(values[None, :], values[rows, None])
        candidates[np.arange(len(rows)), rows] = False
        distances = np.where(candidates, design.distances[rows], np.inf)
        nearest[rows] = np.where(candidates.any(axis=1), distances.argmin(axis=1), -1)
    return nearest


NEAREST_BETTER = FeatureSet(
    _NAMES, _compute, undefined="the distances to nearest points do not vary, or points are equal"
)

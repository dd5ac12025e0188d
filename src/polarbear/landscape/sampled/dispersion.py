"""disp: dispersion of the best points (Lunacek & Whitley 2006)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from polarbear.landscape.design import Design
from polarbear.landscape.feature_set import Computed, FeatureSet
from polarbear.records import FloatArray

_SHARES = (0.02, 0.05, 0.10, 0.25)
_KINDS = ("ratio_mean", "ratio_median", "diff_mean", "diff_median")
_NAMES = tuple(f"disp.{kind}_{share * 100:02.0f}" for kind in _KINDS for share in _SHARES)


def _compute(design: Design, values: FloatArray) -> Computed:
    everywhere = _mean_and_median(design.distances)
    limits = np.quantile(values, _SHARES, axis=1)  # (shares, k)
    best = np.array([[_among(design, row <= limit) for row, limit in zip(values, at, strict=True)] for at in limits])
    compared = np.concatenate([best / everywhere, best - everywhere], axis=-1)  # (shares, k, kinds)
    features = dict(zip(_NAMES, compared.transpose(2, 0, 1).reshape(len(_NAMES), -1), strict=True))
    alone = [share for share, at in zip(_SHARES, limits, strict=True) if ((values <= at[:, None]).sum(1) < 2).all()]
    few = {
        f"disp.{kind}_{share * 100:02.0f}": f"the best {share:.0%} of {design.size} points is a single point"
        for kind in _KINDS
        for share in alone
    }
    return features | few


def _among(design: Design, chosen: NDArray[np.bool_]) -> FloatArray:
    return _mean_and_median(design.distances[chosen][:, chosen])


def _mean_and_median(distances: FloatArray) -> FloatArray:
    """Mean and median of the distances between distinct points; NaN if there are none."""
    apart = distances[distances > 0]
    return np.array([apart.mean(), np.median(apart)]) if apart.size else np.full(2, np.nan)


DISPERSION = FeatureSet(_NAMES, _compute, undefined="there is only one best point, or all best points are equal")

"""fitness_distance: whether good points lie close to the best (Jones & Forrest 1995; Müller & Sbalzarini 2011)."""

from __future__ import annotations

import numpy as np

from polarbear.landscape.design import Design
from polarbear.landscape.feature_set import Computed, FeatureSet
from polarbear.records import FloatArray

_SHARE = 0.1
"""Share of the points, the best ones, that are considered."""
_NAMES = tuple(
    f"fitness_distance.{name}"
    for name in ("fd_correlation", "fd_cov", "distance_mean", "distance_std", "fitness_mean", "fitness_std")
)


def _compute(design: Design, values: FloatArray) -> Computed:
    best = round(_SHARE * design.size)
    if best < 2:
        return dict.fromkeys(_NAMES, f"the best {_SHARE:.0%} of {design.size} points are fewer than two")
    chosen = np.argsort(values, axis=1, kind="stable")[:, :best]
    fitness, distance = np.take_along_axis(values, chosen, axis=1), design.distances[chosen[:, :1], chosen]
    means = fitness.mean(axis=1), distance.mean(axis=1)
    deviations = fitness.std(axis=1, ddof=1), distance.std(axis=1, ddof=1)
    covariance = ((fitness - means[0][:, None]) * (distance - means[1][:, None])).mean(axis=1)
    correlation = covariance / (deviations[0] * deviations[1])
    return dict(zip(_NAMES, (correlation, covariance, means[1], deviations[1], means[0], deviations[0]), strict=True))


FITNESS_DISTANCE = FeatureSet(
    _NAMES,
    _compute,
    undefined="the best points have the same value, or the same distance to the best",
    changed={
        "fitness_distance.fd_cov": "scale",
        "fitness_distance.fitness_mean": "shift and scale",
        "fitness_distance.fitness_std": "scale",
    },
)

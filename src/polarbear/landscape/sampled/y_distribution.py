"""ela_distr: the distribution of the values (Mersmann et al. 2011, section 3.2)."""

from __future__ import annotations

import itertools

import numpy as np

from polarbear.landscape.design import Design
from polarbear.landscape.feature_set import Computed, FeatureSet
from polarbear.records import FloatArray

GRID = 512
"""Number of positions at which the density is computed (R's default)."""
TAILS = 3
"""Number of bandwidths by which these positions extend beyond the values (R's default)."""
_LEAST_MASS = 0.01
"""Minimum share of the values in a peak (flacco's default)."""
_FEWEST = 4
_NAMES = ("ela_distr.skewness", "ela_distr.kurtosis", "ela_distr.number_of_peaks")


def _compute(design: Design, values: FloatArray) -> Computed:
    n = design.size
    if n < _FEWEST:
        return dict.fromkeys(_NAMES, f"{n} points are too few; at least {_FEWEST} are needed")
    centered = values - values.mean(axis=1, keepdims=True)
    sd = centered.std(axis=1, ddof=1)
    skewness = (centered**3).mean(axis=1) / sd**3  # b₁ of Joanes & Gill 1998
    kurtosis = (centered**4).mean(axis=1) / sd**4 - 3  # b₂
    peaks = np.array([_peaks(row) for row in values], dtype=np.float64)
    return dict(zip(_NAMES, (skewness, kurtosis, peaks), strict=True))


def density(values: FloatArray, positions: FloatArray) -> FloatArray:
    """The density of the values at positions, from a Gaussian kernel with Scott's bandwidth, (positions,)."""
    bandwidth = _bandwidth(values)
    scaled = (positions[:, None] - values) / bandwidth
    return np.exp(-0.5 * scaled**2).sum(axis=1) / (len(values) * bandwidth * np.sqrt(2 * np.pi))


def _bandwidth(values: FloatArray) -> float:
    return float(values.std(ddof=1)) * len(values) ** -0.2


def _peaks(values: FloatArray) -> int:
    """Number of parts between valleys of the density that contain more than 1 % of the values."""
    tail = TAILS * _bandwidth(values)
    positions = np.linspace(float(values.min()) - tail, float(values.max()) + tail, GRID)
    heights = density(values, positions)
    inner = heights[1:-1]
    valleys = np.flatnonzero((inner < heights[:-2]) & (inner < heights[2:])) + 1
    edges = [0, *valleys, len(heights)]
    mass = [heights[a:b].mean() * (positions[b - 1] - positions[a]) for a, b in itertools.pairwise(edges)]
    return int((np.array(mass) > _LEAST_MASS).sum())


DISTRIBUTION = FeatureSet(_NAMES, _compute, undefined="the values do not vary")

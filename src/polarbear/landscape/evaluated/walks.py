"""gradient (Malan & Engelbrecht 2013) and length_scale (Morgan & Gallagher 2017): features of random walks."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import entropy, gaussian_kde, levy, moment

from polarbear.landscape.evaluated.counted import Counted
from polarbear.records import FloatArray

_STEPS_PER_VARIABLE = 100
_STEP = 1 / 20
"""Step size, as a share of the box."""
_LEVY_SCALE = 1e-3
_MOST_STEPS = 1000
"""Maximum number of steps; the number of length scales grows with its square."""
_DRAWS = 500


def gradient(function: Counted, points: FloatArray, rng: np.random.Generator) -> dict[str, float]:  # noqa: ARG001
    """Mean and standard deviation of the slopes along a Manhattan walk of 100 · d steps from a corner of the box."""
    width = function.upper - function.lower
    corner = rng.integers(2, size=function.dimension)
    point, sign = np.where(corner == 1, function.upper, function.lower), np.where(corner == 1, -1.0, 1.0)
    walk = [point.copy()]
    for variable in rng.integers(function.dimension, size=_STEPS_PER_VARIABLE * function.dimension - 1):
        step = _STEP * width[variable]
        moved = point[variable] + sign[variable] * step
        if not function.lower[variable] - 1e-9 * step <= moved <= function.upper[variable] + 1e-9 * step:
            sign[variable] *= -1
        point[variable] += sign[variable] * step
        walk.append(np.clip(point, function.lower, function.upper))
    values = function.batch(np.array(walk))
    if np.ptp(values) == 0:
        return {"gradient.g_avg": float("nan"), "gradient.g_std": float("nan")}
    slopes = np.abs(np.diff(values)) / np.ptp(values) / (_STEP * width.min() / width.sum())  # eq. 5
    return {"gradient.g_avg": float(slopes.mean()), "gradient.g_std": float(slopes.std(ddof=1))}


def length_scale(function: Counted, points: FloatArray, rng: np.random.Generator) -> dict[str, float]:  # noqa: ARG001
    """The distribution of |Δf| / |Δx| over all pairs of points of a Lévy walk of 100 · d² steps, at most 1,000."""
    steps = min(_STEPS_PER_VARIABLE * function.dimension**2, _MOST_STEPS)
    directions = rng.normal(size=(steps, function.dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    lengths = levy.rvs(scale=_LEVY_SCALE, size=(steps, 1), random_state=rng)
    point = function.uniform(rng, 1)[0]
    walk = np.empty((steps, function.dimension))
    for i, step in enumerate(lengths * directions):
        walk[i] = point = np.clip(point + step, function.lower, function.upper)
    apart = pdist(walk)
    scales = pdist(function.batch(walk)[:, None])[apart > 0] / apart[apart > 0]
    second, third, fourth = moment(scales, order=[2, 3, 4])
    distribution = {"second": second, "third": third, "fourth": fourth}
    return {
        "length_scale.shanon_entropy": _entropy(scales, rng),
        "length_scale.mean": float(scales.mean()),
        "length_scale.std": float(scales.std(ddof=1)),
        **{f"length_scale.distribution.{name}_moment": float(value) for name, value in distribution.items()},
    }


def _entropy(scales: FloatArray, rng: np.random.Generator) -> float:
    """Entropy, in bits, of the density at 500 uniformly random positions; NaN if the scales do not vary."""
    if np.ptp(scales) <= 1e-9 * np.abs(scales).max():
        return float("nan")
    few = rng.choice(scales, min(len(scales), _MOST_STEPS), replace=False)  # bounds the cost of the density
    return float(entropy(gaussian_kde(few)(rng.uniform(scales.min(), scales.max(), _DRAWS)), base=2))

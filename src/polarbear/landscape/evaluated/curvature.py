"""ela_conv and ela_curv: convexity, gradients and Hessians (Mersmann et al. 2011, sections 3.1 and 3.5)."""

from __future__ import annotations

import numpy as np

from polarbear.landscape.evaluated.counted import Counted, summary
from polarbear.records import FloatArray

_PAIRS = 1000
_LINEAR = 1e-10
"""Deviation up to which a function counts as linear between two points (flacco's default)."""
_POINTS_PER_VARIABLE = 100
_GRADIENT_STEP, _HESSIAN_STEP = np.finfo(float).eps ** (1 / 3), np.finfo(float).eps ** (1 / 4)
"""Steps of central differences, in tenths of the box, that balance rounding and truncation errors."""
_STATISTICS = ("min", "lq", "mean", "med", "uq", "max", "sd")


def ela_conv(function: Counted, points: FloatArray, rng: np.random.Generator) -> dict[str, float]:
    """Deviations of the function from the lines between 1,000 random pairs of points."""
    pairs, weight = rng.integers(len(points), size=(_PAIRS, 2)), rng.random((_PAIRS, 1))
    values = function.batch(points)[pairs]
    between = function.batch(weight * points[pairs[:, 0]] + (1 - weight) * points[pairs[:, 1]])
    above = between - (weight[:, 0] * values[:, 0] + (1 - weight[:, 0]) * values[:, 1])
    return {
        "ela_conv.conv_prob": float((above < -_LINEAR).mean()),
        "ela_conv.lin_prob": float((np.abs(above) <= _LINEAR).mean()),
        "ela_conv.lin_dev_orig": float(above.mean()),
        "ela_conv.lin_dev_abs": float(np.abs(above).mean()),
    }


def ela_curv(function: Counted, points: FloatArray, rng: np.random.Generator) -> dict[str, float]:
    """Lengths and scaling of gradients, and condition numbers of Hessians, at up to 100 · d of the points."""
    count = min(_POINTS_PER_VARIABLE * function.dimension, len(points))
    chosen = points[rng.choice(len(points), count, replace=False)]
    gradients, hessians = _derivatives(function, chosen)
    slopes, curvatures = np.abs(gradients), np.abs(np.linalg.eigvalsh(hessians))
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = {
            "grad_norm": np.linalg.norm(gradients, axis=1),
            "grad_scale": slopes.max(axis=1) / slopes.min(axis=1),
            "hessian_cond": curvatures.max(axis=1) / curvatures.min(axis=1),
        }
    features: dict[str, float] = {}
    for part, values in parts.items():
        features |= summary(values, [f"ela_curv.{part}.{name}" for name in _STATISTICS])
        features[f"ela_curv.{part}.nas"] = float((~np.isfinite(values)).mean())
    return features


def _derivatives(function: Counted, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(m, d) gradients and (m, d, d) Hessians by central differences, at points shifted so that steps stay inside."""
    scale = (function.upper - function.lower) / 10
    small, wide = np.diag(_GRADIENT_STEP * scale), np.diag(_HESSIAN_STEP * scale)
    reach = 2 * wide.diagonal()
    inside = np.clip(points, function.lower + reach, function.upper - reach)
    d = function.dimension

    def at(*steps: FloatArray) -> FloatArray:
        return function.batch(inside + sum(steps))

    gradients = np.stack([(at(h) - at(-h)) / (2 * h.sum()) for h in small], axis=-1)
    hessians = np.empty((len(points), d, d))
    for i, j in zip(*np.triu_indices(d), strict=True):
        a, b = wide[i], wide[j]
        second = (at(a, b) - at(a, -b) - at(-a, b) + at(-a, -b)) / (4 * a.sum() * b.sum())
        hessians[:, i, j] = hessians[:, j, i] = second
    return gradients, hessians

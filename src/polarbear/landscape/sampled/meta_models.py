"""ela_meta: goodness of fit of linear and quadratic models (Mersmann et al. 2011, section 3.3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from polarbear.landscape.design import Design
from polarbear.landscape.feature_set import Computed, FeatureSet
from polarbear.records import FloatArray

_NAMES = (
    "lin_simple.adj_r2",
    "lin_simple.intercept",
    "lin_simple.coef.min",
    "lin_simple.coef.max",
    "lin_simple.coef.max_by_min",
    "lin_w_interact.adj_r2",
    "quad_simple.adj_r2",
    "quad_simple.cond",
    "quad_w_interact.adj_r2",
)


class _Fit(NamedTuple):
    """A least-squares fit to each of k rows of values.

    Attributes:
        coefficients: (k, p) coefficients without the intercept.
        adjusted: (k,) adjusted R².
    """

    coefficients: FloatArray
    adjusted: FloatArray


def _fit(columns: FloatArray, values: FloatArray) -> _Fit | str:
    """Fit y = β₀ + columns · β, (n, p) columns and (k, n) values; or the reason why there are too few points."""
    points, terms = columns.shape
    if points <= terms + 1:
        return f"{points} points are too few for a model of {terms + 1} terms; at least {terms + 2} are needed"
    left, sizes, right = np.linalg.svd(columns - columns.mean(axis=0), full_matrices=False)
    rank = int((sizes > sizes[0] * np.finfo(float).eps * points).sum())
    left, sizes, right = left[:, :rank], sizes[:rank], right[:rank]
    centered = values - values.mean(axis=1, keepdims=True)
    scores = centered @ left
    unexplained = ((centered - scores @ left.T) ** 2).sum(axis=1) / (centered**2).sum(axis=1)
    return _Fit((scores / sizes) @ right, 1 - unexplained * (points - 1) / (points - terms - 1))


def _with_products(columns: FloatArray) -> FloatArray:
    """The columns and all pairwise products of them."""
    first, second = np.triu_indices(columns.shape[1], 1)
    return np.hstack([columns, columns[:, first] * columns[:, second]])


def _compute(design: Design, values: FloatArray) -> Computed:
    linear, squares = design.points, np.hstack([design.points, design.points**2])
    fits = {
        "lin_simple": _fit(linear, values),
        "lin_w_interact": _fit(_with_products(linear), values),
        "quad_simple": _fit(squares, values),
        "quad_w_interact": _fit(_with_products(squares), values),  # includes products with squares
    }
    features: dict[str, FloatArray | str] = {
        f"{name}.adj_r2": fit if isinstance(fit, str) else fit.adjusted for name, fit in fits.items()
    }
    features |= _linear_coefficients(fits["lin_simple"], design, values) | _condition(fits["quad_simple"], design)
    return {f"ela_meta.{name}": features[name] for name in _NAMES}


def _linear_coefficients(fit: _Fit | str, design: Design, values: FloatArray) -> dict[str, FloatArray | str]:
    names = _NAMES[1:5]
    if isinstance(fit, str):
        return dict.fromkeys(names, fit)
    intercept = values.mean(axis=1) - fit.coefficients @ design.points.mean(axis=0)
    sizes = np.abs(fit.coefficients)
    least, most = sizes.min(axis=1), sizes.max(axis=1)
    return dict(zip(names, (intercept, least, most, most / least), strict=True))


def _condition(fit: _Fit | str, design: Design) -> dict[str, FloatArray | str]:
    if isinstance(fit, str):
        return {"quad_simple.cond": fit}
    curvature = np.abs(fit.coefficients[:, design.dimension :])
    return {"quad_simple.cond": curvature.max(axis=1) / curvature.min(axis=1)}


META = FeatureSet(
    tuple(f"ela_meta.{name}" for name in _NAMES),
    _compute,
    undefined="all coefficients are 0",
    changed={
        "ela_meta.lin_simple.intercept": "shift and scale",
        "ela_meta.lin_simple.coef.min": "scale",
        "ela_meta.lin_simple.coef.max": "scale",
    },
)

"""pca: principal components of the points, without and with their values (Kerschke & Trautmann 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np

from polarbear.landscape.design import Design
from polarbear.landscape.feature_set import Computed, FeatureSet
from polarbear.records import FloatArray

_KINDS = ("cov_x", "cor_x", "cov_init", "cor_init")
_NAMES = tuple(f"pca.{feature}.{kind}" for feature in ("expl_var", "expl_var_PC1") for kind in _KINDS)
_EXPLAINED = 0.9
"""Share of the variance explained by the components that `expl_var` counts."""


def _compute(design: Design, values: FloatArray) -> Computed:
    x = np.broadcast_to(np.cov(design.points, rowvar=False), (len(values), design.dimension, design.dimension))
    joint = _joint_covariance(x, design, values)
    matrices = (x, _correlation(x), joint, _correlation(joint))
    explained = [_explained(matrix) for matrix in matrices]
    return dict(zip(_NAMES, [*(share for share, _ in explained), *(first for _, first in explained)], strict=True))


def _joint_covariance(x: FloatArray, design: Design, values: FloatArray) -> FloatArray:
    """(k, d + 1, d + 1) covariances of coordinates and values."""
    centered = values - values.mean(axis=1, keepdims=True)
    joint = np.empty((len(values), design.dimension + 1, design.dimension + 1))
    joint[:, :-1, :-1] = x
    joint[:, :-1, -1] = joint[:, -1, :-1] = centered @ (design.points - design.points.mean(axis=0)) / (design.size - 1)
    joint[:, -1, -1] = values.var(axis=1, ddof=1)
    return joint


def _correlation(covariance: FloatArray) -> FloatArray:
    sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    return covariance / (sd[:, :, None] * sd[:, None, :])


def _explained(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Share of the components that explain 90 % of the variance, and share of the variance explained by the first."""
    defined: Any = np.isfinite(matrix).all(axis=(1, 2))
    sizes = np.linalg.eigvalsh(np.where(defined[:, None, None], matrix, 0.0))[:, ::-1]
    shares = np.where(defined[:, None], sizes / sizes.sum(axis=1, keepdims=True), np.nan)
    needed = (np.cumsum(shares, axis=1) >= _EXPLAINED).argmax(axis=1) + 1
    return np.where(defined, needed / matrix.shape[1], np.nan), shares[:, 0]


PRINCIPAL_COMPONENTS = FeatureSet(
    _NAMES,
    _compute,
    undefined="a variable is the same at all points",
    changed={"pca.expl_var.cov_init": "scale", "pca.expl_var_PC1.cov_init": "scale"},
)

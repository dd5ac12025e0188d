"""limo, cm_angle, cm_conv, cm_grad: cell mapping of the box (Kerschke et al. 2014)."""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from polarbear.landscape.design import Design
from polarbear.landscape.feature_set import Computed, FeatureSet
from polarbear.quantities import plural
from polarbear.records import FloatArray

_LIMO = tuple(
    f"limo.{name}"
    for name in (
        *("avg_length", "avg_length_norm", "length_mean", "length_sd", "cor", "cor_norm", "ratio_mean", "ratio_sd"),
        *("sd_ratio_reg", "sd_ratio_norm", "sd_mean_reg", "sd_mean_norm"),
    )
)
_ANGLE = tuple(
    f"cm_angle.{name}_{statistic}"
    for name in ("dist_ctr2best", "dist_ctr2worst", "angle", "y_ratio_best2worst")
    for statistic in ("mean", "sd")
)
_CONVEXITY = ("cm_conv.convex.hard", "cm_conv.concave.hard", "cm_conv.convex.soft", "cm_conv.concave.soft")
_GRADIENT = ("cm_grad.mean", "cm_grad.sd")
_FEWEST_BLOCKS = 3


def _one_cell(design: Design, names: tuple[str, ...]) -> Computed | None:
    """The reason why a design with a single cell has no cell features; None if there are several cells."""
    if len(design.members) > 1:
        return None
    few = f"{design.size} points in {design.dimension} variables are all in one cell; give blocks, or more points"
    return dict.fromkeys(names, few)


def _linear_models(design: Design, values: FloatArray) -> Computed:
    if few := _one_cell(design, _LIMO):
        return few
    rich = [members for members in design.members if len(members) > design.dimension]
    if len(rich) < 2:
        few = f"cells with more than {plural(design.dimension, 'point')}: {len(rich)}; at least two are needed"
        return dict.fromkeys(_LIMO, few)
    slopes = np.stack([cell_slopes(design, values, members) for members in rich], axis=1)
    return dict(zip(_LIMO, slope_statistics(slopes), strict=True))


def slope_statistics(slopes: FloatArray) -> tuple[FloatArray, ...]:
    """The features of limo, (k,) each, from the slopes (k, cells, d) of linear models."""
    lengths = np.linalg.norm(slopes, axis=2)
    unit = slopes / lengths[..., None]
    sizes = np.abs(slopes)
    ratios = sizes.max(axis=2) / sizes.min(axis=2)
    spread, spread_unit = slopes.std(axis=1, ddof=1), unit.std(axis=1, ddof=1)
    return (
        np.linalg.norm(slopes.mean(axis=1), axis=1),
        np.linalg.norm(unit.mean(axis=1), axis=1),
        lengths.mean(axis=1),
        lengths.std(axis=1, ddof=1),
        _mean_correlation(slopes),
        _mean_correlation(unit),
        ratios.mean(axis=1),
        ratios.std(axis=1, ddof=1),
        spread.max(axis=1) / spread.min(axis=1),
        spread_unit.max(axis=1) / spread_unit.min(axis=1),
        spread.mean(axis=1),
        spread_unit.mean(axis=1),
    )


def cell_slopes(design: Design, values: FloatArray, members: NDArray[np.intp]) -> FloatArray:
    """(k, d) slopes of linear models in a cell."""
    points = design.points[members]
    inverse = cast("FloatArray", np.linalg.pinv(points - points.mean(axis=0)))
    return values[:, members] @ inverse.T


def _mean_correlation(slopes: FloatArray) -> FloatArray:
    """(k,) mean correlation, over cells, between the slopes in two variables; NaN for a single variable."""
    centered = slopes - slopes.mean(axis=1, keepdims=True)
    unit = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    correlations = unit.transpose(0, 2, 1) @ unit
    first, second = np.triu_indices(slopes.shape[2], 1)
    return correlations[:, first, second].sum(axis=1) / (len(first) or np.nan)


def _angles(design: Design, values: FloatArray) -> Computed:
    if few := _one_cell(design, _ANGLE):
        return few
    best = np.stack([members[values[:, members].argmin(axis=1)] for members in design.members], axis=1)  # (k, cells)
    worst = np.stack([members[values[:, members].argmax(axis=1)] for members in design.members], axis=1)
    centers = design.cell_centers[design.cells[best]]
    to_best, to_worst = design.points[best] - centers, design.points[worst] - centers
    lengths = np.linalg.norm(to_best, axis=2), np.linalg.norm(to_worst, axis=2)
    product = lengths[0] * lengths[1]
    cosine = (to_best * to_worst).sum(axis=2) / np.where(product > 0, product, 1)
    flat = (product == 0) | (design.points[best] == design.points[worst]).all(axis=2)
    angle = np.where(flat, 0, np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    rise = np.take_along_axis(values, worst, axis=1) - np.take_along_axis(values, best, axis=1)
    share = rise / np.ptp(values, axis=1)[:, None]
    statistics = [f for part in (*lengths, angle, share) for f in (part.mean(axis=1), part.std(axis=1, ddof=1))]
    return dict(zip(_ANGLE, statistics, strict=True))


def _convexity(design: Design, values: FloatArray) -> Computed:
    if min(design.blocks) < _FEWEST_BLOCKS:
        fewest = 3 * _FEWEST_BLOCKS**design.dimension
        few = f"{_FEWEST_BLOCKS} blocks per variable are needed: give {fewest} points, or blocks={_FEWEST_BLOCKS}"
        return dict.fromkeys(_CONVEXITY, few)
    _, representative = KDTree(design.points).query(design.cell_centers)
    return dict(zip(_CONVEXITY, bends(values[:, representative], cells_in_line(design)), strict=True))


def cells_in_line(design: Design) -> NDArray[np.intp]:
    """(t, 3) all triples of consecutive cells along a variable's direction."""
    coordinates = np.indices(design.blocks[::-1]).reshape(design.dimension, -1)[::-1]
    lines = [
        np.flatnonzero((coordinate > 0) & (coordinate < blocks - 1))[:, None] + [-stride, 0, stride]
        for coordinate, blocks, stride in zip(coordinates, design.blocks, design.strides, strict=True)
    ]
    return np.concatenate(lines)


def bends(heights: FloatArray, lines: NDArray[np.intp]) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Share of lines whose middle lies below both ends, above both, below their mean, above their mean, (k,) each.

    Args:
        heights: (k, c) value of the point nearest to each cell's centre.
        lines: (t, 3) triples of consecutive cells.
    """
    ends, middle = heights[:, lines[:, [0, 2]]], heights[:, lines[:, 1]]
    mean = ends.mean(axis=2)
    parts = (middle < ends.min(axis=2), middle > ends.max(axis=2), middle < mean, middle > mean)
    convex, concave, below, above = (part.mean(axis=1) for part in parts)
    return convex, concave, below, above


def _gradients(design: Design, values: FloatArray) -> Computed:
    if few := _one_cell(design, _GRADIENT):
        return few
    rich = [members for members in design.members if len(members) > 2]
    if len(rich) < 2:
        return dict.fromkeys(_GRADIENT, f"cells with more than 2 points: {len(rich)}; at least two are needed")
    lengths = np.stack([_homogeneity(design, values, members) for members in rich], axis=1)
    return dict(zip(_GRADIENT, (lengths.mean(axis=1), lengths.std(axis=1, ddof=1)), strict=True))


def _homogeneity(design: Design, values: FloatArray, members: NDArray[np.intp]) -> FloatArray:
    """(k,) length of the mean of unit vectors between each point of a cell and its nearest one there, uphill."""
    distances = design.distances[np.ix_(members, members)]
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argmin(axis=1)
    apart = distances[np.arange(len(members)), nearest]
    steps = design.points[members[nearest]] - design.points[members]
    unit = np.where(apart[:, None] > 0, steps / np.where(apart > 0, apart, 1)[:, None], 0)
    downhill = values[:, members] > values[:, members[nearest]]
    return np.linalg.norm(np.where(downhill, -1.0, 1.0) @ unit, axis=1) / len(members)


LINEAR_MODELS = FeatureSet(
    _LIMO,
    _linear_models,
    undefined="there is only one variable, or a slope is 0 in a cell or the same in all cells",
    changed=dict.fromkeys(("limo.avg_length", "limo.length_mean", "limo.length_sd", "limo.sd_mean_reg"), "scale"),
)
ANGLES = FeatureSet(_ANGLE, _angles, undefined="there is only one cell")
CONVEXITY = FeatureSet(_CONVEXITY, _convexity, undefined="there are no three cells in line")
GRADIENT_HOMOGENEITY = FeatureSet(_GRADIENT, _gradients, undefined="there is only one cell")

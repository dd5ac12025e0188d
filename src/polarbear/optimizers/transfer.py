"""The distribution or population that an optimizer starts from when it takes over from another one."""

from __future__ import annotations

import math

import numpy as np

from polarbear.optimizers.archives import center_of
from polarbear.protocols import Box, WarmStart
from polarbear.records import FloatArray

_SELECTED = 3
"""Number of best points that form a distribution if the first optimizer has none (Vermetten 2025, section 5.4)."""
_FRESH_STEP = 0.2
"""Initial σ of a fresh search, in box widths."""
_LEAST_SPREAD = 1e-5
"""Smallest spread, in box widths, of a search distribution; anything less is one point or its finite differences."""
_LEAST_STEP = 1e-10
"""Smallest σ, in box widths, of a distribution that comes from the first optimizer itself."""
_REDUCED, _ZETA = 0.1, 2.0
"""Multi-level single linkage: the share of points where local searches may start, and ζ (Vermetten 2025, 5.3)."""
_WORST_CONDITION = 1e14
"""Largest condition number of a covariance matrix; eigenvalues that are too small are raised."""


def distribution_of(start: WarmStart, box: Box) -> tuple[FloatArray, float, FloatArray]:
    """The mean (d,) in the problem's coordinates, and σ and the covariance matrix C (d, d) in box widths.

    If `start` holds no distribution, the mean is that of the three best points known, σ their standard deviation, and
    C = I. If there is only one point, or the points are as close together as those of finite differences, their spread
    says nothing about the distance to the optimum: the mean is then the best point and σ = 0.2, as in a fresh start.
    Without points, the mean is the box's centre.
    """
    width = box.upper - box.lower
    if start.mean is not None and start.step_size is not None and np.isfinite(start.mean).all():
        covariance = np.diag(width**2) if start.covariance is None else start.covariance
        return start.mean, max(start.step_size, _LEAST_STEP), _conditioned(covariance / np.outer(width, width))
    points, values = known_points(start, box)
    if not len(points):
        return center_of(box), _FRESH_STEP, np.eye(len(width))
    selected = points[np.argsort(values, kind="stable")[:_SELECTED]]
    mean = selected.mean(axis=0)
    spread = float(np.linalg.norm((selected - mean) / width)) / np.sqrt(selected.size)
    return mean if spread >= _LEAST_SPREAD else selected[0], step_size_of(spread), np.eye(len(width))


def step_size_of(spread: float) -> float:
    """σ in box widths, from the spread of the points or steps of a search; 0.2 if that is too small to search with."""
    return spread if spread >= _LEAST_SPREAD else _FRESH_STEP


def known_points(start: WarmStart, box: Box) -> tuple[FloatArray, FloatArray]:
    """Known points (m, d), in the box, and their values (m,), the latest last: the population, else the best point."""
    if start.population is not None and start.values is not None and start.values.ndim == 1:
        return np.clip(start.population, box.lower, box.upper), start.values
    if start.best is None or start.value is None:
        return np.empty((0, len(box.lower))), np.empty(0)
    return np.clip(start.best[np.newaxis], box.lower, box.upper), np.array([start.value])


def first_point(start: WarmStart | None, box: Box, rng: np.random.Generator) -> FloatArray:
    """(d,) the best point known, clipped to the box; without one, a uniformly random point of the box."""
    if start is None or start.best is None:
        return rng.uniform(box.lower, box.upper)
    return np.clip(start.best, box.lower, box.upper)


def search_starts(start: WarmStart, box: Box) -> FloatArray:
    """(k, d) starting points of local searches by multi-level single linkage, among the points known, the best first.

    They are those of the tenth of the points with the lowest values that have no better point within the critical
    distance r = π^(-1/2) (Γ(1 + d/2) ζ ln(m) / m)^(1/d), in box widths, where m is the number of points (Rinnooy Kan &
    Timmer 1987, part II).
    """
    points, values = known_points(start, box)
    m, d = points.shape
    if not m:
        return points
    order = np.argsort(values, kind="stable")
    in_widths = ((points - box.lower) / (box.upper - box.lower))[order]
    distance = (math.gamma(1 + d / 2) * _ZETA * math.log(m) / m) ** (1 / d) / math.sqrt(math.pi)
    reduced = range(math.ceil(_REDUCED * m))
    alone = [i for i in reduced if not (np.linalg.norm(in_widths[:i] - in_widths[i], axis=1) <= distance).any()]
    return points[order[alone]]


def _conditioned(covariance: FloatArray) -> FloatArray:
    """A covariance matrix whose condition number is at most `_WORST_CONDITION`."""
    eigenvalues, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    raised = np.maximum(eigenvalues, eigenvalues[-1] / _WORST_CONDITION)
    return (vectors * raised) @ vectors.T

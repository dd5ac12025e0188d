"""The posterior of one or two hyperparameters: an adaptive grid around its mode, and a density through it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from polarbear.records import FloatArray, IntArray

Evaluate = Callable[[FloatArray], FloatArray]
"""Maps points (K, p) to their log-densities (K,), up to a constant; −inf where they cannot be computed."""

_MAX_STEPS = 12
_CAUTION = 0.7
"""The first stencil is smaller than the prior's spread by this factor."""
_LONGEST_STEP = 2.0
_NARROWEST, _WIDEST = 25.0, 1 / 9
"""Limits of the curvature in one step: axes shrink to a fifth, or grow to three times their length, at most."""
_SPACING = {1: 0.75, 2: 1.0}
"""Grid spacing by the number of hyperparameters, in posterior standard deviations."""
_DROP = 8.0
"""The grid ends where the log-density has fallen this far below its largest value."""
_MAX_POINTS = 160
_CELLS = 8
"""Number of cells per grid spacing in each direction; the density is constant on each."""
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Coordinates u = centre + axes @ v in which the posterior is about standard normal."""

    centre: FloatArray
    axes: FloatArray

    @classmethod
    def around(cls, mean: FloatArray, spread: FloatArray) -> Frame:
        """Initial coordinates, from a prior mean (p,) and standard deviations (p,)."""
        return cls(mean, np.diag(_CAUTION * spread))

    def outside(self, v: FloatArray) -> FloatArray:
        """(K, p) points u for points v."""
        return self.centre + v @ self.axes.T


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Points drawn from the density.

    Attributes:
        points: (K, p) points.
        log_density: (K,) log-density they were drawn from, up to a constant.
        within: (K, p) points in the frame's coordinates.
        blend: (K, G) weights that interpolate anything smooth from the G grid points.
    """

    points: FloatArray
    log_density: FloatArray
    within: FloatArray
    blend: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """A density through the log-densities at grid points.

    Attributes:
        frame: The grid's coordinates.
        grid: (G, p) grid points, multiples of the spacing, in the frame's coordinates.
        values: (G,) log-densities.
        spacing: Distance between neighbouring grid points.
    """

    frame: Frame
    grid: FloatArray
    values: FloatArray
    spacing: float

    @property
    def inside(self) -> FloatArray:
        """(G', p) grid points where the density is not negligible."""
        return self.grid[self.values > self.values.max() - _DROP]

    def draw(self, number: int, rng: np.random.Generator) -> Drawn:
        """Draw evenly spread points: a randomly shifted lattice, mapped by inverse distribution functions.

        The log-density is interpolated by cubes of distances and a parabola, which is exact for a normal density, and
        taken as constant on small cells.
        """
        p = self.grid.shape[1]
        ticks = (np.arange(_CELLS) + 0.5) / _CELLS - 0.5
        offsets = _product(ticks * self.spacing, p)
        cells = (self.inside[:, np.newaxis] + offsets).reshape(-1, p)
        interpolation = _Interpolation(self.grid)
        heights = interpolation.of_values(self.values, cells)
        mass = np.exp(heights - heights.max())
        column = np.rint((cells[:, 0] / self.spacing + 0.5) * _CELLS - 0.5).astype(np.int64)
        order = np.lexsort((cells[:, -1], column))
        shift = rng.random(2)
        first = (np.arange(number) + shift[0]) / number
        second = (np.arange(number) * _GOLDEN + shift[1]) % 1.0
        chosen = order[_two_stage(mass[order], column[order], first, second)]
        jitter = (rng.random((number, p)) - 0.5) * (self.spacing / _CELLS)
        within = cells[chosen] + jitter
        return Drawn(self.frame.outside(within), heights[chosen], within, interpolation.weights(within))


def _two_stage(mass: FloatArray, column: IntArray, first: FloatArray, second: FloatArray) -> NDArray[np.intp]:
    """Indices drawn with probability `mass`: `first` chooses the column, `second` the entry in it."""
    begin = np.flatnonzero(np.diff(column, prepend=column[0] - 1))
    end = np.append(begin[1:], mass.size)
    cumulative = np.concatenate((np.zeros(1), np.cumsum(mass)))
    levels: FloatArray = first * cumulative[-1]
    chosen = np.minimum(np.searchsorted(cumulative[end], levels, side="right"), begin.size - 1)
    low, high = cumulative[begin[chosen]], cumulative[end[chosen]]
    entry = np.searchsorted(cumulative, low + second * (high - low), side="right") - 1
    return np.clip(entry, begin[chosen], end[chosen] - 1)


def explore(evaluate: Evaluate, frame: Frame, *, radius: int = 0) -> Marginal:
    """Evaluate a log-density on a grid around its mode.

    Args:
        evaluate: The log-density.
        frame: The mode and its curvature, as found by `locate`.
        radius: Distance from the mode, in grid points, within which all values are computed together; beyond it they
            are computed from neighbour to neighbour.
    """
    spacing = _SPACING[frame.centre.size]
    while True:
        grid, values = _flood(lambda v: evaluate(frame.outside(v)), frame.centre.size, spacing, radius)
        if len(grid) < _MAX_POINTS:
            finite = np.isfinite(values)
            return Marginal(frame, grid[finite], values[finite], spacing)
        spacing *= 1.5


def locate(evaluate: Evaluate, frame: Frame) -> Frame:
    """Find the mode of a log-density, and its curvature.

    Newton's method on parabolas fitted to the log-density at points a standard deviation apart.

    Args:
        evaluate: The log-density.
        frame: The coordinates to start from.

    Raises:
        numpy.linalg.LinAlgError: If the log-density cannot be computed around the mode.
    """
    p = frame.centre.size
    stencil = _product(np.array([-1.0, 0.0, 1.0]), p)
    for _ in range(_MAX_STEPS):
        values = evaluate(frame.outside(stencil))
        finite = np.isfinite(values)
        if finite.sum() < len(stencil) - 1:
            raise np.linalg.LinAlgError("the posterior of the hyperparameters cannot be computed")
        fitted = np.linalg.lstsq(_parabola(stencil[finite]), values[finite], rcond=None)[0]
        gradient, hessian = fitted[1 : p + 1], np.zeros((p, p))
        hessian[np.triu_indices(p)] = fitted[p + 1 :]
        curvatures, directions = np.linalg.eigh(-(hessian + hessian.T))
        curvatures = np.clip(curvatures, _WIDEST, _NARROWEST)
        step = directions @ ((directions.T @ gradient) / curvatures)
        step *= min(1.0, _LONGEST_STEP / max(float(np.linalg.norm(step)), 1e-12))
        frame = Frame(frame.centre + frame.axes @ step, frame.axes @ (directions / np.sqrt(curvatures)))
        if np.linalg.norm(step) < 0.5 and curvatures.min() > 0.5 and curvatures.max() < 2.0:
            break
    return frame


def _flood(evaluate: Evaluate, p: int, spacing: float, radius: int) -> tuple[FloatArray, FloatArray]:
    """Grid points (G, p) and their values (G,): points whose value is near the largest, and all their neighbours."""
    known: dict[tuple[int, ...], float] = {}
    front: Iterable[tuple[int, ...]] = itertools.product(range(-radius, radius + 1), repeat=p)
    while front:
        batch = list(front)
        known |= zip(batch, evaluate(spacing * np.array(batch, dtype=np.float64)).tolist(), strict=True)
        limit = max(known.values()) - _DROP
        high = [point for point, value in known.items() if value > limit]
        front = sorted({neighbour for point in high for neighbour in _neighbours(point)} - known.keys())
        if len(known) >= _MAX_POINTS:
            break
    return spacing * np.array(list(known), dtype=np.float64), np.array(list(known.values()))


def _neighbours(point: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [(*point[:axis], point[axis] + step, *point[axis + 1 :]) for axis in range(len(point)) for step in (-1, 1)]


class _Interpolation:
    """A function's values at points (K, p) from its values at grid points (G, p): cubes of distances and a parabola.

    That is about the smoothest of all functions through the values.
    """

    def __init__(self, grid: FloatArray) -> None:
        self._grid, terms = grid, _parabola(grid)
        self._keep = _independent(terms)
        size = len(grid)
        self._system = np.zeros((size + self._keep.size, size + self._keep.size))
        self._system[:size, :size] = _cubes(grid, grid)
        self._system[:size, size:], self._system[size:, :size] = terms[:, self._keep], terms[:, self._keep].T

    def of_values(self, values: FloatArray, points: FloatArray) -> FloatArray:
        """(K,) interpolated values from values (G,)."""
        right = np.concatenate([values, np.zeros(self._keep.size)])
        return self._at(points) @ np.asarray(np.linalg.solve(self._system, right), dtype=np.float64)

    def weights(self, points: FloatArray) -> FloatArray:
        """(K, G) weights of the values at the grid points."""
        weights = np.asarray(np.linalg.solve(self._system, self._at(points).T), dtype=np.float64)
        return weights.T[:, : len(self._grid)]

    def _at(self, points: FloatArray) -> FloatArray:
        return np.concatenate([_cubes(points, self._grid), _parabola(points)[:, self._keep]], axis=1)


def _independent(terms: FloatArray) -> IntArray:
    """Indices of linearly independent columns: on a small grid, squares may be constant."""
    chosen: list[int] = []
    for column in range(terms.shape[1]):
        if np.linalg.matrix_rank(terms[:, [*chosen, column]]) > len(chosen):
            chosen.append(column)
    return np.array(chosen, dtype=np.int64)


def _parabola(points: FloatArray) -> FloatArray:
    """(K, terms) 1, the coordinates, and the products of two coordinates."""
    first, second = np.triu_indices(points.shape[1])
    return np.concatenate([np.ones((len(points), 1)), points, points[:, first] * points[:, second]], axis=1)


def _cubes(points: FloatArray, grid: FloatArray) -> FloatArray:
    squares = np.square(points[:, np.newaxis] - grid).sum(axis=2)
    return squares * np.sqrt(squares)


def _product(values: FloatArray, p: int) -> FloatArray:
    """(m^p, p) all tuples of values (m,)."""
    return np.array(list(itertools.product(values.tolist(), repeat=p)))

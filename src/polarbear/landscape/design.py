"""The points at which a function was evaluated, and what features need of the points alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import KDTree
from scipy.spatial.distance import pdist, squareform

from polarbear.records import FloatArray
from polarbear.validation import whole_number

NEIGHBOURS = 20
"""Size of the neighbourhood, including the point itself, that a tour searches before all points (Muñoz et al. 2015)."""
NEIGHBOUR_SHARE = 0.05
"""Share of the points that is searched first for a nearest better one (flacco's default)."""
POINTS_PER_CELL = 3
"""Minimum mean number of points per cell if the number of blocks is not given (Kerschke et al. 2014)."""
MOST_CELLS = 1_000_000


class Design:
    """Points in a box; what depends on them alone is computed once for all functions evaluated there.

    Memory grows with the square of the number of points.

    Args:
        points: (n, d) points.
        lower: Lower bounds of the box, scalar or (d,); default the smallest coordinates.
        upper: Upper bounds of the box, scalar or (d,); default the largest coordinates.
        blocks: Number of blocks into which each variable is divided for cell mapping, scalar or one per variable;
            default as many as leave three points per cell on average.
        start: Index of the point where the tour of information content starts.

    Raises:
        ValueError: If the points are not (n, d) finite numbers with n ≥ 2, or lie outside the box; if a bound, a number
            of blocks or the start is out of range; or if all points are equal.
    """

    def __init__(
        self,
        points: ArrayLike,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        *,
        blocks: int | Sequence[int] | None = None,
        start: int = 0,
    ) -> None:
        self.points = _checked_points(points)
        self.size, self.dimension = self.points.shape
        self.lower = _bounds(self.points.min(axis=0) if lower is None else lower, self.dimension, "lower")
        self.upper = _bounds(self.points.max(axis=0) if upper is None else upper, self.dimension, "upper")
        outside = ((self.points < self.lower) | (self.points > self.upper)).any(axis=1)
        if outside.any():
            position = int(outside.argmax())
            raise ValueError(f"point {position}, {self.points[position]}, lies outside the box; widen lower and upper")
        self.start = whole_number(start, "start", 0, self.size - 1)
        self.blocks = self._blocks(blocks)

    def _blocks(self, blocks: int | Sequence[int] | None) -> tuple[int, ...]:
        if blocks is None:
            most = (self.size / POINTS_PER_CELL) ** (1 / self.dimension)
            return (max(math.floor(most + 1e-9), 1),) * self.dimension
        numbers = [blocks] * self.dimension if isinstance(blocks, int) else list(blocks)
        checked = tuple(whole_number(number, f"blocks[{i}]", 1) for i, number in enumerate(numbers))
        if len(checked) != self.dimension:
            raise ValueError(f"blocks has {len(checked)} numbers; give one, or {self.dimension}, one for each variable")
        if (cells := math.prod(checked)) > MOST_CELLS:
            raise ValueError(f"blocks={blocks} makes {cells:,} cells; choose fewer, {MOST_CELLS:,} at most")
        return checked

    @cached_property
    def distances(self) -> FloatArray:
        """(n, n) Euclidean distances between the points."""
        return squareform(pdist(self.points))

    @cached_property
    def _nearest(self) -> tuple[NDArray[np.intp], FloatArray]:
        wanted = max(NEIGHBOURS, math.ceil(NEIGHBOUR_SHARE * self.size))
        answer = KDTree(self.points).query(self.points, k=min(wanted, self.size - 1) + 1)
        distances, indices = cast("tuple[FloatArray, NDArray[np.intp]]", answer)
        itself = indices == cast("NDArray[np.intp]", np.arange(self.size))[:, None]
        itself[~itself.any(axis=1), -1] = True  # among many equal points, it need not be one of the nearest
        others = ~itself
        return indices[others].reshape(self.size, -1), distances[others].reshape(self.size, -1)

    @property
    def neighbours(self) -> NDArray[np.intp]:
        """(n, m) indices of each point's nearest other points, nearest first."""
        return self._nearest[0]

    @property
    def neighbour_distances(self) -> FloatArray:
        """(n, m) distances of the `neighbours`."""
        return self._nearest[1]

    @cached_property
    def tour(self) -> NDArray[np.intp]:
        """(n,) indices of the points in the order of a nearest-neighbour tour (Muñoz et al. 2015)."""
        open_points = np.ones(self.size, dtype=bool)
        tour = [self.start]
        open_points[self.start] = False
        for _ in range(self.size - 1):
            near = self.neighbours[tour[-1], : NEIGHBOURS - 1]
            left = open_points[near]
            if left.any():
                following = int(near[left.argmax()])
            else:
                candidates = np.flatnonzero(open_points)
                following = int(candidates[self.distances[tour[-1], candidates].argmin()])
            tour.append(following)
            open_points[following] = False
        return np.array(tour)

    @cached_property
    def cells(self) -> NDArray[np.intp]:
        """(n,) cell of each point; cells are numbered with the first variable's block varying fastest."""
        width = (self.upper - self.lower) / self.blocks
        width[width == 0] = 1.0  # a variable of zero extent has one block
        block = np.floor((self.points - self.lower) / width).astype(np.intp)
        block = np.minimum(block, np.array(self.blocks) - 1)  # the upper bound belongs to the last block
        return block @ self.strides

    @property
    def strides(self) -> NDArray[np.intp]:
        """(d,) increment of the cell number from one block of a variable to the next."""
        return np.cumprod([1, *self.blocks[:-1]])

    @cached_property
    def cell_centers(self) -> FloatArray:
        """(c, d) centre of every cell, in the order of cell numbers."""
        width = (self.upper - self.lower) / self.blocks
        coordinates = np.indices(self.blocks[::-1]).reshape(self.dimension, -1)[::-1].T
        return self.lower + (coordinates + 0.5) * width

    @cached_property
    def members(self) -> list[NDArray[np.intp]]:
        """Indices of the points in each non-empty cell, in the order of cell numbers."""
        order = np.argsort(self.cells, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.cells[order])) + 1)


def _checked_points(points: ArrayLike) -> FloatArray:
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[0] < 2 or array.shape[1] < 1:
        raise ValueError(f"X has shape {array.shape}; give (n, d) points, n ≥ 2")
    if not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise ValueError(f"X[{row}] is {array[row]}; leave out points that are not finite")
    if (array == array[0]).all():
        raise ValueError("all points of X are equal; features need points that differ")
    return array


def _bounds(bounds: ArrayLike, dimension: int, name: str) -> FloatArray:
    array = np.asarray(bounds, dtype=np.float64)
    if array.shape not in {(), (dimension,)} or not np.isfinite(array).all():
        raise ValueError(f"{name} is {bounds}; give a finite number, or {dimension}, one for each variable")
    return np.broadcast_to(array, (dimension,))

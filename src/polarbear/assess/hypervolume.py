"""The multiobjective quality indicator I_HV+ (Hansen et al. 2022, appendix), computed incrementally."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from importlib import import_module
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.assess.arrays import floats
from polarbear.records import FloatArray


class HypervolumeIndicator:
    """I_HV+ of a growing archive: minus the normalized hypervolume, or the distance to the region of interest.

    Objectives are normalized such that the ideal point becomes 0 and the nadir point 1 in each. As soon as a solution
    lies at or below the nadir point in all objectives, the indicator is minus the hypervolume that the archive
    dominates up to the nadir point; before that, the Euclidean distance of the nearest solution to the region between
    both points.
    """

    def __init__(self, ideal: ArrayLike, nadir: ArrayLike):
        """Start with an empty archive.

        Args:
            ideal: (objectives,) smallest value of each objective by itself.
            nadir: (objectives,) largest value of each objective among Pareto-optimal solutions.

        Raises:
            ValueError: If there are fewer than 2 objectives, or the ideal point is not below the nadir point.
        """
        self._ideal, self._nadir = floats(ideal), floats(nadir)
        if self._ideal.ndim != 1 or self._ideal.size < 2 or self._ideal.shape != self._nadir.shape:
            raise ValueError(
                f"ideal is {ideal!r} and nadir is {nadir!r}; give one number for each of 2 or more objectives"
            )
        if not (self._ideal < self._nadir).all() or not np.isfinite([self._ideal, self._nadir]).all():
            raise ValueError(f"ideal is {ideal!r} and nadir is {nadir!r}; ideal must be below nadir in every objective")
        self._archive = _Staircase() if self._ideal.size == 2 else _Front(self._ideal.size)
        self._distance = np.inf

    @property
    def value(self) -> float:
        """I_HV+ of the solutions so far, to be minimized; inf if there are none."""
        return self._distance if self._distance > 0 else -self._archive.volume

    @property
    def archive(self) -> FloatArray:
        """(solutions, objectives) nondominated objective values, in lexicographic order."""
        points, _ = self._archive.in_order()
        return self._ideal + points * (self._nadir - self._ideal)

    @property
    def kept(self) -> list[Any]:
        """The object given with each solution of `archive`, in the same order."""
        return self._archive.in_order()[1]

    def add(self, objectives: ArrayLike, keep: Any = None) -> float:
        """Add one solution and return the indicator.

        Args:
            objectives: (objectives,) objective values of the solution.
            keep: Any object to keep with it, such as the solution itself; the first of equal solutions is kept.

        Raises:
            ValueError: If there is not one number per objective, or one is NaN.
        """
        values = floats(objectives)
        if values.shape != self._ideal.shape or np.isnan(values).any():
            raise ValueError(f"objectives are {objectives!r}; give {self._ideal.size} numbers, none of them NaN")
        point = (values - self._ideal) / (self._nadir - self._ideal)
        if self._distance > 0:
            outside = point - np.clip(point, 0.0, 1.0)
            nearest = 0.0 if (point <= 1).all() else float(np.linalg.norm(outside))
            self._distance = min(self._distance, nearest)
        self._archive.add(point, keep)
        return self.value


def hypervolume_indicator(objectives: ArrayLike, ideal: ArrayLike, nadir: ArrayLike) -> FloatArray:
    """I_HV+ after each solution of a sequence; see `HypervolumeIndicator`.

    Args:
        objectives: (t, objectives) objective values of the solutions in the order in which they were found.
        ideal: (objectives,) smallest value of each objective by itself.
        nadir: (objectives,) largest value of each objective among Pareto-optimal solutions.

    Returns:
        (t,) indicator values, never increasing.

    Raises:
        ValueError: If shapes do not match, a value is NaN, or the ideal point is not below the nadir point.
    """
    points = floats(objectives)
    if points.ndim != 2:
        raise ValueError(f"objectives have shape {points.shape}; they must be (t, objectives)")
    indicator = HypervolumeIndicator(ideal, nadir)
    return np.array([indicator.add(point) for point in points])


def unite_archives(archives: Sequence[ArrayLike]) -> FloatArray:
    """The nondominated solutions of several archives: a better approximation of the Pareto front.

    Archives of many algorithms are united to obtain better reference values (Hansen et al. 2022, appendix); minus the
    `hypervolume_indicator` of the result after its last point is the reference hypervolume.

    Args:
        archives: Arrays (solutions, objectives) of objective values, minimized.

    Returns:
        (solutions, objectives) nondominated values without duplicates, in lexicographic order.

    Raises:
        ValueError: If there are no archives, numbers of objectives differ, or a value is NaN.
    """
    tables = [floats(archive) for archive in archives]
    if not tables or any(table.ndim != 2 or table.shape[1:] != tables[0].shape[1:] for table in tables):
        raise ValueError(
            f"archives have shapes {[table.shape for table in tables]}; give at least one, each (solutions, objectives)"
        )
    points = np.unique(np.concatenate(tables), axis=0)
    if np.isnan(points).any():
        raise ValueError("an archive contains NaN; leave out solutions with NaN")
    moocore: Any = import_module("moocore")
    return points[moocore.is_nondominated(points)] if len(points) else points


class _Staircase:
    """Two objectives: solutions sorted by the first, so that the second decreases; a search costs O(log n)."""

    def __init__(self) -> None:
        self.volume = 0.0
        self._x: list[float] = []
        self._y: list[float] = []
        self._items: list[Any] = []

    def add(self, point: FloatArray, item: Any) -> None:
        x, y = map(float, point)
        before = bisect_right(self._x, x)
        if before and self._y[before - 1] <= y:
            return
        begin = end = bisect_left(self._x, x)
        while end < len(self._y) and self._y[end] >= y:
            end += 1
        self.volume += self._gain(x, y, begin, end)
        self._x[begin:end], self._y[begin:end], self._items[begin:end] = [x], [y], [item]

    def in_order(self) -> tuple[FloatArray, list[Any]]:
        return np.column_stack([self._x, self._y]), list(self._items)

    def _gain(self, x: float, y: float, begin: int, end: int) -> float:
        """The area added by a new point: left to right over the points it replaces, up to the next one or the edge."""
        ceiling = min(self._y[begin - 1], 1.0) if begin else 1.0
        gain, left = 0.0, x
        corners = [*zip(self._x[begin : end + 1], self._y[begin : end + 1], strict=True), (1.0, 0.0)]
        for corner, floor in corners[: end - begin + 1]:
            right = min(corner, 1.0)
            gain += max(right - left, 0.0) * max(ceiling - y, 0.0)
            ceiling, left = min(floor, 1.0), max(right, left)
        return gain


class _Front:
    """Any number of objectives: the volume added by a point is its box minus the part the archive covers."""

    def __init__(self, objectives: int) -> None:
        self.volume = 0.0
        self._points = np.empty((0, objectives))
        self._items: list[Any] = []

    def add(self, point: FloatArray, item: Any) -> None:
        if (self._points <= point).all(axis=1).any():
            return
        if (point < 1).all():
            self.volume += float(np.prod(1 - point)) - self._covered(point)
        remains: NDArray[np.bool_] = ~np.all(point <= self._points, axis=1)
        self._points = np.concatenate([self._points[remains], point[None]])
        self._items = [*compress(self._items, remains.tolist()), item]

    def in_order(self) -> tuple[FloatArray, list[Any]]:
        order = np.lexsort(self._points.T[::-1])
        return self._points[order], [self._items[i] for i in order]

    def _covered(self, point: FloatArray) -> float:
        moocore: Any = import_module("moocore")
        inside = self._points[(self._points < 1).all(axis=1)]
        if not inside.size:
            return 0.0
        return float(moocore.hypervolume(np.maximum(inside, point), ref=np.ones(point.size)))

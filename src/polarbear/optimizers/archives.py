"""The best points of a run: one point for one objective, the nondominated points for several."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polarbear.protocols import Box, traits_of
from polarbear.records import FloatArray

FRONT_BLOCK = 256
"""Number of calls of `Front.keep` after which dominated points are removed."""


def constraint_values(problem: Any) -> Callable[[Any], FloatArray] | None:
    """The function that returns the (c,) constraint values of a point; None if there are no constraints."""
    return getattr(problem, "constraints", None) if traits_of(problem).constraints else None


def center_of(box: Box) -> FloatArray:
    """(d,) the centre of a box."""
    return (np.asarray(box.lower) + np.asarray(box.upper)) / 2


def has_nan(values: FloatArray) -> bool:
    """Whether a value is NaN."""
    return bool(values.size) and math.isnan(values.flat[values.argmin()])  # NaN counts as the minimum


class Best:
    """The best point evaluated, on a problem of one objective.

    A feasible point is better than any infeasible one; of two infeasible points, the one with the smaller sum of
    constraint violations is better (Deb, 2000).

    Args:
        problem: The problem.
        feasible_first: Whether constraints are taken into account.

    Attributes:
        bar: The value that a better point must be below; +inf while no point is feasible.
    """

    __slots__ = ("_constraints", "_point", "_rank", "bar")

    def __init__(self, problem: Any, *, feasible_first: bool = True) -> None:
        self._constraints = constraint_values(problem) if feasible_first else None
        self._point = center_of(problem)
        self._rank = math.inf, math.inf
        self.bar = math.inf

    def keep(self, x: FloatArray, value: Any) -> None:
        """Keep a point (d,), or the best of a batch (m, d), if it is better.

        With constraints, `x` must be the point evaluated last, whose constraint values cost no evaluation.
        """
        if np.ndim(value):
            row = value.argmin()
            x, value = x[row], float(value[row])
        if not value < self.bar:
            return
        violation = 0.0 if self._constraints is None else _violation(self._constraints(x))
        if (violation, value) < self._rank:
            self._rank, self._point = (violation, value), np.array(x)
            self.bar = math.inf if violation else value

    def recommended(self, _: object = None) -> FloatArray:
        """(d,) the best point; the box's centre while no value is below +inf."""
        return self._point


class Front:
    """The nondominated points evaluated, on a problem of several objectives.

    Infeasible points are left out; while no point is feasible, only the one with the smallest sum of violations is
    kept. Points with a non-finite objective value are left out as well.

    Args:
        problem: The problem.
    """

    __slots__ = ("_center", "_constraints", "_least_violation", "_new", "_points", "_values")

    def __init__(self, problem: Any) -> None:
        self._constraints = constraint_values(problem)
        self._center = center_of(problem)
        self._least_violation = math.inf
        self._points = np.empty((0, problem.dimension))
        self._values = np.empty((0, traits_of(problem).objectives))
        self._new: list[tuple[FloatArray, FloatArray]] = []

    def keep(self, x: FloatArray, values: Any) -> None:
        """Add points (d,) or (m, d) of values (k,) or (m, k); with constraints, one by one, right after evaluation."""
        if self._constraints is not None:
            violation = _violation(self._constraints(x))
            if self._least_violation:
                if not violation < self._least_violation:
                    return
                self._new, self._least_violation = [], violation
                self._points, self._values = self._points[:0], self._values[:0]
            elif violation:
                return
        self._new.append((np.array(x, ndmin=2), np.array(values, dtype=np.float64, ndmin=2)))
        if len(self._new) >= FRONT_BLOCK:
            self._filter()

    def recommended(self, _: object = None) -> FloatArray:
        """(m, d) the points; the (d,) box's centre while there are none."""
        self._filter()
        return self._points if len(self._points) else self._center

    def _filter(self) -> None:
        moocore: Any = importlib.import_module("moocore")
        points = np.concatenate([self._points, *(point for point, _ in self._new)])
        values = np.concatenate([self._values, *(value for _, value in self._new)])
        self._new = []
        finite = np.isfinite(values).all(axis=1)
        points, values = points[finite], values[finite]
        if len(points):
            nondominated = moocore.is_nondominated(values)
            points, values = points[nondominated], values[nondominated]
        self._points, self._values = points, values


def _violation(constraints: FloatArray) -> float:
    return float(np.maximum(constraints, 0.0).sum())

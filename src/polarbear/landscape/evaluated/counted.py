"""A minimization problem that counts its evaluations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polarbear.protocols import Problem
from polarbear.records import FloatArray


class Counted:
    """A function to be minimized in a box.

    Attributes:
        evaluations: Number of evaluations so far.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._sign = 1.0 if problem.minimize else -1.0
        self.lower, self.upper, self.dimension = problem.lower, problem.upper, problem.dimension
        self.evaluations = 0

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The interval of each variable."""
        return list(zip(self.lower.tolist(), self.upper.tolist(), strict=True))

    def __call__(self, point: FloatArray) -> float:
        """The value at a point (d,)."""
        self.evaluations += 1
        return self._sign * float(self._problem(point))

    def batch(self, points: FloatArray) -> FloatArray:
        """The values (m,) at points (m, d)."""
        self.evaluations += len(points)
        return self._sign * np.asarray(self._problem(points), dtype=np.float64)

    def uniform(self, rng: np.random.Generator, count: int) -> FloatArray:
        """(count, d) uniformly random points of the box."""
        return rng.uniform(self.lower, self.upper, (count, self.dimension))


def summary(values: FloatArray, names: Sequence[str]) -> dict[str, float]:
    """Extremes, quartiles, mean and standard deviation of the finite values, by the seven names given."""
    known = values[np.isfinite(values)]
    if not known.size:
        return dict.fromkeys(names, float("nan"))
    low, lower, median, upper, high = np.quantile(known, (0, 0.25, 0.5, 0.75, 1)).tolist()
    spread = float(known.std(ddof=1)) if known.size > 1 else float("nan")
    return dict(zip(names, (low, lower, float(known.mean()), median, upper, high, spread), strict=True))

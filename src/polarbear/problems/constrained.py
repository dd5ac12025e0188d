"""Problems with constraints: what the optimizer is told, and what a run is judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.ioh_suites import one_by_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.protocols import ProblemSpec, Traits
    from polarbear.records import FloatArray


def judged(value: float, constraints: FloatArray, optimum: float | None) -> float:
    """What a solution of a minimized problem with constraints is worth (Hansen et al. 2022, section III-A).

    Args:
        value: f(x).
        constraints: (c,) g(x), at most 0 where they hold.
        optimum: The best value of a feasible point, f_opt; None if it is not known.

    Returns:
        f_opt + max(f(x) - f_opt, 0) + Σ max(g_i(x), 0), in which all constraints weigh 1. Without f_opt: f(x) where all
        constraints hold, +inf elsewhere. NaN where f or a constraint is NaN.
    """
    if np.isnan(constraints).any():
        return np.nan
    violated = float(constraints[constraints > 0].sum())
    if optimum is None:
        return np.inf if violated and value == value else value
    return (optimum if value < optimum else value) + violated


class ConstrainedTrial:
    """One run's view of a problem with constraints: told f(x), judged by `judged`.

    `constraints` gives the g(x) of the point evaluated last without computing them again.
    """

    __slots__ = ("_constraints", "_last", "_objective", "_optimum")

    def __init__(
        self,
        objective: Callable[[FloatArray], float],
        constraints: Callable[[FloatArray], FloatArray],
        optimum: float | None,
    ) -> None:
        """Start from f: (d,) -> float and g: (d,) -> (c,)."""
        self._objective, self._constraints, self._optimum = objective, constraints, optimum
        self._last: tuple[FloatArray, FloatArray] | None = None

    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """Evaluate one point (d,): f(x), and what it is worth."""
        value, constraints = self._objective(x), self._constraints(x)
        self._last = x.copy(), constraints
        return value, judged(value, constraints, self._optimum)

    def batch(self, points: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Evaluate (m, d) points: (m,) f, and what they are worth."""
        answers = np.array([self(point) for point in points], dtype=np.float64).reshape(len(points), 2)
        return answers[:, 0].copy(), answers[:, 1].copy()

    def constraints(self, x: FloatArray, /) -> FloatArray:
        """(c,) g(x): at most 0 where x is feasible."""
        if self._last is not None and np.array_equal(self._last[0], x):
            return self._last[1].copy()
        return self._constraints(x)


class ConstrainedProblem(BuiltProblem):
    """A built problem with constraints; its value is f(x) alone, feasible or not.

    Attributes:
        constraints: (d,) -> (c,) g(x), at most 0 where x is feasible.
    """

    __slots__ = ("constraints",)

    def __init__(
        self,
        spec: ProblemSpec,
        raw: Callable[[FloatArray], float],
        constraints: Callable[[FloatArray], FloatArray],
        bounds: tuple[FloatArray, FloatArray],
        optimum: float | None,
        traits: Traits,
    ) -> None:
        """Join f, g, the box, and the best feasible value."""
        super().__init__(spec, raw, one_by_one(raw), bounds, optimum, traits=traits)
        self.constraints = constraints

    def trial(self, rng: np.random.Generator, /) -> ConstrainedTrial:  # noqa: ARG002
        """A fresh trial; there is no chance in it."""
        return ConstrainedTrial(self.raw, self.constraints, self.optimum)

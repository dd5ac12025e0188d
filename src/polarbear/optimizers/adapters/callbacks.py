"""Optimizers of libraries that run their own loop and call the objective back, restarted endlessly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from polarbear.optimizers.archives import center_of, constraint_values
from polarbear.optimizers.curvature import Curvature
from polarbear.optimizers.native import SingleObjective, check_suitable, clip_values
from polarbear.optimizers.telemetry import recommend
from polarbear.protocols import Objective, WarmStart, traits_of
from polarbear.records import FloatArray


class Breakdown(Exception):  # noqa: N818 - the end of a start
    """Raised when a search evaluates a point with NaN, as can happen after differences of huge values."""


class Callback:
    """A problem of one objective as a library calls it; a point's value and constraint values cost one evaluation.

    The best point evaluated is offered as the recommendation.

    Args:
        problem: The problem.
        constrained: Whether the library accepts constraints.

    Attributes:
        constraints: Number of constraints; 0 if the library accepts none.
        evaluations: Number of evaluations.
        point: (d,) the point of the lowest value; the box's centre while no value is below +inf.
        curvature: The inverse Hessian learned in the best start; None where the library learns none.
    """

    def __init__(self, problem: Objective, *, constrained: bool) -> None:
        self._problem = problem
        self._constraint_values = constraint_values(problem) if constrained else None
        self.constraints = traits_of(problem).constraints if self._constraint_values else 0
        self.evaluations = 0
        self.point, self._value = center_of(problem), math.inf
        self.curvature: Curvature | None = None
        self._remembered = 4 * (problem.dimension + 1)  # enough for the points of a gradient by central differences
        self._violations: dict[bytes, FloatArray] = {}
        self._values: dict[bytes, float] = {}
        recommend(problem, lambda: self.point)

    def evaluate(self, x: FloatArray) -> float:
        """Evaluate a point (d,).

        Raises:
            Breakdown: If the point contains NaN.
        """
        try:
            value: float = self._problem(x)
        except ValueError:  # how a problem rejects NaN
            if np.isnan(x).any():
                raise Breakdown from None
            raise
        self.evaluations += 1
        if value < self._value:
            self._value, self.point = value, np.array(x)
        return value

    def __call__(self, x: FloatArray) -> float:
        """The value at a point (d,), evaluated unless it already was for its constraint values."""
        if self._constraint_values is None:
            return self.evaluate(x)
        key = np.array(x, dtype=np.float64).tobytes()
        return self._values.pop(key) if key in self._values else self._evaluate_both(key, x)

    def violations(self, x: FloatArray) -> FloatArray:
        """(c,) the constraint values at a point (d,), made finite; the point is evaluated unless it already was."""
        key = np.array(x, dtype=np.float64).tobytes()
        if key not in self._violations:
            self._values[key] = self._evaluate_both(key, x)
            _forget(self._values, self._remembered)
        return self._violations[key]

    def _evaluate_both(self, key: bytes, x: FloatArray) -> float:
        value = self.evaluate(x)
        if self._constraint_values is not None:
            self._violations[key] = clip_values(self._constraint_values(x))
            _forget(self._violations, self._remembered)
        return value


def _forget(remembered: dict[bytes, Any], size: int) -> None:
    while len(remembered) > size:
        del remembered[next(iter(remembered))]


class Restarted(SingleObjective, ABC):
    """A library's search that is restarted whenever it stops, if `restarts` is true."""

    switch_cost: ClassVar[str] = "all"
    """Evaluations lost in a switch to equal settings: the search starts anew, though from the given warm start."""

    restarts: bool

    @property
    def constrained(self) -> bool:
        """Whether the problem's constraints are passed to the library."""
        return False

    @property
    def deterministic(self) -> bool:
        """Whether all starts are identical, so that there is only one."""
        return False

    @abstractmethod
    def _search(
        self, objective: Callback, problem: Objective, rng: np.random.Generator, start: WarmStart | None
    ) -> None:
        """Run one start, from another optimizer's warm start if given; a `Breakdown` ends it."""

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Minimize until the problem stops the run or, without restarts, the search stops; raises as `run_from`."""
        self.run_from(problem, rng, None)

    def run_from(self, problem: Objective, rng: np.random.Generator, start: WarmStart | None) -> None:
        """Minimize as when called, but with a first start that begins from another optimizer's warm start.

        Raises:
            ImportError: If a required package is not installed.
            ValueError: If the optimizer refuses the problem.
            RuntimeError: If the library fails.
        """
        check_suitable(self, problem)
        objective = Callback(problem, constrained=self.constrained)
        while True:
            before = objective.evaluations
            with suppress(Breakdown):
                self._search(objective, problem, rng, start)
            start = None
            if not self.restarts or self.deterministic or objective.evaluations == before:
                return

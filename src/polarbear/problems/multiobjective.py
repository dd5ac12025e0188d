"""Multi-objective problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from polarbear.problems.evaluation import BuiltProblem, as_points, read_only

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.protocols import ProblemSpec, Traits
    from polarbear.records import FloatArray


class MultiObjectiveProblem(BuiltProblem):
    """A built problem with several objectives, all of them minimized.

    Attributes:
        ideal: (k,) the smallest value of each objective by itself.
        nadir: (k,) the largest value of each objective among Pareto-optimal solutions.
    """

    __slots__ = ("ideal", "nadir")

    def __init__(
        self,
        spec: ProblemSpec,
        raw: Callable[[FloatArray], FloatArray],
        bounds: tuple[FloatArray, FloatArray],
        interest: tuple[FloatArray, FloatArray],
        traits: Traits,
    ) -> None:
        """Join the evaluation (d,) -> (k,), the box, the ideal and the nadir point."""
        objectives = traits.objectives

        def batch(points: FloatArray) -> FloatArray:
            return np.array([raw(point) for point in points], dtype=np.float64).reshape(len(points), objectives)

        super().__init__(spec, cast("Any", raw), batch, bounds, None, traits=traits)
        self.ideal, self.nadir = read_only(interest[0]), read_only(interest[1])

    def __call__(self, x: Any) -> FloatArray:
        """Evaluate `x`: (d,) -> (k,), or (m, d) -> (m, k).

        Raises:
            TypeError: If `x` does not hold real numbers.
            ValueError: If `x` has the wrong shape or holds NaN.
        """
        points = as_points(x, self.dimension, self.name)
        return self.raw(points) if points.ndim == 1 else self.batch(points)

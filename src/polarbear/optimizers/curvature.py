"""The inverse Hessian matrix that a quasi-Newton method has learned, seen from the points that it evaluates.

SciPy tells its matrix at the end of a search alone, and another optimizer may take over before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from polarbear.optimizers.transfer import step_size_of
from polarbear.protocols import Box, WarmStart
from polarbear.records import FloatArray

_SHARE = 0.1
"""Of the inverse Hessian, in the distribution that another optimizer starts from (Jankovic et al. 2022)."""
_STEPS = 2
"""Steps whose mean length is its σ."""


@dataclass(slots=True)
class _Iterate:
    x: FloatArray
    gradient: FloatArray


class Curvature:
    """What one search by finite differences tells of the inverse Hessian, by SciPy's updates of BFGS.

    Args:
        box: The problem.
        matrix: (d, d) the inverse Hessian that the search begins with; None: unknown.

    Attributes:
        value: Of the last iterate; +inf before the first.
    """

    def __init__(self, box: Box, matrix: FloatArray | None = None) -> None:
        from scipy.optimize import BFGS  # slow to import

        self.value = np.inf
        self._box = box
        self._width = np.asarray(box.upper) - np.asarray(box.lower)
        self._begun = None if matrix is None else (matrix + matrix.T) / 2
        self._updates: Any = BFGS(init_scale="auto" if self._begun is None else self._begun)
        self._updates.initialize(len(self._width), "inv_hess")
        self._last: _Iterate | None = None
        self._steps: deque[float] = deque(maxlen=_STEPS)
        self._seen: deque[tuple[FloatArray, float]] = deque(maxlen=4 * (len(self._width) + 1))

    @property
    def matrix(self) -> FloatArray | None:
        """(d, d) the inverse Hessian; None while nothing is known of it."""
        return self._begun if self._updates.first_iteration else self._updates.get_matrix()

    def see(self, x: FloatArray, value: float) -> None:
        """Keep an evaluation of a point (d,)."""
        self._seen.append((np.array(x), value))

    def iterate(self, x: FloatArray, value: float) -> None:
        """The search has come to a point (d,), where it has evaluated its differences."""
        self.value = value
        gradient = self._gradient(x, value)
        if gradient is None or not np.isfinite(gradient).all():
            self._last = None
            return
        if self._last is not None:
            step, change = x - self._last.x, gradient - self._last.gradient
            self._steps.append(float(np.linalg.norm(step / self._width)))
            if change.any():
                self._updates.update(step, change)
        self._last = _Iterate(np.array(x), gradient)

    def warm_start(self, best: FloatArray) -> WarmStart:
        """The distribution around a point (d,): C is 0.1 times the inverse Hessian, and σ the mean of the last steps.

        In box widths the inverse Hessian is scaled to a mean eigenvalue of 1, as it has the unit of the objective
        beside that of the variables. Nothing is offered before the first step.
        """
        if not self._steps:
            return WarmStart(evaluations=0)
        covariance = matrix = self.matrix
        if matrix is not None:
            widths = np.outer(self._width, self._width)
            covariance = matrix * (_SHARE * len(matrix) / np.trace(matrix / widths))
        return WarmStart(
            evaluations=0,
            mean=np.clip(best, self._box.lower, self._box.upper),
            step_size=step_size_of(float(np.mean(self._steps))),
            covariance=covariance,
        )

    def _gradient(self, x: FloatArray, value: float) -> FloatArray | None:
        """(d,) by the nearest points that differ in one variable alone; None unless there is one for each."""
        found: dict[int, tuple[float, float]] = {}
        for point, other in self._seen:
            apart = np.flatnonzero(point != x)
            if len(apart) == 1:
                j, h = int(apart[0]), float(point[apart[0]] - x[apart[0]])
                if j not in found or abs(h) < abs(found[j][0]):
                    found[j] = h, (other - value) / h
        return np.array([found[j][1] for j in range(len(x))]) if len(found) == len(x) else None

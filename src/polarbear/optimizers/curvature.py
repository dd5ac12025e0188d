"""The inverse Hessian matrix learned by a quasi-Newton method, reconstructed from the points that it evaluates.

SciPy returns its own matrix only at the end of a search, but another optimizer may take over earlier.
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
"""Factor on the inverse Hessian in the covariance matrix that another optimizer starts from (Jankovic et al. 2022)."""
_STEPS = 2
"""Number of latest steps whose mean length becomes σ."""


@dataclass(slots=True)
class _Iterate:
    x: FloatArray
    gradient: FloatArray


class Curvature:
    """The inverse Hessian estimated along one search by finite differences, with SciPy's BFGS updates.

    Args:
        box: The problem's box.
        matrix: (d, d) the initial inverse Hessian of the search; None if it is unknown.

    Attributes:
        value: Objective value of the last iterate; +inf before the first.
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
        """Record the evaluation of a point (d,)."""
        self._seen.append((np.array(x), value))

    def iterate(self, x: FloatArray, value: float) -> None:
        """Record an iterate (d,) of the search, around which it has evaluated its finite differences."""
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
        """The distribution around a point (d,): C is 0.1 times the inverse Hessian, σ the last steps' mean length.

        The inverse Hessian is scaled to a mean eigenvalue of 1 in box widths, as its unit involves that of the
        objective. Nothing is offered before the first step.
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
        """(d,) by the nearest points that differ in a single variable; None unless there is one for each variable."""
        found: dict[int, tuple[float, float]] = {}
        for point, other in self._seen:
            apart = np.flatnonzero(point != x)
            if len(apart) == 1:
                j, h = int(apart[0]), float(point[apart[0]] - x[apart[0]])
                if j not in found or abs(h) < abs(found[j][0]):
                    found[j] = h, (other - value) / h
        return np.array([found[j][1] for j in range(len(x))]) if len(found) == len(x) else None

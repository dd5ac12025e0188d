"""The 30 noisy functions of BBOB, 101 to 130, with a separate noise stream for every run.

Definitions: Hansen, Finck, Ros, Auger 2009, "Real-parameter black-box optimization benchmarking 2009: Noisy functions
definitions" (INRIA RR-6869). The functions without noise come from `ioh`, except for the ellipsoid, which has a lower
condition number here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from polarbear.problems.functions.bbob import oscillated
from polarbear.problems.functions.coco_random import SEEDS_PER_INSTANCE, location, rotation
from polarbear.problems.functions.ioh import batch_evaluation, best_bbob_value, ioh_problem
from polarbear.problems.functions.noise import (
    HALF_WIDTH,
    CauchyNoise,
    GaussianNoise,
    NoiseModel,
    NoisyProblem,
    Precisions,
    UniformNoise,
)
from polarbear.problems.number_sets import NumbersLike, number_set
from polarbear.problems.suite.base import IohProblem
from polarbear.problems.suite.bbob import BBOB, BBOBInstance, Dimension
from polarbear.validation import settings, whole

if TYPE_CHECKING:
    from polarbear.records import FloatArray

FIRST, LAST = 101, 130
LAST_MODERATE = 106

BASES = (1, 8, 1, 8, 7, 10, 14, 17, 19, 21)
"""The noiseless functions of BBOB, each under Gaussian, uniform and Cauchy noise: 101 to 103, 104 to 106, …"""

OWN_PENALTIES = {7: 1.0, 17: 10.0, 21: 1.0}
"""Weight of the penalty Σ max(0, |xᵢ| - 5)² in functions of BBOB; the noisy functions omit it."""

ELLIPSOID, GRIEWANK_ROSENBROCK = 10, 19

SEEDS_TO_ROTATION = 1_000_000
"""Difference between COCO's seeds of a rotation and of the optimum."""


@settings
class BBOBNoisyProblem(IohProblem):
    """One noisy function of BBOB, in the box [-5, 5]^d; points outside are evaluated as well, with a penalty.

    Attributes:
        function: The function's number, 101 to 130; with moderate noise up to 106, with severe noise from 107.
        instance: COCO's instance number, from 1.
        dimension: Number of variables, from 2.

    Raises:
        FieldError: If a number is not whole or out of range.
    """

    function: Annotated[int, whole(FIRST, LAST)]
    instance: BBOBInstance
    dimension: Dimension

    suite: ClassVar[str] = "bbob-noisy"

    @property
    def base(self) -> int:
        """The function of BBOB to which noise is added."""
        return BASES[(self.function - FIRST) // 3]

    @property
    def noise(self) -> NoiseModel:
        """The noise model, with the function's parameters."""
        moderate = self.function <= LAST_MODERATE
        severity = 0.01 if moderate else 1.0
        models = (
            GaussianNoise(severity),
            UniformNoise(severity * (0.49 + 1 / self.dimension), severity),
            CauchyNoise(severity, 0.05 if moderate else 0.2),
        )
        return models[(self.function - FIRST) % 3]

    def build(self) -> NoisyProblem:
        """Construct the noiseless function; each of its trials adds its own noise."""
        best = best_bbob_value(self.base, self.instance)
        box = np.full(self.dimension, HALF_WIDTH)
        return NoisyProblem(self, self._precisions(best), self.noise, (-box, box), best)

    def _precisions(self, best: float) -> Precisions:
        if self.base == ELLIPSOID:
            seed = ELLIPSOID + SEEDS_PER_INSTANCE * self.instance
            optimum, turned = location(self.dimension, seed), rotation(self.dimension, seed + SEEDS_TO_ROTATION)
            ellipsoid = Ellipsoid(optimum, turned)
            return Precisions(ellipsoid.raw, ellipsoid.batch)
        function = ioh_problem("BBOB", self.base, self.instance, self.dimension)[0]
        functions = batch_evaluation(function)
        scale = 0.1 if self.base == GRIEWANK_ROSENBROCK else 1.0

        def raw(x: FloatArray) -> float:
            return scale * (function(x) - best)

        def batch(points: FloatArray) -> FloatArray:
            return scale * (functions(points) - best)

        return Precisions(raw, batch, OWN_PENALTIES.get(self.base, 0.0))


class Ellipsoid:
    """The ellipsoid Σ 10^(4 (i - 1) / (d - 1)) zᵢ² of functions 116 to 118, with z = T_osz(R (x - x_opt)).

    Args:
        optimum: (d,) the optimum x_opt.
        rotation: (d, d) the rotation R.
        conditioning: Weight of the last axis; the first has weight 1.
    """

    __slots__ = ("_optimum", "_rotation", "_scales")

    def __init__(self, optimum: FloatArray, rotation: FloatArray, conditioning: float = 1e4) -> None:
        self._optimum = optimum
        self._rotation = np.ascontiguousarray(rotation.T)
        self._scales = conditioning ** np.linspace(0.0, 1.0, len(self._optimum))

    def raw(self, x: FloatArray) -> float:
        """Evaluate one (d,) point; NaN if it has the wrong length."""
        if len(x) != len(self._optimum):
            return np.nan
        return float(self.batch(x[np.newaxis])[0])

    def batch(self, points: FloatArray) -> FloatArray:
        """Evaluate (m, d) points -> (m,)."""
        return oscillated((points - self._optimum) @ self._rotation) ** 2 @ self._scales


@settings
class BBOBNoisy(BBOB):
    """An endless stream of noisy functions of BBOB, 101 to 130; see `BBOB`."""

    functions: Annotated[NumbersLike, number_set(FIRST, LAST)] = range(FIRST, LAST + 1)

    problem: ClassVar[Any] = BBOBNoisyProblem

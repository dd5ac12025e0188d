"""The 30 noisy functions of BBOB, 101 to 130, with a noise stream of its own for every run.

Definitions: Hansen, Finck, Ros, Auger 2009, "Real-parameter black-box optimization benchmarking 2009: Noisy functions
definitions" (INRIA RR-6869). The functions without noise come from `ioh`, but for the ellipsoid, which is conditioned
better than there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from polarbear.problems.bbob_functions import oscillated
from polarbear.problems.coco_random import SEEDS_PER_INSTANCE, location, rotation
from polarbear.problems.ioh_suites import BBOB, LAST_INSTANCE, BBOBProblem, IohProblem
from polarbear.problems.noise import (
    HALF_WIDTH,
    CauchyNoise,
    GaussianNoise,
    NoiseModel,
    NoisyProblem,
    Precisions,
    UniformNoise,
)
from polarbear.problems.number_sets import NumbersLike, number_set
from polarbear.validation import settings, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.records import FloatArray

FIRST, LAST = 101, 130
LAST_MODERATE = 106

BASES = (1, 8, 1, 8, 7, 10, 14, 17, 19, 21)
"""The functions of BBOB without noise, each under Gaussian, uniform and Cauchy noise: 101 to 103, 104 to 106, …"""

OWN_PENALTIES = {7: 1.0, 17: 10.0, 21: 1.0}
"""What functions of BBOB weigh Σ max(0, |xᵢ| - 5)² with; the noisy ones do not."""

ELLIPSOID, GRIEWANK_ROSENBROCK = 10, 19

SEEDS_TO_ROTATION = 1_000_000
"""How far the seed of a rotation is from that of the optimum, in COCO."""


@settings
class BBOBNoisyProblem(IohProblem):
    """One noisy function of BBOB, in the box [-5, 5]^d; points outside are evaluated as well, with a penalty.

    Attributes:
        function: 101 to 130; to 106 with moderate noise, from 107 with severe noise.
        instance: COCO's instance number, from 1.
        dimension: Number of variables, from 2.

    Raises:
        TypeError: If one of them is no whole number.
        ValueError: If one of them is out of its range.
    """

    function: Annotated[int, whole(FIRST, LAST)]
    instance: Annotated[int, whole(1, LAST_INSTANCE)]
    dimension: Annotated[int, whole(2)]

    suite: ClassVar[str] = "bbob-noisy"

    @property
    def base(self) -> int:
        """The function of BBOB that noise is put on."""
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
        """Construct the function without noise; each of its trials brings its own noise."""
        precisions, best = self._ellipsoid() if self.base == ELLIPSOID else self._over_ioh()
        box = np.full(self.dimension, HALF_WIDTH)
        return NoisyProblem(self, precisions, self.noise, (-box, box), best)

    def _over_ioh(self) -> tuple[Precisions, float]:
        under = BBOBProblem(self.base, self.instance, self.dimension).build()
        best = float(under.raw.optimum.y)
        scale = 0.1 if self.base == GRIEWANK_ROSENBROCK else 1.0
        return Precisions(*_above(under.raw, under.batch, best, scale), OWN_PENALTIES.get(self.base, 0.0)), best

    def _ellipsoid(self) -> tuple[Precisions, float]:
        seed = ELLIPSOID + SEEDS_PER_INSTANCE * self.instance
        turned = rotation(self.dimension, seed + SEEDS_TO_ROTATION)
        ellipsoid = Ellipsoid(location(self.dimension, seed), turned)
        best = BBOBProblem(ELLIPSOID, self.instance, 2).build().raw.optimum.y  # the same in all dimensions
        return Precisions(ellipsoid.one, ellipsoid.many), float(best)


def _above(
    raw: Callable[[FloatArray], float], batch: Callable[[FloatArray], FloatArray], best: float, scale: float
) -> tuple[Callable[[FloatArray], float], Callable[[FloatArray], FloatArray]]:
    """A function's distance to its best value, of one point and of many."""

    def one(x: FloatArray) -> float:
        return scale * (raw(x) - best)

    def many(points: FloatArray) -> FloatArray:
        return scale * (batch(points) - best)

    return one, many


class Ellipsoid:
    """Σ 10^(4 (i - 1) / (d - 1)) zᵢ² with z = T_osz(R (x - x_opt)): the ellipsoid of functions 116 to 118.

    Args:
        optimum: (d,) x_opt.
        rotation: (d, d) R.
        conditioning: What the last axis is weighed with; the first one has weight 1.
    """

    __slots__ = ("_optimum", "_scales", "_turned")

    def __init__(self, optimum: FloatArray, rotation: FloatArray, conditioning: float = 1e4) -> None:
        self._optimum = optimum
        self._turned = np.ascontiguousarray(rotation.T)
        self._scales = conditioning ** np.linspace(0.0, 1.0, len(self._optimum))

    def one(self, x: FloatArray) -> float:
        """Evaluate one (d,) point; NaN at a wrong length."""
        if len(x) != len(self._optimum):
            return np.nan
        return float(self.many(x[np.newaxis])[0])

    def many(self, points: FloatArray) -> FloatArray:
        """Evaluate (m, d) points -> (m,)."""
        return oscillated((points - self._optimum) @ self._turned) ** 2 @ self._scales


@settings
class BBOBNoisy(BBOB):
    """An endless stream of noisy functions of BBOB, of 101 to 130; as `BBOB`."""

    functions: Annotated[NumbersLike, number_set(FIRST, LAST)] = range(FIRST, LAST + 1)

    problem: ClassVar[Any] = BBOBNoisyProblem

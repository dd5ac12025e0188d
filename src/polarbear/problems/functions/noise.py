"""The noise of the BBOB noisy functions: its three models, and problems that are observed through it.

Definitions: Hansen, Finck, Ros, Auger 2009, "Real-parameter black-box optimization benchmarking 2009: Noisy functions
definitions" (INRIA RR-6869), section "Noise models". A noise model changes f >= 0, the difference to the best value.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from polarbear.problems.evaluation import BuiltProblem
from polarbear.protocols import Traits

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.protocols import ProblemSpec
    from polarbear.records import FloatArray

UNDISTURBED = 1e-8
"""Values f below this are observed without noise."""

SHIFT = 1.01e-8
"""Offset added to all noisy values, so that none falls below `UNDISTURBED`."""

BLOCK = 256
"""Number of evaluations for which noise is drawn at once."""

HALF_WIDTH = 5.0
PENALTY = 100.0


class NoiseModel(Protocol):
    """A noise model that draws noise before the values it changes."""

    def draw(self, rng: np.random.Generator, count: int, /) -> FloatArray:
        """(count, 2) the random numbers for `count` evaluations."""
        ...

    def apply(self, values: Any, first: Any, second: Any, /) -> Any:
        """Values f >= 1e-8 after applying the drawn noise; all are numbers, or all are arrays of one shape."""
        ...


@dataclass(frozen=True)
class GaussianNoise:
    """The noise f exp(β N(0, 1)): log-normal, the same at all scales.

    Attributes:
        beta: β > 0; 0.01 is moderate, 1 severe.
    """

    beta: float

    def draw(self, rng: np.random.Generator, count: int, /) -> FloatArray:
        """The factor on f."""
        return _with_zeros(np.exp(self.beta * rng.standard_normal(count)))

    def apply(self, values: Any, first: Any, second: Any, /) -> Any:  # noqa: ARG002
        """See `NoiseModel`."""
        return values * first


@dataclass(frozen=True)
class UniformNoise:
    """The noise f U₁^β max(1, (10⁹ / (f + 10⁻⁹⁹))^(α U₂)), which is stronger the smaller f is.

    Attributes:
        alpha: α > 0; 0.49 + 1 / d is severe, a hundredth of it moderate.
        beta: β > 0; 0.01 is moderate, 1 severe.
    """

    alpha: float
    beta: float

    def draw(self, rng: np.random.Generator, count: int, /) -> FloatArray:
        """The first factor and the exponent of the second."""
        noise = rng.random((count, 2))
        noise[:, 0] **= self.beta
        noise[:, 1] *= self.alpha
        return noise

    def apply(self, values: Any, first: Any, second: Any, /) -> Any:
        """See `NoiseModel`."""
        return values * first * np.maximum(1.0, (1e9 / (values + 1e-99)) ** second)


@dataclass(frozen=True)
class CauchyNoise:
    """The noise f + α max(0, 1000 + C), where C is Cauchy, N / (|N'| + 10⁻¹⁹⁹), with probability p, and else 0.

    Attributes:
        alpha: α > 0; 0.01 is moderate, 1 severe.
        probability: p; 0.05 is moderate, 0.2 severe.
    """

    alpha: float
    probability: float

    def draw(self, rng: np.random.Generator, count: int, /) -> FloatArray:
        """The term added to f."""
        seldom = rng.random(count) < self.probability
        numerator, denominator = rng.standard_normal((count, 2)).T
        outliers = seldom * numerator / (np.abs(denominator) + 1e-199)
        return _with_zeros(self.alpha * np.maximum(0.0, 1000.0 + outliers))

    def apply(self, values: Any, first: Any, second: Any, /) -> Any:  # noqa: ARG002
        """See `NoiseModel`."""
        return values + first


def _with_zeros(noise: FloatArray) -> FloatArray:
    return np.stack([noise, np.zeros_like(noise)], axis=1)


class NoiseStream:
    """The noise of one run, evaluation by evaluation; the same for single points and for batches.

    Args:
        model: The noise model.
        rng: The random generator of the noise. It is read in blocks: nobody else may draw from it.
    """

    __slots__ = ("_block", "_model", "_next", "_rng", "_rows")

    def __init__(self, model: NoiseModel, rng: np.random.Generator) -> None:
        self._model, self._rng = model, rng
        self._block = np.empty((0, 2))
        self._rows: list[list[float]] = []
        self._next = 0

    def observe(self, value: float) -> float:
        """The noisy observation of f = `value`."""
        if self._next == len(self._rows):
            self._refill()
        first, second = self._rows[self._next]
        self._next += 1
        if not value >= UNDISTURBED:
            return value
        return float(self._model.apply(value, first, second)) + SHIFT

    def observe_batch(self, values: FloatArray) -> FloatArray:
        """The noisy observations of values f (m,)."""
        first, second = self._take(len(values)).T
        if values.size and values.min() >= UNDISTURBED:
            return self._model.apply(values, first, second) + SHIFT
        noisy = self._model.apply(np.maximum(values, UNDISTURBED), first, second) + SHIFT
        return np.where(values >= UNDISTURBED, noisy, values)

    def _take(self, count: int) -> FloatArray:
        begin = self._next
        self._next += count
        if self._next <= len(self._block):
            return self._block[begin : self._next]
        parts = [self._block[begin:]]
        missing = count - len(parts[0])
        while missing:
            self._refill()
            parts.append(self._block[:missing])
            self._next = len(parts[-1])
            missing -= self._next
        return np.concatenate(parts)

    def _refill(self) -> None:
        self._block = self._model.draw(self._rng, BLOCK)
        self._rows = self._block.tolist()
        self._next = 0


class Precisions:
    """A function's difference to its best value, and the penalty 100 Σ max(0, |xᵢ| - 5)², which noise does not change.

    Args:
        raw: (d,) -> f >= 0.
        batch: (m, d) -> (m,) f.
        own_penalty: The weight of Σ max(0, |xᵢ| - 5)² in `raw` and `batch`, which is subtracted.
    """

    __slots__ = ("_batch", "_own_penalty", "_raw")

    def __init__(
        self,
        raw: Callable[[FloatArray], float],
        batch: Callable[[FloatArray], FloatArray],
        own_penalty: float = 0.0,
    ) -> None:
        self._raw, self._batch, self._own_penalty = raw, batch, own_penalty

    def raw(self, x: FloatArray) -> tuple[float, float]:
        """The difference to the best value without any penalty, and the penalty, at one point (d,)."""
        if np.abs(x).max() <= HALF_WIDTH:
            return self._raw(x), 0.0
        outside = float(_outside(x[np.newaxis])[0])
        if not outside < np.inf:
            return outside, outside
        return self._raw(x) - self._own_penalty * outside, PENALTY * outside

    def batch(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(m,) differences to the best value without any penalty, and (m,) penalties, at points (m, d)."""
        if not points.size or np.abs(points).max() <= HALF_WIDTH:
            return self._batch(points), np.zeros(len(points))
        outside = _outside(points)
        finite = outside < np.inf
        precisions = outside.copy()  # infinite and NaN
        precisions[finite] = self._batch(points[finite]) - self._own_penalty * outside[finite]
        return precisions, PENALTY * outside


def _outside(points: FloatArray) -> FloatArray:
    """(m,) Σ max(0, |xᵢ| - 5)² at points (m, d)."""
    excess = np.maximum(np.abs(points) - HALF_WIDTH, 0.0)
    with np.errstate(over="ignore"):
        return np.einsum("ij,ij->i", excess, excess)


class NoisyTrial:
    """One run's view of a noisy problem: noisy values are observed, and the noise-free value judges the run."""

    __slots__ = ("_best", "_precisions", "_stream")

    def __init__(self, precisions: Precisions, best: float, stream: NoiseStream) -> None:
        """Observe f + best through the noise of `stream`."""
        self._precisions, self._best, self._stream = precisions, best, stream

    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """Evaluate one point (d,): a noisy observation and the noise-free value."""
        precision, above = self._precisions.raw(x)
        above += self._best
        return self._stream.observe(precision) + above, precision + above

    def batch(self, points: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Evaluate (m, d) points: noisy observations (m,) and noise-free values (m,)."""
        precisions, above = self._precisions.batch(points)
        above += self._best
        return self._stream.observe_batch(precisions) + above, precisions + above


class NoisyProblem(BuiltProblem):
    """A built problem that each run observes through its own noise; its value is the noise-free one.

    Attributes:
        spec, bounds, optimum: See `BuiltProblem`.
        precisions: The noise-free differences f(x) − f* at several points, (k, d) -> (k,).
        model: The noise model.
    """

    __slots__ = ("_best", "_precisions", "model")

    def __init__(
        self,
        spec: ProblemSpec,
        precisions: Precisions,
        model: NoiseModel,
        bounds: tuple[FloatArray, FloatArray],
        optimum: float,
    ) -> None:
        """Combine a function's precisions, the noise, the box and the best value."""

        def raw(x: FloatArray) -> float:
            precision, above = precisions.raw(x)
            return precision + (above + optimum)

        def batch(points: FloatArray) -> FloatArray:
            values, above = precisions.batch(points)
            return values + (above + optimum)

        super().__init__(spec, raw, batch, bounds, optimum, traits=Traits(noisy=True))
        self._best, self._precisions, self.model = optimum, precisions, model

    def trial(self, rng: np.random.Generator, /) -> NoisyTrial:
        """A new trial. Equal generators give equal noise, whatever else is evaluated meanwhile.

        Args:
            rng: The random generator of the noise; nobody else may draw from it.
        """
        return NoisyTrial(self._precisions, self._best, NoiseStream(self.model, rng))

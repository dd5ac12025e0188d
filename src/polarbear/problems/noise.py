"""The noise of the BBOB noisy functions: its three models, and problems that are observed through it.

Definitions: Hansen, Finck, Ros, Auger 2009, "Real-parameter black-box optimization benchmarking 2009: Noisy functions
definitions" (INRIA RR-6869), section "Noise models". A noise model changes f >= 0, the distance to the best value.
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
"""Below this, f is told as it is."""

SHIFT = 1.01e-8
"""What is added to all disturbed values, so that none is told to be below `UNDISTURBED` that is not."""

BLOCK = 256
"""Noise is drawn for so many evaluations at once, and used up one after the other."""

HALF_WIDTH = 5.0
PENALTY = 100.0


class NoiseModel(Protocol):
    """Draws noise ahead of the values it changes."""

    def draw(self, rng: np.random.Generator, count: int, /) -> FloatArray:
        """(count, 2) noise for as many evaluations."""
        ...

    def apply(self, values: Any, first: Any, second: Any, /) -> Any:
        """Values f >= 1e-8, disturbed by the noise drawn; all numbers, or all arrays of one shape."""
        ...


@dataclass(frozen=True)
class GaussianNoise:
    """f exp(β N(0, 1)): log-normal, the same at all scales.

    Attributes:
        beta: β > 0; 0.01 is moderate, 1 severe.
    """

    beta: float

    def draw(self, rng: np.random.Generator, count: int, /) -> FloatArray:
        """The factor."""
        drawn = np.empty((count, 2))
        drawn[:, 0] = np.exp(self.beta * rng.standard_normal(count))
        return drawn

    def apply(self, values: Any, first: Any, second: Any, /) -> Any:  # noqa: ARG002
        """See `NoiseModel`."""
        return values * first


@dataclass(frozen=True)
class UniformNoise:
    """f U₁^β max(1, (10⁹ / (f + 10⁻⁹⁹))^(α U₂)): the stronger, the smaller f is.

    Attributes:
        alpha: α > 0; 0.49 + 1 / d is severe, a hundredth of it moderate.
        beta: β > 0; 0.01 is moderate, 1 severe.
    """

    alpha: float
    beta: float

    def draw(self, rng: np.random.Generator, count: int, /) -> FloatArray:
        """The first factor, and the second's exponent."""
        drawn = rng.random((count, 2))
        drawn[:, 0] **= self.beta
        drawn[:, 1] *= self.alpha
        return drawn

    def apply(self, values: Any, first: Any, second: Any, /) -> Any:
        """See `NoiseModel`."""
        return values * first * np.maximum(1.0, (1e9 / (values + 1e-99)) ** second)


@dataclass(frozen=True)
class CauchyNoise:
    """f + α max(0, 1000 + C), where C is a Cauchy number N / (|N'| + 10⁻¹⁹⁹) with probability p, else 0.

    Attributes:
        alpha: α > 0; 0.01 is moderate, 1 severe.
        probability: p; 0.05 is moderate, 0.2 severe.
    """

    alpha: float
    probability: float

    def draw(self, rng: np.random.Generator, count: int, /) -> FloatArray:
        """The summand."""
        drawn = np.empty((count, 2))
        seldom = rng.random(count) < self.probability
        numerator, denominator = rng.standard_normal((count, 2)).T
        outliers = seldom * numerator / (np.abs(denominator) + 1e-199)
        drawn[:, 0] = self.alpha * np.maximum(0.0, 1000.0 + outliers)
        return drawn

    def apply(self, values: Any, first: Any, second: Any, /) -> Any:  # noqa: ARG002
        """See `NoiseModel`."""
        return values + first


class NoiseStream:
    """The noise of one run, evaluation after evaluation; the same for single points and for batches.

    Args:
        model: The noise model.
        rng: Where all its chance comes from. It is drawn from in blocks: let nobody else draw from it.
    """

    __slots__ = ("_block", "_model", "_next", "_rng", "_rows")

    def __init__(self, model: NoiseModel, rng: np.random.Generator) -> None:
        self._model, self._rng = model, rng
        self._block = np.empty((0, 2))
        self._rows: list[list[float]] = []
        self._next = 0

    def one(self, value: float) -> float:
        """What is told of f = `value`."""
        if self._next == len(self._rows):
            self._refill()
        first, second = self._rows[self._next]
        self._next += 1
        if not value >= UNDISTURBED:
            return value
        return float(self._model.apply(value, first, second)) + SHIFT

    def many(self, values: FloatArray) -> FloatArray:
        """What is told of (m,) f."""
        drawn = self._take(len(values))
        first, second = drawn[:, 0], drawn[:, 1]
        if values.size and values.min() >= UNDISTURBED:
            return self._model.apply(values, first, second) + SHIFT
        disturbed = self._model.apply(np.maximum(values, UNDISTURBED), first, second) + SHIFT
        return np.where(values >= UNDISTURBED, disturbed, values)

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


class NoisyTrial:
    """One run's view of a noisy problem: told noisy values, judged by the value without noise."""

    __slots__ = ("_best", "_precisions", "_stream")

    def __init__(self, precisions: Precisions, best: float, stream: NoiseStream) -> None:
        """Observe f + best through the noise of `stream`."""
        self._precisions, self._best, self._stream = precisions, best, stream

    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """Evaluate one point (d,): a noisy observation, and the value without noise."""
        precision, above = self._precisions.one(x)
        above += self._best
        return self._stream.one(precision) + above, precision + above

    def batch(self, points: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Evaluate (m, d) points: (m,) noisy observations, and the values without noise."""
        precisions, above = self._precisions.many(points)
        above += self._best
        return self._stream.many(precisions) + above, precisions + above


class Precisions:
    """A function's distance to its best value, and the penalty 100 Σ max(0, |xᵢ| - 5)² that noise leaves as it is.

    Args:
        one: (d,) -> f >= 0.
        many: (m, d) -> (m,) f.
        own_penalty: What `one` and `many` weigh Σ max(0, |xᵢ| - 5)² with on their own; it is taken away.
    """

    __slots__ = ("_many", "_one", "_own_penalty")

    def __init__(
        self,
        one: Callable[[FloatArray], float],
        many: Callable[[FloatArray], FloatArray],
        own_penalty: float = 0.0,
    ) -> None:
        self._one, self._many, self._own_penalty = one, many, own_penalty

    def one(self, x: FloatArray) -> tuple[float, float]:
        """The distance to the best value without any penalty, and the penalty, of one (d,) point."""
        if np.abs(x).max() <= HALF_WIDTH:
            return self._one(x), 0.0
        outside = float(_outside(x[np.newaxis])[0])
        if not outside < np.inf:
            return outside, outside
        return self._one(x) - self._own_penalty * outside, PENALTY * outside

    def many(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(m,) distances to the best value without any penalty, and (m,) penalties, of (m, d) points."""
        if not points.size or np.abs(points).max() <= HALF_WIDTH:
            return self._many(points), np.zeros(len(points))
        outside = _outside(points)
        known = outside < np.inf
        if known.all():
            return self._many(points) - self._own_penalty * outside, PENALTY * outside
        found = outside.copy()  # infinite and NaN
        found[known] = self._many(points[known]) - self._own_penalty * outside[known]
        return found, PENALTY * outside


def _outside(points: FloatArray) -> FloatArray:
    """(m,) Σ max(0, |xᵢ| - 5)² of (m, d) points."""
    excess = np.maximum(np.abs(points) - HALF_WIDTH, 0.0)
    with np.errstate(over="ignore"):
        return np.einsum("ij,ij->i", excess, excess)


class NoisyProblem(BuiltProblem):
    """A built problem that each run observes through noise of its own; its value is the one without noise.

    Attributes:
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
        """Join a function's precisions, the noise, the box, and the best value."""

        def raw(x: FloatArray) -> float:
            precision, above = precisions.one(x)
            return precision + (above + optimum)

        def batch(points: FloatArray) -> FloatArray:
            found, above = precisions.many(points)
            return found + (above + optimum)

        super().__init__(spec, raw, batch, bounds, optimum, traits=Traits(noisy=True))
        self._best, self._precisions, self.model = optimum, precisions, model

    def trial(self, rng: np.random.Generator, /) -> NoisyTrial:
        """A fresh trial. Equal generators give equal noise, whatever else is evaluated meanwhile.

        Args:
            rng: Where the noise comes from; nobody else may draw from it.
        """
        return NoisyTrial(self._precisions, self._best, NoiseStream(self.model, rng))

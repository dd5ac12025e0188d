"""The functions of GP-BBOB, f(x) = Σ_i w_i(x) f_i(x) + y_0: mixtures of the SBOX-BBOB functions f_i.

The generator is that of Wurth et al. (2026), appendix C, equations 39 to 45. Only the active components are evaluated.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.problems.functions.bbob import HALF_WIDTH, ROWS, BBOBFunction
from polarbear.problems.functions.ioh import FUNCTIONS, batch_evaluation, ioh_problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polarbear.records import FloatArray, IntArray

GREATEST_FOR_IOH = 64
"""Up to this dimension, components are those of `ioh`, several times as fast for single points of few variables."""


class RandomField:
    """Fields z_i(x) = σ √(2/m) Σ_j a_ij cos(ω_j·x / ℓ + b_j), i = 1 … n (Rahimi and Recht 2007).

    With ω_j ~ N(0, I), b_j ~ U(0, 2π) and a_ij ~ N(0, 1), each is a draw of a process with mean 0 and covariance
    E[z_i(x) z_i(x')] = σ² exp(−‖x − x'‖² / (2 ℓ²)), Gaussian as m grows; fields are uncorrelated. The n fields
    share their features.

    Attributes:
        frequencies: (d, m) ω_j / ℓ.
        phases: (m,) b_j.
        coefficients: (m, n) a_ij σ √(2/m).
    """

    __slots__ = ("coefficients", "frequencies", "phases")

    def __init__(
        self,
        rng: np.random.Generator,
        dimension: int,
        fields: int,
        *,
        features: int,
        lengthscale: float,
        amplitude: float,
    ) -> None:
        """Draw the features.

        Args:
            rng: The random generator, the only source of randomness.
            dimension: Number of variables d.
            fields: Number of fields n.
            features: Number of features m.
            lengthscale: ℓ, in the units of x.
            amplitude: σ.
        """
        for_frequencies, for_phases, for_coefficients = rng.spawn(3)
        self.frequencies = for_frequencies.normal(size=(features, dimension)).T.copy() / lengthscale
        self.phases = for_phases.uniform(0, 2 * math.pi, size=features)
        self.coefficients = for_coefficients.normal(size=(features, fields)) * (amplitude * math.sqrt(2 / features))

    def __call__(self, points: FloatArray) -> FloatArray:
        """The fields at points, (m, d) -> (m, n), or at one point, (d,) -> (n,)."""
        angles = points @ self.frequencies
        angles += self.phases
        return np.cos(angles, out=angles) @ self.coefficients


class Mixture:
    """The function of a `GPBBOBProblem`; +inf outside the box.

    A batch gives the same values as its points one by one, up to rounding: to 1e-12 of the components' values up to 64
    variables. Above that, sums over variables are rounded differently, and f16 and f19 oscillate so fast that they
    magnify this a million times: to 1e-8.

    Attributes:
        logits: The 24 fields z (equation 40).
        depth: The field h behind the sparsity (equation 43).
    """

    __slots__ = ("_batches", "_dimension", "_offset", "_points", "_temperature", "_thresholds", "depth", "logits")

    def __init__(self, spec: Any, thresholds: Sequence[float]) -> None:
        """Draw the fields and build the 24 components in advance of any evaluation.

        Args:
            spec: A `GPBBOBProblem`.
            thresholds: The values of h at which k(x) = F_K⁻¹(Φ(h)) becomes 2, 3, …, 24.
        """
        for_logits, for_sparsity = np.random.default_rng(np.random.SeedSequence(spec.seed)).spawn(2)
        self._dimension = d = spec.dimension
        self.logits = RandomField(
            for_logits, d, FUNCTIONS, features=spec.features, lengthscale=spec.lengthscale, amplitude=spec.amplitude
        )
        self.depth = RandomField(
            for_sparsity,
            d,
            1,
            features=spec.sparsity_features,
            lengthscale=spec.sparsity_lengthscale,
            amplitude=spec.sparsity_amplitude,
        )
        self._thresholds = thresholds
        self._temperature, self._offset = spec.temperature, spec.offset
        self._points: list[Callable[[FloatArray], float]]
        self._batches: list[Callable[[FloatArray], FloatArray]]
        if d <= GREATEST_FOR_IOH:
            self._points = [ioh_problem("SBOX", i, instance, d)[0] for i, instance in enumerate(spec.instances, 1)]
            self._batches = [batch_evaluation(problem) for problem in self._points]
        else:
            functions = [BBOBFunction(i, instance, d, strict=True) for i, instance in enumerate(spec.instances, 1)]
            self._points = self._batches = functions

    def sparsity(self, points: FloatArray) -> IntArray:
        """The number k(x) of active components, (m, d) -> (m,) (equations 43 to 45)."""
        return 1 + np.searchsorted(self._thresholds, self.depth(points)[:, 0], side="right")

    def weights(self, points: FloatArray) -> FloatArray:
        """The weights w(x), (m, d) -> (m, 24), of which k(x) are positive, with sum 1 (equations 41 and 42)."""
        logits, sparsity = self.logits(points), self.sparsity(points)
        descending = np.argsort(-logits, axis=1, kind="stable")
        positive = np.arange(FUNCTIONS) < sparsity[:, np.newaxis]
        active = np.zeros(logits.shape, dtype=np.bool_)
        np.put_along_axis(active, descending, positive, axis=1)
        greatest = logits.max(axis=1, keepdims=True)
        weights = np.where(active, np.exp((logits - greatest) / self._temperature), 0.0)
        return weights / weights.sum(axis=1, keepdims=True)

    def __call__(self, x: FloatArray) -> float:
        """Evaluate one (d,) point; NaN if it has the wrong length or contains NaN."""
        if len(x) != self._dimension:
            return math.nan
        x = np.asarray(x, dtype=np.float64)
        farthest = np.abs(x).max()
        if not farthest <= HALF_WIDTH:
            return math.nan if farthest != farthest else math.inf
        logits: list[float] = self.logits(x).tolist()
        k = 1 + bisect_right(self._thresholds, float(self.depth(x)[0]))
        active = sorted(range(FUNCTIONS), key=logits.__getitem__, reverse=True)[:k]
        greatest = logits[active[0]]
        total = weighted = 0.0
        for i in active:
            weight = math.exp((logits[i] - greatest) / self._temperature)
            total += weight
            weighted += weight * self._points[i](x)
        return weighted / total + self._offset

    def batch(self, points: FloatArray) -> FloatArray:
        """Evaluate (m, d) points -> (m,) float64: each component once, at all points where it is active."""
        points = np.asarray(points, dtype=np.float64)
        farthest = np.abs(points).max(axis=1, initial=0.0)
        values = np.where(np.isnan(farthest), np.nan, np.inf)
        for begin in range(0, len(points), ROWS):
            inside = begin + np.flatnonzero(farthest[begin : begin + ROWS] <= HALF_WIDTH)
            if len(inside):
                values[inside] = self._inside(points[inside])
        return values

    def _inside(self, points: FloatArray) -> FloatArray:
        weights = self.weights(points)
        values = np.zeros(len(points))
        for i, evaluate in enumerate(self._batches):
            rows = np.flatnonzero(weights[:, i])
            if len(rows):
                values[rows] += weights[rows, i] * evaluate(points[rows])
        return values + self._offset

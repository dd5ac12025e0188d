"""One GP-BBOB function, f(x) = Σ_i w_i(x) f_i(x) + y_0, of which only the active components are evaluated."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from polarbear.problems.bbob_functions import HALF_WIDTH, ROWS, BBOBFunction
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.gp_bbob.fields import RandomField
from polarbear.problems.gp_bbob.priors import STANDARD, Prior
from polarbear.problems.ioh_suites import FUNCTIONS, BBOBInstances, SBOXProblem
from polarbear.protocols import PLAIN, Traits
from polarbear.validation import Checked, Finite, Natural, Positive, real, set_fields, settings, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.records import FloatArray, IntArray

SPARSITY = "Trunc(LN(1.1, 0.5); [2, 24])"
"""F_K of table 3."""


def _sparsity(value: Any, name: str) -> str | float:
    prior = Prior.parse(value, name)
    low, high = prior.support
    if low < 1 or high >= FUNCTIONS + 1:
        raise ValueError(
            f"{name} is {value!r}, which allows {low:g} to {high:g} active components; valid is 1 to {FUNCTIONS}"
        )
    return prior.written


Sparsity = Annotated[str | float, Checked(_sparsity)]
"""F_K as it is written, checked to lie where there are components."""

GREATEST_FOR_IOH = 64
"""Up to here components are those of `ioh`, which evaluates single points of few variables several times as fast."""


@settings(kw_only=True)
class GPBBOBProblem:
    """One GP-BBOB function in the box [-5, 5]^d; the value outside is +inf. Its best value is not known.

    Attributes:
        dimension: Number of variables d, from 2.
        instances: (24,) instance numbers of the SBOX-BBOB functions, i_1 to i_24.
        seed: From which the features of both fields derive.
        offset: y_0, added to all values.
        temperature: T, positive: the lower, the more the greatest logit prevails.
        features: m, how many random Fourier features the logits have.
        lengthscale: ℓ of the logits, positive, in the units of the box.
        amplitude: σ of the logits, not negative.
        sparsity: F_K, the distribution whose whole part is k(x), the number of active components; or that number.
        sparsity_features: m_k, how many features the field behind k(x) has.
        sparsity_lengthscale: ℓ_k of that field, positive.
        sparsity_amplitude: σ_k of that field, not negative; at 1, k(x) has the distribution F_K.
        label: The instance's name; by default made from the contents.

    Raises:
        TypeError: If something is no number.
        ValueError: If something is out of its range, or there are not 24 instances.
    """

    dimension: Annotated[int, whole(2)]
    instances: BBOBInstances
    seed: Natural = 0
    offset: Finite = 0.0
    temperature: Annotated[float, real(gt=0)] = 1.0
    features: Positive = 128
    lengthscale: Annotated[float, real(gt=0)] = 5.0
    amplitude: Annotated[float, real(ge=0)] = 1.0
    sparsity: Sparsity = SPARSITY
    sparsity_features: Positive = 64
    sparsity_lengthscale: Annotated[float, real(gt=0)] = 5.0
    sparsity_amplitude: Annotated[float, real(ge=0)] = 1.0
    label: str = ""

    def __post_init__(self) -> None:
        if not self.label:
            contents = repr([getattr(self, field) for field in self.__dataclass_fields__ if field != "label"])
            digest = hashlib.sha256(contents.encode()).hexdigest()[:10]
            set_fields(self, label=f"gp-bbob-d{self.dimension}-x{digest}")

    @property
    def traits(self) -> Traits:
        """It is nothing beyond a function over a box."""
        return PLAIN

    @property
    def name(self) -> str:
        """The label, such as ``"gp-bbob-d240-s0-17"``."""
        return self.label

    def mixture(self) -> Mixture:
        """The function itself, which also tells weights and sparsity; builds all 24 components."""
        return Mixture(self)

    def build(self) -> BuiltProblem:
        """Draw the fields and build all components."""
        function = self.mixture()
        box = np.full(self.dimension, HALF_WIDTH)
        return BuiltProblem(self, function, function.batch, (-box, box), None)


def sparsity_thresholds(prior: Prior) -> list[float]:
    """Where k(x) = F_K⁻¹(Φ(h)) grows by one: k is 1 and as many as these are not above h.

    K is the whole part of a number with the given distribution.

    Returns:
        h at which k becomes 2, 3, …, 24: infinite where that happens for no h, or for all.
    """
    return [_probit(prior.below(float(k))) for k in range(2, FUNCTIONS + 1)]


def _probit(u: float) -> float:
    """Φ⁻¹(u), infinite at 0 and 1."""
    return -math.inf if u <= 0 else math.inf if u >= 1 else STANDARD.inv_cdf(u)


class Mixture:
    """The function of a `GPBBOBProblem`; +inf outside the box.

    A batch gives what its points give one by one, up to rounding: to 1e-12 of the components' values up to 64
    variables. Above, sums over variables are rounded differently, and f16 and f19 oscillate so fast that they
    magnify this a million times: to 1e-8.

    Attributes:
        logits: The 24 fields z (equation 40).
        depth: The field h behind the sparsity (equation 43).
    """

    __slots__ = ("_batches", "_dimension", "_offset", "_points", "_temperature", "_thresholds", "depth", "logits")

    def __init__(self, spec: GPBBOBProblem) -> None:
        """Draw the fields and build the 24 components, so that no evaluation has to."""
        for_logits, for_sparsity = np.random.default_rng(np.random.SeedSequence(spec.seed)).spawn(2)
        self._dimension = d = spec.dimension
        self.logits = RandomField(
            for_logits,
            d,
            FUNCTIONS,
            features=spec.features,
            lengthscale=spec.lengthscale,
            amplitude=spec.amplitude,
        )
        self.depth = RandomField(
            for_sparsity,
            d,
            1,
            features=spec.sparsity_features,
            lengthscale=spec.sparsity_lengthscale,
            amplitude=spec.sparsity_amplitude,
        )
        self._thresholds = sparsity_thresholds(Prior.parse(spec.sparsity, "sparsity"))
        self._temperature, self._offset = spec.temperature, spec.offset
        self._points: list[Callable[[FloatArray], float]]
        self._batches: list[Callable[[FloatArray], FloatArray]]
        if d <= GREATEST_FOR_IOH:
            built = [SBOXProblem(i, instance, d).build() for i, instance in enumerate(spec.instances, 1)]
            self._points = [problem.raw for problem in built]
            self._batches = [problem.batch for problem in built]
        else:
            functions = [BBOBFunction(i, instance, d, strict=True) for i, instance in enumerate(spec.instances, 1)]
            self._points = self._batches = functions

    def sparsity(self, points: FloatArray) -> IntArray:
        """k(x), how many components are active: (m, d) -> (m,) (equations 43 to 45)."""
        return 1 + np.searchsorted(self._thresholds, self.depth(points)[:, 0], side="right")

    def weights(self, points: FloatArray) -> FloatArray:
        """w(x): (m, d) -> (m, 24), k(x) of them positive, sum 1 (equations 41 and 42)."""
        logits, sparsity = self.logits(points), self.sparsity(points)
        descending = np.argsort(-logits, axis=1, kind="stable")
        kept = np.arange(FUNCTIONS) < sparsity[:, np.newaxis]
        active = np.zeros(logits.shape, dtype=np.bool_)
        np.put_along_axis(active, descending, kept, axis=1)
        greatest = logits.max(axis=1, keepdims=True)
        weights = np.where(active, np.exp((logits - greatest) / self._temperature), 0.0)
        return weights / weights.sum(axis=1, keepdims=True)

    def __call__(self, x: FloatArray) -> float:
        """Evaluate one (d,) point; NaN if it has the wrong length or holds NaN."""
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
        """Evaluate (m, d) points -> (m,) float64: each component once, at the points where it is active."""
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

"""MA-BBOB: random affine combinations of the BBOB functions.

The combination is that of Vermetten's thesis, section 6.1.2, as implemented in `ioh`'s ``ManyAffine``:
component precisions are capped at 1e-12, whereas the thesis caps them at 1e-8. Components without weight are left out,
which leaves the result unchanged bit for bit and is two to five times as fast. Above 144 variables the components are
functions on arrays, equal to those of `ioh` up to rounding, since `ioh` takes up to 0.2 s to build each.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np

from polarbear.descriptions import FieldError
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.bbob import HALF_WIDTH, as_list, objective
from polarbear.problems.functions.ioh import FUNCTIONS
from polarbear.problems.number_sets import Numbers, NumbersLike, numbers
from polarbear.problems.suite.base import EndlessStream, digest
from polarbear.problems.suite.bbob import BBOBInstances, InstanceOfEach
from polarbear.validation import Checked, Natural, Share, real_numbers, set_fields, settings, whole_number

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from polarbear.records import FloatArray

SCALE_FACTORS = (
    11.0, 17.5, 12.3, 12.6, 11.5, 15.3, 12.1, 15.3, 15.2, 17.4, 13.4, 20.4,
    12.9, 10.4, 12.3, 10.3, 9.8, 10.6, 10.0, 14.7, 10.7, 10.8, 9.0, 12.1,
)  # fmt: skip
"""S_1 to S_24, which bring the components' log-precisions to a similar scale (thesis, table 6.1)."""

LEAST_PRECISION, GREATEST_PRECISION = 1e-12, 1e20
"""Limits at which component precisions are capped, as in `ioh`."""


def threshold_weights(uniform: ArrayLike, threshold: float) -> FloatArray:
    """Sparse weights from uniform ones, by the rule of the thesis (section 6.1.2).

    The threshold, or the third-highest weight if that is lower, is subtracted, and negative results become 0, so that
    at least two weights stay positive. The weights are scaled to sum to 1.

    Args:
        uniform: (24,) numbers in [0, 1].
        threshold: From 0 to 1; at 0.85, 3.7 weights stay positive on average.

    Returns:
        (24,) float64 weights, at least two of them positive, with sum 1.
    """
    uniforms = np.asarray(uniform, dtype=np.float64)
    weights = np.maximum(uniforms - min(threshold, np.sort(uniforms)[-3]), 0.0)
    return weights / weights.sum()


class ManyAffine:
    """The combined function of given components (thesis, section 6.1.2), equal to that of `ioh`.

    Up to 144 variables it is equal bit for bit, and so is a batch to its points one by one. Above, both are equal up to
    rounding: to 1e-9 of the value, away from the optimum.
    """

    __slots__ = ("_components", "_dimension", "_location", "_optima")

    def __init__(self, spec: MABBOBProblem) -> None:
        """Build the components that carry weight."""
        self._components: list[tuple[Any, float, float, float]] = []
        optima: list[FloatArray] = []
        for i, (weight, scale) in enumerate(zip(spec.weights, SCALE_FACTORS, strict=True)):
            if weight > 0:
                evaluate, optimum, best = objective(i + 1, spec.instances[i], spec.dimension)
                self._components.append((evaluate, best, scale, weight))
                optima.append(optimum)
        self._optima = np.array(optima)
        self._location = np.array(spec.location)
        self._dimension = spec.dimension

    def __call__(self, x: FloatArray) -> float:
        """Evaluate one (d,) point: R⁻¹(Σ W_i R_i(F_i(x − x_opt + O_i) − F_i(O_i))); NaN if it has the wrong length."""
        if len(x) != self._dimension:
            return math.nan
        shifted = (x + self._optima) - self._location
        total = 0.0
        for (evaluate, best, scale, weight), z in zip(self._components, shifted, strict=True):
            total += _rescaled(evaluate(z) - best) / scale * weight
        return math.pow(10, 10 * total - 8)

    def batch(self, points: FloatArray) -> FloatArray:
        """Evaluate (m, d) points -> (m,) float64."""
        totals = [0.0] * len(points)
        if not totals:
            return np.array(totals)
        for (evaluate, best, scale, weight), optimum in zip(self._components, self._optima, strict=True):
            for i, value in enumerate(as_list(evaluate((points + optimum) - self._location))):
                totals[i] += _rescaled(value - best) / scale * weight
        return np.array([math.pow(10, 10 * total - 8) for total in totals])


def _rescaled(precision: float) -> float:
    """The log-precision of a component relative to 1e-8, before division by its scale factor."""
    if precision < LEAST_PRECISION:
        precision = LEAST_PRECISION
    elif precision > GREATEST_PRECISION:
        precision = GREATEST_PRECISION
    return math.log10(precision) + 8


def _weights(value: Any, name: str) -> tuple[float, ...]:
    weights = real_numbers(value, name)
    if len(weights) != FUNCTIONS:
        raise FieldError((name,), f"{name} has length {len(weights)}; MA-BBOB combines {FUNCTIONS} functions")
    if min(weights) < 0 or not 0 < sum(weights) < math.inf:
        raise FieldError(
            (name,), f"{name} are {list(weights)}; none may be negative, and at least one must be positive"
        )
    return weights


def _dimensions(value: Any, name: str) -> int | Numbers:
    if isinstance(value, tuple) and len(ends := cast("tuple[object, ...]", value)) == 2:
        low, high = (whole_number(end, name, 2) for end in ends)
        if low > high:
            raise FieldError((name,), f"{name} is ({low}, {high}); the first must not be above the second")
        return range(low, high + 1)
    return numbers(value, name, 2) if isinstance(value, (str, Iterable)) else whole_number(value, name, 2)


@settings
class MABBOBProblem:
    """One MA-BBOB function in the box [-5, 5]^d; points outside are evaluated as well.

    Its best value is about 1e-11, since the components' precisions are capped at 1e-12. With weight on f19 it is higher
    above 64 variables, where `ioh` misplaces that function's optimum, and the value at `location` need not be the best.

    Attributes:
        weights: 24 non-negative weights of the BBOB functions, scaled to sum to 1.
        instances: 24 BBOB instance numbers.
        location: (d,) the location of the optimum.
        label: The instance's name; by default derived from the contents.

    Raises:
        FieldError: If there are not 24 weights and instances, a weight is negative, or all are 0.
    """

    weights: Annotated[Sequence[float], Checked(_weights)]
    instances: InstanceOfEach
    location: Annotated[Sequence[float], Checked(real_numbers)]
    label: str = ""

    def __post_init__(self) -> None:
        weights = np.array(self.weights)
        whole_number(len(self.location), "ma-bbob dimension", 2)
        total = weights.sum()
        scaled = weights if math.isclose(total, 1.0, rel_tol=1e-12) else weights / total
        set_fields(self, weights=tuple(scaled.tolist()))
        if not self.label:
            contents = self.weights, self.instances, self.location
            set_fields(self, label=f"ma-bbob-d{self.dimension}-x{digest(contents, 10)}")

    @property
    def name(self) -> str:
        """The label, such as ``"ma-bbob-d5-s0-17"``."""
        return self.label

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return len(self.location)

    def build(self) -> BuiltProblem:
        """Construct the components that carry weight."""
        function = ManyAffine(self)
        box = np.full(self.dimension, HALF_WIDTH)
        return BuiltProblem(self, function, function.batch, (-box, box), function(np.array(self.location)))


@settings
class MABBOB(EndlessStream[MABBOBProblem]):
    """An endless stream of random MA-BBOB functions (thesis, section 6.1.2).

    Weights are drawn by `threshold_weights`, the components' instances uniformly, and the optimum uniformly from
    [-5, 5]^d. A problem's weights and instances do not depend on its dimension.

    Attributes:
        dimension: Number of variables: an int; a pair (low, high), from which it is drawn uniformly, both ends
            included; or a range, a list, or COCO's notation ``"2-40"``, from whose entries it is drawn uniformly.
        seed: Seed of the stream.
        threshold: T of the thesis, from 0 (all functions take part) to 1 (two do).
        instances: The BBOB instances to draw from; by default 1 to 999 (Wurth et al. 2026, table 3).

    Raises:
        FieldError: If a field is not a number or out of range.
    """

    dimension: Annotated[NumbersLike, Checked(_dimensions)] = 5
    seed: Natural = 0
    threshold: Share = 0.85
    instances: BBOBInstances = range(1, 1000)

    def _at(self, index: int) -> MABBOBProblem:
        drawing = np.random.SeedSequence([self.seed, index]).spawn(4)
        for_dimension, for_weights, for_instances, for_location = map(np.random.default_rng, drawing)
        dimensions = numbers(self.dimension, "dimension", 2)
        dimension = dimensions[int(for_dimension.integers(len(dimensions)))]
        choices = cast("Numbers", self.instances)
        return MABBOBProblem(
            weights=threshold_weights(for_weights.uniform(size=FUNCTIONS), self.threshold).tolist(),
            instances=[choices[int(i)] for i in for_instances.integers(len(choices), size=FUNCTIONS)],
            location=for_location.uniform(-HALF_WIDTH, HALF_WIDTH, size=dimension).tolist(),
            label=f"ma-bbob-d{dimension}-s{self.seed}-{index}{self._suffix()}",
        )

    def _suffix(self) -> str:
        """The part of names that distinguishes streams with other than the default settings."""
        threshold = f"-t{self.threshold!r}" if self.threshold != MABBOB.threshold else ""
        return threshold + (f"-i{digest(self.instances, 6)}" if self.instances != MABBOB.instances else "")

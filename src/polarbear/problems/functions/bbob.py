"""The 24 functions of BBOB and of SBOX-BBOB on arrays of points (Hansen et al. 2009; Vermetten et al. 2023).

Values equal those of `ioh` up to rounding; those of SBOX-BBOB only inside the box. `ioh` evaluates points one after
another, with a matrix product each; here many points share one. Construction is much faster at 240 variables, since
only the rotations that a function needs are computed.

In the formulas, R and Q are the function's two rotations, and e_i = i / (d − 1) for i = 0, …, d − 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.problems.functions import coco_random
from polarbear.problems.functions.ioh import ioh_problem

if TYPE_CHECKING:
    from polarbear.records import FloatArray

    Batch = Callable[[FloatArray], FloatArray]
    """(m, d) points -> (m,) values."""

HALF_WIDTH = 5.0
"""The box is [-5, 5]^d."""

SHARED_SEED = {4: 3, 18: 17}
"""Functions that use the random numbers of another function."""

MAGNIFYING = frozenset({16, 17, 18, 19, 23})
"""Functions that magnify rounding errors a million times: their rotations are rounded as in `ioh`."""

PENALTIES = {4: 100.0, 7: 1.0, 17: 10.0, 18: 10.0, 21: 1.0, 22: 1.0, 23: 1.0, 24: 1e4}
"""Weights of the penalty Σ max(0, |x_i| − 5)² outside the box; for f16 the weight is 10 / d."""

GREATEST_FOR_IOH = 144
"""Up to this number of variables, `ioh` evaluates single points faster and builds a function in 0.04 s."""

ROWS = 1024
"""Number of points evaluated at once, so that intermediate results stay in the cache."""


class Ingredients:
    """The optimum, rotations and other parts of an instance of a function."""

    def __init__(self, function: int, instance: int, dimension: int, strict: bool) -> None:
        self.function = function
        self.dimension = dimension
        self.strict = strict
        self.seed = SHARED_SEED.get(function, function) + coco_random.SEEDS_PER_INSTANCE * instance
        self.exponents = np.arange(dimension) / (dimension - 1)

    @cached_property
    def drawn(self) -> FloatArray:
        """(d,) a uniformly random point of the box, for BBOB of [-4, 4)^d, with no coordinate 0."""
        seed = self.seed + 1_000_000 * (self.function == 12)
        return coco_random.location(self.dimension, seed, HALF_WIDTH if self.strict else 4.0)

    @cached_property
    def optimum(self) -> FloatArray:
        """(d,) the optimum."""
        optimum = _OPTIMA.get(self.function)
        return optimum(self) if optimum else self.drawn

    @cached_property
    def signs(self) -> FloatArray:
        """(d,) the signs ±1 by which f20 and f24 choose an orthant."""
        if self.function == 20:
            return np.where(coco_random.uniforms(self.dimension, self.seed) < 0.5, -1.0, 1.0)
        return np.where(coco_random.normals(self.dimension, self.seed) < 0, -1.0, 1.0)

    @cached_property
    def R(self) -> FloatArray:  # noqa: N802 - the papers' letter
        """(d, d) the first rotation."""
        return self._rotation(self.seed + 1_000_000)

    @cached_property
    def Q(self) -> FloatArray:  # noqa: N802 - the papers' letter
        """(d, d) the second rotation."""
        return self._rotation(self.seed)

    def _rotation(self, seed: int) -> FloatArray:
        rotation = coco_random.rotation_as_summed if self.function in MAGNIFYING else coco_random.rotation
        return rotation(self.dimension, seed)

    @cached_property
    def peaks(self) -> FloatArray:
        """(n, d) the positions of the peaks of f21 and f22, the highest first."""
        count, half = (101, 5.0) if self.function == 21 else (21, 4.9)
        coordinates = 2 * half * coco_random.uniforms(count * self.dimension, self.seed) - half
        peaks = coordinates.reshape(count, self.dimension)
        if not self.strict:
            peaks[0] *= 0.8
        return peaks

    def scaled(self, condition: float) -> FloatArray:
        """(d,) the diagonal of Λ^condition: condition^(e_i / 2)."""
        return condition ** (self.exponents / 2)

    def product(self, condition: float) -> FloatArray:
        """(d, d) the transpose of R Λ^condition Q, by which points are multiplied from the right."""
        return ((self.R * self.scaled(condition)) @ self.Q).T

    @property
    def scale(self) -> float:
        """The factor max(1, √d / 8)."""
        return max(1.0, math.sqrt(self.dimension) / 8)


class BBOBFunction:
    """One function of BBOB or of SBOX-BBOB (`strict`); the latter's values are valid inside the box only.

    Many points share matrix products, so that sums over variables may be rounded differently from those of one point.

    Attributes:
        optimum: (d,) the minimizer according to `ioh`; for f19 with more than 64 variables it is not the minimizer.
        best: The smallest value.
    """

    __slots__ = ("_penalty", "_values", "best", "optimum")

    def __init__(self, function: int, instance: int, dimension: int, *, strict: bool = False) -> None:
        """Draw the random parts of the function.

        Args:
            function: The function's number, 1 to 24.
            instance: COCO's instance number, from 1.
            dimension: Number of variables d, from 2.
            strict: Whether the function is of SBOX-BBOB.
        """
        data = Ingredients(function, instance, dimension, strict)
        self._values = _FUNCTIONS[function - 1](data)
        self._penalty = 0.0 if strict else 10.0 / dimension if function == 16 else PENALTIES.get(function, 0.0)
        self.optimum = data.optimum
        self.best = coco_random.offset(data.seed)

    def __call__(self, x: FloatArray) -> Any:
        """Evaluate one point, (d,) -> float, or many, (m, d) -> (m,) float64; NaN at NaN and infinite points."""
        with np.errstate(all="ignore"):
            if x.ndim == 1:
                value = float(self._rows(x[np.newaxis])[0])
                return value if math.isfinite(value) or np.isfinite(x).all() else math.nan
            blocks = [self._rows(x[begin : begin + ROWS]) for begin in range(0, len(x), ROWS)]
            values = np.concatenate(blocks) if blocks else np.empty(0)
            values[~np.isfinite(values) & ~np.isfinite(x).all(axis=1)] = math.nan
            return values

    def _rows(self, points: FloatArray) -> FloatArray:
        values = self._values(points) + self.best
        if self._penalty:
            beyond = np.abs(points) - HALF_WIDTH
            if beyond.max() > 0:
                values += self._penalty * squares(np.maximum(beyond, 0.0))
        return values


def objective(function: int, instance: int, dimension: int) -> tuple[Callable[[Any], Any], FloatArray, float]:
    """A function of BBOB: that of `ioh`, or a `BBOBFunction` above `GREATEST_FOR_IOH` variables.

    Returns:
        The evaluation of one point, (d,) -> float, or of several, (m, d) -> m numbers, with m at least 1; (d,) the
        optimum according to `ioh`; the best value.
    """
    if dimension > GREATEST_FOR_IOH:
        own = BBOBFunction(function, instance, dimension)
        return own, own.optimum, own.best
    raw: Any = ioh_problem("BBOB", function, instance, dimension)[0]
    return raw, np.array(raw.optimum.x), float(raw.optimum.y)


def as_list(values: list[float] | FloatArray) -> list[float]:
    """The values of several points as a list of floats, with which Python computes faster."""
    return values.tolist() if isinstance(values, np.ndarray) else values


def oscillated(x: FloatArray) -> FloatArray:
    """T_osz, applied element by element: smooth local irregularities."""
    positive = x > 0
    log = np.log(np.maximum(np.abs(x), 1e-300))
    waves = np.sin((5.5 + 4.5 * positive) * log) + np.sin((3.1 + 4.8 * positive) * log)
    return np.copysign(np.exp(log + 0.049 * waves), x)


def skewed(x: FloatArray, beta: float, exponents: FloatArray) -> FloatArray:
    """T_asy^β: x_i^(1 + β e_i √x_i) where x_i is positive."""
    positive = np.maximum(x, 0.0)
    return positive ** (1 + beta * exponents * np.sqrt(positive)) + np.minimum(x, 0.0)


def squares(x: FloatArray) -> FloatArray:
    """(m, n) -> (m,) sums of squares."""
    return np.einsum("ij,ij->i", x, x)


def _sphere(data: Ingredients) -> Batch:
    optimum = data.optimum
    return lambda x: squares(x - optimum)


def _ellipsoid(data: Ingredients) -> Batch:
    optimum, weights = data.optimum, 1e6**data.exponents
    return lambda x: oscillated(x - optimum) ** 2 @ weights


def _waves(z: FloatArray) -> FloatArray:
    """Rastrigin's function; infinite where z is infinite."""
    total = squares(z)
    return np.fmax(total, 10 * (z.shape[1] - np.cos(2 * math.pi * z).sum(axis=1)) + total)


def _rastrigin(data: Ingredients) -> Batch:
    optimum, exponents, scaled = data.optimum, data.exponents, data.scaled(10.0)
    return lambda x: _waves(scaled * skewed(oscillated(x - optimum), 0.2, exponents))


def _bueche_rastrigin(data: Ingredients) -> Batch:
    optimum, scaled = data.optimum, data.scaled(10.0)
    steeper = np.where(np.arange(data.dimension) % 2 == 0, 10.0, 1.0)

    def values(x: FloatArray) -> FloatArray:
        z = oscillated(x - optimum)
        return _waves(z * scaled * np.where(z > 0, steeper, 1.0))

    return values


def _linear_slope(data: Ingredients) -> Batch:
    corner, steepness = data.optimum, data.scaled(100.0)
    slopes, heights = np.copysign(steepness, corner), HALF_WIDTH * steepness

    def values(x: FloatArray) -> FloatArray:
        climbed = heights - slopes * np.where(x * corner < HALF_WIDTH**2, x, corner)
        return (climbed + 0.0 * x).sum(axis=1)  # NaN where x is not finite

    return values


def _attractive_sector(data: Ingredients) -> Batch:
    optimum, matrix = data.optimum, data.product(10.0)

    def values(x: FloatArray) -> FloatArray:
        z = (x - optimum) @ matrix
        return oscillated((z * z * np.where(z * optimum > 0, 1e4, 1.0)).sum(axis=1)) ** 0.9

    return values


def _step_ellipsoid(data: Ingredients) -> Batch:
    """As in `ioh`, where |z_1| / 10^4 is taken after rounding and so never exceeds the sum; hence plateaus are flat."""
    optimum, rotation = data.optimum, data.R.T
    matrix = (data.scaled(10.0)[:, np.newaxis] * data.Q).T
    weights = 100.0**data.exponents

    def values(x: FloatArray) -> FloatArray:
        z = (x - optimum) @ matrix
        stepped = np.where(np.abs(z) > 0.5, np.floor(z + 0.5), np.floor(10 * z + 0.5) / 10)
        return 0.1 * ((stepped @ rotation) ** 2 @ weights)

    return values


def _valley(z: FloatArray) -> FloatArray:
    """Rosenbrock's function."""
    left, right = z[:, :-1], z[:, 1:]
    return 100 * squares(left * left - right) + squares(left - 1)


def _rosenbrock(data: Ingredients) -> Batch:
    optimum, scale = data.optimum, data.scale
    return lambda x: _valley(scale * (x - optimum) + 1)


def _rosenbrock_rotated(data: Ingredients) -> Batch:
    matrix = data.scale * data.Q.T
    return lambda x: _valley(x @ matrix + 0.5)


def _ellipsoid_rotated(data: Ingredients) -> Batch:
    optimum, rotation, weights = data.optimum, data.R.T, 1e6**data.exponents
    return lambda x: oscillated((x - optimum) @ rotation) ** 2 @ weights


def _discus(data: Ingredients) -> Batch:
    optimum, rotation = data.optimum, data.R.T
    weights = np.ones(data.dimension)
    weights[0] = 1e6
    return lambda x: oscillated((x - optimum) @ rotation) ** 2 @ weights


def _bent_cigar(data: Ingredients) -> Batch:
    optimum, rotation, exponents = data.optimum, data.R.T, data.exponents

    def values(x: FloatArray) -> FloatArray:
        z = skewed((x - optimum) @ rotation, 0.5, exponents) @ rotation
        return z[:, 0] ** 2 + 1e6 * squares(z[:, 1:])

    return values


def _sharp_ridge(data: Ingredients) -> Batch:
    optimum, matrix = data.optimum, data.product(10.0)
    linear = max(1, math.ceil(data.dimension / 40))

    def values(x: FloatArray) -> FloatArray:
        z = (x - optimum) @ matrix
        return 100 * np.sqrt(squares(z[:, linear:]) / linear) + squares(z[:, :linear]) / linear

    return values


def _different_powers(data: Ingredients) -> Batch:
    optimum, rotation = data.optimum, data.R.T
    powers = 2 + 4 * data.exponents
    return lambda x: np.sqrt((np.abs((x - optimum) @ rotation) ** powers).sum(axis=1))


def _rastrigin_rotated(data: Ingredients) -> Batch:
    optimum, exponents = data.optimum, data.exponents
    rotation, matrix = data.R.T, data.product(10.0)
    return lambda x: _waves(skewed(oscillated((x - optimum) @ rotation), 0.2, exponents) @ matrix)


def _weierstrass(data: Ingredients) -> Batch:
    """Σ_k 2^−k cos(2π 3^k z), k = 0 … 11; the angle is tripled by cubing a complex number."""
    optimum, rotation, matrix = data.optimum, data.R.T, data.product(0.01)
    heights = 0.5 ** np.arange(12)
    least = -heights.sum()

    def values(x: FloatArray) -> FloatArray:
        angles = 2 * math.pi * (oscillated((x - optimum) @ rotation) @ matrix + 0.5)
        turning = np.cos(angles) + 1j * np.sin(angles)
        total = turning.real.sum(axis=1)
        for height in heights[1:]:
            turning *= turning * turning
            total += height * turning.real.sum(axis=1)
        return 10 * (total / data.dimension - least) ** 3

    return values


def _schaffers(data: Ingredients) -> Batch:
    optimum, rotation, exponents = data.optimum, data.R.T, data.exponents
    condition = 10.0 if data.function == 17 else 1000.0
    matrix = (data.scaled(condition)[:, np.newaxis] * data.Q).T

    def values(x: FloatArray) -> FloatArray:
        z = (skewed((x - optimum) @ rotation, 0.5, exponents) @ matrix) ** 2
        pairs = z[:, :-1] + z[:, 1:]
        return (np.sqrt(np.sqrt(pairs)) * (1 + np.sin(50 * pairs**0.1) ** 2)).mean(axis=1) ** 2

    return values


def _griewank_rosenbrock(data: Ingredients) -> Batch:
    matrix = data.scale * data.Q.T

    def values(x: FloatArray) -> FloatArray:
        z = x @ matrix + 0.5
        left, right = z[:, :-1], z[:, 1:]
        s = 100 * (left * left - right) ** 2 + (1 - left) ** 2
        return 10 + 10 * (s / 4000 - np.cos(s)).mean(axis=1)

    return values


SCHWEFEL = 4.2096874637
"""Twice the absolute value of the coordinates of f20's optimum."""


def _schwefel(data: Ingredients) -> Batch:
    signs, scaled, shift = data.signs, data.scaled(10.0), SCHWEFEL

    def values(x: FloatArray) -> FloatArray:
        z = 2 * signs * x
        z[:, 1:] += 0.25 * (z[:, :-1] - shift)  # the right side is computed first, from unchanged values
        z = 100 * (scaled * (z - shift) + shift)
        absolute = np.abs(z)
        beyond = squares(np.maximum(absolute - 500, 0.0))
        return 0.01 * (beyond + 418.9828872724339 - (z * np.sin(np.sqrt(absolute))).mean(axis=1))

    return values


def _gallagher(data: Ingredients) -> Batch:
    """Peaks v_p exp(−(y − c_p)ᵀ S_p (y − c_p) / 2d) with y = Q (x − x_1) and c_p = Q (x_p − x_1).

    The squares are multiplied out, which is exact at the highest peak x_1, since c_1 = 0.
    """
    seed, dimension, count = data.seed, data.dimension, len(data.peaks)
    order = np.argsort(coco_random.uniforms(count - 1, seed))
    conditions = np.array([math.sqrt(1000) if count == 101 else 1000.0, *1000.0 ** (order / (count - 2))])
    heights = np.array([10.0, *(1.1 + 8.0 * np.arange(count - 1) / (count - 2))])
    orders = [np.argsort(coco_random.uniforms(dimension, seed + 1000 * p)) for p in range(count)]
    shapes = conditions[:, np.newaxis] ** (np.array(orders) / (dimension - 1) - 0.5)
    highest, rotation, factor = data.optimum, data.Q.T, -0.5 / dimension
    centers = (data.peaks - highest) @ rotation
    quadratic = factor * shapes.T
    linear = -2 * factor * (shapes * centers).T
    constant = factor * squares(np.sqrt(shapes) * centers)

    def values(x: FloatArray) -> FloatArray:
        y = (x - highest) @ rotation
        exponents = np.minimum((y * y) @ quadratic + y @ linear + constant, 0.0)
        return oscillated(10 - (heights * np.exp(exponents)).max(axis=1)) ** 2

    return values


def _katsuura(data: Ingredients) -> Batch:
    optimum, matrix, dimension = data.optimum, data.product(100.0), data.dimension
    positions = np.arange(1, dimension + 1)
    power, factor = 10 / dimension**1.2, 10 / dimension**2
    doubled = 2.0 ** np.arange(1, 33)

    def ruggedness(z: FloatArray) -> FloatArray:
        larger = np.multiply.outer(doubled, z)
        larger -= np.rint(larger)
        return (1 / doubled) @ np.abs(larger, out=larger)

    def values(x: FloatArray) -> FloatArray:
        total = np.array([ruggedness(z) for z in (x - optimum) @ matrix])
        return factor * (np.exp(power * np.log1p(positions * total).sum(axis=1)) - 1)

    return values


def _lunacek(data: Ingredients) -> Batch:
    dimension, matrix = data.dimension, data.product(100.0)
    signs, first = 2 * data.signs, 2.5
    s = 1 - 0.5 / (math.sqrt(dimension + 20) - 4.1)
    second = -math.sqrt((first**2 - 1) / s)

    def values(x: FloatArray) -> FloatArray:
        y = signs * x
        funnels = np.minimum(squares(y - first), dimension + s * squares(y - second))
        return funnels + 10 * (dimension - np.cos(2 * math.pi * ((y - first) @ matrix)).sum(axis=1))

    return values


_FUNCTIONS: tuple[Callable[[Ingredients], Batch], ...] = (
    _sphere, _ellipsoid, _rastrigin, _bueche_rastrigin, _linear_slope, _attractive_sector, _step_ellipsoid, _rosenbrock,
    _rosenbrock_rotated, _ellipsoid_rotated, _discus, _bent_cigar, _sharp_ridge, _different_powers, _rastrigin_rotated,
    _weierstrass, _schaffers, _schaffers, _griewank_rosenbrock, _schwefel, _gallagher, _gallagher, _katsuura, _lunacek,
)  # fmt: skip
"""f1 to f24."""


def _griewank_rosenbrock_optimum(data: Ingredients) -> FloatArray:
    """As in `ioh`, where it is the optimum only up to 64 variables: beyond, a part of the sums is scaled twice."""
    twice = np.where(np.tri(data.dimension, dtype=np.bool_).T, data.scale, 1.0)
    return (twice * data.Q).sum(axis=0) / (2 * data.scale)


_OPTIMA: dict[int, Callable[[Ingredients], FloatArray]] = {
    4: lambda data: np.where(np.arange(data.dimension) % 2 == 0, np.abs(data.drawn), data.drawn),
    5: lambda data: np.copysign(HALF_WIDTH, data.drawn),
    8: lambda data: 0.75 * data.drawn,
    9: lambda data: data.Q.sum(axis=0) / (2 * data.scale),
    19: _griewank_rosenbrock_optimum,
    20: lambda data: 0.5 * SCHWEFEL * data.signs,
    21: lambda data: data.peaks[0],
    22: lambda data: data.peaks[0],
    24: lambda data: 1.25 * data.signs,
}
"""Optima that differ from the point drawn."""

"""Residual-bootstrapped PEM: expected rank weights from bootstrap rankings (Wang and Lu, 2026, appendix B)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Annotated, Any, Literal

import numpy as np

from polarbear.optimizers.noisy.assumptions import READERS
from polarbear.optimizers.noisy.expected_weights import instability, mean_weights, membership
from polarbear.optimizers.noisy.posterior import posterior_means
from polarbear.optimizers.noisy.selection import Generation, IntArray, Selection, rank, stage
from polarbear.records import FloatArray
from polarbear.validation import Flag, Natural, Positive, real, whole

SMOOTHING = 0.25
"""The weight of a new generation in moving averages, as in the authors' runs."""


@dataclass(kw_only=True, eq=False)
class Memory:
    """What residual bootstrapping has learned in the course of a run.

    Attributes:
        pool: (n, 2) standardized residuals, oldest first, and the |f| at which they were observed.
        scale: Parameters (s0, s1) of the noise's scale s0 + s1 |f|.
        residuals: (n, 2) sizes of the last `WINDOW` residuals, oldest first, and the |f| at which they were observed.
        disagreement: Moving average of how much the ranks of reevaluated candidates change, from 0 to 1.
        center: (λ,) the estimated values of the current generation.
        fits: How often the centre was estimated in the current generation.
        refitted: The last two centres estimated from different halves of the same generation.
        clipped: Numbers of winsorized residuals and of all residuals.
    """

    pool: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    scale: tuple[float, float] = (0.0, 0.0)
    residuals: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    disagreement: float = 1.0
    center: FloatArray | None = None
    fits: int = 0
    refitted: tuple[FloatArray, FloatArray] | None = None
    clipped: tuple[int, int] = (0, 0)

    @property
    def stability(self) -> float:
        """How far the centre moves with other halves, in its standard deviations; NaN if it is the observed values."""
        if self.refitted is None:
            return math.nan
        first, second = self.refitted
        spread = float(second.std())
        return float((second - first).std()) / spread if spread > 0 else math.nan


WINDOW = 64
"""Number of recent residuals that the scale is fitted to."""


@stage("residual-bootstrap")
class ResidualBootstrap(Selection):
    """Expected rank weights, estimated from bootstrap rankings with a pool of standardized residuals.

    Attributes:
        cap: Maximum number of reevaluations per generation, K_max; "adaptive": 2 + λ times the share of ranks that
            change, and at most 0.3 λ, as in the authors' runs.
        target: The candidates to reevaluate: those whose weights vary most between bootstrap rankings (eq. 47), or
            those of ranks μ - 1, μ, μ + 1, …
        center: The centre of bootstrap values: a ridge regression on the other half of the candidates, or the observed
            values, which are always used in a generation with an infinite value.
        ridge: The penalty of the ridge regression.
        scale: Whether the noise's scale is the same for all candidates (constant) or s0 + s1 |f| (linear).
        bound: The size M at which standardized residuals are winsorized.
        pool_size: Maximum number of residuals kept; beyond it, random ones are dropped.
        replicates: Number of bootstrap rankings per generation, B_boot.
        least: Minimum number of residuals in the pool; with fewer, the observed ranks are used.
        own: Whether reevaluated candidates are resampled from their own values.
        power: Whether ranks r < μ have the weights (1 - r / (λ - 1))ⁿ, with n growing from 1.2 to 4 in the course of a
            run, in place of the logarithmic ones.
        horizon: For `power`, the number of evaluations per variable after which n reaches 4: the budget of a run, if it
            is known. The authors' runs had 100.
        weiszfeld: Whether the mean is moved one Weiszfeld step towards the geometric median.
    """

    cap: Natural | Literal["adaptive"] = 1
    target: Literal["instability", "boundary"] = "instability"
    center: Literal["ridge", "observed"] = "ridge"
    ridge: Annotated[float, real(gt=0)] = 1.0
    scale: Literal["constant", "linear"] = "linear"
    bound: Annotated[float, real(gt=0)] = 10.0
    pool_size: Positive = 512
    replicates: Positive = 32
    least: Annotated[int, whole(2)] = 6
    own: Flag = False
    power: Flag = False
    horizon: Annotated[float, real(gt=0)] = 100.0
    weiszfeld: Flag = False

    def begin(self) -> Memory:
        """See `Selection`."""
        return Memory()

    def request(self, memory: Memory, generation: Generation, rng: np.random.Generator) -> IntArray:
        """All candidates once, then those to reevaluate."""
        values = generation.values
        if values.shape[1] == 0:
            memory.fits = 0
            return np.arange(len(generation.points))
        more = self._effort(memory, len(values))
        if values.shape[1] > 1 or more == 0:
            return np.empty(0, dtype=np.intp)
        if self.target == "boundary" or len(memory.pool) < self.least:
            first = max(0, len(values) // 2 - 2)
            return values[:, 0].argsort(kind="stable")[first : first + more]  # ranks μ - 1, μ, μ + 1, ...
        weights = generation.parameters.rank_weights[0]
        unstable = instability(membership(self._draw(memory, generation, rng)), weights)
        return (-unstable).argsort(kind="stable")[:more]

    def _effort(self, memory: Memory, population: int) -> int:
        if self.cap != "adaptive":
            return min(self.cap, population)
        return min(2 + round(memory.disagreement * population), int(0.3 * population))

    def values(self, memory: Memory, generation: Generation) -> FloatArray:  # noqa: ARG002
        """(λ,) the median of each candidate's values."""
        return generation.medians

    @property
    def knows_noise(self) -> bool:
        """Whether candidates are reevaluated."""
        return self.cap != 0

    def posterior(self, memory: Memory, generation: Generation) -> FloatArray | None:
        """See `Selection`; the noise is that of the bootstrap, prior means are those of the regression, if any."""
        if len(memory.pool) < self.least:
            return None
        labels = generation.medians
        scales = memory.scale[0] + memory.scale[1] * np.abs(labels)
        counts = np.count_nonzero(generation.values == generation.values, axis=1)  # not NaN
        prior = memory.center if self.center == "ridge" and np.isfinite(labels).all() else None
        return posterior_means(labels, np.square(scales) * float(np.square(memory.pool[:, 0]).mean()) / counts, prior)

    def weigh(self, memory: Memory, generation: Generation, rng: np.random.Generator) -> FloatArray:
        """See `Selection`."""
        self._learn(memory, generation, rng)
        table = self._rank_weights(generation)
        if len(memory.pool) < self.least:
            return table[:, rank(generation.medians)]
        weights = mean_weights(self._draw(memory, generation, rng), table)
        return self._toward_median(weights, generation) if self.weiszfeld else weights

    def _learn(self, memory: Memory, generation: Generation, rng: np.random.Generator) -> None:
        """Add the residuals of reevaluated candidates to the pool (steps 1, 3 and 4)."""
        again = generation.again
        if not len(again):
            return
        observed = generation.values[again]
        residuals = residuals_of(observed, generation.medians[again])
        memory.residuals = np.concatenate([memory.residuals, np.abs(residuals).T])[-WINDOW:]
        if len(memory.residuals) >= self.least:
            memory.scale = self._fitted_scale(memory)
        scales = memory.scale[0] + memory.scale[1] * residuals[1]
        if memory.scale[0] == 0:
            residuals, scales = residuals[:, scales > 0], scales[scales > 0]
        if len(scales):
            standardized = residuals[0]
            standardized /= scales
            clipped = int(np.count_nonzero(np.abs(standardized) >= self.bound))
            if clipped:
                standardized.clip(-self.bound, self.bound, out=standardized)
            memory.clipped = memory.clipped[0] + clipped, memory.clipped[1] + len(scales)
            memory.pool = thinned(np.concatenate([memory.pool.T, residuals], axis=1).T, self.pool_size, rng)
        values = generation.values[:, 0]
        first = values.argsort(kind="stable")
        values = values.copy()
        values[again] = observed[:, 1]
        moved = first[first != values.argsort(kind="stable")]  # candidates whose rank has changed
        changed = len(set(moved.tolist()).intersection(again.tolist())) / len(again)
        memory.disagreement += SMOOTHING * (changed - memory.disagreement)

    def _fitted_scale(self, memory: Memory) -> tuple[float, float]:
        constant = self.scale == "constant"
        new = (float(memory.residuals[:, 0].mean()), 0.0) if constant else non_negative_line(memory.residuals)
        if memory.scale == (0.0, 0.0):
            return new
        old = memory.scale
        return old[0] + SMOOTHING * (new[0] - old[0]), old[1] + SMOOTHING * (new[1] - old[1])

    def _draw(self, memory: Memory, generation: Generation, rng: np.random.Generator) -> FloatArray:
        """(b, λ) bootstrap values (eq. 35)."""
        labels = generation.medians
        center, finite = labels, labels.max() < math.inf
        if self.center == "ridge" and finite:
            center = cross_fitted(generation.products, labels, self.ridge, rng)
            if memory.fits and memory.center is not None:
                memory.refitted = memory.center, center
        memory.center, memory.fits = center, memory.fits + 1
        sizes = np.abs(center if finite else np.where(labels < math.inf, labels, 0.0))  # infinite values stay infinite
        places = rng.random((self.replicates, len(center)))
        places *= len(memory.pool)
        drawn = memory.pool[:, 0].take(places.astype(np.intp))
        drawn *= memory.scale[0] + memory.scale[1] * sizes
        drawn += center
        if self.own and len(again := generation.again):
            first, second = generation.values[again, :2].T
            drawn[:, again] = np.where(rng.random((self.replicates, len(again))) < 0.5, first, second)
        return drawn

    def _rank_weights(self, generation: Generation) -> FloatArray:
        parameters = generation.parameters
        if not self.power:
            return parameters.rank_weights
        count = parameters.population
        spent = min(1.0, generation.spent / (self.horizon * parameters.dimension))
        raw = lifted_ranks(count) ** (1.2 + 2.8 * spent)
        table = np.empty((2, count))
        table[:] = raw / raw.sum()
        return table

    def _toward_median(self, weights: FloatArray, generation: Generation) -> FloatArray:
        positive = weights[0]
        mean = positive @ generation.points
        away = generation.points - mean
        distances = np.sqrt(np.einsum("ij,ij->i", away, away))
        pulled = positive / np.maximum(distances, 1e-12)
        weights[0] = pulled / pulled.sum()
        return weights

    def diagnostics(self) -> Mapping[str, Callable[[Any], float]]:
        """The readers in `polarbear.optimizers.noisy.assumptions.READERS`."""
        return READERS


def thinned(pool: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
    """A random selection of at most `size` rows of a pool (n, 2), in their order."""
    excess = len(pool) - size
    if excess <= 0:
        return pool
    if excess * excess >= len(pool):
        return np.delete(pool, rng.choice(len(pool), excess, replace=False), axis=0)
    while len(dropped := set(rng.integers(len(pool), size=excess).tolist())) < excess:
        pass  # a few are likely to be distinct, and this draws them fastest
    return np.concatenate([pool[start + 1 : end] for start, end in pairwise([-1, *sorted(dropped), len(pool)])])


@cache
def lifted_ranks(count: int) -> FloatArray:
    """(λ,) 1 - r / (λ - 1) for ranks r < μ, and 0 for others."""
    ranks = np.arange(count)
    return np.where(ranks < count // 2, 1 - ranks / (count - 1), 0.0)


def residuals_of(values: FloatArray, medians: FloatArray) -> FloatArray:
    """(2, n) the finite differences of values (k, m) from their medians (k,), NaN left out, and the medians' sizes."""
    centered = np.isfinite(medians)
    if not centered.all():
        values, medians = values[centered], medians[centered]
    above = (values - medians[:, np.newaxis]).reshape(-1)
    table = np.empty((2, len(above)))
    table[0], table[1] = above, np.abs(medians).repeat(values.shape[1])
    finite = np.isfinite(above)
    return table if finite.all() else table[:, finite]


def non_negative_line(points: FloatArray) -> tuple[float, float]:
    """The (s0, s1) ≥ 0 that minimize the sum of squares Σ (y - s0 - s1 x)².

    Args:
        points: (n, 2) y and x, non-negative.
    """
    unit = max(float(points.max()), 1e-300)
    scaled = points / unit
    means = equal_shares(len(points)) @ scaled
    away = scaled - means
    level, middle = means.tolist()
    (_, rising), (_, spread) = (away.T @ away).tolist()
    if rising <= 0:
        return level * unit, 0.0  # the slope would be negative: the best constant
    if level < rising / spread * middle:
        y, x = scaled.T
        return 0.0, float(x @ y) / float(x @ x)  # the intercept would be negative: the best line through the origin
    return (level - rising / spread * middle) * unit, rising / spread


@cache
def equal_shares(count: int) -> FloatArray:
    """(n,) equal weights 1 / n."""
    return np.full(count, 1 / count)


@cache
def folds(count: int, ridge: float) -> tuple[FloatArray, FloatArray, IntArray]:
    """The fixed parts of cross-fitting for n candidates, the first half of which is one fold and the rest the other.

    Returns:
        (n, n) whether two candidates are in the same fold; (n + 2, n + 2) the system of equations without the products
        of steps; (n,) the position of the other fold's intercept in the solution.
    """
    fold = np.repeat([0, 1], [count // 2, count - count // 2])
    member = (fold == [[0], [1]]).astype(float)
    same, corner = member.T @ member, np.zeros((2, 2))
    return same, np.block([[ridge * np.eye(count), member.T], [member, corner]]), count + 1 - fold


@cache
def linear_solver() -> Any:
    """LAPACK's linear solver; `numpy.linalg.solve` takes several times as long for small systems."""
    from scipy.linalg.lapack import dgesv

    return dgesv


def cross_fitted(products: FloatArray, labels: FloatArray, ridge: float, rng: np.random.Generator) -> FloatArray:
    """Two-fold cross-fitted ridge regression: each half of the candidates is predicted from the other.

    Both halves are solved for at once, in the dual form: a half with steps z and labels y has the coefficients zᵀα and
    the intercept b with (z zᵀ + ridge I) α + b = y and Σ α = 0.

    Args:
        products: (λ, λ) the products z zᵀ of all standardized steps.
        labels: (λ,) the observed values, finite.
        ridge: The penalty on the coefficients; the intercept is not penalized.
        rng: The random generator that draws the halves.

    Returns:
        (λ,) predicted values.
    """
    count = len(labels)
    same, equations, other = folds(count, ridge)
    order = rng.permutation(count)
    products = products.take(order, axis=0).take(order, axis=1)
    within = products * same
    system, known = equations.copy(), np.zeros(count + 2)
    corner = system[:count, :count]
    corner += within
    known[:count] = labels[order]
    _, _, solution, singular = linear_solver()(system.T, known, overwrite_a=True, overwrite_b=True)  # symmetric
    if singular:
        raise np.linalg.LinAlgError(f"the regression on steps with ridge {ridge:g} has no solution; use a larger ridge")
    products -= within
    predicted = np.empty(count)
    predicted[order] = products @ solution[:count] + solution[other]
    return predicted

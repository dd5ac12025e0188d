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
from polarbear.optimizers.noisy.selection import Generation, IntArray, Selection, rank, stage
from polarbear.records import FloatArray
from polarbear.validation import Flag, Natural, Positive, real, whole

SMOOTHING = 0.25
"""The weight of a new generation in moving averages, as in the authors' runs."""


@dataclass(kw_only=True, eq=False)
class Memory:
    """What residual bootstrapping has learned in the course of a run.

    Attributes:
        pool: (n, 2) standardized residuals, oldest first, and the |f| they were observed at.
        scale: (s0, s1) of the noise's scale s0 + s1 |f|.
        residuals: (n, 2) sizes of the last `WINDOW` residuals, and the |f| they were observed at.
        disagreement: Moving average of how much ranks change where candidates are evaluated again, from 0 to 1.
        center: (λ,) the estimated values of the present generation.
        fits: How often the centre was estimated in the present generation.
        refitted: The last centres that were estimated from different halves of one generation.
        clipped: Residuals that were winsorized, and all.
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
        """How far the centre moves with other halves, in its standard deviations; NaN where it is what was observed."""
        if self.refitted is None:
            return math.nan
        first, second = self.refitted
        spread = float(second.std())
        return float((second - first).std()) / spread if spread > 0 else math.nan


WINDOW = 64
"""How many recent residuals the scale is fitted to."""


@stage("residual-bootstrap")
class ResidualBootstrap(Selection):
    """Expected rank weights, estimated by bootstrap rankings with a pool of standardized residuals.

    Attributes:
        cap: At most so many further evaluations per generation, K_max; "adaptive": 2 + the share of ranks that change,
            times λ, and at most 0.3 λ, as in the authors' runs.
        target: Which candidates are evaluated again: those whose weight varies most between bootstrap rankings
            (eq. 47), or those of ranks μ - 1, μ, μ + 1, …
        center: What bootstrap values are centred at: a ridge regression on the other half of the candidates, or what
            was observed, as it always is in a generation with an infinite value.
        ridge: Its penalty.
        scale: Whether the noise's scale is the same for all candidates, or s0 + s1 |f|.
        bound: Standardized residuals are winsorized at this size, M.
        pool_size: How many residuals are kept; beyond, random ones are dropped.
        replicates: Bootstrap rankings per generation, B_boot.
        least: With fewer residuals in the pool the observed ranks are used.
        own: Whether candidates that were evaluated again are resampled from their own values.
        power: Whether ranks are weighed by (1 - r / (λ - 1))ⁿ for r < μ, with n from 1.2 to 4 in the course of
            a run, in place of the logarithmic weights.
        horizon: After how many evaluations per variable n has come to 4, for `power`: the budget of a run, where it is
            known. The authors' runs had 100.
        weiszfeld: Whether the mean is moved one Weiszfeld step toward the geometric median.
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
        """All candidates once; then those to evaluate again."""
        values = generation.values
        if values.shape[1] == 0:
            memory.fits = 0
            return np.arange(len(generation.points))
        more = self._effort(memory, len(values))
        if values.shape[1] > 1 or more == 0:
            return np.empty(0, dtype=np.intp)
        if self.target == "boundary" or len(memory.pool) < self.least:
            first = max(0, len(values) // 2 - 2)
            return np.argsort(values[:, 0], kind="stable")[first : first + more]  # ranks μ - 1, μ, μ + 1, ...
        weights = generation.parameters.rank_weights[0]
        unstable = instability(membership(self._draw(memory, generation, rng)), weights)
        return np.argsort(-unstable, kind="stable")[:more]

    def _effort(self, memory: Memory, population: int) -> int:
        if self.cap != "adaptive":
            return min(self.cap, population)
        return min(2 + round(memory.disagreement * population), int(0.3 * population))

    def values(self, memory: Memory, generation: Generation) -> FloatArray:  # noqa: ARG002
        """(λ,) the median of each candidate's values."""
        return medians(generation.values)

    def weigh(self, memory: Memory, generation: Generation, rng: np.random.Generator) -> FloatArray:
        """See `Selection`."""
        self._learn(memory, generation, rng)
        table = self._rank_weights(generation)
        if len(memory.pool) < self.least:
            return table[:, rank(medians(generation.values))]
        weights = mean_weights(self._draw(memory, generation, rng), table)
        return self._toward_median(weights, generation) if self.weiszfeld else weights

    def _learn(self, memory: Memory, generation: Generation, rng: np.random.Generator) -> None:
        """Put residuals of candidates that were evaluated again into the pool (steps 1, 3 and 4)."""
        values = generation.values
        if values.shape[1] < 2:
            return
        again = values[:, 1] == values[:, 1]  # not NaN
        residuals = residuals_of(values[again])
        if residuals:
            memory.residuals = np.concatenate([memory.residuals, np.abs(residuals)])[-WINDOW:]
        if len(memory.residuals) >= self.least:
            memory.scale = self._fitted_scale(memory)
        s0, s1 = memory.scale
        new = [(residual / (s0 + s1 * size), size) for residual, size in residuals if s0 + s1 * size > 0]
        if new:
            inside = [(min(max(residual, -self.bound), self.bound), size) for residual, size in new]
            clipped = sum(abs(residual) == self.bound for residual, _ in inside)
            memory.clipped = memory.clipped[0] + clipped, memory.clipped[1] + len(new)
            memory.pool = thinned(np.concatenate([memory.pool, inside]), self.pool_size, rng)
        first = values[:, 0].argsort(kind="stable")
        second = np.where(again, values[:, 1], values[:, 0]).argsort(kind="stable")
        kept = np.count_nonzero(again[first[first == second]])  # candidates of the same rank
        changed = 1 - kept / np.count_nonzero(again)
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
        labels = medians(generation.values)
        center, finite = labels, labels.max() < math.inf
        if self.center == "ridge" and finite:
            center = cross_fitted(generation.steps, labels, self.ridge, rng)
            if memory.fits and memory.center is not None:
                memory.refitted = memory.center, center
        memory.center, memory.fits = center, memory.fits + 1
        sizes = np.abs(center if finite else np.where(labels < math.inf, labels, 0.0))  # an infinite value stays so
        scales = memory.scale[0] + memory.scale[1] * sizes
        which = (rng.random((self.replicates, len(center))) * len(memory.pool)).astype(np.intp)
        drawn = center + scales * memory.pool[:, 0].take(which)
        if self.own and generation.values.shape[1] > 1:
            again = np.flatnonzero(~np.isnan(generation.values[:, 1]))
            first, second = generation.values[again, 0], generation.values[again, 1]
            drawn[:, again] = np.where(rng.random((self.replicates, len(again))) < 0.5, first, second)
        return drawn

    def _rank_weights(self, generation: Generation) -> FloatArray:
        parameters = generation.parameters
        if not self.power:
            return parameters.rank_weights
        count = parameters.population
        spent = min(1.0, generation.spent / (self.horizon * parameters.dimension))
        raw = lifted_ranks(count) ** (1.2 + 2.8 * spent)
        weights = raw / raw.sum()
        return np.array([weights, weights])

    def _toward_median(self, weights: FloatArray, generation: Generation) -> FloatArray:
        positive = weights[0]
        mean = positive @ generation.points
        away = generation.points - mean
        distances = np.sqrt(np.einsum("ij,ij->i", away, away))
        pulled = positive / np.maximum(distances, 1e-12)
        weights[0] = pulled / pulled.sum()
        return weights

    def diagnostics(self) -> Mapping[str, Callable[[Any], float]]:
        """Those of `polarbear.optimizers.noisy.assumptions.READERS`."""
        return READERS


def thinned(pool: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
    """A random choice of at most `size` rows of a pool (n, 2), in their order."""
    excess = len(pool) - size
    if excess <= 0:
        return pool
    if excess * excess >= len(pool):
        return np.delete(pool, rng.choice(len(pool), excess, replace=False), axis=0)
    while len(dropped := set(rng.integers(len(pool), size=excess).tolist())) < excess:
        pass  # few are likely to differ from each other, and drawn fastest one by one
    return np.concatenate([pool[start + 1 : end] for start, end in pairwise([-1, *sorted(dropped), len(pool)])])


@cache
def lifted_ranks(count: int) -> FloatArray:
    """(λ,) 1 - r / (λ - 1) for ranks r < μ, and 0 for others."""
    ranks = np.arange(count)
    return np.where(ranks < count // 2, 1 - ranks / (count - 1), 0.0)


def columns(first: FloatArray, second: FloatArray) -> FloatArray:
    """(n, 2) two arrays side by side, as `numpy.column_stack`, which takes three times as long for few numbers."""
    table = np.empty((len(first), 2))
    table[:, 0], table[:, 1] = first, second
    return table


def medians(values: FloatArray) -> FloatArray:
    """(λ,) the median of each row of values (λ, m), NaN left out; as `numpy.nanmedian`, which is slow on few values."""
    if values.shape[1] == 1:
        return values[:, 0]
    if values.shape[1] == 2:
        first, second = values[:, 0], values[:, 1]
        both = (first + second) / 2
        return np.where(both == both, both, first)  # NaN is unequal to itself
    ordered = np.sort(values, axis=1)  # NaN last
    counts = np.count_nonzero(~np.isnan(values), axis=1)
    rows = np.arange(len(values))
    return (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]) / 2


def residuals_of(values: FloatArray) -> list[tuple[float, float]]:
    """What values (k, m) of candidates are above their medians, NaN left out, and the size of the median; if finite.

    There are few of them, and plain numbers are faster then.
    """
    residuals: list[tuple[float, float]] = []
    for row in values.tolist():
        seen = sorted(value for value in row if value == value)
        center = (seen[(len(seen) - 1) // 2] + seen[len(seen) // 2]) / 2
        above = ((value - center, abs(center)) for value in row if value == value)
        residuals.extend((residual, size) for residual, size in above if math.isfinite(residual))
    return residuals


def non_negative_line(points: FloatArray) -> tuple[float, float]:
    """(s0, s1) ≥ 0 with the least squares Σ (y - s0 - s1 x)².

    Args:
        points: (n, 2) y and x, none below 0.
    """
    unit = max(float(points.max()), 1e-300)
    scaled = points / unit
    means = equal_shares(len(points)) @ scaled
    away = scaled - means
    level, middle = means.tolist()
    (_, rising), (_, spread) = (away.T @ away).tolist()
    if rising <= 0:
        return level * unit, 0.0  # the line would fall: the best constant
    if level < rising / spread * middle:
        y, x = scaled.T
        return 0.0, float(x @ y) / float(x @ x)  # it would begin below 0: the best line through the origin
    return (level - rising / spread * middle) * unit, rising / spread


@cache
def equal_shares(count: int) -> FloatArray:
    """(n,) 1 / n."""
    return np.full(count, 1 / count)


@cache
def halves(count: int) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Matrices (n, n) for n candidates in two halves.

    Returns:
        What takes from each row the mean of its half, what puts that of the other half in its place, what takes that
        away, and whether two candidates are in the same half.
    """
    inside = np.zeros((2, count))
    inside[0, : count // 2] = inside[1, count // 2 :] = 1.0
    shares, unit = inside / inside.sum(axis=1, keepdims=True), np.eye(count)
    other = inside[::-1].T @ shares
    return unit - inside.T @ shares, other, unit - other, inside.T @ inside


@cache
def penalty(count: int, ridge: float) -> FloatArray:
    """(n, n) ridge I."""
    return ridge * np.eye(count)


@cache
def linear_solver() -> Any:
    """LAPACK's solver; `numpy.linalg.solve` takes several times as long for few equations."""
    from scipy.linalg.lapack import dgesv

    return dgesv


def cross_fitted(steps: FloatArray, labels: FloatArray, ridge: float, rng: np.random.Generator) -> FloatArray:
    """Two-fold cross-fitted ridge regression: each half of the candidates is predicted from the other.

    Both at once, in the dual form: with steps z and labels y from the means of their half, (z zᵀ + ridge I) α = y.

    Args:
        steps: (λ, d) standardized steps z.
        labels: (λ,) what was observed, finite.
        ridge: The penalty on the coefficients; the intercept has none.
        rng: Draws the halves.

    Returns:
        (λ,) predicted values.
    """
    count = len(labels)
    centered, other, away, same = halves(count)
    order = rng.permutation(count)
    steps, labels = steps[order], labels[order]
    products = steps @ steps.T @ centered
    system = (centered @ products) * same + penalty(count, ridge)
    _, _, solution, singular = linear_solver()(system, centered @ labels)
    if singular:
        raise np.linalg.LinAlgError(f"a regression on steps with ridge {ridge:g} has no solution; give a larger one")
    predicted = np.empty(count)
    predicted[order] = ((away @ products) * (1 - same)) @ solution + other @ labels
    return predicted

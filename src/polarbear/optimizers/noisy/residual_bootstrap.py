"""Residual-bootstrapped PEM: expected rank weights from bootstrap rankings (Wang and Lu, 2026, appendix B)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
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
        stability: How far the centre moves when it is fitted by other halves, in its standard deviations; NaN where
            it is what was observed.
        clipped: Residuals that were winsorized, and all.
    """

    pool: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    scale: tuple[float, float] = (0.0, 0.0)
    residuals: FloatArray = field(default_factory=lambda: np.empty((0, 2)))
    disagreement: float = 1.0
    center: FloatArray | None = None
    fits: int = 0
    stability: float = math.nan
    clipped: tuple[int, int] = (0, 0)


WINDOW = 64
"""How many recent residuals the scale is fitted to."""


@stage("residual-bootstrap")
class ResidualBootstrap(Selection):
    """Expected rank weights, estimated by bootstrap rankings with a pool of standardized residuals.

    Attributes:
        cap: At most so many further evaluations per generation, K_max; "adaptive": 2 + the share of ranks that change,
            times λ, and at most 0.3 λ, as in the authors' runs.
        target: Which candidates are evaluated again: those whose weight varies most between bootstrap rankings
            (eq. 47), or those around rank μ.
        center: What bootstrap values are centred at: a ridge regression on the other half of the candidates, or what
            was observed.
        ridge: Its penalty.
        scale: Whether the noise's scale is the same for all candidates, or s0 + s1 |f|.
        bound: Standardized residuals are winsorized at this size, M.
        pool_size: How many residuals are kept; beyond, random ones are dropped.
        replicates: Bootstrap rankings per generation, B_boot.
        least: With fewer residuals in the pool the observed ranks are used.
        own: Whether candidates that were evaluated again are resampled from their own values.
        power: Whether ranks are weighed by (1 - r / (λ - 1))ⁿ for r < μ, with n from 1.2 to 4 in the course of
            a run, in place of the logarithmic weights.
        horizon: A run's evaluations per variable, for `power`.
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
            first = len(values) // 2 - 2  # ranks μ - 1, μ, μ + 1, ...
            band = np.argsort(values[:, 0], kind="stable")[max(0, first - (not self.own)) :]
            return band[:more]
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
        again = ~np.isnan(values[:, 1])
        repeated = values[again]
        centers = medians(repeated)
        residuals = (repeated - centers[:, None]).reshape(-1)
        sizes = np.abs(centers).repeat(repeated.shape[1])
        usable = np.isfinite(residuals)
        residuals, sizes = residuals[usable], sizes[usable]
        memory.residuals = np.concatenate([memory.residuals, columns(np.abs(residuals), sizes)])[-WINDOW:]
        if len(memory.residuals) >= self.least:
            memory.scale = self._fitted_scale(memory)
        scales = memory.scale[0] + memory.scale[1] * sizes
        scaled = scales > 0
        standardized = residuals[scaled] / scales[scaled]
        inside = columns(np.minimum(np.maximum(standardized, -self.bound), self.bound), sizes[scaled])
        memory.clipped = (
            memory.clipped[0] + int(np.count_nonzero(np.abs(standardized) >= self.bound)),
            memory.clipped[1] + len(standardized),
        )
        memory.pool = thinned(np.concatenate([memory.pool, inside]), self.pool_size, rng)
        first, second = rank(values[:, 0]), rank(np.where(again, values[:, 1], values[:, 0]))
        changed = np.count_nonzero((first != second) & again) / len(repeated)
        memory.disagreement += SMOOTHING * (changed - memory.disagreement)

    def _fitted_scale(self, memory: Memory) -> tuple[float, float]:
        from scipy.optimize import nnls

        residuals, sizes = memory.residuals.T
        if self.scale == "constant":
            new = (float(residuals.mean()), 0.0)
        else:
            unit = max(float(sizes.max()), 1e-300)
            (s0, s1), _ = nnls(columns(np.ones(len(sizes)), sizes / unit), residuals)
            new = (float(s0), float(s1) / unit)
        if memory.scale == (0.0, 0.0):
            return new
        old = memory.scale
        return old[0] + SMOOTHING * (new[0] - old[0]), old[1] + SMOOTHING * (new[1] - old[1])

    def _draw(self, memory: Memory, generation: Generation, rng: np.random.Generator) -> FloatArray:
        """(b, λ) bootstrap values (eq. 35)."""
        labels = medians(generation.values)
        center = cross_fitted(generation.steps, labels, self.ridge, rng) if self.center == "ridge" else labels
        if self.center == "ridge" and memory.fits and memory.center is not None:
            spread = float(center.std())
            memory.stability = float((center - memory.center).std()) / spread if spread > 0 else math.nan
        memory.center, memory.fits = center, memory.fits + 1
        scales = memory.scale[0] + memory.scale[1] * np.abs(center)
        which = (rng.random((self.replicates, len(center))) * len(memory.pool)).astype(np.intp)
        drawn = center + scales * memory.pool[which, 0]
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
        distances = np.sqrt(np.square(generation.points - mean).sum(axis=1))
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
    few = excess * excess < len(pool)  # then they are likely to differ from each other, and drawn fastest one by one
    dropped = rng.integers(len(pool), size=excess) if few else rng.choice(len(pool), excess, replace=False)
    while few and len(set(dropped.tolist())) < excess:
        dropped = rng.integers(len(pool), size=excess)
    kept = np.ones(len(pool), dtype=np.bool_)
    kept[dropped] = False
    return pool[kept]


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
        return np.where(np.isnan(second), first, (first + second) / 2)
    ordered = np.sort(values, axis=1)  # NaN last
    counts = np.count_nonzero(~np.isnan(values), axis=1)
    rows = np.arange(len(values))
    return (ordered[rows, (counts - 1) // 2] + ordered[rows, counts // 2]) / 2


def cross_fitted(steps: FloatArray, labels: FloatArray, ridge: float, rng: np.random.Generator) -> FloatArray:
    """Two-fold cross-fitted ridge regression: each half of the candidates is predicted from the other.

    Args:
        steps: (λ, d) standardized steps z.
        labels: (λ,) what was observed.
        ridge: The penalty on the coefficients; the intercept has none.
        rng: Draws the halves.

    Returns:
        (λ,) predicted values.
    """
    count = len(labels)
    order = rng.permutation(count)
    predicted = np.empty(count)
    for train, test in ((order[: count // 2], order[count // 2 :]), (order[count // 2 :], order[: count // 2])):
        level, middle = labels[train].mean(), steps[train].mean(axis=0)
        z = steps[train] - middle
        gram = z @ z.T
        gram[np.diag_indices(len(gram))] += ridge
        predicted[test] = level + (steps[test] - middle) @ (z.T @ np.linalg.solve(gram, labels[train] - level))
    return predicted

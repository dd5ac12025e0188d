"""Influence maximization under the independent cascade model, with noise drawn from a run's own generator.

A value is the mean size of 100 random cascades, as in `ioh`'s ``MaxInfluence``, whose cascades come from a generator
that cannot be seeded. Here they are drawn from a fixed pool of live-edge graphs (Kempe, Kleinberg and Tardos 2003,
section 2): each graph keeps each edge with the edge's probability, and a cascade reaches what the kept edges reach.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polarbear.problems.evaluation import BuiltProblem, PointwiseTrial, evaluated_in_turn
from polarbear.protocols import Traits

if TYPE_CHECKING:
    from polarbear.protocols import ProblemSpec
    from polarbear.records import FloatArray

POOL = 1_000
"""Number of live-edge graphs that cascades are drawn from."""

CASCADES = 100
"""Number of cascades over which an observation is averaged."""

Edges: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]
"""(e,) sources in ascending order, (e,) targets, and (e,) probabilities that a source influences its target."""


class LiveEdges:
    """A pool of live-edge graphs, as one graph of `POOL` · n nodes: node v of graph k is k · n + v."""

    __slots__ = ("_starts", "_targets", "nodes")

    def __init__(self, edges: Edges, nodes: int) -> None:
        """Draw the pool, always the same one for the same edges."""
        sources, targets, chances = edges
        rng = np.random.default_rng(2003)
        limits = chances.astype(np.float32)
        graphs = [np.flatnonzero(rng.random(len(limits), dtype=np.float32) < limits) for _ in range(POOL)]
        self.nodes = nodes
        self._targets = np.concatenate([targets[live] + k * nodes for k, live in enumerate(graphs)]).astype(np.int32)
        counts = np.concatenate([np.bincount(sources[live], minlength=nodes) for live in graphs])
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    def reached(self, seeds: NDArray[np.int64]) -> FloatArray:
        """(`POOL`,) the number of nodes that `seeds` (k,) reach in each graph, including themselves."""
        graphs = np.arange(POOL)[:, None] * self.nodes
        fresh = (graphs + seeds).ravel()
        seen = np.zeros(POOL * self.nodes, dtype=np.bool_)
        seen[fresh] = True
        sizes = np.full(POOL, len(seeds), dtype=np.int64)
        while len(fresh):
            first = self._starts[fresh]
            counts = self._starts[fresh + 1] - first
            before = np.cumsum(counts) - counts
            edges: NDArray[np.int64] = np.repeat(first - before, counts) + np.arange(int(counts.sum()))
            reached = self._targets[edges]
            fresh = np.unique(reached[~seen[reached]])
            seen[fresh] = True
            sizes += np.bincount(fresh // self.nodes, minlength=POOL)
        return sizes.astype(np.float64)


@lru_cache(maxsize=1)
def _pool(sources: bytes, targets: bytes, chances: bytes, nodes: int) -> LiveEdges:
    """The pool of a graph; all functions share one graph and hence the pool."""
    edges = np.frombuffer(sources, np.int64), np.frombuffer(targets, np.int64), np.frombuffer(chances, np.float64)
    return LiveEdges(edges, nodes)


class InfluenceProblem(BuiltProblem):
    """The number of nodes that selected nodes influence, to be maximized; -excess if the selection exceeds the limit.

    The weight of a selection is the sum of the nodes' weights plus the deviation times the square root of their number:
    a chance constraint for uncertain weights. The noise-free value is the mean over the pool; an optimizer observes the
    mean of `CASCADES` cascades, drawn from the pool with replacement.
    """

    __slots__ = ("_deviation", "_limit", "_pool", "_weights")

    def __init__(self, spec: ProblemSpec, edges: Edges, weights: FloatArray, limit: float, deviation: float) -> None:
        """Combine the graph, the nodes' weights (d,), the limit of their sum, and the deviation of each weight."""
        d = len(weights)
        sources, targets, chances = (column.tobytes() for column in edges)
        self._pool = _pool(sources, targets, chances, d)
        self._weights, self._limit, self._deviation = weights, limit, deviation

        def mean(x: FloatArray) -> float:
            return self.observe(x, None)[1]

        traits = Traits(integers=np.ones(d, dtype=np.bool_), noisy=True)
        box = (np.zeros(d), np.ones(d))
        super().__init__(spec, mean, evaluated_in_turn(mean), box, None, minimize=False, traits=traits)

    def observe(self, x: FloatArray, rng: np.random.Generator | None) -> tuple[float, float]:
        """An observation and the noise-free value at one point (d,)."""
        if np.shape(x) != (self.dimension,):
            return np.nan, np.nan
        whole = np.rint(x)
        if not (whole.min() >= 0 and whole.max() <= 1):
            value = np.nan if np.isnan(whole).any() else -np.inf
            return value, value
        seeds = np.flatnonzero(whole)
        excess = float(self._weights[seeds].sum() + self._deviation * np.sqrt(len(seeds)) - self._limit)
        if excess > 0 or not len(seeds):
            return min(-excess, 0.0), min(-excess, 0.0)
        sizes = self._pool.reached(seeds)
        observed = sizes[rng.integers(POOL, size=CASCADES)].mean() if rng else sizes.mean()
        return float(observed), float(sizes.mean())

    def trial(self, rng: np.random.Generator, /) -> InfluenceTrial:
        """A new trial, whose cascades are chosen by `rng`."""
        return InfluenceTrial(self, rng)


class InfluenceTrial(PointwiseTrial):
    """One run's view of the problem, with its own cascades."""

    __slots__ = ("_problem", "_rng")

    def __init__(self, problem: InfluenceProblem, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng

    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """Evaluate one point (d,): the mean of some cascades, and that of the whole pool."""
        return self._problem.observe(x, self._rng)

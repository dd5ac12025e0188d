"""lon: the network of local optima that basin hopping visits (Adair, Ochoa & Malan 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import basinhopping

from polarbear.landscape.evaluated.counted import Counted
from polarbear.records import FloatArray

_RUNS = 10
_HOPS = 100
_STEP = 0.2
"""Step size, as a share of the shortest side of the box."""
_SAME = 1e-5
"""Tolerance, in each variable and in value, within which optima are the same or equally good."""


class _Network:
    """Optima in the order found, and pairs of optima between which a hop was accepted."""

    def __init__(self) -> None:
        self.points: list[FloatArray] = []
        self.values: list[float] = []
        self.edges: set[tuple[int, int]] = set()
        self._last: int | None = None

    def begin(self) -> None:
        self._last = None

    def visit(self, point: FloatArray, value: float, accepted: bool) -> None:
        if not accepted:
            return
        known = (i for i, other in enumerate(self.points) if (np.abs(other - point) < _SAME).all())
        node = next(known, len(self.points))
        if node == len(self.points):
            self.points.append(point.copy())
            self.values.append(value)
        if self._last is not None and self._last != node:
            self.edges.add((self._last, node))
        self._last = node


def lon(function: Counted, points: FloatArray, rng: np.random.Generator) -> dict[str, float]:  # noqa: ARG001
    """Features from ten runs of 100 hops; equally good optima joined by a hop are merged, and funnels end in sinks."""
    network = _Network()
    search: Any = {"method": "L-BFGS-B", "bounds": function.bounds, "options": {"ftol": 1e-7}}
    step = _STEP * float((function.upper - function.lower).min())
    for start in function.uniform(rng, _RUNS):
        network.begin()
        basinhopping(
            function, start, _HOPS, T=0, stepsize=step, minimizer_kwargs=search, callback=network.visit, rng=rng
        )
    return network_features(np.array(network.values), network.edges)


def network_features(values: FloatArray, edges: set[tuple[int, int]]) -> dict[str, float]:
    """The features of a network.

    Args:
        values: (n,) values of the optima.
        edges: Pairs of indices, from and to.
    """
    group = np.arange(len(values))
    for a, b in edges:
        if abs(values[a] - values[b]) < _SAME:
            group[group == group[a]] = group[b]
    size = np.bincount(group)
    nodes = np.flatnonzero(size)
    steps = {(int(group[a]), int(group[b])) for a, b in edges if group[a] != group[b]}
    sinks = set(nodes.tolist()) - {a for a, _ in steps}
    best = {int(node) for node in nodes if values[group == node].min() <= values.min() + _SAME}
    reached: set[int] = set()
    while new := (best | {a for a, b in steps if b in reached}) - reached:
        reached |= new
    return {
        "lon.n_optima": float(len(nodes)),
        "lon.neutral_nodes_proportion": float(size[size > 1].sum() / len(values)),
        "lon.n_funnels": float(len(sinks)),
        "lon.global_funnel_strength_norm": len(reached) / len(nodes),
    }

"""Scenarios of structural bias: distributions on which tests of uniformity are assessed (Vermetten 2025, table 3.4).

The parameters are those of the toolbox BIAS, which agree with the counts in the thesis: 194 scenarios by dimension and
249 across dimensions, including the uniform one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.stats import cauchy, norm

from polarbear.records import FloatArray

KINDS = {
    "cut uniform": "centre",
    "spikes": "discretization",
    "noisy spikes": "discretization",
    "normal": "centre",
    "inverse normal": "bounds",
    "Cauchy": "centre",
    "inverse Cauchy": "bounds",
    "gaps": "gaps",
    "clusters": "clusters",
    "part uniform": "clusters",
}
"""The type of bias of each scenario except the uniform one."""
_TRIALS = 1_000
"""Maximum number of attempts to draw an allowed value."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A distribution of final points in [0, 1]^d.

    Attributes:
        name: One of `KINDS`, or "uniform".
        parameters: The parameters of the distribution.
        alike: Whether gaps or clusters are at the same positions in all dimensions.
    """

    name: str
    parameters: dict[str, float] = field(default_factory=dict[str, float])
    alike: bool = False

    @property
    def kind(self) -> str:
        """The type of bias; "" for the uniform scenario."""
        return KINDS.get(self.name, "")

    def sample(self, n: int, d: int, rng: np.random.Generator) -> FloatArray:
        """Draw n points in d dimensions: (n, d).

        Centres of gaps and clusters, and the positions of noisy spikes, are drawn for each dimension unless `alike`.

        Raises:
            ValueError: If gaps leave no room.
        """
        if self.name == "uniform":
            return rng.random((n, d))
        return _SAMPLERS[self.name](self, n, d, rng)


def per_dimension() -> list[Scenario]:
    """The 194 scenarios of single dimensions."""
    return [scenario for scenario in across_all() if not scenario.alike]


def across_all() -> list[Scenario]:
    """The 249 scenarios across dimensions, including gaps and clusters at the same positions in all of them."""
    return [Scenario("uniform"), *_grids()]


def _grids() -> Iterator[Scenario]:
    for cut in (0.01, 0.025, 0.05, 0.1, 0.2):
        yield Scenario("cut uniform", {"lower": cut / 2, "upper": 1 - cut / 2})
        yield Scenario("cut uniform", {"lower": cut, "upper": 1.0})
    for steps in (25, 50, 100, 150, 200, 250, 500, 1000):
        yield Scenario("spikes", {"steps": steps})
        for sigma in (0.005, 0.01, 0.02, 0.03, 0.04, 0.05):
            yield Scenario("noisy spikes", {"steps": steps, "sigma": sigma})
    names = ("normal", "inverse normal", "Cauchy", "inverse Cauchy")
    for name, sigma, mu in product(names, (0.1, 0.2, 0.3, 0.4, 0.5), (0.5, 0.6, 0.7)):
        yield Scenario(name, {"mu": mu, "sigma": sigma})
    for alike in (False, True):
        for centres, radius in product(range(1, 6), (0.01, 0.02, 0.03, 0.04, 0.05)):
            yield Scenario("gaps", {"centres": centres, "radius": radius}, alike)
        for centres, sigma in product(range(1, 6), (0.01, 0.025, 0.05, 0.1, 0.2, 0.3)):
            yield Scenario("clusters", {"centres": centres, "sigma": sigma}, alike)
    for share, sigma in product((0.1, 0.25, 0.5), (0.01, 0.02, 0.05, 0.1)):
        yield Scenario("part uniform", {"share": share, "sigma": sigma})


def _cut_uniform(s: Scenario, n: int, d: int, rng: np.random.Generator) -> FloatArray:
    return rng.uniform(s.parameters["lower"], s.parameters["upper"], (n, d))


def _spikes(s: Scenario, n: int, d: int, rng: np.random.Generator) -> FloatArray:
    steps = int(s.parameters["steps"])
    return rng.integers(steps + 1, size=(n, d)) / steps


def _noisy_spikes(s: Scenario, n: int, d: int, rng: np.random.Generator) -> FloatArray:
    """Spikes moved by normal shifts, except where these leave the box."""
    steps = int(s.parameters["steps"])
    spikes = np.repeat(np.arange(steps + 1.0)[:, np.newaxis] / steps, d, axis=1)
    moved = spikes + rng.normal(0, s.parameters["sigma"], spikes.shape)
    spikes = np.where((moved >= 0) & (moved <= 1), moved, spikes)
    return np.take_along_axis(spikes, rng.integers(steps + 1, size=(n, d)), axis=0)


def _cut(s: Scenario, n: int, d: int, rng: np.random.Generator) -> FloatArray:
    """A distribution truncated to [0, 1], by the inverse of its distribution function."""
    kind = cauchy if s.name.endswith("Cauchy") else norm
    distribution = kind(s.parameters["mu"], s.parameters["sigma"])
    low, high = (float(distribution.cdf(end)) for end in (0.0, 1.0))
    return np.clip(distribution.ppf(rng.uniform(low, high, (n, d))), 0.0, 1.0)


def _inverse_cut(s: Scenario, n: int, d: int, rng: np.random.Generator) -> FloatArray:
    """The truncated distribution turned inside out: values at mu move to the bounds."""
    x, mu = _cut(s, n, d, rng), s.parameters["mu"]
    return np.where(x > mu, 1 + mu - x, mu - x)


def _centres(s: Scenario, d: int, rng: np.random.Generator) -> FloatArray:
    """(c, d) centres of gaps or clusters."""
    count = int(s.parameters["centres"])
    return np.repeat(rng.random((count, 1)), d, axis=1) if s.alike else rng.random((count, d))


def _gaps(s: Scenario, n: int, d: int, rng: np.random.Generator) -> FloatArray:
    centres, radius = _centres(s, d, rng), s.parameters["radius"]

    def allowed(x: FloatArray) -> NDArray[np.bool_]:
        return np.all(np.abs(x - centres[:, np.newaxis]) >= radius, axis=0)

    return _redrawn(lambda: rng.random((n, d)), allowed, s)


def _around(centres: FloatArray, n: int, d: int, s: Scenario, rng: np.random.Generator) -> FloatArray:
    """Normal values around randomly chosen centres (c, d), restricted to the box."""

    def drawn() -> FloatArray:
        chosen = np.take_along_axis(centres, rng.integers(len(centres), size=(n, d)), axis=0)
        return rng.normal(chosen, s.parameters["sigma"])

    return _redrawn(drawn, lambda x: (x > 0) & (x < 1), s)


def _clusters(s: Scenario, n: int, d: int, rng: np.random.Generator) -> FloatArray:
    return _around(_centres(s, d, rng), n, d, s, rng)


def _part_uniform(s: Scenario, n: int, d: int, rng: np.random.Generator) -> FloatArray:
    """Values of which some are uniform and the others lie around these."""
    uniform = rng.random((ceil(s.parameters["share"] * n), d))
    return np.concatenate([uniform, _around(uniform, n - len(uniform), d, s, rng)])


def _redrawn(
    draw: Callable[[], FloatArray],
    allowed: Callable[[FloatArray], NDArray[np.bool_]],
    s: Scenario,
) -> FloatArray:
    x = draw()
    for _ in range(_TRIALS):
        if (kept := allowed(x)).all():
            return x
        x = np.where(kept, x, draw())
    raise ValueError(f"{s.name} with {s.parameters} leaves no room in [0, 1]; take fewer centres or a smaller radius")


_SAMPLERS: dict[str, Callable[[Scenario, int, int, np.random.Generator], FloatArray]] = {
    "cut uniform": _cut_uniform,
    "spikes": _spikes,
    "noisy spikes": _noisy_spikes,
    "normal": _cut,
    "inverse normal": _inverse_cut,
    "Cauchy": _cut,
    "inverse Cauchy": _inverse_cut,
    "gaps": _gaps,
    "clusters": _clusters,
    "part uniform": _part_uniform,
}

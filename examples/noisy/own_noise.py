"""BBOB functions with kinds of noise that bbob-noisy lacks: own problems for held_out.py and radial.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import polarbear as pb
from polarbear.problems import CauchyNoise, GaussianNoise, NoisyProblem, UniformNoise
from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.noise import Precisions
from polarbear.protocols import Traits
from polarbear.records import FloatArray, Instance

NOISE = ("Gaussian", "uniform", "Cauchy")
ELSEWHERE = (2, 3, 4, 5, 6, 9, 11, 12, 13, 15, 16, 18, 20, 22, 23, 24)
"""The functions of BBOB that bbob-noisy has not under severe noise, nor under any."""
RADIAL = (1, 8, 10, 15, 17, 21)
"""Six functions for radial noise; the paper does not say which it took."""


@dataclass(frozen=True)
class SevereNoise:
    """A function of BBOB under severe noise, of the models of bbob-noisy."""

    base: int
    noise: str
    instance: int
    dimension: int

    @property
    def function(self) -> int:
        """A number of its own: the noise's, times 1,000, and the function's."""
        return 1000 * (NOISE.index(self.noise) + 1) + self.base

    @property
    def identity(self) -> Instance:
        """What groups its runs."""
        return Instance("severe-noise", str(self.function), self.dimension, str(self.instance))

    @property
    def name(self) -> str:
        """Such as ``"severe-noise-f2003-i1-d20"``."""
        return self.identity.name

    def build(self) -> NoisyProblem:
        """The function, and what it is observed through."""
        plain = pb.problems.BBOBProblem(self.base, self.instance, self.dimension).build()
        best = float(plain.optimum)
        models: dict[str, Any] = {
            "Gaussian": GaussianNoise(1.0),
            "uniform": UniformNoise(0.49 + 1 / self.dimension, 1.0),
            "Cauchy": CauchyNoise(1.0, 0.2),
        }
        precisions = Precisions(lambda x: plain(x) - best, lambda points: plain.batch(points) - best)
        return NoisyProblem(self, precisions, models[self.noise], (plain.lower, plain.upper), best)


@dataclass(frozen=True)
class RadialNoise:
    """A function of BBOB under normal noise that vanishes at the centre of the box, where runs start (figure 11).

    Its standard deviation is 0.5 times the root mean square of x, as in the paper, times the problem's scale: by itself
    it is nothing beside the values of most functions, and the paper does not say what its own were. The scale is the
    standard deviation of 1,000 values of points as far from the centre as the first candidates.
    """

    base: int
    instance: int
    dimension: int

    @property
    def function(self) -> int:
        """That of BBOB."""
        return self.base

    @property
    def identity(self) -> Instance:
        """What groups its runs."""
        return Instance("radial-noise", str(self.base), self.dimension, str(self.instance))

    @property
    def name(self) -> str:
        """Such as ``"radial-noise-f8-i1-d80"``."""
        return self.identity.name

    def build(self) -> RadialProblem:
        """The function with its noise."""
        return RadialProblem(self)


class RadialProblem(BuiltProblem):
    """A function of which each run observes noise of its own."""

    __slots__ = ("scale",)

    def __init__(self, spec: RadialNoise) -> None:
        plain = pb.problems.BBOBProblem(spec.base, spec.instance, spec.dimension).build()
        super().__init__(
            spec, plain.raw, plain.batch, (plain.lower, plain.upper), plain.optimum, traits=Traits(noisy=True)
        )
        points = np.clip(3 * np.random.default_rng(0).standard_normal((1000, spec.dimension)), -5, 5)
        self.scale = float(plain.batch(points).std())

    def trial(self, rng: np.random.Generator) -> RadialTrial:
        """A run's view."""
        return RadialTrial(self, rng)


class RadialTrial:
    """One run's view: observes noisy values, is judged by those without noise."""

    def __init__(self, problem: RadialProblem, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng

    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """Evaluate one point (d,)."""
        observed, value = self.batch(x[np.newaxis])
        return float(observed[0]), float(value[0])

    def batch(self, points: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Evaluate (m, d) points: (m,) observations, and the values without noise."""
        values = self._problem.batch(points)
        deviations = 0.5 * np.sqrt(np.square(points).mean(axis=1)) * self._problem.scale
        return values + deviations * self._rng.standard_normal(len(points)), values


def held_out_functions(dimensions: tuple[int, ...], instances: tuple[int, ...]) -> list[SevereNoise]:
    """Every function that bbob-noisy has not, under each noise."""
    return [
        SevereNoise(base, noise, instance, dimension)
        for dimension in dimensions
        for base in ELSEWHERE
        for noise in NOISE
        for instance in instances
    ]

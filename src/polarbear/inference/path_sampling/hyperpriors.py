"""Priors of positive hyperparameters, on their logarithms."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammainccinv, polygamma

from polarbear.records import FloatArray, IntArray
from polarbear.validation import real_number


@dataclass(frozen=True, slots=True)
class LogNormal:
    """h ~ LogNormal(mean, spread): u = log h is normal with this mean and standard deviation."""

    name: str
    mean: float
    spread: float

    def log_density(self, u: FloatArray) -> FloatArray:
        """The log-density of u, up to a constant."""
        return -0.5 * ((u - self.mean) / self.spread) ** 2

    def draw(self, number: int, rng: np.random.Generator) -> FloatArray:
        """(number,) values of h."""
        return rng.lognormal(self.mean, self.spread, number)


@dataclass(frozen=True, slots=True)
class InverseGamma:
    """h ~ InvGamma(a, b), with density b^a / Γ(a) h^(−a − 1) exp(−b / h)."""

    name: str
    shape: float
    scale: float

    @property
    def mean(self) -> float:
        """Prior mean of log h."""
        return math.log(self.scale) - float(digamma(self.shape))

    @property
    def spread(self) -> float:
        """Prior standard deviation of log h."""
        return math.sqrt(float(polygamma(1, self.shape)))

    def log_density(self, u: FloatArray) -> FloatArray:
        """The log-density of u, up to a constant."""
        return -self.shape * u - self.scale * np.exp(-u)

    def draw(self, number: int, rng: np.random.Generator) -> FloatArray:
        """(number,) values of h."""
        return self.scale / rng.standard_gamma(self.shape, number)

    def quantile(self, probability: float) -> float:
        """The value below which h lies with this probability."""
        return self.scale / float(gammainccinv(self.shape, probability))


@dataclass(frozen=True, slots=True)
class Exponential:
    """h ~ Exponential(λ), with mean 1 / λ."""

    name: str
    rate: float

    @property
    def mean(self) -> float:
        """Prior mean of log h."""
        return -math.log(self.rate) - np.euler_gamma

    @property
    def spread(self) -> float:
        """Prior standard deviation of log h."""
        return math.pi / math.sqrt(6.0)

    def log_density(self, u: FloatArray) -> FloatArray:
        """The log-density of u, up to a constant."""
        return u - self.rate * np.exp(u)

    def draw(self, number: int, rng: np.random.Generator) -> FloatArray:
        """(number,) values of h."""
        return rng.standard_exponential(number) / self.rate


Hyperprior = LogNormal | InverseGamma | Exponential
"""A prior of a positive number h, seen as a prior of u = log h with a mean and a standard deviation `spread`."""


def draw_hyperparameters(
    priors: Sequence[Hyperprior], held: Mapping[str, float], number: int, rng: np.random.Generator
) -> dict[str, FloatArray]:
    """(number,) values of each hyperparameter by name, drawn from its prior or held fixed.

    Raises:
        ValueError: If a hyperparameter in `held` is unknown, or its value is not positive and finite.
    """
    names = [prior.name for prior in priors]
    for name in held:
        if name not in names:
            raise ValueError(f"there is no hyperparameter {name!r}; the model has {', '.join(names) or 'none'}")
    values = {name: real_number(value, name, gt=0) for name, value in held.items()}
    return {
        prior.name: np.full(number, values[prior.name]) if prior.name in values else prior.draw(number, rng)
        for prior in priors
    }


def by_value(values: FloatArray) -> Iterator[tuple[FloatArray, IntArray]]:
    """Yield each distinct column (p,) of values (p, D) with the indices of the draws that have it."""
    distinct, which = np.unique(values, axis=1, return_inverse=True)
    order = np.argsort(which, kind="stable").astype(np.int64)
    ends = np.cumsum(np.bincount(which, minlength=distinct.shape[1]))
    yield from zip(distinct.T, np.split(order, ends[:-1]), strict=True)

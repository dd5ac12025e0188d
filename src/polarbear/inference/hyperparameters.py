"""Priors of positive hyperparameters, on their logarithms."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True)
class LogNormal:
    """h ~ LogNormal(mean, spread): u = log h is normal with this mean and standard deviation."""

    name: str
    mean: float
    spread: float

    def log_density(self, u: FloatArray) -> FloatArray:
        """The log-density of u, up to a constant."""
        return -0.5 * ((u - self.mean) / self.spread) ** 2


@dataclass(frozen=True, slots=True)
class InverseGamma:
    """h ~ InvGamma(a, b), with density b^a / Γ(a) h^(−a − 1) exp(−b / h)."""

    name: str
    shape: float
    scale: float

    @property
    def mean(self) -> float:
        """Prior mean of log h."""
        from scipy.special import digamma

        return math.log(self.scale) - float(digamma(self.shape))

    @property
    def spread(self) -> float:
        """Prior standard deviation of log h."""
        from scipy.special import polygamma

        return math.sqrt(float(polygamma(1, self.shape)))

    def log_density(self, u: FloatArray) -> FloatArray:
        """The log-density of u, up to a constant."""
        return -self.shape * u - self.scale * np.exp(-u)

    def quantile(self, probability: float) -> float:
        """The value below which h lies with this probability."""
        from scipy.special import gammainccinv

        return self.scale / float(gammainccinv(self.shape, probability))


Hyperprior = LogNormal | InverseGamma
"""A prior of a positive number h, seen as a prior of u = log h with a mean and a standard deviation `spread`."""


def check_positive(**parameters: float) -> None:
    """Raise a ValueError that names the first parameter that is not positive and finite."""
    for name, value in parameters.items():
        if not 0 < value < math.inf:
            raise ValueError(f"{name} is {value!r}; it must be positive and finite")


def check_finite(**parameters: float) -> None:
    """Raise a ValueError that names the first parameter that is not finite."""
    for name, value in parameters.items():
        if not math.isfinite(value):
            raise ValueError(f"{name} is {value!r}; it must be finite")

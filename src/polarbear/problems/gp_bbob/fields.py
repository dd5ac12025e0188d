"""Random functions of a Gaussian process with a squared-exponential kernel, by random Fourier features."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from polarbear.records import FloatArray


class RandomField:
    """Fields z_i(x) = σ √(2/m) Σ_j a_ij cos(ω_j·x / ℓ + b_j), i = 1 … n (Rahimi and Recht 2007).

    With ω_j ~ N(0, I), b_j ~ U(0, 2π) and a_ij ~ N(0, 1), each is a draw of a process with mean 0 and covariance
    E[z_i(x) z_i(x')] = σ² exp(−‖x − x'‖² / (2 ℓ²)), Gaussian as m grows; fields are uncorrelated. The n fields
    share their features.

    Attributes:
        frequencies: (d, m) ω_j / ℓ.
        phases: (m,) b_j.
        coefficients: (m, n) a_ij σ √(2/m).
    """

    __slots__ = ("coefficients", "frequencies", "phases")

    def __init__(
        self,
        rng: np.random.Generator,
        dimension: int,
        fields: int,
        *,
        features: int,
        lengthscale: float,
        amplitude: float,
    ) -> None:
        """Draw the features.

        Args:
            rng: Where all chance comes from.
            dimension: Number of variables d.
            fields: How many fields, n.
            features: How many features, m.
            lengthscale: ℓ, in the units of x.
            amplitude: σ.
        """
        for_frequencies, for_phases, for_coefficients = rng.spawn(3)
        self.frequencies = for_frequencies.normal(size=(features, dimension)).T.copy() / lengthscale
        self.phases = for_phases.uniform(0, 2 * math.pi, size=features)
        self.coefficients = for_coefficients.normal(size=(features, fields)) * (amplitude * math.sqrt(2 / features))

    def __call__(self, points: FloatArray) -> FloatArray:
        """The fields at (m, d) points -> (m, n), or at one (d,) point -> (n,)."""
        angles = points @ self.frequencies
        angles += self.phases
        return np.cos(angles, out=angles) @ self.coefficients

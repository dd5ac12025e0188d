"""One generation of CMA-ES: sample candidates and update the search distribution by their weights.

Equation numbers are those of Hansen, "The CMA evolution strategy: a tutorial" (arXiv:1604.00772). Candidates are
x = m + σ A z with AAᵀ = C, where A is the Cholesky factor of C: the paths then need no further decomposition. The
diagonal variant learns faster, by a factor of (d + 2) / 3 (Ros and Hansen, 2008).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from polarbear.records import FloatArray


@dataclass(frozen=True)
class Parameters:
    """The constants of a strategy, which follow from the numbers of variables and candidates.

    Attributes:
        dimension: Number of variables d.
        population: Number of candidates λ.
        diagonal: Whether C is diagonal.
        active: Whether the worse half has negative weights in the update of C.
    """

    dimension: int
    population: int
    diagonal: bool = False
    active: bool = True

    @cached_property
    def rank_weights(self) -> FloatArray:
        """(2, λ) the weight of each rank in the mean and the paths, and in C."""
        positive, negative = np.maximum(self._raw, 0.0), np.minimum(self._raw, 0.0)
        mean = positive / positive.sum()
        if not self.active:
            return np.stack([mean, mean])
        mass = negative.sum() ** 2 / np.square(negative).sum()
        scale = min(
            1 + self.rank_one / self.rank_mu,  # eq. 50
            1 + 2 * mass / (self.mass + 2),  # eq. 51
            (1 - self.rank_one - self.rank_mu) / (self.dimension * self.rank_mu),  # eq. 52
        )
        return np.stack([mean, mean - scale * negative / negative.sum()])  # eq. 53

    @cached_property
    def mass(self) -> float:
        """μ_eff, the effective number of selected candidates (eq. 8)."""
        positive = np.maximum(self._raw, 0.0)
        return float(positive.sum() ** 2 / np.square(positive).sum())

    @cached_property
    def _raw(self) -> FloatArray:
        """(λ,) w' (eq. 49)."""
        return math.log((self.population + 1) / 2) - np.log(np.arange(1, self.population + 1))

    @cached_property
    def path_rate(self) -> float:
        """c_σ (eq. 55)."""
        return (self.mass + 2) / (self.dimension + self.mass + 5)

    @cached_property
    def damping(self) -> float:
        """d_σ (eq. 55)."""
        return 1 + 2 * max(0.0, math.sqrt((self.mass - 1) / (self.dimension + 1)) - 1) + self.path_rate

    @cached_property
    def covariance_path_rate(self) -> float:
        """c_c (eq. 56)."""
        share = self.mass / self.dimension
        return (4 + share) / (self.dimension + 4 + 2 * share)

    @cached_property
    def rank_one(self) -> float:
        """c_1 (eq. 57)."""
        return self._speed_up * 2 / ((self.dimension + 1.3) ** 2 + self.mass)

    @cached_property
    def rank_mu(self) -> float:
        """c_μ (eq. 58)."""
        rate = 2 * (0.25 + self.mass + 1 / self.mass - 2) / ((self.dimension + 2) ** 2 + self.mass)
        return min(1 - self.rank_one, self._speed_up * rate)

    @cached_property
    def expected_norm(self) -> float:
        """E‖N(0, I)‖, by its series (p. 28)."""
        d = self.dimension
        return math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))

    @property
    def _speed_up(self) -> float:
        return (self.dimension + 2) / 3 if self.diagonal else 1.0


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Search:
    """A search distribution N(m, σ²C) with its evolution paths; an immutable value, in any coordinates.

    Attributes:
        mean: (d,) the mean m.
        step_size: The step size σ.
        covariance: (d, d) C, or its diagonal (d,).
        factor: (d, d) the lower Cholesky factor A of C, or the square roots of its diagonal (d,).
        path: (d,) p_σ, in the coordinates of z.
        covariance_path: (d,) p_c.
        generation: Number of updates so far.
    """

    mean: FloatArray
    step_size: float
    covariance: FloatArray
    factor: FloatArray
    path: FloatArray
    covariance_path: FloatArray
    generation: int = 0

    @classmethod
    def start(cls, mean: FloatArray, step_size: float, *, diagonal: bool) -> Search:
        """The initial distribution N(m, σ²I) of a run."""
        d = len(mean)
        unit = np.ones(d) if diagonal else np.eye(d)
        return cls(
            mean=mean,
            step_size=step_size,
            covariance=unit,
            factor=unit,
            path=np.zeros(d),
            covariance_path=np.zeros(d),
        )

    @property
    def deviations(self) -> FloatArray:
        """(d,) the standard deviation of each variable."""
        return self.step_size * np.sqrt(self.covariance if self.covariance.ndim == 1 else self.covariance.diagonal())

    def points(self, steps: FloatArray) -> FloatArray:
        """(λ, d) the points x = m + σ A z of standardized steps z (λ, d) (eq. 38 to 40)."""
        stretched = steps * self.factor if self.factor.ndim == 1 else steps @ self.factor.T
        return self.mean + self.step_size * stretched

    def steps(self, points: FloatArray) -> FloatArray:
        """(λ, d) the standardized steps z = A⁻¹(x - m) / σ of points (λ, d)."""
        stretched = (points - self.mean) / self.step_size
        if self.factor.ndim == 1:
            return stretched / self.factor
        from scipy.linalg.lapack import dtrtrs  # `scipy.linalg.solve_triangular` takes several times as long

        solved, _ = dtrtrs(self.factor, stretched.T, lower=True)
        return solved.T

    def update(
        self,
        parameters: Parameters,
        points: FloatArray,
        steps: FloatArray,
        weights: FloatArray,
        mass: float | None = None,
    ) -> Search:
        """The distribution after a generation.

        Args:
            parameters: The strategy's constants.
            points: (λ, d) the candidates x.
            steps: (λ, d) their standardized steps z.
            weights: (2, λ) the weight of each candidate in the mean and the paths, and in C.
            mass: μ_eff in the paths; by default that of the weights, with which random selection preserves the length
                of the paths.

        Raises:
            FloatingPointError: If the covariance matrix is no longer positive definite, or not finite.
        """
        if mass is None:
            mass = 1 / float(weights[0] @ weights[0])  # eq. 8
        rate, generation = parameters.path_rate, self.generation + 1
        stretched = (points - self.mean) / self.step_size
        mean_step = weights[0] @ stretched  # eq. 41
        path = (1 - rate) * self.path + math.sqrt(rate * (2 - rate) * mass) * (
            weights[0] @ steps
        )  # eq. 43: A⁻¹⟨y⟩ = ⟨z⟩
        length = math.sqrt(path @ path) / parameters.expected_norm
        settled = math.sqrt(1 - (1 - rate) ** (2 * (generation + 1)))
        short = length / settled < 1.4 + 2 / (parameters.dimension + 1)  # h_σ, p. 28
        rate = parameters.covariance_path_rate
        covariance_path = (1 - rate) * self.covariance_path
        if short:
            covariance_path += math.sqrt(rate * (2 - rate) * mass) * mean_step  # eq. 45
        covariance = self._adapted(parameters, stretched, steps, weights[1], covariance_path, 0.0 if short else rate)
        search = replace(
            self,
            mean=self.mean + self.step_size * mean_step,  # eq. 42, with c_m = 1
            step_size=self.step_size
            * math.exp(min(1.0, parameters.path_rate / parameters.damping * (length - 1))),  # eq. 44
            covariance=covariance,
            factor=_factor(covariance),
            path=path,
            covariance_path=covariance_path,
            generation=generation,
        )
        if not math.isfinite(search.step_size + search.factor.sum() + search.mean.sum()):
            raise FloatingPointError(f"in generation {generation} the search distribution is no longer finite")
        return search

    def _adapted(
        self,
        parameters: Parameters,
        stretched: FloatArray,
        steps: FloatArray,
        weights: FloatArray,
        path: FloatArray,
        stalled: float,
    ) -> FloatArray:
        """C after a generation (eq. 46 and 47); `stalled` is c_c if the generation did not move p_c, else 0."""
        if parameters.active:
            lengths: FloatArray = np.einsum("ij,ij->i", steps, steps)
            shares: FloatArray = np.where(
                weights < 0, weights * parameters.dimension / np.maximum(lengths, 1e-300), weights
            )
        else:
            shares = weights
        c_1, c_mu = parameters.rank_one, parameters.rank_mu
        kept = 1 + c_1 * stalled * (2 - stalled) - c_1 - c_mu * float(weights.sum())
        if parameters.diagonal:
            return kept * self.covariance + c_1 * np.square(path) + c_mu * (shares @ np.square(stretched))
        return kept * self.covariance + c_1 * np.outer(path, path) + c_mu * ((stretched.T * shares) @ stretched)


def _factor(covariance: FloatArray) -> FloatArray:
    """The lower Cholesky factor of C, or the square roots of its diagonal; FloatingPointError if it has none."""
    if covariance.ndim == 1:
        if not covariance.min() > 0:
            raise FloatingPointError("a variance of the search distribution is not positive")
        return np.sqrt(covariance)
    try:
        factor: Any = np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError as error:
        raise FloatingPointError(f"the covariance matrix has no Cholesky factor: {error}") from error
    return factor

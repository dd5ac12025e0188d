"""Sparse Gaussian processes with inducing points (section 3.2.2 of Wurth et al. 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.kernels import covariance
from polarbear.inference.model.gaussian_process import KernelModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathPrior
from polarbear.records import FloatArray

_JITTER = 1e-6
"""Variance added to the inducing values, relative to σ², so that their covariance can be inverted."""


@dataclass(frozen=True, slots=True)
class SparseGaussianProcess(KernelModel):
    """A Gaussian process determined by its values at M inducing points (deterministic training conditional).

    η_q has the covariance σ² K_tu K_uu⁻¹ K_ut on a time axis of unit length, where u are M quantiles of the timepoints
    (Quiñonero-Candela and Rasmussen 2005). Between inducing points the paths are the conditional means given the values
    there, without noise: with a length-scale shorter than their distance, the model is overconfident.

    Attributes:
        kernel, sigma_log_mean, sigma_log_sd, ell_shape, ell_scale, time_scale: As of `GaussianProcess`.
        inducing: Number M of inducing points; at most the number of timepoints.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name: ClassVar[str] = "sparse-gaussian-process"

    inducing: int = 10

    def __post_init__(self) -> None:
        KernelModel.__post_init__(self)
        if self.inducing < 1:
            raise ValueError(f"inducing is {self.inducing!r}; at least 1 inducing point is needed")

    def prior(self, at: FloatArray, paths: int) -> PathPrior:
        """The process at times (T,) on the unit axis."""
        return self._process(at, at, paths)

    def extended(self, at: FloatArray, fitted: NDArray[np.bool_]) -> PathPrior:
        """The process at more times, determined by the inducing points of the fit."""
        return self._process(at, at[fitted], 1)

    @property
    def reach(self) -> tuple[float, float]:
        """Up to the outermost inducing points; beyond, paths would return to zero without uncertainty."""
        return 0.0, 1.0

    def _process(self, at: FloatArray, fitted: FloatArray, paths: int) -> PathPrior:
        kernel = self.kernel
        points = np.quantile(fitted, np.linspace(0.0, 1.0, min(self.inducing, fitted.size)))

        def basis(length: float) -> FloatArray:
            inner = covariance(kernel, points, points, length) + _JITTER * np.eye(points.size)
            factor = np.linalg.cholesky(inner)
            across = covariance(kernel, points, at, length)
            return np.ascontiguousarray(np.asarray(np.linalg.solve(factor, across), dtype=np.float64).T)

        return self.low_rank(basis, paths)

"""Sparse Gaussian processes with inducing points (section 3.2.2 of Wurth et al. 2026)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.kernels import covariance
from polarbear.inference.model.gaussian_process import KernelModel, LowRankProcess
from polarbear.inference.path_sampling.hyperparameter_posterior import PathModel
from polarbear.records import FloatArray

_JITTER = 1e-6
"""Variance added to the inducing values, relative to σ², so that their covariance can be inverted."""


@dataclass(frozen=True, slots=True)
class SparseGaussianProcess(KernelModel):
    """A Gaussian process that is known from M inducing points (deterministic training conditional).

    η_q has the covariance σ² K_tu K_uu⁻¹ K_ut on a time axis of unit length, where u are M quantiles of the timepoints
    (Quiñonero-Candela and Rasmussen 2005). Between inducing points the paths are what the values there make likely,
    without noise of their own: with a length-scale shorter than their distance, the model is overconfident.

    Attributes:
        kernel: "matern-3/2", "matern-5/2" or "squared-exponential".
        sigma_log_mean: Mean of log σ; σ ~ LogNormal(0, 0.5) by default.
        sigma_log_sd: Standard deviation of log σ.
        ell_shape: Shape a of ℓ ~ InvGamma(a, b), as a share of the time axis.
        ell_scale: Scale b; InvGamma(5, 2) by default, with mean 0.5.
        inducing: Number M of inducing points; no more than there are timepoints are used.
        time_scale: "linear", or "log" if ratings change as much from 10 to 100 evaluations as from 100 to 1,000.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name: ClassVar[str] = "sparse-gaussian-process"

    inducing: int = 10

    def __post_init__(self) -> None:
        self.check()
        if self.inducing < 1:
            raise ValueError(f"inducing is {self.inducing!r}; at least 1 inducing point is needed")

    def prior(self, at: FloatArray, paths: int) -> PathModel:
        """The process at times (T,) on the unit axis."""
        return self._process(at, at, paths)

    def extended(self, at: FloatArray, fitted: NDArray[np.bool_]) -> PathModel:
        """The process at more times, known from the inducing points of the fit."""
        return self._process(at, at[fitted], 1)

    @property
    def reach(self) -> tuple[float, float]:
        """Beyond the inducing points paths would return to zero for certain."""
        return 0.0, 1.0

    def _process(self, at: FloatArray, fitted: FloatArray, paths: int) -> PathModel:
        kernel = self.kernel
        points = np.quantile(fitted, np.linspace(0.0, 1.0, min(self.inducing, fitted.size)))

        def basis(length: float) -> FloatArray:
            inner = covariance(kernel, points, points, length) + _JITTER * np.eye(points.size)
            factor = np.linalg.cholesky(inner)
            across = covariance(kernel, points, at, length)
            return np.ascontiguousarray(np.asarray(np.linalg.solve(factor, across), dtype=np.float64).T)

        return LowRankProcess(self.hyperpriors, paths, basis)

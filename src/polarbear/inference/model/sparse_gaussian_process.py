"""Sparse Gaussian processes with inducing points (section 3.2.2 of Wurth et al. 2026)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.kernels import covariance
from polarbear.inference.model.gaussian_process import KernelModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathPrior
from polarbear.records import FloatArray
from polarbear.validation import Positive, settings

_JITTER = 1e-6
"""Variance added to the inducing values, relative to σ², so that their covariance can be inverted."""


@settings
class SparseGaussianProcess(KernelModel):
    """A Gaussian process determined by its values at M inducing points (deterministic training conditional).

    η_q has the covariance σ² K_tu K_uu⁻¹ K_ut on a time axis of unit length, where u are M quantiles of the timepoints
    (Quiñonero-Candela and Rasmussen 2005). Between inducing points the paths are the conditional means given the values
    there, without noise: if the length-scale is shorter than their distance, the model is overconfident.

    Attributes:
        kernel, sigma_log_mean, sigma_log_sd, ell_shape, ell_scale, time_scale: As for `GaussianProcess`.
        inducing: Number M of inducing points; at most the number of timepoints.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name: ClassVar[str] = "sparse-gaussian-process"

    inducing: Positive = 10

    @property
    def reach(self) -> tuple[float, float]:
        """Up to the outermost inducing points; beyond, paths would return to zero without uncertainty."""
        return 0.0, 1.0

    def prior(self, at: FloatArray, paths: int, fitted: NDArray[np.bool_] | None = None) -> PathPrior:
        """The process at times (T,) on the unit axis, determined by the inducing points of the fit."""
        kernel, known = self.kernel, at if fitted is None else at[fitted]
        points = np.quantile(known, np.linspace(0.0, 1.0, min(self.inducing, known.size)))

        def basis(length: float) -> FloatArray:
            inner = covariance(kernel, points, points, length) + _JITTER * np.eye(points.size)
            factor = np.linalg.cholesky(inner)
            across = covariance(kernel, points, at, length)
            return np.ascontiguousarray(np.asarray(np.linalg.solve(factor, across), dtype=np.float64).T)

        return self.low_rank(basis, paths)

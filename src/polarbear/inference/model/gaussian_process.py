"""Gaussian processes, exact (section 3.2.2 of Wurth et al. 2026, eq. 11 and 12)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.gaussian_paths import BandedField, DenseField
from polarbear.inference.gaussian.kernels import Kernel, check_kernel, covariance, extended_factor, kernel_factor
from polarbear.inference.gaussian.state_space import MaternProcess
from polarbear.inference.model.temporal import TemporalModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathPrior
from polarbear.inference.path_sampling.hyperpriors import InverseGamma, LogNormal, check_finite, check_positive
from polarbear.records import FloatArray

_STATES: dict[Kernel, int] = {"matern-3/2": 2, "matern-5/2": 3}
"""Kernels of Markov processes, and their numbers of states."""
_SHORTEST = 1e-3
"""Prior probability of length-scales too short for the knots of Markov chains."""


@dataclass(frozen=True, slots=True)
class KernelModel(TemporalModel):
    """A model with a covariance kernel σ² K(t, t′; ℓ); attributes as those of `GaussianProcess`."""

    kernel: Kernel = "matern-3/2"
    sigma_log_mean: float = 0.0
    sigma_log_sd: float = 0.5
    ell_shape: float = 5.0
    ell_scale: float = 2.0

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        check_finite(sigma_log_mean=self.sigma_log_mean)
        check_positive(sigma_log_sd=self.sigma_log_sd, ell_shape=self.ell_shape, ell_scale=self.ell_scale)
        TemporalModel.__post_init__(self)

    @property
    def length_prior(self) -> InverseGamma:
        """The prior of the length-scale ℓ."""
        return InverseGamma("ell", self.ell_shape, self.ell_scale)

    @property
    def hyperpriors(self) -> tuple[LogNormal, InverseGamma]:
        """The priors of σ and ℓ."""
        return LogNormal("sigma", self.sigma_log_mean, self.sigma_log_sd), self.length_prior

    def low_rank(self, basis: Callable[[float], FloatArray], paths: int) -> PathPrior:
        """The prior of paths with covariance σ² A Aᵀ, from the function from ℓ to A (T, r)."""

        def field(hyperparameters: FloatArray) -> DenseField:
            sigma, length = hyperparameters.tolist()
            return DenseField(sigma * basis(length), paths)

        return PathPrior(self.hyperpriors, field)


@dataclass(frozen=True, slots=True)
class GaussianProcess(KernelModel):
    """η_q ~ GP(0, σ² K(·, ·; ℓ)), log-ratings μ = Q η, on a time axis of unit length.

    The Matérn kernels are computed as Markov processes of the value and its first derivatives, and their cost is linear
    in T. The squared exponential kernel's covariance matrix is of low rank r, and costs (n − 1)² r² T; r is about 7 for
    ℓ = 0.5. Both omit a millionth of the variance.

    Attributes:
        kernel: "matern-3/2", the default, whose paths have a slope but no curvature; "matern-5/2", smoother; or
            "squared-exponential", smoother than most things are.
        sigma_log_mean: Mean of log σ; σ ~ LogNormal(0, 0.5) by default.
        sigma_log_sd: Standard deviation of log σ.
        ell_shape: Shape a of ℓ ~ InvGamma(a, b), as a share of the time axis.
        ell_scale: Scale b; InvGamma(5, 2) by default, with mean 0.5.
        time_scale: "linear", or "log" if ratings change as much from 10 to 100 evaluations as from 100 to 1,000.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name: ClassVar[str] = "gaussian-process"

    def prior(self, at: FloatArray, paths: int) -> PathPrior:
        """The process at times (T,) on the unit axis."""
        if self.kernel in _STATES:
            return self._markov(at, np.ones(at.size, dtype=np.bool_), paths)
        return self.low_rank(lambda length: kernel_factor(self.kernel, at, length).rows, paths)

    def extended(self, at: FloatArray, fitted: NDArray[np.bool_]) -> PathPrior:
        """The process at more times."""
        if self.kernel in _STATES:
            return self._markov(at, fitted, 1)

        def basis(length: float) -> FloatArray:
            known = kernel_factor(self.kernel, at[fitted], length)
            return extended_factor(covariance(self.kernel, at, at, length), fitted, known)

        return self.low_rank(basis, 1)

    def _markov(self, at: FloatArray, fitted: NDArray[np.bool_], paths: int) -> PathPrior:
        """A Matérn process in state-space form at times (T,), some of which (T,) were fitted.

        The knots of its steady fields are close enough for all length-scales but the shortest.
        """
        process = MaternProcess(_STATES[self.kernel])

        def field(hyperparameters: FloatArray, longest: float = np.inf) -> BandedField:
            sigma, length = hyperparameters.tolist()
            scale = process.scale(min(length, longest))
            knots = process.knots(at[fitted], scale)
            knots = knots if fitted.all() else process.refined(knots, at, scale)
            return process.field(at, knots, process.scale(length), sigma, paths)

        shortest = self.length_prior.quantile(_SHORTEST)
        return PathPrior(self.hyperpriors, field, lambda hyperparameters: field(hyperparameters, shortest))

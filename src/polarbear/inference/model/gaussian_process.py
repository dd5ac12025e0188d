"""Gaussian processes, exact (section 3.2.2 of Wurth et al. 2026, eq. 11 and 12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.gaussian_paths import BandedField, DenseField
from polarbear.inference.gaussian.kernels import Kernel, covariance, extended_factor, kernel_factor
from polarbear.inference.gaussian.state_space import MaternProcess
from polarbear.inference.model.temporal import TemporalModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathPrior
from polarbear.inference.path_sampling.hyperpriors import InverseGamma, LogNormal
from polarbear.records import FloatArray
from polarbear.validation import Finite, real, settings

_STATES: dict[Kernel, int] = {"matern-3/2": 2, "matern-5/2": 3}
"""Kernels of Markov processes, with their numbers of states."""
_SHORTEST = 1e-3
"""Prior probability of length-scales too short for the knots of Markov chains."""


@settings
class KernelModel(TemporalModel):
    """A model with a covariance kernel σ² K(t, t′; ℓ); for the attributes see `GaussianProcess`."""

    kernel: Kernel = "matern-3/2"
    sigma_log_mean: Finite = 0.0
    sigma_log_sd: Annotated[float, real(gt=0)] = 0.5
    ell_shape: Annotated[float, real(gt=0)] = 5.0
    ell_scale: Annotated[float, real(gt=0)] = 2.0

    @property
    def length_prior(self) -> InverseGamma:
        """The prior of the length-scale ℓ."""
        return InverseGamma("ell", self.ell_shape, self.ell_scale)

    @property
    def hyperpriors(self) -> tuple[LogNormal, InverseGamma]:
        """The priors of σ and ℓ."""
        return LogNormal("sigma", self.sigma_log_mean, self.sigma_log_sd), self.length_prior

    def low_rank(self, basis: Callable[[float], FloatArray], paths: int) -> PathPrior:
        """The prior of paths with covariance σ² A Aᵀ, where `basis` maps ℓ to A (T, r)."""

        def field(hyperparameters: FloatArray) -> DenseField:
            sigma, length = hyperparameters.tolist()
            return DenseField(sigma * basis(length), paths)

        return PathPrior(self.hyperpriors, field)


@settings
class GaussianProcess(KernelModel):
    """η_q ~ GP(0, σ² K(·, ·; ℓ)), log-ratings μ = Q η, on a time axis of unit length.

    Matérn processes are computed as Markov processes of the value and its first derivatives, at a cost linear in T. The
    covariance matrix of the squared exponential kernel has low rank r, at a cost of (n − 1)² r² T; r is about 7 for
    ℓ = 0.5. Both omit at most a millionth of the variance.

    Attributes:
        kernel: "matern-3/2", the default, whose paths have a slope but no curvature; "matern-5/2", smoother; or
            "squared-exponential", smoother than most real processes.
        sigma_log_mean: Mean of log σ; σ ~ LogNormal(0, 0.5) by default.
        sigma_log_sd: Standard deviation of log σ.
        ell_shape: Shape a of ℓ ~ InvGamma(a, b), where ℓ is a share of the time axis.
        ell_scale: Scale b; InvGamma(5, 2) by default, with mean 0.5.
        time_scale: "linear", or "log" if ratings change as much from 10 to 100 evaluations as from 100 to 1,000.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name: ClassVar[str] = "gaussian-process"

    def prior(self, at: FloatArray, paths: int, fitted: NDArray[np.bool_] | None = None) -> PathPrior:
        """The process at times (T,) on the unit axis."""
        known = np.ones(at.size, dtype=np.bool_) if fitted is None else fitted
        if self.kernel in _STATES:
            return self._markov(at, known, paths)

        def basis(length: float) -> FloatArray:
            factor = kernel_factor(self.kernel, at[known], length)
            return (
                factor.rows if known.all() else extended_factor(covariance(self.kernel, at, at, length), known, factor)
            )

        return self.low_rank(basis, paths)

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

"""Gaussian processes, exact (section 3.2.2 of Wurth et al. 2026, eq. 11 and 12)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.gaussian_paths import DenseField, Field
from polarbear.inference.gaussian.kernels import Kernel, check_kernel, covariance, extended_factor, kernel_factor
from polarbear.inference.gaussian.state_space import MaternProcess
from polarbear.inference.model.temporal import TemporalModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathModel
from polarbear.inference.path_sampling.hyperpriors import (
    Hyperprior,
    InverseGamma,
    LogNormal,
    check_finite,
    check_positive,
)
from polarbear.records import FloatArray

_STATES: dict[Kernel, int] = {"matern-3/2": 2, "matern-5/2": 3}
"""Kernels of Markov processes, and how many numbers these remember."""
_SHORTEST = 1e-3
"""Prior probability of length-scales that are shorter than the knots of Markov chains allow for."""
_LEFT_OUT = 1e-6
"""Largest share of the prior variance at a timepoint that the low-rank form of a smooth kernel may lack."""


@dataclass(frozen=True, slots=True)
class KernelModel(TemporalModel):
    """What models with a covariance kernel σ² K(t, t′; ℓ) have in common.

    Attributes:
        kernel: "matern-3/2", "matern-5/2" or "squared-exponential".
        sigma_log_mean: Mean of log σ; σ ~ LogNormal(0, 0.5) by default.
        sigma_log_sd: Standard deviation of log σ.
        ell_shape: Shape a of ℓ ~ InvGamma(a, b), as a share of the time axis.
        ell_scale: Scale b; InvGamma(5, 2) by default, with mean 0.5.
        time_scale: "linear", or "log" if ratings change as much from 10 to 100 evaluations as from 100 to 1,000.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    kernel: Kernel = "matern-3/2"
    sigma_log_mean: float = 0.0
    sigma_log_sd: float = 0.5
    ell_shape: float = 5.0
    ell_scale: float = 2.0

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise a ValueError if a parameter is out of its range."""
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

    @abstractmethod
    def prior(self, at: FloatArray, paths: int) -> PathModel:
        """The prior of so many contrasts at times (T,) on the unit axis."""


@dataclass(frozen=True, slots=True)
class GaussianProcess(KernelModel):
    """η_q ~ GP(0, σ² K(·, ·; ℓ)), log-ratings μ = Q η, on a time axis of unit length.

    The Matérn kernels are computed as Markov processes of the value and its first derivatives, and their cost is linear
    in T. The squared exponential kernel's covariance matrix is of low rank r, and costs (n − 1)² r² T; r is about 7 for
    ℓ = 0.5. Both leave out a millionth of the variance.

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

    def prior(self, at: FloatArray, paths: int) -> PathModel:
        """The process at times (T,) on the unit axis."""
        if self.kernel in _STATES:
            return _MarkovProcess(self.hyperpriors, MaternProcess(_STATES[self.kernel]), at, paths)
        kernel = self.kernel
        return LowRankProcess(self.hyperpriors, paths, lambda length: kernel_factor(kernel, at, length, _LEFT_OUT).rows)

    def extended(self, at: FloatArray, fitted: NDArray[np.bool_]) -> PathModel:
        """The process at more times."""
        if self.kernel in _STATES:
            return _MarkovProcess(self.hyperpriors, MaternProcess(_STATES[self.kernel]), at, 1, fitted=fitted)
        kernel = self.kernel

        def basis(length: float) -> FloatArray:
            known = kernel_factor(kernel, at[fitted], length, _LEFT_OUT)
            return extended_factor(covariance(kernel, at, at, length), fitted, known, _LEFT_OUT)

        return LowRankProcess(self.hyperpriors, 1, basis)


class LowRankProcess:
    """A process whose covariance is σ² A Aᵀ.

    Args:
        hyperpriors: The priors of σ and ℓ.
        paths: Number of contrasts.
        basis: From ℓ to A (T, r).
    """

    def __init__(self, hyperpriors: Sequence[Hyperprior], paths: int, basis: Callable[[float], FloatArray]) -> None:
        self._hyperpriors, self._paths, self._basis = hyperpriors, paths, basis

    @property
    def hyperpriors(self) -> Sequence[Hyperprior]:
        """The priors of σ and ℓ."""
        return self._hyperpriors

    def steady(self) -> PathModel:
        """Itself: its basis changes little with ℓ."""
        return self

    def field(self, hyperparameters: FloatArray) -> Field:
        """The process with amplitude σ and length-scale ℓ."""
        sigma, length = hyperparameters.tolist()
        return DenseField(sigma * self._basis(length), self._paths)


class _MarkovProcess:
    """A Matérn process in state-space form, at times of which some may have been fitted."""

    def __init__(
        self,
        hyperpriors: tuple[LogNormal, InverseGamma],
        process: MaternProcess,
        at: FloatArray,
        paths: int,
        *,
        fitted: NDArray[np.bool_] | None = None,
        shortest: float = np.inf,
    ) -> None:
        self._hyperpriors, self._process, self._at, self._paths = hyperpriors, process, at, paths
        self._fitted, self._shortest = fitted, shortest

    @property
    def hyperpriors(self) -> Sequence[Hyperprior]:
        return self._hyperpriors

    def steady(self) -> PathModel:
        """The process with knots that are close enough for all length-scales but the shortest."""
        shortest = self._hyperpriors[1].quantile(_SHORTEST)
        return _MarkovProcess(self._hyperpriors, self._process, self._at, self._paths, shortest=shortest)

    def field(self, hyperparameters: FloatArray) -> Field:
        sigma, length = hyperparameters.tolist()
        process, close = self._process, self._process.scale(min(length, self._shortest))
        if self._fitted is None:
            knots = process.knots(self._at, close)
        else:
            knots = process.refined(process.knots(self._at[self._fitted], close), self._at, close)
        return process.field(self._at, knots, process.scale(length), sigma, self._paths)

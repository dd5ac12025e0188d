"""The Gaussian random walk (section 3.2.2 of Wurth et al. 2026, eq. 15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.gaussian_paths import BandedDesign, BandedField
from polarbear.inference.model.temporal import TemporalModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathPrior
from polarbear.inference.path_sampling.hyperpriors import LogNormal, check_finite, check_positive
from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True)
class RandomWalk(TemporalModel):
    """η_q(t_{i+1}) ~ N(η_q(t_i), σ² (t_{i+1} − t_i)), log-ratings μ = Q η, on a time axis of unit length.

    The change of a contrast over the whole axis has standard deviation σ a priori. The walk has no memory but its
    position, so the model suits ratings that may change abruptly.

    Attributes:
        sigma_log_mean: Mean of log σ; σ ~ LogNormal(0, 0.5) by default.
        sigma_log_sd: Standard deviation of log σ.
        initial_sd: η_q(t_1) ~ N(0, initial_sd²): how far the algorithms are apart at the start.
        time_scale: "linear", or "log" if ratings change as much from 10 to 100 evaluations as from 100 to 1,000.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name: ClassVar[str] = "random-walk"

    sigma_log_mean: float = 0.0
    sigma_log_sd: float = 0.5
    initial_sd: float = 1.0

    def __post_init__(self) -> None:
        check_finite(sigma_log_mean=self.sigma_log_mean)
        check_positive(sigma_log_sd=self.sigma_log_sd, initial_sd=self.initial_sd)
        TemporalModel.__post_init__(self)

    def prior(self, at: FloatArray, paths: int) -> PathPrior:
        """The walk at times (T,) on the unit axis."""
        return self._walk(at, paths, start=0)

    def extended(self, at: FloatArray, fitted: NDArray[np.bool_]) -> PathPrior:
        """The walk at more times; before the first fitted one it goes backwards in the same manner."""
        return self._walk(at, 1, start=int(np.argmax(fitted)))

    def _walk(self, at: FloatArray, paths: int, *, start: int) -> PathPrior:
        """The walk from one of the times both ways; its precision is tridiagonal."""
        rates = 1.0 / np.diff(at)
        design = BandedDesign(np.arange(at.size, dtype=np.int64), np.ones((at.size, 1)), at.size, 1, paths)

        def field(hyperparameters: FloatArray) -> BandedField:
            steps = rates / float(hyperparameters[0]) ** 2
            precision = np.zeros((2, at.size))
            precision[0, start] = self.initial_sd**-2
            precision[0, :-1] += steps
            precision[0, 1:] += steps
            precision[1, :-1] = -steps
            return BandedField(design, precision)

        return PathPrior((LogNormal("sigma", self.sigma_log_mean, self.sigma_log_sd),), field)

"""The Gaussian random walk (section 3.2.2 of Wurth et al. 2026, eq. 15)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.gaussian_paths import BandedDesign, BandedField
from polarbear.inference.model.temporal import TemporalModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathPrior
from polarbear.inference.path_sampling.hyperpriors import LogNormal
from polarbear.records import FloatArray
from polarbear.validation import Finite, real, settings


@settings
class RandomWalk(TemporalModel):
    """η_q(t_{i+1}) ~ N(η_q(t_i), σ² (t_{i+1} − t_i)), log-ratings μ = Q η, on a time axis of unit length.

    The change of a contrast over the whole axis has standard deviation σ a priori. The walk has no memory beyond its
    position, so the model suits ratings that may change abruptly.

    Attributes:
        sigma_log_mean: Mean of log σ; σ ~ LogNormal(0, 0.5) by default.
        sigma_log_sd: Standard deviation of log σ.
        initial_sd: Standard deviation of η_q(t_1) ~ N(0, initial_sd²): how far apart the algorithms are at the start.
        time_scale: "linear", or "log" if ratings change as much from 10 to 100 evaluations as from 100 to 1,000.

    Raises:
        ValueError: If a parameter is out of its range.
    """

    name: ClassVar[str] = "random-walk"

    sigma_log_mean: Finite = 0.0
    sigma_log_sd: Annotated[float, real(gt=0)] = 0.5
    initial_sd: Annotated[float, real(gt=0)] = 1.0

    def prior(self, at: FloatArray, paths: int, fitted: NDArray[np.bool_] | None = None) -> PathPrior:
        """The walk (eq. 15) at times (T,) on the unit axis, in both directions from the first fitted time."""
        start = 0 if fitted is None else int(np.argmax(fitted))
        rates = 1.0 / np.diff(at)
        design = BandedDesign(np.arange(at.size, dtype=np.int64), np.ones((at.size, 1)), at.size, 1, paths)

        def field(hyperparameters: FloatArray) -> BandedField:
            steps = rates / float(hyperparameters[0]) ** 2
            precision = np.zeros((2, at.size))  # tridiagonal
            precision[0, start] = self.initial_sd**-2
            precision[0, :-1] += steps
            precision[0, 1:] += steps
            precision[1, :-1] = -steps
            return BandedField(design, precision)

        return PathPrior((LogNormal("sigma", self.sigma_log_mean, self.sigma_log_sd),), field)

"""The Gaussian random walk (section 3.2.2 of Wurth et al. 2026, eq. 15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.gaussian_paths import BandedDesign, BandedField, Field
from polarbear.inference.model.temporal import TemporalModel
from polarbear.inference.path_sampling.hyperparameter_posterior import PathModel
from polarbear.inference.path_sampling.hyperpriors import Hyperprior, LogNormal, check_finite, check_positive
from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True)
class RandomWalk(TemporalModel):
    """η_q(t_{i+1}) ~ N(η_q(t_i), σ² (t_{i+1} − t_i)), log-ratings μ = Q η, on a time axis of unit length.

    The change of a contrast over the whole axis has standard deviation σ a priori. The walk remembers nothing but where
    it is, so the model suits ratings that may change abruptly.

    Attributes:
        sigma_log_mean: Mean of log σ; σ ~ LogNormal(0, 0.5) by default.
        sigma_log_sd: Standard deviation of log σ.
        initial_sd: η_q(t_1) ~ N(0, initial_sd²): how far the algorithms are apart at first.
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

    def prior(self, at: FloatArray, paths: int) -> PathModel:
        """The walk at times (T,) on the unit axis."""
        return _Walk(self, at, paths, start=0)

    def extended(self, at: FloatArray, fitted: NDArray[np.bool_]) -> PathModel:
        """The walk at more times; before the first fitted one it goes backwards in the same manner."""
        return _Walk(self, at, 1, start=int(np.argmax(fitted)))


class _Walk:
    """The walk at given timepoints, of which it starts from one both ways; its precision is tridiagonal."""

    def __init__(self, model: RandomWalk, at: FloatArray, paths: int, *, start: int) -> None:
        self._start, self._initial_precision = start, model.initial_sd**-2
        self._sigma = LogNormal("sigma", model.sigma_log_mean, model.sigma_log_sd)
        self._rates = 1.0 / np.diff(at)
        own = np.arange(at.size, dtype=np.int64)
        self._design = BandedDesign(own, np.ones((at.size, 1)), at.size, 1, paths)

    @property
    def hyperpriors(self) -> Sequence[Hyperprior]:
        return (self._sigma,)

    def steady(self) -> PathModel:
        """Itself: σ scales the steps."""
        return self

    def field(self, hyperparameters: FloatArray) -> Field:
        steps = self._rates / float(hyperparameters[0]) ** 2
        precision = np.zeros((2, steps.size + 1))
        precision[0, self._start] = self._initial_precision
        precision[0, :-1] += steps
        precision[0, 1:] += steps
        precision[1, :-1] = -steps
        return BandedField(self._design, precision)

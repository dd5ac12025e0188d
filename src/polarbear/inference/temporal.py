"""What the temporal models have in common: from counts to a posterior that is joint over time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np

from polarbear.inference.diagnostics import Diagnostics
from polarbear.inference.nested import path_draws
from polarbear.inference.posterior import Posterior
from polarbear.inference.sampling import HMC, NLIS, Sampling
from polarbear.inference.surface import PathModel
from polarbear.inference.timescale import TimeScale, unit_times
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True)
class TemporalModel(ABC):
    """Log-ratings μ(t) = Q η(t) of n algorithms, where the n − 1 contrasts η_q are independent Gaussian paths.

    The paths run on a time axis of unit length: the first timepoint is 0 and the last is 1.

    Attributes:
        time_scale: "linear", or "log" if ratings change as much from 10 to 100 evaluations as from 100 to 1,000.
    """

    name: ClassVar[str]
    joint: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = (NLIS, HMC)

    time_scale: TimeScale = field(default="linear", kw_only=True)

    @abstractmethod
    def prior(self, at: FloatArray, paths: int) -> PathModel:
        """The prior of so many contrasts at times (T,) on the unit axis."""

    def describe(self) -> dict[str, Any]:
        """The model as plain values."""
        return {"model": self.name, **asdict(self)}

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior after the rankings in `counts`; see `polarbear.inference.fit`.

        Without timepoints, or with one algorithm alone, only hyperparameters are left, and they follow their prior.
        """
        timepoints, algorithms = counts.timepoints, counts.algorithms
        at = unit_times(times, self.time_scale) if timepoints else np.zeros(1)
        prior = self.prior(at, max(1, algorithms - 1))
        padded = counts if timepoints else ChoiceCounts.none(1, algorithms)
        found = path_draws(padded.padded(max(2, algorithms)), prior, sampling)
        theta = found.theta[:timepoints] if algorithms > 1 else np.ones((timepoints, 1, sampling.draws))
        drawn = zip(prior.hyperpriors, found.hyperparameters, strict=True)
        return Posterior(
            draws=theta.transpose(2, 0, 1),
            times=times,
            names=names,
            joint=True,
            diagnostics=Diagnostics(
                (found.method,) * timepoints,
                *np.repeat([[found.ess], [found.k_hat], [found.r_hat]], timepoints, axis=1),
            ),
            hyperparameters={hyperprior.name: values for hyperprior, values in drawn},
        )

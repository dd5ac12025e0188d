"""The base of temporal models: from counts to a posterior that is joint over time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.batches import IN_CACHE, batches
from polarbear.inference.gaussian.gaussian_paths import Field
from polarbear.inference.gaussian.time_axis import TimeScale, UnitAxis, unit_times
from polarbear.inference.likelihood.path_likelihood import helmert, ratings
from polarbear.inference.path_sampling.hyperparameter_posterior import PathPrior
from polarbear.inference.path_sampling.hyperpriors import by_value, draw_hyperparameters
from polarbear.inference.path_sampling.nested_laplace import path_draws
from polarbear.inference.posterior import Posterior
from polarbear.inference.sampling.settings import HMC, NLIS, NUTS, PATHFINDER, Sampling
from polarbear.rankings import ChoiceCounts
from polarbear.records import FloatArray
from polarbear.validation import settings

Repeated = Literal["adjusted", "as published"]

_NUMBERS_TOGETHER = 4 * IN_CACHE
"""Number of values in paths that are computed together."""
_PRECISION = 1e8
"""Precision of the observation of a path at the fitted times, in units of σ⁻²."""


@settings
class TemporalModel(ABC):
    """Log-ratings μ(t) = Q η(t) of n algorithms, where the n − 1 contrasts η_q are independent Gaussian paths.

    The paths run on a time axis of unit length: the first timepoint is 0 and the last is 1.

    Attributes:
        time_scale: "linear", or "log" if ratings change as much from 10 to 100 evaluations as from 100 to 1,000.
        repeated: How rankings of one instance at several timepoints count. "adjusted": they repeat each other, and the
            posterior is widened accordingly (see `inference.model.adjustment`); "as published": each counts as new
            evidence (eq. 7 of Wurth et al. 2026).
    """

    name: ClassVar[str]
    joint: ClassVar[bool] = True
    pooled: ClassVar[bool] = True
    methods: ClassVar[tuple[str, ...]] = (NLIS, HMC, NUTS, PATHFINDER)

    time_scale: TimeScale = field(default="linear", kw_only=True)
    repeated: Repeated = field(default="adjusted", kw_only=True)

    @abstractmethod
    def prior(self, at: FloatArray, paths: int, fitted: NDArray[np.bool_] | None = None) -> PathPrior:
        """The prior of contrasts.

        Args:
            at: (T,) times on the unit axis of the fitted times, within `reach`.
            paths: Number of contrasts.
            fitted: (T,) mask of the times at which the model was fitted; None for all. There the prior is that of the
                fit. Given the path there, the first hyperparameter, σ, scales the path elsewhere.
        """

    @property
    def adjusted(self) -> bool:
        """Whether its posterior is widened because rankings of an instance repeat each other."""
        return self.repeated == "adjusted"

    @property
    def reach(self) -> tuple[float, float]:
        """The interval of the unit axis in which the model can predict."""
        return -np.inf, np.inf

    def describe(self) -> dict[str, Any]:
        """The model as plain values."""
        return {"model": self.name, **asdict(self)}

    def draw_prior(
        self, *, times: FloatArray, algorithms: int, sampling: Sampling, held: Mapping[str, float]
    ) -> tuple[FloatArray, dict[str, FloatArray]]:
        """Draw from the prior; see `polarbear.inference.prior`."""
        at = unit_times(times, self.time_scale) if times.size else np.zeros(1)
        prior, paths = self.prior(at, 1), algorithms - 1
        hyperparameters = draw_hyperparameters(prior.hyperpriors, held, sampling.draws, sampling.rng)
        theta = np.ones((at.size, algorithms, sampling.draws))
        for value, draws in by_value(np.stack(list(hyperparameters.values()))) if paths else ():
            free = prior.field(value).conditioned(np.zeros((at.size, 1, 1)))
            for batch in batches(draws.size, theta[:, :, 0].size, _NUMBERS_TOGETHER):
                some = draws[batch]
                spread = free.spread(sampling.rng.standard_normal((free.noises, paths * some.size)))
                theta[:, :, some] = ratings(spread.reshape(at.size, paths, some.size), helmert(algorithms))
        return theta[: times.size], hyperparameters

    def predict(self, posterior: Posterior, times: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Ratings (S, n, D) at times that were not fitted; see `Posterior.at`.

        Rankings depend on a path only at the fitted timepoints. Given the path there and the hyperparameters, the path
        elsewhere follows from the prior alone and is Gaussian. So each draw is continued separately, from the prior at
        the fitted and the new times together, conditioned on an observation with hardly any noise at the fitted ones.

        Raises:
            ValueError: If a time is outside the model's `reach`.
        """
        algorithms = len(posterior.names)
        if algorithms == 1:
            return np.ones((times.size, 1, len(posterior.draws)))
        axis = UnitAxis.of(posterior.times, self.time_scale)
        positions = axis.position(times)
        low, high = self.reach
        for outside in times[(positions < low) | (positions > high)]:
            raise ValueError(
                f"{self.name} cannot predict at time {outside:g}, only from {axis.time(low):g} to {axis.time(high):g}"
            )
        at = np.concatenate([axis.position(posterior.times), positions])
        order = np.argsort(at)
        fitted = order < posterior.times.size
        prior = self.prior(at[order], 1, fitted)
        sigma, *others = [posterior.hyperparameters[hyperprior.name] for hyperprior in prior.hyperpriors]
        contrasts = helmert(algorithms)
        theta = np.empty((times.size, algorithms, sigma.size))
        for value, draws in by_value(np.stack([np.ones_like(sigma), *others])):
            field = prior.field(value)
            for batch in batches(draws.size, at.size * algorithms, _NUMBERS_TOGETHER):
                some = draws[batch]
                log_theta = np.log(np.maximum(posterior.draws[some], np.finfo(np.float64).tiny))
                known = (log_theta @ contrasts).transpose(1, 2, 0) / sigma[some]
                theta[:, :, some] = ratings(sigma[some] * _conditional(field, fitted, known, rng), contrasts)
        return theta

    def fit(self, counts: ChoiceCounts, *, times: FloatArray, names: tuple[str, ...], sampling: Sampling) -> Posterior:
        """The posterior given the rankings in `counts`; see `polarbear.inference.fit`.

        Without timepoints, or with a single algorithm, the hyperparameters follow their prior.
        """
        timepoints, algorithms = counts.timepoints, counts.algorithms
        at = unit_times(times, self.time_scale) if timepoints else np.zeros(1)
        prior = self.prior(at, max(1, algorithms - 1))
        padded = counts if timepoints else ChoiceCounts.none(1, algorithms)
        sampled = path_draws(padded.padded(max(2, algorithms)), prior, sampling)
        theta = sampled.theta[:timepoints] if algorithms > 1 else np.ones((timepoints, 1, sampling.draws))
        hyperparameters = zip(prior.hyperpriors, sampled.hyperparameters, strict=True)
        return Posterior(
            draws=theta.transpose(2, 0, 1),
            times=times,
            names=names,
            joint=True,
            diagnostics=sampled.diagnostics.at(np.arange(timepoints)),
            hyperparameters={hyperprior.name: values for hyperprior, values in hyperparameters},
            model=self,
            chains=sampled.chains,
        )


def _conditional(field: Field, fitted: NDArray[np.bool_], known: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(S, q, D) paths at the new times given those at the fitted ones (T, q, D), all with the same prior."""
    shape = known.shape[1:]
    conditioned = field.conditioned(np.where(fitted, _PRECISION, 0.0)[:, np.newaxis, np.newaxis])
    force = np.zeros((fitted.size, 1, shape[0] * shape[1]))
    force[fitted, 0] = _PRECISION * known.reshape(known.shape[0], -1)
    state = conditioned.gather(force)
    state += rng.standard_normal(state.shape)
    return conditioned.spread(state)[~fitted, 0].reshape(-1, *shape)

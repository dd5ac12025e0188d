"""The posterior of the hyperparameters, point by point."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from polarbear.inference.fields import Field
from polarbear.inference.hyperparameters import Hyperprior
from polarbear.inference.likelihood import Likelihood
from polarbear.inference.modes import modes
from polarbear.inference.workers import ALONE, Workers
from polarbear.records import FloatArray


class PathModel(Protocol):
    """A prior of paths, as the sampler sees it.

    Attributes:
        hyperpriors: The priors of the one or two hyperparameters.
    """

    @property
    def hyperpriors(self) -> Sequence[Hyperprior]:
        """The priors of the one or two hyperparameters."""
        ...

    def field(self, hyperparameters: FloatArray) -> Field:
        """The prior of paths for hyperparameters (p,).

        Raises:
            numpy.linalg.LinAlgError: If floating-point numbers do not suffice.
        """
        ...

    def steady(self) -> PathModel:
        """The same prior, of which a draw of noise makes similar paths when hyperparameters are similar."""
        ...


class Surface:
    """The posterior density of the hyperparameters, and a path for each point where it was computed.

    The probability of the rankings given the hyperparameters is approximated by Laplace's method.

    Args:
        likelihood: The rankings.
        model: The prior.
        workers: Threads that share out the points.
    """

    def __init__(self, likelihood: Likelihood, model: PathModel, workers: Workers = ALONE) -> None:
        self._likelihood, self._model, self._workers = likelihood, model, workers
        self._spread = np.array([prior.spread for prior in model.hyperpriors])
        self._points: list[FloatArray] = []
        self._paths: list[FloatArray] = []

    @property
    def start(self) -> FloatArray:
        """(2, p) prior mean and standard deviation of the hyperparameters' logarithms."""
        return np.array([(prior.mean, prior.spread) for prior in self._model.hyperpriors]).T

    def __call__(self, points: FloatArray) -> FloatArray:
        """(K,) log-densities at points (K, p), −inf where floating-point numbers do not suffice."""
        values, log_prior = np.full(len(points), -np.inf), self.log_prior(points)
        fields = [(k, field) for k, point in enumerate(points) if (field := self.field(point)) is not None]
        starts = [self._nearest(points[k]) for k, _ in fields]
        centres = modes(self._likelihood, [field for _, field in fields], starts, self._workers)
        for (k, _), centre in zip(fields, centres, strict=True):
            if centre is not None:
                values[k] = centre.log_evidence + log_prior[k]
                self._points.append(points[k])
                self._paths.append(centre.path)
        return values

    def field(self, point: FloatArray) -> Field | None:
        """The prior of paths at a point, or None where floating-point numbers do not suffice."""
        try:
            return self._model.field(np.exp(point))
        except np.linalg.LinAlgError:
            return None

    def log_prior(self, points: FloatArray) -> FloatArray:
        """(K,) log-densities of the hyperparameters' logarithms (K, p) under the prior."""
        columns = zip(self._model.hyperpriors, points.T, strict=True)
        return np.sum([prior.log_density(u) for prior, u in columns], axis=0)

    def path(self, point: FloatArray) -> FloatArray:
        """The path (T, q) found at the nearest point so far."""
        found = self._nearest(point)
        if found is None:
            raise np.linalg.LinAlgError("the posterior cannot be computed at any hyperparameters")
        return found

    def _nearest(self, point: FloatArray) -> FloatArray | None:
        if not self._points:
            return None
        distance = (((np.array(self._points) - point) / self._spread) ** 2).sum(axis=1)
        return self._paths[int(np.argmin(distance))]

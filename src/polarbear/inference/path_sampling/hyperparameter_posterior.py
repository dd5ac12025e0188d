"""The posterior density of the hyperparameters by Laplace's method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from polarbear.inference.gaussian.gaussian_paths import Field
from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.inference.path_sampling.hyperpriors import Hyperprior
from polarbear.inference.path_sampling.laplace import find_modes
from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class PathPrior:
    """A prior of paths.

    Attributes:
        hyperpriors: The priors of the one or two hyperparameters.
        field: Function from hyperparameters (p,) to the prior of paths; it raises a LinAlgError where floating-point
            precision does not suffice.
        steady_field: The same prior, but such that equal noise gives similar paths for similar hyperparameters; None if
            `field` does so already.
    """

    hyperpriors: Sequence[Hyperprior]
    field: Callable[[FloatArray], Field]
    steady_field: Callable[[FloatArray], Field] | None = None

    def steady(self) -> PathPrior:
        """The same prior with its steady fields."""
        return PathPrior(self.hyperpriors, self.steady_field or self.field)


class HyperparameterPosterior:
    """The posterior density of the hyperparameters, and the most probable path at each point where it was computed.

    The probability of the rankings given the hyperparameters is approximated by Laplace's method.

    Args:
        likelihood: The likelihood of the rankings.
        prior: The prior of paths and hyperparameters.
    """

    def __init__(self, likelihood: Likelihood, prior: PathPrior) -> None:
        self._likelihood, self._prior = likelihood, prior
        self._spread = np.array([hyperprior.spread for hyperprior in prior.hyperpriors])
        self._points: list[FloatArray] = []
        self._paths: list[FloatArray] = []

    @property
    def start(self) -> FloatArray:
        """(2, p) prior mean and standard deviation of the hyperparameters' logarithms."""
        return np.array([(hyperprior.mean, hyperprior.spread) for hyperprior in self._prior.hyperpriors]).T

    def __call__(self, points: FloatArray) -> FloatArray:
        """(K,) log-densities at points (K, p), −inf where floating-point precision does not suffice."""
        values, log_prior, starts = np.full(len(points), -np.inf), self.log_prior(points), self._nearest(points)
        fields = {k: field for k, point in enumerate(points) if (field := self.field(point)) is not None}
        modes = find_modes(self._likelihood, list(fields.values()), [starts[k] for k in fields])
        for k, mode in zip(fields, modes, strict=True):
            if mode is not None:
                values[k] = mode.log_evidence + log_prior[k]
                self._points.append(points[k])
                self._paths.append(mode.path)
        return values

    def field(self, point: FloatArray) -> Field | None:
        """The prior of paths at a point, or None where floating-point precision does not suffice."""
        try:
            return self._prior.field(np.exp(point))
        except np.linalg.LinAlgError:
            return None

    def log_prior(self, points: FloatArray) -> FloatArray:
        """(K,) prior log-densities of the hyperparameters' logarithms (K, p)."""
        columns = zip(self._prior.hyperpriors, points.T, strict=True)
        return np.sum([hyperprior.log_density(u) for hyperprior, u in columns], axis=0)

    def paths(self, points: FloatArray) -> FloatArray:
        """(K, T, q) most probable paths at the points computed so far that are nearest to each of points (K, p)."""
        paths = [path for path in self._nearest(points) if path is not None]
        if not paths:
            raise np.linalg.LinAlgError("the posterior cannot be computed at any value of the hyperparameters")
        return np.stack(paths)

    def _nearest(self, points: FloatArray) -> list[FloatArray | None]:
        """As `paths`; None if there are none yet."""
        if not self._points:
            return [None] * len(points)
        distances = (np.array(self._points) - points[:, np.newaxis]) / self._spread
        return [self._paths[k] for k in np.argmin((distances**2).sum(axis=2), axis=1)]

"""The posterior density of the hyperparameters by Laplace's method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from polarbear.inference.gaussian.gaussian_paths import Field
from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.inference.path_sampling.hyperpriors import Hyperprior
from polarbear.inference.path_sampling.laplace import find_modes
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


class Peak(NamedTuple):
    """The most probable path (T, q) at a point, and Laplace's approximation to the log-probability of the rankings."""

    log_evidence: float
    path: FloatArray


Search = Callable[[FloatArray, Sequence[FloatArray | None]], Sequence[Peak | None]]
"""From points (K, p), and paths to start from (None: at zero), to peaks; None where numbers do not suffice."""


class Surface:
    """The posterior density of the hyperparameters, and a path for each point where it was computed.

    The probability of the rankings given the hyperparameters is approximated by Laplace's method.

    Args:
        model: The prior.
        search: How peaks are found, as by `peaks`.
    """

    def __init__(self, model: PathModel, search: Search) -> None:
        self._model, self._search = model, search
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
        found = self._search(points, self._nearest(points))
        for k, peak in enumerate(found):
            if peak is not None:
                values[k] = peak.log_evidence + log_prior[k]
                self._points.append(points[k])
                self._paths.append(peak.path)
        return values

    def field(self, point: FloatArray) -> Field | None:
        """The prior of paths at a point, or None where floating-point numbers do not suffice."""
        return field_at(self._model, point)

    def log_prior(self, points: FloatArray) -> FloatArray:
        """(K,) log-densities of the hyperparameters' logarithms (K, p) under the prior."""
        columns = zip(self._model.hyperpriors, points.T, strict=True)
        return np.sum([prior.log_density(u) for prior, u in columns], axis=0)

    def paths(self, points: FloatArray) -> FloatArray:
        """(K, T, q) the path found at the nearest point so far to each of some points (K, p)."""
        found = [path for path in self._nearest(points) if path is not None]
        if not found:
            raise np.linalg.LinAlgError("the posterior cannot be computed at any hyperparameters")
        return np.stack(found)

    def _nearest(self, points: FloatArray) -> list[FloatArray | None]:
        """The path at the nearest point so far to each of some points (K, p)."""
        if not self._points:
            return [None] * len(points)
        apart = (np.array(self._points) - points[:, np.newaxis]) / self._spread
        return [self._paths[k] for k in np.argmin((apart**2).sum(axis=2), axis=1)]


def peaks(
    likelihood: Likelihood, model: PathModel, points: FloatArray, starts: Sequence[FloatArray | None]
) -> list[Peak | None]:
    """What `Search` is to find."""
    found: list[Peak | None] = [None] * len(points)
    fields = [(k, field) for k, point in enumerate(points) if (field := field_at(model, point)) is not None]
    centres = find_modes(likelihood, [field for _, field in fields], [starts[k] for k, _ in fields])
    for (k, _), centre in zip(fields, centres, strict=True):
        if centre is not None:
            found[k] = Peak(centre.log_evidence, centre.path)
    return found


def field_at(model: PathModel, point: FloatArray) -> Field | None:
    """The prior of paths at a point, or None where floating-point numbers do not suffice."""
    try:
        return model.field(np.exp(point))
    except np.linalg.LinAlgError:
        return None

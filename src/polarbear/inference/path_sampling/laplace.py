"""Laplace's approximation to the posterior of a path, for several values of the hyperparameters at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from polarbear.inference.gaussian.gaussian_paths import Conditioned, Field
from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.records import FloatArray

Item = TypeVar("Item")

_MOST_STEPS = 60
_AT_ONCE = 4
"""Paths whose expansions are computed together."""
_CLOSE = 1e-5
"""Newton's method ends when the log-density could not grow by more than about half of this."""
_MOST_CHANGE = 0.1
"""A single step will do if it moves the path by less than this, squared and in the likelihood's own curvature."""


@dataclass(slots=True, eq=False)
class LaplaceApproximation:
    """A path around which the posterior is expanded, given the hyperparameters.

    The path is K α, where K is the prior's covariance, so that its log prior density is −½ Σ_t α(t) · η(t).

    Attributes:
        path: (T, q).
        pull: (T, q) α.
        curvature: (T, q, q) C of the log-likelihood.
        conditioned: The Gaussian approximation with this curvature.
        log_evidence: Laplace's approximation to the log-probability of the rankings given the hyperparameters.
    """

    path: FloatArray
    pull: FloatArray
    curvature: FloatArray
    conditioned: Conditioned
    log_evidence: float


class _Search:
    """One path on its way to the mode."""

    def __init__(self, field: Field, start: FloatArray, settled: bool) -> None:
        self.field = field
        self.path, self.pull, self.value = start, np.zeros_like(start), -np.inf
        self.trial: tuple[FloatArray, FloatArray] = (self.path, self.pull)
        self.known_pull = settled
        self.found: LaplaceApproximation | None = None
        self.failed = False

    def advance(self, value: float, gradient: FloatArray, curvature: FloatArray) -> None:
        """Judge the trial by the log-likelihood there; accept it and step on, or go half the way back."""
        path, pull = self.trial
        height = value - 0.5 * float(np.vdot(path, pull)) if self.known_pull else -np.inf
        if height < self.value - 1e-9 * abs(self.value):
            self.trial = 0.5 * (self.path + path), 0.5 * (self.pull + pull)
            return
        self.path, self.pull, self.value = path, pull, height
        try:
            conditioned = self.field.conditioned(curvature)
        except np.linalg.LinAlgError:
            self.failed = True
            return
        force = _times(curvature, path) + gradient
        new = conditioned.response(force)
        new_pull = force - _times(curvature, new)
        move = new - path
        decrement = float(np.vdot(move, _times(curvature, move))) + float(np.vdot(move, new_pull - pull))
        if self.known_pull and decrement < _CLOSE:
            reached = self.value + 0.5 * decrement - conditioned.half_log_det
            self.found = LaplaceApproximation(new, new_pull, curvature, conditioned, reached)
        self.trial, self.known_pull = (new, new_pull), True


def find_modes(
    likelihood: Likelihood, fields: Sequence[Field], starts: Sequence[FloatArray | None]
) -> list[LaplaceApproximation | None]:
    """The most probable path under each field.

    Args:
        likelihood: The rankings.
        fields: The priors.
        starts: (T, q) where to start from under each; None: at zero, all algorithms alike.

    Returns:
        For each field the mode, or None where floating-point numbers do not suffice.
    """
    zero = np.zeros(likelihood.shape)
    searches = [
        _Search(field, zero if start is None else start, start is None)
        for field, start in zip(fields, starts, strict=True)
    ]
    for _ in range(_MOST_STEPS):
        active = [search for search in searches if search.found is None and not search.failed]
        if not active:
            break
        for some in _parts(active):
            value, gradient, curvature = likelihood.expansion(np.stack([search.trial[0] for search in some], axis=2))
            for k, search in enumerate(some):
                search.advance(float(value[k]), np.ascontiguousarray(gradient[:, :, k]), curvature[k])
    return [search.found for search in searches]


def find_near_modes(
    likelihood: Likelihood, fields: Sequence[Field], starts: FloatArray
) -> list[LaplaceApproximation | None]:
    """Paths near the most probable ones, by one Newton step from good starts (K, T, q); by more where that is far."""
    found: list[LaplaceApproximation | None] = []
    for some in _parts(range(len(fields))):
        expansion = likelihood.expansion(np.ascontiguousarray(starts[some].transpose(1, 2, 0)))
        slopes = expansion.gradient.transpose(2, 0, 1)
        each = zip(some, slopes, expansion.curvature, strict=True)
        found += [_near_mode(likelihood, fields[k], starts[k], slope, curvature) for k, slope, curvature in each]
    return found


def _near_mode(
    likelihood: Likelihood, field: Field, start: FloatArray, slope: FloatArray, curvature: FloatArray
) -> LaplaceApproximation | None:
    try:
        conditioned = field.conditioned(curvature)
    except np.linalg.LinAlgError:
        return None
    force = _times(curvature, start) + slope
    path = conditioned.response(force)
    move: FloatArray = path - start
    if float(np.vdot(move, _times(curvature, move))) > _MOST_CHANGE:
        return find_modes(likelihood, [field], [path])[0]
    pull = force - _times(curvature, path)
    return LaplaceApproximation(path, pull, curvature, conditioned, np.nan)


def _parts(items: Sequence[Item]) -> list[Sequence[Item]]:
    """A few items at a time: their expansions are computed together."""
    return [items[start : start + _AT_ONCE] for start in range(0, len(items), _AT_ONCE)]


def _times(curvature: FloatArray, path: FloatArray) -> FloatArray:
    """(T, q) curvatures (T, q, q) times a path."""
    return (curvature @ path[:, :, np.newaxis])[:, :, 0]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A value of the hyperparameters, and the Gaussian that approximates the posterior of the path there.

    Attributes:
        hyperparameters: (p,) their logarithms.
        centre: The Gaussian's centre and precision.
        offset: What does not depend on the path in the log-ratio of posterior to proposal density.
    """

    hyperparameters: FloatArray
    centre: LaplaceApproximation
    offset: float

    @classmethod
    def at(cls, hyperparameters: FloatArray, centre: LaplaceApproximation, log_prior: float) -> Node:
        """A node, given the log-ratio of prior to proposal density of its hyperparameters."""
        height = -0.5 * float(np.vdot(centre.path, centre.pull)) - centre.conditioned.half_log_det
        return cls(hyperparameters, centre, log_prior + height)

    def path(self, moves: FloatArray) -> FloatArray:
        """(T, q, D) the paths that differ from the centre by `moves`."""
        return self.centre.path[:, :, np.newaxis] + moves

    def log_ratio(self, moves: FloatArray) -> FloatArray:
        """(D,) log of posterior over proposal density for moves (T, q, D), the log-likelihood left out.

        With x = m + d, J m = Aᵀ α and δ = A d, what remains of −½ xᵀ J x + ½ dᵀ H d is −½ mᵀ J m − α · δ + ½ δᵀ C δ.
        """
        bent = self.centre.curvature @ moves
        bent *= 0.5
        bent -= self.centre.pull[:, :, np.newaxis]
        return self.offset + np.einsum("tqd,tqd->d", moves, bent)

    def log_ratio_slope(self, moves: FloatArray) -> FloatArray:
        """(T, q, D) the gradient of `log_ratio` in the moves."""
        return self.centre.curvature @ moves - self.centre.pull[:, :, np.newaxis]

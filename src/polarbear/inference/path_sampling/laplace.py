"""Laplace's approximation to the posterior of a path, for several values of the hyperparameters at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polarbear.inference.batches import batches
from polarbear.inference.gaussian.gaussian_paths import Conditioned, Field
from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.records import FloatArray

_MAX_STEPS = 60
_TOGETHER = 4
"""Number of paths whose expansions are computed together."""
_TOLERANCE = 1e-5
"""Newton's method ends when the predicted gain in log-density is less than about half of this."""
_SMALL_MOVE = 0.1
"""A single step suffices if its squared length, in the metric of the likelihood's curvature, is less than this."""


@dataclass(slots=True, eq=False)
class LaplaceApproximation:
    """A path around which the posterior is expanded, given the hyperparameters.

    The path is K α, where K is the prior's covariance, so that its log prior density is −½ Σ_t α(t) · η(t).

    Attributes:
        path: (T, q) path.
        pull: (T, q) coefficients α.
        curvature: (T, q, q) curvature C of the log-likelihood.
        conditioned: The Gaussian approximation with this curvature.
        log_evidence: Laplace's approximation to the log-probability of the rankings given the hyperparameters.
    """

    path: FloatArray
    pull: FloatArray
    curvature: FloatArray
    conditioned: Conditioned
    log_evidence: float


class _Search:
    """Newton's method to the most probable path under one field."""

    def __init__(self, field: Field, start: FloatArray, known_pull: bool) -> None:
        self.field = field
        self.path, self.pull, self.value = start, np.zeros_like(start), -np.inf
        self.trial: tuple[FloatArray, FloatArray] = (self.path, self.pull)
        self.known_pull = known_pull
        self.mode: LaplaceApproximation | None = None
        self.failed = False

    def advance(self, value: float, gradient: FloatArray, curvature: FloatArray) -> None:
        """Accept the trial, given the log-likelihood there, and take the next step; or go back half the way."""
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
        new, new_pull = _newton_step(conditioned, path, gradient, curvature)
        move = new - path
        decrement = float(np.vdot(move, _times(curvature, move))) + float(np.vdot(move, new_pull - pull))
        if self.known_pull and decrement < _TOLERANCE:
            log_evidence = self.value + 0.5 * decrement - conditioned.half_log_det
            self.mode = LaplaceApproximation(new, new_pull, curvature, conditioned, log_evidence)
        self.trial, self.known_pull = (new, new_pull), True


def find_modes(
    likelihood: Likelihood, fields: Sequence[Field], starts: Sequence[FloatArray | None]
) -> list[LaplaceApproximation | None]:
    """The most probable path under each field.

    Args:
        likelihood: The likelihood of the rankings.
        fields: The priors.
        starts: (T, q) starting path under each field; None for zero, where all algorithms are alike.

    Returns:
        The mode under each field, or None where floating-point precision does not suffice.
    """
    zero = np.zeros(likelihood.shape)
    searches = [
        _Search(field, zero if start is None else start, start is None)
        for field, start in zip(fields, starts, strict=True)
    ]
    for _ in range(_MAX_STEPS):
        active = [search for search in searches if search.mode is None and not search.failed]
        for some in batches(len(active), 1, _TOGETHER):
            paths = np.stack([search.trial[0] for search in active[some]], axis=2)
            value, gradient, curvature = likelihood.expansion(paths)
            for k, search in enumerate(active[some]):
                search.advance(float(value[k]), np.ascontiguousarray(gradient[:, :, k]), curvature[k])
    return [search.mode for search in searches]


def find_near_modes(
    likelihood: Likelihood, fields: Sequence[Field], starts: FloatArray
) -> list[LaplaceApproximation | None]:
    """Paths near the most probable ones, by one Newton step from good starts (K, T, q), or more if that is long."""
    modes: list[LaplaceApproximation | None] = []
    for some in batches(len(fields), 1, _TOGETHER):
        expansion = likelihood.expansion(np.ascontiguousarray(starts[some].transpose(1, 2, 0)))
        gradients = expansion.gradient.transpose(2, 0, 1)
        for field, start, gradient, curvature in zip(
            fields[some], starts[some], gradients, expansion.curvature, strict=True
        ):
            try:
                conditioned = field.conditioned(curvature)
            except np.linalg.LinAlgError:
                modes.append(None)
                continue
            path, pull = _newton_step(conditioned, start, gradient, curvature)
            move: FloatArray = path - start
            if float(np.vdot(move, _times(curvature, move))) > _SMALL_MOVE:
                modes += find_modes(likelihood, [field], [path])
            else:
                modes.append(LaplaceApproximation(path, pull, curvature, conditioned, np.nan))
    return modes


def _newton_step(
    conditioned: Conditioned, path: FloatArray, gradient: FloatArray, curvature: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The next path (T, q), and its α."""
    force = _times(curvature, path) + gradient
    new = conditioned.response(force)
    return new, force - _times(curvature, new)


def _times(curvature: FloatArray, path: FloatArray) -> FloatArray:
    """(T, q) curvatures (T, q, q) times a path."""
    return (curvature @ path[:, :, np.newaxis])[:, :, 0]


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A value of the hyperparameters, and the Gaussian that approximates the posterior of the path there.

    Attributes:
        hyperparameters: (p,) logarithms of the hyperparameters.
        centre: The Gaussian's centre and precision.
        offset: The part of the log-ratio of posterior to proposal density that does not depend on the path.
    """

    hyperparameters: FloatArray
    centre: LaplaceApproximation
    offset: float

    @classmethod
    def at(cls, hyperparameters: FloatArray, centre: LaplaceApproximation, log_prior: float) -> Node:
        """Make a node, given the log-ratio of prior to proposal density of its hyperparameters."""
        height = -0.5 * float(np.vdot(centre.path, centre.pull)) - centre.conditioned.half_log_det
        return cls(hyperparameters, centre, log_prior + height)

    def log_ratio(self, moves: FloatArray) -> FloatArray:
        """(D,) log of posterior over proposal density for moves (T, q, D), the log-likelihood left out.

        With x = m + d, J m = Aᵀ α and δ = A d, what remains of −½ xᵀ J x + ½ dᵀ H d is −½ mᵀ J m − α · δ + ½ δᵀ C δ.
        """
        half_gradient = self.centre.curvature @ moves
        half_gradient *= 0.5
        half_gradient -= self.centre.pull[:, :, np.newaxis]
        return self.offset + np.einsum("tqd,tqd->d", moves, half_gradient)


class LogRatio:
    """The log-ratio r of posterior to Gaussian density at draws of several nodes.

    The states of each node are e (noises, D_k), in coordinates in which its Gaussian is standard normal.
    """

    def __init__(self, likelihood: Likelihood, nodes: Sequence[Node]) -> None:
        self._likelihood, self._nodes = likelihood, nodes

    def expand(self, states: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray, list[FloatArray]]:
        """Paths (T, q, D), their log-ratios (D,) without the log-likelihood, and moves (T, q, D_k) from the centres."""
        moves = [node.centre.conditioned.spread(e) for node, e in zip(self._nodes, states, strict=True)]
        each = list(zip(self._nodes, moves, strict=True))
        paths = np.concatenate([node.centre.path[:, :, np.newaxis] + move for node, move in each], axis=2)
        return paths, np.concatenate([node.log_ratio(move) for node, move in each]), moves

    def paths(self, states: Sequence[FloatArray]) -> FloatArray:
        """(T, q, D) paths."""
        return self.expand(states)[0]

    def value(self, states: Sequence[FloatArray]) -> FloatArray:
        """(D,) log-ratios."""
        paths, ratio, _ = self.expand(states)
        return self._likelihood.value(paths) + ratio

    def __call__(self, states: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
        """(D,) log-ratios, and their gradient (noises, D_k) for each node."""
        paths, ratio, moves = self.expand(states)
        value, slope = self._likelihood.slope(paths)
        slopes = np.split(slope, np.cumsum([move.shape[2] for move in moves])[:-1], axis=2)
        gradient = [
            node.centre.conditioned.gather(own + (node.centre.curvature @ move - node.centre.pull[:, :, np.newaxis]))
            for node, move, own in zip(self._nodes, moves, slopes, strict=True)
        ]
        return value + ratio, gradient

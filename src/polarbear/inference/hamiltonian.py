"""Markov chains for posteriors that no Gaussian comes near, such as after rankings that all agree.

Paths are η = R z with standard normal z, where R belongs to the hyperparameters' prior. Each sweep moves z by
Hamiltonian Monte Carlo, and then the hyperparameters by a few Metropolis steps while z stays, so that the path is
stretched or bent along. When rankings say little but the order, both move far. The prior's part of the flow is an exact
rotation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polarbear.inference.fields import Conditioned
from polarbear.inference.gibbs import mixing
from polarbear.inference.likelihood import Likelihood, ratings
from polarbear.inference.modes import modes
from polarbear.inference.surface import Surface
from polarbear.records import FloatArray

_CHAINS = 24
_KEPT = 40
_WARM_UP = 120
_THINNING = (2, 4, 8, 16)
_CONVERGED = 1.01
_TURN = 0.5 * np.pi
_MOST_LEAPS = 24
_METROPOLIS_STEPS = 3
_AIM_PATHS, _AIM_POINTS = 0.8, 0.35
_PACE = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class ChainDraws:
    """Ratings (T, n, S) and logarithms of hyperparameters (p, S), how many draws they are worth, and split R-hat."""

    theta: FloatArray
    points: FloatArray
    ess: float
    r_hat: float


class _Chains:
    """The state of all chains: hyperparameters, whitened paths, and what follows from them."""

    def __init__(self, likelihood: Likelihood, surface: Surface, rng: np.random.Generator) -> None:
        self._likelihood, self._surface, self._rng = likelihood, surface, rng
        mean, spread = surface.start
        points = mean + spread * rng.standard_normal((_CHAINS, mean.size))
        fields = [surface.field(point) for point in points]
        able = [k for k, field in enumerate(fields) if field is not None]
        centres = modes(likelihood, [field for field in fields if field is not None], [None] * len(able))
        self._flat = np.zeros((likelihood.shape[0], likelihood.shape[1], likelihood.shape[1]))
        self.points: list[FloatArray] = []
        self._priors: list[Conditioned] = []
        pulls: list[FloatArray] = []
        for k, centre in zip(able, centres, strict=True):
            prior = self._prior(points[k])
            if centre is not None and prior is not None:
                self.points.append(points[k])
                self._priors.append(prior)
                pulls.append(centre.pull[:, :, np.newaxis])
        if not self.points:
            raise np.linalg.LinAlgError("the posterior cannot be computed at any hyperparameters")
        self._size = max(self._flat.shape[0] * self._flat.shape[1], *(prior.noises for prior in self._priors))
        self.states = [self._gather(prior, pull) for prior, pull in zip(self._priors, pulls, strict=True)]
        self.turn, self._steps = 0.2, 0.5 * spread
        self.paths = self._spread(self._priors, self.states)

    def _prior(self, point: FloatArray) -> Conditioned | None:
        field = self._surface.field(point)
        return None if field is None else field.conditioned(self._flat)

    def _gather(self, prior: Conditioned, force: FloatArray) -> FloatArray:
        """Rᵀ b, with zeros where other hyperparameters' paths need more numbers."""
        gathered = np.zeros((self._size, 1))
        gathered[: prior.noises] = prior.gather(force)
        return gathered

    @staticmethod
    def _spread(priors: list[Conditioned], states: list[FloatArray]) -> FloatArray:
        """(T, q, C) the paths of whitened ones."""
        paths = [prior.spread(z[: prior.noises]) for prior, z in zip(priors, states, strict=True)]
        return np.concatenate(paths, axis=2)

    def _slope(self, paths: FloatArray) -> tuple[FloatArray, list[FloatArray]]:
        value, gradient = self._likelihood.slope(paths)
        return value, [self._gather(prior, gradient[:, :, [k]]) for k, prior in enumerate(self._priors)]

    def sweep(self, *, adapt: bool) -> None:
        """Move all chains once; while adapting, bring the rates of acceptance near where they should be."""
        accepted = self._move_paths()
        moved = np.mean([self._move_points() for _ in range(_METROPOLIS_STEPS)])
        if adapt:
            self.turn = min(_TURN, self.turn * np.exp(_PACE * (accepted - _AIM_PATHS) / _AIM_PATHS))
            self._steps = self._steps * np.exp(_PACE * (moved - _AIM_POINTS) / _AIM_POINTS)

    def _move_paths(self) -> float:
        """Hamiltonian Monte Carlo on z; returns the mean probability of acceptance."""
        rng = self._rng
        turn = self.turn * rng.uniform(0.8, 1.2)
        states, speeds = self.states, [rng.standard_normal(z.shape) for z in self.states]
        value, gradient = self._slope(self.paths)
        before = value - _energy(states) - _energy(speeds)
        paths = self.paths
        for _ in range(int(np.clip(np.ceil(_TURN / turn), 1, _MOST_LEAPS))):
            speeds = [v + 0.5 * turn * g for v, g in zip(speeds, gradient, strict=True)]
            pairs = list(zip(states, speeds, strict=True))
            states = [np.cos(turn) * z + np.sin(turn) * v for z, v in pairs]
            speeds = [np.cos(turn) * v - np.sin(turn) * z for z, v in pairs]
            paths = self._spread(self._priors, states)
            value, gradient = self._slope(paths)
            speeds = [v + 0.5 * turn * g for v, g in zip(speeds, gradient, strict=True)]
        chance = _chance(value - _energy(states) - _energy(speeds) - before)
        for k in np.flatnonzero(rng.random(chance.size) < chance):
            self.states[k] = states[k]
            self.paths[:, :, k] = paths[:, :, k]
        return float(chance.mean())

    def _move_points(self) -> float:
        """A Metropolis step of the hyperparameters, z held; returns the mean probability of acceptance."""
        rng, old = self._rng, self._priors
        trial = [u + self._steps * rng.standard_normal(u.size) for u in self.points]
        found = [self._prior(u) for u in trial]
        able = np.array([prior is not None and prior.noises <= self._size for prior in found])
        new = [one if one is not None and fits else before for one, fits, before in zip(found, able, old, strict=True)]
        paths = self._spread(new, self.states)
        gain = self._likelihood.value(paths) - self._likelihood.value(self.paths)
        gain += [
            self._surface.log_prior(v) - self._surface.log_prior(u) for u, v in zip(self.points, trial, strict=True)
        ]
        chance = np.where(able, _chance(gain), 0.0)
        for k in np.flatnonzero(rng.random(chance.size) < chance):
            self.points[k], self._priors[k] = trial[k], new[k]
            self.paths[:, :, k] = paths[:, :, k]
        return float(chance.mean())


def chain_draws(likelihood: Likelihood, surface: Surface, enough: float, rng: np.random.Generator) -> ChainDraws:
    """Sample the joint posterior by Markov chains.

    Args:
        likelihood: The rankings.
        surface: The prior of the hyperparameters and paths.
        enough: Effective sample size to aim at.
        rng: The source of randomness.
    """
    chains = _Chains(likelihood, surface, rng)
    for _ in range(_WARM_UP):
        chains.sweep(adapt=True)
    timepoints, q = likelihood.shape
    count = len(chains.points)
    theta = np.empty((timepoints, q + 1, _KEPT, count))
    points = np.empty((_KEPT, count, chains.points[0].size))
    ess = r_hat = float("nan")
    for thin in _THINNING:
        for step in range(_KEPT):
            for _ in range(thin):
                chains.sweep(adapt=False)
            points[step] = chains.points
            theta[:, :, step] = ratings(chains.paths, likelihood.contrasts)
        log_theta = np.log(np.maximum(theta, np.finfo(np.float64).tiny)).reshape(-1, _KEPT, count).transpose(1, 2, 0)
        ess, r_hat = mixing(np.concatenate([points, log_theta], axis=2))
        if ess >= enough and r_hat < _CONVERGED:
            break
    size = _KEPT * count
    return ChainDraws(theta.reshape(timepoints, q + 1, size), points.reshape(size, -1).T, min(ess, float(size)), r_hat)


def _energy(states: list[FloatArray]) -> FloatArray:
    return 0.5 * np.array([float(np.vdot(z, z)) for z in states])


def _chance(gain: FloatArray) -> FloatArray:
    """Probability of acceptance; none where numbers do not suffice."""
    capped: FloatArray = np.minimum(np.where(np.isnan(gain), -np.inf, gain), 0.0)
    return np.exp(capped)

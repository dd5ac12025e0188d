"""Markov chains for posteriors that no Gaussian comes near, such as after rankings that all agree.

Paths are η = R z with standard normal z, where R belongs to the hyperparameters' prior. Each sweep moves z by
Hamiltonian Monte Carlo, and then the hyperparameters by a few Metropolis steps while z stays, so that the path is
stretched or bent along. When rankings say little but the order, both move far. The prior's part of the flow is an exact
rotation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.fields import Field
from polarbear.inference.gibbs import mixing
from polarbear.inference.likelihood import Likelihood, ratings
from polarbear.inference.marginal import Frame, located
from polarbear.inference.modes import modes
from polarbear.inference.surface import Surface
from polarbear.records import FloatArray, IntArray

_CHAINS = 48
_KEPT = 80
_WARM_UP = 60
_DOUBLINGS = 5
_CONVERGED = 1.01
_TURN = 0.5 * np.pi
_MOST_LEAPS = 24
_METROPOLIS_STEPS = 2
_AIM_PATHS, _AIM_POINTS = 0.8, 0.35
_PACE = 0.1
_MOST_STACKED = 1 << 20
"""Entries of all chains' loadings up to which they are multiplied together rather than one by one."""
_ENTRIES_AT_ONCE = 1 << 21
_SPACING = 1 / 3
"""Of the lattice on which hyperparameters move, in standard deviations of their approximate posterior."""
_APART = 1.5
"""How far apart chains start, in the same standard deviations."""
_MOST_REMEMBERED = 1024
"""Places of the lattice whose priors are kept."""
_GROUPS = 4


@dataclass(frozen=True, slots=True, eq=False)
class ChainDraws:
    """Ratings (T, n, S) and logarithms of hyperparameters (p, S), how many draws they are worth, and split R-hat."""

    theta: FloatArray
    points: FloatArray
    ess: float
    r_hat: float


@dataclass(frozen=True, slots=True, eq=False)
class _Prior:
    """The prior of one chain's paths, and its loadings R (T, r) if there are few."""

    field: Field
    loadings: FloatArray | None

    @classmethod
    def of(cls, field: Field, timepoints: int) -> _Prior:
        small = _CHAINS * timepoints * field.noises <= _MOST_STACKED
        return cls(field, field.spread(np.eye(field.noises)) if small else None)


class _Priors:
    """The priors of all chains' paths η = R z, multiplied together if all loadings are known, else one by one.

    Attributes:
        each: The chains' priors.
        noises: How many numbers z holds for a path, at most.
    """

    def __init__(self, each: Sequence[_Prior]) -> None:
        self.each = list(each)
        self.noises, self._stack = _together(each)

    def take(self, other: _Priors, chosen: NDArray[np.bool_]) -> None:
        """Put the other priors in the place of these for the chosen chains."""
        self.each = [new if taken else old for old, new, taken in zip(self.each, other.each, chosen, strict=True)]
        if self._stack is None or other._stack is None or self._stack.shape != other._stack.shape:
            self.noises, self._stack = _together(self.each)
        else:
            self._stack[chosen] = other._stack[chosen]

    def spread(self, states: FloatArray) -> FloatArray:
        """(T, q, C) the paths of states z (C, r, q)."""
        if self._stack is not None:
            return np.ascontiguousarray((self._stack @ states[:, : self.noises]).transpose(1, 2, 0))
        paths = [prior.field.spread(z[: prior.field.noises]) for prior, z in zip(self.each, states, strict=True)]
        return np.stack(paths, axis=2)

    def gather(self, force: FloatArray, size: int) -> FloatArray:
        """(C, size, q) Rᵀ b for forces b (T, q, C)."""
        gathered = np.zeros((force.shape[2], size, force.shape[1]))
        forces = np.ascontiguousarray(force.transpose(2, 0, 1))
        if self._stack is not None:
            gathered[:, : self.noises] = self._stack.swapaxes(1, 2) @ forces
            return gathered
        for row, prior, own in zip(gathered, self.each, forces, strict=True):
            row[: prior.field.noises] = prior.field.gather(own)
        return gathered


def _together(each: Sequence[_Prior]) -> tuple[int, FloatArray | None]:
    """The largest number of noises of a path, and all chains' loadings (C, T, r) if they are known."""
    noises = max(prior.field.noises for prior in each)
    known = [prior.loadings for prior in each if prior.loadings is not None]
    if len(known) < len(each):
        return noises, None
    stack = np.zeros((len(each), len(known[0]), noises))
    for row, loadings in zip(stack, known, strict=True):
        row[:, : loadings.shape[1]] = loadings
    return noises, stack


class _Chains:
    """The state of all chains: hyperparameters, whitened paths, and what follows from them."""

    def __init__(self, likelihood: Likelihood, surface: Surface, rng: np.random.Generator) -> None:
        self._likelihood, self._surface, self._rng = likelihood, surface, rng
        self._frame = located(surface, Frame.around(*surface.start))
        self._prior = lru_cache(_MOST_REMEMBERED)(self._prior_at)
        first = _APART * rng.standard_normal((_CHAINS, self._frame.centre.size))
        places = np.rint(first / _SPACING).astype(np.int64)
        able = [(place, prior) for place in places if (prior := self._prior(tuple(place.tolist()))) is not None]
        centres = modes(likelihood, [prior.field for _, prior in able], [None] * len(able))
        found = [(*one, centre) for one, centre in zip(able, centres, strict=True) if centre is not None]
        if not found:
            raise np.linalg.LinAlgError("the posterior cannot be computed at any hyperparameters")
        self._places: IntArray = np.array([place for place, _, _ in found])
        self._priors = _Priors([prior for _, prior, _ in found])
        pulls = np.stack([centre.pull for _, _, centre in found], axis=2)
        self.states = self._priors.gather(pulls, self._priors.noises)
        self.turn, self._step = 0.2, 1.0
        self.paths = self._priors.spread(self.states)

    @property
    def points(self) -> FloatArray:
        """(C, p) logarithms of the hyperparameters."""
        return self._at(self._places)

    def _at(self, places: IntArray) -> FloatArray:
        """(K, p) the points at places (K, p) of the lattice."""
        return self._frame.outside(_SPACING * places.astype(np.float64))

    def _prior_at(self, place: tuple[int, ...]) -> _Prior | None:
        """The prior at one place of the lattice, or None where floating-point numbers do not suffice."""
        field = self._surface.field(self._at(np.array([place]))[0])
        return None if field is None else _Prior.of(field, self._likelihood.shape[0])

    def sweep(self, *, adapt: bool) -> None:
        """Move all chains once; while adapting, bring the rates of acceptance near where they should be."""
        accepted = self._move_paths()
        moved = np.mean([self._move_points() for _ in range(_METROPOLIS_STEPS)])
        if adapt:
            self.turn = min(_TURN, self.turn * np.exp(_PACE * (accepted - _AIM_PATHS) / _AIM_PATHS))
            self._step *= float(np.exp(_PACE * (moved - _AIM_POINTS) / _AIM_POINTS))

    def _move_paths(self) -> float:
        """Hamiltonian Monte Carlo on z; returns the mean probability of acceptance."""
        rng, size = self._rng, self.states.shape[1]
        turn = self.turn * rng.uniform(0.8, 1.2)
        ahead, aside = np.cos(turn), np.sin(turn)
        states, paths, speeds = self.states, self.paths, rng.standard_normal(self.states.shape)
        value, slope = self._likelihood.slope(paths)
        gradient = self._priors.gather(slope, size)
        before = value - _energy(states) - _energy(speeds)
        for _ in range(int(np.clip(np.ceil(_TURN / turn), 1, _MOST_LEAPS))):
            speeds = speeds + 0.5 * turn * gradient
            states, speeds = ahead * states + aside * speeds, ahead * speeds - aside * states
            paths = self._priors.spread(states)
            value, slope = self._likelihood.slope(paths)
            gradient = self._priors.gather(slope, size)
            speeds = speeds + 0.5 * turn * gradient
        chance = _chance(value - _energy(states) - _energy(speeds) - before)
        accept = rng.random(chance.size) < chance
        self.states[accept] = states[accept]
        self.paths[:, :, accept] = paths[:, :, accept]
        return float(chance.mean())

    def _move_points(self) -> float:
        """A Metropolis step of the hyperparameters, z held; returns the mean probability of acceptance."""
        rng, old = self._rng, self._priors.each
        moves = np.rint(self._step / _SPACING * rng.standard_normal(self._places.shape)).astype(np.int64)
        trial = self._places + moves
        found = [self._prior(tuple(place.tolist())) for place in trial]
        priors = _Priors([before if new is None else new for new, before in zip(found, old, strict=True)])
        self._make_room(priors.noises)
        paths = priors.spread(self.states)
        gain = self._likelihood.value(paths) - self._likelihood.value(self.paths)
        gain += self._log_prior(trial) - self._log_prior(self._places)
        chance = np.where([new is None for new in found], 0.0, _chance(gain))
        accept = rng.random(chance.size) < chance
        self._places[accept] = trial[accept]
        self._priors.take(priors, accept)
        self.paths[:, :, accept] = paths[:, :, accept]
        return float(chance.mean())

    def _log_prior(self, places: IntArray) -> FloatArray:
        return self._surface.log_prior(self._at(places))

    def _make_room(self, noises: int) -> None:
        """More numbers in z, if a path needs them; without one that does, they are standard normal."""
        chains, size, q = self.states.shape
        if noises > size:
            self.states = np.concatenate([self.states, self._rng.standard_normal((chains, noises - size, q))], axis=1)


def chain_draws(likelihood: Likelihood, surface: Surface, enough: float, rng: np.random.Generator) -> ChainDraws:
    """Sample the joint posterior by Markov chains.

    As long as they have not converged, the chains are continued to twice their length, and every other draw is kept.

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
    theta, points = np.empty((timepoints, q + 1, _KEPT, count)), np.empty((_KEPT, *chains.points.shape))
    ess = r_hat = float("nan")
    thin, first = 1, 0
    for _ in range(_DOUBLINGS):
        for step in range(first, _KEPT):
            for _ in range(thin):
                chains.sweep(adapt=False)
            points[step] = chains.points
            theta[:, :, step] = ratings(chains.paths, likelihood.contrasts)
        ess, r_hat = _mixing(theta, points)
        if ess >= enough and r_hat < _CONVERGED:
            break
        thin, first = 2 * thin, _KEPT // 2
        for step in range(first):
            theta[:, :, step], points[step] = theta[:, :, 2 * step + 1], points[2 * step + 1]
    size = _KEPT * count
    return ChainDraws(theta.reshape(timepoints, q + 1, size), points.reshape(size, -1).T, min(ess, float(size)), r_hat)


def _mixing(theta: FloatArray, points: FloatArray) -> tuple[float, float]:
    """Smallest effective sample size and largest R-hat of all log-ratings and hyperparameters."""
    found = [mixing(points, groups=_GROUPS)]
    step = max(1, _ENTRIES_AT_ONCE // theta[0].size)
    for start in range(0, len(theta), step):
        part = np.log(np.maximum(theta[start : start + step], np.finfo(np.float64).tiny))
        found.append(mixing(part.reshape(-1, *theta.shape[2:]).transpose(1, 2, 0), groups=_GROUPS))
    ess, r_hat = zip(*found, strict=True)
    return float(np.min(ess)), float(np.max(r_hat))


def _energy(states: FloatArray) -> FloatArray:
    """(C,) half the squared lengths."""
    return 0.5 * np.einsum("crq,crq->c", states, states)


def _chance(gain: FloatArray) -> FloatArray:
    """Probability of acceptance; none where numbers do not suffice."""
    capped: FloatArray = np.minimum(np.where(np.isnan(gain), -np.inf, gain), 0.0)
    return np.exp(capped)

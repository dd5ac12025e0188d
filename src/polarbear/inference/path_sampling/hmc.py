"""Markov chains for posteriors that no weighted Gaussian answers for, such as after rankings that all agree.

There are two kinds. Those here have the prior's coordinates: paths are η = R z with standard normal z, where R belongs
to the hyperparameters' prior. Each sweep moves z by Hamiltonian Monte Carlo, and then the hyperparameters by a few
Metropolis steps while z stays, so that the path is stretched or bent along. When rankings say little but the order,
both move far, and these chains come first. Else those in the coordinates of Laplace's method
(`inference.path_sampling.laplace_chains`) do, and these follow where those fail. The prior's part of the flow is an
exact rotation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.gaussian.gaussian_paths import Field
from polarbear.inference.likelihood.path_likelihood import Likelihood, ratings
from polarbear.inference.path_sampling.hyperparameter_grid import Frame, locate
from polarbear.inference.path_sampling.hyperparameter_posterior import Surface
from polarbear.inference.path_sampling.laplace import find_modes
from polarbear.inference.path_sampling.laplace_chains import LaplaceChains
from polarbear.inference.path_sampling.lattice_chains import CHAINS, MOST_CACHED, TRAJECTORY, LatticeChains
from polarbear.inference.path_sampling.leapfrog import PhasePoint, leapfrog
from polarbear.inference.sampling.gibbs import mixing
from polarbear.records import FloatArray, IntArray

_KEPT = 80
_WARM_UP = 60
_LENGTHS, _LENGTHS_ON_REQUEST = 5, 8
"""How often chains that have not converged are continued to twice their length, less one; 16 or 128 sweeps for each
draw kept."""
_CONVERGED = 1.01
_MOST_STACKED = 1 << 20
"""Entries of all chains' loadings up to which they are multiplied together rather than one by one."""
_ENTRIES_AT_ONCE = 1 << 21
_GROUPS = 4


@dataclass(frozen=True, slots=True, eq=False)
class ChainDraws:
    """What C chains kept.

    Attributes:
        theta: (T, n, steps, C) ratings.
        points: (steps, C, p) logarithms of hyperparameters.
        diverging: (steps, C) whether a transition since the step before diverged.
        divergences: How many transitions diverged, after warming up.
        ess: How many draws they are worth.
        r_hat: The largest nested split R-hat.
    """

    theta: FloatArray
    points: FloatArray
    diverging: NDArray[np.bool_]
    divergences: int
    ess: float
    r_hat: float

    def converged(self, enough: float) -> bool:
        """Whether they are worth enough draws and have forgotten where they began."""
        return self.ess >= enough and self.r_hat < _CONVERGED


@dataclass(frozen=True, slots=True, eq=False)
class _Prior:
    """The prior of one chain's paths, and its loadings R (T, r) if there are few."""

    field: Field
    loadings: FloatArray | None

    @classmethod
    def of(cls, field: Field, timepoints: int) -> _Prior:
        small = CHAINS * timepoints * field.noises <= _MOST_STACKED
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


class _Chains(LatticeChains):
    """Chains whose paths are z; arguments as for `LatticeChains`.

    Attributes:
        states: (C, r, q) z.
    """

    def __init__(self, likelihood: Likelihood, surface: Surface, frame: Frame, rng: np.random.Generator) -> None:
        super().__init__(likelihood, surface, frame, rng, step_size=0.2)
        self._prior = lru_cache(MOST_CACHED)(self._prior_at)
        able = self._start_where([self._prior(tuple(place.tolist())) for place in self._places])
        centres = find_modes(likelihood, [prior.field for prior in able], [None] * len(able))
        pairs = [None if centre is None else (prior, centre) for prior, centre in zip(able, centres, strict=True)]
        found = self._start_where(pairs)
        self._priors = _Priors([prior for prior, _ in found])
        self.states = self._priors.gather(np.stack([centre.pull for _, centre in found], axis=2), self._priors.noises)
        self._paths = self._priors.spread(self.states)

    @property
    def paths(self) -> FloatArray:
        """(T, q, C) η."""
        return self._paths

    def _prior_at(self, place: tuple[int, ...]) -> _Prior | None:
        """The prior at one place of the lattice, or None where floating-point numbers do not suffice."""
        field = self._surface.field(self._at(np.array([place]))[0])
        return None if field is None else _Prior.of(field, self._likelihood.shape[0])

    def _move_paths(self) -> float:
        """Hamiltonian Monte Carlo on z; returns the mean probability of acceptance."""
        size = self.states.shape[1]

        def target(states: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
            value, slope = self._likelihood.slope(self._priors.spread(states[0]))
            return value, [self._priors.gather(slope, size)]

        step_size = np.minimum(self.step_size * self._rng.uniform(0.8, 1.2) * self._relative_step_sizes(), TRAJECTORY)
        start = PhasePoint([self.states], [self._rng.standard_normal(self.states.shape)], *target([self.states]))
        steps = self._leapfrog_steps(self.step_size)
        end = leapfrog(target, start, steps=steps, step_size=step_size[:, np.newaxis, np.newaxis])
        gain = _log_density(end) - _log_density(start)
        self._count_divergences(gain)
        accept, mean = self._accepted(gain)
        self.states[accept] = end.states[0][accept]
        self._paths = self._priors.spread(self.states)
        return mean

    def _relative_step_sizes(self) -> FloatArray:
        """(C,) how much shorter steps are where σ, the first of the hyperparameters, is large and z moves paths far."""
        return np.exp(np.minimum(self._frame.centre[0] - self.points[:, 0], 0.0))

    def _move_points(self) -> float:
        """A Metropolis step of the hyperparameters, z held; returns the mean probability of acceptance."""
        trial, old = self._trial(), self._priors.each
        found = [self._prior(tuple(place.tolist())) for place in trial]
        priors = _Priors([before if new is None else new for new, before in zip(found, old, strict=True)])
        self._make_room(priors.noises)
        paths = priors.spread(self.states)
        gain = self._likelihood.value(paths) - self._likelihood.value(self.paths)
        gain += self._log_prior(trial) - self._log_prior(self._places)
        accept, mean = self._accepted(gain, np.array([new is not None for new in found]))
        self._places[accept] = trial[accept]
        self._priors.take(priors, accept)
        self._paths[:, :, accept] = paths[:, :, accept]
        return mean

    def _log_prior(self, places: IntArray) -> FloatArray:
        return self._surface.log_prior(self._at(places))

    def _make_room(self, noises: int) -> None:
        """More numbers in z, if a path needs them; without one that does, they are standard normal."""
        chains, size, q = self.states.shape
        if noises > size:
            self.states = np.concatenate([self.states, self._rng.standard_normal((chains, noises - size, q))], axis=1)


def chain_draws(
    likelihood: Likelihood, surface: Surface, enough: float, rng: np.random.Generator, *, patient: bool = False
) -> ChainDraws:
    """Sample the joint posterior by Markov chains.

    As long as they have not converged, the chains are continued to twice their length, and every other draw is kept:
    at most until 16 sweeps lie between two draws. Unless all rankings agree, chains in the coordinates of Laplace's
    method come first. If these do not converge, or diverge, those in the prior's coordinates follow; with patience they
    go on until 128 sweeps lie between two draws.

    Args:
        likelihood: The rankings.
        surface: The prior of the hyperparameters and paths.
        enough: Effective sample size to aim at.
        rng: The source of randomness.
        patient: Whether there is time.
    """
    frame = locate(surface, Frame.around(*surface.start))
    if not likelihood.unanimous:
        found = _recorded(LaplaceChains(likelihood, surface, frame, rng), likelihood, enough, _LENGTHS)
        if found.converged(enough) and not found.divergences:
            return found
    lengths = _LENGTHS_ON_REQUEST if patient else _LENGTHS
    return _recorded(_Chains(likelihood, surface, frame, rng), likelihood, enough, lengths)


def _recorded(chains: LatticeChains, likelihood: Likelihood, enough: float, lengths: int) -> ChainDraws:
    """Warm the chains up and run them, to so many lengths at most."""
    for _ in range(_WARM_UP):
        chains.sweep(adapt=True)
    chains.diverged[:] = 0
    (timepoints, q), count = likelihood.shape, len(chains.points)
    theta, points = np.empty((timepoints, q + 1, _KEPT, count)), np.empty((_KEPT, *chains.points.shape))
    diverged = np.empty((_KEPT, count), dtype=np.int64)
    first = 0
    for length in range(lengths):
        for step in range(first, _KEPT):
            for _ in range(1 << length):
                chains.sweep(adapt=False)
            points[step], diverged[step] = chains.points, chains.diverged
            theta[:, :, step] = ratings(chains.paths, likelihood.contrasts)
        diverging, divergences = np.diff(diverged, axis=0, prepend=0) > 0, int(chains.diverged.sum())
        ess, r_hat = _mixing(theta, points)
        found = ChainDraws(theta, points, diverging, divergences, min(ess, float(_KEPT * count)), r_hat)
        if found.converged(enough) or length == lengths - 1:
            return found
        first = _KEPT // 2
        points[:first], diverged[:first] = points[1::2], diverged[1::2]
        for here in theta:
            here[:, :first] = here[:, 1::2]
    raise ValueError(f"lengths is {lengths}; chains need at least 1")


def _mixing(theta: FloatArray, points: FloatArray) -> tuple[float, float]:
    """Smallest effective sample size and largest R-hat of all log-ratings and hyperparameters."""
    found = [mixing(points, groups=_GROUPS)]
    step = max(1, _ENTRIES_AT_ONCE // theta[0].size)
    for start in range(0, len(theta), step):
        part = np.log(np.maximum(theta[start : start + step], np.finfo(np.float64).tiny))
        found.append(mixing(part.reshape(-1, *theta.shape[2:]).transpose(1, 2, 0), groups=_GROUPS))
    ess, r_hat = zip(*found, strict=True)
    return float(np.min(ess)), float(np.max(r_hat))


def _log_density(at: PhasePoint) -> FloatArray:
    """(C,) of chains and their momenta."""
    return at.value - 0.5 * (np.square(at.states[0]).sum(axis=(1, 2)) + np.square(at.momenta[0]).sum(axis=(1, 2)))

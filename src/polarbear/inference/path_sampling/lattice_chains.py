"""Markov chains of paths and hyperparameters, the latter on a lattice.

There are two kinds, which differ in their coordinates. In both, each sweep moves paths by Hamiltonian Monte Carlo, and
then the hyperparameters by Metropolis steps with the coordinates of paths fixed.

- `LaplaceChains`: paths are η = m + R e, where m is the most probable path given the hyperparameters and R Rᵀ the
  covariance of the Gaussian there. So e is nearly standard normal whatever the hyperparameters are, and the Gaussian's
  covariance is the metric.
- `PriorChains`: paths are η = R z with standard normal z, where R Rᵀ is the prior covariance given the hyperparameters.
  Moving the hyperparameters thus stretches or bends the path. When rankings say little beyond the order, both move far,
  and these chains mix better.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

import numpy as np

from polarbear.inference.batches import IN_MEMORY
from polarbear.inference.gaussian.gaussian_paths import Field
from polarbear.inference.likelihood.path_likelihood import Likelihood, ratings
from polarbear.inference.path_sampling.hamiltonian import State, choose, leapfrog, metropolis
from polarbear.inference.path_sampling.hyperparameter_grid import Frame
from polarbear.inference.path_sampling.hyperparameter_posterior import HyperparameterPosterior
from polarbear.inference.path_sampling.laplace import LogRatio, Node, find_modes
from polarbear.inference.sampling.chain_order import CHAINS
from polarbear.records import FloatArray, IntArray

Item = TypeVar("Item")
Built = TypeVar("Built")

_MIN_CACHED = 1024
"""Number of lattice points cached, and more where there are few timepoints, so that each needs little memory."""
_TRAJECTORY = 0.5 * np.pi
"""Length of a trajectory of Hamiltonian Monte Carlo: a quarter of the Gaussian flow's rotation."""
_SPACING = 1 / 3
"""Spacing of the lattice, in standard deviations of the approximate posterior of the hyperparameters."""
_DISPERSION = 1.5
"""Dispersion of the chains' starting points, in the same standard deviations."""
_DIVERGED = 1000.0
"""Energy error above which a trajectory has diverged, as in Stan and NumPyro."""
_METROPOLIS_STEPS = 3
_POINT_ACCEPTANCE = 0.35
"""Target acceptance rate of hyperparameters."""
_PACE = 0.1
"""Speed at which step sizes adapt to the target acceptance rates."""
_MAX_LEAPFROG_STEPS = 4, 25
"""The range, without its end, from which the maximum number of steps is drawn for each trajectory. Hyperparameters move
only between trajectories, so there should be many of them; but long ones move paths far."""


class _Coordinates(Protocol):
    """The paths of all chains, and their log-density apart from −½ e·e, as functions of coordinates e."""

    def __call__(self, states: Sequence[FloatArray], /) -> tuple[FloatArray, list[FloatArray]]: ...
    def value(self, states: Sequence[FloatArray], /) -> FloatArray: ...
    def paths(self, states: Sequence[FloatArray], /) -> FloatArray: ...


class LatticeChains(ABC, Generic[Item]):
    """The state of C chains, each at a point of the lattice of hyperparameters and on a path.

    Args:
        likelihood: The likelihood of the rankings.
        posterior: The hyperparameters' posterior, and the prior of paths.
        frame: The approximate location and scale of the hyperparameters' posterior.
        rng: The source of randomness.

    Attributes:
        step_size: Step size of Hamiltonian Monte Carlo, an angle.
        acceptance: Target acceptance rate of paths.
        diverged: (C,) number of transitions that diverged so far.

    Raises:
        numpy.linalg.LinAlgError: If floating-point precision suffices at no starting point.
    """

    step_size: float
    acceptance: float

    def __init__(
        self, likelihood: Likelihood, posterior: HyperparameterPosterior, frame: Frame, rng: np.random.Generator
    ) -> None:
        self._likelihood, self._posterior, self._frame, self._rng = likelihood, posterior, frame, rng
        self._metropolis_step = 1.0
        start = _DISPERSION * rng.standard_normal((CHAINS, frame.centre.size))
        self._lattice: IntArray = np.rint(start / _SPACING).astype(np.int64)
        self._item = lru_cache(max(_MIN_CACHED, 2 * IN_MEMORY // likelihood.shape[0] ** 2))(self._build_at)
        self.diverged = np.zeros(CHAINS, dtype=np.int64)
        self._items = self._keep([self._item(tuple(point)) for point in self._lattice.tolist()])
        self._typical = frame.centre
        self._states = self._start()
        self._coordinates = self._join(self._items)
        self._value = self._coordinates.value(self._states)

    @property
    def points(self) -> FloatArray:
        """(C, p) logarithms of the hyperparameters."""
        return self._at(self._lattice)

    def snapshot(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Ratings (T, n, C), logarithms of hyperparameters (p, C), and numbers of divergences (C,)."""
        paths = self._coordinates.paths(self._states)
        return ratings(paths, self._likelihood.contrasts), self.points.T, self.diverged.astype(np.float64)

    def sweep(self, *, adapt: bool) -> None:
        """Advance all chains by one sweep; if `adapt`, tune step sizes towards the target acceptance rates."""
        accepted = self._move_paths()
        moved = np.mean([self._move_points() for _ in range(_METROPOLIS_STEPS)])
        self._coordinates = self._join(self._items)
        if adapt:
            self._typical = self.points.mean(axis=0)
            growth = np.exp(_PACE * (accepted - self.acceptance) / self.acceptance)
            self.step_size = min(_TRAJECTORY, self.step_size * growth)
            self._metropolis_step *= float(np.exp(_PACE * (moved - _POINT_ACCEPTANCE) / _POINT_ACCEPTANCE))

    def _move_paths(self) -> float:
        """Move paths by Hamiltonian Monte Carlo; return the mean acceptance probability."""
        step_size, steps = self._steps(self._rng.uniform(0.8, 1.2))
        start = State(self._states, *self._coordinates(self._states))
        end, gain = leapfrog(self._coordinates, start, self._momenta(), steps=steps, step_size=step_size)
        self.diverged += ~(gain >= -_DIVERGED)
        accept, mean = metropolis(gain, self._rng)
        self._states = choose(accept, end.states, self._states)
        self._value = np.where(accept, end.value, start.value)
        return mean

    def _move_points(self) -> float:
        """Take a Metropolis step of the hyperparameters; return the mean acceptance probability."""
        moves = self._metropolis_step / _SPACING * self._rng.standard_normal(self._lattice.shape)
        trial = self._lattice + np.rint(moves).astype(np.int64)
        built = [self._item(tuple(point)) for point in trial.tolist()]
        items = [old if new is None else new for new, old in zip(built, self._items, strict=True)]
        states, coordinates = self._resized(items), self._join(items)
        value = coordinates.value(states)
        gain = value - self._value
        gain += self._posterior.log_prior(self._at(trial)) - self._posterior.log_prior(self.points)
        accept, mean = metropolis(np.where([new is None for new in built], -np.inf, gain), self._rng)
        self._lattice[accept], self._value = trial[accept], np.where(accept, value, self._value)
        self._items = [new if taken else old for new, old, taken in zip(items, self._items, accept, strict=True)]
        if states is not self._states:
            self._states = [new if taken else old for new, old, taken in zip(states, self._states, accept, strict=True)]
        return mean

    def _build_at(self, point: tuple[int, ...]) -> Item | None:
        return self._build(self._at(np.array([point]))[0])

    def _at(self, lattice: IntArray) -> FloatArray:
        """(K, p) logarithms of hyperparameters at lattice points (K, p)."""
        return self._frame.outside(_SPACING * lattice.astype(np.float64))

    def _keep(self, built: Sequence[Built | None]) -> list[Built]:
        """The items that were built, after dropping the chains for which that failed."""
        computable = [item is not None for item in built]
        if not any(computable):
            raise np.linalg.LinAlgError("the posterior cannot be computed at any value of the hyperparameters")
        self._lattice, self.diverged = self._lattice[computable], self.diverged[computable]
        return [item for item in built if item is not None]

    def _leapfrog_steps(self, step_size: float) -> int:
        most = int(self._rng.integers(*_MAX_LEAPFROG_STEPS))
        return min(max(math.ceil(_TRAJECTORY / step_size), 1), most)

    @abstractmethod
    def _build(self, point: FloatArray) -> Item | None:
        """Build the item that defines the coordinates at a point (p,); None where floating-point precision fails."""

    @abstractmethod
    def _join(self, items: Sequence[Item]) -> _Coordinates:
        """The coordinates of all chains, from each chain's item."""

    @abstractmethod
    def _start(self) -> list[FloatArray]:
        """The initial coordinates of paths."""

    @abstractmethod
    def _steps(self, jitter: float) -> tuple[float | FloatArray, int]:
        """The step size, for all chains or for each (C,), and the number of leapfrog steps."""

    @abstractmethod
    def _momenta(self) -> list[FloatArray]:
        """Standard normal numbers of the same shapes as the coordinates."""

    @abstractmethod
    def _resized(self, items: Sequence[Item]) -> list[FloatArray]:
        """Each chain's coordinates, resized for other points; missing ones are drawn from the standard normal.

        The result is the current list itself if it serves both the current and the other points.
        """


class LaplaceChains(LatticeChains[Node]):
    """Chains with coordinates e, (noises, 1) for each chain; arguments as for `LatticeChains`."""

    step_size, acceptance = 0.5, 0.95

    def _build(self, point: FloatArray) -> Node | None:
        if (field := self._posterior.field(point)) is None:
            return None
        centre = find_modes(self._likelihood, [field], [self._posterior.paths(point[np.newaxis])[0]])[0]
        return None if centre is None else Node.at(point, centre, 0.0)

    def _join(self, items: Sequence[Node]) -> LogRatio:
        return LogRatio(self._likelihood, items)

    def _start(self) -> list[FloatArray]:
        return [self._rng.standard_normal((node.centre.conditioned.noises, 1)) for node in self._items]

    def _steps(self, jitter: float) -> tuple[float, int]:
        step_size = min(_TRAJECTORY, self.step_size * jitter)
        return step_size, self._leapfrog_steps(step_size)

    def _momenta(self) -> list[FloatArray]:
        return [self._rng.standard_normal(e.shape) for e in self._states]

    def _resized(self, items: Sequence[Node]) -> list[FloatArray]:
        sizes = [node.centre.conditioned.noises for node in items]
        each = list(zip(self._states, sizes, strict=True))
        more = [self._rng.standard_normal((max(0, size - len(e)), 1)) for e, size in each]
        return [np.concatenate([e, new])[:size] for (e, size), new in zip(each, more, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class _Prior:
    """The prior of one chain's paths, and loadings R (T, r) with covariance R Rᵀ unless they would be large."""

    field: Field
    loadings: FloatArray | None

    @classmethod
    def of(cls, field: Field, timepoints: int) -> _Prior:
        """Build loadings with at most T columns: more than that are replaced by the Cholesky factor of R Rᵀ."""
        if CHAINS * timepoints * field.noises > IN_MEMORY:
            return cls(field, None)
        loadings = field.spread(np.eye(field.noises))
        if field.noises > timepoints:
            factor = np.asarray(np.linalg.qr(loadings.T, mode="r"), dtype=np.float64)
            loadings = factor.T * np.copysign(1.0, np.diag(factor))
        return cls(field, loadings)

    @property
    def noises(self) -> int:
        """Number r of standard normal variables in a path."""
        return self.field.noises if self.loadings is None else self.loadings.shape[1]


class _PriorPaths:
    """The log-likelihood of paths η = R z, for z (r, q, C) with r at least the largest of all priors.

    In memory each chain's numbers are contiguous. All chains are multiplied by their loadings at once if these are
    known, else one by one.
    """

    def __init__(self, likelihood: Likelihood, priors: Sequence[_Prior]) -> None:
        self._likelihood, self._priors, self._stack = likelihood, priors, None
        self._noises = max(prior.noises for prior in priors)
        known = [prior.loadings for prior in priors if prior.loadings is not None]
        if len(known) == len(priors):
            self._stack = np.zeros((len(known), likelihood.shape[0], self._noises))
            for row, loadings in zip(self._stack, known, strict=True):
                row[:, : loadings.shape[1]] = loadings

    def paths(self, states: Sequence[FloatArray]) -> FloatArray:
        """(T, q, C) paths."""
        z = np.ascontiguousarray(states[0].transpose(2, 0, 1))
        if self._stack is not None:
            return np.ascontiguousarray((self._stack @ z[:, : self._noises]).transpose(1, 2, 0))
        fields = [prior.field for prior in self._priors]
        return np.stack([field.spread(e[: field.noises]) for field, e in zip(fields, z, strict=True)], axis=2)

    def gather(self, force: FloatArray, size: int) -> FloatArray:
        """(size, q, C) Rᵀ b for forces b (T, q, C)."""
        gathered = np.zeros((force.shape[2], size, force.shape[1]))
        forces = np.ascontiguousarray(force.transpose(2, 0, 1))
        if self._stack is not None:
            gathered[:, : self._noises] = self._stack.swapaxes(1, 2) @ forces
        else:
            for row, prior, own in zip(gathered, self._priors, forces, strict=True):
                row[: prior.field.noises] = prior.field.gather(own)
        return gathered.transpose(1, 2, 0)

    def value(self, states: Sequence[FloatArray]) -> FloatArray:
        """(C,) log-likelihoods."""
        return self._likelihood.value(self.paths(states))

    def __call__(self, states: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
        """(C,) log-likelihoods, and their gradient with respect to z."""
        value, slope = self._likelihood.slope(self.paths(states))
        return value, [self.gather(slope, len(states[0]))]


class PriorChains(LatticeChains[_Prior]):
    """Chains with coordinates z in one array (r, q, C); arguments as for `LatticeChains`.

    Where rankings agree, the likelihood is like a wall, and steps longer than its soft part diverge: hence the high
    target acceptance rate.
    """

    step_size, acceptance = 0.2, 0.99

    def _build(self, point: FloatArray) -> _Prior | None:
        field = self._posterior.field(point)
        return None if field is None else _Prior.of(field, self._likelihood.shape[0])

    def _join(self, items: Sequence[_Prior]) -> _PriorPaths:
        return _PriorPaths(self._likelihood, items)

    def _start(self) -> list[FloatArray]:
        modes = find_modes(self._likelihood, [prior.field for prior in self._items], [None] * len(self._items))
        each = [None if mode is None else (prior, mode) for prior, mode in zip(self._items, modes, strict=True)]
        pairs = self._keep(each)
        self._items = [prior for prior, _ in pairs]
        size = max(prior.noises for prior in self._items)
        return [self._join(self._items).gather(np.stack([mode.pull for _, mode in pairs], axis=2), size)]

    def _steps(self, jitter: float) -> tuple[FloatArray, int]:
        """Step sizes are smaller where σ, the first hyperparameter, is large and z moves paths far."""
        relative = np.exp(np.minimum(self._typical[0] - self.points[:, 0], 0.0))
        return np.minimum(self.step_size * jitter * relative, _TRAJECTORY), self._leapfrog_steps(self.step_size)

    def _momenta(self) -> list[FloatArray]:
        size, q, chains = self._states[0].shape
        return [self._rng.standard_normal((chains, size, q)).transpose(1, 2, 0)]

    def _resized(self, items: Sequence[_Prior]) -> list[FloatArray]:
        size, q, chains = self._states[0].shape
        if (more := max(prior.noises for prior in items) - size) > 0:
            new = self._rng.standard_normal((chains, more, q)).transpose(1, 2, 0)
            self._states = [np.concatenate([self._states[0], new])]
        return self._states

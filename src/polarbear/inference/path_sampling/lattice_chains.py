"""The base of all Markov chains of paths: hyperparameters on a lattice, and steps that adapt during warm-up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.inference.path_sampling.hyperparameter_grid import Frame
from polarbear.inference.path_sampling.hyperparameter_posterior import Surface
from polarbear.records import FloatArray, IntArray

Built = TypeVar("Built")

MOST_CACHED = 1024
"""Maximum number of lattice points cached."""
TRAJECTORY = 0.5 * np.pi
"""Length of a trajectory of Hamiltonian Monte Carlo: a quarter of the Gaussian flow's rotation."""
CHAINS = 48
_SPACING = 1 / 3
"""Of the lattice, in standard deviations of the approximate posterior of the hyperparameters."""
_APART = 1.5
"""How far apart chains start, in the same standard deviations."""
_DIVERGED = 1000.0
"""A trajectory whose energy is off by more has diverged, as Stan and NumPyro say."""
_METROPOLIS_STEPS = 2
_AIM_PATHS, _AIM_POINTS = 0.95, 0.35
"""Rates of acceptance aimed at, of paths and of hyperparameters."""
_PACE = 0.1
"""How fast steps adapt to them."""
_MOST_LEAPFROG_STEPS = 24


class LatticeChains(ABC):
    """The state of C chains, each at a place of the lattice of hyperparameters and on a path.

    Args:
        likelihood: The rankings.
        surface: The prior of the hyperparameters and paths.
        frame: About where the posterior of the hyperparameters is.
        rng: The source of randomness.
        step_size: The first step size of Hamiltonian Monte Carlo, an angle.

    Attributes:
        step_size: The present one.
        diverged: (C,) how many transitions diverged so far.
    """

    def __init__(
        self, likelihood: Likelihood, surface: Surface, frame: Frame, rng: np.random.Generator, step_size: float
    ) -> None:
        self._likelihood, self._surface, self._frame, self._rng = likelihood, surface, frame, rng
        self.step_size, self._metropolis_step = step_size, 1.0
        first = _APART * rng.standard_normal((CHAINS, frame.centre.size))
        self._places: IntArray = np.rint(first / _SPACING).astype(np.int64)
        self.diverged = np.zeros(CHAINS, dtype=np.int64)

    @property
    def points(self) -> FloatArray:
        """(C, p) logarithms of the hyperparameters."""
        return self._at(self._places)

    @property
    @abstractmethod
    def paths(self) -> FloatArray:
        """(T, q, C) η."""

    def sweep(self, *, adapt: bool) -> None:
        """Move all chains once; while adapting, bring the rates of acceptance near where they should be."""
        accepted = self._move_paths()
        moved = np.mean([self._move_points() for _ in range(_METROPOLIS_STEPS)])
        if adapt:
            self.step_size = min(TRAJECTORY, self.step_size * np.exp(_PACE * (accepted - _AIM_PATHS) / _AIM_PATHS))
            self._metropolis_step *= float(np.exp(_PACE * (moved - _AIM_POINTS) / _AIM_POINTS))

    @abstractmethod
    def _move_paths(self) -> float:
        """Hamiltonian Monte Carlo on paths; returns the mean probability of acceptance."""

    @abstractmethod
    def _move_points(self) -> float:
        """A Metropolis step of the hyperparameters; returns the mean probability of acceptance."""

    def _start_where(self, found: Sequence[Built | None]) -> list[Built]:
        """Go on with the chains at whose places something was found, and return that; LinAlgError if none was."""
        kept = [one is not None for one in found]
        if not any(kept):
            raise np.linalg.LinAlgError("the posterior cannot be computed at any hyperparameters")
        self._places, self.diverged = self._places[kept], self.diverged[kept]
        return [one for one in found if one is not None]

    def _at(self, places: IntArray) -> FloatArray:
        """(K, p) the points at places (K, p) of the lattice."""
        return self._frame.outside(_SPACING * places.astype(np.float64))

    def _trial(self) -> IntArray:
        """(C, p) lattice points to move to."""
        moves = self._metropolis_step / _SPACING * self._rng.standard_normal(self._places.shape)
        return self._places + np.rint(moves).astype(np.int64)

    def _leapfrog_steps(self, step_size: float) -> int:
        """Steps of a trajectory."""
        return int(np.clip(np.ceil(TRAJECTORY / step_size), 1, _MOST_LEAPFROG_STEPS))

    def _count_divergences(self, gain: FloatArray) -> None:
        self.diverged += ~(gain >= -_DIVERGED)

    def _accepted(self, gain: FloatArray, able: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.bool_], float]:
        """(C,) which moves are made, by their gain in log density, and the mean probability; those not able are not."""
        capped: FloatArray = np.minimum(np.where(np.isnan(gain), -np.inf, gain), 0.0)
        chances: FloatArray = np.exp(capped) if able is None else np.where(able, np.exp(capped), 0.0)
        return self._rng.random(chances.size) < chances, float(chances.mean())

"""What all Markov chains of paths have in common: hyperparameters on a lattice, and steps that adapt in the warm-up."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from polarbear.inference.likelihood import Likelihood
from polarbear.inference.marginal import Frame
from polarbear.inference.surface import Surface
from polarbear.records import FloatArray, IntArray

Built = TypeVar("Built")

MOST_REMEMBERED = 1024
"""Places of the lattice of which is kept what belongs to them."""
TURN = 0.5 * np.pi
"""The angle a trajectory of Hamiltonian Monte Carlo rotates by."""
CHAINS = 48
_SPACING = 1 / 3
"""Of the lattice, in standard deviations of the approximate posterior of the hyperparameters."""
_APART = 1.5
"""How far apart chains start, in the same standard deviations."""
_DIVERGED = 1000.0
"""A trajectory whose energy is off by more has diverged, as Stan and NumPyro say."""
_METROPOLIS_STEPS = 2
_AIM_PATHS, _AIM_POINTS = 0.95, 0.35
_PACE = 0.1
_MOST_LEAPS = 24


class LatticeChains(ABC):
    """The state of C chains, each at a place of the lattice of hyperparameters and on a path.

    Args:
        likelihood: The rankings.
        surface: The prior of the hyperparameters and paths.
        frame: About where the posterior of the hyperparameters is.
        rng: The source of randomness.
        turn: The first angle of a step of Hamiltonian Monte Carlo.

    Attributes:
        turn: That angle by now.
        diverged: (C,) how many transitions diverged so far.
    """

    def __init__(
        self, likelihood: Likelihood, surface: Surface, frame: Frame, rng: np.random.Generator, turn: float
    ) -> None:
        self._likelihood, self._surface, self._frame, self._rng = likelihood, surface, frame, rng
        self.turn, self._step = turn, 1.0
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
            self.turn = min(TURN, self.turn * np.exp(_PACE * (accepted - _AIM_PATHS) / _AIM_PATHS))
            self._step *= float(np.exp(_PACE * (moved - _AIM_POINTS) / _AIM_POINTS))

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
        """(C, p) places to move to."""
        moves = np.rint(self._step / _SPACING * self._rng.standard_normal(self._places.shape)).astype(np.int64)
        return self._places + moves

    def _leaps(self, turn: float) -> int:
        """Steps of a trajectory."""
        return int(np.clip(np.ceil(TURN / turn), 1, _MOST_LEAPS))

    def _count_divergences(self, gain: FloatArray) -> None:
        self.diverged += ~(gain >= -_DIVERGED)

    def _accepted(self, gain: FloatArray, able: NDArray[np.bool_] | None = None) -> tuple[NDArray[np.bool_], float]:
        """(C,) which moves are made, by their gain in log density, and the mean probability; those not able are not."""
        capped: FloatArray = np.minimum(np.where(np.isnan(gain), -np.inf, gain), 0.0)
        chances: FloatArray = np.exp(capped) if able is None else np.where(able, np.exp(capped), 0.0)
        return self._rng.random(chances.size) < chances, float(chances.mean())

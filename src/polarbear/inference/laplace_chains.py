"""Markov chains in the coordinates of Laplace's method, for posteriors that Gaussians come near.

Paths are η = m + R e, where m is the most probable path given the hyperparameters and R belongs to the Gaussian there,
so that e is nearly standard normal whatever the hyperparameters are. Each sweep moves e by Hamiltonian Monte Carlo, the
metric of which is thus the Gaussian's covariance, and then the hyperparameters by Metropolis steps while e stays.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from polarbear.inference.annealing import Target
from polarbear.inference.lattice_chains import MOST_REMEMBERED, TURN, LatticeChains
from polarbear.inference.likelihood import Likelihood
from polarbear.inference.marginal import Frame
from polarbear.inference.modes import modes
from polarbear.inference.nodes import Node
from polarbear.inference.surface import Surface
from polarbear.records import FloatArray


class LaplaceChains(LatticeChains):
    """Chains whose paths are e; arguments as for `LatticeChains`.

    Raises:
        numpy.linalg.LinAlgError: If floating-point numbers do not suffice anywhere.
    """

    def __init__(self, likelihood: Likelihood, surface: Surface, frame: Frame, rng: np.random.Generator) -> None:
        super().__init__(likelihood, surface, frame, rng, turn=0.5)
        self._node = lru_cache(MOST_REMEMBERED)(self._node_at)
        self._nodes = self._start_where([self._node(tuple(place.tolist())) for place in self._places])
        self._states = [rng.standard_normal((node.centre.conditioned.noises, 1)) for node in self._nodes]

    @property
    def paths(self) -> FloatArray:
        """(T, q, C) η."""
        each = zip(self._nodes, self._states, strict=True)
        return np.concatenate([node.path(node.centre.conditioned.spread(e)) for node, e in each], axis=2)

    def _node_at(self, place: tuple[int, ...]) -> Node | None:
        """The Gaussian at one place of the lattice, or None where floating-point numbers do not suffice."""
        point = self._at(np.array([place]))
        field = self._surface.field(point[0])
        if field is None:
            return None
        centre = modes(self._likelihood, [field], [self._surface.paths(point)[0]])[0]
        return None if centre is None else Node.at(point[0], centre, float(self._surface.log_prior(point)[0]))

    def _move_paths(self) -> float:
        """Hamiltonian Monte Carlo on e; returns the mean probability of acceptance."""
        target, turn = Target(self._likelihood, self._nodes), min(TURN, self.turn * self._rng.uniform(0.8, 1.2))
        ahead, aside = np.cos(turn), np.sin(turn)
        states = self._states
        speeds: list[FloatArray] = [self._rng.standard_normal(e.shape) for e in states]
        ratio, gradient = target(states)
        before = ratio - _energy(states) - _energy(speeds)
        for _ in range(self._leaps(turn)):
            speeds = [v + 0.5 * turn * g for v, g in zip(speeds, gradient, strict=True)]
            pairs = list(zip(states, speeds, strict=True))
            states, speeds = [ahead * e + aside * v for e, v in pairs], [ahead * v - aside * e for e, v in pairs]
            ratio, gradient = target(states)
            speeds = [v + 0.5 * turn * g for v, g in zip(speeds, gradient, strict=True)]
        gain = ratio - _energy(states) - _energy(speeds) - before
        self._count_divergences(gain)
        accept, mean = self._accepted(gain)
        self._states = [new if taken else old for new, old, taken in zip(states, self._states, accept, strict=True)]
        return mean

    def _move_points(self) -> float:
        """A Metropolis step of the hyperparameters, e held; returns the mean probability of acceptance.

        Where another Gaussian has more dimensions, the numbers that e lacks are standard normal.
        """
        rng = self._rng
        trial = self._trial()
        found = [self._node(tuple(place.tolist())) for place in trial]
        nodes = [old if new is None else new for new, old in zip(found, self._nodes, strict=True)]
        sizes = [node.centre.conditioned.noises for node in nodes]
        room = [rng.standard_normal((max(0, size - len(e)), 1)) for size, e in zip(sizes, self._states, strict=True)]
        states = [np.concatenate([e, more])[:size] for e, more, size in zip(self._states, room, sizes, strict=True)]
        gain = self._log_ratio(nodes, states) - self._log_ratio(self._nodes, self._states)
        accept, mean = self._accepted(gain, np.array([new is not None for new in found]))
        self._places[accept] = trial[accept]
        self._nodes = [new if taken else old for new, old, taken in zip(nodes, self._nodes, accept, strict=True)]
        self._states = [new if taken else old for new, old, taken in zip(states, self._states, accept, strict=True)]
        return mean

    def _log_ratio(self, nodes: list[Node], states: list[FloatArray]) -> FloatArray:
        """(C,) log of posterior over Gaussian density."""
        moves = [node.centre.conditioned.spread(e) for node, e in zip(nodes, states, strict=True)]
        paths = np.concatenate([node.path(move) for node, move in zip(nodes, moves, strict=True)], axis=2)
        ratio = np.concatenate([node.log_ratio(move) for node, move in zip(nodes, moves, strict=True)])
        return self._likelihood.value(paths) + ratio


def _energy(states: list[FloatArray]) -> FloatArray:
    """(C,) half the squared lengths."""
    return np.array([0.5 * float(np.vdot(e, e)) for e in states])

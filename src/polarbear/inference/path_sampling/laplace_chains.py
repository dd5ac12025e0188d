"""Markov chains in the coordinates of Laplace's method, for posteriors that Gaussians come near.

Paths are η = m + R e, where m is the most probable path given the hyperparameters and R belongs to the Gaussian there,
so that e is nearly standard normal whatever the hyperparameters are. Each sweep moves e by Hamiltonian Monte Carlo, the
metric of which is thus the Gaussian's covariance, and then the hyperparameters by Metropolis steps while e stays.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.inference.path_sampling.annealing import LogRatio
from polarbear.inference.path_sampling.hyperparameter_grid import Frame
from polarbear.inference.path_sampling.hyperparameter_posterior import Surface
from polarbear.inference.path_sampling.laplace import Node, find_modes
from polarbear.inference.path_sampling.lattice_chains import MOST_CACHED, TRAJECTORY, LatticeChains
from polarbear.inference.path_sampling.leapfrog import PhasePoint, leapfrog
from polarbear.records import FloatArray


class LaplaceChains(LatticeChains):
    """Chains whose paths are e; arguments as for `LatticeChains`.

    Raises:
        numpy.linalg.LinAlgError: If floating-point numbers do not suffice anywhere.
    """

    def __init__(self, likelihood: Likelihood, surface: Surface, frame: Frame, rng: np.random.Generator) -> None:
        super().__init__(likelihood, surface, frame, rng, step_size=0.5)
        self._node = lru_cache(MOST_CACHED)(self._node_at)
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
        centre = find_modes(self._likelihood, [field], [self._surface.paths(point)[0]])[0]
        return None if centre is None else Node.at(point[0], centre, float(self._surface.log_prior(point)[0]))

    def _move_paths(self) -> float:
        """Hamiltonian Monte Carlo on e; returns the mean probability of acceptance."""
        target = LogRatio(self._likelihood, self._nodes)
        step_size = min(TRAJECTORY, self.step_size * self._rng.uniform(0.8, 1.2))
        momenta: list[FloatArray] = [self._rng.standard_normal(e.shape) for e in self._states]
        start = PhasePoint(self._states, momenta, *target(self._states))
        end = leapfrog(target, start, steps=self._leapfrog_steps(step_size), step_size=step_size)
        gain = _log_density(end) - _log_density(start)
        self._count_divergences(gain)
        accept, mean = self._accepted(gain)
        self._states = [new if taken else old for new, old, taken in zip(end.states, self._states, accept, strict=True)]
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


def _log_density(at: PhasePoint) -> FloatArray:
    """(C,) of chains and their momenta."""
    pairs = zip(at.states, at.momenta, strict=True)
    return at.value - np.array([0.5 * float(np.vdot(e, e) + np.vdot(p, p)) for e, p in pairs])

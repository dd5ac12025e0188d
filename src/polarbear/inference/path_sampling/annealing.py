"""Annealed importance sampling (Neal 2001) from the Gaussian approximations to the posterior of paths.

In the coordinates e in which a node's Gaussian is standard normal, the posterior density is exp(−½ e·e + r(e)), where r
is the log-ratio of posterior to Gaussian. Draws are carried along the densities exp(−½ e·e + β r(e)) from β = 0 to
β = 1. Before each step of β a draw's log-weight grows by the step times r, and after it the draw is moved by
Hamiltonian Monte Carlo, whose metric in the coordinates of paths is thus the Gaussian's covariance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polarbear.inference.likelihood.path_likelihood import Likelihood
from polarbear.inference.path_sampling.laplace import Node
from polarbear.inference.path_sampling.leapfrog import PhasePoint, Target, leapfrog
from polarbear.records import FloatArray

_FEWEST_STEPS, _MOST_STEPS = 4, 48
_STEPS_PER_SPREAD = 2.0
"""Steps of β for each unit of the log-ratio's standard deviation at the start."""
_LEAPFROG_STEPS = 3
_LARGEST_STEP_SIZE = np.pi / 6
_SHRINK, _GROW = 0.6, 1.15
_FEWEST_ACCEPTED = 0.65


class LogRatio:
    """The log-ratio r of the draws of several nodes, and its gradient."""

    def __init__(self, likelihood: Likelihood, nodes: Sequence[Node]) -> None:
        self._likelihood, self._nodes = likelihood, nodes

    def __call__(self, states: Sequence[FloatArray]) -> tuple[FloatArray, list[FloatArray]]:
        """Log-ratios (D,) of all draws one after the other, and the gradient of each node's (noises, D_k)."""
        moves = [node.centre.conditioned.spread(e) for node, e in zip(self._nodes, states, strict=True)]
        paths = [node.path(move) for node, move in zip(self._nodes, moves, strict=True)]
        value, slope = self._likelihood.slope(np.concatenate(paths, axis=2))
        ratio = np.concatenate([node.log_ratio(move) for node, move in zip(self._nodes, moves, strict=True)])
        ends = np.cumsum([move.shape[2] for move in moves])
        slopes = np.split(slope, ends[:-1], axis=2)
        gradient = [
            node.centre.conditioned.gather(own + node.log_ratio_slope(move))
            for node, move, own in zip(self._nodes, moves, slopes, strict=True)
        ]
        return value + ratio, gradient


def anneal(
    likelihood: Likelihood, nodes: Sequence[Node], noises: Sequence[FloatArray], rng: np.random.Generator
) -> tuple[list[FloatArray], FloatArray]:
    """Carry standard normal draws to the posterior.

    Args:
        likelihood: The rankings.
        nodes: The Gaussians.
        noises: For each node standard normal draws (noises, D_k).
        rng: The source of randomness.

    Returns:
        For each node the draws (noises, D_k) moved, and the log-weights (D,) of all draws.
    """
    target = LogRatio(likelihood, nodes)
    states = [np.array(noise) for noise in noises]
    ratio, gradient = target(states)
    steps = _steps(ratio, [e.shape[1] for e in states])
    log_weights, step_size = np.zeros_like(ratio), _LARGEST_STEP_SIZE
    for beta in np.arange(1, steps + 1) / steps:
        log_weights += ratio / steps
        states, ratio, gradient, accepted = _move(
            target, states, ratio, gradient, beta=float(beta), step_size=step_size, rng=rng
        )
        step_size = min(_LARGEST_STEP_SIZE, step_size * (_SHRINK if accepted < _FEWEST_ACCEPTED else _GROW))
    return states, log_weights


def _steps(ratio: FloatArray, sizes: Sequence[int]) -> int:
    """How many steps of β: as many as the log-ratio varies at the node where it varies most."""
    parts = np.split(ratio, np.cumsum(sizes)[:-1])
    spread = max(float(np.subtract(*np.quantile(part, [0.84, 0.16]))) / 2 for part in parts)
    return int(np.clip(np.ceil(_STEPS_PER_SPREAD * spread), _FEWEST_STEPS, _MOST_STEPS))


def _move(
    target: Target,
    states: list[FloatArray],
    ratio: FloatArray,
    gradient: list[FloatArray],
    *,
    beta: float,
    step_size: float,
    rng: np.random.Generator,
) -> tuple[list[FloatArray], FloatArray, list[FloatArray], float]:
    """One step of Hamiltonian Monte Carlo; also returns the mean probability of acceptance."""
    momenta = [rng.standard_normal(e.shape) for e in states]
    start = PhasePoint(states, momenta, ratio, gradient)
    end = leapfrog(target, start, steps=_LEAPFROG_STEPS, step_size=step_size, beta=beta)
    gain = _log_density(end, beta) - _log_density(start, beta)
    chance = np.exp(np.minimum(np.where(np.isnan(gain), -np.inf, gain), 0.0))
    accept = rng.random(chance.size) < chance
    parts = np.split(accept, np.cumsum([e.shape[1] for e in states])[:-1])
    chosen = [np.where(a, new, old) for a, new, old in zip(parts, end.states, states, strict=True)]
    slopes = [np.where(a, new, old) for a, new, old in zip(parts, end.gradient, gradient, strict=True)]
    return chosen, np.where(accept, end.value, ratio), slopes, float(chance.mean())


def _log_density(at: PhasePoint, beta: float) -> FloatArray:
    """(D,) of draws and their momenta."""
    pairs = zip(at.states, at.momenta, strict=True)
    energy = [np.einsum("kd,kd->d", e, e) + np.einsum("kd,kd->d", p, p) for e, p in pairs]
    return beta * at.value - 0.5 * np.concatenate(energy)

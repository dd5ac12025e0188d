"""Annealed importance sampling (Neal 2001) from the Gaussian approximations to the posterior of paths.

In the coordinates e in which a node's Gaussian is standard normal, the posterior density is exp(−½ e·e + r(e)), where r
is the log-ratio of posterior to Gaussian. Draws are carried along the densities exp(−½ e·e + β r(e)) from β = 0 to
β = 1. Before each step of β a draw's log-weight grows by the step times r, and after it the draw is moved by
Hamiltonian Monte Carlo, whose metric in the coordinates of paths is thus the Gaussian's covariance. The flow of the
Gaussian part is an exact rotation, so that the integrator's only error comes from r.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polarbear.inference.likelihood import Likelihood
from polarbear.inference.nodes import Node
from polarbear.records import FloatArray

_FEWEST_STEPS, _MOST_STEPS = 4, 48
_STEPS_PER_SPREAD = 2.0
"""Steps of β for each unit of the log-ratio's standard deviation at the start."""
_LEAPS = 3
_LONGEST_TURN = np.pi / 6
_SHRINK, _GROW = 0.6, 1.15
_FEWEST_ACCEPTED = 0.65


class Target:
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


def annealed(
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
    target = Target(likelihood, nodes)
    states = [np.array(noise) for noise in noises]
    ratio, gradient = target(states)
    steps = _steps(ratio, [e.shape[1] for e in states])
    log_weights, turn = np.zeros_like(ratio), _LONGEST_TURN
    for beta in np.arange(1, steps + 1) / steps:
        log_weights += ratio / steps
        states, ratio, gradient, accepted = _moved(
            target, states, ratio, gradient, beta=float(beta), turn=turn, rng=rng
        )
        turn = min(_LONGEST_TURN, turn * (_SHRINK if accepted < _FEWEST_ACCEPTED else _GROW))
    return states, log_weights


def _steps(ratio: FloatArray, sizes: Sequence[int]) -> int:
    """How many steps of β: as many as the log-ratio varies at the node where it varies most."""
    parts = np.split(ratio, np.cumsum(sizes)[:-1])
    spread = max(float(np.subtract(*np.quantile(part, [0.84, 0.16]))) / 2 for part in parts)
    return int(np.clip(np.ceil(_STEPS_PER_SPREAD * spread), _FEWEST_STEPS, _MOST_STEPS))


def _moved(
    target: Target,
    states: list[FloatArray],
    ratio: FloatArray,
    gradient: list[FloatArray],
    *,
    beta: float,
    turn: float,
    rng: np.random.Generator,
) -> tuple[list[FloatArray], FloatArray, list[FloatArray], float]:
    """One step of Hamiltonian Monte Carlo; also returns the mean probability of acceptance."""
    speeds = [rng.standard_normal(e.shape) for e in states]
    before = beta * ratio - _energy(states) - _energy(speeds)
    new_states, new_ratio, new_gradient = states, ratio, gradient
    for _ in range(_LEAPS):
        speeds = [v + 0.5 * turn * beta * g for v, g in zip(speeds, new_gradient, strict=True)]
        pairs = list(zip(new_states, speeds, strict=True))
        new_states = [np.cos(turn) * e + np.sin(turn) * v for e, v in pairs]
        speeds = [np.cos(turn) * v - np.sin(turn) * e for e, v in pairs]
        new_ratio, new_gradient = target(new_states)
        speeds = [v + 0.5 * turn * beta * g for v, g in zip(speeds, new_gradient, strict=True)]
    gain = beta * new_ratio - _energy(new_states) - _energy(speeds) - before
    chance = np.exp(np.minimum(np.where(np.isnan(gain), -np.inf, gain), 0.0))
    accept = rng.random(chance.size) < chance
    ends = np.cumsum([e.shape[1] for e in states])[:-1]
    parts = np.split(accept, ends)
    chosen = [np.where(a, new, old) for a, new, old in zip(parts, new_states, states, strict=True)]
    slopes = [np.where(a, new, old) for a, new, old in zip(parts, new_gradient, gradient, strict=True)]
    return chosen, np.where(accept, new_ratio, ratio), slopes, float(chance.mean())


def _energy(states: Sequence[FloatArray]) -> FloatArray:
    """(D,) half the squared lengths of the columns."""
    return 0.5 * np.concatenate([np.einsum("kd,kd->d", e, e) for e in states])

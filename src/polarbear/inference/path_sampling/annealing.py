"""Annealed importance sampling (Neal 2001) from the Gaussian approximations to the posterior of paths.

In the coordinates e in which a node's Gaussian is standard normal, the posterior density is exp(−½ e·e + r(e)), where r
is the log-ratio of posterior to Gaussian. Draws are carried along the densities exp(−½ e·e + β r(e)) from β = 0 to
β = 1. Before each step of β a draw's log-weight grows by the step times r, and after it the draw is moved by
Hamiltonian Monte Carlo, whose metric in the coordinates of paths is thus the Gaussian's covariance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polarbear.inference.path_sampling.hamiltonian import State, Target, choose, leapfrog, metropolis
from polarbear.records import FloatArray

_MIN_STEPS, _MAX_STEPS = 4, 48
_STEPS_PER_SPREAD = 2.0
"""Number of steps of β per unit of the log-ratio's standard deviation at the start."""
_LEAPFROG_STEPS = 3
_LARGEST_STEP_SIZE = np.pi / 6
_SHRINK, _GROW = 0.6, 1.15
_LOWEST_ACCEPTANCE = 0.65


def anneal(
    target: Target, noises: Sequence[FloatArray], rng: np.random.Generator
) -> tuple[list[FloatArray], FloatArray]:
    """Carry standard normal draws to the posterior.

    Args:
        target: The log-ratio r, such as `inference.path_sampling.laplace.LogRatio`.
        noises: Standard normal draws (noises, D_k) for each node.
        rng: The source of randomness.

    Returns:
        The moved draws (noises, D_k) for each node, and the log-weights (D,) of all draws.
    """
    state = State(list(noises), *target(noises))
    steps = _steps(state)
    log_weights, step_size = np.zeros_like(state.value), _LARGEST_STEP_SIZE
    for beta in (np.arange(1, steps + 1) / steps).tolist():
        log_weights += state.value / steps
        momenta = [rng.standard_normal(e.shape) for e in state.states]
        end, gain = leapfrog(target, state, momenta, steps=_LEAPFROG_STEPS, step_size=step_size, beta=beta)
        accept, acceptance = metropolis(gain, rng)
        states, gradient = choose(accept, end.states, state.states), choose(accept, end.gradient, state.gradient)
        state = State(states, np.where(accept, end.value, state.value), gradient)
        step_size = min(_LARGEST_STEP_SIZE, step_size * (_SHRINK if acceptance < _LOWEST_ACCEPTANCE else _GROW))
    return state.states, log_weights


def _steps(start: State) -> int:
    """Number of steps of β, from the spread of the log-ratio at the node where it varies most."""
    parts = np.split(start.value, np.cumsum([e.shape[1] for e in start.states])[:-1])
    spread = max(float(np.subtract(*np.quantile(part, [0.84, 0.16]))) / 2 for part in parts)
    return int(np.clip(np.ceil(_STEPS_PER_SPREAD * spread), _MIN_STEPS, _MAX_STEPS))

"""Hamiltonian Monte Carlo (Neal 2011) for densities near a standard normal one, many draws at once.

The density is exp(−½ e·e + β r(e)). The flow of its Gaussian part is an exact rotation, so that r is the only source of
the leapfrog integrator's error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from polarbear.records import FloatArray

Target = Callable[[Sequence[FloatArray]], tuple[FloatArray, list[FloatArray]]]
"""Maps states, arrays whose last axis runs over draws, to r (D,) of all these draws and the gradient for each array."""


class State(NamedTuple):
    """States of D draws, r (D,), and its gradients."""

    states: list[FloatArray]
    value: FloatArray
    gradient: list[FloatArray]


def leapfrog(
    target: Target,
    start: State,
    momenta: list[FloatArray],
    *,
    steps: int,
    step_size: float | FloatArray,
    beta: float = 1.0,
) -> tuple[State, FloatArray]:
    """The end of a trajectory, and the log-density (D,) gained on the way, momenta included.

    Args:
        target: Function that gives r and its gradient.
        start: The start of the trajectory.
        momenta: Standard normal arrays of the same shapes as the states.
        steps: Number of steps, at least 1.
        step_size: Rotation angle of a step, for all draws or for each (D,).
        beta: Inverse temperature β.
    """
    cosine, sine, kick = np.cos(step_size), np.sin(step_size), 0.5 * step_size * beta
    (states, value, gradient), before = start, _log_density(start, momenta, beta)
    for _ in range(steps):
        momenta = [p + kick * g for p, g in zip(momenta, gradient, strict=True)]
        pairs = list(zip(states, momenta, strict=True))
        states, momenta = [cosine * e + sine * p for e, p in pairs], [cosine * p - sine * e for e, p in pairs]
        value, gradient = target(states)
        momenta = [p + kick * g for p, g in zip(momenta, gradient, strict=True)]
    end = State(states, value, gradient)
    return end, _log_density(end, momenta, beta) - before


def metropolis(gain: FloatArray, rng: np.random.Generator) -> tuple[NDArray[np.bool_], float]:
    """(D,) which moves are accepted, by their gain in log-density, and the mean probability of acceptance."""
    probability = np.exp(np.minimum(np.where(np.isnan(gain), -np.inf, gain), 0.0))
    return rng.random(probability.size) < probability, float(probability.mean())


def choose(chosen: NDArray[np.bool_], new: list[FloatArray], old: list[FloatArray]) -> list[FloatArray]:
    """Arrays whose last axis runs over draws: the new ones for the chosen draws (D,), else the old ones."""
    parts = np.split(chosen, np.cumsum([e.shape[-1] for e in old])[:-1])
    return [np.where(*arrays) for arrays in zip(parts, new, old, strict=True)]


def _log_density(at: State, momenta: Sequence[FloatArray], beta: float) -> FloatArray:
    """(D,) log-density of draws and their momenta."""
    energy = [_squares(e) + _squares(p) for e, p in zip(at.states, momenta, strict=True)]
    return beta * at.value - 0.5 * np.concatenate(energy)


def _squares(array: FloatArray) -> FloatArray:
    flat = array.reshape(-1, array.shape[-1])
    return np.einsum("kd,kd->d", flat, flat)

"""The leapfrog integrator of Hamiltonian Monte Carlo (Neal 2011) for densities near a standard normal one.

The density is exp(−½ e·e + β r(e)). The flow of its Gaussian part is an exact rotation, so that the integrator's only
error comes from r.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from polarbear.records import FloatArray

Target = Callable[[Sequence[FloatArray]], tuple[FloatArray, list[FloatArray]]]
"""From states, arrays of any shapes, to r (D,) of all draws in them and the gradient of each."""


class PhasePoint(NamedTuple):
    """Where a trajectory is: states, momenta, r (D,) and its gradients."""

    states: list[FloatArray]
    momenta: list[FloatArray]
    value: FloatArray
    gradient: list[FloatArray]


def leapfrog(
    target: Target, start: PhasePoint, *, steps: int, step_size: float | FloatArray, beta: float = 1.0
) -> PhasePoint:
    """Follow a trajectory.

    Args:
        target: r and its gradient.
        start: Where it begins.
        steps: How many steps it has, at least 1.
        step_size: The angle of a step's rotation; an array that goes with the states, or one number.
        beta: β.
    """
    cosine, sine, kick = np.cos(step_size), np.sin(step_size), 0.5 * step_size * beta
    states, momenta, value, gradient = start
    for _ in range(steps):
        momenta = [p + kick * g for p, g in zip(momenta, gradient, strict=True)]
        pairs = list(zip(states, momenta, strict=True))
        states, momenta = [cosine * e + sine * p for e, p in pairs], [cosine * p - sine * e for e, p in pairs]
        value, gradient = target(states)
        momenta = [p + kick * g for p, g in zip(momenta, gradient, strict=True)]
    return PhasePoint(states, momenta, value, gradient)

"""Newton's method to the posterior mode of the log-ratings at one timepoint."""

from __future__ import annotations

import numpy as np

from polarbear.inference.likelihood.timepoint_likelihood import Choices, normalized
from polarbear.records import FloatArray

_MAX_STEPS = 100
_MAX_HALVINGS = 30
_LONGEST_STEP = 3.0
"""Longest step in log-ratings, beyond which the quadratic approximation fails."""
_TOLERANCE = 1e-10
_ARMIJO = 1e-4
"""Share of the predicted increase that a step must achieve (Armijo's rule)."""


def mode(choices: Choices) -> tuple[FloatArray, FloatArray]:
    """The mode of the log-ratings and the curvature there.

    The log-density is concave in the log-ratings z and does not change when a constant is added to all. Fixing their
    sum by orthonormal contrasts, such as Helmert's (appendix A of Wurth et al. 2026), or adding a multiple of the
    all-ones matrix to the curvature, as here, gives the same steps.

    Raises:
        numpy.linalg.LinAlgError: If the curvature is numerically singular.

    Returns:
        (n,) log-ratings whose ratings sum to 1, and (n, n) the negative Hessian of the log-density, which is singular
        along the all-ones direction.
    """
    z = _start(choices)
    value, gradient, curvature = expansion(choices, z)
    for _ in range(_MAX_STEPS):
        pinned = curvature + np.trace(curvature) / z.size
        step = np.asarray(np.linalg.solve(pinned, gradient), dtype=np.float64)
        decrement = float(gradient @ step)
        if not decrement > _TOLERANCE * (1.0 + abs(value)):
            z = normalized(z + step) if decrement >= 0 else z
            break
        size = min(1.0, _LONGEST_STEP / float(np.abs(step).max()))
        for _ in range(_MAX_HALVINGS):
            trial = normalized(z + size * step)
            at_trial = expansion(choices, trial)
            if at_trial[0] >= value + _ARMIJO * size * decrement:
                break
            size *= 0.5
        else:
            break
        z, (value, gradient, curvature) = trial, at_trial
    return z, curvature


def _start(choices: Choices) -> FloatArray:
    """Logarithms of each algorithm's wins over the wins expected if all algorithms were alike."""
    alike = np.zeros((1, choices.wins.size, 1))
    wins = choices.ties.wins().sum(axis=0)
    expected = choices.sets.gather(choices.counts / choices.sets.sizes) + choices.total / choices.wins.size
    expected += wins - choices.ties.slope(alike, np.exp(alike))[1][0, :, 0]
    return normalized(np.log((choices.wins + wins) / expected))


def expansion(choices: Choices, z: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Log-density, its gradient and its negative Hessian at normalized log-ratings."""
    theta = np.exp(z)
    chosen_from, expected, shared = choices.sets.moments(theta, choices.counts)
    expected += choices.total * theta
    curvature = np.diag(expected) - shared - choices.total * np.outer(theta, theta)
    value = float(choices.wins @ z - choices.counts @ np.log(chosen_from))
    if not len(choices.ties):
        return value, choices.wins - expected, curvature
    of_ties = choices.ties.expansion(z[np.newaxis, :, np.newaxis], theta[np.newaxis, :, np.newaxis])
    return value + float(of_ties[0][0]), choices.wins - expected + of_ties[1][0, :, 0], curvature + of_ties[2][0, 0]

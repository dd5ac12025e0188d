"""A proposal distribution close to the posterior of the ratings, including its skewness and tails.

Order the algorithms, best first, and break the stick: v_i = θ_i / Σ_{j ≥ i} θ_j is the probability that i is chosen
from itself and those behind. The logits y_i = log(v_i / (1 − v_i)) have the same density as the log-ratings. They are
independent and exactly log-F distributed if all rankings agree, if there are none, and if there are two algorithms;
with many rankings they are nearly normal. In between,

    y_k = mode_k + B_kk e_k + Σ_{j>k} B_kj g_j(e_j)

with independent log-F distributed e_k comes close. The triangular B carries the correlation, from the Hessian at the
mode, and the shapes of each e_k are read off the density along its axis, as Geweke (1989, section 4) does for his split
distributions. How far e_j moves the other logits is given by its score, the derivative of its log-density: g_j is minus
the score, which is e_j near the mode, and everywhere if e_j is normal. But the score is bounded where a tail is heavy:
exactly how hopeless an algorithm that lost every race is says nothing about the others. As B is triangular, the density
of y is that of e.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from polarbear.inference.likelihood.timepoint_likelihood import Choices
from polarbear.records import FloatArray

_PROBE = 0.1
"""Step of the finite differences along an axis, in standard deviations."""
_NORMAL = 250.0
"""Axes are practically normal if both shapes are larger than this."""
_SMALLEST_SHAPE = 1e-14
_MOST_LOPSIDED = 1000.0
"""Largest ratio of an axis's shapes; finite differences do not resolve larger ones."""
_ROUNDING = 16 * np.finfo(np.float64).eps
"""Rounding error of a fourth difference relative to the values: the absolute coefficients add up to 16."""
_LARGEST_HEAVY_SHAPE = 10.0
_STENCIL = np.arange(-2.0, 3.0)
"""Points of the central differences for the second, third and fourth derivative."""
_SECOND = np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12
_THIRD = np.array([-0.5, 1.0, 0.0, -1.0, 0.5])
_FOURTH = np.array([1.0, -4.0, 6.0, -4.0, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class Proposal:
    """y_k = centre_k + Σ_j axes_kj g_j(e_j), where g_j is minus the score of e_j, and e_k itself for j = k.

    The e_k are independent, each with mode 0 and unit curvature of its log-density there.

    The log-F distribution with shapes a and b is that of log(G_a / G_b), two independent standard gamma variables.

    Attributes:
        centre: (n − 1,) mode of the logits.
        axes: (n − 1, n − 1) matrix whose columns are the axes; upper triangular, with a positive diagonal.
        left: (n − 1,) shape a of each axis, which governs the left tail, exp(a e); normal if +inf.
        right: (n − 1,) shape b of each axis, which governs the right tail.
    """

    centre: FloatArray
    axes: FloatArray
    left: FloatArray
    right: FloatArray

    def draw(self, number: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Log-ratings (n, number) in the proposal's order, and their log-density (number,) up to a constant."""
        normal = np.isinf(self.left)
        bells = rng.standard_normal((int(normal.sum()), number))
        density = -0.5 * np.einsum("kd,kd->d", bells, bells)
        if normal.all():
            return stick_breaking(self.centre[:, np.newaxis] + self.axes @ bells), density
        e, pull = np.empty((2, self.left.size, number))
        e[normal] = pull[normal] = bells
        left, right = self.left[~normal, np.newaxis], self.right[~normal, np.newaxis]
        spread = np.sqrt(1 / left + 1 / right)
        x = log_gamma(left, (len(left), number), rng) - log_gamma(right, (len(right), number), rng)
        density += left.T[0] @ x - (left + right).T[0] @ softplus(x)
        e[~normal] = (x - np.log(left / right)) / spread
        pull[~normal] = spread * ((left + right) * expit(x) - left)
        y = self.axes @ pull + np.diag(self.axes)[:, np.newaxis] * (e - pull)
        return stick_breaking(self.centre[:, np.newaxis] + y), density

    def heavier_tailed(self) -> Proposal:
        """The same mode and curvature with shapes of half the size or less: tails at least twice as heavy."""
        left, right = (np.minimum(shape / 2, _LARGEST_HEAVY_SHAPE) for shape in (self.left, self.right))
        return Proposal(self.centre, self.axes, left, right)


def proposal(choices: Choices, mode: FloatArray, curvature: FloatArray) -> Proposal:
    """The proposal for choices whose algorithms are in order.

    Args:
        choices: The choices, including the prior.
        mode: (n,) log-ratings at the mode; the ratings sum to 1.
        curvature: (n, n) negative Hessian at the mode.

    Raises:
        numpy.linalg.LinAlgError: If the curvature is not numerically positive definite.
    """
    theta = np.exp(mode)
    behind = np.cumsum(theta[::-1])[::-1][1:]
    centre = mode[:-1] - np.log(behind)
    slope = np.eye(centre.size) - np.triu(theta[:-1] / behind[:, np.newaxis], k=1)
    back = np.asarray(np.linalg.inv(slope), dtype=np.float64)
    precision = back.T @ curvature[:-1, :-1] @ back
    axes = np.asarray(np.linalg.inv(np.linalg.cholesky(precision)), dtype=np.float64).T
    left, right = _shapes(choices, centre, axes)
    return Proposal(centre, axes, left, right)


def _shapes(choices: Choices, centre: FloatArray, axes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log-F shapes whose third and fourth derivatives at the mode, over the second, are the density's on each axis.

    For shapes a and b and unit curvature, with d = (a − b) / (a + b), these ratios are −d s and s² (1 − 3 (1 − d²) / 2)
    where s² = 1/a + 1/b. The tails are made at least as heavy as the rounding errors of these differences allow: with
    very unequal ratings, as a small concentration makes them, 1 / (a + b) is a small difference of large numbers.
    """
    probe = _PROBE / np.maximum(1.0, np.abs(axes).max(axis=0))
    points = centre[:, np.newaxis, np.newaxis] + _STENCIL[:, np.newaxis] * (probe * axes)[:, np.newaxis, :]
    height = choices.log_density(stick_breaking(points.reshape(centre.size, -1))).reshape(5, -1)
    second = _SECOND @ height / probe**2
    third = _THIRD @ height / probe**3 / second
    fourth = _FOURTH @ height / probe**4 / second
    unknown = np.maximum(third**2 / _MOST_LOPSIDED, _ROUNDING * np.abs(height).max(axis=0) / probe**4)
    spread = np.maximum((third**2 - fourth) / 2, np.maximum(unknown, 1e-12))
    lean = third / np.sqrt(third**2 + 4 * spread)
    total = 1.0 / spread
    left, right = (np.maximum(total * (1 - side * lean) / 2, _SMALLEST_SHAPE) for side in (1, -1))
    normal = np.minimum(left, right) > _NORMAL
    return np.where(normal, np.inf, left), np.where(normal, np.inf, right)


def stick_breaking(logits: FloatArray) -> FloatArray:
    """Log-ratings (n, D) whose ratings sum to 1, from logits (n − 1, D)."""
    log_rest = softplus(logits)
    log_theta = np.zeros((logits.shape[0] + 1, logits.shape[1]))
    np.subtract(logits, log_rest, out=log_theta[:-1])
    behind = np.zeros(logits.shape[1])
    for row, own in zip(log_theta[1:], log_rest, strict=True):  # np.cumsum takes twice as long
        behind += own
        row -= behind
    return log_theta


def softplus(x: FloatArray) -> FloatArray:
    """log(1 + exp(x)) without overflow."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def log_gamma(shape: FloatArray, size: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Array of logarithms of gamma variables, finite for small shapes: G_a is distributed as G_{a+1} U^{1/a}."""
    small = shape < 1
    result = np.log(rng.standard_gamma(shape + small, size))
    if small.any():
        shape, small = np.broadcast_to(shape, size), np.broadcast_to(small, size)
        result[small] -= rng.standard_exponential(np.count_nonzero(small)) / shape[small]
    return result

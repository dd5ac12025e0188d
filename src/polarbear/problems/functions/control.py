"""Controllers of dynamic systems, each observed by one random rollout; vectorized over candidates.

The dynamics of cart and pole are those of Barto, Sutton and Anderson (1983); the pendulum and both sets of constants
are those of `gymnasium` (CartPole-v1, Pendulum-v1). Numbers of variables are those of Wang and Lu (2026); what they
leave open is stated here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import ClassVar

import numpy as np

from polarbear.records import FloatArray

STARTS = 16
"""Number of starts over which the noise-free value is averaged; the same for all candidates."""


@cache
def starts(dimension: int) -> FloatArray:
    """(`STARTS`, d) points of a scrambled Sobol sequence in [-1, 1]^d, whose means vary less than random ones."""
    from scipy.stats.qmc import Sobol

    return 2 * Sobol(dimension, rng=np.random.default_rng(0)).random(STARTS) - 1


def with_fixed(own: FloatArray, fixed: FloatArray) -> FloatArray:
    """(m, 1 + n, k) the starts (m, 1, k) of each policy, followed by the starts (n, k) common to all."""
    return np.concatenate([own, np.broadcast_to(fixed, (len(own), *fixed.shape))], axis=1)


@dataclass(frozen=True)
class LQR:
    """A linear system x' = A x + B u + w under the controller u = -K x, with quadratic cost.

    It has ten states, four inputs and 30 steps. A is random with spectral radius 1, B is normal divided by √10, and w
    and the initial state are normal with standard deviations 0.1 and 1. The cost of a rollout is the mean of
    ‖x‖² + 0.1 ‖u‖², at most 10⁶.

    Attributes:
        instance: The seed of A and B.
    """

    instance: int
    states: ClassVar[int] = 10
    inputs: ClassVar[int] = 4
    steps: ClassVar[int] = 30
    dimension: ClassVar[int] = states * inputs
    half_width: ClassVar[float] = 1.0
    worst: ClassVar[float] = 1e6

    @cached_property
    def system(self) -> tuple[FloatArray, FloatArray]:
        """A (10, 10) and B (10, 4)."""
        rng = np.random.default_rng([self.instance, 40])
        a = rng.standard_normal((self.states, self.states))
        a /= np.abs(np.linalg.eigvals(a)).max()
        return a, rng.standard_normal((self.states, self.inputs)) / np.sqrt(self.states)

    def evaluate(self, points: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """The results of `observe`, (m,), and `value`, (m,)."""
        return self.observe(points, rng), self.value(points)

    def _gains(self, points: FloatArray) -> FloatArray:
        return points.reshape(-1, self.inputs, self.states)

    def observe(self, points: FloatArray, rng: np.random.Generator) -> FloatArray:
        """(m,) the cost of a rollout with each of the controllers (m, d)."""
        a, b = self.system
        gains = self._gains(points)
        x = rng.standard_normal((len(points), self.states))
        cost = np.zeros(len(points))
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(self.steps):
                u = -np.einsum("mij,mj->mi", gains, x)
                cost += np.square(x).sum(axis=1) + 0.1 * np.square(u).sum(axis=1)
                x = x @ a.T + u @ b.T + 0.1 * rng.standard_normal(x.shape)
        return self._bounded(cost / self.steps)

    def value(self, points: FloatArray) -> FloatArray:
        """(m,) the exact expected cost, by the state's covariance S' = (A - BK) S (A - BK)ᵀ + 0.01 I."""
        a, b = self.system
        gains = self._gains(points)
        closed = a - b @ gains
        weight = np.eye(self.states) + 0.1 * np.swapaxes(gains, 1, 2) @ gains
        covariance = np.broadcast_to(np.eye(self.states), closed.shape)
        cost = np.zeros(len(points))
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(self.steps):
                cost += np.einsum("mij,mji->m", weight, covariance)
                covariance = closed @ covariance @ np.swapaxes(closed, 1, 2) + 0.01 * np.eye(self.states)
        return self._bounded(cost / self.steps)

    def _bounded(self, cost: FloatArray) -> FloatArray:
        return np.where(cost < self.worst, cost, self.worst)


def perceptron(points: FloatArray, inputs: FloatArray, hidden: int) -> FloatArray:
    """(m, n) outputs of perceptrons with one hidden layer of tanh.

    Args:
        points: (m, d) their weights: (k, h) of the first layer, (h,) its offsets, (h,) of the second, and its offset.
        inputs: (m, n, k) the inputs of each perceptron.
        hidden: The number h of hidden units.
    """
    size = inputs.shape[-1]
    first = points[:, : size * hidden].reshape(-1, size, hidden)
    offsets, second = points[:, size * hidden : -hidden - 1], points[:, -hidden - 1 : -1]
    layer = np.tanh(inputs @ first + offsets[:, None])
    return (layer @ second[:, :, None])[..., 0] + points[:, -1:]


@dataclass(frozen=True)
class CartPole:
    """A cart that balances a pole for up to 500 steps, pushed left or right by a perceptron of 4, 7 and 1 units.

    The value is minus the fraction of steps survived, observed from one random start within ±0.05 in each state.

    Attributes:
        tail: Scale of the Student noise with 1.5 degrees of freedom that is added to observations; 0 for none.
    """

    tail: float = 0.0
    hidden: ClassVar[int] = 7
    steps: ClassVar[int] = 500
    dimension: ClassVar[int] = 4 * hidden + 2 * hidden + 1
    half_width: ClassVar[float] = 5.0

    def evaluate(self, points: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Minus the fraction of steps that policies (m, d) survive: (m,) from a random start, and (m,) from `STARTS`.

        Both come from one simulation, since most of its time is not spent on arithmetic.
        """
        own = rng.uniform(-0.05, 0.05, (len(points), 1, 4))
        survived = self._survived(points, with_fixed(own, 0.05 * starts(4)))
        noise = self.tail * rng.standard_t(1.5, len(points)) if self.tail else 0.0
        return noise - survived[:, 0], -survived[:, 1:].mean(axis=1)

    def _survived(self, points: FloatArray, states: FloatArray) -> FloatArray:
        """(m, n) the fractions of steps survived from starts (m, n, 4)."""
        steps = np.zeros(states.shape[:2])
        left = np.arange(len(points))  # policies that still balance the pole from some start
        alive = np.ones(states.shape[:2], dtype=bool)
        for _ in range(self.steps):
            states = cart_pole_step(states, np.where(perceptron(points, states, self.hidden) > 0, 10.0, -10.0))
            alive &= (np.abs(states[..., 0]) <= 2.4) & (np.abs(states[..., 2]) <= 12 * 2 * np.pi / 360)
            steps[left] += alive
            balancing = alive.any(axis=1)
            if not balancing.all():
                points, states, alive, left = points[balancing], states[balancing], alive[balancing], left[balancing]
                if not len(left):
                    break
        return steps / self.steps


def cart_pole_step(states: FloatArray, force: FloatArray) -> FloatArray:
    """(..., 4) position, speed, angle and angular speed 0.02 seconds later, by Euler's method, under a force (...)."""
    x, speed, angle, turning = (states[..., i] for i in range(4))
    gravity, cart, pole, half = 9.8, 1.0, 0.1, 0.5
    cosine, sine = np.cos(angle), np.sin(angle)
    push = (force + pole * half * turning**2 * sine) / (cart + pole)
    turned = (gravity * sine - cosine * push) / (half * (4 / 3 - pole * cosine**2 / (cart + pole)))
    moved = push - pole * half * turned * cosine / (cart + pole)
    after = np.empty_like(states)
    for i, (value, change) in enumerate([(x, speed), (speed, moved), (angle, turning), (turning, turned)]):
        after[..., i] = value + 0.02 * change
    return after


@dataclass(frozen=True)
class Pendulum:
    """A pendulum to swing up in 200 steps, with the torque 2 tanh of a perceptron of 3, 8 and 1 units.

    The value is the mean of θ² + 0.1 θ'² + 0.001 u², observed from one random start.
    """

    hidden: ClassVar[int] = 8
    steps: ClassVar[int] = 200
    dimension: ClassVar[int] = 3 * hidden + 2 * hidden + 1
    half_width: ClassVar[float] = 5.0

    def evaluate(self, points: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """The mean cost of rollouts with policies (m, d): (m,) from a random start, and (m,) from `STARTS`."""
        scale = [np.pi, 1.0]
        cost = self._cost(points, with_fixed(rng.uniform(-1, 1, (len(points), 1, 2)) * scale, starts(2) * scale))
        return cost[:, 0], cost[:, 1:].mean(axis=1)

    def _cost(self, points: FloatArray, states: FloatArray) -> FloatArray:
        cost = np.zeros(states.shape[:2])
        for _ in range(self.steps):
            seen = np.empty((*cost.shape, 3))
            seen[..., 0], seen[..., 1], seen[..., 2] = np.cos(states[..., 0]), np.sin(states[..., 0]), states[..., 1]
            torque = 2 * np.tanh(perceptron(points, seen, self.hidden))
            states, paid = pendulum_step(states, torque)
            cost += paid
        return cost / self.steps


def pendulum_step(states: FloatArray, torque: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(..., 2) angle and angular speed 0.05 seconds later, under a torque (...), and the (...) cost of the step."""
    angle, speed = states[..., 0], states[..., 1]
    wrapped = (angle + np.pi) % (2 * np.pi) - np.pi
    cost = wrapped**2 + 0.1 * speed**2 + 0.001 * torque**2
    gravity, mass, length = 10.0, 1.0, 1.0
    pulled = 1.5 * gravity / length * np.sin(angle) + 3 / (mass * length**2) * torque
    speed = np.clip(speed + 0.05 * pulled, -8.0, 8.0)
    after = np.empty_like(states)
    after[..., 0], after[..., 1] = angle + 0.05 * speed, speed
    return after, cost

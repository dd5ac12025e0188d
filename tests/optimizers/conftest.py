"""A hand-written recorder: counts evaluations, keeps points and the best value, and stops at the budget."""

import numpy as np
import pytest


class Stop(BaseException):
    """What the real recorder raises: outside `Exception`."""


class Recorder:
    def __init__(self, function, budget, dimension=5, lower=-5.0, upper=5.0):
        self.function, self.budget, self.dimension = function, budget, dimension
        self.lower = np.broadcast_to(np.asarray(lower, dtype=float), (dimension,)).copy()
        self.upper = np.broadcast_to(np.asarray(upper, dtype=float), (dimension,)).copy()
        self.points, self.best, self.stopped = [], np.inf, False

    def __call__(self, x):
        x = np.array(x, dtype=float)
        if x.ndim == 2:
            return np.array([self(point) for point in x])
        assert x.shape == (self.dimension,)
        if np.isnan(x).any():
            raise ValueError("x is NaN")
        if len(self.points) >= self.budget:
            raise Stop
        self.points.append(x)
        value = self.function(x)
        self.best = min(self.best, value)
        return value

    def run(self, optimizer, seed=0):
        try:
            optimizer(self, np.random.default_rng(seed))
        except Stop:
            self.stopped = True
        return self

    @property
    def outside(self):
        points = np.array(self.points)
        return ((points < self.lower) | (points > self.upper)).any(axis=1)


def sphere(x):
    with np.errstate(over="ignore"):  # where `modcma`'s PSR diverges, which it does now and then
        return float((x - 0.7) @ (x - 0.7))


def rastrigin(x):
    return float(10 * len(x) + np.sum((x - 0.7) ** 2 - 10 * np.cos(2 * np.pi * (x - 0.7))))


@pytest.fixture
def record():
    """Make a recorder: record(function, budget, dimension, lower, upper)."""
    return Recorder


@pytest.fixture
def functions():
    """Test functions by name."""
    return {"sphere": sphere, "rastrigin": rastrigin}

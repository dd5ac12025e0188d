"""Problems written by hand whose every value is known, and what a recorder has to make of values."""

import math

import numpy as np

from polarbear.problems import Traits
from polarbear.records import Reason


def rng():
    return np.random.default_rng(0)


def brute_force(pairs, minimize, budget, target):
    """Improvements and end of a run, by definition: one evaluation after the other.

    Each pair is what the optimizer is told, and the value the run is judged by.
    """
    best, improvements, invalid, reason, number = math.inf, [], 0, Reason.STOPPED, 0
    for number, (told, value) in enumerate(pairs, 1):
        invalid += math.isnan(told) or math.isnan(value)
        signed = math.inf if math.isnan(value) else value if minimize else -value
        if signed < best:
            best = signed
            improvements.append((number, best))
        if target is not None and best <= target:
            reason = Reason.TARGET
            break
        if number == budget:
            reason = Reason.BUDGET
            break
    return improvements, number, reason, invalid


class Box:
    """What all problems here share."""

    name, minimize, optimum = "fake", True, None
    dimension = 2
    traits = Traits()

    @property
    def lower(self):
        return np.full(self.dimension, -5.0)

    @property
    def upper(self):
        return np.full(self.dimension, 5.0)

    def diagnose(self, x):
        x = np.asarray(x, dtype=float)
        if x.shape[-1:] != (self.dimension,) or np.isnan(x).any():
            raise ValueError(f"x is {x}")

    def __call__(self, x):
        return np.array([self.raw(row) for row in x]) if np.ndim(x) == 2 else self.raw(x)

    def build(self):
        return self


class NoisySphere(Box):
    """Its noise is standard normal, one number for each evaluation."""

    name, traits, optimum = "noisy-sphere", Traits(noisy=True), 0.0

    def __init__(self, minimize=True):
        self.minimize = minimize

    def raw(self, x):
        return float(x @ x) if self.minimize else -float(x @ x)

    def trial(self, rng):
        return NoisyTrial(self, rng)


class NoisyTrial:
    def __init__(self, problem, rng):
        self.problem, self.rng = problem, rng

    def __call__(self, x):
        value = self.problem.raw(x)
        return value + self.rng.normal(), value

    def batch(self, points):
        values = self.problem(points)
        return values + self.rng.normal(size=len(points)), values

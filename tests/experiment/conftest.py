"""A small problem for the experiment room, with everything the recorder may meet."""

import signal
import sys
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
import numpy as np
import pytest

from polarbear.experiment import Limits, Task
from polarbear.records import RunKey

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import test modules


@dataclass
class FunctionalProblem:
    """Any function over a box, with the contract's `raw`, `diagnose` and batch call; it counts its calls."""

    function: Any
    dimension: int = 2
    optimum: float | None = 0.0
    minimize: bool = True
    name: str = "functional"
    calls: list = field(default_factory=list)

    def __post_init__(self):
        self.lower, self.upper = np.full(self.dimension, -5.0), np.full(self.dimension, 5.0)

    def raw(self, x):
        if x.shape != (self.dimension,) or np.isnan(x).any():
            return float("nan")
        self.calls.append(x)
        return self.function(x)

    def diagnose(self, x):
        x = np.asarray(x, dtype=float)
        if x.shape[-1:] != (self.dimension,) or x.ndim > 2:
            raise ValueError(f"x has shape {x.shape}; needs ({self.dimension},)")
        if np.isnan(x).any():
            raise ValueError("x holds NaN")

    def __call__(self, x):
        x = np.asarray(x, dtype=float)
        self.diagnose(x)
        return self.raw(x) if x.ndim == 1 else np.array([self.raw(row) for row in x])


@dataclass(frozen=True)
class Sphere:
    """A specification whose problem is the sphere function."""

    dimension: int = 2
    name: str = "sphere"

    def build(self):
        return FunctionalProblem(lambda x: float(x @ x), self.dimension, name=self.name)


@dataclass(frozen=True)
class Of:
    """A specification of any function."""

    function: Any
    name: str = "of"
    optimum: float | None = None
    minimize: bool = True

    def build(self):
        return FunctionalProblem(self.function, optimum=self.optimum, minimize=self.minimize, name=self.name)


def random_search(objective, rng):
    while True:
        objective(rng.uniform(objective.lower, objective.upper))


def make_task(optimizer=random_search, problem=None, seed=0, **limits):
    problem = problem or Sphere()
    name = getattr(optimizer, "__name__", "optimizer")
    return Task(RunKey(problem.name, name, seed), problem, optimizer, Limits(**limits))


@pytest.fixture
def functional():
    """Build a problem: ``functional(function, dimension=, optimum=, minimize=)``."""
    return FunctionalProblem


@pytest.fixture
def sphere():
    return Sphere()


@pytest.fixture
def of():
    """Build a specification: ``of(function, name=, optimum=, minimize=)``."""
    return Of


@pytest.fixture
def task():
    """Build a task: ``task(optimizer, problem, seed, evaluations=…)``; random search on the sphere by default."""
    return make_task


@pytest.fixture
def hears_ctrl_c():
    """Also where the tests were started in the background by a shell, which has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)

"""Problems with constraints, integer variables and several objectives, as optimizers see them; and runs of tasks."""
# ruff: noqa: NPY002 - packages draw from NumPy's old generators

import sys
from contextlib import contextmanager
from dataclasses import dataclass, field

import cloudpickle
import numpy as np
import pytest

from polarbear.experiment import Limits, Task, execute
from polarbear.problems import FunctionProblem, Traits
from polarbear.records import RunKey

cloudpickle.register_pickle_by_value(sys.modules[__name__])


class Stop(BaseException):
    """The budget is spent."""


def sphere(x):
    return float((x - 0.7) @ (x - 0.7))


def two_spheres(x):
    """Two objectives, best at 1 and at -1 everywhere; the efficient points lie on the segment between."""
    return np.array([np.sum((x - 1) ** 2), np.sum((x + 1) ** 2)])


def half_plane(x):
    """One constraint: x₀ >= 1."""
    return np.array([1.0 - x[0]])


@dataclass
class Seen:
    """A problem with a budget that keeps all points; asking constraints of another point than the last one costs."""

    function: object = sphere
    dimension: int = 2
    budget: int = 1_000
    constrain: object = None
    integers: object = None
    objectives: int = 1
    width: float = 10.0
    points: list = field(default_factory=list)
    values: list = field(default_factory=list)
    extra: int = 0
    stopped: bool = False
    recommended: object = None
    exposed: dict = field(default_factory=dict)

    def __post_init__(self):
        self.lower = np.full(self.dimension, -self.width / 2)
        self.upper = np.full(self.dimension, self.width / 2)
        count = 0 if self.constrain is None else len(self.constrain(self.lower))
        self.traits = Traits(self.integers, self.objectives, count)
        self.constraints = self.violations if count else None

    def __call__(self, x):
        x = np.array(x, dtype=float)
        if x.ndim == 2:
            return np.array([self(point) for point in x])
        assert x.shape == (self.dimension,)
        assert np.isfinite(x).all()
        if len(self.points) + self.extra >= self.budget:
            raise Stop
        self.points.append(x)
        value = self.function(x)
        self.values.append(value)
        return value

    def violations(self, x):
        if not (self.points and np.array_equal(x, self.points[-1])):
            self.extra += 1
        return self.constrain(np.asarray(x))

    def expose(self, **getters):
        self.exposed |= getters

    def recommend(self, getter):
        self.recommended = getter

    def run(self, optimizer, seed=1):
        try:
            optimizer(self, np.random.default_rng(seed))
        except Stop:
            self.stopped = True
        return self

    @property
    def outside(self):
        return int(((np.array(self.points) < self.lower) | (np.array(self.points) > self.upper)).any(axis=1).sum())

    @property
    def best_feasible(self):
        feasible = [
            value
            for point, value in zip(self.points, self.values, strict=True)
            if self.constrain is None or (self.constrain(point) <= 1e-6).all()
        ]
        return min(feasible, default=np.inf)


def fragile(x):
    """NaN, infinite or an error's cause, depending on where."""
    if x[0] > 4:
        return float("nan")
    return float("inf") if x[0] < 0.5 else sphere(x)


def failing(x):
    raise OSError("the simulator is down")


def task(optimizer, function, dimension=3, evaluations=500, seed=1):
    """A run as a study has it."""
    problem = FunctionProblem(function, -5.0, 5.0, dimension, name=f"f-d{dimension}")
    return Task(RunKey(problem.name, optimizer.name, seed), problem, optimizer, Limits(evaluations=evaluations))


def run_task(optimizer, function=sphere, dimension=3, budget=60, seed=1):
    return execute(task(optimizer, function, dimension, budget, seed))


def check_reproducible(optimizer, dimension, budget):
    """It stops at the budget, stays in the box, and evaluates the same points with the same seed alone."""
    runs = [Seen(sphere, dimension, budget).run(optimizer, seed) for seed in (1, 1, 2)]
    for run in runs:
        assert (run.stopped, len(run.points), run.outside) == (True, budget, 0)
    np.testing.assert_array_equal(runs[0].points, runs[1].points)
    assert not np.array_equal(runs[0].points, runs[2].points)


def rugged(x):
    return float(np.sum((x - 0.4) ** 2) + 0.3 * np.sum(1 - np.cos(9 * x)))


STRANGE = {
    "nan": lambda x: float("nan") if x[0] > 0 else float(x @ x),
    "inf": lambda x: np.inf if x[0] > 0 else float(x @ x),
    "all-inf": lambda x: np.inf,
    "minus-inf": lambda x: -np.inf if x[0] > 0 else float(x @ x),
    "flat": lambda x: 1.0,
    "steps": lambda x: float(np.rint(x).sum()),
    "huge": lambda x: 1e308 * float(np.sin(x).sum()) / len(x),
}
"""Objectives whose values are no good."""


LOWER, UPPER = np.array([0.0, -7.0, 2.0]), np.array([1.0, 30.0, 2.5])


class Watcher:
    """A problem with a box that keeps what it is offered for logging, and stops after some evaluations."""

    def __init__(self, function, evaluations, lower=LOWER, upper=UPPER, integers=None):
        self.function, self.left = function, evaluations
        self.lower, self.upper, self.dimension = np.array(lower, float), np.array(upper, float), len(lower)
        self.traits = Traits(integers=None if integers is None else np.array(integers))
        self.getters, self.points = {}, []

    def expose(self, **getters):
        self.getters |= getters

    def recommend(self, getter):
        self.recommended = getter

    def __call__(self, x):
        if np.isnan(x).any():
            raise ValueError("x is NaN")
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.points.append(np.array(x))
        return self.function(x)

    def run(self, optimizer, seed=0):
        with pytest.raises(KeyboardInterrupt):
            optimizer(self, np.random.default_rng(seed))
        return np.array(self.points)


@contextmanager
def chance_of_pycma(rng):
    """NumPy's global chance as `PyCMA` has it; gives the generator of normal numbers. KeyboardInterrupt ends it."""
    normal, other = (np.random.RandomState(int(rng.integers(2**32))) for _ in range(2))
    before, uniform = np.random.get_state(), np.random.uniform
    try:
        np.random.set_state(other.get_state())
        np.random.uniform = rng.uniform
        yield normal
    except KeyboardInterrupt:
        pass
    finally:
        np.random.uniform = uniform
        np.random.set_state(before)

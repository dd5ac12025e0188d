"""The six external tasks of Wang and Lu (2026), and the perceptron of their appendix, as problems with seeded noise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Protocol, get_args

import numpy as np

from polarbear.problems.evaluation import BuiltProblem
from polarbear.problems.functions.control import LQR, CartPole, Pendulum
from polarbear.problems.functions.learning import LogisticRegression, Perceptron
from polarbear.problems.number_sets import NumbersLike, distinct, number_set
from polarbear.problems.suite.base import ProductStream, SuiteProblem
from polarbear.protocols import ProblemSpec, Traits
from polarbear.records import FloatArray
from polarbear.validation import Checked, Natural, Positive, chosen_word, settings

Function = Literal[
    "lqr", "cartpole", "cartpole-ht", "pendulum", "breast-cancer", "digits", "mlp-4", "mlp-16", "mlp-256"
]


class Task(Protocol):
    """A task that is optimized under noise."""

    dimension: ClassVar[int]
    half_width: ClassVar[float]

    def evaluate(self, points: FloatArray, rng: np.random.Generator, /) -> tuple[FloatArray, FloatArray]:
        """Evaluate points (m, d): their random observations (m,) and their noise-free values (m,)."""
        ...


TASKS: dict[str, Callable[[int], Any]] = {
    "lqr": LQR,
    "cartpole": lambda _: CartPole(),
    "cartpole-ht": lambda _: CartPole(tail=0.2),
    "pendulum": lambda _: Pendulum(),
    "breast-cancer": lambda _: LogisticRegression("breast_cancer"),
    "digits": lambda _: LogisticRegression("digits"),
    "mlp-4": lambda _: Perceptron(4),
    "mlp-16": lambda _: Perceptron(16),
    "mlp-256": lambda _: Perceptron(256),
}
"""Functions that construct each task from an instance number."""


class TaskTrial:
    """One run's view of a task: noisy values are observed, and the noise-free value judges the run."""

    def __init__(self, task: Task, rng: np.random.Generator) -> None:
        self._task, self._rng = task, rng

    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """Evaluate one point (d,): an observation and the noise-free value."""
        observed, value = self.batch(x[np.newaxis])
        return float(observed[0]), float(value[0])

    def batch(self, points: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Evaluate points (m, d): observations (m,) and noise-free values (m,)."""
        return self._task.evaluate(points, self._rng)


class BuiltTask(BuiltProblem):
    """A built task, which each run observes through its own noise."""

    __slots__ = ("_task",)

    def __init__(self, spec: ProblemSpec, task: Task) -> None:
        half = np.full(task.dimension, task.half_width)

        def values(points: FloatArray) -> FloatArray:
            return task.evaluate(points, np.random.default_rng(0))[1]

        super().__init__(
            spec,
            lambda x: float(values(x[np.newaxis])[0]),
            values,
            (-half, half),
            None,
            traits=Traits(noisy=True),
        )
        self._task = task

    def trial(self, rng: np.random.Generator, /) -> TaskTrial:
        """A new trial; equal generators give equal noise for equal points."""
        return TaskTrial(self._task, rng)


@settings
class NoisyTaskProblem(SuiteProblem):
    """One task.

    Attributes:
        function: The task's name.
        instance: Seed of the system of ``lqr``; the other tasks have one instance, whose runs differ in their noise.
    """

    suite: ClassVar[str] = "noisy-tasks"

    function: Function
    instance: Positive = 1

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return TASKS[self.function](self.instance).dimension

    def build(self) -> BuiltTask:
        """Construct the task; ExtraMissing if it needs scikit-learn, which is not installed."""
        return BuiltTask(self, TASKS[self.function](self.instance))


def _functions(value: Any, name: str) -> tuple[str, ...]:
    functions = distinct((value,) if isinstance(value, str) else value, name)
    words = tuple(get_args(Function))
    return tuple(chosen_word(function, name, words) for function in functions)


@settings
class NoisyTasks(ProductStream):
    """An endless stream of tasks.

    Attributes:
        functions: The tasks' names.
        instances: Instance numbers.
        seed: Seed of the stream.
    """

    functions: Annotated[str | Sequence[str], Checked(_functions)] = get_args(Function)[:6]
    instances: Annotated[NumbersLike, number_set(1)] = (1,)
    seed: Natural = 0

    problem: ClassVar[Any] = NoisyTaskProblem
    choices: ClassVar[Mapping[str, str]] = {"function": "functions", "instance": "instances"}

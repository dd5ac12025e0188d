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
    """What is optimized through noise."""

    dimension: ClassVar[int]
    half_width: ClassVar[float]

    def evaluate(self, points: FloatArray, rng: np.random.Generator, /) -> tuple[FloatArray, FloatArray]:
        """(m,) what is observed of (m, d) points, by chance, and (m,) their values without noise."""
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
"""What makes each task of the number of an instance."""


class TaskTrial:
    """One run's view of a task: told what is observed, judged by the value without noise."""

    def __init__(self, task: Task, rng: np.random.Generator) -> None:
        self._task, self._rng = task, rng

    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """Evaluate one point (d,): an observation, and the value without noise."""
        observed, value = self.batch(x[np.newaxis])
        return float(observed[0]), float(value[0])

    def batch(self, points: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """Evaluate (m, d) points: (m,) observations, and the values without noise."""
        return self._task.evaluate(points, self._rng)


class BuiltTask(BuiltProblem):
    """A built task, which each run observes through noise of its own."""

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
        """A fresh trial; equal generators give equal noise for equal points."""
        return TaskTrial(self._task, rng)


@settings
class NoisyTaskProblem(SuiteProblem):
    """One of the tasks.

    Attributes:
        function: Its name.
        instance: Seeds the system of ``lqr``; the others have one instance, whose runs differ by their noise.
    """

    suite: ClassVar[str] = "noisy-tasks"

    function: Function
    instance: Positive = 1

    @property
    def dimension(self) -> int:
        """Number of variables."""
        return TASKS[self.function](self.instance).dimension

    def build(self) -> BuiltTask:
        """Construct the task; ExtraMissing where scikit-learn is needed and not installed."""
        return BuiltTask(self, TASKS[self.function](self.instance))


def _functions(value: Any, name: str) -> tuple[str, ...]:
    functions = distinct((value,) if isinstance(value, str) else value, name)
    words = tuple(get_args(Function))
    return tuple(chosen_word(function, name, words) for function in functions)


@settings
class NoisyTasks(ProductStream):
    """An endless stream of the tasks.

    Attributes:
        functions: Their names.
        instances: Numbers of instances.
        seed: Which stream.
    """

    functions: Annotated[str | Sequence[str], Checked(_functions)] = get_args(Function)[:6]
    instances: Annotated[NumbersLike, number_set(1)] = (1,)
    seed: Natural = 0

    problem: ClassVar[Any] = NoisyTaskProblem
    choices: ClassVar[Mapping[str, str]] = {"function": "functions", "instance": "instances"}

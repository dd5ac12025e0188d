"""Problems that observe an optimizer, and a wrapper that records every point that it evaluates."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from polarbear.experiment import Limits, Stop, Task, execute
from polarbear.optimizers import Optimizer, drive, refusal
from polarbear.problems import MultiObjectiveProblem, Traits
from polarbear.problems.evaluation import BuiltProblem, as_points
from polarbear.quantities import plural
from polarbear.records import FloatArray, Reason, Run, RunKey

Objective = Callable[[FloatArray], float]

APART = 0.1
"""Shift of two objectives to either side, in box widths."""

USUAL = 400
"""Number of evaluations of most runs."""


@dataclass(frozen=True, eq=False)
class Probe:
    """The specification of a problem: a function over a box.

    Attributes:
        function: The function (d,) -> float, also called with points outside the box.
        dimension: Number of variables d.
        lower: The box's lower bound, one for all variables or (d,).
        upper: The box's upper bound, likewise.
        objectives: 1, or 2 for the function shifted to either side by `APART`, with the region of interest of spheres.
        name: The problem's name.
    """

    function: Objective
    dimension: int = 5
    lower: Any = -5.0
    upper: Any = 5.0
    objectives: int = 1
    name: str = "probe"

    def build(self) -> BuiltProblem:
        """The problem."""
        lower, upper = (np.full(self.dimension, bound) for bound in (self.lower, self.upper))
        if self.objectives == 2:
            return self._two(lower, upper)

        def batch(points: FloatArray) -> FloatArray:
            return np.array([self.function(point) for point in points], dtype=np.float64)

        return BuiltProblem(self, self.function, batch, (lower, upper), None)

    def _two(self, lower: FloatArray, upper: FloatArray) -> MultiObjectiveProblem:
        shift = APART * (upper - lower)

        def both(x: FloatArray) -> FloatArray:
            return np.array([self.function(x - shift), self.function(x + shift)])

        interest = np.zeros(2), np.full(2, 4 * sphere(shift))
        return MultiObjectiveProblem(self, both, (lower, upper), interest, Traits(objectives=2))


class NoisyProblem(BuiltProblem):
    """The sphere with noise.

    Attributes:
        observations: The noisy values, in order.
        peeks: Number of evaluations without noise.
    """

    __slots__ = ("observations", "peeks")

    def __init__(self, spec: Any, dimension: int) -> None:
        self.observations: list[float] = []
        self.peeks = 0
        box = np.full(dimension, -5.0), np.full(dimension, 5.0)
        super().__init__(spec, self._peek, self._peeks, box, 0.0, traits=Traits(noisy=True))

    def _peek(self, x: FloatArray) -> float:
        self.peeks += 1
        return sphere(x)

    def _peeks(self, points: FloatArray) -> FloatArray:
        return np.array([self._peek(point) for point in points])

    def trial(self, rng: np.random.Generator, /) -> NoisyTrial:
        """A trial, which gives the values that a run sees and is judged by."""
        return NoisyTrial(self, rng)


class NoisyTrial:
    """A trial with one run's noise."""

    def __init__(self, problem: NoisyProblem, rng: np.random.Generator) -> None:
        self._problem, self._rng = problem, rng

    def __call__(self, x: FloatArray, /) -> tuple[float, float]:
        """The sphere with and without noise."""
        value = sphere(x)
        self._problem.observations.append(value * float(np.exp(0.5 * self._rng.standard_normal())))
        return self._problem.observations[-1], value

    def batch(self, points: FloatArray, /) -> tuple[FloatArray, FloatArray]:
        """As for each point in turn."""
        pairs = np.array([self(point) for point in points]).reshape(len(points), 2)
        return pairs[:, 0], pairs[:, 1]


@dataclass(frozen=True, eq=False)
class NoisySphere:
    """The noisy problem's specification; it always builds the same object, whose records can be read."""

    dimension: int = 5
    name: str = "noisy-sphere"
    built: list[NoisyProblem] = field(default_factory=list[NoisyProblem])

    def build(self) -> NoisyProblem:
        """The problem."""
        if not self.built:
            self.built.append(NoisyProblem(self, self.dimension))
        return self.built[0]


@dataclass
class Watched:
    """An optimizer whose evaluations are recorded.

    Attributes:
        optimizer: The optimizer.
        points: The points it evaluated, (d,) each, in order.
        values: The values it saw, (k,) each, in order.
        last: Number of values of its last evaluation.
        late: Number of evaluations after it was stopped.
    """

    optimizer: Optimizer
    points: list[FloatArray] = field(default_factory=list[FloatArray])
    values: list[FloatArray] = field(default_factory=list[FloatArray])
    last: int = 0
    late: int = 0
    _stopped: bool = False

    @property
    def name(self) -> str:
        """The optimizer's name."""
        return self.optimizer.name

    def __call__(self, problem: Any, rng: np.random.Generator, /) -> object:
        """Run the optimizer.

        Raises:
            ValueError: If it refuses the problem, or evaluates anything other than points.
        """
        if reason := refusal(self.optimizer, problem.traits, problem.dimension):
            raise ValueError(reason)

        def watched(x: Any, /) -> Any:
            self.late += self._stopped
            points = list(np.array(as_points(x, problem.dimension, "the problem"), ndmin=2))
            try:
                value = problem(x)
            except Stop:
                self._stopped = True
                self.points += points
                raise
            if points:
                self.points += points
                self.values += list(np.array(value, dtype=np.float64).reshape(len(points), -1))
                self.last = len(points)
            return value

        watched.__dict__.update(problem.__dict__)
        random.seed()  # if seeded from the run's key, they would hide draws from them instead of `rng`
        np.random.seed()  # noqa: NPY002
        return drive(self.optimizer, watched, rng)

    @property
    def ended_where_infinite(self) -> bool:
        """Whether its last evaluation was the first one with a non-finite value."""
        infinite = [not np.isfinite(value).all() for value in self.values]
        return any(infinite) and not any(infinite[: -self.last])


def run_on(
    optimizer: Optimizer, problem: Any, evaluations: int, seed: int = 0, seconds: float | None = None
) -> tuple[Run, Watched]:
    """Run an optimizer on a problem, a probe with as many objectives as it accepts; return the run and the record.

    Args:
        optimizer: The optimizer.
        problem: The problem's specification.
        evaluations: Maximum number of evaluations.
        seed: The run's seed.
        seconds: Maximum number of seconds.
    """
    watched = Watched(optimizer)
    if isinstance(problem, Probe):
        problem = replace(problem, objectives=objectives_of(optimizer))
    limits = Limits(evaluations=evaluations, seconds=seconds)
    return execute(Task(RunKey(problem.name, optimizer.name, seed), problem, watched, limits)), watched


def objectives_of(optimizer: Optimizer) -> int:
    """Number of objectives of an optimizer's probes: 2 if it refuses one and accepts two, else 1."""
    against_one, against_two = (refusal(optimizer, Traits(objectives=count), Probe.dimension) for count in (1, 2))
    return 2 if against_one and not against_two else 1


def sphere(x: FloatArray) -> float:
    """The sum of squares."""
    return float(x @ x)


def fault_of(run: Run) -> str:
    """How a run failed; empty if it did not."""
    if run.outcome.reason is Reason.FAILED:
        return f"it fails with {run.outcome.message} after {plural(run.outcome.evaluations, 'evaluation')}"
    return "" if run.outcome.evaluations else "it evaluates nothing"


OFF_CENTRE = Probe(lambda x: sphere(x - 1.0))

_TURN = np.linalg.qr(np.vander(np.linspace(0.5, 1.5, 5)))[0]
ELLIPSOID = Probe(lambda x: float(np.logspace(0, 4, 5) @ (_TURN @ (x - 1.0)) ** 2))
"""A rotated ellipsoid with condition number 1e4: there is more to remember than where the best point is."""

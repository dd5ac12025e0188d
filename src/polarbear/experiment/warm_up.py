"""Warm-up of a process before any clock starts, so that no run is charged for loading libraries."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.experiment.limits import Alarm, Limits
from polarbear.experiment.recorder import Recorder
from polarbear.optimizers.driver import drive
from polarbear.protocols import Traits, traits_of
from polarbear.records import FloatArray, Reason

if TYPE_CHECKING:
    from polarbear.optimizers import Optimizer
    from polarbear.problems import Problem

REMEMBERED = 256
"""Number of optimizers that each process remembers having started."""


def warm_up_problem(problem: Problem, timeout: float | None = None) -> None:
    """Evaluate a problem once, in the middle of its box, as a run would; its trial is discarded.

    Exceptions of the evaluation are ignored: the run will meet them itself.

    Args:
        problem: The problem.
        timeout: Seconds after which the evaluation is interrupted, where an alarm can do so.

    Raises:
        KeyboardInterrupt: On Ctrl-C.
    """
    with _dropping():
        recorder = Recorder(problem, Limits(evaluations=1), noise=np.random.default_rng(0))
        alarm = Alarm(timeout, lambda: recorder.stop(Reason.TIMED_OUT))
        try:
            with alarm:
                recorder.objective((recorder.objective.lower + recorder.objective.upper) / 2)
        finally:
            alarm.disarm()


def warm_up_optimizer(
    optimizer: Optimizer, problem: Problem, timeout: float | None = None, unheeded: Callable[[], object] | None = None
) -> None:
    """Start an optimizer on a stand-in for the problem and stop it at its first evaluation, to load its packages.

    Only the first call with an equal optimizer, dimension, number of objectives and time limit has an effect. The
    problem itself is not evaluated, and exceptions of the optimizer are ignored: the run will meet them itself.

    Args:
        optimizer: The optimizer.
        problem: The problem it will run on; the stand-in has its box, integer variables and number of objectives.
        timeout: Seconds after which an optimizer that evaluates nothing is interrupted, where an alarm can do so.
        unheeded: A function called from within the optimizer if it goes on although call after call is refused.

    Raises:
        KeyboardInterrupt: On Ctrl-C.
    """
    stand_in = _StandIn(problem)
    try:
        hash(optimizer)
    except TypeError:
        _start(optimizer, stand_in, timeout, unheeded)
    else:
        started = _started(optimizer, stand_in, timeout)
        if not started:
            _start(optimizer, stand_in, timeout, unheeded)
            started.append(True)


@lru_cache(maxsize=REMEMBERED)
def _started(optimizer: Any, stand_in: _StandIn, timeout: float | None) -> list[bool]:  # noqa: ARG001 - the key
    """A list, non-empty once the optimizer was started."""
    return []


def _start(optimizer: Optimizer, stand_in: Any, timeout: float | None, unheeded: Callable[[], object] | None) -> None:
    recorder = Recorder(stand_in, Limits(evaluations=1))
    alarm = Alarm(timeout, lambda: recorder.stop(Reason.TIMED_OUT))
    if unheeded is not None:
        recorder.unheeded = lambda: (alarm.silence(), unheeded())
    try:
        with _dropping(), alarm:
            drive(optimizer, recorder.objective, np.random.default_rng(0))
    finally:
        alarm.disarm()
        recorder.unheeded = None


@contextmanager
def _dropping() -> Generator[None]:
    """A context that ignores whatever a user's code raises, including SystemExit, but not the user's Ctrl-C."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            raise


class _StandIn:
    """A sphere in the middle of a problem's box; equal to any other with as many variables and objectives."""

    name, optimum, minimize = "stand-in", None, True

    def __init__(self, problem: Problem) -> None:
        known = traits_of(problem)
        self.dimension = problem.dimension
        self.lower, self.upper = np.array(problem.lower, dtype=float), np.array(problem.upper, dtype=float)
        self.traits = Traits(known.integers, known.objectives)
        self.ideal, self.nadir = np.zeros(known.objectives), np.ones(known.objectives)

    def raw(self, x: FloatArray) -> Any:
        return self(x)

    def diagnose(self, x: object) -> None:
        pass

    def __call__(self, x: FloatArray) -> Any:
        away = np.asarray(x, dtype=np.float64) - (self.lower + self.upper) / 2
        value = (away**2).sum(axis=-1)
        if self.traits.objectives == 1:
            return value
        return np.repeat(value[..., None], self.traits.objectives, axis=-1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _StandIn) and self._size() == other._size()

    def __hash__(self) -> int:
        return hash(self._size())

    def _size(self) -> tuple[int, int]:
        return self.dimension, self.traits.objectives

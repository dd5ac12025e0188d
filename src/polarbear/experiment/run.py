"""Executes one run from its task: whatever the optimizer or the objective does becomes the run's outcome."""

from __future__ import annotations

import signal
import traceback
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from polarbear.experiment.alarm import Alarm, can_interrupt
from polarbear.experiment.limits import Limits
from polarbear.experiment.recorder import Recorder
from polarbear.experiment.stop import Stop
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory

if TYPE_CHECKING:
    from polarbear.optimizers import Optimizer
    from polarbear.problems import Problem, ProblemSpec

CACHED_PROBLEMS = 8
"""Problems each process keeps built; a large one can take seconds to build and tens of megabytes."""
LONGEST_TEXT = 20_000
"""Characters kept of an exception's message, and of its traceback."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run to execute. It travels to a worker, so everything in it can be pickled.

    Attributes:
        key: Which run; all its randomness derives from it.
        problem: What builds the problem in the worker.
        optimizer: Called as ``optimizer(objective, rng)``.
        limits: How far the run may go.
    """

    key: RunKey
    problem: ProblemSpec
    optimizer: Optimizer
    limits: Limits


def execute(task: Task) -> Run:
    """Execute a run in this process.

    The clock starts once the problem is built. Problems are cached per process and told to forget the run before
    through their method `reset()` if they have one. In a main thread on Unix, `task.limits.timeout` interrupts
    Python code anywhere; elsewhere it is checked at each evaluation.

    Returns:
        The run. Exceptions of the problem's construction, the objective and the optimizer, SystemExit among them,
        are outcomes (`Reason.FAILED`) with the exception's type, text and traceback; what happens after the run was
        stopped does not change its outcome.

    Raises:
        KeyboardInterrupt: The user's Ctrl-C is no outcome.
    """
    try:
        problem = _problem(task.problem)
        recorder = Recorder(problem, task.limits, check_timeout=not can_interrupt())
    except Exception as error:  # noqa: BLE001 - a user's problem that cannot be built is an outcome
        return _never_begun(task.key, error)
    reason, message, trace = Reason.STOPPED, "", ""
    alarm = Alarm(task.limits.timeout, lambda: recorder.stop(Reason.TIMED_OUT))
    try:
        rng = task.key.generator()
        with alarm:
            recorder.start()
            task.optimizer(recorder.objective, rng)
    except Stop:
        pass
    except BaseException as error:  # whatever a user's code raises is an outcome, SystemExit too
        if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            raise  # the user's Ctrl-C; where that is ignored, as in our workers, the optimizer raised it
        reason, message, trace = Reason.FAILED, describe_error(error), _traceback(error)
    finally:
        alarm.disarm()  # an alarm at the very end may have kept the context from doing so
    return Run(task.key, recorder.trajectory(reason, message, trace), recorder.target, recorder.optimum)


def describe_error(error: BaseException) -> str:
    """An exception as ``TypeName: text``, shortened if it is endless."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a user's exception whose text cannot be had is still reported
        text = "(its text cannot be shown)"
    return f"{type(error).__name__}: {text}"[:LONGEST_TEXT] if text else type(error).__name__


def _never_begun(key: RunKey, error: BaseException) -> Run:
    outcome = Outcome(Reason.FAILED, 0, 0.0, describe_error(error), _traceback(error))
    return Run(key, Trajectory.empty(outcome))


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-LONGEST_TEXT:]


def _problem(spec: ProblemSpec) -> Problem:
    try:
        hash(spec)
    except TypeError:
        problem = spec.build()
    else:
        problem = _cached(spec)
    reset = getattr(problem, "reset", None)
    if callable(reset):
        reset()
    return problem


@lru_cache(maxsize=CACHED_PROBLEMS)
def _cached(spec: Any) -> Problem:
    return cast("ProblemSpec", spec).build()

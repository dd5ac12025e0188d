"""Executes one run from its task: whatever the optimizer or the objective does becomes the run's outcome."""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from polarbear.experiment.alarm import Alarm, can_interrupt
from polarbear.experiment.limits import Limits
from polarbear.experiment.recorder import Recorder
from polarbear.experiment.stop import Stop
from polarbear.experiment.warm_up import warm_up_optimizer, warm_up_problem
from polarbear.experiment.watch import Watch
from polarbear.extras import ExtraMissing
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory

if TYPE_CHECKING:
    from polarbear.optimizers import Optimizer
    from polarbear.problems import Problem, ProblemSpec

CACHED_PROBLEMS = 8
"""Problems each process keeps built; a large one can take seconds to build and tens of megabytes."""
STRIKES = 5
"""Alarms, a second apart, that an optimizer may swallow after the stop until its run is handed over without it."""
LONGEST_TEXT = 20_000
"""Characters kept of an exception's message, and of its traceback."""
_ALONE = threading.RLock()
"""Held by a run of which there is one at a time in a process."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run to execute. It travels to a worker, so everything in it can be pickled.

    Attributes:
        key: Which run; all its randomness derives from it.
        problem: What builds the problem in the worker.
        optimizer: Called as ``optimizer(objective, rng)``.
        limits: How far the run may go.
        watch: What is logged of the optimizer, and when; None: nothing.
        warm_up: Whether loading is kept off the run's clock: before it starts, a problem just built is evaluated once
            in the middle of its box, and an optimizer new to this process is started on a stand-in and stopped at its
            first evaluation. For runs measured in seconds.
    """

    key: RunKey
    problem: ProblemSpec
    optimizer: Optimizer
    limits: Limits
    watch: Watch | None = None
    warm_up: bool = False


def execute(task: Task, *, hand_over: Callable[[Run], object] | None = None) -> Run:
    """Execute a run in this process.

    The clock starts once the problem is built and warmed up. Problems are cached per process and told to forget the
    run before through their method `reset()` if they have one. In a main thread on Unix, `task.limits.timeout`
    interrupts Python code anywhere; elsewhere it is checked at each evaluation. Of optimizers that say so by a true
    attribute `one_at_a_time`, since they share a state of the process, threads run one after the other. The chance of
    noisy problems comes from a stream of the run's key of its own. Recommended points are evaluated on a second copy
    of the problem.

    An optimizer that lets nothing the objective raises end it, and goes on for ever, never gives the process back.
    `run_tasks` ends such runs in our worker processes; without `hand_over` nothing can be done about them here.

    Args:
        task: What to run.
        hand_over: Called with the run, in the midst of the optimizer, once `recorder.REFUSALS` calls were refused after
            the stop, or `STRIKES` alarms were swallowed. It should end the process; if it returns, the run goes on.

    Returns:
        The run, with the parameters that `task.watch` asked for. What could not be logged is NaN there, and the message
        of the outcome says so unless the run failed. Exceptions of the problem's construction, the objective and the
        optimizer, SystemExit among them, are outcomes (`Reason.FAILED`) with the exception's type, text and traceback;
        what happens after the run was stopped does not change its outcome.

    Raises:
        KeyboardInterrupt: The user's Ctrl-C is no outcome.
        ExtraMissing: Nor is a package that is not installed.
    """
    with _ALONE if getattr(task.optimizer, "one_at_a_time", False) else nullcontext():
        try:
            problem = _problem(task)
            recorder = _recorder(task, problem)
            if task.warm_up:
                # an optimizer that does not end here either: its run begins inside what it began
                go_on = None if hand_over is None else lambda: hand_over(_recorded(task, recorder, hand_over))
                warm_up_optimizer(task.optimizer, problem, task.limits.timeout, go_on)
        except ExtraMissing:
            raise
        except BaseException as error:  # a user's problem that cannot be built is an outcome, SystemExit too
            if _is_ctrl_c(error):
                raise
            return _never_begun(task.key, error)
        return _recorded(task, recorder, hand_over)


def _recorded(task: Task, recorder: Recorder, hand_over: Callable[[Run], object] | None) -> Run:
    """The run, from the start of its clock."""
    strikes, ended = count(1), (Reason.STOPPED, "", "")

    def run(reason: Reason, message: str, trace: str) -> Run:
        trajectory = recorder.trajectory(reason, message, trace)
        return Run(task.key, trajectory, recorder.target, recorder.optimum, recorder.parameters)

    def strike() -> None:
        if next(strikes) > STRIKES and recorder.unheeded is not None:
            recorder.unheeded()
        recorder.stop(Reason.TIMED_OUT)

    def leave(hand_over: Callable[[Run], object]) -> None:
        alarm.silence()
        hand_over(run(*ended))

    alarm = Alarm(task.limits.timeout, strike)
    try:
        rng = task.key.generator()
        with alarm:
            recorder.unheeded = None if hand_over is None else lambda: leave(hand_over)
            recorder.start()
            task.optimizer(recorder.objective, rng)
    except Stop:
        pass
    except ExtraMissing:
        raise
    except BaseException as error:  # whatever a user's code raises is an outcome, SystemExit too
        if _is_ctrl_c(error):
            raise
        ended = Reason.FAILED, describe_error(error), _traceback(error)
    finally:
        alarm.disarm()  # an alarm at the very end may have kept the context from doing so
        recorder.unheeded = None
    return run(*ended)


def _is_ctrl_c(error: BaseException) -> bool:
    """Whether it is the user's Ctrl-C; where that is ignored, as in our workers, a user's code raised it."""
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


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


def _recorder(task: Task, problem: Problem) -> Recorder:
    judged_by = _built(_judge, task.problem) if task.watch is not None and task.watch.recommendations else None
    return Recorder(
        problem,
        task.limits,
        check_timeout=not can_interrupt(),
        watch=task.watch,
        noise=task.key.generator("noise"),
        judged_by=judged_by,
    )


def _problem(task: Task) -> Problem:
    problem = _built(_warm, task.problem, task.limits.timeout) if task.warm_up else _built(_cached, task.problem)
    reset = getattr(problem, "reset", None)
    if callable(reset):
        reset()
    return problem


def _built(build: Any, spec: ProblemSpec, *arguments: Any) -> Problem:
    """The problem from one of the caches below, or a new one if its specification has no hash."""
    try:
        hash(spec)
    except TypeError:
        return build.__wrapped__(spec, *arguments)
    return build(spec, *arguments)


@lru_cache(maxsize=CACHED_PROBLEMS)
def _cached(spec: Any) -> Problem:
    return cast("ProblemSpec", spec).build()


@lru_cache(maxsize=CACHED_PROBLEMS)
def _warm(spec: Any, timeout: float | None) -> Problem:
    """Warmed up when it is built."""
    problem = cast("ProblemSpec", spec).build()
    warm_up_problem(problem, timeout)
    return problem


@lru_cache(maxsize=CACHED_PROBLEMS)
def _judge(spec: Any) -> Problem:
    """A second copy, which evaluates recommended points: the run's own problem does not notice."""
    return cast("ProblemSpec", spec).build()

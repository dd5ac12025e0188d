"""Execution of one run from its task: whatever the optimizer or the objective does becomes the run's outcome."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import Context
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import TYPE_CHECKING, Any, cast

from polarbear.experiment.errors import LONGEST_TEXT, described, described_traceback
from polarbear.experiment.isolation import RestoredProcess
from polarbear.experiment.limits import Alarm, Limits, Stop, can_interrupt
from polarbear.experiment.logging_schedule import Watch
from polarbear.experiment.recorder import Recorder
from polarbear.experiment.warm_up import warm_up_optimizer, warm_up_problem
from polarbear.extras import ExtraMissing
from polarbear.optimizers.driver import drive
from polarbear.protocols import identity_of
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory

if TYPE_CHECKING:
    from polarbear.optimizers import Optimizer
    from polarbear.problems import Problem, ProblemSpec

CACHED_PROBLEMS = 8
"""Number of built problems kept per process; a large one can take seconds to build and tens of megabytes."""
STRIKES = 5
"""Number of alarms, a second apart, that an optimizer may swallow before its run is handed over without it."""
_ALONE = threading.RLock()
"""Lock held by a run that must be the only one of its kind in a process."""


@dataclass(frozen=True, slots=True)
class Task:
    """One run to execute. It is sent to workers, so everything in it must be picklable.

    Attributes:
        key: The run's key, from which all its randomness derives.
        problem: The specification from which the worker builds the problem.
        optimizer: The optimizer; see `polarbear.optimizers.drive`.
        limits: The limits of the run.
        watch: What is logged of the optimizer, and when, and which points are kept; None for the best point only.
        warm_up: Whether loading is kept off the run's clock: before the clock starts, a newly built problem is
            evaluated once in the middle of its box, and an optimizer new to this process is started on a stand-in and
            stopped at its first evaluation. For runs measured in seconds.
    """

    key: RunKey
    problem: ProblemSpec
    optimizer: Optimizer
    limits: Limits
    watch: Watch | None = None
    warm_up: bool = False


def execute(task: Task, *, hand_over: Callable[[Run], object] | None = None) -> Run:
    """Execute a run in this process.

    The clock starts once the problem is built and warmed up. Problems are cached per process; before a run, their
    method `reset()` is called if they have one, to make them forget the previous run. In a main thread on Unix,
    `task.limits.timeout` interrupts Python code anywhere; elsewhere it is checked at each evaluation. Optimizers with a
    true attribute `one_at_a_time`, which share a state of the process, run one at a time across threads. The noise of
    noisy problems comes from a separate stream of the run's key. Recommended points are evaluated on a second copy of
    the problem.

    An optimizer that catches whatever the objective raises and goes on forever never gives the process back.
    `run_tasks` ends such runs in worker processes of `WorkerPool`; without `hand_over` nothing can be done about them
    here.

    Args:
        task: The run to execute.
        hand_over: Called with the run, from within the optimizer, once `recorder.REFUSALS` calls were refused after the
            stop, or `STRIKES` alarms were swallowed. It should end the process; if it returns, the run goes on.

    Returns:
        The run, with the parameters that `task.watch` requested. What could not be logged is NaN there, and the
        outcome's message says so unless the run failed. Exceptions from the problem's construction, the objective and
        the optimizer, including SystemExit, are outcomes (`Reason.FAILED`) with the exception's type, text and
        traceback; what happens after the run was stopped does not change its outcome.

    Raises:
        KeyboardInterrupt: On the user's Ctrl-C, which is not an outcome.
        ExtraMissing: If a package is not installed, which is not an outcome either.
    """
    with _ALONE if getattr(task.optimizer, "one_at_a_time", False) else nullcontext():
        with RestoredProcess(task.key, keep=hand_over is None) as process:
            attempt = _Attempt(task, process, hand_over)
            process.run(attempt.make)
        run = attempt.record()
    if process.unrestored:
        if hand_over is not None:
            hand_over(run)  # so that later runs begin in a sound process
        changed = f"changes to this process by the run of {task.key} cannot be undone: {', '.join(process.unrestored)}"
        warnings.warn(f"{changed}; execute runs in worker processes to isolate them", stacklevel=2)
    return run


class _Attempt:
    """A run during its execution; its record is made once the process is restored.

    Args:
        task: The task to execute.
        process: The context that restores the process.
        hand_over: As for `execute`.
    """

    def __init__(self, task: Task, process: RestoredProcess, hand_over: Callable[[Run], object] | None) -> None:
        self._task, self._process, self._hand_over = task, process, hand_over
        self._ctrl_c = signal.getsignal(signal.SIGINT) is not signal.SIG_IGN  # the run may change that
        self._recorder: Recorder | None = None
        self._ended = (Reason.STOPPED, "", "")

    def make(self) -> None:
        """Build the problem and run the optimizer on it."""
        self._guard(self._make)

    def _make(self) -> None:
        task = self._task
        problem = _problem(task)
        recorder = _recorder(task, problem)
        if task.warm_up:
            # if the optimizer does not end here either, its run begins within the warm-up
            go_on = None if self._hand_over is None else lambda: self._leave(lambda: self._begin(recorder))
            warm_up_optimizer(task.optimizer, problem, task.limits.timeout, go_on)
        self._begin(recorder)

    def _begin(self, recorder: Recorder) -> None:
        """The run from the start of its clock to its end."""
        task, strikes, self._recorder = self._task, count(1), recorder

        def strike() -> None:
            if next(strikes) > STRIKES and recorder.unheeded is not None:
                recorder.unheeded()
            recorder.stop(Reason.TIMED_OUT)

        alarm = Alarm(task.limits.timeout, strike)
        try:
            rng = task.key.generator()
            with alarm:
                recorder.unheeded = None if self._hand_over is None else lambda: self._leave(alarm.silence)
                recorder.start()
                _require_run(drive(task.optimizer, recorder.objective, rng))
        finally:
            alarm.disarm()  # an alarm at the very end may have prevented the context from doing so
            recorder.unheeded = None

    def _leave(self, first: Callable[[], object]) -> None:
        """Hand the run over from within the optimizer, which will not end."""
        self._guard(first)
        self._process.put_back()
        if self._hand_over is not None:
            self._hand_over(self.record())

    def _guard(self, step: Callable[[], object]) -> None:
        try:
            step()
        except ExtraMissing:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a user's code raises is an outcome, SystemExit too
            self._require_no_ctrl_c(error)
            if self._recorder is None or not isinstance(error, Stop):
                self._ended = _failed(error)

    def record(self) -> Run:
        """The run; whatever goes wrong while its record is made becomes its outcome."""
        try:
            return Context().run(self._run)
        except BaseException as error:  # noqa: BLE001 - as above
            self._require_no_ctrl_c(error)
            reason, message, trace = _failed(error)
            outcome = Outcome(reason, 0, 0.0, f"the run cannot be recorded: {message}"[:LONGEST_TEXT], trace)
            return Run(self._task.key, Trajectory.empty(outcome))

    def _run(self) -> Run:
        recorder = self._recorder
        if recorder is None:
            reason, message, trace = self._ended
            trajectory = Trajectory.empty(Outcome(reason, 0, 0.0, message, trace))
            return Run(self._task.key, trajectory, identity=identity_of(self._task.problem))
        return Run(
            self._task.key,
            recorder.trajectory(*self._ended),
            recorder.target,
            recorder.optimum,
            recorder.parameters,
            recorder.solution,
            recorder.samples,
            identity_of(self._task.problem),
        )

    def _require_no_ctrl_c(self, error: BaseException) -> None:
        """Re-raise the user's Ctrl-C; if SIGINT is ignored, as in worker processes, it came from a user's code."""
        if self._ctrl_c and isinstance(error, KeyboardInterrupt):
            raise error


def _failed(error: BaseException) -> tuple[Reason, str, str]:
    return Reason.FAILED, described(error), described_traceback(error)


def _require_run(result: object) -> None:
    """Refuse a generator or coroutine, none of whose code has run."""
    if issubclass(kind := type(result), GeneratorType | CoroutineType | AsyncGeneratorType):
        if isinstance(result, CoroutineType):
            result.close()  # otherwise Python warns that it was never awaited
        raise TypeError(
            f"the optimizer returned an unstarted {kind.__name__}; it has to evaluate the problem and return: remove "
            "`yield` and `async`, or run it inside a plain function"
        )


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
    """The problem from one of the caches below, or a new one if its specification is not hashable."""
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
    """A problem that is warmed up once it is built."""
    problem = cast("ProblemSpec", spec).build()
    warm_up_problem(problem, timeout)
    return problem


@lru_cache(maxsize=CACHED_PROBLEMS)
def _judge(spec: Any) -> Problem:
    """A second copy of the problem, which evaluates recommended points without effect on the run's own."""
    return cast("ProblemSpec", spec).build()

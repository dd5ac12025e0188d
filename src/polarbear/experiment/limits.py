"""The limits of a run, and how it is stopped when it reaches them.

A run that reaches its time limit is interrupted by an `Alarm`, again every second until it ends (`run.py`). Where no
alarm can interrupt it, outside the main thread and on systems other than Unix, the clock is read after each
evaluation. A worker process that is still busy some seconds later is killed (`manager.py`).
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from polarbear.validation import Positive, real, settings

if TYPE_CHECKING:
    from polarbear.protocols import Problem
    from polarbear.records import Axis

LONGEST = threading.TIMEOUT_MAX
"""Longest time of a timer in seconds, about 290 years; a longer limit counts as none."""
AGAIN = 1.0
"""Seconds until the alarm fires again, as its exception is lost where Python ignores exceptions, as in `__del__`."""


class Stop(BaseException):
    """Raised when the run is over: its budget is spent, its target is reached, or its time is up.

    It derives from `BaseException`, like `KeyboardInterrupt`, so that an optimizer's `except Exception` lets it
    through. Code that catches it nonetheless meets it again at the next evaluation.
    """


@settings(kw_only=True)
class Limits:
    """The limits of one run; None means no such limit.

    Attributes:
        evaluations: Maximum number of evaluations. The run ends with `Reason.BUDGET` in the call that reaches it.
        seconds: Maximum wall-clock time in seconds, checked after each evaluation (`Reason.BUDGET`).
        target_precision: The precision at which the run ends with `Reason.TARGET`: the difference to the problem's
            known optimum.
        timeout: Hard limit of the run in wall-clock seconds (`Reason.TIMED_OUT`). It also interrupts an optimizer that
            evaluates nothing, and is meant for hangs, not for budgets.

    Raises:
        FieldError: If a limit is not a finite number above 0 (`target_precision`: at least 0), or `evaluations`
            is not whole.
    """

    evaluations: Positive | None = None
    seconds: Annotated[float, real(gt=0)] | None = None
    target_precision: Annotated[float, real(ge=0)] | None = None
    timeout: Annotated[float, real(gt=0)] | None = None

    def up_to(self, until: float, axis: Axis) -> Limits:
        """The same limits with a budget of evaluations or seconds."""
        return replace(self, evaluations=int(until)) if axis == "evaluations" else replace(self, seconds=until)


def known_optimum(problem: Problem) -> float | None:
    """The lowest minimized value of a problem; None if it is unknown or not finite."""
    if problem.optimum is None or not np.isfinite(problem.optimum):
        return None
    optimum = float(problem.optimum)
    return optimum if problem.minimize else -optimum


def target_of(problem: Problem, limits: Limits, optimum: float | None) -> float | None:
    """The minimized value at which a run counts as solved, or None for never; ValueError if the optimum is unknown."""
    if limits.target_precision is None:
        return None
    if optimum is None:
        raise ValueError(
            f"target_precision is {limits.target_precision!r}, but the optimum of {problem.name} is unknown "
            f"({problem.optimum!r}); leave target_precision out or state the problem's optimum"
        )
    return optimum + limits.target_precision


def can_interrupt() -> bool:
    """Whether an alarm can interrupt the caller: signals reach only the main thread and exist only on Unix."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


class Alarm:
    """A context in which `ring` is called after `seconds`, in the middle of whatever Python code is running.

    `ring` raises an exception to leave that code. A call into C is interrupted once it returns to Python. The previous
    handler and timer are restored at the end. With `seconds=None`, or more than `LONGEST`, it never rings.
    """

    def __init__(self, seconds: float | None, ring: Callable[[], object]) -> None:
        self._seconds = seconds if seconds is not None and seconds <= LONGEST and can_interrupt() else None
        self._ring = ring
        self._armed = False
        self._before: tuple[Any, tuple[float, float]] | None = None

    def __enter__(self) -> Alarm:
        if self._seconds is not None:
            handler = signal.signal(signal.SIGALRM, self._strike)
            self._before = handler, (0.0, 0.0)  # known before the alarm can fire
            self._armed = True
            self._before = handler, signal.setitimer(signal.ITIMER_REAL, self._seconds, AGAIN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.disarm()

    def silence(self) -> None:
        """Stop ringing but leave handler and timer; may be called from any thread and inside the interrupted code."""
        self._armed = False

    def disarm(self) -> None:
        """Stop ringing. Calling it twice does no harm."""
        self._armed = False
        if self._before is not None:
            handler, timer = self._before
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
            self._before = None

    def _strike(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler's arguments
        if self._armed:
            self._ring()

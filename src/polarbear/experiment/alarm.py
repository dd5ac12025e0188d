"""Interrupt a run at its time limit, even one that evaluates nothing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

LONGEST = threading.TIMEOUT_MAX
"""Seconds beyond which no timer reaches, about 290 years: a longer limit is none."""
AGAIN = 1.0
"""Seconds until the alarm strikes again: its exception is lost where Python ignores exceptions, as in `__del__`."""


def can_interrupt() -> bool:
    """Whether an alarm can interrupt the caller: signals reach the main thread alone, and exist on Unix."""
    return hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()


class Alarm:
    """A context in which `ring` is called after `seconds`, in the middle of whatever Python code runs then.

    `ring` raises to leave that code. A call into C is interrupted once it returns to Python. The handler and timer
    of before are put back at the end. `seconds=None`, or more of them than `LONGEST`, never rings.
    """

    def __init__(self, seconds: float | None, ring: Callable[[], object]) -> None:
        self._seconds = seconds if seconds is not None and seconds <= LONGEST and can_interrupt() else None
        self._ring = ring
        self._armed = False
        self._before: tuple[Any, tuple[float, float]] | None = None

    def __enter__(self) -> Alarm:
        if self._seconds is not None:
            handler = signal.signal(signal.SIGALRM, self._strike)
            self._before = handler, (0.0, 0.0)  # known before the alarm can strike
            self._armed = True
            self._before = handler, signal.setitimer(signal.ITIMER_REAL, self._seconds, AGAIN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.disarm()

    def silence(self) -> None:
        """Never ring again, but leave handler and timer; for any thread, and inside the interrupted code."""
        self._armed = False

    def disarm(self) -> None:
        """Never ring again. Calling it twice does no harm."""
        self._armed = False
        if self._before is not None:
            handler, timer = self._before
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, signal.SIG_DFL if handler is None else handler)
            self._before = None

    def _strike(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler's arguments
        if self._armed:
            self._ring()

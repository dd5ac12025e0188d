"""How far a run may go, and how it is stopped there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from polarbear.validation import Positive, real, settings

if TYPE_CHECKING:
    from polarbear.protocols import Problem
    from polarbear.records import Axis


class Stop(BaseException):
    """The run is over: its budget is spent, its target reached or its time up.

    It derives from `BaseException`, as `KeyboardInterrupt` does, so that an optimizer's `except Exception` lets
    it through. Code that catches it all the same meets it again at the next evaluation.
    """


@settings(kw_only=True)
class Limits:
    """How far one run may go; None means no such limit.

    Attributes:
        evaluations: Evaluations the run may spend. The run ends with `Reason.BUDGET` in the call that spends them.
        seconds: Wall-clock seconds the run may spend, checked after each evaluation (`Reason.BUDGET`).
        target_precision: The run ends with `Reason.TARGET` once it is this close to the problem's known optimum.
        timeout: Hard limit of the run in wall-clock seconds (`Reason.TIMED_OUT`). It also interrupts an optimizer
            that evaluates nothing, and is meant for hangs, not for budgets.

    Raises:
        FieldError: If a limit is not a finite number above 0 (`target_precision`: at least 0), or `evaluations`
            is not whole.
    """

    evaluations: Positive | None = None
    seconds: Annotated[float, real(gt=0)] | None = None
    target_precision: Annotated[float, real(ge=0)] | None = None
    timeout: Annotated[float, real(gt=0)] | None = None

    def up_to(self, until: float, axis: Axis) -> Limits:
        """These limits, with a budget of evaluations or seconds."""
        return replace(self, evaluations=int(until)) if axis == "evaluations" else replace(self, seconds=until)


def known_optimum(problem: Problem) -> float | None:
    """The lowest minimized value of a problem, None if it is not known or not finite."""
    if problem.optimum is None or not np.isfinite(problem.optimum):
        return None
    optimum = float(problem.optimum)
    return optimum if problem.minimize else -optimum


def target_of(problem: Problem, limits: Limits, optimum: float | None) -> float | None:
    """The minimized value at which a run counts as solved, None for never; ValueError if the optimum is unknown."""
    if limits.target_precision is None:
        return None
    if optimum is None:
        raise ValueError(
            f"target_precision is {limits.target_precision!r}, but the optimum of {problem.name} is unknown "
            f"({problem.optimum!r}); leave target_precision out or state the problem's optimum"
        )
    return optimum + limits.target_precision

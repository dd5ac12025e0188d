"""What an optimizer calls instead of the problem: counts, keeps improvements, stops the run.

The optimizer is handed a plain function that carries the attributes `dimension`, `lower` and `upper`. A function is
chosen over an object with `__call__` because Python calls it about 0.1 µs faster; the evaluation that brings no
improvement and meets no limit touches three attributes and no clock. `python -m benchmarks.recorder` measures it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Real
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from polarbear.experiment.stop import Stop
from polarbear.records import FloatArray, Outcome, Reason, Trajectory

if TYPE_CHECKING:
    from polarbear.experiment.limits import Limits
    from polarbear.optimizers import Objective
    from polarbear.problems import Problem

UNLIMITED = sys.maxsize


class Recorder:
    """Records one run on one problem.

    Args:
        problem: What is optimized; maximization enters with its sign flipped.
        limits: Where the run ends.
        check_timeout: Check `limits.timeout` at each evaluation, for places where no alarm can interrupt the run.

    Attributes:
        objective: What to hand to the optimizer. A (d,) point gives a float and an (m, d) batch an (m,) array; NaN is
            returned as +inf. A batch is evaluated at once, its rows recorded in order with the time at its end.
        reason: Why the run was stopped, None while it goes on.
        target: The minimized value at which the run counts as solved, or None.
        optimum: The lowest minimized value there is, or None if it is not known.
        invalid: How many evaluations returned NaN.

    Raises:
        ValueError: If a target precision is given for a problem whose optimum is unknown.
    """

    __slots__ = (
        "_begun",
        "_best",
        "_call",
        "_deadline",
        "_ended",
        "_improvements",
        "_left",
        "_limit",
        "_limits",
        "_problem",
        "_sign",
        "invalid",
        "objective",
        "optimum",
        "reason",
        "target",
    )

    def __init__(self, problem: Problem, limits: Limits, *, check_timeout: bool = False) -> None:
        self._problem = problem
        self._sign = 1.0 if problem.minimize else -1.0
        self._limits = limits
        self._limit = self._left = UNLIMITED if limits.evaluations is None else int(limits.evaluations)
        self._call: Callable[[Any], Any] = problem.raw if problem.minimize else _negated(problem.raw)
        self._best = float("inf")
        self._improvements: list[tuple[int, float, float]] = []
        self._begun = perf_counter()
        self._deadline = float("inf")
        self._ended = (0, 0.0)
        self.invalid = 0
        self.reason: Reason | None = None
        self.optimum = _optimum(problem)
        self.target = _target(problem, limits, self.optimum)
        timed = limits.seconds is not None or (check_timeout and limits.timeout is not None)
        call: Any = self._timed_call() if timed else self._plain_call()
        call.dimension = problem.dimension
        call.lower = np.array(problem.lower, dtype=np.float64)
        call.upper = np.array(problem.upper, dtype=np.float64)
        self.objective: Objective = call

    @property
    def evaluations(self) -> int:
        """Evaluations spent so far."""
        return self._limit - self._left

    def start(self) -> None:
        """Start the clock; call it right before the optimizer."""
        self._begun = perf_counter()
        allowed = [limit for limit in (self._limits.seconds, self._limits.timeout) if limit is not None]
        self._deadline = self._begun + min(allowed, default=float("inf"))

    def stop(self, reason: Reason) -> NoReturn:
        """End the run for `reason`, unless it has ended before; every later evaluation raises as well.

        Raises:
            Stop: Always.
        """
        if self.reason is None:
            self.reason = reason
            self._ended = (self.evaluations, perf_counter() - self._begun)
            self._call = self._stop_again
        raise Stop(self.reason)

    def trajectory(self, reason: Reason = Reason.STOPPED, message: str = "", traceback: str = "") -> Trajectory:
        """What the run found.

        Args:
            reason: Why the run ended if nothing stopped it: what stopped it first is what counts.
            message: For the outcome, as `traceback`; dropped when the run was stopped.
            traceback: The exception's traceback when the run failed.
        """
        evaluations, seconds = self._ended
        if self.reason is None:
            evaluations, seconds = self.evaluations, perf_counter() - self._begun
        else:
            reason, message, traceback = self.reason, "", ""
        numbers, times, values = zip(*self._improvements, strict=True) if self._improvements else ((), (), ())
        # An alarm may have struck between the keeping of an improvement and the end of its evaluation.
        evaluations = max(evaluations, *numbers[-1:], 0)
        outcome = Outcome(reason, evaluations, max(seconds, *times[-1:], 0.0), message, traceback, self.invalid)
        return Trajectory(np.array(numbers, np.int64), np.array(times, float), np.array(values, float), outcome)

    def _plain_call(self) -> Callable[[Any], Any]:
        """The function an optimizer calls: as short as can be where nothing is improved and no limit met."""

        def objective(x: Any, /) -> Any:
            try:
                one_point = x.ndim == 1
            except AttributeError:
                one_point = False
            if not one_point:
                return self._unusual(x)
            try:
                value = self._call(x)
            except Exception:
                self._raised(x)
                raise
            self._left -= 1
            try:
                if value >= self._best and self._left:
                    return value
            except (TypeError, ValueError):
                pass  # no number: settle says so
            return self._settle(x, value)

        return objective

    def _timed_call(self) -> Callable[[Any], Any]:
        """As `_plain_call`, with a look at the clock after each evaluation."""
        evaluate = self._plain_call()

        def objective(x: Any, /) -> Any:
            value = evaluate(x)
            if perf_counter() >= self._deadline:
                self._stop_if_over(perf_counter())
            return value

        return objective

    def _settle(self, x: Any, result: Any) -> float:
        """Finish an evaluation that is not plain: an improvement, NaN, no number at all, or the last one."""
        value = result if type(result) is float else self._number(result)
        if value != value:  # NaN
            self._left += 1
            self._problem.diagnose(x)  # raises if the input was at fault: then nothing was evaluated
            self._left -= 1
            self.invalid += 1
            value = float("inf")
        now = perf_counter()
        if value < self._best:
            self._improvements.append((self.evaluations, now - self._begun, value))
            self._best = value
        self._stop_if_over(now)
        return value

    def _batch(self, points: FloatArray) -> FloatArray:
        """Evaluate an (m, d) batch: (m,) values. Only as many rows are evaluated as the budget has left."""
        if self.reason is not None:
            self.stop(self.reason)
        self._stop_if_over(0.0)
        points = points[: self._left]
        try:
            values = self._sign * np.asarray(self._problem(points), dtype=np.float64)
            if values.shape != (len(points),):
                raise TypeError(f"the objective returned shape {values.shape} for a batch of {len(points)} points")
        except Exception:
            self._raised(points)
            raise
        now = perf_counter()
        invalid = np.isnan(values)
        values[invalid] = np.inf
        solved = np.flatnonzero(values <= self.target) if self.target is not None else np.empty(0, np.int64)
        count = int(solved[0]) + 1 if solved.size else len(values)  # rows after the target are not part of the run
        before = np.minimum.accumulate(np.concatenate(([self._best], values[: count - 1])))
        spent = self.evaluations
        self._left -= count
        self.invalid += int(invalid[:count].sum())
        for row in np.flatnonzero(values[:count] < before).tolist():
            self._improvements.append((spent + row + 1, now - self._begun, float(values[row])))
        self._best = self._improvements[-1][2] if self._improvements else self._best
        self._stop_if_over(now)
        return values

    def _unusual(self, x: Any) -> Any:
        """Evaluate what is not a 1-D array: a batch, or a point or batch given as a list."""
        try:
            points = np.asarray(x)
        except ValueError:
            self._problem.diagnose(x)
            raise
        if points.ndim == 1:
            return self.objective(points)
        if points.ndim == 2:
            return self._batch(points)
        self._problem.diagnose(x)
        raise ValueError(f"the input has shape {points.shape}; give a (d,) point or an (m, d) batch of points")

    def _raised(self, x: Any) -> None:
        """Count an evaluation that raised, unless its input was at fault: then say so."""
        self._problem.diagnose(x)
        self._left -= len(x) if np.ndim(x) == 2 else 1
        self._stop_next_time_if_over()

    def _stop_if_over(self, now: float) -> None:
        if self.target is not None and self._best <= self.target:
            self.stop(Reason.TARGET)
        if not self._left:
            self.stop(Reason.BUDGET)
        if now >= self._deadline:
            seconds = self._limits.seconds
            self.stop(Reason.BUDGET if seconds is not None and now - self._begun >= seconds else Reason.TIMED_OUT)

    def _stop_next_time_if_over(self) -> None:
        """For an evaluation that ends with an exception of its own: the stop comes with the next one."""
        if not self._left or perf_counter() >= self._deadline:
            self._call = self._stop_now

    def _stop_again(self, x: Any) -> NoReturn:  # noqa: ARG002 - stands in for the problem
        raise Stop(self.reason)

    def _stop_now(self, x: Any) -> None:  # noqa: ARG002 - stands in for the problem
        self._stop_if_over(perf_counter())

    def _number(self, result: Any) -> float:
        if isinstance(result, Real) or _is_scalar_array(result):
            return float(result)
        self._stop_next_time_if_over()
        what = type(result).__name__
        if isinstance(result, np.ndarray):
            what += f" of shape {cast('np.ndarray[Any, Any]', result).shape}"
        raise TypeError(f"the objective returned {what} ({_shown(result)}); it has to return one real number")


def _negated(raw: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def negated(x: Any) -> Any:
        value = raw(x)
        try:
            return -value
        except TypeError:
            return value  # no number: the recorder says so

    return negated


def _is_scalar_array(result: Any) -> bool:
    return getattr(result, "shape", None) == () and getattr(getattr(result, "dtype", None), "kind", "O") in "fiub"


def _optimum(problem: Problem) -> float | None:
    if problem.optimum is None or not np.isfinite(problem.optimum):
        return None
    return problem.optimum if problem.minimize else -problem.optimum


def _target(problem: Problem, limits: Limits, optimum: float | None) -> float | None:
    if limits.target_precision is None:
        return None
    if optimum is None:
        raise ValueError(
            f"target_precision is {limits.target_precision!r}, but the optimum of {problem.name} is unknown "
            f"({problem.optimum!r}); leave target_precision out or state the problem's optimum"
        )
    return optimum + limits.target_precision


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

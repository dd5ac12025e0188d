"""The function that an optimizer calls instead of the problem: it counts, keeps improvements and stops the run.

The optimizer is given a plain function that carries the attributes of an `optimizers.Objective`. A function is
preferred to an object with `__call__` because Python calls it about 0.1 µs faster; an evaluation without improvement
that meets no limit touches three attributes and no clock. `python -m benchmarks.recorder` measures it. Runs that are
watched, and problems where the optimizer observes a value other than the recorded one, take a second, slower function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from numbers import Real
from time import perf_counter
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np

from polarbear.experiment.limits import Limits, Stop, known_optimum, target_of
from polarbear.experiment.logging_schedule import Log, Refused, Watch, is_scalar_array, offers
from polarbear.experiment.observations import OBJECTIVE, Constrained, Indicated, is_plain, judge, negated, trial_of
from polarbear.experiment.points import Points
from polarbear.problems.evaluation import unmasked
from polarbear.protocols import traits_of
from polarbear.records import FloatArray, Outcome, Parameters, Reason, Samples, Trajectory

if TYPE_CHECKING:
    from polarbear.optimizers import Objective
    from polarbear.problems import Problem, Trial

UNLIMITED = sys.maxsize
INFINITY = float("inf")
REFUSALS = 1000
"""Number of calls refused after the stop before `Recorder.unheeded` is called."""


class Recorder:
    """Records one run on one problem.

    Args:
        problem: The problem to optimize; maximization enters with its sign flipped.
        limits: The limits at which the run ends.
        check_timeout: Whether to check `limits.timeout` at each evaluation, where no alarm can interrupt the run.
        watch: When to log what the optimizer exposes and recommends, and which points to keep besides the best; None
            for none of these.
        noise: The random generator of a problem's trial, ``key.generator("noise")``.
        judged_by: The problem that evaluates recommended points; None for `problem` itself. Pass a copy of a problem
            that counts or remembers its evaluations.

    Attributes:
        objective: The function to pass to the optimizer. A (d,) point gives a float and an (m, d) batch an (m,) array;
            with k objectives, a (k,) and an (m, k) array. NaN is returned as +inf. A batch is evaluated at once, its
            rows recorded in order with the time at its end. If a problem has a `trial`, the optimizer observes one
            value and another one is recorded: nothing public leads from this function to the recorded values.
        reason: Why the run was stopped; None while it goes on.
        target: The minimized value at which the run counts as solved, or None.
        optimum: The lowest minimized value there is; None if it is unknown.
        invalid: Number of evaluations that returned NaN.
        unheeded: A function that is called once `REFUSALS` calls were refused after the stop, and at each further one:
            the optimizer catches whatever the objective raises and will not end by itself. None for no function.

    Raises:
        ValueError: If a target precision, or a watch on targets, is given for a problem whose optimum is unknown.
        AttributeError, TypeError, ValueError: As for `trial_of`.
    """

    __slots__ = (
        "_asking",
        "_begun",
        "_best",
        "_call",
        "_deadline",
        "_due",
        "_ended",
        "_improvements",
        "_limit",
        "_limits",
        "_log",
        "_points",
        "_problem",
        "_refused",
        "_remaining",
        "_rows",
        "_traits",
        "_trial",
        "invalid",
        "objective",
        "optimum",
        "reason",
        "target",
        "unheeded",
    )

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        *,
        check_timeout: bool = False,
        watch: Watch | None = None,
        noise: np.random.Generator | None = None,
        judged_by: Problem | None = None,
    ) -> None:
        self._problem, self._traits = problem, traits_of(problem)
        self._limits = limits
        self._limit = self._remaining = UNLIMITED if limits.evaluations is None else int(limits.evaluations)
        self._best = INFINITY
        self._improvements: list[tuple[int, float, float]] = []
        self._begun = perf_counter()
        self._deadline = INFINITY
        self._ended = (0, 0.0)
        self._asking = False
        self._refused = 0
        self.unheeded: Callable[[], object] | None = None
        self.invalid = 0
        self.reason: Reason | None = None
        self.optimum = known_optimum(problem)
        self.target = target_of(problem, limits, self.optimum)
        trial = self._trial = trial_of(problem, noise)
        self._call: Callable[[Any], Any] = trial
        self._rows: Callable[[FloatArray], tuple[Any, Any]] = trial.batch
        self._points = Points(problem.dimension, watch)
        self._log = None if watch is None else self._new_log(watch, judged_by or problem)
        self._due = self._next_due()
        timed = limits.seconds is not None or (check_timeout and limits.timeout is not None)
        if watch is None and is_plain(problem):
            self._call = problem.raw if problem.minimize else negated(problem.raw)
            evaluate = self._plain_call()
        else:
            evaluate = self._watched_call()
        self.objective: Objective = self._equipped(self._timed(evaluate) if timed else evaluate, trial)

    @property
    def evaluations(self) -> int:
        """Number of evaluations spent so far."""
        return self._limit - self._remaining

    def start(self) -> None:
        """Start the clock; call it right before the optimizer."""
        self._begun = perf_counter()
        allowed = [limit for limit in (self._limits.seconds, self._limits.timeout) if limit is not None]
        self._deadline = self._begun + min(allowed, default=INFINITY)

    def stop(self, reason: Reason) -> NoReturn:
        """End the run for `reason`, unless it has already ended; every later evaluation raises as well.

        Raises:
            Stop: Always.
        """
        if self.reason is not None:
            self._stop_again(None)
        self._call = self._stop_again  # first, as an alarm may fire between any two of these lines
        self._ended = (self.evaluations, perf_counter() - self._begun)
        self.reason = reason
        raise Stop(reason)

    @property
    def parameters(self) -> Parameters | None:
        """The parameters logged under the watch, if any."""
        return None if self._log is None else self._log.parameters()

    @property
    def samples(self) -> Samples | None:
        """The points kept under the watch, if any."""
        return self._points.samples

    @property
    def solution(self) -> FloatArray | None:
        """(d,) the best point or, with several objectives, (k, d) the nondominated ones; None if there are none."""
        if isinstance(self._trial, Indicated):
            return self._trial.solution
        return self._points.best(self._improvements[-1][0]) if self._improvements else None

    def trajectory(self, reason: Reason = Reason.STOPPED, message: str = "", traceback: str = "") -> Trajectory:
        """The trajectory of the run.

        Args:
            reason: Why the run ended if nothing stopped it; whatever stopped it first takes precedence.
            message: The outcome's message; like `traceback`, dropped if the run was stopped. Without a message, the
                outcome reports what could not be logged under the watch.
            traceback: The exception's traceback if the run failed.
        """
        evaluations, seconds = self._ended
        if self.reason is None:
            evaluations, seconds = self.evaluations, perf_counter() - self._begun
        else:
            reason, message, traceback = self.reason, "", ""
        if self._log is not None:
            message = message or self._log.note
        numbers, times, values = zip(*self._improvements, strict=True) if self._improvements else ((), (), ())
        # An alarm may have fired between the recording of an improvement and the end of its evaluation.
        evaluations = max(evaluations, *numbers[-1:], 0)
        outcome = Outcome(reason, evaluations, max(seconds, *times[-1:], 0.0), message, traceback, self.invalid)
        return Trajectory(np.array(numbers, np.int64), np.array(times, float), np.array(values, float), outcome)

    def _plain_call(self) -> Callable[[Any], Any]:
        """The function that an optimizer calls, as short as possible if nothing improves and no limit is met."""

        def objective(x: Any, /) -> Any:
            try:
                one_point = x.ndim == 1
            except AttributeError:
                one_point = False
            if not one_point:
                return self._unusual(x)
            try:
                value = self._call(x)
            except BaseException as error:
                self._raised(x, error)
                raise
            self._remaining -= 1
            try:
                if value >= self._best and self._remaining:
                    return value
            except (TypeError, ValueError):
                pass  # not a number: `_settle` reports it
            return self._settle(x, value, value)

        return objective

    def _watched_call(self) -> Callable[[Any], Any]:
        """As `_plain_call`, for watched runs and for optimizers that observe a value other than the recorded one."""

        def objective(x: Any, /) -> Any:
            try:
                one_point = x.ndim == 1
            except AttributeError:
                one_point = False
            if not one_point:
                return self._unusual(x)
            if self._asking:
                self._refuse()
            try:
                observed, value = self._call(x)
            except BaseException as error:
                self._raised(x, error)
                raise
            self._remaining -= 1
            try:
                if value >= self._best and observed <= INFINITY and self._remaining > self._due:
                    return observed
            except (TypeError, ValueError):
                pass  # not a number, or several objectives
            return self._settle(x, observed, value)

        return objective

    def _timed(self, evaluate: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """As `evaluate`, but checking the clock after each evaluation."""

        def objective(x: Any, /) -> Any:
            value = evaluate(x)
            if perf_counter() >= self._deadline:
                self._stop_if_over(perf_counter())
            return value

        return objective

    def _equipped(self, call: Any, trial: Trial) -> Objective:
        """The function with all attributes that an optimizer may see; they are plain functions, which lead nowhere."""

        def constraints(x: Any, /) -> FloatArray:
            return self._constraints(cast("Constrained", trial), x)

        call.dimension = self._problem.dimension
        call.lower = np.array(self._problem.lower, dtype=np.float64)
        call.upper = np.array(self._problem.upper, dtype=np.float64)
        call.traits = self._traits
        call.constraints = constraints if isinstance(trial, Constrained) else None
        call.expose, call.recommend = offers(self._log)
        return call

    def _improve(self, number: int, x: Any, now: float, value: float) -> None:
        self._points.improve(number, x)
        self._improvements.append((number, now - self._begun, value))
        self._best = value

    def _settle(self, x: Any, observed: Any, value: Any) -> Any:
        """Finish an evaluation that is an improvement, NaN or not a number, due for logging, or the last one."""
        value = value if type(value) is float else self._number(value)
        if self._traits.objectives == 1:
            observed = observed if type(observed) is float else self._number(observed)
            invalid = observed != observed
            observed = INFINITY if invalid else observed
        else:
            missing = np.isnan(observed)
            invalid = bool(missing.any())
            observed[missing] = np.inf
        if invalid or value != value:
            self._count_invalid(x)
            value = value if value == value else INFINITY
        since = len(self._improvements)
        if value < self._best:
            self._improve(self.evaluations, x, perf_counter(), value)
        self._points.sample(self.evaluations, x, value)
        self._look(since)
        self._stop_if_over(perf_counter())
        return observed

    def _count_invalid(self, x: Any) -> None:
        self._remaining += 1
        self._problem.diagnose(x)  # raises if the input was at fault, in which case nothing was evaluated
        self._remaining -= 1
        self.invalid += 1

    def _batch(self, points: FloatArray) -> Any:
        """Evaluate a batch (m, d): its values (m,). Only as many rows are evaluated as the budget has left."""
        self._refuse_if_over()
        points = points[: self._remaining]
        try:
            observed, values = self._evaluate_rows(points)
        except BaseException as error:
            self._raised(points, error)
            raise
        now = perf_counter()
        invalid = np.isnan(values) | (np.isnan(observed) if observed.ndim == 1 else np.isnan(observed).any(axis=1))
        values[np.isnan(values)] = np.inf
        observed[np.isnan(observed)] = np.inf
        solved = np.flatnonzero(values <= self.target) if self.target is not None else np.empty(0, np.int64)
        count = int(solved[0]) + 1 if solved.size else len(values)  # rows after the target are not part of the run
        before = np.minimum.accumulate(np.concatenate(([self._best], values[: count - 1])))
        spent, since = self.evaluations, len(self._improvements)
        self._remaining -= count
        self.invalid += int(invalid[:count].sum())
        for row in np.flatnonzero(values[:count] < before).tolist():
            self._improve(spent + row + 1, points[row], now, float(values[row]))
        for row in range(count if self._points.every else 0):
            self._points.sample(spent + row + 1, points[row], values[row])
        self._look(since)
        self._stop_if_over(now)
        return observed

    def _evaluate_rows(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The optimizer's observations of points (m, d), and their recorded values (m,), as new arrays."""
        observed, values = (np.array(unmasked(answer, OBJECTIVE), dtype=np.float64) for answer in self._rows(points))
        shape = (len(points),) if self._traits.objectives == 1 else (len(points), self._traits.objectives)
        for array, expected in ((values, shape[:1]), (observed, shape)):
            if array.shape != expected:
                raise TypeError(f"the objective returned shape {array.shape} for a batch of {len(points)} points")
        return observed, values

    def _constraints(self, trial: Constrained, x: Any) -> FloatArray:
        """The constraints of a point (c,) or batch (m, c): free for the points evaluated last; others cost one each.

        A point evaluated here for its constraints alone counts as an evaluation and brings no improvement. NaN is
        returned as +inf. The points evaluated last are those of the last call that cost an evaluation.
        """
        self._refuse_if_over()
        self._problem.diagnose(x)
        points = np.array(x, dtype=np.float64)
        spent = self.evaluations
        rows = [self._row_of_constraints(trial, row) for row in np.atleast_2d(points)]
        if self.evaluations > spent:
            trial.remember(points)
        return np.array(rows) if points.ndim == 2 else rows[0]

    def _row_of_constraints(self, trial: Constrained, x: FloatArray) -> FloatArray:
        if trial.knows(x):
            return trial.constraints(x)
        try:
            constraints = trial.constraints(x)
        except BaseException as error:
            self._raised(x, error)
            raise
        self._remaining -= 1
        self._look(len(self._improvements))
        self._stop_if_over(perf_counter())
        return constraints

    def _new_log(self, watch: Watch, judged_by: Problem) -> Log:
        value = judge(judged_by) if watch.recommendations else float
        return Log(watch, self.optimum, value, secret=self._traits.noisy)

    def _next_due(self) -> int:
        """Number of evaluations that remain when the next one is due for logging or sampling."""
        if self._log is None:
            return 0
        if self._log.every_time:
            return UNLIMITED
        return max(self._limit - min(self._log.next, self._points.next_after(self.evaluations)), 0)

    def _look(self, since: int) -> None:
        """Log what is due after the evaluations so far; the run's clock stands still meanwhile.

        Args:
            since: Number of improvements at the last call.
        """
        log = self._log
        if log is None:
            return
        if log.every_time or since < len(self._improvements) or self.evaluations >= log.next:
            begun = perf_counter()
            self._asking = True
            try:
                log.look(self.evaluations, self._improvements[since:])
            finally:
                self._asking = False
                spent = perf_counter() - begun
                self._begun += spent
                self._deadline += spent
        self._due = self._next_due()

    def _refuse(self) -> NoReturn:
        """Refuse an evaluation inside the getter of a parameter."""
        if self.reason is not None:
            self.stop(self.reason)
        raise Refused("a function that returns a parameter must not evaluate the problem")

    def _refuse_if_over(self) -> None:
        if self.reason is not None:
            self.stop(self.reason)
        if self._asking:
            self._refuse()
        self._stop_if_over(0.0)

    def _unusual(self, x: Any) -> Any:
        """Evaluate a batch, or a point or batch given as a list."""
        try:
            points = np.asarray(x)
        except ValueError:
            self._problem.diagnose(x)
            raise
        if points.ndim == 1:
            return self.objective(points)
        if points.ndim == 2:
            if len(points) == 1:  # evaluating it as a point takes a quarter of the time
                return np.array([self.objective(points[0])])
            return self._batch(points)
        self._problem.diagnose(x)
        raise ValueError(f"the input has shape {points.shape}; give a (d,) point or an (m, d) batch of points")

    def _raised(self, x: Any, error: BaseException) -> None:
        """Count an evaluation that raised, unless its input was at fault, which raises. A stop is not an evaluation."""
        if isinstance(error, Stop):
            return
        if isinstance(error, Exception):  # anything else, such as the user's Ctrl-C, is let through
            self._problem.diagnose(x)
        self._remaining -= len(x) if np.ndim(x) == 2 else 1
        self._stop_next_time_if_over()

    def _stop_if_over(self, now: float) -> None:
        if self.target is not None and self._best <= self.target:
            self.stop(Reason.TARGET)
        if not self._remaining:
            self.stop(Reason.BUDGET)
        if now >= self._deadline:
            seconds = self._limits.seconds
            self.stop(Reason.BUDGET if seconds is not None and now - self._begun >= seconds else Reason.TIMED_OUT)

    def _stop_next_time_if_over(self) -> None:
        """Make the next evaluation stop the run if it is over; the current one ends with its own exception."""
        self._look(len(self._improvements))
        if not self._remaining or perf_counter() >= self._deadline:
            self._call = self._stop_now

    def _stop_again(self, x: Any) -> NoReturn:  # noqa: ARG002 - stands in for the problem
        self._refused += 1
        if self._refused >= REFUSALS and self.unheeded is not None:
            self.unheeded()
        raise Stop(self.reason)

    def _stop_now(self, x: Any) -> None:  # noqa: ARG002 - stands in for the problem
        self._stop_if_over(perf_counter())

    def _number(self, result: Any) -> float:
        if (isinstance(result, Real) or is_scalar_array(result)) and not np.ma.is_masked(result):
            return float(result)
        self._stop_next_time_if_over()
        unmasked(result, OBJECTIVE)
        returned = type(result).__name__
        if isinstance(result, np.ndarray):
            returned += f" of shape {cast('np.ndarray[Any, Any]', result).shape}"
        raise TypeError(f"the objective returned {returned} ({_shown(result)}); it has to return one real number")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

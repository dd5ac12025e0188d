"""When to log an optimizer's parameters and its recommendation, and which points to keep.

An optimizer offers its parameters through ``problem.expose`` and its current recommendation through
``problem.recommend``; a `Watch` specifies the evaluations at which they are requested. A request costs no evaluation
and no time on the run's clock.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from numbers import Real
from typing import Annotated, Any, Literal

import numpy as np

from polarbear.descriptions import FieldError, did_you_mean, shortened
from polarbear.experiment.errors import described
from polarbear.records import RECOMMENDATION, Parameters
from polarbear.validation import Checked, Flag, Positive, settings, whole_number

NEVER = sys.maxsize
_LONGEST = 500
"""Maximum number of characters quoted from an exception."""


class Refused(BaseException):
    """Raised by an evaluation inside a parameter's getter. It is not counted, and the row holds NaN."""


def _moments(at: Any, name: str) -> tuple[int, ...]:
    if isinstance(at, (str, bytes)) or not np.iterable(at):
        raise TypeError(f"{name} is {at!r}; give the numbers of evaluations, such as (1, 10, 100)")
    return tuple(sorted({whole_number(number, name, 1) for number in at}))


def _names(parameters: Any, name: str) -> tuple[str, ...]:
    mend = "give names, such as ('step_size',), or None for all"
    if isinstance(parameters, str) or not np.iterable(parameters):
        raise TypeError(f"{name} is {parameters!r}; {mend}")
    names: tuple[Any, ...] = tuple(parameters)
    for parameter in names:
        if not isinstance(parameter, str) or not parameter:
            raise TypeError(f"{name} contains {parameter!r}; {mend}")
        if parameter == RECOMMENDATION:
            raise ValueError(f"{name} contains {parameter!r}; request it with recommendations=True")
        if names.count(parameter) > 1:
            raise ValueError(f"{name} contains {parameter!r} twice")
    return names


def _sampling(points: Any, name: str) -> int:
    if points == "all":
        return 1
    try:
        return whole_number(points, name, 1)
    except FieldError as error:
        message = f'{name} is {shortened(points)}: give a whole number of 1 or more, or "all"'
        raise type(error)((name,), message) from None


@settings(kw_only=True)
class Watch:
    """When to log an optimizer's parameters and recommendations, and which ones.

    A row is logged at each of the moments specified below. Parameters are requested after an evaluation but before the
    optimizer learns its value, so that a row describes the state in which the optimizer chose the point. Within a batch
    nothing can be requested; rows due there are logged after it, all with the same values, each under the evaluation at
    which it was due. Evaluations of constraints alone are counted and logged as well.

    Attributes:
        on_improvement: Whether to log each evaluation that improves the recorded value.
        every: Log each evaluation whose number is a multiple of this.
        at: Log these evaluations; kept in increasing order.
        per_decade: Log this many evaluations in each decade, evenly on a log scale: 10^(i/n), rounded, from 1.
        targets_per_decade: Log the evaluation at which the precision, the recorded value minus the known optimum, first
            reaches another of the targets 10^(i/n). The first evaluation reaches all the targets it meets.
        parameters: The exposed parameters to log, in this order; None for all except those exposed on request only,
            such as ``eigenvalue_1``. A parameter that is never exposed has NaN throughout. In a name, ``*`` stands for
            anything: ``"eigenvalue_*"`` for all exposed names that begin like this.
        recommendations: Whether to log the value of the recommended point as the parameter ``"recommendation"``: the
            minimized, noise-free value by which a run is judged; with several objectives, the indicator of the
            recommended points alone.
        points: Keep the points of evaluations whose number is a multiple of this, with their values, as `Run.samples`;
            1 or ``"all"`` for all of them. No moment is needed. The best point is kept in any case.

    Raises:
        FieldTypeError: If an attribute has the wrong type.
        FieldError: If a number is below 1, a parameter is named twice, or nothing would ever be logged.
    """

    on_improvement: Flag = False
    every: Positive | None = None
    at: Annotated[tuple[int, ...], Checked(_moments)] = ()
    per_decade: Positive | None = None
    targets_per_decade: Positive | None = None
    parameters: Annotated[tuple[str, ...], Checked(_names)] | None = None
    recommendations: Flag = False
    points: Annotated[int | Literal["all"], Checked(_sampling)] | None = None

    def __post_init__(self) -> None:
        moments = self.on_improvement or self.every or self.at or self.per_decade or self.targets_per_decade
        if not moments and not self.points:
            raise ValueError(
                "watch does not say when to log; give on_improvement=True, every, at, per_decade or "
                "targets_per_decade, or points to keep"
            )
        if self.parameters == () and not self.recommendations and not self.points:
            raise ValueError("watch names nothing to log; give parameters, or recommendations=True")

    def due_after(self, evaluations: int) -> int:
        """The next evaluation that is due by its number alone; `sys.maxsize` if there is none."""
        due = list(self.at[(i := bisect_right(self.at, evaluations)) : i + 1])
        if self.every:
            due.append((evaluations // self.every + 1) * self.every)
        if self.per_decade:
            due.append(_next_on_log_scale(evaluations, self.per_decade))
        return min(due, default=NEVER)


class Log:
    """The logged rows of one run.

    Args:
        watch: When and what to log.
        optimum: The lowest minimized value, if it is known.
        judge: A function that returns the minimized value of a recommended point and raises for anything else.
        secret: Whether to make requests at every evaluation, even if no row is due. This is needed if rows depend on
            values that the optimizer must not learn: a request would tell it that the noise-free value has improved.

    Attributes:
        next: The next evaluation that is due by its number alone.
        every_time: Whether `look` must be called at each evaluation.

    Raises:
        ValueError: If `watch` has targets and the optimum is unknown.
    """

    __slots__ = ("_chosen", "_failures", "_getters", "_judge", "_level", "_note", "_optimum", "_recommends", "_rows",
                 "_watch", "every_time", "next")  # fmt: skip

    def __init__(self, watch: Watch, optimum: float | None, judge: Callable[[Any], float], *, secret: bool) -> None:
        if watch.targets_per_decade and optimum is None:
            raise ValueError(
                f"watch targets_per_decade is {watch.targets_per_decade}, but the problem's optimum is unknown; leave "
                "targets_per_decade out or state the problem's optimum"
            )
        self._watch, self._optimum, self._judge = watch, optimum, judge
        self._getters: dict[str, Callable[[], Any]] = {}
        self._chosen: tuple[str, ...] | None = None
        self._recommends: Callable[[], Any] | None = None
        self._rows: dict[int, dict[str, float]] = {}
        self._level = NEVER
        self._failures, self._note = 0, ""
        self.next = watch.due_after(0)
        self.every_time = secret and (watch.on_improvement or watch.targets_per_decade is not None)

    def look(self, evaluations: int, improvements: Sequence[tuple[int, float, float]]) -> None:
        """Log whatever has become due.

        Args:
            evaluations: Number of evaluations made.
            improvements: Number, seconds and minimized value of each improvement since the last call.
        """
        due: set[int] = set()
        while self.next <= evaluations:
            due.add(self.next)
            self.next = self._watch.due_after(self.next)
        for number, _, value in improvements:
            if self._watch.on_improvement or self._passes_target(value):
                due.add(number)
        if due or self.every_time:
            self._take(sorted(due))

    def parameters(self) -> Parameters | None:
        """The rows; None if there are none, or they contain nothing."""
        names = [*self._names()]
        if self._watch.recommendations:
            names.append(RECOMMENDATION)
        if not names or not self._rows:
            return None
        numbers = sorted(self._rows)
        columns = {name: np.array([self._rows[n].get(name, np.nan) for n in numbers]) for name in names}
        return Parameters(np.array(numbers, np.int64), columns)

    @property
    def note(self) -> str:
        """A message on what could not be logged; empty if nothing was wrong."""
        notes: list[str] = []
        if missing := [name for name in self._watch.parameters or () if not self._matches(name)]:
            usual = self._usual()
            offered = did_you_mean(missing[0], usual) if usual else " it exposed nothing"
            notes.append(f"the optimizer never exposed {', '.join(map(repr, missing))};{offered}")
        if self._watch.recommendations and self._recommends is None:
            notes.append("the optimizer recommended no point")
        if self._note:
            notes.append(f"{self._note}; number of values logged as NaN: {self._failures}")
        return "; ".join(f"watch: {note}" for note in notes)

    def offer(self, name: str, getter: Callable[[], Any]) -> None:
        """Register a parameter, which replaces one of the same name."""
        self._getters[name] = getter
        self._chosen = None

    def offer_point(self, getter: Callable[[], Any]) -> None:
        """Register the function that returns the recommended point."""
        self._recommends = getter

    def _usual(self) -> list[str]:
        """The exposed parameters that are logged by default."""
        return [name for name, getter in self._getters.items() if not getattr(getter, "on_request", False)]

    def _matches(self, name: str) -> list[str]:
        """The exposed parameters that match a name of the watch."""
        return [exposed for exposed in self._getters if exposed == name or ("*" in name and fnmatchcase(exposed, name))]

    def _names(self) -> tuple[str, ...]:
        """The parameters to log, in order; named ones are included even if they are not exposed."""
        if self._chosen is None:
            names = self._watch.parameters
            if names is None:
                names = self._usual()
            else:
                names = chain.from_iterable(self._matches(name) or [name] * ("*" not in name) for name in names)
            self._chosen = tuple(dict.fromkeys(names))
        return self._chosen

    def _passes_target(self, value: float) -> bool:
        n = self._watch.targets_per_decade
        if n is None or self._optimum is None:
            return False
        level = _level(value - self._optimum, n)
        passes, self._level = level < self._level, level  # improvements only: it never rises
        return passes

    def _take(self, numbers: list[int]) -> None:
        row: dict[str, float] = {}
        for name in self._names():
            if name in self._getters:
                row[name] = self._answer(f"parameter {name!r}", self._getters[name], _number, numbers)
        if self._watch.recommendations and self._recommends is not None:
            judge = self._judge if numbers else _unread  # no row is due: the request is enough
            row[RECOMMENDATION] = self._answer("the recommendation", self._recommends, judge, numbers)
        self._rows.update(dict.fromkeys(numbers, row))

    def _answer(self, what: str, getter: Callable[[], Any], read: Callable[[Any], float], numbers: list[int]) -> float:
        try:
            value = read(getter())
            problem = "is NaN" if value != value else ""
        except (Exception, Refused) as error:  # noqa: BLE001 - an error in logging must not end the run
            value, problem = math.nan, f"raised {described(error)[:_LONGEST]}"
        if problem and numbers:
            self._failures += len(numbers)
            self._note = self._note or f"{what} {problem} at evaluation {numbers[0]}"
        return value


def offers(log: Log | None) -> tuple[Callable[..., None], Callable[[Callable[[], Any]], None]]:
    """The functions `expose` and `recommend` for an optimizer; without a log they only check their arguments."""

    def expose(**getters: Callable[[], Any]) -> None:
        for name, getter in getters.items():
            if name == RECOMMENDATION:
                raise ValueError(
                    f"expose: the name {RECOMMENDATION!r} is reserved for problem.recommend; choose another"
                )
            if not callable(getter):
                raise TypeError(
                    f"expose: {name} is {getter!r}; give a function that returns its value, such as lambda: ..."
                )
        if log is not None:
            for name, getter in getters.items():
                log.offer(name, getter)

    def recommend(getter: Callable[[], Any], /) -> None:
        if not callable(getter):
            raise TypeError(f"recommend: {getter!r} cannot be called; give a function that returns the point")
        if log is not None:
            log.offer_point(getter)

    return expose, recommend


def _next_on_log_scale(evaluations: int, per_decade: int) -> int:
    """The smallest of the numbers 10^(i/per_decade), rounded, above `evaluations`."""
    i = math.floor(per_decade * math.log10(evaluations)) if evaluations > 0 else 0
    while (number := round(_power(i, per_decade))) <= evaluations:
        i += 1
    return number


def _level(precision: float, per_decade: int) -> int:
    """The hardest target that a precision has reached: the smallest i with precision <= 10^(i/per_decade)."""
    if not 0 < precision < math.inf:
        return -NEVER if precision <= 0 else NEVER
    i = math.ceil(per_decade * math.log10(precision))
    while _power(i, per_decade) < precision:
        i += 1
    while _power(i - 1, per_decade) >= precision:
        i -= 1
    return i


def _power(i: int, per_decade: int) -> float:
    try:
        return 10.0 ** (i / per_decade)
    except OverflowError:
        return math.inf


def _number(value: Any) -> float:
    if isinstance(value, Real) or is_scalar_array(value):
        return float(value)
    raise TypeError(f"the function returned {type(value).__name__}; it has to return one real number")


def _unread(point: Any) -> float:  # noqa: ARG001 - stands in for a judge
    return math.nan


def is_scalar_array(result: Any) -> bool:
    """Whether `result` is a NumPy array or scalar that holds one real number."""
    return getattr(result, "shape", None) == () and getattr(getattr(result, "dtype", None), "kind", "O") in "fiub"

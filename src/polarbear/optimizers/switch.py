"""Switching from one optimizer to another within a run (Vermetten 2025, chapter 5)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from polarbear.descriptions import imported
from polarbear.optimizers.descriptions import as_optimizer
from polarbear.optimizers.driver import drive
from polarbear.optimizers.settings import differences, family, joined_name
from polarbear.optimizers.telemetry import end_step, expose, offer_warm_start
from polarbear.protocols import Objective, Reseedable, Traits, WarmStart, refusal, starts_from_others
from polarbear.records import FloatArray
from polarbear.validation import Checked, parse_number, real, set_fields, whole_number

REMEMBERED = 1000
"""Number of latest points that the second optimizer may take as its population."""

_NAMED = ("at", "value", "rule", "transfer")
"""The fields that appear in names, in this order."""


def _checked_at(at: Any, name: str) -> int | str:
    if not isinstance(at, str):
        return whole_number(at, name, 1)
    parse_number(at, dimension=1)
    return at.strip()


class Progress:
    """The progress of a run, as seen by switching rules.

    Attributes:
        evaluations: Number of evaluations so far.
        best: (d,) the best point; None before the first value.
        value: The objective value of `best`, lower is better; +inf before the first value.
    """

    def __init__(self) -> None:
        self.evaluations = 0
        self.best: FloatArray | None = None
        self.value = np.inf
        self._last: deque[tuple[FloatArray, float]] = deque(maxlen=REMEMBERED)
        self._offered: Callable[[], WarmStart] | None = None

    def add(self, point: FloatArray, value: float) -> None:
        """Record an evaluation."""
        self.evaluations += 1
        self._last.append((np.array(point), value if value == value else np.inf))
        if value < self.value:
            self.best, self.value = self._last[-1]

    def offer(self, getter: Callable[[], WarmStart]) -> None:
        """Accept the warm start that the optimizer itself offers."""
        self._offered = getter

    @property
    def latest(self) -> tuple[FloatArray, FloatArray]:
        """The latest points (m, d), at most 1,000, and their values (m,)."""
        return np.array([point for point, _ in self._last]), np.array([value for _, value in self._last])

    @property
    def warm_start(self) -> WarmStart:
        """What another optimizer can start from now."""
        start = WarmStart(evaluations=self.evaluations) if self._offered is None else self._offered()
        if start.population is None and self._last:
            points, values = self.latest
            start = replace(start, population=points, values=values)
        value = None if self.best is None else float(self.value)
        return replace(start, evaluations=self.evaluations, best=self.best, value=value)


@family("switch", kw_only=False)
class Switch:
    """Runs one optimizer and, after a switch, another one that starts from what the first has left.

    The switch takes place as soon as one of `at`, `value` and `rule` calls for it, or when the first optimizer ends by
    itself. Ask-and-tell optimizers and the modular CMA-ES complete their generation first; any other is stopped at its
    next evaluation. All state that the run exposes is that of the current optimizer, and ``stage`` is 1 or 2.

    Attributes:
        first: The first optimizer.
        second: The second optimizer, which must be able to start from another one unless `transfer` is "nothing".
        at: The number of evaluations after which to switch, or a multiple of the dimension, such as ``"10*d"``.
        transfer: What the second optimizer starts from: "everything" in the first one's state that it can use, only
            the "best" point, or "nothing", which is a fresh start.
        value: The objective value, lower is better, at which to switch.
        rule: A function that takes a `Progress` and returns whether to switch now, or its import path
            ``"module:function"``; called after each generation or evaluation.
        name: The optimizer's name; by default both optimizers' names and the fields that differ from their defaults.

    Raises:
        ValueError: If none of `at`, `value` and `rule` is given, or the second cannot start from another optimizer.
        TypeError: If `first` or `second` is not an optimizer.
    """

    first: Any
    second: Any
    at: Annotated[int | str, Checked(_checked_at)] | None = None
    transfer: Literal["everything", "best", "nothing"] = "everything"
    value: Annotated[float, real()] | None = None
    rule: Annotated[Callable[[Progress], bool], Checked(imported)] | None = None
    name: str = ""

    def __post_init__(self) -> None:
        first, second = as_optimizer(self.first), as_optimizer(self.second)
        if self.at is None and self.value is None and self.rule is None:
            raise ValueError("no switching condition is given; set at=1000, at='10*d', value=1e-3 or rule=function")
        if self.transfer != "nothing" and not starts_from_others(second):
            raise ValueError(
                f"{second.name} cannot start from another optimizer; set transfer='nothing', or give it a method "
                "run_from(problem, rng, start)"
            )
        set_fields(self, first=first, second=second)

    def default_name(self) -> str:
        """Both optimizers' names and the switching condition."""
        changed = differences(self, without=["first", "second"])
        if self.rule is not None:
            changed["rule"] = getattr(self.rule, "__name__", type(self.rule).__name__)
        ordered = {name: changed[name] for name in _NAMED if name in changed}
        return joined_name(f"{self.first.name}→{self.second.name}", ordered)

    @property
    def requires(self) -> Any:
        """The package that the optimizers need, a missing one first; None if they need none."""
        needed = [extra for each in (self.first, self.second) if (extra := getattr(each, "requires", None)) is not None]
        missing = (extra for extra in needed if not extra.installed)
        return next(missing, needed[0] if needed else None)

    @property
    def one_at_a_time(self) -> bool:
        """Whether runs of either optimizer within one process interfere with each other."""
        return any(getattr(each, "one_at_a_time", False) for each in (self.first, self.second))

    def refuses(self, traits: Traits, dimension: int, /) -> str:
        """The reason why one of them refuses problems of these traits and this dimension; empty if both accept them."""
        if traits.objectives > 1 or traits.constraints:
            return "switching needs a single objective without constraints; use the optimizers by themselves"
        return refusal(self.first, traits, dimension) or refusal(self.second, traits, dimension)

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Run the first optimizer until the switch, then the second one until the problem stops the run."""
        expose(problem, stage=lambda: 1.0)
        start = _run_until(self._is_due(problem.dimension), self.first, problem, rng).warm_start
        expose(problem, stage=lambda: 2.0)
        if self.transfer == "nothing":
            drive(self.second, problem, rng)
        elif self.transfer == "best":
            best = WarmStart(evaluations=start.evaluations, best=start.best, value=start.value)
            self.second.run_from(problem, rng, best)
        else:
            self.second.run_from(problem, rng, start)

    def _is_due(self, dimension: int) -> Callable[[Progress], bool]:
        at = np.inf if self.at is None else parse_number(str(self.at), dimension)
        value = -np.inf if self.value is None else self.value
        rule = self.rule
        return lambda now: now.evaluations >= at or now.value <= value or (rule is not None and bool(rule(now)))


@dataclass(frozen=True, kw_only=True)
class Branched:
    """A repetition of a recorded run that branches off after a given number of evaluations.

    The generator passed to it is not used: up to the branching point all random numbers are those of the recorded run;
    afterwards they come from a separate seed, the same whichever optimizer goes on. The branching takes place at the
    end of a generation of the first optimizer, as for a `Switch`: either its random states are reseeded (see
    `polarbear.protocols.Reseedable`), or the second optimizer takes over.

    Attributes:
        first: The optimizer of the recorded run.
        second: The optimizer that takes over; None if the first one continues.
        at: The number of evaluations after which to branch off.
        before: The seed of the recorded run's generator.
        after: The seed of the generator after the branching point.
        name: The optimizer's name.
    """

    first: Any
    second: Any
    at: int
    before: int
    after: int
    name: str

    @property
    def one_at_a_time(self) -> bool:
        """Whether runs of either optimizer within one process interfere with each other."""
        return any(getattr(each, "one_at_a_time", False) for each in (self.first, self.second))

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:  # noqa: ARG002 - see above
        """Repeat the recorded run up to the branching point, and continue from there."""
        own, new = (np.random.default_rng(np.random.SeedSequence(seed)) for seed in (self.before, self.after))
        stays = self.second is None
        renewed = False

        def is_due(now: Progress) -> bool:
            nonlocal renewed
            if renewed or now.evaluations < self.at:
                return False
            if stays:
                renewed = True
                own.bit_generator.state = new.bit_generator.state
                state = now.warm_start.state
                if isinstance(self.first, Reseedable) and state is not None:
                    self.first.reseed(state, own)
            return not stays

        progress = _run_until(is_due, self.first, problem, own)
        if not stays:
            self.second.run_from(problem, new, progress.warm_start)


def _run_until(
    is_due: Callable[[Progress], bool], optimizer: Any, problem: Objective, rng: np.random.Generator
) -> Progress:
    """Run an optimizer until a switch is due or it ends by itself."""
    watched = _Watched(problem, is_due, stepwise=getattr(optimizer, "ends_steps", False))
    try:
        drive(optimizer, watched, rng)
    except Switched as switched:
        if switched.watched is not watched:  # raised for an enclosing switch
            raise
    return watched.progress


class Switched(BaseException):
    """Raised when the switch is due; no `Exception`, like the run's own stop.

    Attributes:
        watched: The watched problem whose optimizer must end.
    """

    def __init__(self, watched: _Watched) -> None:
        super().__init__("the run goes on with another optimizer")
        self.watched = watched


class _Watched:
    """The problem as the first optimizer sees it.

    Args:
        problem: The problem.
        is_due: A function that returns whether to switch.
        stepwise: Whether the optimizer reports the end of each generation; otherwise it is stopped at an evaluation.
    """

    def __init__(self, problem: Objective, is_due: Callable[[Progress], bool], *, stepwise: bool) -> None:
        self.progress = Progress()
        self._problem: Any = problem
        self._is_due, self._stepwise = is_due, stepwise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def __call__(self, x: Any) -> Any:
        """Evaluate one point (d,) or a batch (m, d).

        Raises:
            Switched: If the switch is due.
        """
        points = np.asarray(x)
        if points.ndim == 1:
            return self._value(points)
        if not self._stepwise:
            return np.array([self._value(point) for point in points])
        values = self._problem(x)
        for point, value in zip(points, values, strict=True):
            self.progress.add(point, float(value))
        return values

    def _value(self, point: FloatArray) -> float:
        if not self._stepwise and self.progress.evaluations and self._is_due(self.progress):
            raise Switched(self)
        value = self._problem(point)
        self.progress.add(point, float(value))
        return value

    def offer_warm_start(self, getter: Callable[[], WarmStart]) -> None:
        """Keep the warm start that the optimizer offers, and pass it on."""
        self.progress.offer(getter)
        offer_warm_start(self._problem, getter)

    def step_ended(self) -> None:
        """Report the end of the optimizer's generation.

        Raises:
            Switched: If the switch is due.
        """
        end_step(self._problem)
        if self._is_due(self.progress):
            raise Switched(self)

"""Restarts with growing budgets, for optimizers whose behaviour depends on the budget."""

from __future__ import annotations

import dataclasses
import math
import re
from typing import Annotated, Any

import numpy as np

from polarbear.descriptions import did_you_mean
from polarbear.optimizers.descriptions import as_optimizer
from polarbear.optimizers.driver import drive
from polarbear.optimizers.settings import differences, family, joined_name
from polarbear.optimizers.telemetry import expose
from polarbear.protocols import Objective, Optimizer, Traits, refusal
from polarbear.records import FloatArray
from polarbear.validation import Checked, real, set_fields, whole_number

GREATEST = 2**62
"""The largest budget; budgets grow no further."""

_MULTIPLE = re.compile(r"(?:([0-9]+(?:\.[0-9]+)?)\s*\*\s*)?d")


def _checked_first(first: Any, name: str) -> float | str:
    if not isinstance(first, str):
        return whole_number(first, name, 1, GREATEST)
    multiple = _MULTIPLE.fullmatch(first.strip().lower())
    if multiple is None or float(multiple[1] or 1) == 0:
        raise ValueError(f"{name} is {first!r}; it must be a number, or a multiple of the dimension such as '10*d'")
    return multiple[0]


@family("growing-budgets", kw_only=False)
class GrowingBudgets:
    """A family A(b) of optimizers: runs A(b1), A(b2), … one after the other, endlessly, with growing budgets b.

    This is the anybudget procedure of Hansen et al. (2022), section I with footnote 3: an optimizer that takes the
    budget as an input is run with increasing budgets. Here they all form a single run, so that the evaluations spent
    with smaller budgets count; with factor r, this costs at most r/(r-1) times the last budget. Each A(b) ends after at
    most b evaluations and starts afresh, with the run's random generator. All state that the optimizer exposes is that
    of the current A(b); in addition, ``budget`` is exposed.

    Attributes:
        family: The family A: an optimizer of this package or a dataclass of your own.
        argument: The argument of A that takes the budget, a whole number of evaluations.
        first: The first budget b1: a number of evaluations, or a multiple of the dimension, such as ``"10*d"``.
        factor: The ratio of successive budgets, above 1; budgets are rounded up.
        name: The optimizer's name; by default "growing", A's name, in parentheses if A is itself a `GrowingBudgets`,
            and the fields that differ from their defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    family: Any
    argument: str = "budget"
    first: Annotated[float | str, Checked(_checked_first)] = "10*d"
    factor: Annotated[float, real(ge=1.0 + 1e-6, le=1e6)] = 2.0
    name: str = ""

    def __post_init__(self) -> None:
        optimizer = as_optimizer(self.family)
        if not dataclasses.is_dataclass(optimizer):
            raise TypeError(f"family is {optimizer!r}; it must be a dataclass, since it is built anew for each budget")
        valid = [field.name for field in dataclasses.fields(optimizer) if field.init and field.name != "name"]
        if self.argument not in valid:
            raise ValueError(f"{optimizer.name} has no argument {self.argument!r};{did_you_mean(self.argument, valid)}")
        set_fields(self, family=optimizer)
        self.member(self.budgets(2)[0])

    def default_name(self) -> str:
        """A's name after "growing", followed by the fields that differ from their defaults."""
        inner = f"({self.family.name})" if isinstance(self.family, GrowingBudgets) else self.family.name
        return joined_name(f"growing-{inner}", differences(self, without=["family"]))

    def budgets(self, dimension: int, count: int = 1) -> tuple[int, ...]:
        """The first `count` budgets b1, b2, … on a problem of `dimension` variables."""
        multiple = _MULTIPLE.fullmatch(self.first) if isinstance(self.first, str) else None
        exact = float(multiple[1] or 1) * dimension if multiple else float(self.first)
        budgets = [max(math.ceil(exact), 1)]
        while len(budgets) < count:
            budgets.append(self._next(budgets[-1]))
        return tuple(budgets)

    def _next(self, budget: int) -> int:
        return min(math.ceil(budget * self.factor), GREATEST)

    def member(self, budget: int) -> Optimizer:
        """The optimizer A(b)."""
        return dataclasses.replace(self.family, **{self.argument: budget})

    @property
    def requires(self) -> Any:
        """The package that A needs; None if it needs none."""
        return getattr(self.family, "requires", None)

    @property
    def one_at_a_time(self) -> bool:
        """Whether runs of A within one process interfere with each other."""
        return getattr(self.family, "one_at_a_time", False)

    def refuses(self, traits: Traits, dimension: int, /) -> str:
        """The reason why A refuses problems of these traits and this dimension; empty if it accepts them."""
        return refusal(self.family, traits, dimension)

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Run A(b1), A(b2), … until the problem stops the run or one of them evaluates nothing."""
        (budget,) = self.budgets(problem.dimension)
        while True:
            share = Share(problem, budget)
            expose(problem, budget=lambda budget=budget: float(budget))
            try:
                drive(self.member(budget), share, rng)
            except Spent as spent:
                if spent.share is not share:
                    raise
            if not share.spent:
                return
            budget = self._next(budget)


class Spent(BaseException):
    """Raised when a share of the run's evaluations is spent; no `Exception`, like the run's own stop.

    Attributes:
        share: The share that is spent.
    """

    def __init__(self, share: Share) -> None:
        super().__init__("the share of the run's evaluations is spent")
        self.share = share


class Share:
    """A problem limited to `budget` evaluations, which otherwise behaves like the problem itself.

    Args:
        problem: The problem.
        budget: Maximum number of evaluations.

    Attributes:
        spent: Number of evaluations made. Rows of a batch beyond the budget are not evaluated. Evaluating constraints
            at a point other than the last one counts.
    """

    def __init__(self, problem: Objective, budget: int) -> None:
        self.spent = 0
        self._problem: Any = problem
        self._budget = budget
        self._last: FloatArray | None = None
        self.constraints = None if getattr(problem, "constraints", None) is None else self._constraints

    def __getattr__(self, name: str) -> Any:
        return getattr(self._problem, name)

    def __call__(self, x: Any) -> Any:
        """Evaluate one point (d,) or a batch (m, d).

        Raises:
            Spent: If no evaluation remains, or a batch has more rows than evaluations remain.
        """
        points = np.asarray(x)
        remaining = self._budget - self.spent
        if remaining <= 0:
            raise Spent(self)
        if points.ndim != 2:
            self.spent += 1
            self._last = np.array(points)
            return self._problem(x)
        self.spent += min(len(points), remaining)
        self._last = np.array(points[-1]) if len(points) else self._last
        values = self._problem(points[:remaining])
        if len(points) > remaining:
            raise Spent(self)
        return values

    def _constraints(self, x: Any) -> Any:
        if self._last is None or not np.array_equal(x, self._last):
            if self.spent >= self._budget:
                raise Spent(self)
            self.spent += 1
            self._last = np.array(x)
        return self._problem.constraints(x)

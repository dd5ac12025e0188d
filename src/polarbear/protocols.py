"""What every problem, distribution of problems and optimizer looks like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records import FloatArray, Instance


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """What optimizers and experiments have to know of a problem beyond its box.

    Attributes:
        integers: (d,) which variables take whole numbers only; None: none.
        objectives: How many objectives an evaluation gives.
        constraints: How many constraints there are; g(x) <= 0 where they hold.
        noisy: Whether two evaluations of one point may differ.
    """

    integers: NDArray[np.bool_] | None = None
    objectives: int = 1
    constraints: int = 0
    noisy: bool = False


PLAIN = Traits()
"""One real-valued, noiseless objective of real variables without constraints."""


def traits_of(problem: Any) -> Traits:
    """A problem's traits; `PLAIN` for a problem that tells none.

    Raises:
        TypeError: If its attribute `traits` is something else.
    """
    traits = getattr(problem, "traits", PLAIN)
    if not isinstance(traits, Traits):
        raise TypeError(f"the traits of {problem!r} are {traits!r}; give polarbear.problems.Traits(...)")
    return traits


class Box(Protocol):
    """Where points may lie."""

    @property
    def dimension(self) -> int:
        """Number of variables d."""
        ...

    @property
    def lower(self) -> FloatArray:
        """(d,) lower ends of the box."""
        ...

    @property
    def upper(self) -> FloatArray:
        """(d,) upper ends of the box."""
        ...


class Problem(Box, Protocol):
    """A function to optimize inside a box; call it with one point or with a batch of points."""

    @property
    def name(self) -> str:
        """What it is called, such as ``"bbob-f3-i1-d5"``."""
        ...

    @property
    def optimum(self) -> float | None:
        """The best objective value if it is known, in the problem's own sense; else None."""
        ...

    @property
    def minimize(self) -> bool:
        """Whether low values are good."""
        ...

    @property
    def raw(self) -> Callable[[FloatArray], float]:
        """The cheapest call with one (d,) float64 point.

        It checks nothing it need not check: a NaN result means that the input was bad or that the objective
        is NaN there, and `diagnose` tells which.
        """
        ...

    def diagnose(self, x: object) -> None:
        """Raise a TypeError or ValueError that says what is wrong with `x`; return if nothing is."""
        ...

    def __call__(self, x: Any) -> Any:
        """Evaluate one point, (d,) -> float, or a batch of m points, (m, d) -> (m,) float64."""
        ...


@runtime_checkable
class ProblemSpec(Protocol):
    """Says which problem to build: a frozen, hashable, picklable value that loads no library until `build`.

    One of a suite says which by an attribute `identity`, an `Instance`, which its name may abbreviate.
    """

    @property
    def name(self) -> str:
        """The instance's unique name."""
        ...

    def build(self) -> Problem:
        """Construct the problem; done in the process that evaluates it."""
        ...


def identity_of(problem: ProblemSpec) -> Instance:
    """The suite, function, dimension and instance of a problem: its `identity`, else what its name tells.

    Raises:
        TypeError: If its attribute `identity` is something else.
    """
    identity = getattr(problem, "identity", None)
    if identity is None:
        return Instance.parse(problem.name)
    if not isinstance(identity, Instance):
        raise TypeError(f"the identity of {problem.name} is {identity!r}; give a polarbear.records.Instance")
    return identity


@runtime_checkable
class Instances(Protocol):
    """A distribution of problem instances: a seeded stream in which an index always names the same instance."""

    @property
    def size(self) -> int | None:
        """How many instances there are; None if the stream is endless."""
        ...

    def __getitem__(self, index: int, /) -> ProblemSpec:
        """The instance at `index` (from 0); IndexError if it is negative or past the end of a finite list."""
        ...


class Trial(Protocol):
    """One run's view of a problem that tells the optimizer something else than what the run is judged by."""

    def __call__(self, x: FloatArray, /) -> tuple[Any, float]:
        """Evaluate one point (d,): what the optimizer is told, and the value the run is judged by."""
        ...

    def batch(self, points: FloatArray, /) -> tuple[Any, FloatArray]:
        """Evaluate (m, d) points: what the optimizer is told, row by row, and the (m,) values it is judged by."""
        ...


@runtime_checkable
class Tried(Protocol):
    """A problem that gives each run a `Trial` of its own."""

    def trial(self, rng: np.random.Generator, /) -> Trial:
        """A fresh trial whose chance, if there is any, comes from `rng` alone."""
        ...


class Objective(Box, Protocol):
    """What an optimizer sees of a problem: a function to minimize inside a box, and nothing about the budget.

    Call it from one thread at a time.
    """

    @property
    def traits(self) -> Traits:
        """Which variables are whole numbers, how many objectives and constraints, noise."""
        ...

    @property
    def constraints(self) -> Callable[[Any], FloatArray] | None:
        """The c constraints of a point, (d,) -> (c,), or batch, (m, d) -> (m, c); they hold at 0 and below.

        Free for the points that were evaluated last, by the objective or for their constraints; one evaluation for each
        other point. None if there are none.
        """
        ...

    def expose(self, **getters: Callable[[], float]) -> None:
        """Offer parameters for logging: for each name a function that gives the present value.

        It may be called again with further names, or to replace a function. A function with a true attribute
        ``on_request``, such as those of `components`, is called only where its name is asked for. The functions are
        called in the middle of an evaluation, after the point was evaluated and before its value is returned; they may
        not evaluate points.

        Raises:
            TypeError: If a getter cannot be called.
            ValueError: If a parameter is called ``recommendation``.
        """
        ...

    def recommend(self, getter: Callable[[], ArrayLike], /) -> None:
        """Offer the point (d,) that the optimizer would return now; with several objectives also (m, d) points.

        The function is called when those of `expose` are.

        Raises:
            TypeError: If it cannot be called.
        """
        ...

    def __call__(self, x: Any) -> Any:
        """Evaluate one point, (d,) -> float, or a batch, (m, d) -> (m,). Low values are good.

        With k objectives a point gives (k,) and a batch (m, k).
        """
        ...


@runtime_checkable
class CallableOptimizer(Protocol):
    """An anytime optimizer that loops by itself: it evaluates the problem until it is stopped, or until it is done.

    The stop is an exception outside `Exception`, raised by the evaluation; optimizers let it pass. All their
    randomness comes from `rng`. They are frozen values that can be pickled. One whose runs disturb each other within a
    process, as its package has a state of its own there, says so by an attribute `one_at_a_time` that is true.
    """

    @property
    def name(self) -> str:
        """What it is called within a study."""
        ...

    def __call__(self, problem: Any, rng: np.random.Generator, /) -> object:
        """Optimize `problem`; what it returns is ignored, what it evaluated counts."""
        ...


@runtime_checkable
class AskTellOptimizer(Protocol):
    """An anytime optimizer by ask and tell; a driver evaluates for it, see `polarbear.optimizers.drive`.

    The optimizer is its settings, a frozen value that can be pickled; where a run stands is the state. A state that was
    passed on is spent: go on with the one returned. `one_at_a_time` says what it says of a `CallableOptimizer`.
    """

    @property
    def name(self) -> str:
        """What it is called within a study."""
        ...

    def init(self, problem: Any, rng: np.random.Generator, /) -> Any:
        """The state of a run that begins, in the box of `problem` and for its traits; it evaluates nothing.

        All of the run's randomness comes from `rng`.
        """
        ...

    def ask(self, state: Any, /) -> tuple[Any, Any]:
        """What to evaluate next, and the state: a point (d,) or a batch (m, d), which is empty if the run has ended."""
        ...

    def tell(self, state: Any, points: Any, values: Any, /) -> Any:
        """The state after the values of what was asked, low is good: a number for a point, (m,) for a batch.

        With k objectives they are (k,) or (m, k). An optimizer with a true attribute `takes_constraints` is given the
        c constraints of problems that have some as a further argument, (c,) or (m, c); they hold at 0 and below.
        """
        ...


Optimizer: TypeAlias = CallableOptimizer | AskTellOptimizer
"""What can be raced."""


@runtime_checkable
class Observable(Protocol):
    """An `AskTellOptimizer` whose states tell something for logging."""

    def diagnostics(self, state: Any, /) -> Mapping[str, Callable[[Any], float]]:
        """For each name what reads it from a state of the same run; names do not change in the course of a run.

        One with a true attribute ``on_request`` is read only where its name is asked for.
        """
        ...


@runtime_checkable
class Resumable(Protocol):
    """An `AskTellOptimizer` whose states can be kept: a run restored goes on as if it had not been interrupted."""

    def save(self, state: Any, /) -> bytes:
        """A state as bytes; the state itself stays as it is.

        Raises:
            TypeError: It holds what cannot be kept.
        """
        ...

    def restore(self, saved: bytes, /) -> Any:
        """The state that was saved, by an optimizer of equal settings."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WarmStart:
    """What another optimizer can start from, in the problem's coordinates; None is what there is not.

    Attributes:
        evaluations: How many values were told so far.
        best: (d,) the point of the lowest value told.
        value: That value.
        mean: (d,) the mean m of the search distribution N(m, σ²C).
        step_size: σ.
        covariance: (d, d) C.
        population: (m, d) the points that the next ones are made from.
        values: (m,) their values, or (m, k).
    """

    evaluations: int
    best: FloatArray | None = None
    value: float | None = None
    mean: FloatArray | None = None
    step_size: float | None = None
    covariance: FloatArray | None = None
    population: FloatArray | None = None
    values: FloatArray | None = None


@runtime_checkable
class Transferable(Protocol):
    """An `AskTellOptimizer` of whose states another optimizer can take something over."""

    def warm_start(self, state: Any, /) -> WarmStart:
        """What there is to start from."""
        ...


@runtime_checkable
class Particular(Protocol):
    """An optimizer that does not take every problem, and says so. Studies ask before anything runs."""

    def refuses(self, traits: Traits, dimension: int, /) -> str:
        """Why it takes no problem of these traits and so many variables; empty if it takes them."""
        ...


def refusal(optimizer: Any, traits: Traits, dimension: int) -> str:
    """Why an optimizer takes no problem of these traits and so many variables.

    Returns:
        One sentence for people; empty if it takes them, or is not `Particular`.
    """
    return optimizer.refuses(traits, dimension) if isinstance(optimizer, Particular) else ""

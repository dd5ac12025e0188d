"""The interfaces of problems, distributions of problems and optimizers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polarbear.records import FloatArray, Instance


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """Properties of a problem, beyond its box, that optimizers and experiments depend on.

    Attributes:
        integers: (d,) mask of the integer variables; None if there are none.
        objectives: Number of objective values per evaluation.
        constraints: Number of constraints; a point is feasible where all g(x) <= 0.
        noisy: Whether two evaluations of one point may differ.
    """

    integers: NDArray[np.bool_] | None = None
    objectives: int = 1
    constraints: int = 0
    noisy: bool = False

    @property
    def integer_mask(self) -> NDArray[np.bool_] | None:
        """(d,) mask of the integer variables; None if all are real."""
        return self.integers if self.integers is not None and self.integers.any() else None


PLAIN = Traits()
"""One noiseless objective of real variables, without constraints."""


def traits_of(problem: Any) -> Traits:
    """The attribute `traits` of a problem; `PLAIN` if it has none.

    Raises:
        TypeError: If the attribute is not a `Traits`.
    """
    traits = getattr(problem, "traits", PLAIN)
    if not isinstance(traits, Traits):
        raise TypeError(f"the traits of {problem!r} are {traits!r}; give polarbear.problems.Traits(...)")
    return traits


class Box(Protocol):
    """The search space: an interval for each variable."""

    @property
    def dimension(self) -> int:
        """Number of variables d."""
        ...

    @property
    def lower(self) -> FloatArray:
        """(d,) lower bounds."""
        ...

    @property
    def upper(self) -> FloatArray:
        """(d,) upper bounds."""
        ...


class Problem(Box, Protocol):
    """A function to optimize inside a box; call it with one point or with a batch of points."""

    @property
    def name(self) -> str:
        """The problem's name, such as ``"bbob-f3-i1-d5"``."""
        ...

    @property
    def optimum(self) -> float | None:
        """The best objective value, not negated if the problem is maximized; None if unknown."""
        ...

    @property
    def minimize(self) -> bool:
        """Whether lower values are better."""
        ...

    @property
    def raw(self) -> Callable[[FloatArray], float]:
        """The fastest way to evaluate one (d,) float64 point.

        It may skip input checks: NaN means that the point is invalid or that the objective is NaN there, and
        `diagnose` tells which.
        """
        ...

    def diagnose(self, x: object) -> None:
        """Raise a TypeError or ValueError that says why `x` is not a valid point; return if it is."""
        ...

    def __call__(self, x: Any) -> Any:
        """Evaluate one point, (d,) -> float, or a batch of m points, (m, d) -> (m,) float64."""
        ...


@runtime_checkable
class ProblemSpec(Protocol):
    """A description of a problem to build: a frozen, hashable, picklable value that loads no library until `build`.

    A problem of a suite states its suite, function, dimension and instance in an attribute `identity`, an `Instance`.
    """

    @property
    def name(self) -> str:
        """The instance's unique name."""
        ...

    def build(self) -> Problem:
        """Construct the problem, in the process that evaluates it."""
        ...


def identity_of(problem: ProblemSpec) -> Instance:
    """The suite, function, dimension and instance of a problem: its `identity`, else parsed from its name.

    Raises:
        TypeError: If its attribute `identity` is not an `Instance`.
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
        """Number of instances; None if the stream is endless."""
        ...

    def __getitem__(self, index: int, /) -> ProblemSpec:
        """The instance at `index` (from 0); IndexError if it is negative or past the end of a finite list."""
        ...


class Trial(Protocol):
    """One run's view of a problem on which the optimizer sees other values than those that the run is judged by."""

    def __call__(self, x: FloatArray, /) -> tuple[Any, float]:
        """Evaluate one point (d,): the value the optimizer sees, and the value the run is judged by."""
        ...

    def batch(self, points: FloatArray, /) -> tuple[Any, FloatArray]:
        """Evaluate (m, d) points: what the optimizer sees, row by row, and the (m,) values the run is judged by."""
        ...


@runtime_checkable
class Tried(Protocol):
    """A problem that gives each run its own `Trial`."""

    def trial(self, rng: np.random.Generator, /) -> Trial:
        """Start a trial, whose randomness comes from `rng` alone."""
        ...


class Objective(Box, Protocol):
    """What an optimizer sees of a problem: a function to minimize inside a box, and nothing about the budget.

    Call it from one thread at a time.
    """

    @property
    def traits(self) -> Traits:
        """Integer variables, number of objectives and constraints, noise."""
        ...

    @property
    def constraints(self) -> Callable[[Any], FloatArray] | None:
        """The function that gives the c constraint values of a point, (d,) -> (c,), or batch, (m, d) -> (m, c).

        A constraint holds where its value is at most 0. The points evaluated last, by the objective or by this
        function, are free; any other point costs one evaluation. None if there are no constraints.
        """
        ...

    def expose(self, **getters: Callable[[], float]) -> None:
        """Offer parameters for logging, each as a function that returns its current value.

        Call it again to add names or to replace functions. A function with a true attribute ``on_request``, such as
        those of `components`, is called only if its name is requested. The functions are called during an evaluation,
        after the point is evaluated and before its value is returned; they must not evaluate points.

        Raises:
            TypeError: If a getter cannot be called.
            ValueError: If a parameter is called ``recommendation``.
        """
        ...

    def recommend(self, getter: Callable[[], ArrayLike], /) -> None:
        """Offer a function that returns the point (d,) the optimizer would recommend now.

        With several objectives it may also return (m, d) points. It is called together with those of `expose`.

        Raises:
            TypeError: If `getter` cannot be called.
        """
        ...

    def __call__(self, x: Any) -> Any:
        """Evaluate one point, (d,) -> float, or a batch, (m, d) -> (m,). Lower values are better.

        With k objectives a point gives (k,) values and a batch (m, k).
        """
        ...


@runtime_checkable
class CallableOptimizer(Protocol):
    """An anytime optimizer with its own loop: it evaluates the problem until it is stopped or done.

    To stop it, the evaluation raises an exception that is not an `Exception`; the optimizer must not catch it. All its
    randomness comes from `rng`. It is a frozen, picklable value. If its library has global state, so that runs within
    one process disturb each other, its attribute `one_at_a_time` is true.
    """

    @property
    def name(self) -> str:
        """The optimizer's name within a study."""
        ...

    def __call__(self, problem: Any, rng: np.random.Generator, /) -> object:
        """Optimize `problem`; only the evaluations count, the return value is ignored."""
        ...


@runtime_checkable
class AskTellOptimizer(Protocol):
    """An anytime optimizer with an ask-and-tell interface; `polarbear.optimizers.drive` evaluates its points.

    The optimizer is a frozen, picklable value that holds the settings; the state holds a run's progress. Methods may
    change the state they receive in place: continue with the one they return. For `one_at_a_time` see
    `CallableOptimizer`.
    """

    @property
    def name(self) -> str:
        """The optimizer's name within a study."""
        ...

    def init(self, problem: Any, rng: np.random.Generator, /) -> Any:
        """The initial state of a run, for the box and the traits of `problem`, which is not evaluated.

        All randomness of the run comes from `rng`.
        """
        ...

    def ask(self, state: Any, /) -> tuple[Any, Any]:
        """The next point (d,) or batch (m, d), which is empty once the run has ended; and the state."""
        ...

    def tell(self, state: Any, points: Any, values: Any, /) -> Any:
        """The state after an update with the points' values, of which lower is better.

        They are a number for a point and (m,) for a batch; with k objectives (k,) or (m, k). If the problem has c
        constraints, an optimizer with a true attribute `takes_constraints` receives their values, (c,) or (m, c), as a
        further argument; a constraint holds where its value is at most 0.
        """
        ...


Optimizer: TypeAlias = CallableOptimizer | AskTellOptimizer
"""Anything that can be raced."""


@runtime_checkable
class Observable(Protocol):
    """An `AskTellOptimizer` with parameters to log."""

    def diagnostics(self, state: Any, /) -> Mapping[str, Callable[[Any], float]]:
        """For each parameter a function that reads it from any state of the run; the names never change within a run.

        A function with a true attribute ``on_request`` is called only if its name is requested.
        """
        ...


@runtime_checkable
class Resumable(Protocol):
    """An `AskTellOptimizer` whose states can be saved: a restored run continues as if it had not been interrupted."""

    def save(self, state: Any, /) -> bytes:
        """The state as bytes; the state itself is unchanged.

        Raises:
            TypeError: If the state holds something that cannot be saved.
        """
        ...

    def restore(self, saved: bytes, /) -> Any:
        """The state saved by an optimizer with equal settings."""
        ...


@runtime_checkable
class Reseedable(Protocol):
    """An optimizer whose library has random generators of its own, seeded from the run's generator."""

    def reseed(self, state: Any, rng: np.random.Generator, /) -> None:
        """Reseed the library's generators in `state`, in place: all further randomness derives from `rng`."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WarmStart:
    """What an optimizer leaves for another one to start from, in the problem's coordinates; None where unknown.

    Attributes:
        evaluations: Number of evaluations so far.
        best: (d,) the best point evaluated.
        value: Objective value of `best`.
        mean: (d,) mean m of the search distribution N(m, σ²C).
        step_size: Step size σ of the search distribution.
        covariance: (d, d) covariance matrix C of the search distribution.
        population: (m, d) points from which the next ones are generated.
        values: (m,) objective values of `population`, or (m, k) with k objectives.
        optimizer: The optimizer that left these values.
        state: That optimizer's own state, for another optimizer of the same kind.
    """

    evaluations: int
    best: FloatArray | None = None
    value: float | None = None
    mean: FloatArray | None = None
    step_size: float | None = None
    covariance: FloatArray | None = None
    population: FloatArray | None = None
    values: FloatArray | None = None
    optimizer: Any = None
    state: Any = None


@runtime_checkable
class Transferable(Protocol):
    """An `AskTellOptimizer` from whose states another optimizer can start."""

    def warm_start(self, state: Any, /) -> WarmStart:
        """What another optimizer can start from."""
        ...


@runtime_checkable
class Continuing(Protocol):
    """An optimizer that can start where another one has ended.

    A switch to equal settings changes nothing, bit for bit; otherwise an attribute `switch_cost` says how many
    evaluations are lost at most: a number, a multiple of the dimension such as ``"10*d"``, or ``"all"`` before the
    switch. An optimizer that has the method but cannot start there has an attribute ``starts_from_others = False``.
    """

    def run_from(self, problem: Any, rng: np.random.Generator, start: WarmStart, /) -> None:
        """Optimize `problem` as a call does, starting from as much of `start` as the optimizer can use."""
        ...


def starts_from_others(optimizer: Any) -> bool:
    """Whether the optimizer can start where another one has ended."""
    return isinstance(optimizer, Continuing) and getattr(optimizer, "starts_from_others", True)


@runtime_checkable
class Particular(Protocol):
    """An optimizer that accepts only some problems and says which. Studies ask before anything runs."""

    def refuses(self, traits: Traits, dimension: int, /) -> str:
        """Why it does not accept problems with these traits and this dimension; empty if it does."""
        ...


def refusal(optimizer: Any, traits: Traits, dimension: int) -> str:
    """Why an optimizer does not accept problems with these traits and this dimension.

    Returns:
        A sentence for users; empty if it accepts them, or is not `Particular`.
    """
    return optimizer.refuses(traits, dimension) if isinstance(optimizer, Particular) else ""

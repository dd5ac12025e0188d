"""What the optimizers here that work by ask and tell have in common."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import cloudpickle
import numpy as np
from numpy.typing import ArrayLike

from polarbear.optimizers.adapters import constraints as constraints_of
from polarbear.optimizers.adapters import has_nan
from polarbear.optimizers.driver import ask_and_tell
from polarbear.protocols import PLAIN, Traits, WarmStart, refusal, traits_of
from polarbear.records import FloatArray


class Space:
    """A box and what else an optimizer has to know of a problem; take one where there is no problem.

    Args:
        lower: (d,) lower ends of the box.
        upper: (d,) upper ends of the box.
        traits: Which variables are whole numbers, how many objectives and constraints there are.

    Raises:
        ValueError: The ends are not finite, or a lower one is not below its upper one.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, traits: Traits = PLAIN) -> None:
        ends = np.broadcast_arrays(np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64))
        self.lower, self.upper, self.traits = ends[0].copy(), ends[1].copy(), traits
        given = f"lower is {lower!r} and upper is {upper!r}"
        if self.lower.ndim != 1 or not np.isfinite(ends).all():
            raise ValueError(f"{given}; give the (d,) finite ends of a box")
        if not (self.lower < self.upper).all():
            raise ValueError(f"{given}; lower has to be below upper everywhere")

    @classmethod
    def of(cls, problem: Any) -> Space:
        """That of a problem; its constraints count only where it tells their values."""
        if isinstance(problem, Space):
            return problem
        traits = traits_of(problem)
        return cls(problem.lower, problem.upper, traits if constraints_of(problem) else replace(traits, constraints=0))

    @property
    def dimension(self) -> int:
        """Number of variables d."""
        return len(self.lower)


@dataclass(kw_only=True, eq=False)
class State:
    """Where a run stands; each optimizer adds what is its own.

    Attributes:
        space: Where it searches.
        asked: What is to be evaluated, until its values are told and taken.
        constraints: What was told of them with these values.
        evaluations: How many values were told.
        best: (d,) the point of the lowest value told, with one objective.
        value: That value.
        ended: Whether the run has ended by itself.
    """

    space: Space
    asked: FloatArray | None = field(default=None, init=False)
    constraints: FloatArray | None = field(default=None, init=False)
    evaluations: int = field(default=0, init=False)
    best: FloatArray | None = field(default=None, init=False)
    value: float = field(default=np.inf, init=False)
    ended: bool = field(default=False, init=False)


S = TypeVar("S", bound=State)


class Native(ABC, Generic[S]):
    """An optimizer by ask and tell, see `polarbear.protocols.AskTellOptimizer`; called, it is driven.

    Its states are kept by pickling: restore only what you have saved yourself.
    """

    name: str
    one_by_one: ClassVar[bool] = False
    takes_constraints: ClassVar[bool] = False

    @abstractmethod
    def _begin(self, space: Space, rng: np.random.Generator) -> S:
        """The first state."""

    @abstractmethod
    def _next(self, state: S) -> FloatArray:
        """What to evaluate next: a point (d,) or a batch (m, d)."""

    def _take(self, state: S, values: Any) -> None:
        """Take the values of `state.asked`, which are not NaN; nothing follows from them if this is left as it is."""

    def __call__(self, problem: Any, rng: np.random.Generator) -> None:
        """Optimize until the problem stops it, or until it ends by itself.

        Raises:
            ValueError: The optimizer does not take the problem.
            ImportError: A package is not installed.
        """
        ask_and_tell(self, problem, rng)

    def init(self, problem: Any, rng: np.random.Generator) -> S:
        """The state of a run that begins.

        Args:
            problem: What has the box and the traits: a problem, or a `Space`. It is not evaluated.
            rng: Where all randomness of the run comes from.

        Raises:
            ValueError: The optimizer does not take the problem.
            ImportError: A package is not installed.
        """
        space = Space.of(problem)
        if why := refusal(self, space.traits, space.dimension):
            raise ValueError(why)
        return self._begin(space, rng)

    def ask(self, state: S) -> tuple[FloatArray, S]:
        """What to evaluate next, the same until its values are told; empty if the run has ended."""
        if state.asked is None:
            state.asked = np.empty((0, state.space.dimension)) if state.ended else self._next(state)
        return state.asked, state

    def tell(self, state: S, points: ArrayLike, values: ArrayLike, constraints: ArrayLike | None = None) -> S:
        """The state after the values of what was asked.

        Args:
            state: The state that `ask` returned.
            points: What was asked: (d,) or (m, d).
            values: A number or (m,), low is good; with k objectives (k,) or (m, k). +inf where there is none.
            constraints: With c constraints (c,) or (m, c), at 0 and below where they hold.

        Raises:
            RuntimeError: Nothing was asked.
            ValueError: The points are not those asked for, a shape is wrong, or a value is NaN.
        """
        asked, traits = state.asked, state.space.traits
        if asked is None:
            raise RuntimeError("there is nothing to tell the values of; call ask(state) first")
        if points is not asked and not np.array_equal(points, asked):
            raise ValueError(f"points of shape {np.shape(points)} are not those that ask gave, of shape {asked.shape}")
        values = _checked(values, "values", asked, traits.objectives if traits.objectives > 1 else None)
        if constraints is not None:
            state.constraints = _checked(constraints, "constraints", asked, traits.constraints)
        elif traits.constraints and self.takes_constraints:
            raise ValueError(f"the problem has {traits.constraints} constraints; tell their values as `constraints`")
        count(state, asked, values)
        self._take(state, values)
        state.asked = state.constraints = None
        return state

    def warm_start(self, state: S) -> WarmStart:
        """What another optimizer can start from."""
        value = state.value if state.best is not None else None
        return WarmStart(evaluations=state.evaluations, best=state.best, value=value)

    def save(self, state: S) -> bytes:
        """A state as bytes; the state itself stays as it is.

        Raises:
            TypeError: The package's own state cannot be pickled.
        """
        try:
            return cloudpickle.dumps(state)
        except (TypeError, ValueError, AttributeError, pickle.PicklingError) as error:
            raise TypeError(f"a state of {self.name} cannot be saved: {error}") from error

    def restore(self, saved: bytes) -> S:
        """The state that was saved by an optimizer of equal settings. Restore only what you have saved yourself."""
        return pickle.loads(saved)


def _checked(told: ArrayLike, what: str, asked: FloatArray, width: int | None) -> Any:
    """What was told of points as an array, or a float: `width` numbers each, or one if that is None; none is NaN."""
    if type(told) is float and told == told and asked.ndim == 1 and width is None:
        return told
    array = np.asarray(told, dtype=np.float64)
    shape = asked.shape[:-1] if width is None else (*asked.shape[:-1], width)
    if array.shape != shape:
        raise ValueError(f"the {what} have shape {array.shape}; for what was asked it is {shape}")
    if has_nan(array):
        where = f" at {np.argwhere(np.isnan(array))[0].tolist()}" if shape else ""
        raise ValueError(f"the {what} are NaN{where}; tell +inf where there is no value")
    return array if shape else float(array)


def count(state: State, points: FloatArray, values: Any) -> None:
    """Add to the evaluations, and keep the best point if there is one objective."""
    batch = points.ndim == 2
    state.evaluations += len(points) if batch else 1
    if state.space.traits.objectives == 1:
        row = values.argmin() if batch else ()
        if (value := values[row] if batch else values) < state.value:
            state.best, state.value = np.array(points[row]), float(value)

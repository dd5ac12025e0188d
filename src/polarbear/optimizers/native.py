"""The base class of ask-and-tell optimizers: it checks values, counts evaluations and saves states."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, TypeVar

import cloudpickle
import numpy as np
from numpy.typing import ArrayLike

from polarbear.optimizers.archives import constraint_values, has_nan
from polarbear.optimizers.driver import ask_and_tell
from polarbear.protocols import PLAIN, Traits, WarmStart, refusal, traits_of
from polarbear.quantities import plural
from polarbear.records import FloatArray

GREATEST = 1e100
"""Bound on absolute values for most libraries: the squared difference of two such values is finite."""


class Space:
    """A box and the traits of a problem, for use where there is no problem.

    Args:
        lower: (d,) lower bounds.
        upper: (d,) upper bounds.
        traits: Integer variables, and numbers of objectives and constraints.

    Raises:
        ValueError: If the bounds are not finite, or a lower bound is not below its upper bound.
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike, traits: Traits = PLAIN) -> None:
        bounds = np.broadcast_arrays(np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64))
        self.lower, self.upper, self.traits = bounds[0].copy(), bounds[1].copy(), traits
        box = f"lower is {lower!r} and upper is {upper!r}"
        if self.lower.ndim != 1 or not np.isfinite(bounds).all():
            raise ValueError(f"{box}; they must be finite and of shape (d,)")
        if not (self.lower < self.upper).all():
            raise ValueError(f"{box}; lower must be below upper everywhere")

    @classmethod
    def of(cls, problem: Any) -> Space:
        """The space of a problem; its constraints count only if it provides their values."""
        if isinstance(problem, Space):
            return problem
        traits = traits_of(problem)
        return cls(
            problem.lower, problem.upper, traits if constraint_values(problem) else replace(traits, constraints=0)
        )

    @property
    def dimension(self) -> int:
        """Number of variables d."""
        return len(self.lower)


@dataclass(kw_only=True, eq=False)
class State:
    """The state of a run; each optimizer adds its own attributes.

    Attributes:
        space: The search space.
        asked: The points to evaluate; None once their values have been told.
        constraints: The constraint values told for these points.
        evaluations: Number of values told.
        best: (d,) the best point, if there is one objective.
        value: The objective value of `best`.
        ended: Whether the run has ended by itself.
    """

    space: Space
    asked: FloatArray | None = field(default=None, init=False)
    constraints: FloatArray | None = field(default=None, init=False)
    evaluations: int = field(default=0, init=False)
    best: FloatArray | None = field(default=None, init=False)
    value: float = field(default=np.inf, init=False)
    ended: bool = field(default=False, init=False)

    def count(self, points: FloatArray, values: Any) -> None:
        """Count evaluations and, with one objective, update the best point."""
        batch = points.ndim == 2
        self.evaluations += len(points) if batch else 1
        if self.space.traits.objectives == 1:
            row = values.argmin() if batch else ()
            if (value := values[row] if batch else values) < self.value:
                self.best, self.value = np.array(points[row]), float(value)


S = TypeVar("S", bound=State)


class SingleObjective:
    """An optimizer that minimizes a single objective; see `polarbear.protocols.Particular`."""

    def refuses(self, traits: Traits, dimension: int, /) -> str:  # noqa: ARG002 - other optimizers need it
        """The reason why it refuses problems of these traits and this dimension; empty if it accepts them."""
        if traits.objectives == 1:
            return ""
        return (
            f"{type(self).__name__} minimizes one objective; the problem has {traits.objectives}; "
            "use one for several, such as pymoo's NSGA2"
        )


def check_suitable(optimizer: Any, problem: Any) -> None:
    """Raise a ValueError unless an optimizer accepts a problem."""
    if reason := refusal(optimizer, traits_of(problem), problem.dimension):
        raise ValueError(reason)


class Native(ABC, Generic[S]):
    """An ask-and-tell optimizer, see `polarbear.protocols.AskTellOptimizer`; calling it runs the driver.

    States are saved by pickling: restore only those that you have saved yourself.
    """

    name: str
    one_by_one: ClassVar[bool] = False
    ends_steps: ClassVar[bool] = True
    takes_constraints: ClassVar[bool] = False

    @abstractmethod
    def _init(self, space: Space, rng: np.random.Generator) -> S:
        """The initial state."""

    @abstractmethod
    def _ask(self, state: S) -> FloatArray:
        """The next point (d,) or batch (m, d)."""

    def _tell(self, state: S, values: Any) -> None:
        """Update the state with the values of `state.asked`, none of which is NaN; by default, do nothing."""

    def __call__(self, problem: Any, rng: np.random.Generator) -> None:
        """Optimize until the problem stops the run or the optimizer ends by itself.

        Raises:
            ValueError: If the optimizer refuses the problem.
            ImportError: If a required package is not installed.
        """
        ask_and_tell(self, problem, rng)

    def init(self, problem: Any, rng: np.random.Generator) -> S:
        """The initial state of a run.

        Args:
            problem: A problem, which is not evaluated, or a `Space`.
            rng: The random generator, the only source of randomness in the run.

        Raises:
            ValueError: If the optimizer refuses the problem.
            ImportError: If a required package is not installed.
        """
        space = Space.of(problem)
        check_suitable(self, space)
        return self._init(space, rng)

    def ask(self, state: S) -> tuple[FloatArray, S]:
        """The points to evaluate next, unchanged until their values are told; empty once the run has ended."""
        if state.asked is None:
            state.asked = np.empty((0, state.space.dimension)) if state.ended else self._ask(state)
        return state.asked, state

    def tell(self, state: S, points: ArrayLike, values: ArrayLike, constraints: ArrayLike | None = None) -> S:
        """The state after receiving the values of the points asked for.

        Args:
            state: The state that `ask` returned.
            points: The points that `ask` returned: (d,) or (m, d).
            values: A number or (m,), lower is better; with k objectives, (k,) or (m, k). +inf where a value is missing.
            constraints: With c constraints, (c,) or (m, c); at most 0 where they hold.

        Raises:
            RuntimeError: If `ask` was not called.
            ValueError: If the points are not those of `ask`, a shape is wrong, or a value is NaN.
        """
        asked, traits = state.asked, state.space.traits
        if asked is None:
            raise RuntimeError("no points were asked for; call ask(state) before tell")
        if points is not asked and not np.array_equal(points, asked):
            raise ValueError(
                f"points of shape {np.shape(points)} are not those that ask returned, of shape {asked.shape}"
            )
        values = _checked(values, "values", asked, traits.objectives if traits.objectives > 1 else None)
        if constraints is not None:
            state.constraints = _checked(constraints, "constraints", asked, traits.constraints)
        elif traits.constraints and self.takes_constraints:
            raise ValueError(
                f"the problem has {plural(traits.constraints, 'constraint')}; pass the values to tell as `constraints`"
            )
        state.count(asked, values)
        self._tell(state, values)
        state.asked = state.constraints = None
        return state

    def warm_start(self, state: S) -> WarmStart:
        """What another optimizer can start from."""
        value = state.value if state.best is not None else None
        return WarmStart(evaluations=state.evaluations, best=state.best, value=value, optimizer=self, state=state)

    def save(self, state: S) -> bytes:
        """A state as bytes; the state itself stays unchanged.

        Raises:
            TypeError: If the library's own state cannot be pickled.
        """
        try:
            return cloudpickle.dumps(state)
        except (TypeError, ValueError, AttributeError, pickle.PicklingError) as error:
            raise TypeError(f"a state of {self.name} cannot be saved: {error}") from error

    def restore(self, saved: bytes) -> S:
        """A state saved by an optimizer of equal settings. Restore only what you have saved yourself."""
        return pickle.loads(saved)


class Continuable(Native[S]):
    """An optimizer that can start from another one's warm start, see `polarbear.protocols.Continuing`."""

    @abstractmethod
    def _warm(self, state: S, start: WarmStart) -> None:
        """Adapt the initial state of a run to another optimizer's warm start."""

    def run_from(self, problem: Any, rng: np.random.Generator, start: WarmStart) -> None:
        """Optimize from another optimizer's warm start; if its settings are equal, take over its state itself."""
        if type(start.optimizer) is type(self) and _equal_settings(start.optimizer, self):
            state = start.state
        else:
            state = self.init(problem, rng)
            self._warm(state, start)
        ask_and_tell(self, problem, rng, state)


def _equal_settings(first: Any, second: Any) -> bool:
    """Whether two optimizers of the same class differ in their names alone."""
    return {**vars(first), "name": ""} == {**vars(second), "name": ""}


def _checked(values: ArrayLike, what: str, points: FloatArray, width: int | None) -> Any:
    """Values of points as an array or a float, `width` numbers per point, or one if it is None; none may be NaN."""
    if type(values) is float and values == values and points.ndim == 1 and width is None:
        return values
    array = np.asarray(values, dtype=np.float64)
    shape = points.shape[:-1] if width is None else (*points.shape[:-1], width)
    if array.shape != shape:
        raise ValueError(f"the {what} have shape {array.shape}; to match the points from ask, it must be {shape}")
    if has_nan(array):
        where = f" at {np.argwhere(np.isnan(array))[0].tolist()}" if shape else ""
        raise ValueError(f"the {what} are NaN{where}; use +inf where there is no value")
    return array if shape else float(array)


def clip_values(values: Any, bound: float = GREATEST) -> FloatArray:
    """`values` clipped to [-`bound`, `bound`], with NaN as `bound`, for libraries that fail at infinite values."""
    return np.clip(np.nan_to_num(np.array(values, dtype=np.float64), nan=bound), -bound, bound)

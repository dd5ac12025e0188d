"""An ask-and-tell interface for any optimizer: it returns the points to evaluate and takes their values."""

from __future__ import annotations

import contextvars
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from polarbear.extras import optional
from polarbear.optimizers.descriptions import as_optimizer
from polarbear.optimizers.driver import drive
from polarbear.optimizers.native import Space, State
from polarbear.protocols import PLAIN, AskTellOptimizer, CallableOptimizer, Optimizer, Traits, WarmStart, traits_of
from polarbear.records import FloatArray


class AskTell:
    """An optimizer driven step by step from outside.

    The optimizer runs unchanged in its own greenlet, which is suspended during each evaluation. Hence it evaluates,
    bit for bit, the same points as in a run with the same generator and the same values. Use it from one thread. It
    ends and cleans up after itself when it is closed or no longer referenced. Optimizers that share state within a
    process (`modcma` has a single random state) share it here too: step one `ModularCMAES` at a time.

    Args:
        optimizer: Any optimizer.
        lower: (d,) lower bounds.
        upper: (d,) upper bounds.
        rng: The random generator, the only source of randomness.
        traits: The problem's traits; by default one real objective without constraints.

    Raises:
        ImportError: If `greenlet` is not installed.
        ValueError: If `lower` and `upper` do not form a box.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lower: ArrayLike,
        upper: ArrayLike,
        rng: np.random.Generator,
        *,
        traits: Traits | None = None,
    ) -> None:
        self._greenlet: Any = optional("greenlet", "asktell", "this optimizer")
        self._state = State(space=Space(lower, upper, PLAIN if traits is None else traits))
        self._problem = _SuspendingProblem(self._greenlet, self._state.space)
        self._run = self._greenlet.greenlet(partial(drive, optimizer, self._problem, rng))
        self._run.gr_context = contextvars.copy_context()
        self._points: FloatArray | None = None
        self._end = weakref.finalize(self, _end, self._greenlet, self._run)

    def ask(self) -> FloatArray:
        """The point (d,) to evaluate next, or a batch (m, d) if the optimizer evaluates batches.

        The answer stays the same until its value is told. The first call starts the optimizer.

        Raises:
            RuntimeError: If the optimizer has ended.
            Exception: Whatever the optimizer raises.
        """
        if (points := self.wanted()) is None:
            raise RuntimeError("the optimizer has ended and asks for no more points; see the attribute done")
        return points

    def wanted(self) -> FloatArray | None:
        """The same as `ask`, or None if the optimizer has ended."""
        if self._points is None and not self.done:
            self._resume()
        return None if self._points is None else self._points.copy()

    def tell(self, value: ArrayLike) -> None:
        """Tell the optimizer the value of the points asked for last; lower is better, and NaN counts as +inf.

        The optimizer continues until its next evaluation.

        Args:
            value: A number for a point, (m,) for a batch; with several objectives, one more axis.

        Raises:
            RuntimeError: If `ask` was not called.
            ValueError: If the value has the wrong shape.
            Exception: Whatever the optimizer raises.
        """
        if self._points is None:
            raise RuntimeError("no point was asked for; call ask() before tell")
        values = np.array(value, dtype=np.float64)
        shape = self._points.shape[:-1] + self._problem.objectives
        if values.shape != shape:
            raise ValueError(f"the value has shape {values.shape}; to match the points from ask, it must be {shape}")
        values[np.isnan(values)] = np.inf
        value = values if values.ndim else float(values)
        self._state.count(self._points, value)
        self._resume(value)

    @property
    def evaluations(self) -> int:
        """Number of values told."""
        return self._state.evaluations

    @property
    def done(self) -> bool:
        """Whether the optimizer has ended, by itself or because it was closed."""
        return bool(self._run.dead) or not self._end.alive

    @property
    def parameters(self) -> dict[str, float]:
        """The current values of the parameters that the optimizer exposes, except those available on request only."""
        getters = self._problem.getters.items()
        return {name: float(getter()) for name, getter in getters if not getattr(getter, "on_request", False)}

    @property
    def recommendation(self) -> FloatArray | None:
        """(d,) the point it would return now, or (m, d) points with several objectives; None if it offers none."""
        return None if self._problem.recommended is None else np.array(self._problem.recommended(), dtype=np.float64)

    @property
    def warm_start(self) -> WarmStart:
        """What another optimizer can start from: the best point and whatever the optimizer offers."""
        state, offered = self._state, self._problem.warm_start
        start = WarmStart(evaluations=0) if offered is None else offered()
        value = None if state.best is None else state.value
        return replace(start, evaluations=state.evaluations, best=state.best, value=value)

    def close(self) -> None:
        """End the optimizer."""
        self._points = None
        self._end()

    def __enter__(self) -> AskTell:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _resume(self, *value: Any) -> None:
        self._run.parent = self._greenlet.getcurrent()
        self._points = None
        points = self._run.switch(*value)
        self._points = None if self._run.dead else points


@dataclass(frozen=True)
class SteppedOptimizer:
    """A callable optimizer with the methods `init`, `ask` and `tell`; its state is an `AskTell`.

    Attributes:
        optimizer: The optimizer.
    """

    optimizer: CallableOptimizer

    @property
    def name(self) -> str:
        """The optimizer's name."""
        return self.optimizer.name

    def init(self, problem: Any, rng: np.random.Generator) -> AskTell:
        """The initial state of a run in the box of `problem`."""
        return AskTell(self.optimizer, problem.lower, problem.upper, rng, traits=traits_of(problem))

    def ask(self, state: AskTell) -> tuple[FloatArray, AskTell]:
        """The points to evaluate next; an empty batch if the optimizer has ended."""
        points = state.wanted()
        return (np.empty((0, 0)) if points is None else points), state

    def tell(self, state: AskTell, points: ArrayLike, values: ArrayLike) -> AskTell:
        """The state after receiving the values of the points asked for."""
        if not np.array_equal(points, state.ask()):
            raise ValueError(f"points of shape {np.shape(points)} are not those that ask returned")
        state.tell(values)
        return state

    def warm_start(self, state: AskTell) -> WarmStart:
        """What another optimizer can start from."""
        return state.warm_start


def as_ask_tell(optimizer: Any) -> AskTellOptimizer:
    """An optimizer with `init`, `ask` and `tell`: the given one if it has them, else one stepped by an `AskTell`.

    Raises:
        TypeError: As for `as_optimizer`.
    """
    optimizer = as_optimizer(optimizer)
    return optimizer if isinstance(optimizer, AskTellOptimizer) else SteppedOptimizer(optimizer)


class _SuspendingProblem:
    """The problem as the optimizer sees it: an evaluation switches to the greenlet that asked."""

    constraints = None

    def __init__(self, greenlet: Any, space: Space) -> None:
        self.lower, self.upper, self.dimension, self.traits = space.lower, space.upper, space.dimension, space.traits
        self.getters: dict[str, Callable[[], float]] = {}
        self.recommended: Callable[[], ArrayLike] | None = None
        self.warm_start: Callable[[], WarmStart] | None = None
        self.objectives: tuple[int, ...] = (self.traits.objectives,) if self.traits.objectives > 1 else ()
        self._greenlet = greenlet

    def expose(self, **getters: Callable[[], float]) -> None:
        self.getters |= getters

    def recommend(self, getter: Callable[[], ArrayLike]) -> None:
        self.recommended = getter

    def offer_warm_start(self, getter: Callable[[], WarmStart]) -> None:
        self.warm_start = getter

    def __call__(self, x: Any) -> Any:
        points = np.array(x, dtype=np.float64)
        if points.ndim not in (1, 2) or points.shape[-1] != self.dimension:
            raise ValueError(f"x has shape {points.shape}; give a point ({self.dimension},) or a batch of such points")
        if np.isnan(points).any():
            raise ValueError("x contains NaN; give numbers only")
        return self._greenlet.getcurrent().parent.switch(points)


def _end(greenlet: Any, run: Any) -> None:
    """End an optimizer that waits for a value, as an exhausted budget would."""
    if run and not run.dead:  # started and not yet ended
        run.parent = greenlet.getcurrent()
        run.throw(greenlet.GreenletExit)

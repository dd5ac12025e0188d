"""Any optimizer by ask and tell: it hands out what it wants evaluated, and is told the values."""

from __future__ import annotations

import contextvars
import weakref
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from polarbear.extras import optional
from polarbear.optimizers.driver import drive
from polarbear.optimizers.function import as_optimizer
from polarbear.optimizers.native import Space, State, count
from polarbear.protocols import PLAIN, AskTellOptimizer, CallableOptimizer, WarmStart, traits_of

if TYPE_CHECKING:
    from polarbear.protocols import Optimizer, Traits
    from polarbear.records import FloatArray


class AskTell:
    """An optimizer that is asked for points and told their values.

    The optimizer runs as it always does, in a greenlet of its own: where it evaluates, it is left until the value is
    known. So it evaluates the same points, bit by bit, as in a run with the same generator and the same values. Use
    one from one thread; it ends, and cleans up after itself, when it is closed or no longer referred to. What several
    optimizers share in a process (`modcma` has one random state) they share here too: drive one `ModularCMAES` at a
    time.

    Args:
        optimizer: Any optimizer.
        lower: (d,) lower ends of the box.
        upper: (d,) upper ends of the box.
        rng: Where all its randomness comes from.
        traits: What the problem is beyond a real function over a box, as the attribute `traits` of problems.

    Raises:
        ImportError: `greenlet` is not installed.
        ValueError: `lower` and `upper` are no box.
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
        self._problem = _Asked(self._greenlet, self._state.space)
        self._run = self._greenlet.greenlet(partial(_run, optimizer, self._problem, rng))
        self._run.gr_context = contextvars.copy_context()
        self._wanted: FloatArray | None = None
        self._end = weakref.finalize(self, _end, self._greenlet, self._run)

    def ask(self) -> FloatArray:
        """What the optimizer wants evaluated next: one point (d,), or a batch (m, d) if it evaluates batches.

        The same until it is told. The first call starts the optimizer.

        Raises:
            RuntimeError: The optimizer has ended.
            Exception: What the optimizer raises.
        """
        if (wanted := self.wanted()) is None:
            raise RuntimeError("the optimizer has ended and asks for no more points; see the attribute done")
        return wanted

    def wanted(self) -> FloatArray | None:
        """As `ask`; None if the optimizer has ended."""
        if self._wanted is None and not self.done:
            self._resume()
        return None if self._wanted is None else self._wanted.copy()

    def tell(self, value: ArrayLike) -> None:
        """Give the value of what was asked last; low is good, and NaN counts as +inf.

        The optimizer goes on until it wants the next evaluation.

        Args:
            value: A number for a point, (m,) for a batch; with several objectives one more axis.

        Raises:
            RuntimeError: Nothing was asked.
            ValueError: The value has the wrong shape.
            Exception: What the optimizer raises.
        """
        if self._wanted is None:
            raise RuntimeError("there is no point to tell the value of; call ask() first")
        told = np.array(value, dtype=np.float64)
        wanted = self._wanted.shape[:-1] + self._problem.objectives
        if told.shape != wanted:
            raise ValueError(f"the value has shape {told.shape}; for what was asked it has shape {wanted}")
        told[np.isnan(told)] = np.inf
        value = told if told.ndim else float(told)
        count(self._state, self._wanted, value)
        self._resume(value)

    @property
    def evaluations(self) -> int:
        """How many values it was told."""
        return self._state.evaluations

    @property
    def done(self) -> bool:
        """Whether the optimizer has ended, by itself or because it was closed."""
        return bool(self._run.dead) or not self._end.alive

    @property
    def parameters(self) -> dict[str, float]:
        """The present values of the parameters that the optimizer exposes, but for those on request."""
        getters = self._problem.getters.items()
        return {name: float(getter()) for name, getter in getters if not getattr(getter, "on_request", False)}

    @property
    def recommendation(self) -> FloatArray | None:
        """(d,) the point the optimizer would return now, if it tells; with several objectives also (m, d) points."""
        return None if self._problem.recommended is None else np.array(self._problem.recommended(), dtype=np.float64)

    @property
    def warm_start(self) -> WarmStart:
        """What another optimizer can start from: the best point, and what the optimizer tells."""
        state, offered = self._state, self._problem.warm_start
        found = WarmStart(evaluations=0) if offered is None else offered()
        value = None if state.best is None else state.value
        return replace(found, evaluations=state.evaluations, best=state.best, value=value)

    def close(self) -> None:
        """End the optimizer."""
        self._wanted = None
        self._end()

    def __enter__(self) -> AskTell:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _resume(self, *told: Any) -> None:
        self._run.parent = self._greenlet.getcurrent()
        self._wanted = None
        self._wanted = self._run.switch(*told)


@dataclass(frozen=True)
class SteppedOptimizer:
    """An optimizer that loops by itself, by `init`, `ask` and `tell`; its state is an `AskTell`.

    Attributes:
        optimizer: The optimizer.
    """

    optimizer: CallableOptimizer

    @property
    def name(self) -> str:
        """The optimizer's."""
        return self.optimizer.name

    def init(self, problem: Any, rng: np.random.Generator) -> AskTell:
        """The state of a run in the box of `problem`."""
        return AskTell(self.optimizer, problem.lower, problem.upper, rng, traits=traits_of(problem))

    def ask(self, state: AskTell) -> tuple[FloatArray, AskTell]:
        """What the optimizer wants evaluated next; an empty batch if it has ended."""
        wanted = state.wanted()
        return (np.empty((0, 0)) if wanted is None else wanted), state

    def tell(self, state: AskTell, points: ArrayLike, values: ArrayLike) -> AskTell:
        """The state after the values of what was asked."""
        if not np.array_equal(points, state.ask()):
            raise ValueError(f"points of shape {np.shape(points)} are not those that ask gave")
        state.tell(values)
        return state

    def warm_start(self, state: AskTell) -> WarmStart:
        """What another optimizer can start from."""
        return state.warm_start


def as_ask_tell(optimizer: Any) -> AskTellOptimizer:
    """An optimizer by `init`, `ask` and `tell`: itself if it has these, else stepped; what stepping needs is `AskTell`.

    Raises:
        TypeError: As `as_optimizer`.
    """
    found = as_optimizer(optimizer)
    return found if isinstance(found, AskTellOptimizer) else SteppedOptimizer(found)


class _Asked:
    """The problem as the optimizer sees it: an evaluation switches to whoever asks."""

    def __init__(self, greenlet: Any, space: Space) -> None:
        self.lower, self.upper, self.dimension, self.traits = space.lower, space.upper, space.dimension, space.traits
        self.constraints = None
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
            raise ValueError("x is NaN; give numbers only")
        return self._greenlet.getcurrent().parent.switch(points)


def _run(optimizer: Any, problem: _Asked, rng: np.random.Generator) -> None:
    drive(optimizer, problem, rng)


def _end(greenlet: Any, run: Any) -> None:
    """End an optimizer where it waits for a value, as the end of a run's budget does."""
    if run and not run.dead:  # begun and not over
        run.parent = greenlet.getcurrent()
        run.throw(greenlet.GreenletExit)

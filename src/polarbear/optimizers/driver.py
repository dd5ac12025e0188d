"""The driver that runs an ask-and-tell optimizer on a problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from polarbear.optimizers.archives import Best, Front, constraint_values, has_nan
from polarbear.optimizers.telemetry import expose_readers, offer_warm_start, recommend
from polarbear.protocols import AskTellOptimizer, Observable, Optimizer, Transferable, traits_of


def drive(optimizer: Optimizer, problem: Any, rng: np.random.Generator) -> object:
    """Run an optimizer on a problem until it is stopped or ends by itself.

    A callable optimizer has its own loop; any other is run by `ask_and_tell`.

    Args:
        optimizer: The optimizer.
        problem: The problem; see `polarbear.protocols.Objective`.
        rng: The random generator, the only source of randomness.

    Returns:
        The return value of a callable optimizer, otherwise None.
    """
    return optimizer(problem, rng) if callable(optimizer) else ask_and_tell(optimizer, problem, rng)


def ask_and_tell(optimizer: AskTellOptimizer, problem: Any, rng: np.random.Generator, state: Any = None) -> None:
    """Call `init`, then `ask` and `tell` in turn until the problem stops the run or an empty batch ends it.

    A point (d,) is evaluated as a point and a batch (m, d) as a whole. A batch is evaluated point by point if the
    problem has constraints, or if the optimizer's attribute `one_by_one` is true. What `diagnostics` and
    `recommendation` read from the state is offered for logging; an optimizer without a method `recommendation`
    recommends the best point evaluated, see `Best` and `Front`. If the optimizer has a method `running`, the run takes
    place within the context manager that it returns for the initial state.

    Args:
        optimizer: The optimizer.
        problem: The problem.
        rng: The random generator, the only source of randomness.
        state: The state to begin with; by default the one that `init` returns.
    """
    if state is None:
        state = optimizer.init(problem, rng)
    recommendation: Callable[[Any], Any] | None = getattr(optimizer, "recommendation", None)
    archive = None
    if recommendation is None:
        archive = _archive(optimizer, problem)
        recommendation = archive.recommended
    if isinstance(optimizer, Observable):
        expose_readers(problem, optimizer.diagnostics(state), lambda: state)
    recommend(problem, lambda: recommendation(state))
    if isinstance(optimizer, Transferable):
        offer_warm_start(problem, lambda: optimizer.warm_start(state))
    evaluate = _evaluation(optimizer, problem, archive)
    step_ended: Callable[[], None] | None = getattr(problem, "step_ended", None)
    running: Callable[[Any], AbstractContextManager[object]] = getattr(optimizer, "running", nullcontext)
    with running(state):
        while True:
            answer = optimizer.ask(state)
            if type(answer) is not tuple or len(answer) != 2:
                raise TypeError(
                    f"ask of {optimizer.name} returned {type(answer).__name__}; it must return (points, state)"
                )
            points, state = answer
            if not len(points):
                return
            state = optimizer.tell(state, points, *evaluate(points))
            if state is None:
                raise TypeError(f"tell of {optimizer.name} returned None; it must return the state")
            if step_ended is not None:
                step_ended()


def _archive(optimizer: AskTellOptimizer, problem: Any) -> Best | Front:
    if traits_of(problem).objectives > 1:
        return Front(problem)
    return Best(problem, feasible_first=getattr(optimizer, "feasible_first", True))


def _evaluation(
    optimizer: AskTellOptimizer, problem: Any, archive: Best | Front | None
) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns the values of a point or batch, and its constraint values if `tell` takes them."""
    constraints = constraint_values(problem)

    def at_once(points: Any) -> tuple[Any, ...]:
        values = _without_nan(problem(points))
        if archive is not None:
            archive.keep(points, values)
        return (values,)

    def row_by_row(points: Any) -> tuple[Any, ...]:
        if np.ndim(points) == 1:
            return at_once(points)
        if not isinstance(archive, Best):
            return (np.array([at_once(x)[0] for x in points]),)
        values: list[Any] = []
        for x in points:
            value = problem(x)
            if value < archive.bar:
                archive.keep(x, value)
            values.append(value)
        return (_without_nan(values),)

    if constraints is None:
        return row_by_row if getattr(optimizer, "one_by_one", False) else at_once
    if not getattr(optimizer, "takes_constraints", False):
        return row_by_row

    def with_constraints(points: Any) -> tuple[Any, ...]:
        if np.ndim(points) == 1:
            return *at_once(points), _without_nan(constraints(points))
        rows = [with_constraints(x) for x in points]
        return tuple(np.array(column) for column in zip(*rows, strict=True))

    return with_constraints


def _without_nan(values: Any) -> Any:
    """Values as a float or array, with NaN replaced by +inf."""
    if type(values) is float:
        return values if values == values else math.inf
    array = np.asarray(values, dtype=np.float64)
    if has_nan(array):
        array = np.where(np.isnan(array), math.inf, array)
    return array if array.ndim else float(array)

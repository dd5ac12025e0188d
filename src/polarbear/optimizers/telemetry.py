"""Parameters and recommendations that optimizers report for logging while they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from polarbear.protocols import WarmStart


def expose(problem: Any, **getters: Callable[[], float]) -> None:
    """Offer parameters for logging; does nothing if `problem` logs none.

    Args:
        problem: What the optimizer was called with.
        getters: For each parameter's name a function that gives its present value.
    """
    offered = getattr(problem, "expose", None)
    if offered is not None:
        offered(**getters)


def recommend(problem: Any, getter: Callable[[], ArrayLike]) -> None:
    """Offer the (d,) point that the optimizer would return now, with several objectives also (m, d) points.

    It does nothing if `problem` logs none.

    Args:
        problem: What the optimizer was called with.
        getter: Gives the point, or points.
    """
    offered = getattr(problem, "recommend", None)
    if offered is not None:
        offered(getter)


def offer_warm_start(problem: Any, getter: Callable[[], WarmStart]) -> None:
    """Offer what another optimizer could start from now; does nothing if `problem` does not ask for it."""
    offered = getattr(problem, "offer_warm_start", None)
    if offered is not None:
        offered(getter)


class Reading:
    """A getter of what a reader finds in the present state.

    Args:
        reader: Reads a state, as the functions that `diagnostics` gives.
        state: Gives the present state.
    """

    __slots__ = ("_reader", "_state", "on_request")

    def __init__(self, reader: Callable[[Any], float], state: Callable[[], Any]) -> None:
        self._reader, self._state = reader, state
        self.on_request = bool(getattr(reader, "on_request", False))

    def __call__(self) -> float:
        """The present value."""
        return float(self._reader(self._state()))


@dataclass(frozen=True, slots=True)
class Component:
    """A getter for one component of a vector, which is logged only where it is asked for by its name.

    Attributes:
        vector: Gives the vector, of a state if there is one.
        index: Which component, from 0.
    """

    on_request: ClassVar[bool] = True
    vector: Callable[..., Any]
    index: int

    def __call__(self, *state: Any) -> float:
        """The component's value, at present or in a state."""
        return float(self.vector(*state)[self.index])


def components(name: str, size: int, vector: Callable[..., Any]) -> dict[str, Component]:
    """Getters for the first components of a vector, called ``name_1``, ``name_2`` and so on.

    Args:
        name: What the vector is called.
        size: How many components.
        vector: Gives the vector: called without arguments for `expose`, with a state for `diagnostics`.
    """
    return {f"{name}_{i + 1}": Component(vector, i) for i in range(size)}

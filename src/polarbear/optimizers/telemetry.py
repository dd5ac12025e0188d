"""Parameters and recommendations that optimizers offer for logging while they run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from polarbear.protocols import WarmStart


def expose(problem: Any, **getters: Callable[[], float]) -> None:
    """Offer parameters for logging; does nothing if `problem` logs none.

    Args:
        problem: What the optimizer was called with.
        getters: For each parameter's name a function that returns its current value.
    """
    if (offer := getattr(problem, "expose", None)) is not None:
        offer(**getters)


def recommend(problem: Any, getter: Callable[[], ArrayLike]) -> None:
    """Offer the (d,) point that the optimizer would return now, with several objectives also (m, d) points.

    Does nothing if `problem` logs none.

    Args:
        problem: What the optimizer was called with.
        getter: Returns the point, or points.
    """
    if (offer := getattr(problem, "recommend", None)) is not None:
        offer(getter)


def offer_warm_start(problem: Any, getter: Callable[[], WarmStart]) -> None:
    """Offer what another optimizer could start from now; does nothing if `problem` has no use for it."""
    if (offer := getattr(problem, "offer_warm_start", None)) is not None:
        offer(getter)


def end_step(problem: Any) -> None:
    """Say that a generation has ended, so that the run could go on with another optimizer."""
    if (ended := getattr(problem, "step_ended", None)) is not None:
        ended()


@dataclass(frozen=True, slots=True)
class Reading:
    """A getter that reads a parameter from the current state.

    Attributes:
        reader: Reads it from a state, as the functions of `diagnostics`.
        state: Returns the current state.
    """

    reader: Callable[[Any], float]
    state: Callable[[], Any]

    @property
    def on_request(self) -> bool:
        """Whether it is called only if its name is requested."""
        return bool(getattr(self.reader, "on_request", False))

    def __call__(self) -> float:
        """The current value."""
        return float(self.reader(self.state()))


@dataclass(frozen=True, slots=True)
class Component:
    """A getter for one component of a vector, which is logged only if its name is requested.

    Attributes:
        vector: Returns the vector, from a state if one is passed.
        index: Which component, from 0.
    """

    on_request: ClassVar[bool] = True
    vector: Callable[..., Any]
    index: int

    def __call__(self, *state: Any) -> float:
        """The component's value, at present or in a state."""
        return float(self.vector(*state)[self.index])


def expose_readers(problem: Any, readers: Mapping[str, Callable[[Any], float]], state: Callable[[], Any]) -> None:
    """Offer parameters that are read from a state.

    Args:
        problem: What the optimizer was called with.
        readers: For each name what reads the parameter from a state.
        state: Returns the current state.
    """
    expose(problem, **{name: Reading(reader, state) for name, reader in readers.items()})


def components(name: str, size: int, vector: Callable[..., Any]) -> dict[str, Component]:
    """Getters for the first components of a vector, called ``name_1``, ``name_2`` and so on.

    Args:
        name: The vector's name.
        size: Number of components.
        vector: Returns the vector: called without arguments for `expose`, with a state for `diagnostics`.
    """
    return {f"{name}_{i + 1}": Component(vector, i) for i in range(size)}

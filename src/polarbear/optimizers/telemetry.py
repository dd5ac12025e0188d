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
        problem: The problem that the optimizer was called with.
        getters: For each parameter, a function that returns its current value.
    """
    if (offer := getattr(problem, "expose", None)) is not None:
        offer(**getters)


def recommend(problem: Any, getter: Callable[[], ArrayLike]) -> None:
    """Offer the point (d,) that the optimizer would return now, or points (m, d) with several objectives.

    Does nothing if `problem` logs no recommendations.

    Args:
        problem: The problem that the optimizer was called with.
        getter: A function that returns the point or points.
    """
    if (offer := getattr(problem, "recommend", None)) is not None:
        offer(getter)


def offer_warm_start(problem: Any, getter: Callable[[], WarmStart]) -> None:
    """Offer a warm start for another optimizer; does nothing if `problem` has no use for it."""
    if (offer := getattr(problem, "offer_warm_start", None)) is not None:
        offer(getter)


def end_step(problem: Any) -> None:
    """Report the end of a generation, where the run may continue with another optimizer."""
    if (ended := getattr(problem, "step_ended", None)) is not None:
        ended()


@dataclass(frozen=True, slots=True)
class Reading:
    """A getter that reads a parameter from the current state.

    Attributes:
        reader: A function that reads the parameter from a state, like those of `diagnostics`.
        state: A function that returns the current state.
    """

    reader: Callable[[Any], float]
    state: Callable[[], Any]

    @property
    def on_request(self) -> bool:
        """Whether the parameter is read only if its name is requested."""
        return bool(getattr(self.reader, "on_request", False))

    def __call__(self) -> float:
        """The current value."""
        return float(self.reader(self.state()))


@dataclass(frozen=True, slots=True)
class Component:
    """A getter for one component of a vector, which is logged only if its name is requested.

    Attributes:
        vector: A function that returns the vector, from a state if one is passed.
        index: The index of the component, from 0.
    """

    on_request: ClassVar[bool] = True
    vector: Callable[..., Any]
    index: int

    def __call__(self, *state: Any) -> float:
        """The component's value, either the current one or that in a given state."""
        return float(self.vector(*state)[self.index])


def expose_readers(problem: Any, readers: Mapping[str, Callable[[Any], float]], state: Callable[[], Any]) -> None:
    """Offer for logging parameters that are read from a state.

    Args:
        problem: The problem that the optimizer was called with.
        readers: For each parameter, a function that reads it from a state.
        state: A function that returns the current state.
    """
    expose(problem, **{name: Reading(reader, state) for name, reader in readers.items()})


def components(name: str, size: int, vector: Callable[..., Any]) -> dict[str, Component]:
    """Getters for the first components of a vector, called ``name_1``, ``name_2`` and so on.

    Args:
        name: The vector's name.
        size: Number of components.
        vector: A function that returns the vector, called without arguments for `expose`, with a state for
            `diagnostics`.
    """
    return {f"{name}_{i + 1}": Component(vector, i) for i in range(size)}

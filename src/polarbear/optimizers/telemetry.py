"""Parameters and recommendations that optimizers report for logging while they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike


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


@dataclass(frozen=True, slots=True)
class Component:
    """A getter for one component of a vector, which is logged only where it is asked for by its name.

    Attributes:
        vector: Gives the vector.
        index: Which component, from 0.
    """

    on_request: ClassVar[bool] = True
    vector: Callable[[], Any]
    index: int

    def __call__(self) -> float:
        """The component's present value."""
        return float(self.vector()[self.index])


def components(name: str, size: int, vector: Callable[[], Any]) -> dict[str, Component]:
    """Getters for the first components of a vector, called ``name_1``, ``name_2`` and so on, for `expose`.

    Args:
        name: What the vector is called.
        size: How many components.
        vector: Gives the vector.
    """
    return {f"{name}_{i + 1}": Component(vector, i) for i in range(size)}

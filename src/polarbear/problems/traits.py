"""What a problem is beyond a real function over a box."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from polarbear.records import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """What optimizers and experiments have to know of a problem beyond its box.

    Attributes:
        integers: (d,) which variables take whole numbers only; None: none.
        objectives: How many objectives an evaluation gives.
        constraints: How many constraints there are; g(x) <= 0 where they hold.
        noisy: Whether two evaluations of one point may differ.
    """

    integers: NDArray[np.bool_] | None = None
    objectives: int = 1
    constraints: int = 0
    noisy: bool = False


PLAIN = Traits()
"""One real-valued, noiseless objective of real variables without constraints."""


def traits_of(problem: Any) -> Traits:
    """A problem's traits; `PLAIN` for a problem that tells none."""
    found = getattr(problem, "traits", None)
    return found if isinstance(found, Traits) else PLAIN


class Trial(Protocol):
    """One run's view of a problem that tells the optimizer something else than what the run is judged by."""

    def __call__(self, x: FloatArray, /) -> tuple[Any, float]:
        """Evaluate one point (d,): what the optimizer is told, and the value the run is judged by."""
        ...

    def batch(self, points: FloatArray, /) -> tuple[Any, FloatArray]:
        """Evaluate (m, d) points: what the optimizer is told, row by row, and the (m,) values it is judged by."""
        ...


@runtime_checkable
class Tried(Protocol):
    """A problem that gives each run a `Trial` of its own."""

    def trial(self, rng: np.random.Generator, /) -> Trial:
        """A fresh trial whose chance, if there is any, comes from `rng` alone."""
        ...

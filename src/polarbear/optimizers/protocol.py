"""What every optimizer looks like, and what it sees of a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from polarbear.records import FloatArray


class Objective(Protocol):
    """What an optimizer sees of a problem: a function to minimize inside a box, and nothing about the budget.

    Call it from one thread at a time.
    """

    @property
    def dimension(self) -> int:
        """Number of variables d."""
        ...

    @property
    def lower(self) -> FloatArray:
        """(d,) lower ends of the box."""
        ...

    @property
    def upper(self) -> FloatArray:
        """(d,) upper ends of the box."""
        ...

    def __call__(self, x: Any) -> Any:
        """Evaluate one point, (d,) -> float, or a batch, (m, d) -> (m,). Low values are good."""
        ...


@runtime_checkable
class Optimizer(Protocol):
    """An anytime optimizer: it evaluates the problem until the problem stops it, or until it is done.

    The stop is an exception outside `Exception`, raised by the evaluation; optimizers let it pass. All their
    randomness comes from `rng`. They are frozen values that can be pickled.
    """

    @property
    def name(self) -> str:
        """What it is called within a study."""
        ...

    def __call__(self, problem: Any, rng: np.random.Generator, /) -> object:
        """Optimize `problem`; what it returns is ignored, what it evaluated counts."""
        ...

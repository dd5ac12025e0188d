"""What every optimizer looks like, and what it sees of a problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import ArrayLike

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

    @property
    def traits(self) -> Any:
        """The `problems.Traits`: which variables are whole numbers, how many objectives and constraints, noise."""
        ...

    @property
    def constraints(self) -> Callable[[Any], FloatArray] | None:
        """The c constraints of a point, (d,) -> (c,), or batch, (m, d) -> (m, c); they hold at 0 and below.

        Free for the points that were evaluated last, by the objective or for their constraints; one evaluation for each
        other point. None if there are none.
        """
        ...

    def expose(self, **getters: Callable[[], float]) -> None:
        """Offer parameters for logging: for each name a function that gives the present value.

        It may be called again with further names, or to replace a function. A function with a true attribute
        ``on_request``, such as those of `components`, is called only where its name is asked for. The functions are
        called in the middle of an evaluation, after the point was evaluated and before its value is returned; they may
        not evaluate points.

        Raises:
            TypeError: If a getter cannot be called.
            ValueError: If a parameter is called ``recommendation``.
        """
        ...

    def recommend(self, getter: Callable[[], ArrayLike], /) -> None:
        """Offer the point (d,) that the optimizer would return now; with several objectives also (m, d) points.

        The function is called when those of `expose` are.

        Raises:
            TypeError: If it cannot be called.
        """
        ...

    def __call__(self, x: Any) -> Any:
        """Evaluate one point, (d,) -> float, or a batch, (m, d) -> (m,). Low values are good.

        With k objectives a point gives (k,) and a batch (m, k).
        """
        ...


@runtime_checkable
class Optimizer(Protocol):
    """An anytime optimizer: it evaluates the problem until the problem stops it, or until it is done.

    The stop is an exception outside `Exception`, raised by the evaluation; optimizers let it pass. All their
    randomness comes from `rng`. They are frozen values that can be pickled. One whose runs disturb each other within a
    process, as its package has a state of its own there, says so by an attribute `one_at_a_time` that is true.
    """

    @property
    def name(self) -> str:
        """What it is called within a study."""
        ...

    def __call__(self, problem: Any, rng: np.random.Generator, /) -> object:
        """Optimize `problem`; what it returns is ignored, what it evaluated counts."""
        ...


@runtime_checkable
class Particular(Protocol):
    """An optimizer that does not take every problem, and says so. Studies ask before anything runs."""

    def refuses(self, traits: Any, dimension: int, /) -> str:
        """Why it takes no problem of these `problems.Traits` and so many variables; empty if it takes them."""
        ...


def refusal(optimizer: Any, traits: Any, dimension: int) -> str:
    """Why an optimizer takes no problem of these `problems.Traits` and so many variables.

    Returns:
        One sentence for people; empty if it takes them, or is not `Particular`.
    """
    return optimizer.refuses(traits, dimension) if isinstance(optimizer, Particular) else ""

"""What every problem, problem specification and distribution of instances looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    from polarbear.records import FloatArray


class Problem(Protocol):
    """A function to optimize inside a box; call it with one point or with a batch of points."""

    @property
    def name(self) -> str:
        """What it is called, such as ``"bbob-f3-i1-d5"``."""
        ...

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
    def optimum(self) -> float | None:
        """The best objective value if it is known, in the problem's own sense; else None."""
        ...

    @property
    def minimize(self) -> bool:
        """Whether low values are good."""
        ...

    @property
    def raw(self) -> Callable[[FloatArray], float]:
        """The cheapest call with one (d,) float64 point.

        It checks nothing it need not check: a NaN result means that the input was bad or that the objective
        is NaN there, and `diagnose` tells which.
        """
        ...

    def diagnose(self, x: object) -> None:
        """Raise a TypeError or ValueError that says what is wrong with `x`; return if nothing is."""
        ...

    def __call__(self, x: Any) -> Any:
        """Evaluate one point, (d,) -> float, or a batch of m points, (m, d) -> (m,) float64."""
        ...


@runtime_checkable
class ProblemSpec(Protocol):
    """Says which problem to build: a frozen, hashable, picklable value that loads no library until `build`."""

    @property
    def name(self) -> str:
        """The instance's unique name."""
        ...

    def build(self) -> Problem:
        """Construct the problem; done in the process that evaluates it."""
        ...


@runtime_checkable
class Instances(Protocol):
    """A distribution of problem instances: a seeded stream in which an index always names the same instance."""

    @property
    def size(self) -> int | None:
        """How many instances there are; None if the stream is endless."""
        ...

    def __getitem__(self, index: int, /) -> ProblemSpec:
        """The instance at `index` (from 0); IndexError if it is negative or past the end of a finite list."""
        ...

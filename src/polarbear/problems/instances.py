"""Finite distributions of instances: lists of problems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, cast

from polarbear.problems.function import FunctionProblem
from polarbear.protocols import Instances, ProblemSpec
from polarbear.validation import Checked, Flag, settings


def _specs(problems: Iterable[Any], name: str) -> tuple[ProblemSpec, ...]:
    specs = tuple(as_spec(problem) for problem in problems)
    if not specs:
        raise ValueError(f"{name} is empty; list at least one problem")
    by_name: dict[str, ProblemSpec] = {}
    for spec in specs:
        if by_name.setdefault(spec.name, spec) != spec:
            raise ValueError(f"two problems are called {spec.name!r}; give each its own name (name=...)")
    return specs


@settings
class FiniteInstances:
    """The listed problems in the listed order, once or repeatedly.

    Attributes:
        problems: Specifications, functions with bounds, or anything else that `as_spec` accepts.
        repeat: Whether to start over after the last one, endlessly, for a comparison on exactly these problems. Each
            repetition is run with a different seed.

    Raises:
        FieldError: If the list is empty, or two different problems have the same name.
    """

    problems: Annotated[tuple[ProblemSpec, ...], Checked(_specs)]
    repeat: Flag = False

    @property
    def size(self) -> int | None:
        """Number of instances; None if they are repeated."""
        return None if self.repeat else len(self.problems)

    def __len__(self) -> int:
        if self.repeat:
            raise TypeError("the instances are repeated endlessly, so they have no length")
        return len(self.problems)

    def __getitem__(self, index: int) -> ProblemSpec:
        """The instance at `index`; IndexError if it does not exist."""
        cycle, position = divmod(index, len(self.problems))
        if index < 0 or (cycle and not self.repeat):
            raise IndexError(f"there is no instance {index}; it must be from 0 to {len(self.problems) - 1}")
        return self.problems[position]


def as_spec(x: Any) -> ProblemSpec:
    """Turn `x` into a problem specification.

    Args:
        x: A specification or a problem built from one; a callable with `lower` and `upper` (and optionally
            `dimension`, `name`, `optimum`, `minimize`); or a tuple (function, lower, upper).

    Raises:
        TypeError: If `x` is none of these.
    """
    if isinstance(x, ProblemSpec):
        return x
    if isinstance(spec := getattr(x, "spec", None), ProblemSpec):
        return spec
    if _is_function_with_bounds(x):
        return FunctionProblem(*x)
    lower, upper = getattr(x, "lower", None), getattr(x, "upper", None)
    if callable(x) and lower is not None and upper is not None:
        known = {key: getattr(x, key) for key in ("dimension", "name", "optimum", "minimize") if hasattr(x, key)}
        return FunctionProblem(x, lower, upper, **known)
    raise TypeError(
        f"{x!r} is not a problem; give a specification such as BBOBProblem(1, 1, 5), "
        "or FunctionProblem(function, lower, upper) for a function of your own"
    )


def as_instances(x: Any) -> Instances:
    """Turn `x` into a distribution of instances.

    Args:
        x: A distribution, which is returned unchanged; one problem, which is repeated endlessly; or a list of
            problems, each of which occurs once. Problems are anything that `as_spec` accepts.

    Raises:
        TypeError: If `x` is none of these.
    """
    if isinstance(x, Sequence) and not _is_function_with_bounds(cast("object", x)):
        return FiniteInstances(tuple(cast("Sequence[ProblemSpec]", x)))
    if isinstance(x, Instances):
        return x
    return FiniteInstances((as_spec(x),), repeat=True)


def _is_function_with_bounds(x: object) -> bool:
    return isinstance(x, tuple) and [callable(entry) for entry in cast("tuple[object, ...]", x)] == [True, False, False]

"""Convert optimizers, problems and timepoints from the forms that `polarbear.race` accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from polarbear import optimizers, problems
from polarbear.descriptions import shortened
from polarbear.records import Axis, FloatArray, log_times
from polarbear.validation import folded, parse_number, whole_number

Algorithm = str | type[Any] | optimizers.Optimizer | Callable[..., object]
"""The name of a family of optimizers such as ``"random-search"``, a class, an optimizer, or a function of problem and
generator."""

_TIMEPOINTS = 50


def as_algorithms(given: Mapping[str, Algorithm] | Iterable[Algorithm]) -> dict[str, object] | list[object]:
    """Make optimizers from names and classes, in the form that `polarbear.Race` takes.

    Args:
        given: A list, or a mapping from names.

    Raises:
        TypeError: If it is neither, or contains anything but optimizers, or a class that needs arguments.
        ValueError: If a name is unknown; the message suggests the closest one.
    """
    if isinstance(given, Mapping):
        return {name: optimizers.as_optimizer(each) for name, each in cast(Mapping[str, Algorithm], given).items()}
    if isinstance(given, str) or not np.iterable(given):
        raise TypeError(
            f"algorithms is {shortened(given)}; give a list of at least two, or a mapping from names to algorithms"
        )
    return [optimizers.as_optimizer(each) for each in given]


def as_problems(given: object, dimension: int | None) -> problems.Instances:
    """Make a distribution of problem instances.

    Args:
        given: The name of a suite, such as ``"ma-bbob"``; ``(function, lower, upper)``; or anything else that
            `polarbear.problems.as_instances` takes.
        dimension: Number of variables, for names of suites and for functions with single numbers as bounds.

    Raises:
        TypeError: If `given` is not a problem.
        ValueError: If the suite is unknown or has no such argument, or the dimension is given for a problem that has
            its own.
    """
    chosen: dict[str, Any] = {} if dimension is None else {"dimension": whole_number(dimension, "dimension", 1)}
    if isinstance(given, str):
        suite = {folded(name): name for name in problems.suites()}.get(folded(given), given)
        if chosen and "dimensions" in problems.suite_parameters(suite):
            chosen = {"dimensions": [chosen["dimension"]]}
        return problems.from_description({"suite": suite, **chosen})
    if chosen and isinstance(given, tuple) and len(parts := cast(tuple[Any, ...], given)) == 3 and callable(parts[0]):
        return problems.as_instances(problems.FunctionProblem(*parts, **chosen))
    if chosen:
        raise ValueError(
            f"dimension is {dimension}, but the problem has its own; give a dimension only with the name of a "
            "suite or with (function, lower, upper)"
        )
    if isinstance(given, FunctionType) and not hasattr(given, "lower"):
        name = given.__name__
        raise TypeError(f"the function {name} has no bounds; give ({name}, lower, upper), and dimension=...")
    return problems.as_instances(given)


def as_times(given: ArrayLike | Sequence[str], axis: Axis, dimension: int | None) -> FloatArray:
    """Make timepoints.

    Args:
        given: A pair ``(first, last)``, for 50 timepoints evenly spaced on a log scale; or the timepoints themselves.
            Numbers may be multiples of the dimension, such as ``"100*d"``.
        axis: The unit of the timepoints.
        dimension: The problems' number of variables, if all have the same.

    Raises:
        TypeError: If `given` is a single number.
        ValueError: If a text is not a number.
    """
    if isinstance(given, str) or not np.iterable(given):
        raise TypeError(f"times is {shortened(given)}; give (first, last), or a list of timepoints")
    pair = isinstance(given, tuple)
    numbers = [parse_number(each, dimension) if isinstance(each, str) else each for each in cast(Iterable[Any], given)]
    if pair and len(numbers) == 2:
        return log_times(numbers[0], numbers[1], _TIMEPOINTS, axis)
    return np.array(numbers, dtype=np.float64)


def dimension_of(instances: problems.Instances) -> int | None:
    """Number of variables of the first instance; None if unknown."""
    dimension = getattr(instances[0], "dimension", None)
    return dimension if isinstance(dimension, int) else None

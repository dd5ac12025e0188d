"""Python functions as optimizers."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from polarbear.descriptions import check_runs_when_called, checked_name, imported
from polarbear.optimizers.settings import family
from polarbear.protocols import Objective, Optimizer
from polarbear.validation import set_fields


@family("function", kw_only=False)
class FunctionOptimizer:
    """A function ``function(problem, rng)`` as an optimizer.

    The function may evaluate ``problem(x)`` as often as it likes; `problem` has the attributes `dimension`, `lower` and
    `upper`, is always minimized, and ends the run by itself. The function must be picklable to be sent to workers.

    Attributes:
        function: The function, or its import path ``"module:function"``.
        name: The optimizer's name; by default the function's.

    Raises:
        TypeError: If the function cannot be called with two arguments, or is a generator or async function.
    """

    function: Any
    name: str = ""

    def __post_init__(self) -> None:
        function: Any = self.function
        if isinstance(function, str):
            function = imported(function, "function")
            set_fields(self, function=function)
        _check_signature(function)

    def default_name(self) -> str:
        """The function's name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __call__(self, problem: Objective, rng: np.random.Generator) -> object:
        """Call the function."""
        function: Any = self.function
        return function(problem, rng)


def _check_signature(function: Any) -> None:
    if not callable(function):
        raise TypeError(f"{function!r} cannot be called; an optimizer is a function of (problem, rng)")
    check_runs_when_called(function, "the optimizer")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # built-in callables may have none
        return
    try:
        signature.bind(None, None)
    except TypeError:
        name = getattr(function, "__name__", repr(function))
        raise TypeError(
            f"{name} takes {signature}; an optimizer is called with two arguments, (problem, rng)"
        ) from None


def wrapped(x: Any) -> Optimizer:
    """A function turned into an optimizer, or an optimizer unchanged; raises as `polarbear.optimizers.as_optimizer`."""
    if not callable(x) and hasattr(x, "ask"):
        if missing := [name for name in ("name", "init", "tell") if not hasattr(x, name)]:
            raise TypeError(
                f"{type(x).__name__} has `ask`, but no {' and no '.join(missing)}; "
                "an optimizer needs all of name, init, ask and tell"
            )
        for method in (x.init, x.ask, x.tell):
            check_runs_when_called(method, "the optimizer's")
    elif callable(x):
        check_runs_when_called(x, "the optimizer")
    if isinstance(x, Optimizer):
        checked_name(x.name, f"name of {type(x).__name__}")
        return x
    return FunctionOptimizer(x)

"""Names and groups of BBOB's functions (Hansen et al. 2009, Real-parameter black-box optimization benchmarking)."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from polarbear.assess.trials import function_label
from polarbear.records import Instance

_NAMES = (
    *("Sphere", "Ellipsoid separable", "Rastrigin separable", "Skew Rastrigin-Büche", "Linear slope"),
    *("Attractive sector", "Step-ellipsoid", "Rosenbrock original", "Rosenbrock rotated", "Ellipsoid", "Discus"),
    *("Bent cigar", "Sharp ridge", "Sum of different powers", "Rastrigin", "Weierstrass"),
    *("Schaffers F7, condition 10", "Schaffers F7, condition 1000", "Griewank-Rosenbrock", "Schwefel"),
    *("Gallagher 101 peaks", "Gallagher 21 peaks", "Katsuura", "Lunacek bi-Rastrigin"),
)
_GROUPS = {
    "separable": range(1, 6),
    "moderate conditioning": range(6, 10),
    "high conditioning": range(10, 15),
    "multi-modal": range(15, 20),
    "weakly structured": range(20, 25),
    "moderate noise": range(101, 107),
    "severe noise": range(107, 122),
    "severe noise, multi-modal": range(122, 131),
}
_SUITES = {
    *("bbob", "bbob-boxed", "bbob-largescale", "bbob-mixint", "bbob-noisy", "coco-bbob"),
    *("sbox", "sbox-bbob", "sbox-cost"),
}

_SHOWN: ContextVar[Mapping[str, str]] = ContextVar("names of functions in figures")


@contextmanager
def functions_shown_as(names: Mapping[str, str]) -> Generator[None]:
    """Show functions by given names in all figures made within the block.

    Args:
        names: Names by suite and `function_label`, such as ``{"bbob f1": "sphere"}``.
    """
    token = _SHOWN.set({**_SHOWN.get({}), **names})
    try:
        yield
    finally:
        _SHOWN.reset(token)


def shown_function(suite: str, function: str) -> str:
    """The name that `functions_shown_as` has given a function; empty if none."""
    return _SHOWN.get({}).get(f"{suite} {function_label(function)}".strip(), "")


def function_name(suite: str, function: str) -> str:
    """A function's label and name, such as ``"f1 Sphere"``; only its `function_label` if it has no name.

    A name given by `functions_shown_as` takes precedence.
    """
    if chosen := shown_function(suite, function):
        return chosen
    label = function_label(function)
    known = suite in _SUITES and function.isdecimal() and 0 < int(function) <= len(_NAMES)
    return f"{label} {_NAMES[int(function) - 1]}" if known else label


def function_of(instance: Instance) -> str:
    """The name of a function in one dimension, such as ``"bbob-f1-d5"``."""
    suite = f"{instance.suite}-f" if instance.suite else ""
    return f"{suite}{instance.function}" + (f"-d{instance.dimension}" if instance.dimension else "")


def function_group(suite: str, function: str) -> str:
    """The group of a BBOB function, such as ``"separable"``; empty if it has none."""
    if suite not in _SUITES or not function.isdecimal():
        return ""
    return next((group for group, members in _GROUPS.items() if int(function) in members), "")

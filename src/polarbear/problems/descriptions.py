"""Suites by name: instances as plain values, to write to JSON and to read from TOML."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from polarbear.descriptions import did_you_mean, own_description, own_object, parameters, plain_value
from polarbear.problems.arguments import plain
from polarbear.problems.function import FunctionProblem
from polarbear.problems.instances import FiniteInstances, as_instances, as_spec
from polarbear.problems.ioh_suites import BBOB, SBOX, BBOBProblem, SBOXProblem
from polarbear.problems.ma_bbob import MABBOB, MABBOBProblem
from polarbear.problems.protocol import Instances, ProblemSpec

SUITES: dict[str, type[Any]] = {
    "bbob": BBOB,
    "sbox": SBOX,
    "ma-bbob": MABBOB,
    "list": FiniteInstances,
    "function": FunctionProblem,
}
"""Distributions of instances by the name they are described with."""

PROBLEMS: dict[str, type[Any]] = {
    "bbob": BBOBProblem,
    "sbox": SBOXProblem,
    "ma-bbob": MABBOBProblem,
    "function": FunctionProblem,
}
"""Single problems by the name they are described with inside a list."""


def suites() -> tuple[str, ...]:
    """The names of all suites, for `from_description`."""
    return tuple(SUITES)


def suite_parameters(suite: str) -> dict[str, Any]:
    """What a description of `suite` may hold: each argument's default, or ``"required"``."""
    return {name: _plain(default) for name, default in parameters(SUITES[suite]).items()}


def describe(instances: Any) -> dict[str, Any]:
    """Describe instances in plain values that JSON and TOML can hold.

    Args:
        instances: Whatever `as_instances` takes.

    Returns:
        The suite's name and its arguments, such as ``{"suite": "ma-bbob", "dimension": 5, "seed": 0, …}``.
        Functions are described by where they are imported from, ``"module:qualname"``.

    A distribution of your own class is described by where the class is, and its fields if it is a dataclass.
    """
    described = as_instances(instances)
    if isinstance(described, FiniteInstances) and described.repeat and len(described.problems) == 1:
        only = described.problems[0]
        return _described(only if isinstance(only, FunctionProblem) else described, SUITES, "suite")
    return _described(described, SUITES, "suite")


def from_description(description: Mapping[str, Any]) -> Instances:
    """Build the instances that `describe` describes; arguments left out take their defaults.

    Raises:
        ValueError: If the suite or an argument is unknown or has a wrong value; the message lists what is valid.
    """
    built = _from_description(description, SUITES, "suite")
    return as_instances(built)


def _described(value: Any, registry: Mapping[str, type[Any]], kind: str) -> dict[str, Any]:
    for name, cls in registry.items():
        if type(value) is cls:
            fields = [field for field in dataclasses.fields(cls) if field.init]
            return {kind: name} | {
                field.name: _plain(getattr(value, field.name))
                for field in fields
                if getattr(value, field.name) is not None
            }
    return own_description(value, kind)


def _plain(value: Any) -> Any:
    if isinstance(value, range):
        return plain(value)
    if isinstance(value, (tuple, list)):
        return [_plain(entry) for entry in cast("tuple[Any, ...]", value)]
    if isinstance(value, ProblemSpec):
        return _described(value, PROBLEMS, "problem")
    return plain_value(value)


def _from_description(description: Any, registry: Mapping[str, type[Any]], kind: str) -> Any:
    if not isinstance(description, Mapping):
        raise ValueError(f"{description!r} describes no {kind}; write a table with its name in {kind!r}")  # noqa: TRY004
    fields = dict(cast("Mapping[str, Any]", description))
    given = dict(fields)
    name = fields.pop(kind, None)
    if name is None:
        raise ValueError(f"{given!r} does not say which {kind};{did_you_mean('', registry)}")
    if isinstance(name, str) and ":" in name:
        return own_object(given, kind)
    if name not in registry:
        raise ValueError(f"{kind} {name!r} is unknown;{did_you_mean(str(name), registry)}")
    cls = registry[name]
    valid = [field.name for field in dataclasses.fields(cls) if field.init]
    for field in fields:
        if field not in valid:
            raise ValueError(f"{kind} {name!r} has no argument {field!r};{did_you_mean(field, valid)}")
    if "problems" in fields:
        fields["problems"] = tuple(_problem(entry) for entry in fields["problems"])
    try:
        return cls(**fields)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{kind} {name!r}: {error}") from error


def _problem(description: Any) -> ProblemSpec:
    return as_spec(_from_description(description, PROBLEMS, "problem"))

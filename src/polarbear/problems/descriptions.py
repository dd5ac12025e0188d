"""Suites by name: instances as plain values that can be written to JSON and read from TOML."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from polarbear.descriptions import (
    FieldError,
    check_arguments,
    did_you_mean,
    errors_at,
    made,
    own_description,
    own_object,
    parameters,
    plain_value,
)
from polarbear.plugins import load_plugin, plugin_names
from polarbear.problems.constraints import Constraint
from polarbear.problems.function import FunctionProblem
from polarbear.problems.instances import FiniteInstances, as_instances, as_spec
from polarbear.problems.number_sets import plain
from polarbear.problems.suite import PROBLEMS, SUITES, Variations
from polarbear.protocols import Instances, ProblemSpec

OWN: dict[str, tuple[type[Any], dict[str, Any]]] = {}
"""Classes registered by users, with the arguments whose defaults they override."""


def register(name: str, what: Any, **defaults: Any) -> None:
    """Register a problem or suite of your own under a name for study files and `suites`.

    Args:
        name: The name in study files.
        what: A function to optimize, or a dataclass that is a distribution of instances.
        defaults: Arguments of `FunctionProblem` or of the dataclass, such as ``lower=-5, upper=5, dimension=10``; study
            files may override them.

    Raises:
        TypeError: If `what` is neither.
        ValueError: If the name is taken by something else, or there is no such argument.
    """
    if isinstance(what, ProblemSpec) and not isinstance(what, type):
        raise TypeError(f"{what.name} is already a problem; register its function, and pass the bounds by name")
    cls = cast("type[Any]", what) if isinstance(what, type) else FunctionProblem
    if not dataclasses.is_dataclass(cls) or not callable(what):
        raise TypeError(f"{what!r} cannot be registered; give a function to optimize, or a dataclass of instances")
    if cls is FunctionProblem and what is not FunctionProblem:
        defaults = {"function": what} | defaults
    own = cls, {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in defaults.items()}
    if name in SUITES or ":" in name or OWN.get(name, own) != own:
        raise ValueError(f"the name {name!r} is taken or contains a colon; choose another")
    valid = [field.name for field in dataclasses.fields(cls) if field.init]
    for argument in defaults:
        if argument not in valid:
            raise ValueError(f"{cls.__name__} has no argument {argument!r};{did_you_mean(argument, valid)}")
    OWN[name] = own


def suites() -> tuple[str, ...]:
    """The names of all suites that `from_description` accepts."""
    return (*SUITES, *OWN, *plugin_names("problems"))


def suite_parameters(suite: str) -> dict[str, Any]:
    """The arguments that a description of `suite` may contain, with their defaults or ``"required"``.

    Raises:
        ValueError: If there is no such suite.
    """
    if suite not in suites():
        raise ValueError(f"suite {suite!r} is unknown;{did_you_mean(suite, suites())}")
    cls, preset = suite_class(suite)
    return {name: _plain(default) for name, default in parameters(cls, preset).items()}


def suite_class(suite: str) -> tuple[type[Any], Mapping[str, Any]]:
    """The class of a suite, and the arguments whose defaults the suite overrides."""
    return OWN.get(suite) or (SUITES.get(suite) or load_plugin("problems", suite), {})


def describe(instances: Any) -> dict[str, Any]:
    """Describe instances in plain values that JSON and TOML can represent.

    Args:
        instances: Anything that `as_instances` accepts.

    Returns:
        The suite's name and its arguments, such as ``{"suite": "ma-bbob", "dimension": 5, "seed": 0, …}``.
        Functions are described by their import paths, ``"module:qualname"``.

    A distribution of your own class is described by the class's import path, and by its fields if it is a dataclass.
    """
    described = as_instances(instances)
    if isinstance(described, FiniteInstances) and described.repeat and len(described.problems) == 1:
        only = described.problems[0]
        return _described(only if isinstance(only, FunctionProblem) else described, SUITES, "suite")
    return _described(described, SUITES, "suite")


def from_description(description: Mapping[str, Any]) -> Instances:
    """Construct instances from a description as returned by `describe`; arguments left out take their defaults.

    Raises:
        ValueError: If the suite or an argument is unknown or has a wrong value; the message lists what is valid.
    """
    return as_instances(_from_description(description, SUITES, "suite"))


def _described(value: Any, registry: Mapping[str, type[Any]], kind: str) -> dict[str, Any]:
    name = next((name for name, cls in registry.items() if type(value) is cls), None)
    if name is None:
        return own_description(value, kind)
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    empty = {field for field, entry in fields.items() if entry is None or (isinstance(entry, tuple) and not entry)}
    return {kind: name} | {field: _plain(entry) for field, entry in fields.items() if field not in empty}


def _plain(value: Any) -> Any:
    if isinstance(value, range):
        return plain(value)
    if isinstance(value, (tuple, list)):
        return [_plain(entry) for entry in cast("tuple[Any, ...]", value)]
    if isinstance(value, ProblemSpec):
        return _described(value, PROBLEMS, "problem")
    if isinstance(value, Variations):
        return _described(value, SUITES, "suite")
    if isinstance(value, Constraint):
        return {field.name: plain_value(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return plain_value(value)


def _from_description(description: Any, registry: Mapping[str, type[Any]], kind: str) -> Any:
    if not isinstance(description, Mapping):
        raise ValueError(f"{description!r} does not describe a {kind}; write a table with its name in {kind!r}")  # noqa: TRY004
    fields = dict(cast("Mapping[str, Any]", description))
    if kind not in fields:
        raise ValueError(f"{fields!r} does not say which {kind};{did_you_mean('', registry)}")
    name = fields.pop(kind)
    own = OWN.get(name) if isinstance(name, str) else None
    if not isinstance(name, str) or (name not in registry and not own):
        plugins = plugin_names("problems")
        if isinstance(name, str) and (":" in name or name in plugins):
            return own_object({kind: name} | fields, kind)
        valid = [*registry, *OWN, *plugins]
        raise FieldError((kind,), f"{kind} {name!r} is unknown;{did_you_mean(str(name), valid)}")
    cls, preset = own or (registry[name], {})
    what, fields = f"{kind} {name!r}", preset | fields
    check_arguments(cls, fields, what)
    problem = made(cls, fields | _nested(fields, what), what)
    if own and isinstance(problem, FunctionProblem) and "name" not in fields:
        return cls(**fields, name=f"{name}-d{problem.dimension}")
    return problem


def _nested(fields: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The problems and streams that fields describe by nested tables."""
    built: dict[str, Any] = {}
    if isinstance(fields.get("problem"), Mapping):
        with errors_at("problem"):
            built["problem"] = _problem(fields["problem"])
    if isinstance(fields.get("stream"), Mapping):
        with errors_at("stream"):
            built["stream"] = _from_description(fields["stream"], SUITES, "suite")
    if "problems" in fields:
        tables = fields["problems"]
        if not isinstance(tables, (list, tuple)):
            raise FieldError(("problems",), f"{what}: problems is {tables!r}; it must be a list of tables")
        specs: list[ProblemSpec] = []
        for position, table in enumerate(cast("list[Any]", tables)):
            with errors_at("problems", position):
                specs.append(_problem(table))
        built["problems"] = tuple(specs)
    return built


def _problem(description: Any) -> ProblemSpec:
    return as_spec(_from_description(description, PROBLEMS, "problem"))

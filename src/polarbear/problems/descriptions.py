"""Suites by name: instances as plain values, to write to JSON and to read from TOML."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from polarbear.descriptions import (
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
from polarbear.problems.affine import AffineBBOBProblem, PairwiseAffine
from polarbear.problems.bbob_noisy import BBOBNoisy, BBOBNoisyProblem
from polarbear.problems.cec import CEC2013, CEC2022, CEC2013Problem, CEC2022Problem
from polarbear.problems.coco_suites import (
    COCOBBOB,
    BBOBBiobj,
    BBOBBiobjExt,
    BBOBBiobjMixint,
    BBOBBoxed,
    BBOBConstrained,
    BBOBLargescale,
    BBOBMixint,
    COCOProblem,
)
from polarbear.problems.constraints import Constraint
from polarbear.problems.function import FunctionProblem
from polarbear.problems.gp_bbob import GPBBOB, GPBBOBProblem
from polarbear.problems.instances import FiniteInstances, as_instances, as_spec
from polarbear.problems.ioh_suites import BBOB, SBOX, BBOBProblem, SBOXProblem
from polarbear.problems.ma_bbob import MABBOB, MABBOBProblem
from polarbear.problems.number_sets import plain
from polarbear.problems.pbo import PBO, PBOProblem
from polarbear.problems.star_discrepancy import StarDiscrepancy, StarDiscrepancyProblem
from polarbear.problems.submodular import Submodular, SubmodularProblem
from polarbear.problems.variations import Variation, Variations
from polarbear.problems.w_model import WModel, WModelProblem
from polarbear.protocols import Instances, ProblemSpec

SUITES: dict[str, type[Any]] = {
    "bbob": BBOB,
    "sbox": SBOX,
    "ma-bbob": MABBOB,
    "affine-bbob": PairwiseAffine,
    "pbo": PBO,
    "w-model": WModel,
    "star-discrepancy": StarDiscrepancy,
    "submodular": Submodular,
    "cec2013": CEC2013,
    "cec2022": CEC2022,
    "gp-bbob": GPBBOB,
    "bbob-noisy": BBOBNoisy,
    "bbob-largescale": BBOBLargescale,
    "bbob-constrained": BBOBConstrained,
    "bbob-mixint": BBOBMixint,
    "bbob-boxed": BBOBBoxed,
    "bbob-biobj": BBOBBiobj,
    "bbob-biobj-ext": BBOBBiobjExt,
    "bbob-biobj-mixint": BBOBBiobjMixint,
    "coco-bbob": COCOBBOB,
    "variations": Variations,
    "list": FiniteInstances,
    "function": FunctionProblem,
}
"""Distributions of instances by the name they are described with."""

PROBLEMS: dict[str, type[Any]] = {
    "bbob": BBOBProblem,
    "sbox": SBOXProblem,
    "ma-bbob": MABBOBProblem,
    "affine-bbob": AffineBBOBProblem,
    "pbo": PBOProblem,
    "w-model": WModelProblem,
    "star-discrepancy": StarDiscrepancyProblem,
    "submodular": SubmodularProblem,
    "cec2013": CEC2013Problem,
    "cec2022": CEC2022Problem,
    "gp-bbob": GPBBOBProblem,
    "bbob-noisy": BBOBNoisyProblem,
    "coco": COCOProblem,
    "variation": Variation,
    "function": FunctionProblem,
}
"""Single problems by the name they are described with inside a list."""

_OWN: dict[str, tuple[type[Any], dict[str, Any]]] = {}
"""What users have registered: a class, and the arguments that take other defaults."""


def register(name: str, what: Any, **defaults: Any) -> None:
    """Make a problem or suite of your own known by name, to study files and to `suites`.

    Args:
        name: The name for study files.
        what: A function to optimize, or a dataclass that is a distribution of instances.
        defaults: Arguments of `FunctionProblem`, or of the dataclass, such as ``lower=-5, upper=5, dimension=10``; a
            study file may give others.

    Raises:
        TypeError: If `what` can be neither.
        ValueError: If the name is taken by something else, or there is no such argument.
    """
    if isinstance(what, ProblemSpec) and not isinstance(what, type):
        raise TypeError(f"{what.name} is a problem already; register its function, with the bounds by name")
    cls = cast("type[Any]", what) if isinstance(what, type) else FunctionProblem
    if not dataclasses.is_dataclass(cls) or not callable(what):
        raise TypeError(f"{what!r} cannot be registered; give a function to optimize, or a dataclass of instances")
    if cls is FunctionProblem and what is not FunctionProblem:
        defaults = {"function": what} | defaults
    own = cls, {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in defaults.items()}
    if name in SUITES or ":" in name or _OWN.get(name, own) != own:
        raise ValueError(f"the name {name!r} is taken, or holds a colon; choose another")
    valid = [field.name for field in dataclasses.fields(cls) if field.init]
    for argument in defaults:
        if argument not in valid:
            raise ValueError(f"{cls.__name__} has no argument {argument!r};{did_you_mean(argument, valid)}")
    _OWN[name] = own


def suites() -> tuple[str, ...]:
    """The names of all suites, for `from_description`."""
    return (*SUITES, *_OWN, *plugin_names("problems"))


def suite_parameters(suite: str) -> dict[str, Any]:
    """What a description of `suite` may hold: each argument's default, or ``"required"``.

    Raises:
        ValueError: If there is no such suite.
    """
    if suite not in suites():
        raise ValueError(f"suite {suite!r} is unknown;{did_you_mean(suite, suites())}")
    cls, preset = _OWN.get(suite) or (SUITES.get(suite) or load_plugin("problems", suite), {})
    return {name: _plain(default) for name, default in parameters(cls, preset).items()}


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
                if _is_told(getattr(value, field.name))
            }
    return own_description(value, kind)


def _is_told(value: Any) -> bool:
    return value is not None and not (isinstance(value, tuple) and not value)


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
        raise ValueError(f"{description!r} describes no {kind}; write a table with its name in {kind!r}")  # noqa: TRY004
    fields = dict(cast("Mapping[str, Any]", description))
    given = dict(fields)
    name = fields.pop(kind, None)
    if name is None:
        raise ValueError(f"{given!r} does not say which {kind};{did_you_mean('', registry)}")
    own = _OWN.get(name) if isinstance(name, str) else None
    if not isinstance(name, str) or (name not in registry and not own):
        plugins = plugin_names("problems")
        if isinstance(name, str) and (":" in name or name in plugins):
            return own_object(given, kind)
        raise ValueError(f"{kind} {name!r} is unknown;{did_you_mean(str(name), [*registry, *_OWN, *plugins])}")
    cls, preset = own or (registry[name], {})
    fields = preset | fields
    check_arguments(cls, fields, f"{kind} {name!r}")
    if isinstance(fields.get("problem"), Mapping):
        with errors_at("problem"):
            fields["problem"] = _problem(fields["problem"])
    if isinstance(fields.get("stream"), Mapping):
        with errors_at("stream"):
            fields["stream"] = _from_description(fields["stream"], SUITES, "suite")
    if "problems" in fields:
        if not isinstance(fields["problems"], (list, tuple)):
            raise ValueError(f"{kind} {name!r}: problems is {fields['problems']!r}; it must be a list of tables")
        fields["problems"] = tuple(_listed(i, entry) for i, entry in enumerate(cast("list[Any]", fields["problems"])))
    found = made(cls, fields, f"{kind} {name!r}")
    if own and isinstance(found, FunctionProblem) and "name" not in fields:
        return cls(**fields, name=f"{name}-d{found.dimension}")
    return found


def _listed(position: int, description: Any) -> ProblemSpec:
    with errors_at("problems", position):
        return _problem(description)


def _problem(description: Any) -> ProblemSpec:
    return as_spec(_from_description(description, PROBLEMS, "problem"))

"""Optimizers by name: as plain values, to write to JSON and to read from TOML."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

from polarbear.descriptions import did_you_mean, made, own_description, own_object, parameters, plain_value
from polarbear.optimizers.cmaes_library import CMAES
from polarbear.optimizers.function import FunctionOptimizer, as_optimizer
from polarbear.optimizers.growing_budgets import GrowingBudgets
from polarbear.optimizers.modular_cmaes import BASELINE, ModularCMAES
from polarbear.optimizers.modular_de import PRESETS as DE_VARIANTS
from polarbear.optimizers.modular_de import ModularDE
from polarbear.optimizers.nevergrad_optimizers import Nevergrad
from polarbear.optimizers.nlopt_optimizers import NLopt
from polarbear.optimizers.pycma import PyCMA
from polarbear.optimizers.pymoo_optimizers import Pymoo
from polarbear.optimizers.quasi_random import QuasiRandomSearch
from polarbear.optimizers.random_search import RandomSearch
from polarbear.optimizers.scipy_optimizers import ScipyDifferentialEvolution, ScipyDualAnnealing, ScipyMinimize
from polarbear.plugins import load_plugin, plugin_names
from polarbear.protocols import Optimizer

FAMILIES: dict[str, type[Any]] = {
    "modular-cmaes": ModularCMAES,
    "modular-de": ModularDE,
    "pycma": PyCMA,
    "cmaes": CMAES,
    "random-search": RandomSearch,
    "quasi-random-search": QuasiRandomSearch,
    "scipy-minimize": ScipyMinimize,
    "scipy-differential-evolution": ScipyDifferentialEvolution,
    "scipy-dual-annealing": ScipyDualAnnealing,
    "nlopt": NLopt,
    "nevergrad": Nevergrad,
    "pymoo": Pymoo,
    "growing-budgets": GrowingBudgets,
    "function": FunctionOptimizer,
}
"""Optimizers by the name they are described with."""

PRESETS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "modular-cmaes-anytime": (ModularCMAES, BASELINE),
    **{name: (ModularDE, given) for name, given in DE_VARIANTS.items()},
    "pycma-bipop": (PyCMA, {"restart_strategy": "BIPOP"}),
    "cmaes-lra": (CMAES, {"learning_rate_adaptation": True}),
    "cmaes-separable": (CMAES, {"separable": True}),
}
"""Named starting points: a family and the arguments that take other defaults."""


def families() -> tuple[str, ...]:
    """The names of all families and presets, for `from_description`."""
    return (*FAMILIES, *PRESETS, *plugin_names("optimizers"))


def family_parameters(family: str) -> dict[str, Any]:
    """What a description of `family` may hold: each argument's default, or ``"required"``."""
    cls, preset = PRESETS.get(family) or (FAMILIES.get(family) or load_plugin("optimizers", family), {})
    return {name: plain_value(default) for name, default in parameters(cls, preset).items()}


def describe(optimizer: Any) -> dict[str, Any]:
    """Describe an optimizer in plain values that JSON and TOML can hold.

    Arguments at their defaults, and names that follow from the arguments, are left out; of the family and its
    presets, the shorter description is given.

    Returns:
        Such as ``{"optimizer": "modular-cmaes-anytime", "step_size_adaptation": "TPA"}``. Functions are described
        by where they are imported from, ``"module:qualname"``.

    An optimizer of your own class is described by where the class is, and its fields if it is a dataclass.
    """
    described = as_optimizer(optimizer)
    candidates = [_differences(described, name, cls, {}) for name, cls in FAMILIES.items() if type(described) is cls]
    if not candidates:
        return own_description(described, "optimizer")
    candidates += [
        _differences(described, name, cls, preset) for name, (cls, preset) in PRESETS.items() if type(described) is cls
    ]
    writable = [described for described in candidates if None not in described.values()]  # TOML has no None
    return min(writable or candidates, key=len)


def from_description(description: Mapping[str, Any]) -> Optimizer:
    """Make the optimizer that `describe` describes; arguments left out take their defaults.

    Raises:
        ValueError: If the family or an argument is unknown or has a wrong value; the message lists what is valid.
    """
    written = cast("object", description)
    if not isinstance(written, Mapping):
        raise ValueError(  # noqa: TRY004 - a file's contents are wrong, not a caller's type
            f"{written!r} describes no optimizer; write a table with its family in 'optimizer'"
        )
    fields = dict(description)
    family = fields.pop("optimizer", None)
    if isinstance(family, str) and (":" in family or family in plugin_names("optimizers")):
        return own_object(description, "optimizer")
    if family is None:
        raise ValueError(f"{dict(description)!r} does not say which optimizer;{did_you_mean('', families())}")
    if not isinstance(family, str) or family not in families():
        raise ValueError(f"optimizer {family!r} is unknown;{did_you_mean(str(family), families())}")
    cls, preset = PRESETS.get(family) or (FAMILIES[family], {})
    what = f"optimizer {family!r}"
    arguments = {name: _restored(value, what) for name, value in _merged(cls, preset, fields).items()}
    return made(cls, arguments, what)


def _differences(optimizer: Any, family: str, cls: type[Any], preset: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        value = getattr(optimizer, field.name)
        factory = cast("Any", field.default_factory)
        default = field.default if factory is dataclasses.MISSING else factory()
        if field.name != "name" and value != preset.get(field.name, default):
            given[field.name] = value
    told = {key: value for key, value in given.items() if value is not None}
    if all(getattr(cls(**_merged(cls, preset, told)), key) == getattr(optimizer, key) for key in given):
        given = told
    if optimizer.name != cls(**_merged(cls, preset, given)).name:
        given["name"] = optimizer.name
    return {"optimizer": family} | {key: _plain(value) for key, value in given.items()}


def _merged(cls: type[Any], preset: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments given in place of a preset's; a class whose arguments exclude each other has a method of its own."""
    merged = getattr(cls, "merged", None)
    return dict(preset) | dict(given) if merged is None else merged(preset, given)


def _plain(value: Any) -> Any:
    """`value` in the types of JSON; an optimizer within an optimizer by its description."""
    return describe(value) if isinstance(value, Optimizer) else plain_value(value)


def _restored(value: object, what: str) -> object:
    """The inverse of `_plain` for an argument of `what`, where a description stands for an optimizer."""
    if not (isinstance(value, Mapping) and "optimizer" in value):
        return cast("object", value)
    try:
        return from_description(cast("Mapping[str, Any]", value))
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from error

"""Optimizers as plain values that can be written to JSON and read from TOML."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, cast

from polarbear.descriptions import (
    FieldError,
    did_you_mean,
    errors_at,
    made,
    own_description,
    own_object,
    parameters,
    plain_value,
)
from polarbear.optimizers.function import wrapped
from polarbear.optimizers.noisy.selection import Selection
from polarbear.optimizers.settings import ALGORITHMS, FAMILIES, differences
from polarbear.plugins import load_plugin, plugin_names
from polarbear.protocols import Optimizer
from polarbear.validation import folded


def families() -> tuple[str, ...]:
    """The names of all families and presets that `from_description` accepts."""
    return (*sorted(FAMILIES), *plugin_names("optimizers"))


def family_parameters(family: str) -> dict[str, Any]:
    """The arguments that a description of `family` may contain, with their defaults or ``"required"``."""
    cls, preset = FAMILIES.get(family) or (load_plugin("optimizers", family), {})
    return {name: plain_value(default) for name, default in parameters(cls, preset).items()}


def library_algorithms() -> dict[str, str]:
    """The names of library algorithms that descriptions may use, such as ``"nlopt-COBYLA"``, with their families."""
    return {
        f"{library}-{algorithm}": family
        for library, (family, _, algorithms) in sorted(ALGORITHMS.items())
        for algorithm in algorithms()
    }


def family_class(family: str) -> type[Any]:
    """The class of a family or preset, which has its documentation and its required packages."""
    return FAMILIES[family][0] if family in FAMILIES else load_plugin("optimizers", family)


def preset(name: str) -> tuple[str, dict[str, Any]]:
    """The family that a listed name belongs to, and the defaults that the name overrides."""
    if name not in FAMILIES:  # a plug-in
        return name, {}
    cls, arguments = FAMILIES[name]
    family = next(each for each, (kind, _) in FAMILIES.items() if kind is cls)  # declared before its presets
    return family, {field: plain_value(value) for field, value in arguments.items()}


def as_optimizer(x: Any) -> Optimizer:
    """Turn `x` into an optimizer: an optimizer stays as it is, a function is wrapped, a name or class is instantiated.

    Raises:
        TypeError: If `x` can neither be called with (problem, rng) nor has the methods `init`, `ask` and `tell`; if
            one of these is a generator or async function; if its name is not a string; or if a class needs arguments.
        ValueError: If its name is blank or spans several lines, or if no optimizer has the name `x`.
    """
    if isinstance(x, str):
        return from_description({"optimizer": x})
    if not isinstance(x, type):
        return wrapped(x)
    try:
        made_of_it = x()
    except TypeError as error:
        raise TypeError(
            f"{x.__name__} cannot be created without arguments ({error}); give {x.__name__}(...)"
        ) from error
    return wrapped(made_of_it)


def _resolved(family: str, fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The listed name of a family, and its arguments, including the one that a name like ``"nlopt-COBYLA"`` contains.

    Case, ``-``, ``_`` and blanks are ignored.
    """
    if listed := {folded(name): name for name in families()}.get(folded(family)):
        return listed, dict(fields)
    library, hyphen, algorithm = family.partition("-")
    if not hyphen or library.lower() not in ALGORITHMS:
        return family, dict(fields)
    family_of_it, field, _ = ALGORITHMS[library.lower()]
    if field in fields:
        raise ValueError(f"optimizer {family!r} already names its {field}; leave out {field} = {fields[field]!r}")
    return family_of_it, {field: algorithm, **fields}


def describe(optimizer: Any) -> dict[str, Any]:
    """Describe an optimizer in plain values that JSON and TOML can represent.

    Arguments at their defaults, and a name that follows from the arguments, are left out. Of the descriptions by the
    family and by its presets, the shortest is returned.

    Returns:
        The description, such as ``{"optimizer": "modular-cmaes-anytime", "step_size_adaptation": "TPA"}``. Functions
        are described by their import paths, ``"module:qualname"``.

    An optimizer of your own class is described by the class's import path, and by its fields if it is a dataclass.
    """
    optimizer = as_optimizer(optimizer)
    candidates = [
        _described(optimizer, cls, name, preset) for name, (cls, preset) in FAMILIES.items() if type(optimizer) is cls
    ]
    if not candidates:
        return own_description(optimizer, "optimizer")
    writable = [description for description in candidates if None not in description.values()]  # TOML has no None
    return min(writable or candidates, key=len)


def from_description(description: Mapping[str, Any]) -> Optimizer:
    """Construct an optimizer from a description as returned by `describe`; arguments left out take their defaults.

    Raises:
        ValueError: If the family or an argument is unknown or has a wrong value; the message lists what is valid.
    """
    if not isinstance(cast("object", description), Mapping):
        raise ValueError(  # noqa: TRY004 - a file's contents are wrong, not a caller's type
            f"{description!r} does not describe an optimizer; write a table with its family in 'optimizer'"
        )
    fields = dict(description)
    family = fields.pop("optimizer", None)
    if isinstance(family, str) and (":" in family or family in plugin_names("optimizers")):
        return own_object(description, "optimizer")
    if family is None:
        raise ValueError(f"{dict(description)!r} does not say which optimizer;{did_you_mean('', families())}")
    said = family
    if isinstance(family, str):
        family, fields = _resolved(family, fields)
    if not isinstance(family, str) or family not in families():
        raise ValueError(f"optimizer {family!r} is unknown;{did_you_mean(str(family), families())}")
    cls, preset = FAMILIES[family]
    named = fields.keys() - description.keys()  # the argument contained in a name such as "nlopt-COBYLA"
    what = f"optimizer {(said if named else family)!r}"
    arguments = _merged(cls, preset, fields)
    try:
        return made(cls, {name: _restored(value, name, what) for name, value in arguments.items()}, what)
    except FieldError as error:
        if named.isdisjoint(error.where) or "did you mean" in str(error):
            raise
        raise type(error)(error.where, f"{error}{_listed_alike(str(said))}") from error


def _listed_alike(said: str) -> str:
    """A suggestion of a listed family of the same library, for a name that seems to contain an algorithm's."""
    library = said.partition("-")[0].lower()
    listed = {name.lower(): name for name in families() if name.lower().startswith(f"{library}-")}
    close = difflib.get_close_matches(said.lower(), listed, n=1, cutoff=0.8)
    return f"; or did you mean the optimizer {listed[close[0]]!r}?" if close else ""


def _described(optimizer: Any, cls: type[Any], family: str, preset: Mapping[str, Any]) -> dict[str, Any]:
    changed = differences(optimizer, preset)
    set_values = {key: value for key, value in changed.items() if value is not None}
    if all(getattr(cls(**_merged(cls, preset, set_values)), key) == getattr(optimizer, key) for key in changed):
        changed = set_values
    if optimizer.name != cls(**_merged(cls, preset, changed)).name:
        changed["name"] = optimizer.name
    return {"optimizer": family} | {key: _plain(value) for key, value in changed.items()}


def _merged(cls: type[Any], preset: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A preset's arguments, overridden by `arguments`; a class with mutually exclusive arguments merges them itself."""
    merged = getattr(cls, "merged", None)
    return dict(preset) | dict(arguments) if merged is None else merged(preset, arguments)


def _plain(value: Any) -> Any:
    """`value` in JSON's types; a nested optimizer or selection stage is replaced by its description."""
    if isinstance(value, Selection):
        return value.describe()
    return describe(value) if isinstance(value, Optimizer) else plain_value(value)


def _restored(value: object, name: str, what: str) -> object:
    """The inverse of `_plain` for an argument of `what`."""
    if not (isinstance(value, Mapping) and "optimizer" in value):
        return cast("object", value)
    try:
        with errors_at(name):
            return from_description(cast("Mapping[str, Any]", value))
    except FieldError as error:
        raise FieldError(error.where, f"{what}: {error}") from error

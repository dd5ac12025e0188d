"""ConfigSpace parameters from the options that a class of optimizers declares, ranges and conditions, with checks."""

from __future__ import annotations

import functools
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from polarbear.descriptions import FieldError, did_you_mean, errors_at, shortened
from polarbear.validation import Checked, real_number


def declared_options(make: type[Any], name: str) -> tuple[Any, ...]:
    """The options that a class declares for one of its arguments.

    Raises:
        FieldError: If it declares no options.
    """
    if options := _options_of(make, name):
        return options
    raise FieldError(
        ("modules", name),
        f"{make.__name__} declares no options for {name!r}; list them, modules={{{name!r}: [...]}}, or give a range",
    )


def _options_of(make: type[Any], name: str) -> tuple[Any, ...]:
    """The options that a class declares for an argument, the default first for a switch; empty if there are none."""
    hint = typing.get_type_hints(make, include_extras=True).get(name)
    bare, *marks = typing.get_args(hint) if typing.get_origin(hint) is typing.Annotated else (hint,)
    if bare is bool:
        return (False, True)
    if typing.get_origin(bare) is Literal:
        return typing.get_args(bare)
    for mark in marks:
        check = mark.check if isinstance(mark, Checked) else None
        if isinstance(check, functools.partial) and "words" in check.keywords:
            return tuple(check.keywords["words"])
    return ()


def categorical(make: type[Any], name: str, options: Any, default: Any) -> Any:
    """A categorical parameter.

    Raises:
        FieldError: If the options are not a list, or not among those that the class declares.
    """
    import ConfigSpace

    if isinstance(options, str) or not isinstance(options, Sequence) or not options:
        raise FieldError(
            ("modules", name),
            f"{name} is {shortened(cast('object', options))}; it must be a list with at least 1 option",
        )
    listed = list(cast("Sequence[Any]", options))
    known = _options_of(make, name)
    if wrong := [option for option in listed if known and option not in known]:
        raise FieldError(
            ("modules", name), f"{name} has no option {wrong[0]!r};{did_you_mean(str(wrong[0]), map(str, known))}"
        )
    first = default if default in listed else listed[0]
    with errors_at("modules", name):
        return ConfigSpace.CategoricalHyperparameter(name, listed, default_value=first)


def number(make: type[Any], name: str, limits: Any, default: Any) -> Any:
    """A numerical parameter with a range.

    Raises:
        FieldError: If this is not a range, or a range of fractions where the class declares integers.
    """
    import ConfigSpace

    log = False
    if isinstance(limits, Mapping):
        table = cast("Mapping[str, Any]", limits)
        if not {"from", "to"} <= table.keys() <= {"from", "to", "log"}:
            raise FieldError(
                ("ranges", name), f"{name} is {shortened(dict(table))}; it must have from, to and optionally log"
            )
        limits, log = (table["from"], table["to"]), bool(table.get("log", False))
    if isinstance(limits, str) or not isinstance(limits, Sequence) or len(cast("Sequence[Any]", limits)) != 2:
        raise FieldError(
            ("ranges", name),
            f"{name} is {shortened(cast('object', limits))}; it must be a pair, the lowest and the highest value",
        )
    least, greatest = (real_number(limit, name) for limit in cast("Sequence[Any]", limits))
    if not least < greatest or (log and least <= 0):
        reason = "a logarithmic range must be above 0" if log and least <= 0 else "the first must be below the second"
        raise FieldError(("ranges", name), f"{name} is ({least:g}, {greatest:g}); {reason}")
    whole = int in (typing.get_args(hint := typing.get_type_hints(make).get(name)) or (hint,))
    low, high = (int(least), int(greatest)) if whole else (least, greatest)
    if (low, high) != (least, greatest):
        raise FieldError(("ranges", name), f"{name} is ({least:g}, {greatest:g}); its limits must be whole numbers")
    usual = isinstance(default, (int, float)) and least <= default <= greatest
    kind = ConfigSpace.UniformIntegerHyperparameter if whole else ConfigSpace.UniformFloatHyperparameter
    return kind(name, low, high, default_value=default if usual else None, log=log)


def condition(space: Any, name: str, needed: Mapping[str, Any]) -> Any:
    """The condition that a parameter is active only with certain options of other parameters.

    Raises:
        FieldError: If the space lacks one of these parameters or options, or none are given.
    """
    import ConfigSpace

    for each in (name, *needed):
        if each not in space:
            raise FieldError(("when", name), f"the space has no parameter {each!r};{did_you_mean(each, space)}")
    if not needed:
        raise FieldError(("when", name), f"{name} has an empty condition; name the argument it depends on")
    lists: dict[str, list[Any]] = {
        other: list(cast("Sequence[Any]", options)) if isinstance(options, (list, tuple)) else [options]
        for other, options in needed.items()
    }
    with errors_at("when", name):
        parts = [ConfigSpace.InCondition(space[name], space[other], each) for other, each in lists.items()]
    return parts[0] if len(parts) == 1 else ConfigSpace.AndConjunction(*parts)

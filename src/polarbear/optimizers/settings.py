"""The declaration of an optimizer: its name in study files, its presets, its default name and its options."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from string import Formatter
from typing import Any, TypeVar, cast

import numpy as np

from polarbear.descriptions import checked_name, did_you_mean

T = TypeVar("T")

FAMILIES: dict[str, tuple[type[Any], Mapping[str, Any]]] = {}
"""Names in study files: a class, and the arguments that take other defaults."""


def family(
    study_name: str, /, name: str = "", *, presets: Mapping[str, Mapping[str, Any]] | None = None, **labels: str
) -> Callable[[type[T]], type[T]]:
    """Declare a frozen dataclass with a field `name` as a family of optimizers.

    Unknown keywords are answered by the closest argument. Without a name, an optimizer is called after `name` and the
    fields that differ from their defaults; a class with a method `default_name` names itself.

    Args:
        study_name: The name in study files.
        name: The first part of the default name, such as ``"NLopt-{algorithm}"``, which shows these fields.
        presets: Further names in study files, and the arguments that take other defaults.
        labels: How some fields appear in the default name, such as ``restart_strategy="{}"``; see `label`.
    """

    def declared(cls: type[T]) -> type[T]:
        FAMILIES[study_name] = cls, {}
        FAMILIES.update({preset: (cls, arguments) for preset, arguments in (presets or {}).items()})
        valid = [field.name for field in dataclasses.fields(cls) if field.init]  # pyright: ignore[reportArgumentType]
        shown = [field for _, field, _, _ in Formatter().parse(name) if field]
        unchecked = cls.__init__

        def default_name(self: Any) -> str:
            if hasattr(cls, "default_name"):
                return self.default_name()
            return joined_name(name.format(**vars(self)), differences(self, without=shown), labels)

        @functools.wraps(unchecked)
        def checked(self: Any, *args: Any, **keywords: Any) -> None:
            for keyword in keywords:
                if keyword not in valid:
                    raise TypeError(f"{cls.__name__} has no argument {keyword!r};{did_you_mean(keyword, valid)}")
            unchecked(self, *args, **keywords)
            if not self.name:
                set_fields(self, {"name": default_name(self)})
            checked_name(self.name)

        cls.__init__ = checked
        return cls

    return declared


def set_fields(optimizer: Any, values: Mapping[str, Any]) -> None:
    """Set fields of a frozen dataclass during its construction."""
    for key, value in values.items():
        object.__setattr__(optimizer, key, value)


def differences(optimizer: Any, preset: Mapping[str, Any] | None = None, without: Iterable[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass, but for its name, whose values differ from a preset or from their defaults."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(optimizer):
        factory = cast("Any", field.default_factory)
        default = field.default if factory is dataclasses.MISSING else factory()
        usual = default if preset is None else preset.get(field.name, default)
        if field.name not in ("name", *without) and (value := getattr(optimizer, field.name)) != usual:
            changed[field.name] = value
    return changed


def joined_name(kind: str, fields: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> str:
    """A name of an optimizer: its kind and some of its fields."""
    return "-".join([kind, *(label(field, value, (labels or {}).get(field)) for field, value in fields.items())])


def label(field: str, value: Any, form: str | None = None) -> str:
    """A field in a name: `form` with its value, such as ``"{}"``.

    By default ``field=value``; ``field`` or ``not-field`` for a switch; and all entries of a mapping.
    """
    if form is not None:
        return form.format(value)
    if isinstance(value, Mapping):
        return "-".join(f"{key}={entry}" for key, entry in cast("Mapping[str, Any]", value).items())
    if isinstance(value, bool):
        return field if value else f"not-{field}"
    return f"{field}={value}"


def folded(word: str) -> str:
    """A word without what does not count in the names of options: case, ``-``, ``_`` and spaces."""
    return word.upper().replace("-", "").replace("_", "").replace(" ", "")


def option(
    value: Any,
    what: str,
    valid: Iterable[str],
    short: Mapping[str, str] | None = None,
    left_out: Mapping[str, str] | None = None,
) -> str:
    """The option that `value` names, ignoring case, ``-``, ``_`` and spaces.

    Args:
        value: What the user wrote.
        what: The argument, for messages.
        valid: The options.
        short: Further names of options.
        left_out: For options that exist, but are not offered, the reasons.

    Raises:
        TypeError: If `value` is no text.
        ValueError: If there is no such option, or it is left out; the message lists all, or says why.
    """
    names = {folded(name): name for name in valid} | {folded(name): full for name, full in (short or {}).items()}
    if not isinstance(value, str):
        raise TypeError(f"{what} is {value!r}; it must be one of the words {', '.join(sorted({*names.values()}))}")
    for name, reason in (left_out or {}).items():
        if folded(name) == folded(value):
            raise ValueError(f"{what} is {value!r}, which is left out: {reason}")
    if folded(value) not in names:
        raise ValueError(f"{what} is {value!r};{did_you_mean(value, {*names.values(), *(short or {})})}")
    return names[folded(value)]


def check_options(options: Mapping[str, Any], owner: str, valid: Iterable[str]) -> None:
    """Raise a ValueError unless an algorithm, or a library, has all the options."""
    for key in options:
        if key not in valid:
            raise ValueError(f"{owner} has no option {key!r};{did_you_mean(str(key), valid)}")


def as_plain(value: Any) -> Any:
    """`value`, an array as lists, so that optimizers can be compared and described."""
    return cast("Any", value).tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def number(value: Any, what: str, low: float = -math.inf, high: float = math.inf, *, whole: bool = False) -> Any:
    """Return `value`, a finite number from `low` to `high`, or raise naming `what`; None stays None."""
    if value is None:
        return None
    kind = "a whole number" if whole else "a number"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{what} is {value!r}; it must be {kind}")
    value = as_plain(value)
    if whole and math.isfinite(value) and value != int(value):
        raise ValueError(f"{what} is {value!r}; it must be {kind}")
    if not low <= value <= high or not math.isfinite(value):
        ends = f"from {low:.7g} to {high:g}" if math.isfinite(high) else f"{low:.7g} or more"
        raise ValueError(f"{what} is {value!r}; valid is {ends}")
    return int(value) if whole else float(value)


def flag(value: Any, what: str) -> bool:
    """Return `value`, which must be True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{what} is {value!r}; it must be True or False")
    return value

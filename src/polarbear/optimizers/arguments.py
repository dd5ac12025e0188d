"""Checking what users write: keywords, options, numbers."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from typing import Any, TypeVar, cast

import numpy as np

from polarbear.descriptions import checked_name, did_you_mean

T = TypeVar("T")


def checked_keywords(cls: type[T]) -> type[T]:
    """Let an optimizer's dataclass answer an unknown keyword with the closest one it has, and check its name.

    Without a name it gets what its method `_default_name` gives.
    """
    valid = [field.name for field in dataclasses.fields(cls) if field.init]  # pyright: ignore[reportArgumentType]
    unchecked = cls.__init__

    @functools.wraps(unchecked)
    def checked(self: Any, *args: Any, **keywords: Any) -> None:
        for keyword in keywords:
            if keyword not in valid:
                raise TypeError(f"{cls.__name__} has no argument {keyword!r};{did_you_mean(keyword, valid)}")
        unchecked(self, *args, **keywords)
        if not self.name:
            set_fields(self, {"name": self._default_name()})
        checked_name(self.name)

    cls.__init__ = checked
    return cls


def set_fields(optimizer: Any, values: Mapping[str, Any]) -> None:
    """Set fields of a frozen dataclass, while it is made."""
    for key, value in values.items():
        object.__setattr__(optimizer, key, value)


def plain_label(field: str, value: Any) -> str:
    """``field=value``."""
    return f"{field}={value}"


def label(field: str, value: Any) -> str:
    """``field=value``; ``field`` or ``not-field`` for what is on or off, and the entries of a mapping."""
    if isinstance(value, Mapping):
        return "-".join(plain_label(key, entry) for key, entry in cast("Mapping[str, Any]", value).items())
    if isinstance(value, bool):
        return field if value else f"not-{field}"
    return plain_label(field, value)


def told_name(optimizer: Any, kind: str, *without: str, labelled: Callable[[str, Any], str] = label) -> str:
    """A name of an optimizer: its kind, and what differs from the defaults but for the fields in `without`."""
    told = [kind]
    for field in dataclasses.fields(optimizer):
        factory = cast("Any", field.default_factory)
        default = field.default if factory is dataclasses.MISSING else factory()
        if field.name not in ("name", *without) and (value := getattr(optimizer, field.name)) != default:
            told.append(labelled(field.name, value))
    return "-".join(told)


def option(value: Any, what: str, valid: Iterable[str], short: dict[str, str] | None = None) -> str:
    """The option that `value` names, ignoring case, ``-`` and ``_``; `short` maps further names to options."""
    names = {name.replace("_", ""): name for name in valid} | (short or {})
    if not isinstance(value, str):
        raise TypeError(f"{what} is {value!r}; it must be one of the words {', '.join(sorted(names.values()))}")
    chosen = names.get(value.upper().replace("-", "").replace("_", "").replace(" ", ""))
    if chosen is None:
        raise ValueError(f"{what} is {value!r};{did_you_mean(value, {*names.values(), *(short or {})})}")
    return chosen


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

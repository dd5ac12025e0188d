"""Objects as plain values, for study files and for the spec a study keeps; and the errors of those who write them."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """The end of an error message: the closest valid name, if one is close, and all valid names."""
    names = sorted(valid)
    folded = {name.lower(): name for name in reversed(names)}
    close = difflib.get_close_matches(word.lower(), folded, n=1)
    guess = f" did you mean {folded[close[0]]!r}?" if close else ""
    return f"{guess} valid are: {', '.join(names)}"


def reference(x: Callable[..., Any]) -> str:
    """Where a function or class can be imported from, ``"module:qualname"``; an object's class for other callables."""
    source: Any = x if hasattr(x, "__qualname__") else type(x)
    return f"{source.__module__}:{source.__qualname__}"


def imported(place: Any, what: str) -> Callable[..., Any]:
    """Import the function or class at ``"module:qualname"``.

    Args:
        place: The reference; something callable is returned as it is.
        what: What it is for, for messages.

    Raises:
        ValueError: If the reference is malformed, or nothing callable stands there.
    """
    if callable(place):
        return place
    module, _, path = place.partition(":") if isinstance(place, str) else ("", "", "")
    if not (module and path):
        raise ValueError(f"{what} is {place!r}; write it as 'module:name', such as 'mypackage.models:cost'")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"{what} is {place!r}, which cannot be imported: {type(error).__name__}: {error}; "
            "only what is defined at the top of an importable module can be named"
        ) from error
    if not callable(found):
        raise ValueError(  # noqa: TRY004 - the reference is wrong, not its type
            f"{what} is {place!r}, which is {found!r} and cannot be called"
        )
    return found


def own_description(x: object, kind: str) -> dict[str, Any]:
    """An object of a user's own class: where the class is, and its fields if it is a dataclass.

    `own_object` makes a dataclass anew from it. Other objects can be told apart by it, but not made.
    """
    described: dict[str, Any] = {kind: reference(type(x))}
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        described |= {field.name: plain_value(getattr(x, field.name)) for field in dataclasses.fields(x) if field.init}
    return described


def own_object(description: Mapping[str, Any], kind: str) -> Any:
    """The object that `own_description` described.

    Raises:
        ValueError: If its class cannot be imported, or does not take these fields.
    """
    fields = {name: value for name, value in description.items() if name != kind}
    cls = imported(description[kind], kind)
    try:
        return cls(**fields)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{kind} {description[kind]!r}: {error}") from error


def parameters(cls: type[Any], preset: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What can be written in a description of a dataclass: each argument's default, or ``"required"``.

    Args:
        cls: The class that the description makes.
        preset: Defaults that differ from the class's own.
    """
    defaults = {name: given.default for name, given in inspect.signature(cls).parameters.items()}
    made = {
        field.name: field.default_factory()
        for field in dataclasses.fields(cls)
        if field.default_factory is not dataclasses.MISSING
    }
    known = defaults | made | dict(preset or {})
    return {name: "required" if value is inspect.Parameter.empty else value for name, value in known.items()}


def plain_value(value: Any) -> Any:
    """`value` in the types of JSON; functions become references, and what is neither its `repr`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain_value(entry) for key, entry in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (tuple, list, range)):
        return [plain_value(entry) for entry in cast("tuple[Any, ...]", value)]
    return reference(value) if callable(value) else repr(value)

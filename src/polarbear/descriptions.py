"""Descriptions of objects as plain values, for study files and stored specs; and errors that name their field."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib
import inspect
import re
import unicodedata
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any, cast

from polarbear.plugins import Group, load_plugin, plugin_name

_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and line feed
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional controls
    "\u2028\u2029\ud800-\udfff]"  # line and paragraph separators, and surrogates
)
FieldPath = tuple[str | int, ...]
"""Keys and array positions, such as ``("algorithms", 1, "name")``."""

_SHOWN = 60
"""Maximum number of characters of a user's value quoted in messages."""

_REFERENCE = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<path>\S+)")
_GROUPS: dict[str, Group] = {"optimizer": "optimizers", "suite": "problems", "problem": "problems"}
_METHODS = {"optimizer": {"__call__", "ask"}, "suite": {"__getitem__"}, "problem": {"build", "__call__"}}
"""Methods of which a user's class needs at least one, by the kind of object."""


class FieldError(ValueError):
    """A field of settings, or of the file that describes them, has an invalid value.

    Attributes:
        where: The path of the field; empty if unknown.
    """

    def __init__(self, where: FieldPath, message: str) -> None:
        super().__init__(message)
        self.where = where

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.where, str(self))


class FieldTypeError(FieldError, TypeError):
    """A field has a value of a wrong type, is missing, or is unknown."""


@contextmanager
def errors_at(*where: str | int) -> Generator[None]:
    """Re-raise errors of the block as `FieldError` at a path, such as ``errors_at("algorithms", 1)``."""
    try:
        yield
    except FieldError as error:
        raise type(error)((*where, *error.where), str(error)) from error
    except TypeError as error:
        raise FieldTypeError(where, str(error)) from error
    except ValueError as error:
        raise FieldError(where, str(error)) from error


def shortened(value: object) -> str:
    """The `repr` of a user's value for messages, truncated if long."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def did_you_mean(word: str, valid: Iterable[str]) -> str:
    """The end of an error message: the closest valid name, if any is close, and all valid names."""
    names = sorted(valid)
    folded = {name.lower(): name for name in reversed(names)}
    close = difflib.get_close_matches(word.lower(), folded, n=1)
    guess = f" did you mean {folded[close[0]]!r}?" if close else ""
    return f"{guess} choose from: {', '.join(names)}"


def printable(text: str) -> str:
    r"""`text` with characters that control a terminal or break a figure escaped as in JSON, ``\uXXXX``."""
    return _STEERING.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def listed(words: Iterable[str]) -> str:
    """``A``, ``A and B``, ``A, B and C``."""
    *most, last = list(words) or ["none"]
    return f"{', '.join(most)} and {last}" if most else last


def html_table(columns: Sequence[str], rows: Iterable[Sequence[str]], most: int = 100) -> str:
    """An HTML table for notebooks, of text cells; beyond `most` rows, only the first and the number of all."""
    head = "".join(f"<th scope='col'>{escape(printable(name))}</th>" for name in columns)
    lines = ["".join(f"<td>{escape(printable(cell))}</td>" for cell in row) for row in rows]
    more = f"<p>The first {most} of {len(lines):,} rows.</p>" if len(lines) > most else ""
    return f"<table><tr>{head}</tr>{''.join(f'<tr>{line}</tr>' for line in lines[:most])}</table>{more}"


def checked_name(name: Any, what: str = "name") -> str:
    """Return `name` if it is text on one line, since names appear in tables and keys of studies.

    Raises:
        TypeError: If it is not text.
        ValueError: If it is blank, or contains line ends or other control characters.
    """
    if not isinstance(name, str):
        raise TypeError(f"{what} is {name!r}; it must be text in quotes")
    if not name.strip() or any(unicodedata.category(sign) in {"Cc", "Cs", "Zl", "Zp"} for sign in name):
        raise ValueError(f"{what} is {name!r}; it must be text on one line, and not blank")
    return name


def reference(x: Callable[..., Any]) -> str:
    """The reference ``"module:qualname"`` to a function or class, or to the class of any other callable."""
    source: Any = x if hasattr(x, "__qualname__") else type(x)
    return f"{source.__module__}:{source.__qualname__}"


def imported(reference: Any, what: str) -> Callable[..., Any]:
    """Import the function or class at ``"module:qualname"``.

    Args:
        reference: The reference; a callable is returned unchanged.
        what: The role of the object, for messages.

    Raises:
        ValueError: If the reference is malformed, or does not lead to anything callable.
    """
    if callable(reference):
        return reference
    match = _REFERENCE.fullmatch(reference) if isinstance(reference, str) else None
    if match is None:
        raise ValueError(f"{what} is {reference!r}; write it as 'module:name', such as 'mypackage.models:cost'")
    try:
        value: Any = importlib.import_module(match["module"])
        for part in match["path"].split("."):
            value = getattr(value, part)
    except (Exception, SystemExit) as error:
        raise ValueError(
            f"{what} is {reference!r}, which cannot be imported: {type(error).__name__}: {error}; "
            "it must be defined at the top level of an importable module"
        ) from error
    if not callable(value):
        raise ValueError(  # noqa: TRY004 - the reference is wrong, not its type
            f"{what} is {reference!r}, which is {value!r} and cannot be called"
        )
    return value


def references(description: object) -> Iterator[tuple[str, str]]:
    """All references in a description that `imported` would follow, each with its module.

    Names (``name = "…"``) are skipped: nothing is imported by name.
    """
    if isinstance(description, str):
        if match := _REFERENCE.fullmatch(description):
            yield description, match["module"]
    elif isinstance(description, Mapping):
        for key, entry in cast("Mapping[Any, Any]", description).items():
            if not (key == "name" and isinstance(entry, str)):
                yield from references(entry)
    elif isinstance(description, (list, tuple)):
        for entry in cast("list[Any]", description):
            yield from references(entry)


def check_runs_when_called(function: Any, what: str) -> None:
    """Refuse generator and async functions, and objects whose ``__call__`` is one: a call would run none of their code.

    Args:
        function: Any callable.
        what: Its role, for messages.

    Raises:
        TypeError: If `function` is one of these; the message names it.
    """
    called: Any = function
    while isinstance(called, functools.partial):
        called = cast("functools.partial[Any]", called).func
    for candidate in (called, cast("Any", type(called)).__call__):
        for is_kind, kind, mend in _DEFERRED:
            if is_kind(candidate):
                name = getattr(called, "__name__", type(called).__name__)
                raise TypeError(f"{what} {name} is {kind}, so calling it runs none of its code; {mend}")


_SYNCHRONOUS = "make it a plain function: remove `async` and `await`, or call asyncio.run(...) in one"
_DEFERRED = (
    (inspect.isasyncgenfunction, "an async generator function", _SYNCHRONOUS),
    (inspect.iscoroutinefunction, "an async function", _SYNCHRONOUS),
    (inspect.isgeneratorfunction, "a generator function", "make it a plain function: remove `yield`"),
)


def own_description(x: object, kind: str) -> dict[str, Any]:
    """Describe an object of a user's own class: a reference to the class, and the fields if it is a dataclass.

    A class that an installed package offers is named as the package names it (see `polarbear.plugins`). `own_object`
    rebuilds a dataclass from its description; for other objects, the description only identifies the class.
    """
    description: dict[str, Any] = {kind: plugin_name(_GROUPS[kind], type(x)) or reference(type(x))}
    if dataclasses.is_dataclass(x) and not isinstance(x, type):
        fields = [field.name for field in dataclasses.fields(x) if field.init]
        description |= {name: plain_value(getattr(x, name)) for name in fields}
    return description


def own_object(description: Mapping[str, Any], kind: str) -> Any:
    """Build the object that `own_description` described.

    Raises:
        ValueError: If its class is not of this kind, cannot be imported, or does not take these fields.
    """
    fields = {name: value for name, value in description.items() if name != kind}
    name, what = description[kind], f"{kind} {description[kind]!r}"
    value = imported(name, kind) if ":" in name else load_plugin(_GROUPS[kind], name)
    return made(own_class(value, kind, what), fields, what)


def own_class(value: object, kind: str, what: str) -> type[Any]:
    """Return `value` if it is a class of optimizers, suites or problems: nothing else may be called to make one.

    Args:
        value: The imported object.
        kind: ``"optimizer"``, ``"suite"`` or ``"problem"``.
        what: The object described, for messages.

    Raises:
        ValueError: If `value` is anything else.
    """
    methods = _METHODS[kind]
    if isinstance(value, type) and any(methods & vars(base).keys() for base in value.__mro__):
        return value
    raise ValueError(
        f"{what} does not name a class of {kind}s: it must be a class with a method {' or '.join(sorted(methods))}; "
        f"for a function, write {kind} = 'function', function = 'module:name'"
    )


def made(cls: type[Any], arguments: Mapping[str, Any], what: str) -> Any:
    """Make an object of a class.

    Args:
        cls: The class.
        arguments: Keyword arguments of the class.
        what: The object described, for messages, such as ``"suite 'bbob'"``.

    Raises:
        ValueError: If an argument is unknown, missing, or refused by the class.
    """
    check_arguments(cls, arguments, what)
    try:
        return cls(**arguments)
    except FieldError as error:
        raise type(error)(error.where, f"{what}: {error}") from error
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what}: {error}") from error


def check_arguments(cls: type[Any], names: Collection[str], what: str) -> None:
    """Raise a `ValueError` if a class lacks one of the named arguments, or requires others."""
    try:
        arguments = inspect.signature(cls).parameters
    except ValueError:  # classes of extension modules may have no signature
        return
    kinds = {name: argument.kind for name, argument in arguments.items()}
    valid = [name for name, kind in kinds.items() if kind not in _GATHERING]
    for name in names:
        if name not in valid and inspect.Parameter.VAR_KEYWORD not in kinds.values():
            raise FieldError((name,), f"{what} has no argument {name!r};{did_you_mean(name, valid)}")
    missing = [name for name in valid if arguments[name].default is inspect.Parameter.empty and name not in names]
    if missing:
        raise ValueError(f"{what} lacks {' and '.join(missing)}")


_GATHERING = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def parameters(cls: type[Any], preset: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The arguments that a description of a dataclass may contain: each one's default, or ``"required"``.

    Args:
        cls: The dataclass described.
        preset: Defaults that differ from the class's own.
    """
    defaults = {name: argument.default for name, argument in inspect.signature(cls).parameters.items()}
    for field in dataclasses.fields(cls):
        if field.default_factory is not dataclasses.MISSING:
            defaults[field.name] = field.default_factory()
    defaults |= preset or {}
    return {name: "required" if value is inspect.Parameter.empty else value for name, value in defaults.items()}


def plain_value(value: Any) -> Any:
    """`value` as JSON types; callables become references, and anything else its `repr`."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain_value(entry) for key, entry in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, (tuple, list, range)):
        return [plain_value(entry) for entry in cast("tuple[Any, ...]", value)]
    return reference(value) if callable(value) else repr(value)

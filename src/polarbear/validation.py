"""Settings classes whose fields declare types and ranges, and the same checks for single arguments.

```python
@settings
class Sampler:
    name: Name
    size: Annotated[int, whole(1)] = 10
    rate: Annotated[float, real(gt=0, le=1)] | None = None
    kind: Literal["plain", "mirrored"] = "plain"
```

``Sampler("a", size=0)`` raises a `FieldError`: "size is 0; it must be 1 or more". Conditions on several fields are
checked in ``__post_init__``, after each is converted; `set_fields` sets fields that derive from others.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from numbers import Real
from typing import Annotated, Any, TypeVar, dataclass_transform, overload

import numpy as np

from polarbear.descriptions import (
    FieldError,
    FieldPath,
    FieldTypeError,
    checked_name,
    did_you_mean,
    errors_at,
    shortened,
)
from polarbear.quantities import plural

_T = TypeVar("_T")

_CONFIG = {"strict": True, "extra": "forbid", "validate_default": True, "arbitrary_types_allowed": True}

_QUOTED = r"'([^']*)'"

_EXPECTED = {
    "model_type": "a table",
    "dict_type": "a table",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "callable_type": "a function",
    "dataclass_exact_type": "of type {class_name}",
    "literal_error": "{expected}",
    "greater_than": "more than {gt}",
    "greater_than_equal": "{ge} or more",
    "less_than": "less than {lt}",
    "less_than_equal": "{le} or less",
    "too_short": "a list of {min_length} or more",
    "too_long": "a list of {max_length} or fewer",
}
"""What a field must be, by pydantic's error type."""


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def settings(cls: type[_T], /) -> type[_T]: ...


@overload
@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def settings(*, kw_only: bool = False, eq: bool = True, repr: bool = True) -> Callable[[type[_T]], type[_T]]: ...


def settings(cls: type[Any] | None = None, /, **options: Any) -> Any:
    """Make a frozen dataclass whose fields are checked and converted as their annotations say.

    Args:
        cls: The class.
        options: Options of `dataclasses.dataclass`, such as ``kw_only=True``.

    Raises:
        FieldError: By the class, at the first invalid field; it is a ValueError. Unknown and missing fields and values
            of a wrong type raise `FieldTypeError`, which is a TypeError as well.
    """
    if cls is None:
        return functools.partial(settings, **options)
    made: Any = dataclass(cls, frozen=True, **options)
    made.__pydantic_config__ = _CONFIG

    @functools.wraps(made.__init__)
    def checked(self: Any, *args: Any, **keywords: Any) -> None:
        validate, positional = _validator(made)
        try:
            validate(positional(args, keywords), self_instance=self)
        except ValueError as error:
            fault = _first(error)
        else:
            return
        cause = fault.get("ctx", {}).get("error")
        raise _error(made, fault, cause) from (cause.__cause__ if isinstance(cause, FieldError) else cause)

    made.__init__ = checked
    return made


@functools.cache
def _validator(cls: type[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The function that checks arguments and sets fields, and the class of its argument; made for the first object."""
    from pydantic import TypeAdapter
    from pydantic_core import ArgsKwargs

    return TypeAdapter(cls).validator.validate_python, ArgsKwargs


def _first(error: Any) -> Any:
    """The first fault, unknown arguments first: a misspelt argument is missing under its right name, too."""
    return min(error.errors(include_url=False), key=lambda fault: not fault["type"].startswith("unexpected"))


def _error(cls: type[Any], fault: Any, cause: object) -> FieldError:
    settings_class: Any = cls
    names: list[str] = [entry.name for entry in fields(settings_class) if entry.init]
    path: tuple[Any, ...] = fault["loc"]
    kind: str = fault["type"]
    if kind == "unexpected_positional_argument":
        return FieldTypeError(
            (), f"{cls.__name__} takes {plural(names, 'argument')}; leave out {shortened(fault['input'])}"
        )
    if kind == "unexpected_keyword_argument":
        return FieldTypeError(path, f"{cls.__name__} has no argument {path[0]!r};{did_you_mean(path[0], names)}")
    if kind == "missing" and len(path) == 1:
        return FieldTypeError((), f"{cls.__name__} lacks {path[0]}")
    if path and isinstance(path[0], int):  # the position of an argument without a keyword
        path = (names[path[0]], *path[1:])
    if isinstance(cause, FieldError):
        inside = cause.where[1:] if path and cause.where[:1] == path[:1] else cause.where
        return type(cause)((*path, *inside), str(cause))
    if cause is not None:
        return FieldError(path, str(cause))
    return (FieldTypeError if kind.endswith("_type") else FieldError)(path, fault_message(fault, path))


def fault_message(fault: Any, path: FieldPath) -> str:
    """The message for the field at a path, from one of the entries of pydantic's ``error.errors()``."""
    field, context = ".".join(map(str, path)), fault.get("ctx", {})
    if isinstance(cause := context.get("error"), FieldError):  # its message begins with the field
        return ".".join([*map(str, path[:-1]), str(cause)])
    if fault["type"] == "missing":
        return f"{field} is missing"
    value = shortened(fault["input"])
    if fault["type"] == "literal_error" and isinstance(fault["input"], str):
        return f"{field} is {value};{did_you_mean(fault['input'], re.findall(_QUOTED, context['expected']))}"
    if expected := _EXPECTED.get(fault["type"]):
        return f"{field} is {value}; it must be {expected.format(**context)}"
    return f"{field} is {value}: {fault['msg'].removeprefix('Value error, ')}"


def set_fields(frozen: object, **values: Any) -> None:
    """Set fields of a frozen dataclass from within its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(frozen, name, value)


@dataclass(frozen=True)
class Checked:
    """Marks an annotation: the field is set to what `check` returns for the value and the field's name."""

    check: Callable[[Any, str], Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """The schema of the field, for pydantic."""
        from pydantic_core import core_schema

        return core_schema.with_info_plain_validator_function(self._validate)

    def _validate(self, value: Any, info: Any) -> Any:
        name = info.field_name or ""
        try:
            return self.check(value, name)
        except FieldError:
            raise
        except TypeError as error:  # pydantic does not catch it
            raise FieldTypeError((name,), str(error)) from error


def whole(ge: int | None = None, le: int | None = None) -> Checked:
    """Require a whole number within inclusive limits."""
    return Checked(functools.partial(whole_number, ge=ge, le=le))


def real(*, ge: float | None = None, gt: float | None = None, le: float | None = None, lt: float | None = None) -> Any:
    """Require a finite number that is at least `ge` or above `gt`, and at most `le` or below `lt`."""
    return Checked(functools.partial(real_number, ge=ge, gt=gt, le=le, lt=lt))


def whole_number(value: Any, name: str, ge: int | None = None, le: int | None = None) -> int:
    """`value` as an int.

    Args:
        value: The user's value; integral floats and NumPy scalars are accepted.
        name: The argument's name, for messages.
        ge: The smallest valid number, if any.
        le: The largest valid number, if any.

    Raises:
        FieldTypeError: If it is not a whole number.
        FieldError: If it is out of range.
    """
    number = _scalar(value)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool):
        raise FieldTypeError((name,), f"{name} is {shortened(value)}; it must be a whole number")
    if (ge is not None and number < ge) or (le is not None and number > le):
        raise FieldError((name,), f"{name} is {number}; it must be {_range(ge, None, le, None)}")
    return number


def real_number(
    value: Any,
    name: str,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
) -> float:
    """`value` as a float; the limits are those of `real`.

    Raises:
        FieldTypeError: If it is not a real number.
        FieldError: If it is not finite, or out of range.
    """
    number = _scalar(value)
    if isinstance(number, bool) or not isinstance(number, Real):
        raise FieldTypeError((name,), f"{name} is {shortened(value)}; it must be a number")
    try:
        number = float(number)
    except OverflowError:
        raise FieldError((name,), f"{name} is {shortened(value)}; it must be below 1.8e308 in magnitude") from None
    if not math.isfinite(number):
        raise FieldError((name,), f"{name} is {number!r}; it must be finite")
    if not (
        (ge is None or number >= ge)
        and (gt is None or number > gt)
        and (le is None or number <= le)
        and (lt is None or number < lt)
    ):
        raise FieldError((name,), f"{name} is {number!r}; it must be {_range(ge, gt, le, lt)}")
    return number


def parse_number(text: str, dimension: int | None = None) -> float:
    """Parse a positive number of evaluations or seconds, such as ``"300"``, ``"1e4"``, ``"10_000"``, ``"1000*d"``.

    Raises:
        ValueError: If the text is not a positive number, or is a multiple of the dimension and that is not given.
    """
    factor, times, variable = text.strip().partition("*")
    multiple = variable.strip().lower() == "d"
    try:
        number = float(factor) if multiple or not times else math.nan
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise ValueError(
            f"{shortened(text.strip())} is not a budget; write a positive number, or a multiple of d such as 1000*d"
        )
    if multiple and dimension is None:
        raise ValueError(f"{text.strip()!r} needs one dimension, which is not known here; write out the number itself")
    return number * (dimension or 1) if multiple else number


def real_numbers(value: Any, name: str) -> tuple[float, ...]:
    """The entries of `value` as floats; FieldError unless they are finite real numbers."""
    if isinstance(value, str) or not np.iterable(value):
        raise FieldTypeError((name,), f"{name} is {shortened(value)}; it must be a list of numbers")
    with errors_at(name):
        return tuple(real_number(entry, f"{name}[{i}]") for i, entry in enumerate(value))


def flag(value: Any, name: str) -> bool:
    """`value` as a bool; FieldTypeError unless it is true or false."""
    if type(value) not in (bool, np.bool_):
        raise FieldTypeError((name,), f"{name} is {shortened(value)}; it must be true or false")
    return bool(value)


def choice(*words: str, **aliases: str) -> Checked:
    """Require one of `words`, ignoring case, ``-``, ``_`` and blanks; `aliases` map further names to words."""
    return Checked(functools.partial(chosen_word, words=words, aliases=aliases))


def chosen_word(value: Any, name: str, words: tuple[str, ...], aliases: dict[str, str] | None = None) -> str:
    """The word that `value` names, as described in `choice`; FieldError if there is none."""
    names = dict(zip(words, words, strict=True)) | (aliases or {})
    if not isinstance(value, str):
        message = f"{name} is {shortened(value)}; it must be one of the words {', '.join(sorted(words))}"
        raise FieldTypeError((name,), message)
    if (chosen := {folded(word): meaning for word, meaning in names.items()}.get(folded(value))) is None:
        raise FieldError((name,), f"{name} is {shortened(value)};{did_you_mean(value, names)}")
    return chosen


def folded(word: str) -> str:
    """A word in lower case without ``-``, ``_`` and blanks, none of which matter in the names of options."""
    return word.lower().translate({ord(sign): None for sign in "-_ "})


def _scalar(value: Any) -> Any:
    """A NumPy scalar or zero-dimensional array as a Python number; anything else unchanged."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def _range(ge: float | None, gt: float | None, le: float | None, lt: float | None) -> str:
    """Limits in words: "from 1 to 24", "1 or more", "above 0.5 and at most 1"."""
    texts = [f"{limit:.12g}" if isinstance(limit, float) else str(limit) for limit in (ge, gt, le, lt)]
    if ge is not None and le is not None:
        return f"from {texts[0]} to {texts[2]}"
    if (gt, le, lt) == (None, None, None):
        return f"{texts[0]} or more"
    limits = zip(("at least", "above", "at most", "below"), texts, (ge, gt, le, lt), strict=True)
    return " and ".join(f"{word} {text}" for word, text, limit in limits if limit is not None)


Whole = Annotated[int, whole()]
"""Any whole number."""
Positive = Annotated[int, whole(1)]
"""A whole number, 1 or more."""
Natural = Annotated[int, whole(0)]
"""A whole number, 0 or more, such as a seed."""
Finite = Annotated[float, real()]
"""Any finite number."""
Share = Annotated[float, real(ge=0, le=1)]
"""A number from 0 to 1."""
Reals = Annotated[tuple[float, ...], Checked(real_numbers)]
"""A list of finite numbers."""
Flag = Annotated[bool, Checked(flag)]
"""True or False."""
Name = Annotated[str, Checked(checked_name)]
"""Text on one line that is not blank."""

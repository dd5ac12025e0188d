"""The declaration of optimizers: names in study files, presets, default names and options."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from string import Formatter
from typing import Annotated, Any, TypeVar, cast, dataclass_transform

from polarbear.descriptions import checked_name, did_you_mean, errors_at
from polarbear.validation import Checked, chosen_word, folded, set_fields, settings, whole

T = TypeVar("T")

FAMILIES: dict[str, tuple[type[Any], Mapping[str, Any]]] = {}
"""For each name in study files, its class and the arguments whose defaults it overrides."""
ALGORITHMS: dict[str, tuple[str, str, Callable[[], Iterable[str]]]] = {}
"""For each library, its family in study files, the field that selects an algorithm, and a lister of their names."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def family(
    study_name: str,
    /,
    name: str = "",
    *,
    kw_only: bool = True,
    presets: Mapping[str, Mapping[str, Any]] | None = None,
    algorithms: tuple[str, str, Callable[[], Iterable[str]]] | None = None,
    **labels: str,
) -> Callable[[type[T]], type[T]]:
    """Declare a family of optimizers: apply `polarbear.validation.settings` to a class with a field `name`.

    An optimizer without a name is called after `name` and the fields that differ from their defaults; a class with a
    method `default_name` derives the name itself.

    Args:
        study_name: The name in study files.
        name: The first part of the default name; it may contain fields, such as ``"NLopt-{algorithm}"``.
        kw_only: Whether the fields are keyword-only.
        presets: Further names in study files, each with the arguments whose defaults it overrides.
        algorithms: The library, the field that selects one of its algorithms, and a function that lists their names, so
            that study files may refer to them by names such as ``"nlopt-COBYLA"``.
        labels: How some fields appear in the default name, such as ``restart_strategy="{}"``; see `label`.
    """

    def declared(cls: type[T]) -> type[T]:
        cls = settings(kw_only=kw_only)(cls)
        FAMILIES[study_name] = cls, {}
        if algorithms:
            library, field_of_it, names = algorithms
            ALGORITHMS[library] = study_name, field_of_it, names
        FAMILIES.update({preset: (cls, arguments) for preset, arguments in (presets or {}).items()})
        shown = [field for _, field, _, _ in Formatter().parse(name) if field]
        init = cls.__init__

        @functools.wraps(init)
        def named(self: Any, *args: Any, **keywords: Any) -> None:
            init(self, *args, **keywords)
            if not self.name and hasattr(cls, "default_name"):
                set_fields(self, name=self.default_name())
            elif not self.name:
                kind = name.format(**vars(self))
                set_fields(self, name=joined_name(kind, differences(self, without=shown), labels))
            with errors_at("name"):
                checked_name(self.name)

        cls.__init__ = named
        return cls

    return declared


def differences(optimizer: Any, preset: Mapping[str, Any] | None = None, without: Iterable[str] = ()) -> dict[str, Any]:
    """The fields of a dataclass, except its name, whose values differ from a preset's or from their defaults."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(optimizer):
        factory = cast("Any", field.default_factory)
        default = field.default if factory is dataclasses.MISSING else factory()
        usual = default if preset is None else preset.get(field.name, default)
        if field.name not in ("name", *without) and (value := getattr(optimizer, field.name)) != usual:
            changed[field.name] = value
    return changed


def joined_name(kind: str, fields: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> str:
    """The name of an optimizer, made of its kind and some of its fields."""
    return "-".join([kind, *(label(field, value, (labels or {}).get(field)) for field, value in fields.items())])


def label(field: str, value: Any, form: str | None = None) -> str:
    """A field's part of a name: `form`, such as ``"{}"``, with the field's value inserted.

    By default it is ``field=value``, ``field`` or ``not-field`` for a flag, and all entries for a mapping.
    """
    if form is not None:
        return form.format(value)
    if isinstance(value, Mapping):
        return "-".join(f"{key}={entry}" for key, entry in cast("Mapping[str, Any]", value).items())
    if isinstance(value, bool):
        return field if value else f"not-{field}"
    return f"{field}={value}"


def choice_of(
    words: Iterable[str], aliases: Mapping[str, str] | None = None, left_out: Mapping[str, str] | None = None
) -> Checked:
    """As `polarbear.validation.choice`, but giving the reason for a word that exists and is not offered."""
    reasons = {folded(word): reason for word, reason in (left_out or {}).items()}

    def check(value: Any, name: str) -> str:
        if isinstance(value, str) and folded(value) in reasons:
            raise ValueError(f"{name} is {value!r}, which is not offered: {reasons[folded(value)]}")
        return chosen_word(value, name, tuple(words), dict(aliases or {}))

    return Checked(check)


def check_options(options: Mapping[str, Any], owner: str, valid: Iterable[str]) -> None:
    """Raise a ValueError unless an algorithm or library has all of the options."""
    for key in options:
        if key not in valid:
            raise ValueError(f"{owner} has no option {key!r};{did_you_mean(str(key), valid)}")


Size = Annotated[int, whole(1, 10**6)]
"""A number of points or repetitions."""

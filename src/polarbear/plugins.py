"""Plugins: what other installed packages add through entry points.

A package offers an optimizer, a suite or problem, a file-format reader, a model, a command or an analyzer view through
an entry point in the group ``polarbear.optimizers``, ``polarbear.problems``, ``polarbear.formats``,
``polarbear.models``, ``polarbear.commands`` or ``polarbear.views``. Listings, study files, the command line and the
analyzer then know it by the entry point's name. Nothing is imported before it is used. A package installed while Python
is running is found at the next start.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

Group = Literal["optimizers", "problems", "formats", "models", "commands", "views"]


def plugin_names(group: Group) -> tuple[str, ...]:
    """The names that installed packages offer in a group."""
    return tuple(sorted({entry.name for entry in _entries(group)}))


def plugin_packages(group: Group, name: str) -> str:
    """The packages that offer a name; more than one is an error that `load_plugin` reports."""
    return ", ".join(sorted({_package(entry) for entry in _entries(group) if entry.name == name}))


def load_plugin(group: Group, name: str) -> Any:
    """The object that a package offers under this name; None if no package does.

    Raises:
        ValueError: If two packages offer the name, or its object cannot be imported; the packages are named.
    """
    entries = [entry for entry in _entries(group) if entry.name == name]
    if len({entry.value for entry in entries}) > 1:
        packages = plugin_packages(group, name)
        raise ValueError(f"{name!r} is offered by several packages: {packages}; uninstall all but one")
    if not entries:
        return None
    try:
        return entries[0].load()
    except Exception as error:
        raise ValueError(
            f"{name!r}, which the package {_package(entries[0])} offers as {entries[0].value}, cannot be imported: "
            f"{type(error).__name__}: {error}"
        ) from error


def plugin_name(group: Group, cls: type[Any]) -> str | None:
    """The name under which a package offers a class; None if no package does."""
    path = f"{cls.__module__}:{cls.__qualname__}"
    return next((entry.name for entry in _entries(group) if entry.value == path), None)


def _entries(group: Group) -> tuple[EntryPoint, ...]:
    return _installed(group, tuple(sys.path))


@lru_cache(maxsize=16)  # reading metadata takes milliseconds
def _installed(group: Group, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:  # noqa: ARG001 - part of the key
    return tuple(entry_points(group=f"polarbear.{group}"))


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.module

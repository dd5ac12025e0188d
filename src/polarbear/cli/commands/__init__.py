"""The commands, a module each: the function of the module's name is the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def commands() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The name and the function of each command; a module may end in ``_`` where its name is a keyword."""
    for module in iter_modules(__path__):
        yield module.name.rstrip("_"), getattr(import_module(f"{__name__}.{module.name}"), module.name)

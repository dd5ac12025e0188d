"""The commands, one module each; the function with the module's name is the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

GROUPS = {
    "Run": ("race", "run", "resume", "branch", "configure", "conform"),
    "Look": ("show", "serve", "check", "report", "verify", "optimizers", "suites", "models"),
    "Compare": ("select", "assess", "compare", "modules", "selector", "switches", "table", "landscape", "bias"),
    "Share": ("import", "archive", "export", "merge", "knowledge"),
}
"""The commands in the order of a typical workflow."""


class Command(NamedTuple):
    """A command.

    Attributes:
        name: Name of the command.
        group: Heading under which it is listed.
        function: Function that executes it.
        example: Example call, for its help.
        renamed: Former names of options and their current names; the former ones are still accepted.
    """

    name: str
    group: str
    function: Callable[..., Any]
    example: str
    renamed: Mapping[str, str]

    def option(self, name: str) -> str:
        """The current name of an option."""
        return self.renamed.get(name, name)


def commands() -> Iterator[Command]:
    """All commands in order; a module's name ends in ``_`` if the command's name is a keyword."""
    modules = {module.name.rstrip("_"): module.name for module in iter_modules(__path__)}
    group_of = {name: group for group, names in GROUPS.items() for name in names}
    for name in (*group_of, *(name for name in modules if name not in group_of)):
        module = import_module(f"{__name__}.{modules[name]}")
        renamed: Mapping[str, str] = getattr(module, "RENAMED", {})
        yield Command(name, group_of.get(name, "More"), getattr(module, modules[name]), module.EXAMPLE, renamed)

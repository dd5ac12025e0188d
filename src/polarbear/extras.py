"""Optional packages, imported only when something needs them."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

DISTRIBUTION = "polarbear-race"
"""The name of this package on package indexes."""


class ExtraMissing(ImportError):  # noqa: N818 - says what is the case
    """An optional package is not installed; the message names the extra that installs it. It is not a run's failure."""


class Extra(NamedTuple):
    """An optional dependency: a module, and the extra of polarbear that installs it."""

    module: str
    name: str

    @property
    def installed(self) -> bool:
        """Whether the module can be found; it is not imported."""
        return find_spec(self.module) is not None

    def check(self, what: str) -> None:
        """Check that the module is installed, without importing it.

        Args:
            what: What needs it, for the message.

        Raises:
            ExtraMissing: If it is not installed.
        """
        if not self.installed:
            raise ExtraMissing(_message(self, what), name=self.module)


def optional(module: str, extra: str, what: str) -> Any:
    """Import a module of an optional package.

    Args:
        module: The module's name, e.g. "nlopt" or "pymoo.algorithms.moo.nsga2".
        extra: The extra of polarbear that installs its package.
        what: What needs it, for the message, e.g. "method nuts".

    Raises:
        ExtraMissing: If it cannot be imported; the message names the extra.
    """
    try:
        return import_module(module)
    except ImportError as error:
        message = f"{_message(Extra(module, extra), what)} ({error})"
        raise ExtraMissing(message, name=error.name, path=error.path) from error


def _message(extra: Extra, what: str) -> str:
    return f"{what} needs {extra.module}; {how_to_install(extra.name)}"


def how_to_install(extra: str) -> str:
    """The command that installs an extra of polarbear, in words."""
    return f"install it with: pip install '{DISTRIBUTION}[{extra}]'"

"""Build the problems and optimizers that a study describes, once its owner has named what to import."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from polarbear import optimizers, problems
from polarbear.descriptions import references

_BUILT = ("algorithms", "instances")
"""The parts of a specification from which optimizers and problems are built."""


class NotTrusted(ValueError):  # noqa: N818 - states what happened
    """A study names code that may not be imported.

    Attributes:
        modules: The modules that hold it.
    """

    def __init__(self, asked: Mapping[str, str]) -> None:
        self.modules = tuple(dict.fromkeys(asked.values()))
        super().__init__(
            f"the study asks to import {', '.join(asked)} and to run it, which is code that is not polarbear's. If you "
            f"trust it, name {'its module' if len(self.modules) == 1 else 'each module'}: "
            f"{' '.join(f'--import {module}' for module in self.modules)}, or --trust for all of it (imports=… in "
            "Python). Whoever made the study chose these names"
        )


def modules_of(spec: Mapping[str, Any]) -> tuple[str, ...]:
    """The modules that would be imported to go on with a study of this specification, each once."""
    return tuple(dict.fromkeys(module for _, module in references([spec.get(part) for part in _BUILT])))


def built(
    spec: Mapping[str, Any], imports: Collection[str] = ()
) -> tuple[dict[str, optimizers.Optimizer], problems.Instances]:
    """The optimizers, by name, and the problems that a study's specification describes.

    Args:
        spec: The specification.
        imports: Modules and packages that it may import from; polarbear's own classes need no import.

    Raises:
        NotTrusted: If it asks for anything else; nothing is imported then.
        ValueError: If an optimizer or problem cannot be made from its description.
    """
    asked = dict(references([spec.get(part) for part in _BUILT]))
    if refused := {
        reference: module
        for reference, module in asked.items()
        if not any(f"{module}.".startswith(f"{allowed}.") for allowed in imports)
    }:
        raise NotTrusted(refused)
    entrants = {name: optimizers.from_description(description) for name, description in spec["algorithms"].items()}
    return entrants, problems.from_description(spec["instances"])

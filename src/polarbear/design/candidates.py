"""Candidates: Python code, or configurations of a space."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polarbear.descriptions import plain_value


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A proposed optimizer, given either as code or as a configuration.

    Attributes:
        code: Python code that defines ``optimize(problem, rng)``, as for `polarbear.optimizers.FunctionOptimizer`.
        configuration: Values of the parameters of the space that the design searches.
        about: JSON-compatible data that are returned to the proposer, such as parents or a tree.

    Raises:
        ValueError: If both or neither are given, or `about` cannot be represented as JSON.
    """

    code: str | None = None
    configuration: Mapping[str, Any] | None = None
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if (self.code is None) == (self.configuration is None):
            raise ValueError("a candidate is either code or a configuration; give exactly one of them")
        if self.code is not None and not isinstance(self.code, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"code is of type {type(self.code).__name__}; it must be the text of a Python module")
        try:
            json.dumps(self.as_dict())
        except (TypeError, ValueError) as error:
            raise ValueError(f"the candidate cannot be stored as JSON: {error}") from error

    @property
    def name(self) -> str:
        """Name derived from the code or the configuration: the same in every study."""
        text = self.code or json.dumps(plain_value(self.configuration), sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:8]

    def as_dict(self) -> dict[str, Any]:
        """The candidate as plain values."""
        made_of = {"configuration": plain_value(self.configuration)} if self.code is None else {"code": self.code}
        return made_of | ({"about": dict(self.about)} if self.about else {})

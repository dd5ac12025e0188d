"""A cache of what the last fit computed at each timepoint, for the next where nothing has changed."""

from __future__ import annotations

import pickle
from typing import Any


class FitCache:
    """Results of the last fit by all that they depend on, so that what is found is what would be computed."""

    def __init__(self) -> None:
        self._last: dict[bytes, Any] = {}
        self._now: dict[bytes, Any] = {}

    def begin(self) -> None:
        """A fit begins: what was computed before the last one is forgotten."""
        self._last, self._now = self._now, {}

    @staticmethod
    def key(*causes: Any) -> bytes:
        """All that a result depends on, as bytes."""
        return pickle.dumps(causes)

    def known(self, key: bytes) -> Any | None:
        """The last fit's result, or None if it had none by this key."""
        return self._last.get(key)

    def keep(self, key: bytes, result: object) -> None:
        """Remember a result for the next fit."""
        self._now[key] = result

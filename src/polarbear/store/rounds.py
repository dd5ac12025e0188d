"""The rounds of a race: one JSON file each."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from polarbear.store.places import remote

_NAME = re.compile(r"(\d{6,})\.json")


class RoundFiles:
    """The rounds in a directory.

    Attributes:
        contents: Each round that can be used, by number.
        damaged: The files that cannot be used or are missing, and why, by name.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.contents: dict[int, dict[str, Any]] = {}
        self.damaged: dict[str, str] = {}

    @property
    def next_number(self) -> int:
        """The number of the next round: no damaged one is overwritten."""
        numbers = (int(name.removesuffix(".json")) for name in self.damaged)
        return max((*self.contents, *numbers), default=0) + 1

    def path(self, number: int) -> Path:
        """The file of a round."""
        return self._directory / f"{number:06d}.json"

    def refresh(self) -> None:
        """Read the rounds written since the last time; OSError if they lie elsewhere and cannot be reached."""
        found = (_NAME.fullmatch(path.name) for path in self._directory.glob("*.json"))
        present = {int(match.group(1)) for match in found if match is not None}
        self.damaged = {}
        for number in sorted(present - self.contents.keys()):
            self._take(number)
        for number in set(range(1, max(present, default=0))) - present:
            self.damaged[self.path(number).name] = "the file is missing, though there are later rounds"

    def _take(self, number: int) -> None:
        path = self.path(number)
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and remote(path):
                raise  # the store cannot be reached, which says nothing about the round
            self.damaged[path.name] = str(error)
            return
        if isinstance(content, dict):
            self.contents[number] = content
        else:
            self.damaged[path.name] = f"it holds {type(content).__name__} instead of a round"

"""The rounds of a race: one JSON file each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from polarbear.store.errors import EXHAUSTED
from polarbear.store.manifest import Manifest, file_name, file_number, read_file, sha256, sort_out
from polarbear.store.paths import remote

_SUFFIX = ".json"


class RoundFiles:
    """The rounds in a directory.

    Attributes:
        contents: Each round that can be used, by file name.
        digests: The SHA-256 of their files.
        damaged: The files that cannot be used or are missing, and why, by name.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.contents: dict[str, dict[str, Any]] = {}
        self.digests: dict[str, str] = {}
        self.damaged: dict[str, str] = {}

    @property
    def next_number(self) -> int:
        """The number of the next round: no damaged one is overwritten."""
        return max(map(file_number, (*self.contents, *self.damaged)), default=0) + 1

    def next_name(self, data: bytes, head: str) -> str:
        """What the next round's file is called."""
        return file_name(self.next_number, data, head, _SUFFIX)

    def add(self, name: str, data: bytes) -> None:
        """Take in a round.

        Raises:
            ValueError: If its bytes cannot be understood.
        """
        try:
            content: Any = json.loads(data)
        except RecursionError as error:
            raise ValueError("it is nested too deep to be read") from error
        if not isinstance(content, dict):
            raise ValueError(f"it holds {type(content).__name__} instead of a round")  # noqa: TRY004 - the file is wrong
        self.contents[name], self.digests[name] = cast("dict[str, Any]", content), sha256(data)

    def refresh(self, manifest: Manifest | None) -> None:
        """Read the rounds written since the last time.

        Raises:
            OSError: If they lie elsewhere and cannot be reached, or files cannot be opened for lack of resources.
        """
        found = sort_out(self._directory, _SUFFIX, manifest)
        for name in self.contents.keys() & (self.contents.keys() - found.belonging.keys() | found.absent):
            del self.contents[name], self.digests[name]
        self.damaged = dict(found.unknown)
        for name in sorted(found.belonging.keys() - self.contents.keys()):
            try:
                self.add(name, read_file(self._directory / name, found.belonging[name]))
            except FileNotFoundError:
                self.damaged[name] = "the file is missing"
            except (OSError, ValueError) as error:
                if isinstance(error, OSError) and (remote(self._directory) or error.errno in EXHAUSTED):
                    raise  # which says nothing about the round
                self.damaged[name] = str(error)
        if manifest is None:
            present = set(map(file_number, found.belonging))
            for number in set(range(1, max(present, default=0))) - present:
                self.damaged[f"{number:06d}{_SUFFIX}"] = "the file is missing, though there are later rounds"

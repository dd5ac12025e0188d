"""What was read, what was not and why, and how far reading has come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from polarbear.records import Run, RunKey

Progress = Callable[[str, int, int], None]
"""Called before each file with its name, how many came before it, and how many there are in its folder or archive."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that could not be read, or was read only in part.

    Attributes:
        path: The file; within an archive the archive's path, a colon, and the file's path in it.
        line: The line, from 1, or None where the whole file or archive is meant.
        why: What is wrong, and what was kept of it.
        kept: Whether it was read nevertheless, and this is only to be borne in mind.
    """

    path: str
    line: int | None
    why: str
    kept: bool = False

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}, line {self.line}"
        return f"{place}: {self.why}"


@dataclass(frozen=True, slots=True)
class Reading:
    """The outcome of reading a file, folder or archive.

    Attributes:
        runs: All that is sound, sorted by instance, algorithm and seed.
        skipped: What is not, and what to bear in mind of what is.
        formats: The formats the runs were found in.
    """

    runs: tuple[Run, ...]
    skipped: tuple[Skipped, ...]
    formats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exported:
    """The outcome of an export.

    Attributes:
        path: The file or folder that was written.
        runs: How many runs it holds.
        left_out: Those it does not hold, sorted by instance, algorithm and seed.
        why: Why not, in words; empty if nothing was left out.
    """

    path: Path
    runs: int
    left_out: tuple[RunKey, ...]
    why: str


class IncompleteData(UserWarning):
    """Not everything in a file, folder or archive could be read, or not every run be written."""


class Report:
    """Collects what is skipped, and tells the caller how far reading has come.

    Args:
        progress: Called before each file that lists runs.
        entering: Called with what is read next, at every step that takes long by itself.
    """

    def __init__(self, progress: Progress | None = None, entering: Callable[[str], None] | None = None) -> None:
        self.skipped: list[Skipped] = []
        self._progress = progress
        self._entering = entering

    def skip(self, path: str, why: str, line: int | None = None) -> None:
        """Note that something was left out, wholly or in part, or is doubtful."""
        self.skipped.append(Skipped(printable(path), line, printable(why)))

    def remark(self, path: str, why: str, line: int | None = None) -> None:
        """Note what to bear in mind of something that was read."""
        self.skipped.append(Skipped(path, line, why, kept=True))

    def begin(self, path: str, number: int, total: int) -> None:
        """Tell that a file is about to be read."""
        self.enter(path)
        if self._progress is not None:
            self._progress(printable(path), number, total)

    def enter(self, path: str) -> None:
        """Tell what is about to be read, or that reading it goes on."""
        if self._entering is not None:
            self._entering(path)


def printable(text: str) -> str:
    """Text that a terminal can show: of what would change or hide other text, the escape sequence in Python."""
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )

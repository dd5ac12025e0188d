"""What reading may consume, what was read, what was not and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polarbear.records import Run

Progress = Callable[[str, int, int], None]
"""Called before each file with its name, how many came before it, and how many there are in its folder or archive."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that could not be read, or was read only in part.

    Attributes:
        path: The file; within an archive the archive's path, a colon, and the file's path in it.
        line: The line, from 1, or None where the whole file or archive is meant.
        why: What is wrong, and what was kept of it.
        kept: Whether it was read nevertheless, and this is only a remark.
    """

    path: str
    line: int | None
    why: str
    kept: bool = False

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}, line {self.line}"
        return f"{where}: {self.why}"


@dataclass(frozen=True, slots=True)
class Reading:
    """The outcome of reading a file, folder or archive.

    Attributes:
        runs: All that is sound, sorted by instance, algorithm and seed.
        skipped: What is not, and remarks about what is.
        formats: The formats the runs were found in.
    """

    runs: tuple[Run, ...]
    skipped: tuple[Skipped, ...]
    formats: tuple[str, ...]


class IncompleteData(UserWarning):
    """Not everything in a file, folder or archive could be read, or not every run could be written."""


class ArchiveRefused(ValueError):  # noqa: N818 - says what is the case
    """A path asks for what no benchmark data need: paths out of its folder, links, devices, decompression bombs."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading a file, folder or archive may consume before it is refused.

    Attributes:
        total: Decompressed bytes of an archive.
        ratio: Decompressed over compressed bytes, checked once `unsuspicious` bytes are exceeded.
        unsuspicious: Bytes that may be decompressed at any ratio.
        files: Number of files.
        seconds: Seconds for each file that lists runs, with the data files it names; and for each MiB that is
            decompressed. Not on Windows.
        memory: Bytes of address space the reading process may use beyond those it starts with. Not on Windows; macOS
            does not enforce it.
    """

    total: int = 16 << 30
    ratio: float = 200.0
    unsuspicious: int = 64 << 20
    files: int = 1_000_000
    seconds: float = 300.0
    memory: int = 8 << 30

    def check_size(self, archive: str, size: int, compressed: int) -> None:
        """Raise ArchiveRefused if `size` decompressed bytes are too many for `compressed` ones."""
        if size > self.total:
            raise ArchiveRefused(
                f"{archive} decompresses to more than {self.total:,} bytes; if it is sound, raise the limit: "
                "limits=Limits(total=…)"
            )
        if size > self.unsuspicious and size > self.ratio * compressed:
            raise ArchiveRefused(
                f"{archive} decompresses to more than {self.ratio:g} times its {compressed:,} bytes, as decompression "
                "bombs do; if it is sound, raise the limit: limits=Limits(ratio=…)"
            )

    def check_count(self, archive: str, files: int) -> None:
        """Raise ArchiveRefused if there are too many files."""
        if files > self.files:
            raise ArchiveRefused(
                f"{archive} holds more than {self.files:,} files; if it is sound, raise the limit: "
                "limits=Limits(files=…)"
            )

    def too_long(self) -> str:
        """The message for a file that took too long."""
        return f"reading it takes more than {self.seconds:g} seconds; if it is sound, raise limits=Limits(seconds=…)"

    def too_large(self) -> str:
        """The message for a file that needs too much memory."""
        return (
            f"reading it takes more than {self.memory:,} bytes of memory; if it is sound, raise limits=Limits(memory=…)"
        )


class Report:
    """Collects what is skipped, and reports progress to the caller.

    Args:
        progress: Called before each file that lists runs.
        entering: Called with the path read next, at every step that may take long.
    """

    def __init__(self, progress: Progress | None = None, entering: Callable[[str], None] | None = None) -> None:
        self.skipped: list[Skipped] = []
        self._progress = progress
        self._entering = entering

    def skip(self, path: str, why: str, line: int | None = None) -> None:
        """Note that something was left out, wholly or in part, or is doubtful."""
        self.skipped.append(Skipped(printable(path), line, printable(why)))

    def remark(self, path: str, why: str, line: int | None = None) -> None:
        """Note a doubt about something that was read."""
        self.skipped.append(Skipped(path, line, why, kept=True))

    def begin(self, path: str, number: int, total: int) -> None:
        """Announce that a file is about to be read."""
        self.enter(path)
        if self._progress is not None:
            self._progress(printable(path), number, total)

    def enter(self, path: str) -> None:
        """Announce what is about to be read, or that reading it goes on."""
        if self._entering is not None:
            self._entering(path)


def printable(text: str) -> str:
    """Text that a terminal can show: characters that would change or hide other text become escape sequences."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )

"""The limits on reading, and reports of what was read, what was not, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polarbear.records import Run

Progress = Callable[[str, int, int], None]
"""A function called before each file with its name, the number of files before it, and their total."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that could not be read, or was read only in part.

    Attributes:
        path: The file; within an archive, the archive's path, a colon, and the file's path in it.
        line: The line number, from 1; None if the whole file or archive is meant.
        why: What is wrong, and what was kept.
        kept: Whether it was read nevertheless, so that this is only a remark.
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
        runs: All valid runs, sorted by instance, algorithm and seed.
        skipped: What is not valid, and remarks on what is.
        formats: The formats in which the runs were found.
    """

    runs: tuple[Run, ...]
    skipped: tuple[Skipped, ...]
    formats: tuple[str, ...]


class IncompleteData(UserWarning):
    """Not everything in a file, folder or archive could be read, or not every run could be written."""


class ArchiveRefused(ValueError):  # noqa: N818 - says what is the case
    """A path contains what no benchmark data need: paths that leave its folder, links, devices, decompression bombs."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on the resources for reading a file, folder or archive.

    Attributes:
        total: Maximum number of decompressed bytes of an archive.
        ratio: Maximum ratio of decompressed to compressed bytes, checked once `unsuspicious` bytes are exceeded.
        unsuspicious: Number of bytes that may be decompressed at any ratio.
        files: Maximum number of files.
        seconds: Maximum number of seconds for each file that lists runs, including the data files it names, and for
            each MiB that is decompressed. Not available on Windows.
        memory: Bytes of address space that the reading process may use beyond those it starts with. Not available on
            Windows; macOS does not enforce it.
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
                f"{archive} decompresses to more than {self.total:,} bytes; if you trust it, raise the limit: "
                "limits=Limits(total=…)"
            )
        if size > self.unsuspicious and size > self.ratio * compressed:
            raise ArchiveRefused(
                f"{archive} decompresses to more than {self.ratio:g} times its {compressed:,} bytes, as decompression "
                "bombs do; if you trust it, raise the limit: limits=Limits(ratio=…)"
            )

    def check_count(self, archive: str, files: int) -> None:
        """Raise ArchiveRefused if there are too many files."""
        if files > self.files:
            raise ArchiveRefused(
                f"{archive} holds more than {self.files:,} files; if you trust it, raise the limit: "
                "limits=Limits(files=…)"
            )

    def too_long(self) -> str:
        """The message for a file that took too long."""
        return f"reading it takes more than {self.seconds:g} seconds; if you trust it, raise limits=Limits(seconds=…)"

    def too_large(self) -> str:
        """The message for a file that needs too much memory."""
        return (
            f"reading it takes more than {self.memory:,} bytes of memory; if you trust it, raise "
            "limits=Limits(memory=…)"
        )


class Report:
    """Collects what is skipped and reports progress to the caller.

    Args:
        progress: A function called before each file that lists runs.
        entering: A function called with the path read next, at every step that may take long.
    """

    def __init__(self, progress: Progress | None = None, entering: Callable[[str], None] | None = None) -> None:
        self.skipped: list[Skipped] = []
        self._progress = progress
        self._entering = entering

    def skip(self, path: str, why: str, line: int | None = None) -> None:
        """Record that something was left out, wholly or in part, or is doubtful."""
        self.skipped.append(Skipped(printable(path), line, printable(why)))

    def remark(self, path: str, why: str, line: int | None = None) -> None:
        """Record a doubt about something that was read."""
        self.skipped.append(Skipped(path, line, why, kept=True))

    def begin(self, path: str, number: int, total: int) -> None:
        """Announce that a file is about to be read."""
        self.enter(path)
        if self._progress is not None:
            self._progress(printable(path), number, total)

    def enter(self, path: str) -> None:
        """Announce what is about to be read, or that reading it continues."""
        if self._entering is not None:
            self._entering(path)


def printable(text: str) -> str:
    """Text safe for terminals: characters that would change or hide other text become escape sequences."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in text
    )

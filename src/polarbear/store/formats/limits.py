"""How much reading may ask for before it is refused."""

from __future__ import annotations

from dataclasses import dataclass


class ArchiveRefused(ValueError):  # noqa: N818 - says what is the case
    """A path asks for what no benchmark data need: paths out of its folder, links, devices, an explosion of bytes."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much reading a file, folder or archive may ask for before it is refused.

    Attributes:
        total: Bytes of an archive, when all is decompressed.
        ratio: Decompressed over compressed bytes, looked at once `unsuspicious` bytes are exceeded.
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
        """Why a file was given up that took too long."""
        return f"reading it takes more than {self.seconds:g} seconds; if it is sound, raise limits=Limits(seconds=…)"

    def too_large(self) -> str:
        """Why a file was given up that needs too much memory."""
        return (
            f"reading it takes more than {self.memory:,} bytes of memory; if it is sound, raise limits=Limits(memory=…)"
        )

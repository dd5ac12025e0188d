"""Tell folders, archives and files apart by their first bytes, not by their names."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import IO, Protocol

from polarbear.store.formats.archives import HEADER_DAMAGE, Alone, Folder, Tar, Tree, Zip, open_plain
from polarbear.store.formats.limits import ArchiveRefused, Limits
from polarbear.store.formats.reports import Report

IN_MEMORY = 256 << 20
"""Bytes up to which a decompressed archive stays in memory; larger ones go to a temporary file without a name."""
_CHUNK = 1 << 20
_HEAD = tarfile.BLOCKSIZE
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
COMPRESSED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
_ENDINGS = (".gz", ".bz2", ".xz")


class Stream(Protocol):
    """What is decompressed while it is read."""

    def read1(self, size: int = -1, /) -> bytes:
        """At most so many of the next bytes; none at its end."""
        ...


def open_tree(path: Path, limits: Limits, report: Report) -> Tree:
    """The files at a path.

    Raises:
        FileNotFoundError: If there is nothing.
        ArchiveRefused: If it is an archive that asks for too much, or no plain file.
        ValueError: If it is a damaged archive of which nothing can be read.
    """
    report.enter(str(path))
    if path.is_dir():
        return Folder(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file, folder or archive at {path}")
    with open_plain(path) as file:
        head = file.read(_HEAD)
    if head.startswith(_ZIP):
        return Zip(path, limits)
    compressed = path.stat().st_size
    for magic, opener in COMPRESSED.items():
        if head.startswith(magic):
            with opener(path, "rb") as stream:
                content = decompress(stream, str(path), compressed, limits, report)
            return _content(path, content, compressed, limits, report)
    if _is_tar(head):
        return _content(path, open_plain(path), compressed, limits, report)
    return Folder(path.parent, only=path.name)


def decompress(stream: Stream, label: str, compressed: int, limits: Limits, report: Report) -> IO[bytes]:
    """All of a stream, in memory or in a temporary file; what is damaged is reported, and what comes before it kept.

    Raises:
        ArchiveRefused: If it asks for too much.
    """
    content = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - the tree closes it
    size = 0
    try:
        while chunk := stream.read1(_CHUNK):
            size += len(chunk)
            report.enter(label)
            limits.check_size(label, size, compressed)
            content.write(chunk)
    except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        report.skip(label, f"it is damaged after {size} decompressed bytes, which are kept: {error}")
    except BaseException:
        content.close()
        raise
    content.seek(0)
    return content


def _content(path: Path, content: IO[bytes], compressed: int, limits: Limits, report: Report) -> Tree:
    """The tar archive, or the single file, that was compressed."""
    try:
        if _is_tar(content.read(_HEAD)):
            content.seek(0)
            return Tar(path, content, compressed, limits, report)
    except ArchiveRefused:
        content.close()
        raise
    except HEADER_DAMAGE as error:
        content.close()
        raise ValueError(f"{path} is a damaged tar archive of which nothing can be read: {error}") from error
    except BaseException:
        content.close()
        raise
    name = path.name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return Alone(path, name, content)


def _is_tar(head: bytes) -> bool:
    """Whether these bytes are the header of a file in a tar archive; old ones have no other mark than its checksum."""
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except HEADER_DAMAGE:
        return False
    return True

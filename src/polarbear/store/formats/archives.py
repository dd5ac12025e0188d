"""The files of a folder or archive; archives are recognized by their first bytes, not by their names."""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import os
import posixpath
import re
import stat
import tarfile
import tempfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import IO, Protocol

from polarbear.store.formats.reports import ArchiveRefused, Limits, Report

IN_MEMORY = 256 << 20
"""Size in bytes up to which a decompressed archive stays in memory; larger ones go to an unnamed temporary file."""
COMPRESSED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_CHUNK = 1 << 20
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
"""A character that takes more than one byte in UTF-8."""
_HEADER_DAMAGE = (tarfile.TarError, EOFError, ValueError, OverflowError, OSError, RecursionError)
"""Exceptions that tarfile raises for damaged headers."""
_EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_LARGEST_EXTENSION = 32 << 10
"""Maximum size, in bytes, of a header that extends another one: a few times the longest path of any system."""
_UNPACK = "unpack the archive, look at it, and give the folder"


class Tree(ABC):
    """The files in a folder or an archive.

    Attributes:
        path: The folder or archive, for messages.
        names: The files' paths within it, with forward slashes, sorted.
        used: The files that were read.
    """

    def __init__(self, path: Path, names: Iterable[str]) -> None:
        self.path = str(path)
        self.names = ordered(names)
        self.used: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def read(self, name: str) -> bytes:
        """The bytes of a file; ValueError or OSError if they cannot be read."""
        self.used.add(name)
        return self._bytes(name)

    def label(self, name: str) -> str:
        """A file's name in messages."""
        return f"{self.path}:{name}"

    def close(self) -> None:  # noqa: B027 - a folder has nothing to close
        """Close the archive."""

    @abstractmethod
    def _bytes(self, name: str) -> bytes:
        """The bytes of a file."""


class Folder(Tree):
    """The files below a folder, or one of them. Links to files are followed, but not links to folders."""

    def __init__(self, path: Path, only: str | None = None) -> None:
        walked = ((Path(folder) / file).relative_to(path) for folder, _, files in os.walk(path) for file in files)
        super().__init__(path, (file.as_posix() for file in walked) if only is None else [only])
        self._path = path

    def __contains__(self, name: str) -> bool:
        return (self._path / name).is_file()

    def label(self, name: str) -> str:
        """The file's path."""
        return str(self._path / name)

    def _bytes(self, name: str) -> bytes:
        with open_plain(self._path / name) as file:
            return file.read()


class SingleFile(Tree):
    """A single compressed file."""

    def __init__(self, path: Path, name: str, content: IO[bytes]) -> None:
        super().__init__(path, ())
        self.names = [name]
        self._content = content
        self.close = content.close

    def label(self, name: str) -> str:  # noqa: ARG002 - there is only one
        """The path of the compressed file."""
        return self.path

    def _bytes(self, name: str) -> bytes:  # noqa: ARG002 - there is only one
        self._content.seek(0)
        return self._content.read()


class Tar(Tree):
    """The files of a decompressed tar archive.

    Raises:
        ArchiveRefused: For paths that lead out of it, links, devices, or more than the limits allow.
        tarfile.ReadError: If it is not a tar archive.
    """

    def __init__(self, path: Path, content: IO[bytes], compressed: int, limits: Limits, report: Report) -> None:
        archive, total = str(path), 0
        self._content, self._report = content, report
        self._files: dict[str, tuple[int, int]] = {}
        with tarfile.open(fileobj=content, mode="r:", tarinfo=_Member) as tar:
            for count, member in enumerate(_members(tar, archive, report), start=1):
                limits.check_count(archive, count)
                total += member.size
                limits.check_size(archive, total, compressed)
                if member.isdir():
                    continue
                if not member.isfile() or member.issparse():
                    link = member.issym() or member.islnk()
                    kind = "a sparse file" if member.issparse() else "not a plain file"
                    raise ArchiveRefused(
                        f"{archive} holds {member.name!r}, which is "
                        f"{f'a link to {member.linkname!r}' if link else kind}; only plain files are read: {_UNPACK}"
                    )
                self._files[safe(archive, member.name)] = member.offset_data, member.size
        super().__init__(path, self._files)
        self.close = content.close

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def _bytes(self, name: str) -> bytes:
        """The bytes of a file; if the archive ends within the file, those up to there."""
        offset, size = self._files[name]
        self._content.seek(offset)
        data = self._content.read(size)
        if len(data) < size:
            self._report.skip(self.label(name), f"the archive ends after {len(data)} of its {size} bytes")
        return data


class Zip(Tree):
    """The files of a zip archive.

    Raises:
        ArchiveRefused: For paths that lead out of it, links, or more than the limits allow.
        ValueError: If it is damaged or encrypted.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, EOFError) as error:
            raise ValueError(
                f"{path} is a damaged zip archive: {error}. Its end, which lists the files, may be missing; "
                "download it again"
            ) from error
        except NotImplementedError as error:  # raised by zipfile for unsupported archives, here and in `_bytes`
            raise ValueError(f"{path} cannot be read ({error}); unpack it and give the folder") from error
        self.close = self._archive.close
        try:
            self._files = {safe(str(path), info.filename): info for info in self._checked_members(path, limits)}
        except BaseException:
            self.close()
            raise
        super().__init__(path, self._files)

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def _checked_members(self, path: Path, limits: Limits) -> Iterator[zipfile.ZipInfo]:
        members = self._archive.infolist()
        limits.check_count(str(path), len(members))
        limits.check_size(str(path), sum(info.file_size for info in members), path.stat().st_size)
        for info in members:
            if info.is_dir():
                continue
            if stat.S_IFMT(info.external_attr >> 16) not in {0, stat.S_IFREG}:
                raise ArchiveRefused(
                    f"{path} holds {info.filename!r}, which is a link or a device; only plain files are read: {_UNPACK}"
                )
            if info.flag_bits & 1:
                raise ValueError(f"{path} is encrypted; unpack it and give the folder")
            yield info

    def _bytes(self, name: str) -> bytes:
        try:
            return self._archive.read(self._files[name])
        except (zipfile.BadZipFile, EOFError, zlib.error) as error:
            raise ValueError(f"it is damaged within the archive: {error}") from error
        except NotImplementedError as error:
            raise ValueError(f"it is compressed in a way that cannot be read ({error}); unpack the archive") from error


class Stream(Protocol):
    """A stream that is decompressed while it is read."""

    def read1(self, size: int = -1, /) -> bytes:
        """At most `size` of the next bytes; empty at the end."""
        ...


def open_tree(path: Path, limits: Limits, report: Report) -> Tree:
    """The files at a path.

    Raises:
        FileNotFoundError: If there is nothing.
        ArchiveRefused: If it is an archive that exceeds the limits, or not a plain file.
        ValueError: If it is a damaged archive from which nothing can be read.
    """
    report.enter(str(path))
    if path.is_dir():
        return Folder(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file, folder or archive at {path}")
    with open_plain(path) as file:
        head = file.read(tarfile.BLOCKSIZE)
    if head.startswith(_ZIP):
        return Zip(path, limits)
    compressed = path.stat().st_size
    for magic, opener in COMPRESSED.items():
        if head.startswith(magic):
            with opener(path, "rb") as stream:
                content = decompress(stream, str(path), compressed, limits, report)
            return _decompressed(path, content, compressed, limits, report)
    if _is_tar(head):
        return _decompressed(path, open_plain(path), compressed, limits, report)
    return Folder(path.parent, only=path.name)


def decompress(stream: Stream, label: str, compressed: int, limits: Limits, report: Report) -> IO[bytes]:
    """The content of a stream, in memory or in a temporary file; damage is reported, and what precedes it is kept.

    Raises:
        ArchiveRefused: If it exceeds the limits.
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


def decoded(data: bytes, label: str, report: Report) -> str:
    """The text of a file without its byte order mark.

    Args:
        data: The bytes, in UTF-8, UTF-16 with a byte order mark, or Windows-1252, which is reported.
        label: The file's name in reports.
        report: The report to which the encoding is added.

    Raises:
        ValueError: If the encoding is none of these, or UTF-8 with some damaged bytes. No byte is replaced or dropped,
            as two names could become one.
    """
    if data.startswith(UTF16):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    if _MULTIBYTE.search(data):
        raise ValueError(f"line {line} is not UTF-8, though others are; it is damaged")
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        raise ValueError(f"line {line} is neither UTF-8 nor Windows-1252; save the file as UTF-8") from None
    report.remark(label, "it is not UTF-8 and is read as Windows-1252; if names look wrong, save it as UTF-8", line)
    return text


def safe(archive: str, name: str) -> str:
    """A path within an archive, normalized and with forward slashes.

    Raises:
        ArchiveRefused: If it leads out of the archive.
    """
    forward = name.replace("\\", "/")
    if forward.startswith("/") or re.match(r"[A-Za-z]:", forward) or ".." in forward.split("/") or "\0" in forward:
        raise ArchiveRefused(f"{archive} holds {name!r}, a path that leads out of it; {_UNPACK}")
    return posixpath.normpath(forward)


def beside(name: str, other: str) -> str | None:
    """The path of a file given relative to another one; None if it leads out of the tree."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), other.replace("\\", "/")))
    return None if path.startswith(("../", "/")) else path


def ordered(names: Iterable[str]) -> list[str]:
    """Names of files in natural order by folder, without files that operating systems leave behind."""
    data = [name for name in names if not posixpath.basename(name).startswith("._") and "__MACOSX/" not in name]
    return sorted(data, key=lambda name: [natural(part) for part in name.split("/")])


@lru_cache(maxsize=4096)
def natural(text: str) -> tuple[tuple[int, str], ...]:
    """A sort key for the natural order of text: numbers within it by their size, however many digits they have."""
    parts: list[tuple[str, str]] = re.findall(r"0*([0-9]+)|([^0-9]+)", text)
    return tuple((len(digits), digits) if digits else (-1, other) for digits, other in parts)


def open_plain(path: Path) -> IO[bytes]:
    """Open a plain file, or a link to one, to read its bytes.

    Raises:
        ArchiveRefused: If it is a device, a pipe or a socket, without waiting for it.
        OSError: If it cannot be opened.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise ArchiveRefused(f"{path} is a device, a pipe or a socket; only plain files are read")


def _decompressed(path: Path, content: IO[bytes], compressed: int, limits: Limits, report: Report) -> Tree:
    """The tar archive or the single file that was compressed."""
    try:
        if _is_tar(content.read(tarfile.BLOCKSIZE)):
            content.seek(0)
            return Tar(path, content, compressed, limits, report)
    except BaseException as error:
        content.close()
        if isinstance(error, ArchiveRefused) or not isinstance(error, _HEADER_DAMAGE):
            raise
        raise ValueError(f"{path} is a damaged tar archive from which nothing can be read: {error}") from error
    name = path.name
    for ending in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(ending)
    return SingleFile(path, name, content)


def _is_tar(head: bytes) -> bool:
    """Whether bytes are the header of a file in a tar archive; in old ones only the checksum shows it."""
    try:
        tarfile.TarInfo.frombuf(head, "utf-8", "surrogateescape")
    except _HEADER_DAMAGE:
        return False
    return True


class _Member(tarfile.TarInfo):
    """An entry of a tar archive whose header is checked before the content it announces is read."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        """The method that tarfile calls for each header, which a subclass may override."""
        if self.size < 0 or (self.type in _EXTENSIONS and self.size > _LARGEST_EXTENSION):
            raise ArchiveRefused(f"the tar archive holds a header for {self.size:,} bytes, which no program writes")
        return super()._proc_member(archive)  # pyright: ignore


def _members(archive: tarfile.TarFile, path: str, report: Report) -> Iterator[tarfile.TarInfo]:
    count = 0
    try:
        while (member := archive.next()) is not None:
            if member.size < 0:  # an extended header can say so; tarfile would return to it forever
                raise ArchiveRefused(f"{path} holds {member.name!r} of {member.size} bytes")
            count += 1
            yield member
        archive.fileobj.seek(archive.offset)
        damage = "unreadable header" if archive.fileobj.read(tarfile.BLOCKSIZE).strip(b"\0") else ""
    except ArchiveRefused:
        raise
    except _HEADER_DAMAGE as error:
        damage = str(error)
    if damage:
        report.skip(path, f"the archive is damaged after {count} entries, which are kept: {damage}")

"""The files in a folder or an archive, by their paths."""

from __future__ import annotations

import os
import posixpath
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Protocol

from polarbear.store.formats.limits import ArchiveRefused, Limits
from polarbear.store.formats.parsed_run import natural
from polarbear.store.formats.reports import Report

HEADER_DAMAGE = (tarfile.TarError, EOFError, ValueError, OverflowError, OSError, RecursionError)
"""What tarfile raises at headers that are damaged."""
_EXTENSIONS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_LARGEST_EXTENSION = 32 << 10
"""Bytes of a header that extends another one, such as by a long name: a few times the longest path of any system."""


class Tree(Protocol):
    """Some files.

    Attributes:
        path: Where they lie, for people.
        names: Their paths within, with forward slashes, sorted.
    """

    path: str
    names: Sequence[str]

    def __contains__(self, name: str) -> bool: ...

    def read(self, name: str) -> bytes:
        """The bytes of a file; ValueError or OSError if they cannot be read."""
        ...

    def label(self, name: str) -> str:
        """How a file is named to people."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class Folder:
    """The files below a folder, or some of them. Links to files are followed, links to folders are not."""

    def __init__(self, path: Path, only: str | None = None) -> None:
        self.path = str(path)
        self._path = path
        self.names: Sequence[str] = ordered(_walk(path)) if only is None else [only]

    def __contains__(self, name: str) -> bool:
        return (self._path / name).is_file()

    def read(self, name: str) -> bytes:
        """The bytes of a file; ArchiveRefused if it is no plain one, OSError if they cannot be read."""
        with open_plain(self._path / name) as file:
            return file.read()

    def label(self, name: str) -> str:
        """Its path."""
        return str(self._path / name)

    def close(self) -> None:
        """Nothing is held."""


class Alone:
    """One file that was compressed by itself."""

    def __init__(self, path: Path, name: str, content: IO[bytes]) -> None:
        self.path = str(path)
        self.names: Sequence[str] = [name]
        self._content = content

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def read(self, name: str) -> bytes:  # noqa: ARG002 - there is only one
        """Its bytes."""
        self._content.seek(0)
        return self._content.read()

    def label(self, name: str) -> str:  # noqa: ARG002 - there is only one
        """The path of the compressed file."""
        return self.path

    def close(self) -> None:
        """Delete the temporary file, if there is one."""
        self._content.close()


class Tar:
    """The files of a tar archive that is decompressed already.

    Raises:
        ArchiveRefused: For paths that lead out of it, links, devices, or more than the limits allow.
        tarfile.ReadError: If it is no tar archive.
    """

    def __init__(self, path: Path, content: IO[bytes], compressed: int, limits: Limits, report: Report) -> None:
        self.path = str(path)
        self._content = content
        self._where: dict[str, tuple[int, int]] = {}
        self._report = report
        total = 0
        with tarfile.open(fileobj=content, mode="r:", tarinfo=_Member) as archive:
            for count, member in enumerate(_members(archive, self.path, report), start=1):
                limits.check_count(self.path, count)
                total += member.size
                limits.check_size(self.path, total, compressed)
                if member.isdir():
                    continue
                if not member.isfile() or member.issparse():
                    raise ArchiveRefused(
                        f"{self.path} holds {member.name!r}, which is {_kind(member)}; only plain files are read: "
                        "unpack the archive, look at it, and give the folder"
                    )
                name = safe(self.path, member.name)
                self._where[name] = (member.offset_data, member.size)
        self.names: Sequence[str] = ordered(self._where)

    def __contains__(self, name: str) -> bool:
        return name in self._where

    def read(self, name: str) -> bytes:
        """The bytes of a file; of one that the archive's end cuts off, those that are there."""
        offset, size = self._where[name]
        self._content.seek(offset)
        data = self._content.read(size)
        if len(data) < size:
            self._report.skip(self.label(name), f"the archive ends after {len(data)} of its {size} bytes")
        return data

    def label(self, name: str) -> str:
        """The archive's path and that within it."""
        return f"{self.path}:{name}"

    def close(self) -> None:
        """Delete the temporary file, if there is one."""
        self._content.close()


class Zip:
    """The files of a zip archive.

    Raises:
        ArchiveRefused: For paths that lead out of it, links, or more than the limits allow.
        ValueError: If it is damaged or encrypted.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        self.path = str(path)
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, EOFError) as error:
            raise ValueError(
                f"{path} is a damaged zip archive: {error}. Its list of files stands at its end; fetch it again"
            ) from error
        except NotImplementedError as error:  # what zipfile raises for what it cannot read, here and in `read`
            raise ValueError(f"{path} cannot be read ({error}); unpack it and give the folder") from error
        try:
            self._files = {safe(self.path, info.filename): info for info in self._check(path, limits)}
        except BaseException:
            self._archive.close()
            raise
        self.names: Sequence[str] = ordered(self._files)

    def _check(self, path: Path, limits: Limits) -> list[zipfile.ZipInfo]:
        members = self._archive.infolist()
        limits.check_count(self.path, len(members))
        limits.check_size(self.path, sum(info.file_size for info in members), path.stat().st_size)
        files = [info for info in members if not info.is_dir()]
        for info in files:
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in {0, stat.S_IFREG}:
                raise ArchiveRefused(
                    f"{path} holds {info.filename!r}, which is a link or a device; only plain files are read: "
                    "unpack the archive, look at it, and give the folder"
                )
            if info.flag_bits & 1:
                raise ValueError(f"{path} is encrypted; unpack it and give the folder")
        return files

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def read(self, name: str) -> bytes:
        """The bytes of a file; ValueError if they are damaged or compressed in an unknown way."""
        try:
            return self._archive.read(self._files[name])
        except (zipfile.BadZipFile, EOFError, zlib.error) as error:
            raise ValueError(f"it is damaged within the archive: {error}") from error
        except NotImplementedError as error:
            raise ValueError(f"it is compressed in a way that cannot be read ({error}); unpack the archive") from error

    def label(self, name: str) -> str:
        """The archive's path and that within it."""
        return f"{self.path}:{name}"

    def close(self) -> None:
        """Close the archive."""
        self._archive.close()


def safe(archive: str, name: str) -> str:
    """A path within an archive, with forward slashes and without detours.

    Raises:
        ArchiveRefused: If it leads out of the archive.
    """
    forward = name.replace("\\", "/")
    if forward.startswith("/") or re.match(r"[A-Za-z]:", forward) or ".." in forward.split("/") or "\0" in forward:
        raise ArchiveRefused(
            f"{archive} holds {name!r}, a path that leads out of it; unpack the archive, look at it, and give the "
            "folder"
        )
    return posixpath.normpath(forward)


def beside(name: str, other: str) -> str | None:
    """The path of a file that is named relative to another one; None if it leads out of the tree."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), other.replace("\\", "/")))
    return None if path.startswith(("../", "/")) else path


def ordered(names: Iterable[str]) -> list[str]:
    """Names of files in the order of folders and of numbers, without what operating systems leave behind."""
    kept = [name for name in names if not posixpath.basename(name).startswith("._") and "__MACOSX/" not in name]
    return sorted(kept, key=lambda name: [natural(part) for part in name.split("/")])


def _walk(path: Path) -> list[str]:
    return [(Path(folder) / file).relative_to(path).as_posix() for folder, _, files in os.walk(path) for file in files]


def open_plain(path: Path) -> IO[bytes]:
    """Open a plain file, or a link to one, to read its bytes.

    Raises:
        ArchiveRefused: If it is a device, a pipe or a socket; it is not waited for.
        OSError: If it cannot be opened.
    """
    file = os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise ArchiveRefused(f"{path} is a device, a pipe or a socket; only plain files are read")


class _Member(tarfile.TarInfo):
    """An entry of a tar archive, whose header is checked before what it announces is read."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        """What tarfile calls for each header; a subclass may take its place."""
        if self.size < 0 or (self.type in _EXTENSIONS and self.size > _LARGEST_EXTENSION):
            raise ArchiveRefused(f"the tar archive holds a header for {self.size:,} bytes, which no program writes")
        return super()._proc_member(archive)  # pyright: ignore


def _members(archive: tarfile.TarFile, path: str, report: Report) -> Iterator[tarfile.TarInfo]:
    count = 0
    try:
        while (member := archive.next()) is not None:
            if member.size < 0:  # an extended header can say so; tarfile would go back to it for ever
                raise ArchiveRefused(f"{path} holds {member.name!r} of {member.size} bytes")
            count += 1
            yield member
        archive.fileobj.seek(archive.offset)
        damage = "unreadable header" if archive.fileobj.read(tarfile.BLOCKSIZE).strip(b"\0") else ""
    except ArchiveRefused:
        raise
    except HEADER_DAMAGE as error:
        damage = str(error)
    if damage:
        report.skip(path, f"the archive is damaged after {count} entries, which are kept: {damage}")


def _kind(member: tarfile.TarInfo) -> str:
    if member.issym() or member.islnk():
        return f"a link to {member.linkname!r}"
    return "a sparse file" if member.issparse() else "no plain file"

"""Paths of studies: local directories, and URLs of object stores or anything else that `fsspec` supports."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from polarbear.extras import how_to_install
from polarbear.store.errors import PackageMissing, StudyError

IN_PLACE = frozenset({"ftp", "sftp", "ssh", "smb", "hdfs", "arrow_hdfs", "webhdfs", "webHDFS", "dbfs", "http", "https"})
"""Protocols that write files piece by piece, so that a kill may leave half of one, or not at all."""
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(.*)", re.DOTALL)
_LOCAL = ("file", "local")
_CODES = {FileNotFoundError: errno.ENOENT, PermissionError: errno.EACCES, FileExistsError: errno.EEXIST}


def place(path: str | os.PathLike[str]) -> Path:
    """The location of a study: a `Path`, or a `RemotePath` if `path` is a URL.

    A URL is ``PROTOCOL://…`` with any protocol that `fsspec` knows. `Path` collapses the two slashes into one; such a
    path is read as the URL it was. (Give a relative local path whose first part ends in a colon as an absolute one.)

    Returns:
        For a URL, a `RemotePath` typed as a `Path`, of which it has the part that studies need.

    Raises:
        ValueError: If the URL is chained (``PROTOCOL::…``).
    """
    if isinstance(path, RemotePath):
        return cast("Path", path)
    text = os.fspath(path)
    if "::" in text and _URL.fullmatch(text.rpartition("::")[2]):
        raise ValueError(f"{text} is a chained URL; give a single one, PROTOCOL://…")
    match = _URL.fullmatch(text)
    if match is None:
        return Path(path)
    protocol, rest = match.groups()
    if protocol in _LOCAL and not isinstance(path, Path):
        split = urlsplit(text)
        if split.netloc not in {"", "localhost"} or not split.path.startswith("/"):
            raise ValueError(
                f"{text} names the host {split.netloc!r}; write {split.scheme}:///ABSOLUTE/PATH, or a plain path"
            )
        return Path(unquote(split.path))
    parts = [part for part in rest.split("/") if part]
    if protocol in _LOCAL:
        return Path("/", *parts)
    return cast("Path", RemotePath(f"{protocol}://{'/'.join(parts)}"))


def remote(path: Path) -> RemotePath | None:
    """The path itself if it is remote, else None."""
    return path if isinstance(path, RemotePath) else None


@dataclass(frozen=True, slots=True)
class RemotePath:
    """A URL with the methods of `pathlib.Path` that studies need.

    A write replaces the whole file at once, as object stores do. There are no directories, only names with slashes:
    `mkdir` does nothing. Listings never come from a cache.

    Every method that reads or writes raises OSError if the store refuses or cannot be reached, whatever the protocol's
    package raised, and `PackageMissing` if that package or fsspec is not installed.

    Attributes:
        url: The URL, such as ``s3://bucket/a.study``, without a trailing slash or empty parts.
    """

    url: str

    def __str__(self) -> str:
        return self.url

    def __fspath__(self) -> str:
        return self.url

    def __truediv__(self, name: str) -> RemotePath:
        return RemotePath(f"{self.url}/{name}")

    @property
    def protocol(self) -> str:
        """The protocol, such as ``s3``."""
        return self.url.partition("://")[0]

    @property
    def name(self) -> str:
        """The last part of the URL."""
        return self.url.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The suffix of the name, from its last dot on."""
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> RemotePath:
        """The URL without its last part; a bucket is its own parent."""
        protocol, _, rest = self.url.partition("://")
        return RemotePath(f"{protocol}://{rest.rpartition('/')[0]}") if "/" in rest else self

    def resolve(self) -> RemotePath:
        """The URL itself, which is absolute."""
        return self

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing."""

    def exists(self) -> bool:
        """Whether there is a file, or any file below."""
        return self._kind() is not None

    def is_file(self) -> bool:
        """Whether there is a file."""
        return self._kind() == "file"

    def is_dir(self) -> bool:
        """Whether there is any file below."""
        return self._kind() == "directory"

    def iterdir(self) -> Iterator[RemotePath]:
        """The files and folders one level below; FileNotFoundError if there are none."""
        with self._system() as (system, path):
            system.invalidate_cache(path)
            entries: list[dict[str, Any]] = system.ls(path, detail=True)
        here = path.rstrip("/")
        names = (entry["name"].rstrip("/") for entry in entries)
        return iter([self / name.rpartition("/")[2] for name in names if name != here])

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """The files and folders one level below whose names match."""
        try:
            return iter([path for path in self.iterdir() if fnmatchcase(path.name, pattern)])
        except FileNotFoundError:
            return iter(())

    def read_bytes(self) -> bytes:
        """The whole file."""
        with self._system() as (system, path):
            return system.cat_file(path)

    def write_bytes(self, data: bytes, *, exclusive: bool = False) -> None:
        """Write the file as a whole; readers see either the old or all of the new content.

        With `exclusive`, raise FileExistsError if the file exists.
        """
        with self._system() as (system, path):
            system.pipe_file(path, data, mode="create" if exclusive else "overwrite")

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file."""
        try:
            with self._system() as (system, path):
                system.rm_file(path)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def require_whole_writes(self) -> None:
        """Raise a `StudyError` if files would be written piece by piece."""
        if self.protocol in IN_PLACE:
            raise StudyError(
                f"{self} cannot be written to: over {self.protocol}, a killed process may leave a partial file. Mount "
                "the remote directory and give its local path, or use an object store"
            )

    def _kind(self) -> str | None:
        try:
            with self._system() as (system, path):
                system.invalidate_cache(path)
                return system.info(path)["type"]
        except FileNotFoundError:
            return None

    @contextmanager
    def _system(self) -> Generator[tuple[Any, str]]:
        """The file system and the path on it; errors become OSErrors."""
        try:
            core = import_module("fsspec.core")
        except ImportError as error:
            raise PackageMissing(f"{self} needs fsspec; {how_to_install('remote')} ({error})") from error
        try:
            system = core.url_to_fs(self.url)
        except ImportError as error:
            raise PackageMissing(f"{self} needs the package for its protocol: {error}") from error
        except ValueError as error:
            raise StudyError(f"{self} cannot be reached: {error}") from error
        try:
            yield system
        except OSError as error:
            code = error.errno or next((code for kind, code in _CODES.items() if isinstance(error, kind)), errno.EIO)
            raise OSError(code, error.strerror or str(error) or type(error).__name__, self.url) from error
        except Exception as error:  # packages raise their own errors if credentials or networks are missing
            raise OSError(errno.EIO, f"{type(error).__name__}: {error}", self.url) from error

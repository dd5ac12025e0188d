"""Files elsewhere: on object stores and whatever else `fsspec` reaches."""

from __future__ import annotations

import errno
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any

from polarbear.store.errors import PackageMissing, StudyError

IN_PLACE = frozenset({"ftp", "sftp", "ssh", "smb", "hdfs", "arrow_hdfs", "webhdfs", "webHDFS", "dbfs", "http", "https"})
"""Protocols by which a file is written piece by piece, or not at all: a kill may leave half of one."""
_CODES = {FileNotFoundError: errno.ENOENT, PermissionError: errno.EACCES, FileExistsError: errno.EEXIST}


@dataclass(frozen=True, slots=True)
class RemotePath:
    """A place by its URL, with the part of `pathlib.Path` that studies need.

    A write replaces the whole file at once, as object stores do. There are no directories, only names with slashes:
    `mkdir` does nothing. Listings are never taken from a cache.

    Every method that looks or writes raises OSError if the store refuses or cannot be reached, whatever the package
    of the protocol raised, and `PackageMissing` if that package or fsspec is not installed.

    Attributes:
        url: Such as ``s3://bucket/a.study``: without a slash at the end or empty parts.
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
        """Such as ``s3``."""
        return self.url.partition("://")[0]

    @property
    def name(self) -> str:
        """The last part."""
        return self.url.rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The ending of the name, from the last point on."""
        point = self.name.rfind(".")
        return self.name[point:] if 0 < point < len(self.name) - 1 else ""

    @property
    def parent(self) -> RemotePath:
        """All but the last part; a bucket is its own parent."""
        protocol, _, rest = self.url.partition("://")
        return RemotePath(f"{protocol}://{rest.rpartition('/')[0]}") if "/" in rest else self

    def resolve(self) -> RemotePath:
        """Itself: a URL is absolute."""
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
        """What lies here, one level deep; FileNotFoundError if nothing does."""
        system, path = self._system()
        with self._errors():
            system.invalidate_cache(path)
            entries: list[dict[str, Any]] = system.ls(path, detail=True)
        here = path.rstrip("/")
        names = (entry["name"].rstrip("/") for entry in entries)
        return iter([self / name.rpartition("/")[2] for name in names if name != here])

    def glob(self, pattern: str) -> Iterator[RemotePath]:
        """What lies here and is called so, one level deep."""
        try:
            return iter([path for path in self.iterdir() if fnmatchcase(path.name, pattern)])
        except FileNotFoundError:
            return iter(())

    def read_bytes(self) -> bytes:
        """All of the file."""
        system, path = self._system()
        with self._errors():
            return system.cat_file(path)

    def write_bytes(self, data: bytes) -> None:
        """Write the file as a whole; readers see what was there before, or all of it."""
        self._write(data, "overwrite")

    def create_bytes(self, data: bytes) -> None:
        """Write a file that is not there yet; FileExistsError if it is."""
        self._write(data, "create")

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the file."""
        system, path = self._system()
        try:
            with self._errors():
                system.rm_file(path)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def require_whole_writes(self) -> None:
        """Raise `StudyError` if files would be written here piece by piece."""
        if self.protocol in IN_PLACE:
            raise StudyError(
                f"{self} cannot be written to: by {self.protocol} a kill may leave half a file. Mount the place and "
                "give the local path, or use an object store"
            )

    def _write(self, data: bytes, mode: str) -> None:
        system, path = self._system()
        with self._errors():
            system.pipe_file(path, data, mode=mode)

    def _kind(self) -> str | None:
        system, path = self._system()
        try:
            with self._errors():
                system.invalidate_cache(path)
                return system.info(path)["type"]
        except FileNotFoundError:
            return None

    def _system(self) -> tuple[Any, str]:
        """The file system and what the place is called there."""
        try:
            core = import_module("fsspec.core")
        except ImportError as error:
            raise PackageMissing(
                f"{self} needs fsspec; install it with: pip install 'polarbear[remote]' ({error})"
            ) from error
        try:
            return core.url_to_fs(self.url)
        except ImportError as error:
            raise PackageMissing(f"{self} needs the package of its protocol: {error}") from error
        except ValueError as error:
            raise StudyError(f"{self} cannot be reached: {error}") from error

    @contextmanager
    def _errors(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            code = error.errno or next((code for kind, code in _CODES.items() if isinstance(error, kind)), errno.EIO)
            raise OSError(code, error.strerror or str(error) or type(error).__name__, self.url) from error
        except Exception as error:  # packages raise their own when credentials or networks are missing
            raise OSError(errno.EIO, f"{type(error).__name__}: {error}", self.url) from error

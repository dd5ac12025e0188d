"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

from polarbear.store.paths import remote

TEMPORARY = ".tmp-"
"""How the names of unfinished files begin. A kill may leave some behind; readers pass over them."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a restart after a kill, sees either all of it or none.

    The bytes go to a temporary file beside it, are flushed to the disk, and get their name by one atomic rename; then
    the directory is flushed, so that the name lasts as well. Elsewhere the store replaces the file as a whole. A link
    of that name is replaced, and what it leads to stays as it is.

    Raises:
        OSError: If the disk is full or not writable; it names the file. What was there before is untouched.
    """
    elsewhere = remote(path)
    if elsewhere is not None:
        elsewhere.write_bytes(data)
        return
    temporary = path.with_name(f"{TEMPORARY}{path.name}-{secrets.token_hex(8)}")
    try:
        _write_through(temporary, data)
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    flush_directory(path.parent)


def make_directory(path: Path) -> None:
    """Make a directory to write in, unless it is there.

    Raises:
        OSError: If it cannot be made, or is a link: whoever put it there would choose where we write.
    """
    path.mkdir(parents=True, exist_ok=True)
    if remote(path) is None and path.is_symlink():
        raise OSError(errno.ELOOP, "is a link, through which nothing is written; give the directory itself", str(path))


def flush_directory(directory: Path) -> None:
    """Make the names in a directory last through a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporaries(directory: Path) -> None:
    """Remove what a killed writer left unfinished. Only the writer may call this."""
    for leftover in directory.glob(f"{TEMPORARY}*"):
        with suppress(FileNotFoundError):
            leftover.unlink()


def _write_through(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # follows no link
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Files that appear whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from polarbear.store.places import remote

TEMPORARY = ".tmp-"
"""How the names of unfinished files begin. A kill may leave some behind; readers pass over them."""


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a restart after a kill, sees either all of it or none.

    The bytes go to a temporary file beside it, are flushed to the disk, and get their name by one atomic rename; then
    the directory is flushed, so that the name lasts as well. Elsewhere the store replaces the file as a whole.

    Raises:
        OSError: If the disk is full or not writable; it names the file. What was there before is untouched.
    """
    elsewhere = remote(path)
    if elsewhere is not None:
        elsewhere.write_bytes(data)
        return
    temporary = path.with_name(f"{TEMPORARY}{path.name}-{os.getpid()}")
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
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

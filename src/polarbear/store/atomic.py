"""Files that appear whole or not at all, and commits that signal handlers do not interrupt."""

from __future__ import annotations

import errno
import os
import secrets
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from polarbear.store.paths import remote

TEMPORARY = ".tmp-"
"""Prefix of unfinished files. A kill may leave some behind, which readers ignore."""
_COMMITS: list[None] = []
"""One entry for each commit in progress in the main thread; commits nest."""
_AFTERWARDS: list[Callable[[], object]] = []


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a restart after a kill, sees either all of it or none.

    The bytes go to a temporary file in the same folder, are flushed to disk, and get their name by an atomic rename;
    then the folder is flushed, so that the name is durable as well. Object stores replace the file as a whole. An
    existing link is replaced; its target stays unchanged.

    Raises:
        OSError: If the disk is full or not writable; it names the file. The previous content stays unchanged.
    """
    if elsewhere := remote(path):
        elsewhere.write_bytes(data)
        return
    temporary = path.with_name(f"{TEMPORARY}{path.name}-{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:  # follows no link
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise
    flush_directory(path.parent)


def make_directory(path: Path) -> None:
    """Create a directory to write in, unless it exists.

    Raises:
        OSError: If it cannot be created, or is a link, whose creator could choose where files are written.
    """
    path.mkdir(parents=True, exist_ok=True)
    if not remote(path) and path.is_symlink():
        raise OSError(
            errno.ELOOP,
            "the directory is a symbolic link, which polarbear does not write through; give the directory itself",
            str(path),
        )


def flush_directory(directory: Path) -> None:
    """Flush the file names in a directory to disk, so that they survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporaries(directory: Path) -> None:
    """Remove the unfinished files of a killed writer. Only to be called by the writer."""
    for leftover in directory.glob(f"{TEMPORARY}*"):
        leftover.unlink(missing_ok=True)


@contextmanager
def critical_section() -> Generator[None]:
    """Mark a commit, during which signal handlers raise no exception; see `after_commit`."""
    if threading.current_thread() is not threading.main_thread():  # no signal handler runs there
        yield
        return
    _COMMITS.append(None)
    try:
        yield
    finally:
        _COMMITS.pop()
        while _AFTERWARDS and not _COMMITS:
            _AFTERWARDS.pop()()


def after_commit(action: Callable[[], object]) -> bool:
    """Postpone a signal handler's action until the current commit in the main thread has ended.

    An exception during a commit loses nothing committed before, but may lose what is being committed: packages that
    write files are not made for exceptions at any moment.

    Returns:
        Whether a commit is in progress; if not, the action is never called.
    """
    if _COMMITS:
        _AFTERWARDS.append(action)
    return bool(_COMMITS)

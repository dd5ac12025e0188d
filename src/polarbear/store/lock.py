"""One writer at a time, known by name."""

from __future__ import annotations

import getpass
import json
import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from polarbear.store.atomic import write_atomically
from polarbear.store.errors import StudyLocked

LOCK, HOLDER = "lock", "lock.json"


class WriterLock:
    """The right to write to a study, held until `release`.

    It is a lock of the operating system on the file ``lock``: it ends with its process, however that ends. Beside it
    ``lock.json`` names the holder. On network file systems without working `flock` two machines may both get it.

    Raises:
        StudyLocked: If another process holds it, or this one already does.
        OSError: If the study's directory is not writable.
    """

    def __init__(self, study: Path) -> None:
        from filelock import FileLock, Timeout

        self._lock = FileLock(study / LOCK, thread_local=False)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise StudyLocked(_who_holds(study)) from None
        except OSError as error:
            raise _not_writable(study, error) from error
        try:
            write_atomically(study / HOLDER, json.dumps(_myself()).encode())
        except OSError as error:
            self._lock.release()
            raise _not_writable(study, error) from error
        self._holder = study / HOLDER

    def release(self) -> None:
        """Let others write."""
        self._holder.unlink(missing_ok=True)
        self._lock.release()


def _myself() -> dict[str, Any]:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return {"pid": os.getpid(), "host": socket.gethostname(), "user": _user(), "since": since}


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        return str(os.getuid())


def _who_holds(study: Path) -> str:
    try:
        holder = json.loads((study / HOLDER).read_bytes())
        who = f"process {holder['pid']} on {holder['host']} (user {holder['user']}, since {holder['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        who = "another process (it did not leave its name)"
    return f"study {study} is being written by {who}; wait for it or end it. Reading is possible meanwhile."


def _not_writable(study: Path, error: OSError) -> OSError:
    return OSError(
        error.errno,
        f"study {study} cannot be opened for writing: {error.strerror}. It can still be read; make the directory "
        "writable or copy the study elsewhere to go on with it",
    )

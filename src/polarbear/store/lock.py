"""One writer at a time, known by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from polarbear.store.atomic import write_atomically
from polarbear.store.errors import StudyLocked
from polarbear.store.lock_owner import HOLDER, described, myself
from polarbear.store.paths import place, remote
from polarbear.store.remote_lock import RemoteLock, take_over_lease

LOCK = "lock"


class WriterLock:
    """The right to write to a study in a directory, held until `release`.

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
        try:
            write_atomically(study / HOLDER, json.dumps(myself()).encode())
        except BaseException:
            self._lock.release()
            raise
        self._holder = study / HOLDER

    def require_held(self) -> None:
        """Do nothing: nobody can take it away."""

    def release(self) -> None:
        """Let others write."""
        self._holder.unlink(missing_ok=True)
        self._lock.release()


Lock = WriterLock | RemoteLock
"""Either right to write."""


def lock_for_writing(study: Path) -> Lock:
    """The right to write to the study at a place; errors as for the two locks."""
    elsewhere = remote(study)
    return WriterLock(study) if elsewhere is None else RemoteLock(elsewhere)


def take_over(path: str | Path) -> None:
    """Remove the lock that an ended writer left on a study elsewhere (s3://…).

    Call it only if you know that the writer has ended. A lock in a local directory ends with its process, so that
    there is nothing to take over.

    Raises:
        StudyLocked: If the writer may still live: it has renewed the lock within ten minutes, and is no process of
            this machine that has ended.
        OSError: If the lock cannot be read or removed.
    """
    study = place(path)
    elsewhere = remote(study)
    if elsewhere is not None:
        take_over_lease(elsewhere)
    elif (study / LOCK).exists():
        WriterLock(study).release()


def _who_holds(study: Path) -> str:
    holder: dict[str, Any] = {}
    try:
        holder = json.loads((study / HOLDER).read_bytes())
        who = described(holder)
    except (OSError, ValueError, TypeError):
        who = described({})
    return f"study {study} is being written by {who}; wait for it or end it. Reading is possible meanwhile."

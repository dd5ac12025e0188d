"""The lock that admits one writer at a time and names it.

A local study is locked by the operating system, a remote one by the file ``lock.json``. In both cases ``lock.json``
names the owner: its process, its machine, and the time.
"""

from __future__ import annotations

import getpass
import json
import os
import secrets
import socket
import threading
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from polarbear.store.atomic import write_atomically
from polarbear.store.errors import StudyLocked
from polarbear.store.paths import RemotePath, place, remote

LOCK, OWNER = "lock", "lock.json"
RENEW_SECONDS = 60.0
"""Interval at which the writer of a remote study renews its lock, in seconds."""
ABANDONED_SECONDS = 600.0
"""Time without renewal after which a lock counts as abandoned, in seconds."""
_CREATING = threading.Lock()
"""Lock for creating files, as not every store creates a file exclusively among the threads of one process."""


class LocalLock:
    """The right to write to a study in a directory, held until `release`.

    It is a lock of the operating system on the file ``lock``: it ends with its process, however that ends. On network
    file systems without a working `flock`, two machines may both obtain it.

    Raises:
        StudyLocked: If another process holds it, or this one already does.
        OSError: If the study's directory is not writable.
    """

    def __init__(self, study: Path) -> None:
        from filelock import FileLock, Timeout

        self._owner = study / OWNER
        self._lock = FileLock(study / LOCK, thread_local=False)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            owner = None
            with suppress(OSError):
                owner = read_owner(self._owner)
            raise StudyLocked(_written_by(study, owner or {})) from None
        try:
            write_atomically(self._owner, json.dumps(_this_process()).encode())
        except BaseException:
            self._lock.release()
            raise

    def require_held(self) -> None:
        """Do nothing: nobody can take the lock away."""

    def release(self) -> None:
        """Let others write."""
        self._owner.unlink(missing_ok=True)
        self._lock.release()


class RemoteLock:
    """The right to write to a remote study, held until `release`.

    It is the file ``lock.json``, created only if it does not exist, with the owner, a random token, and a time that a
    thread renews every `RENEW_SECONDS`. Nobody takes it over silently: see `take_over`. An owner that finds its lock
    gone or with another token stops writing.

    Raises:
        StudyLocked: If there is a lock.
        StudyError: If the store cannot write files as a whole.
        OSError: If the store is not writable.
    """

    def __init__(self, study: RemotePath) -> None:
        study.require_whole_writes()
        self._study, self._file = study, study / OWNER
        self._token = secrets.token_hex(16)
        self._content = _this_process() | {"token": self._token}
        self._mutex = threading.Lock()
        self._lost = False
        self._renewed = time.time()
        self._stopped = threading.Event()
        # The lock goes with the study, when that is garbage-collected or the process ends; also on Ctrl-C in here.
        self._finalizer = weakref.finalize(self, _remove_at_exit, self._file, self._token, os.getpid())
        try:
            self._create()
        except Exception:
            self._finalizer.detach()
            raise
        threading.Thread(target=_keep_renewing, args=(weakref.ref(self), self._stopped), daemon=True).start()

    def require_held(self) -> None:
        """Check that the lock is still held.

        Raises:
            StudyLocked: If somebody removed it or took it over.
            OSError: If it has not been renewed for a long time and the store cannot be reached.
        """
        if not self._lost and time.time() - self._renewed > 2 * RENEW_SECONDS:
            self.renew()
        if self._lost:
            raise StudyLocked(
                f"this process has lost the lock on study {self._study}: {self._file} is gone or names another writer. "
                "Committed runs are kept; open the study again to continue"
            )

    def renew(self) -> None:
        """Renew the lock, to show that this writer is alive."""
        with self._mutex:
            if self._lost or self._stopped.is_set():
                return
            self._lost = not _has_token(read_owner(self._file), self._token)
            if not self._lost:
                self._write()
                self._renewed = time.time()

    def release(self) -> None:
        """Let others write; OSError if the lock cannot be removed."""
        self._stopped.set()
        with self._mutex:  # a renewal in progress would recreate the file
            if self._finalizer.detach():
                _remove_own(self._file, self._token)

    def _create(self) -> None:
        owner = read_owner(self._file)  # not every store respects `exclusive`
        if owner is not None:
            raise StudyLocked(_locked_by(self._study, owner))
        try:
            with _CREATING:
                self._write(exclusive=True)
        except OSError as error:
            owner = read_owner(self._file)
            if owner is None and isinstance(error, FileExistsError):
                raise StudyLocked(f"study {self._study} was locked until just now; try again") from error
            if owner is None:
                raise
        else:
            owner = read_owner(self._file)
        if not _has_token(owner, self._token):  # with the token, a repeated request met the file of the first one
            raise StudyLocked(_locked_by(self._study, owner or {}))

    def _write(self, *, exclusive: bool = False) -> None:
        content = self._content | {"renewed": datetime.now(UTC).isoformat(timespec="seconds")}
        self._file.write_bytes(json.dumps(content).encode(), exclusive=exclusive)


Lock = LocalLock | RemoteLock


def lock_for_writing(study: Path) -> Lock:
    """The right to write to a study; raises as the two locks."""
    elsewhere = remote(study)
    return RemoteLock(elsewhere) if elsewhere else LocalLock(study)


def take_over(path: str | Path) -> None:
    """Remove the lock that a finished writer left on a remote study (s3://…).

    Call it only if you know that the writer has ended. The lock of a local study ends with its process, so that there
    is nothing to take over.

    Raises:
        StudyLocked: If the writer may still be alive: it has renewed the lock within ten minutes and is not a process
            of this machine that has ended.
        OSError: If the lock cannot be read or removed.
    """
    study = place(path)
    if elsewhere := remote(study):
        file = elsewhere / OWNER
        owner = read_owner(file)
        if owner is None:
            return
        if not _is_abandoned(owner):
            raise StudyLocked(_locked_by(elsewhere, owner))
        if read_owner(file) == owner:
            file.unlink(missing_ok=True)
    elif (study / LOCK).exists():
        LocalLock(study).release()


def read_owner(file: Path | RemotePath) -> dict[str, Any] | None:
    """The owner named in a ``lock.json``; None if there is no file, empty if it cannot be parsed."""
    try:
        content: Any = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}


def has_ended_here(owner: Mapping[str, Any]) -> bool:
    """Whether the owner was a process of this machine that has ended."""
    pid = owner.get("pid")
    if (owner.get("host"), owner.get("processes")) != (socket.gethostname(), _process_namespace()):
        return False
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def _this_process() -> dict[str, Any]:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        user = str(os.getuid())
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "processes": _process_namespace(),
        "user": user,
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _process_namespace() -> str:
    """An identifier of the process namespace: that of the container, or of the machine since it booted."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{Path('/proc/self/ns/pid').readlink()} {boot}"
    return ""


def _described(owner: Mapping[str, Any]) -> str:
    try:
        return f"process {owner['pid']} on {owner['host']} (user {owner['user']}, since {owner['since']})"
    except KeyError:
        return "an unidentified process"


def _written_by(study: Path | RemotePath, owner: Mapping[str, Any]) -> str:
    return (
        f"study {study} is being written by {_described(owner)}; wait for it to finish, or stop it. "
        "The study can be read meanwhile."
    )


def _locked_by(study: RemotePath, owner: Mapping[str, Any]) -> str:
    idle = _idle_seconds(owner)
    if not _is_abandoned(owner):
        return (
            f"{_written_by(study, owner)} If it was killed, its lock can be taken over {ABANDONED_SECONDS / 60:.0f} "
            f"minutes after its last renewal, which was {idle:.0f} s ago"
        )
    why = "is no longer running"
    if idle is not None and idle >= ABANDONED_SECONDS:
        why = f"has not renewed the lock for {idle / 60:.0f} min"
    return (
        f"study {study} is locked by {_described(owner)}, which {why}. If it has ended, take the lock over "
        f"(--take-over on the command line, polarbear.store.take_over({str(study)!r}) in Python) or remove "
        f"{study}/{OWNER}, and try again. The study can be read meanwhile"
    )


def _is_abandoned(owner: Mapping[str, Any]) -> bool:
    idle = _idle_seconds(owner)
    return idle is None or idle >= ABANDONED_SECONDS or has_ended_here(owner)


def _idle_seconds(owner: Mapping[str, Any]) -> float | None:
    """Seconds since the lock was renewed, by the clocks of both machines; None if unknown."""
    try:
        return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(owner["renewed"])).total_seconds())
    except (KeyError, TypeError, ValueError):
        return None


def _has_token(owner: Mapping[str, Any] | None, token: str) -> bool:
    return owner is not None and owner.get("token") == token


def _keep_renewing(reference: weakref.ref[RemoteLock], stopped: threading.Event) -> None:
    while not stopped.wait(RENEW_SECONDS):
        lock = reference()
        if lock is None:
            return
        with suppress(OSError):  # the next write or renewal will meet it again
            lock.renew()
        del lock


def _remove_at_exit(file: RemotePath, token: str, process: int) -> None:
    if os.getpid() == process:  # not in a forked child
        with suppress(OSError):
            _remove_own(file, token)


def _remove_own(file: RemotePath, token: str) -> None:
    if _has_token(read_owner(file), token):
        file.unlink(missing_ok=True)

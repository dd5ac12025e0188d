"""A lock file for studies on object stores, where no operating system keeps locks."""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
import weakref
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from polarbear.store.errors import StudyLocked
from polarbear.store.lock_owner import HOLDER, described, ended_here, myself, read_holder
from polarbear.store.remote import RemotePath

RENEW_SECONDS = 60.0
"""How often a writer renews its lock."""
ABANDONED_SECONDS = 600.0
"""A lock that was not renewed for so long counts as abandoned."""
_CREATING = threading.Lock()
"""Not every store creates a file exclusively among the threads of one process."""


class RemoteLock:
    """The right to write to a study elsewhere, held until `release`.

    It is the file ``lock.json``, created only if there is none, with the holder's name, a random token, and a time
    that a thread renews every `RENEW_SECONDS`. Nobody takes it over silently: see `take_over`. A holder that finds
    its lock gone or with another's token writes no more.

    Raises:
        StudyLocked: If there is a lock.
        StudyError: If files cannot be written as a whole there.
        OSError: If the place is not writable.
    """

    def __init__(self, study: RemotePath) -> None:
        study.require_whole_writes()
        self._study = study
        self._file = study / HOLDER
        self._content = myself() | {"token": secrets.token_hex(16)}
        self._mutex = threading.Lock()
        self._lost = False
        self._renewed = time.time()
        self._stopped = threading.Event()
        # However the study is let go of, by forgetting it or by the end of the process, the lock goes with it; also if
        # Ctrl-C comes while it is made.
        self._forgotten = weakref.finalize(self, _forget, self._file, self._content["token"], os.getpid())
        try:
            self._create()
        except Exception:
            self._forgotten.detach()
            raise
        threading.Thread(target=_renew_on, args=(weakref.ref(self), self._stopped), daemon=True).start()

    def require_held(self) -> None:
        """Check that the lock is still this one's.

        Raises:
            StudyLocked: If somebody removed or took it.
            OSError: If it has not been renewed for long and the store cannot be reached.
        """
        if not self._lost and time.time() - self._renewed > 2 * RENEW_SECONDS:
            self.renew()
        if self._lost:
            raise StudyLocked(
                f"study {self._study} was taken from this process: {self._file} is gone or names another writer. What "
                "was committed is kept; open the study again to go on"
            )

    def renew(self) -> None:
        """Tell the others that this writer lives."""
        with self._mutex:
            if self._lost or self._stopped.is_set():
                return
            holder = read_holder(self._file)
            if holder is None or holder.get("token") != self._content["token"]:
                self._lost = True
                return
            self._file.write_bytes(self._written())
            self._renewed = time.time()

    def release(self) -> None:
        """Let others write; OSError if the lock cannot be removed."""
        self._stopped.set()
        with self._mutex:  # a renewal that is under way would bring the file back
            if self._forgotten.detach():
                _remove_own(self._file, self._content["token"])

    def _create(self) -> None:
        holder = read_holder(self._file)  # not every store heeds the condition below
        if holder is not None:
            raise StudyLocked(_who_holds(self._study, holder))
        try:
            with _CREATING:
                self._file.create_bytes(self._written())
        except OSError as error:
            holder = read_holder(self._file)
            if holder is None:
                if isinstance(error, FileExistsError):
                    raise StudyLocked(f"study {self._study} was locked until just now; try again") from error
                raise
            if holder.get("token") != self._content["token"]:  # else a repeated request met what the first one made
                raise StudyLocked(_who_holds(self._study, holder)) from None
        holder = read_holder(self._file)  # and then shows who came last
        if holder is None or holder.get("token") != self._content["token"]:
            raise StudyLocked(_who_holds(self._study, holder or {}))

    def _written(self) -> bytes:
        return json.dumps(self._content | {"renewed": datetime.now(UTC).isoformat(timespec="seconds")}).encode()


def take_over_lease(study: RemotePath) -> None:
    """Remove the lock of a study if its holder has ended; StudyLocked if it may live."""
    file = study / HOLDER
    holder = read_holder(file)
    if holder is None:
        return
    if not _abandoned(holder):
        raise StudyLocked(_who_holds(study, holder))
    if read_holder(file) == holder:
        file.unlink(missing_ok=True)


def _renew_on(reference: weakref.ref[RemoteLock], stopped: threading.Event) -> None:
    while not stopped.wait(RENEW_SECONDS):
        lock = reference()
        if lock is None:
            return
        with suppress(OSError):  # the next write or renewal meets it again
            lock.renew()
        del lock


def _forget(file: RemotePath, token: str, process: int) -> None:
    if os.getpid() == process:  # and not a forked child
        with suppress(OSError):
            _remove_own(file, token)


def _remove_own(file: RemotePath, token: str) -> None:
    holder = read_holder(file)
    if holder is not None and holder.get("token") == token:
        file.unlink(missing_ok=True)


def _who_holds(study: RemotePath, holder: dict[str, Any]) -> str:
    who, idle = described(holder), _idle_seconds(holder)
    if not _abandoned(holder):
        return (
            f"study {study} is being written by {who}; wait for it or end it. Reading is possible meanwhile. If it was "
            f"killed, its lock can be taken over {ABANDONED_SECONDS / 60:.0f} minutes after it was last renewed, "
            f"{idle:.0f} s ago"
        )
    why = (
        "no longer runs" if idle is None or idle < ABANDONED_SECONDS else f"has not renewed it for {idle / 60:.0f} min"
    )
    return (
        f"study {study} is locked by {who}, which {why}. If it has ended, take the lock over (--take-over on the "
        f"command line, polarbear.store.take_over({str(study)!r}) in Python) or remove {study}/{HOLDER}, and try "
        "again. Reading is possible meanwhile"
    )


def _abandoned(holder: dict[str, Any]) -> bool:
    idle = _idle_seconds(holder)
    return idle is None or idle >= ABANDONED_SECONDS or ended_here(holder)


def _idle_seconds(holder: dict[str, Any]) -> float | None:
    """Seconds since the lock was renewed, by the clocks of both; None if it does not say."""
    try:
        return max(0.0, (datetime.now(UTC) - datetime.fromisoformat(holder["renewed"])).total_seconds())
    except (KeyError, TypeError, ValueError):
        return None

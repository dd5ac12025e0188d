"""Who writes to a study: what a lock tells of its holder."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

HOLDER = "lock.json"


def myself() -> dict[str, Any]:
    """This process, as a lock tells it."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return {"pid": os.getpid(), "host": socket.gethostname(), "user": _user(), "since": since}


def described(holder: Mapping[str, Any]) -> str:
    """A lock's holder in words."""
    try:
        return f"process {holder['pid']} on {holder['host']} (user {holder['user']}, since {holder['since']})"
    except KeyError:
        return "another process (it did not leave its name)"


def not_writable(study: object, error: OSError) -> OSError:
    """What to say if a study cannot be locked."""
    return OSError(
        error.errno,
        f"study {study} cannot be opened for writing: {error.strerror}. It can still be read; make the directory "
        "writable or copy the study elsewhere to go on with it",
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        return str(os.getuid())

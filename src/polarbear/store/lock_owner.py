"""The owner of a study's lock: which process, on which machine, since when."""

from __future__ import annotations

import getpass
import json
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from polarbear.store.remote import RemotePath

HOLDER = "lock.json"


def myself() -> dict[str, Any]:
    """This process, as a lock tells it."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "processes": _processes(),
        "user": _user(),
        "since": since,
    }


def read_holder(file: Path | RemotePath) -> dict[str, Any] | None:
    """Who holds the lock: nobody if there is no file, nothing known if it cannot be understood."""
    try:
        content: Any = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}


def described(holder: Mapping[str, Any]) -> str:
    """A lock's holder in words."""
    try:
        return f"process {holder['pid']} on {holder['host']} (user {holder['user']}, since {holder['since']})"
    except KeyError:
        return "another process (it did not leave its name)"


def ended_here(holder: Mapping[str, Any]) -> bool:
    """Whether the holder was a process of this machine that is no more."""
    process = holder.get("pid")
    if (holder.get("host"), holder.get("processes")) != (socket.gethostname(), _processes()):
        return False
    if not isinstance(process, int) or process <= 0:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def _processes() -> str:
    """Which processes this one sees: those of its container, or else of its machine, since its last start."""
    with suppress(OSError):
        started = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{Path('/proc/self/ns/pid').readlink()} {started}"
    return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        return str(os.getuid())

"""Restrictions on worker processes that run code nobody has read."""

from __future__ import annotations

import os
import tempfile
from typing import Annotated, Any

from polarbear.validation import Checked, settings, whole

KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")
"""The environment variables that a confined worker keeps; others may contain keys and passwords."""
LARGEST_FILE = 1 << 24
"""Maximum size, in bytes, of a file that a confined worker writes."""


def _words(value: Any, name: str) -> tuple[str, ...]:
    if isinstance(value, str) or not all(isinstance(word, str) for word in value):
        raise ValueError(f"{name} is {value!r}; give the words of a command, such as ('unshare', '--net')")
    return tuple(value)


@settings(kw_only=True)
class Confinement:
    """Limits on worker processes that run proposed code. Linux and macOS; macOS ignores the limit on memory.

    A confined worker has limited memory, writes no file larger than 16 MiB and no core dump, starts in a new empty
    folder, and sees only a few harmless ones of the driver's environment variables; its output is discarded. This
    protects against accidents, not against malice: the code still has the user's rights, so that it can read and delete
    files, use the network, and start processes. `inside` is for those who need more.

    Attributes:
        memory: Bytes of address space of each worker process.
        inside: A command that starts each worker and restricts it further, such as ``("unshare", "--map-root-user",
            "--net")``, which removes the network. It must run the command that follows it, in its own place or as a
            child, and leave it standard input and output.
    """

    memory: Annotated[int, whole(1 << 28)] = 1 << 31
    inside: Annotated[tuple[str, ...], Checked(_words)] = ()

    def environment(self) -> dict[str, str]:
        """The environment variables of the worker."""
        return {name: os.environ[name] for name in KEPT if name in os.environ}

    def folder(self) -> str:
        """A new empty folder."""
        return tempfile.mkdtemp(prefix="polarbear-confined-")


def confine(memory: int) -> None:
    """Limit this process permanently; its children inherit the limits."""
    import resource  # only on Unix

    for kind, most in (("AS", memory), ("FSIZE", LARGEST_FILE), ("CORE", 0)):
        limit = getattr(resource, f"RLIMIT_{kind}")
        _, hard = resource.getrlimit(limit)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (least, least))
    _confined.append(True)


def confined() -> bool:
    """Whether this process is a confined worker."""
    return bool(_confined)


_confined: list[bool] = []

"""Set up signals and check memory before anything large is imported; uses only the standard library."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

MEMORY_SHORT = 6
INTERRUPTED = 130
LEAST_ADDRESS_SPACE = 5 << 28
"""Minimum address space, in bytes, that NumPy, SciPy and polars need, most of it reserved and never used …"""
ADDRESS_SPACE_PER_CORE = 1 << 24
"""… and additionally for the threads that they start per core."""
_AGAIN = 0.05
"""Seconds after which a signal that arrived at a bad moment is sent again."""
_FRAGILE = re.compile(r"^<frozen importlib|[/\\]polars[/\\]")


def after_fragile_calls(handle: Callable[[int, FrameType | None], object]) -> Callable[[int, FrameType | None], object]:
    """Wrap a signal handler so that it waits until imports and calls of polars are over.

    Packages turn exceptions during their import into other errors, and Rust code panics at an exception in a callback.
    """

    def wait(number: int, frame: FrameType | None) -> None:
        inside = frame
        while inside is not None and not _FRAGILE.search(inside.f_code.co_filename):
            inside = inside.f_back
        if inside is None:
            handle(number, frame)
            return
        again = threading.Timer(_AGAIN, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()

    return wait


def prepare() -> None:
    """Make Ctrl-C wait as in `after_fragile_calls`, and refuse to start if limited memory would end the process midway.

    Raises:
        MemoryError: If the address space is too small; the message says how large it has to be.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, after_fragile_calls(signal.default_int_handler))
    if os.name != "posix":
        return
    import resource

    allowed, _ = resource.getrlimit(resource.RLIMIT_AS)
    least = LEAST_ADDRESS_SPACE + ADDRESS_SPACE_PER_CORE * (os.cpu_count() or 1)
    if allowed != resource.RLIM_INFINITY and allowed < least:
        raise MemoryError(
            f"this process may use {allowed >> 20:,} MiB of address space, and needs {least >> 20:,} MiB to load its "
            f"packages; raise the limit (ulimit -v {least >> 10}) or ask the batch system for more memory"
        )


def fail(why: object, code: int) -> NoReturn:
    """Report in one line why nothing more follows, and exit."""
    sys.stderr.write(f"polarbear: {why}\n")
    sys.exit(code)

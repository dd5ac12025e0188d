"""Settle signals and memory before anything large is imported; uses the standard library alone."""

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
"""Bytes that NumPy, SciPy and polars need at least, most of them reserved and never used …"""
ADDRESS_SPACE_PER_CORE = 1 << 24
"""… and those for the threads that they start on each core."""
_AGAIN = 0.05
"""Seconds until a signal that came at a bad moment is tried again."""
_FRAGILE = re.compile(r"^<frozen importlib|[/\\]polars[/\\]")


def after_fragile_calls(handle: Callable[[int, FrameType | None], object]) -> Callable[[int, FrameType | None], object]:
    """A signal handler that waits for the end of imports and of polars' calls.

    Packages turn exceptions during their import into errors of their own; Rust that calls Python panics at one.
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
    """Have Ctrl-C wait as `after_fragile_calls` says; refuse to begin where limited memory would end it midway.

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
    """Say in a line why nothing more comes, and end."""
    sys.stderr.write(f"polarbear: {why}\n")
    sys.exit(code)

"""The process that reads other people's data, within the limits it is given.

It answers each task with messages: what it is reading ("at"), how far it is ("progress"), some packed runs
("runs"), and at last "done" or "error". When a limit is exceeded, the kernel ends it.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from polarbear.records import Reference
from polarbear.store.formats import reference
from polarbear.store.formats.limits import Limits
from polarbear.store.formats.packing import pack
from polarbear.store.formats.reading import Options, read_data
from polarbear.store.formats.reports import Reading, Report

_IDLE_SECONDS = 60.0
"""Seconds after which a process that nobody asks anything ends."""
_BATCH = 5_000
"""Runs in one message."""


def main(connection: int) -> None:
    """Do what is asked for until nobody asks any more.

    Args:
        connection: The descriptor of the connection to the process that asks.
    """
    _keep_no_core()
    gc.disable()  # runs hold no cycles, and looking for some takes a third of the time
    with Connection(connection) as driver, suppress(EOFError, ConnectionError):
        while driver.poll(_IDLE_SECONDS):
            what, path, how, limits, folder = pickle.loads(driver.recv_bytes())
            if folder is not None:
                os.chdir(folder)
            _limit_memory(limits.memory)
            try:
                answer = "done", _ANSWERS[what](_Driver(driver, limits.seconds), path, how)
            except (ConnectionError, EOFError):
                raise
            except MemoryError:
                answer = "error", [["ArchiveRefused"], f"{path}: {limits.too_large()}"]
            except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
                answer = "error", [[kind.__name__ for kind in type(error).__mro__], str(error)]
            signal.setitimer(signal.ITIMER_REAL, 0)
            driver.send_bytes(pickle.dumps(answer, protocol=5))


class _Driver:
    """The process that asks, as a task sees it: every message to it begins a new step, which has its time."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds

    def say(self, kind: str, content: Any) -> None:
        """Send a message."""
        self._connection.send_bytes(pickle.dumps((kind, content), protocol=5))
        signal.setitimer(signal.ITIMER_REAL, self._seconds)  # SIGALRM, which nothing handles, ends the process


def _read(driver: _Driver, path: str, options: Options) -> Reading:
    def progress(*how_far: object) -> None:
        driver.say("progress", how_far)

    reading = read_data(path, options, Report(progress, lambda label: driver.say("at", label)))
    for start in range(0, len(reading.runs), _BATCH):
        driver.say("runs", pack(reading.runs[start : start + _BATCH]))
    return replace(reading, runs=())


def _read_reference(driver: _Driver, path: str, limits: Limits) -> dict[tuple[str, int], Reference]:
    driver.say("at", path)
    return reference.read_reference(path, limits)


_ANSWERS = {"read": _read, "reference": _read_reference}


def _limit_memory(beyond: int) -> None:
    """Bound the address space by what is used now and so many bytes."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = _address_space() + beyond
    resource.setrlimit(resource.RLIMIT_AS, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))


def _address_space() -> int:
    """Bytes of address space in use; 0 where the system does not tell."""
    import resource

    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _keep_no_core() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

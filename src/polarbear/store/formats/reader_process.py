"""The process that reads other tools' data, within the limits it is given.

It answers each task with messages: what it is reading ("at"), its progress ("progress"), some packed runs ("runs"), and
finally "done" or "error". When a limit is exceeded, the kernel ends it. Runs are sent as a few arrays and lists, which
takes a fraction of the time of pickling the runs; neither side needs polars, which does not work in a forked process.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from polarbear.records import Outcome, Parameters, Reason, Reference, Run, RunKey, Samples, Trajectory
from polarbear.store.formats import reference
from polarbear.store.formats.reading import Options, read_data
from polarbear.store.formats.reports import Limits, Reading, Report

_IDLE_SECONDS = 60.0
"""Seconds after which an idle process ends."""
_BATCH = 5_000
"""Number of runs in one message."""
_TRAJECTORY = ("evaluations", "seconds", "values")
_OUTCOME = ("reason", "evaluations", "seconds", "message", "traceback", "invalid_evaluations")


def main(connection: int) -> None:
    """Answer tasks until there are no more.

    Args:
        connection: The file descriptor of the connection to the requesting process.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.disable()  # runs contain no cycles, and searching for them takes a third of the time
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
            except Exception as error:  # noqa: BLE001 - it is raised in the requesting process
                answer = "error", [[kind.__name__ for kind in type(error).__mro__], str(error)]
            signal.setitimer(signal.ITIMER_REAL, 0)
            driver.send_bytes(pickle.dumps(answer, protocol=5))


class _Driver:
    """The requesting process as seen by a task: every message to it begins a new step with its own time limit."""

    def __init__(self, connection: Connection, seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds

    def say(self, kind: str, content: Any) -> None:
        """Send a message."""
        self._connection.send_bytes(pickle.dumps((kind, content), protocol=5))
        signal.setitimer(signal.ITIMER_REAL, self._seconds)  # SIGALRM, which is not handled, ends the process


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


def pack(runs: Sequence[Run]) -> dict[str, Any]:
    """One or more runs as plain values and arrays, in which one run follows another."""
    trajectories = [run.trajectory for run in runs]
    return {
        "keys": [(run.key.instance, run.key.algorithm, run.key.seed) for run in runs],
        "arrays": [np.concatenate([getattr(each, name) for each in trajectories]) for name in _TRAJECTORY],
        "sizes": np.array([each.values.size for each in trajectories]),
        "outcomes": [tuple(getattr(each.outcome, name) for name in _OUTCOME) for each in trajectories],
        "targets": [run.target for run in runs],
        "optima": [run.optimum for run in runs],
        "parameters": [run.parameters and (run.parameters.evaluations, dict(run.parameters.values)) for run in runs],
        "solutions": [run.solution for run in runs],
        "identities": [run.identity for run in runs],
        "samples": [(s := run.samples) and (s.evaluations, s.points, s.values) for run in runs],
    }


def unpack(packed: dict[str, Any]) -> list[Run]:
    """The runs that were passed to `pack`."""
    outcomes = [Outcome(Reason(reason), *others) for reason, *others in packed["outcomes"]]
    evaluations, seconds, values = packed["arrays"]
    trajectories = Trajectory.many(evaluations, seconds, values, packed["sizes"], outcomes)
    parameters: list[Parameters | None] = [each and Parameters(*each) for each in packed["parameters"]]
    samples: list[Samples | None] = [each and Samples(*each) for each in packed["samples"]]
    keys = [RunKey(*key) for key in packed["keys"]]
    others = packed["targets"], packed["optima"], parameters, packed["solutions"], samples, packed["identities"]
    return list(map(Run, keys, trajectories, *others))


def _limit_memory(beyond: int) -> None:
    """Limit the address space to the current use plus a number of bytes."""
    import resource

    used = 0  # if the system does not report it
    with suppress(OSError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = used + beyond
    resource.setrlimit(resource.RLIMIT_AS, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))

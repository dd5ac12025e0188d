"""The machine a study runs on: its cores, and one of them for each worker.

Runs measured in seconds are comparable only where each has a core of its own.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import BaseFileLock

ROOT = Path("/")
SLACK = 0.5
"""Busy cores that are tolerated without a warning: something always runs."""


class OversubscriptionWarning(UserWarning):
    """Runs are measured in seconds, but share cores with each other or with other programs."""


def cores(root: Path = ROOT) -> int:
    """How many cores this process may keep busy, at least 1.

    That is the cores it may be scheduled on, or as many as the CPU quota of its control group (cgroup v1 or v2, as
    containers and cluster schedulers set it) pays for, rounded down, if they are fewer.

    Args:
        root: Where the system's files ``proc`` and ``sys`` are found.
    """
    allowed = len(_allowed()) or os.cpu_count() or 1
    quota = cpu_quota(root)
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def cpu_quota(root: Path = ROOT) -> float | None:
    """Seconds of CPU per second that the control groups of this process allow; None without a limit, or if unknown."""
    limits = [limit for folder in _control_groups(root) if (limit := _limit(folder)) is not None]
    return min(limits, default=None)


def take_core() -> tuple[BaseFileLock | None, str]:
    """Keep this process on a core that no other process of the user's took in this way; for a worker's start.

    Each core has a lock file in the temporary directory. The second hyperthread of a core is taken only when the first
    one of each is. No more cores are given away than `cores` says.

    Returns:
        The lock, which is to be kept as long as the core is; and why there is none. Neither where the system does not
        let a process choose its cores.
    """
    from filelock import FileLock, Timeout

    order = _in_turn()[: cores()]
    for core in order:
        lock = FileLock(Path(tempfile.gettempdir()) / f"polarbear-{os.getuid()}-core-{core}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        except OSError as error:
            return None, f"no core could be kept for a run ({error})"
        return (lock, "") if pin(core) else (None, f"the system did not let a run keep to core {core}")
    return None, f"other runs keep to {'the only core' if len(order) == 1 else f'all {len(order)} cores'}" * bool(order)


def seat() -> tuple[str, tuple[int, ...]]:
    """This process's host, and the cores it may be scheduled on."""
    return platform.node(), tuple(sorted(_allowed()))


def pin(core: int) -> bool:
    """Keep the calling thread, and the threads and processes it starts later, on one core; for a worker's start.

    Args:
        core: The core's number. It is the only one that is seen afterwards.

    Returns:
        Whether it is pinned now; False where the system cannot do it or does not allow this core.
    """
    if not hasattr(os, "sched_setaffinity"):
        return False
    try:
        os.sched_setaffinity(0, {core})
    except OSError:
        return False
    return True


def oversubscription(workers: int, *, root: Path = ROOT) -> str | None:
    """Why seconds should not be measured with this many workers here; None if they can be.

    Call it before the workers start: the load average, a mean of about the last minute over the whole machine, would
    count them otherwise.

    Args:
        workers: How many runs are to be executed at a time.
        root: As for `cores`.

    Returns:
        A warning for people: more workers than cores, or other programs on the cores.
    """
    available = cores(root)
    if workers > available:
        return (
            f"{workers} workers share {_cores(available)}: runs slow each other down and their seconds mean little; "
            f"use at most {available}"
        )
    load, machine = _load(), os.cpu_count() or 1
    if load is None or workers + load <= machine + SLACK:
        return None
    free = max(0, int(machine + SLACK - load))
    return (
        f"other programs keep about {load:.1f} of the machine's {_cores(machine)} busy (load average of the last "
        f"minute), which leaves {free or 'none'} for {workers} worker{'s' * (workers != 1)}: seconds will be too long; "
        "end the other programs, or wait for them" + (f", or use at most {free}" if free else "")
    )


def _cores(count: int) -> str:
    return f"{count} core{'s' * (count != 1)}"


def _in_turn() -> list[int]:
    """The cores in the order they are given away."""
    return sorted(_allowed(), key=lambda core: (_thread_of_core(core), core))


def _allowed() -> set[int]:
    """The cores this process may be scheduled on; empty where the system does not tell."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # not on Windows
        return None


def _thread_of_core(core: int) -> int:
    """Which hyperthread of its physical core it is, from 0; 0 if the system does not tell."""
    listed = _read(Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"))
    siblings: set[int] = set()
    with suppress(ValueError):
        for part in filter(None, listed.split(",")):
            first, _, last = part.partition("-")
            siblings.update(range(int(first), int(last or first) + 1))
    return sorted(siblings).index(core) if core in siblings else 0


def _control_groups(root: Path) -> Iterator[Path]:
    """The folders of the control groups that may limit this process: its own and all above, of either version."""
    mounts = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        for mount in (mounts / controllers, mounts / "cpu") if controllers else (mounts, mounts / "unified"):
            own = mount / path.strip("/")
            yield from (folder for folder in (own, *own.parents) if folder.is_relative_to(mount))


def _limit(folder: Path) -> float | None:
    """The CPU quota set on one control group: of version 2 in ``cpu.max``, of version 1 in two files."""
    words = _read(folder / "cpu.max").split() or [
        _read(folder / f"cpu.cfs_{part}_us").strip() for part in ("quota", "period")
    ]
    try:
        quota, period = map(float, words)
    except ValueError:  # "max", or nothing there
        return None
    return quota / period if quota > 0 and period > 0 else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""

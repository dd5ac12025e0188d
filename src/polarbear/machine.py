"""The machine a study runs on: its cores, one for each worker.

Runs measured in seconds are comparable only if each has a core to itself.
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
"""Number of busy cores tolerated without a warning: something always runs."""


class OversubscriptionWarning(UserWarning):
    """Runs are measured in seconds, but share cores with each other or with other programs."""


def cores(root: Path = ROOT) -> int:
    """Number of cores this process may keep busy, at least 1.

    It is the number of cores the process may be scheduled on or, if smaller, the CPU quota of its control group (cgroup
    v1 or v2, as containers and cluster schedulers set it), rounded down.

    Args:
        root: The directory that contains the system's ``proc`` and ``sys``.
    """
    allowed = len(_allowed()) or os.cpu_count() or 1
    quota = cpu_quota(root)
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def cpu_quota(root: Path = ROOT) -> float | None:
    """CPU seconds per second allowed by the control groups of this process; None if unlimited or unknown."""
    limits = [limit for folder in _control_groups(root) if (limit := _limit(folder)) is not None]
    return min(limits, default=None)


def take_core() -> tuple[BaseFileLock | None, str]:
    """Pin this process to a core that no other process of the same user has taken this way, as a worker starts.

    Each core has a lock file in the temporary directory. Second hyperthreads are taken only once the first one of every
    core is. At most `cores()` cores are given out.

    Returns:
        The lock, to be held as long as the core is used; and the reason if there is none. None and an empty reason
        where the system does not let a process choose its cores.
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
            return None, f"no core could be reserved for a run ({error})"
        return (lock, "") if pin(core) else (None, f"the system did not allow a run to be pinned to core {core}")
    return None, f"other runs occupy {'the only core' if len(order) == 1 else f'all {len(order)} cores'}" * bool(order)


def seat() -> tuple[str, tuple[int, ...]]:
    """This process's host name, and the cores it may be scheduled on."""
    return platform.node(), tuple(sorted(_allowed()))


def pin(core: int) -> bool:
    """Pin the calling thread, and the threads and processes it starts later, to one core, as a worker starts.

    Args:
        core: The core's number. Afterwards it is the only core visible.

    Returns:
        Whether the thread is now pinned; False where the system does not support it or does not allow this core.
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

    Call it before the workers start; otherwise they count towards the load average, a mean over about the last minute
    and the whole machine.

    Args:
        workers: Number of runs to be executed at a time.
        root: As for `cores`.

    Returns:
        A warning for users: more workers than cores, or other programs on the cores.
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
        f"minute), which leaves {free or 'none'} for {workers} worker{'s' * (workers != 1)}: measured times will be "
        "too long; stop the other programs or wait for them to end" + (f", or use at most {free}" if free else "")
    )


def _cores(count: int) -> str:
    return f"{count} core{'s' * (count != 1)}"


def _in_turn() -> list[int]:
    """The cores in the order they are given out."""
    return sorted(_allowed(), key=lambda core: (_thread_of_core(core), core))


def _allowed() -> set[int]:
    """The cores this process may be scheduled on; empty if unknown."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):  # not on Windows
        return None


def _thread_of_core(core: int) -> int:
    """Index of a hyperthread within its physical core, from 0; 0 if unknown."""
    listed = _read(Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"))
    siblings: set[int] = set()
    with suppress(ValueError):
        for part in filter(None, listed.split(",")):
            first, _, last = part.partition("-")
            siblings.update(range(int(first), int(last or first) + 1))
    return sorted(siblings).index(core) if core in siblings else 0


def _control_groups(root: Path) -> Iterator[Path]:
    """Folders of the control groups that may limit this process: its own and all ancestors, of either version."""
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
    """The CPU quota of one control group, read from ``cpu.max`` (version 2) or from two files (version 1)."""
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

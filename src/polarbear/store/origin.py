"""The origin of a study: versions, the kind of machine, and the time; nothing that identifies the machine."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from polarbear.version import __version__

_PACKAGES = (
    "numpy",
    "scipy",
    "ioh",
    "modcma",
    "modde",
    "nevergrad",
    "cma",
    "cmaes",
    "nlopt",
    "pymoo",
    "coco-experiment",
)
"""The packages behind optimizers and problems."""


def origin() -> dict[str, Any]:
    """Versions of polarbear, Python and packages, system, processor and number of cores, and the time in UTC."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "polarbear": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count() or 1} cores",
        "packages": dict(_packages()),
    }


@cache
def _packages() -> tuple[tuple[str, str], ...]:
    versions: list[tuple[str, str]] = []
    for name in _PACKAGES:
        try:
            versions.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(versions)

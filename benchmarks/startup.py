"""The time of imports compared with that of numpy, in fresh processes: ``python -m benchmarks.startup``."""

from __future__ import annotations

import statistics
import subprocess
import sys

REPETITIONS = 15
MODULES = {
    "numpy": "numpy",
    "polarbear": "polarbear (allowed: 0.3 s)",
    "polarbear.experiment.worker": "what a worker needs",
    "polarbear.study": "what a study needs",
    "polarbear.cli.commands, polarbear.cli.app": "the command line",
}


def import_seconds(module: str) -> float:
    """Seconds a fresh interpreter takes to import a module."""
    code = f"import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"
    return float(subprocess.check_output([sys.executable, "-c", code]))


def main() -> None:
    """Print the table."""
    seconds = [[import_seconds(module) for module in MODULES] for _ in range(REPETITIONS)]
    medians = [statistics.median(column) for column in zip(*seconds, strict=True)]
    print("| import | seconds | ratio |\n|---|---|---|")
    for name, median in zip(MODULES.values(), medians, strict=True):
        print(f"| {name} | {median:.3f} | {median / medians[0]:.1f} |")


if __name__ == "__main__":
    main()

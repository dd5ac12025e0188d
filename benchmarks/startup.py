"""What `import polarbear` costs beside `import numpy`, in fresh processes: ``python -m benchmarks.startup``."""

from __future__ import annotations

import statistics
import subprocess
import sys

REPETITIONS = 15


def import_seconds(module: str) -> float:
    """Seconds a fresh interpreter takes to import a module."""
    code = f"import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"
    return float(subprocess.check_output([sys.executable, "-c", code]))


def main() -> None:
    """Print the table."""
    rows = [(import_seconds("numpy"), import_seconds("polarbear")) for _ in range(REPETITIONS)]
    numpy, ours = (statistics.median(column) for column in zip(*rows, strict=True))
    print("| import | seconds | ratio |\n|---|---|---|")
    print(f"| numpy | {numpy:.3f} | 1.00 |\n| polarbear (allowed: 0.3 s) | {ours:.3f} | {ours / numpy:.2f} |")


if __name__ == "__main__":
    main()

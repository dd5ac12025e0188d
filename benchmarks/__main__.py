"""All measurements of docs/benchmarks.md, one after the other: ``python -m benchmarks``."""

from __future__ import annotations

import subprocess
import sys

for module in ("startup", "recorder", "inference", "models", "accuracy", "truth", "joint", "studies"):
    print(f"\n## benchmarks.{module}\n", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{module}"], check=True)

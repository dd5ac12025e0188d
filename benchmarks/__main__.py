"""All measurements of docs/benchmarks.md, one after the other: ``python -m benchmarks``.

Left out are `benchmarks.pymc_models`, which takes hours, and `benchmarks.landscape`, which needs another environment.
Those on published archives need POLARBEAR_SHARED.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DATA = Path(os.environ.get("POLARBEAR_SHARED", "../shared")) / "data"
INFERENCE = (
    "inference",
    "models",
    "scaling",
    "deciding",
    "accuracy",
    "calibration",
    "truth",
    "joint",
    "studies",
)
OURS = (
    "startup",
    "recorder",
    "isolation",
    "throughput",
    "affine",
    "gp_bbob",
    "noise",
    "noisy",
    "knowledge",
    *INFERENCE,
)
ON_DATA = ("imports", "assessment", "serve")

for module in (*OURS, "attainment", *(ON_DATA if DATA.is_dir() else ())):
    print(f"\n## benchmarks.{module}\n", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{module}"], check=True)

"""A study of this folder at full size: three seeds of all 15 instances of bbob-noisy, or the paper's 50 seeds of tasks.

python examples/noisy/full.py examples/noisy/paper.toml paper_full.study [workers]

Takes hours; `polarbear show paper_full.study` prints the progress, and the same command resumes.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from polarbear.study import Plan, PlanSpec, run_plan

SIZES = {"bbob-noisy": ("1-15", 3), "noisy-tasks": (1, 50)}
"""Instances and seeds, by suite."""


def at_full_size(path: Path) -> Plan:
    """The plan of a file, with all instances and seeds."""
    data = tomllib.loads(path.read_text())
    data["instances"]["instances"], data["plan"]["repetitions"] = SIZES[data["instances"]["suite"]]
    return PlanSpec.model_validate(data).build()


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    plan, study, *workers = sys.argv[1:]
    print(run_plan(at_full_size(Path(plan)), study, workers=int(*workers or ["1"])))

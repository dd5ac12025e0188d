"""Landscape features compared with pflacco: ``python -m benchmarks.landscape``.

Processor seconds for all features of a function that need no further evaluations, set by set, on one Latin hypercube of
1,000 points in 5 variables: the 24 BBOB functions, the fastest of three repetitions each. pflacco needs old packages
and therefore its own environment, made beforehand::

    python3.11 -m venv /tmp/pflacco && /tmp/pflacco/bin/pip install pflacco==1.2.2

Another location is given as ``PFLACCO=.../bin/python``. Then wall-clock seconds for many designs, by one worker and
two.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

PFLACCO = os.environ.get("PFLACCO", "/tmp/pflacco/bin/python")
SETS = {
    "ela_meta": "calculate_ela_meta",
    "ela_distr": "calculate_ela_distribution",
    "ela_level": "calculate_ela_level",
    "disp": "calculate_dispersion",
    "ic": "calculate_information_content",
    "nbc": "calculate_nbc",
    "pca": "calculate_pca",
    "limo": "calculate_limo",
    "cm_angle": "calculate_cm_angle",
    "cm_conv": "calculate_cm_conv",
    "cm_grad": "calculate_cm_grad",
    "fitness_distance": "calculate_fitness_distance_correlation",
}
IN_CELLS = ("limo", "cm_angle", "cm_conv", "cm_grad")
DIMENSION, POINTS, BLOCKS, REPETITIONS, DESIGNS, INSTANCES = 5, 1000, 3, 3, 20, 5


def fastest(call: Callable[[], Any]) -> float:
    """Processor seconds."""
    took: list[float] = []
    for _ in range(REPETITIONS):
        began = time.process_time()
        call()
        took.append(time.process_time() - began)
    return min(took)


def of_pflacco(sample: str) -> dict[str, float]:
    """Seconds for a function, by set; runs in pflacco's environment."""
    from pflacco import classical_ela_features, misc_features  # pyright: ignore[reportMissingImports]

    with np.load(sample) as held:
        points, values = held["points"], held["values"]
    took: dict[str, float] = {}
    for name, function in SETS.items():
        module = misc_features if name == "fitness_distance" else classical_ela_features
        box = (-5, 5, BLOCKS) if name in IN_CELLS else ()
        calls = [partial(getattr(module, function), points, row, *box) for row in values]
        took[name] = float(np.mean([fastest(call) for call in calls]))
    return took


def of_ours(points: Any, values: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Seconds for a function, by set: one function alone, and each of all on one design."""
    from polarbear.landscape import Design, features

    def call(rows: Any, name: str) -> Callable[[], Any]:
        return lambda: features(Design(points, -5, 5, blocks=BLOCKS), rows, name)

    alone = {name: float(np.mean([fastest(call(row, name)) for row in values])) for name in SETS}
    return alone, {name: fastest(call(values, name)) / len(values) for name in SETS}


def designs(workers: int) -> float:
    """Seconds on the clock for five instances of each function on many designs."""
    from polarbear.experiment import WorkerPool
    from polarbear.landscape import instances
    from polarbear.problems import BBOB

    problems = BBOB("1-24", DIMENSION, range(1, INSTANCES + 1)).grid()
    with WorkerPool(workers) as pool:
        instances(problems, designs=workers, points=200, executor=pool)  # so that workers have loaded everything
        began = time.perf_counter()
        instances(problems, designs=DESIGNS, points=POINTS, executor=pool)
        return time.perf_counter() - began


def main() -> None:
    from polarbear.landscape import latin_hypercube
    from polarbear.problems import BBOBProblem

    points = latin_hypercube(np.full(DIMENSION, -5.0), np.full(DIMENSION, 5.0), POINTS, 1)
    values = np.array([BBOBProblem(function, 1, DIMENSION).build()(points) for function in range(1, 25)])
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / "sample.npz"
        np.savez(sample, points=points, values=values)
        command = [PFLACCO, "-W", "ignore", __file__, str(sample)]
        theirs = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    alone, together = of_ours(points, values)
    print(
        f"| set | pflacco (ms) | ours, one function (ms) | ratio | ours, {len(values)} on a design (ms each) | ratio |"
    )
    print("|---|---|---|---|---|---|")
    for name in (*SETS, "all"):
        a, b, c = (1e3 * (sum(took.values()) if name == "all" else took[name]) for took in (theirs, alone, together))
        print(f"| {name} | {a:.1f} | {b:.2f} | {a / b:.1f} | {c:.2f} | {a / c:.1f} |")
    print("\n| workers | samples | seconds | samples per second |\n|---|---|---|---|")
    for workers in (1, 2):
        took, samples = designs(workers), DESIGNS * INSTANCES * 24
        print(f"| {workers} | {samples:,} | {took:.1f} | {samples / took:.0f} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(of_pflacco(sys.argv[1])))
    else:
        main()

"""The cost of a GP-BBOB evaluation compared with mixing all 24 components one by one in Python, and of building one.

Run with ``python -m benchmarks.gp_bbob``. The reference evaluates the same fields with NumPy and calls the 24 SBOX
problems of `ioh` one after the other, even those with zero weight. Repetitions are interleaved, so that changes in the
machine's speed affect all variants alike; the table gives medians of the processor time of one thread.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as in races, where runs have one core each

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from polarbear.problems import GPBBOB, GPBBOBProblem, SBOXProblem
from polarbear.problems.functions.gp_bbob import Mixture

DIMENSIONS = (2, 20, 240)
POINTS = 1000
REPETITIONS = 7
INSTANCE = 3
REQUIRED = 20.0
"""How many times as fast per evaluation a batch has to be in the most dimensions."""


def seconds(function: Callable[[], Any]) -> float:
    """Processor seconds of one call."""
    begun = time.process_time()
    function()
    return time.process_time() - begun


def one_by_one(spec: GPBBOBProblem, mixture: Mixture) -> Callable[[np.ndarray], float]:
    """The reference: all components at every point."""
    components = [SBOXProblem(i, instance, spec.dimension).build().raw for i, instance in enumerate(spec.instances, 1)]

    def value(x: np.ndarray) -> float:
        weights = mixture.weights(x[np.newaxis])[0]
        return sum(weights[i] * components[i](x) for i in range(24)) + spec.offset

    return value


def compare(dimension: int) -> float:
    """Print a row of the table; return how many times as fast a batch is."""
    spec = GPBBOB(dimension=dimension, offset=0)[INSTANCE]
    building = statistics.median(seconds(spec.build) for _ in range(3))
    mixture = spec.mixture()
    kept: list[Callable[[np.ndarray], float]] = []
    building_all = seconds(lambda: kept.append(one_by_one(spec, mixture)))
    reference = kept[0]
    rng = np.random.default_rng(0)
    points = rng.uniform(-5, 5, (POINTS, dimension))
    nearby = list(0.9 * points[0] + 0.1 * rng.normal(size=(POINTS, dimension)).clip(-5, 5))
    apart = list(points)
    assert np.allclose(mixture.batch(points[:50]), [reference(x) for x in points[:50]], rtol=1e-7)
    variants: dict[str, Callable[[], Any]] = {
        "reference": lambda: [reference(x) for x in apart[: POINTS // 4]],
        "apart": lambda: [mixture(x) for x in apart],
        "nearby": lambda: [mixture(x) for x in nearby],
        "batch": lambda: mixture.batch(points),
    }
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(REPETITIONS):
        for name, run in variants.items():
            times[name].append(seconds(run) / (POINTS // 4 if name == "reference" else POINTS) * 1e6)
    cost = {name: statistics.median(measured) for name, measured in times.items()}
    active = mixture.sparsity(points).mean()
    others = " | ".join(f"{cost[name]:.1f} ({cost['reference'] / cost[name]:.1f}×)" for name in list(variants)[1:])
    print(f"| {dimension} | {active:.1f} | {cost['reference']:.1f} | {others} | {building_all:.3f} | {building:.3f} |")
    return cost["reference"] / cost["batch"]


def main() -> None:
    """Measure and print."""
    print("µs per evaluation (times as fast as the reference); seconds to build\n")
    print("| d | active | one by one | single points, far apart | single points, nearby | batch of 1,000 ", end="")
    print("| building 24 `ioh` problems | building ours |\n|---|---|---|---|---|---|---|---|")
    ratio = [compare(dimension) for dimension in DIMENSIONS][-1]
    print(f"\nat d={DIMENSIONS[-1]} a batch is {ratio:.0f} times as fast per evaluation; required: {REQUIRED:.0f}")


if __name__ == "__main__":
    main()

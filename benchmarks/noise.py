"""The cost of noise: a batch observed through noise compared with one without: ``python -m benchmarks.noise``.

All 30 bbob-noisy functions, points in the box. The batches are timed in turn, in processor seconds, the fastest of
several repetitions each, so that other load on the machine counts as little as possible. The reference is the same
problem without noise (`problem.batch`, for single points `problem.raw`). The last column compares with the function of
`BBOB` via `ioh`, which has no penalty outside the box; the ellipsoids are left out there, since they are our own.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from polarbear.problems import BBOBNoisyProblem, BBOBProblem

REPETITIONS = 25
ALLOWED = 3.0
ELLIPSOIDS = range(116, 119)


def seconds(calls: Sequence[Callable[[], object]], times: int) -> list[float]:
    """Seconds of each call at its fastest; the calls take turns, `times` in a row each."""
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(REPETITIONS):
        for call, found in zip(calls, taken, strict=True):
            begun = time.thread_time()
            for _ in range(times):
                call()
            found.append((time.thread_time() - begun) / times)
    return [min(found) for found in taken]


def compare(function: int, dimension: int, count: int) -> tuple[float, float, float]:
    """Seconds of a batch over `ioh` alone, without noise, and with noise; of a single point if `count` is 1."""
    spec = BBOBNoisyProblem(function, 1, dimension)
    problem, bare = spec.build(), BBOBProblem(spec.base, 1, dimension).build()
    trial = problem.trial(np.random.default_rng(1))
    points = np.random.default_rng(0).uniform(-5, 5, (count, dimension))
    calls: list[Callable[[], object]] = [
        lambda: bare.batch(points),
        lambda: problem.batch(points),
        lambda: trial.batch(points),
    ]
    if count == 1:
        point = points[0]
        calls = [lambda: bare.raw(point), lambda: problem.raw(point), lambda: trial(point)]
    over_ioh, free, noisy = seconds(calls, max(2, 600 // count))
    return over_ioh, free, noisy


def main() -> None:
    """Print the table."""
    print("| d | points | without noise (µs a point) | with noise | ratio | largest ratio | largest over `ioh` |")
    print("|---|---|---|---|---|---|---|")
    worst = 0.0
    for dimension in (2, 5, 40):
        for count in (1, 10, 100, 1000):
            found = {function: compare(function, dimension, count) for function in range(101, 131)}
            ratios = {function: noisy / free for function, (_, free, noisy) in found.items()}
            over_ioh = max(noisy / bare for f, (bare, _, noisy) in found.items() if f not in ELLIPSOIDS)
            free, noisy = (statistics.median(times[i] for times in found.values()) / count * 1e6 for i in (1, 2))
            ratio, largest = statistics.median(ratios.values()), max(ratios, key=ratios.__getitem__)
            worst = max(worst, ratios[largest]) if count > 1 else worst
            cells = f"{free:.2f} | {noisy:.2f} | {ratio:.2f} | {ratios[largest]:.2f} (f{largest}) | {over_ioh:.2f}"
            print(f"| {dimension} | {count:,} | {cells} |", flush=True)
    print(f"\nthe largest ratio of a batch is {worst:.2f}; allowed: {ALLOWED:.0f}")


if __name__ == "__main__":
    main()

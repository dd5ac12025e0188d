"""Combinations of BBOB functions compared with those of `ioh`: ``python -m benchmarks.affine``.

Microseconds per evaluation of MA-BBOB functions and seconds to build them, compared with ``ioh.problem.ManyAffine``
with the same components and weights. Medians over the functions drawn, each the fastest of several repetitions, which
take turns. Processor time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import ioh
import numpy as np

from polarbear.problems import MABBOB, AffineBBOBProblem

DRAWN = {5: 20, 30: 20, 240: 20}
"""How many functions of the default stream in each dimension."""

BUILT = 40
"""How many of them are built, those of `ioh` as many as are drawn."""

POINTS = {5: 2000, 30: 400, 240: 50}
REPETITIONS = 5


def seconds(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return time.process_time() - began


def many_affine(spec: Any) -> Any:
    return ioh.problem.ManyAffine(list(spec.location), list(spec.weights), list(spec.instances), spec.dimension)


def one_by_one(evaluate: Callable[[Any], float], points: Any) -> Callable[[], list[float]]:
    return lambda: [evaluate(point) for point in points]


def fastest(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    best = dict.fromkeys(calls, np.inf)
    for _ in range(REPETITIONS):
        for label, call in calls.items():
            best[label] = min(best[label], seconds(call))
    return best


def both_built(spec: Any) -> tuple[Any, Any, list[float]]:
    """Our problem, that of `ioh`, and the seconds each took to build."""
    made: dict[str, Any] = {}
    took = [
        seconds(lambda: made.update(ours=spec.build())),
        seconds(lambda: made.update(theirs=many_affine(spec))),
    ]
    return made["ours"], made["theirs"], took


def compared(ours: Any, theirs: Any, points: Any) -> list[float]:
    """Microseconds of a point, with `ioh`, in a batch, and with `ioh`."""
    calls = {
        "point": one_by_one(ours.raw, points),
        "ioh point": one_by_one(theirs, points),
        "batch": lambda: ours.batch(points),
        "ioh batch": lambda: theirs(points),
    }
    best = fastest(calls)
    return [1e6 * best[label] / len(points) for label in calls]


def main() -> None:
    evaluations, builds = [], []
    for dimension, drawn in DRAWN.items():
        times, building, apart = [], [], 0.0
        others = [seconds(MABBOB(dimension=dimension)[i].build) for i in range(drawn, BUILT)]
        points = np.random.default_rng(dimension).uniform(-5, 5, size=(POINTS[dimension], dimension))
        for i in range(drawn):
            ours, theirs, took = both_built(MABBOB(dimension=dimension)[i])
            building.append(took)
            times.append(compared(ours, theirs, points))
            apart = max(apart, float(np.max(np.abs(ours.batch(points) / np.array(theirs(points)) - 1))))
        a, b = np.array(times), np.array(building)
        point, ioh_point, batch, ioh_batch = np.median(a, axis=0)
        ratios = a[:, 1] / a[:, 0]
        evaluations.append(
            f"| {dimension} | {point:.1f} | {ioh_point:.1f} | {np.median(ratios):.1f} ({ratios.min():.1f}) | "
            f"{batch:.1f} | {ioh_batch:.1f} | {np.median(a[:, 3] / a[:, 2]):.1f} | {apart:.0e} |"
        )
        ours_built = np.array([*b[:, 0], *others])
        builds.append(
            f"| {dimension} | {np.median(ours_built):.3f} | {ours_built.max():.3f} | {np.mean(ours_built <= 1):.0%} | "
            f"{np.median(b[:, 1]):.3f} | {np.median(b[:, 1] / b[:, 0]):.1f} |"
        )
    print(
        "| d | point (µs) | `ManyAffine` (µs) | ratio (smallest) | batch (µs) | `ManyAffine` (µs) | ratio "
        "| difference |"
    )
    print("|---|---|---|---|---|---|---|---|", *evaluations, sep="\n")
    print("\n| d | build (s) | slowest (s) | within 1 s | `ManyAffine` (s) | ratio |")
    print("|---|---|---|---|---|---|", *builds, sep="\n")
    pairs()


def pairs() -> None:
    """Pairwise combinations beside the plain sum of what their two functions take."""
    print("\n| pair, d | point (µs) | the two functions (µs) | ratio |\n|---|---|---|---|")
    for dimension in POINTS:
        points = np.random.default_rng(dimension).uniform(-5, 5, size=(POINTS[dimension], dimension))
        problem = AffineBBOBProblem(21, 1, 0.5, 1, dimension).build()
        both = [ioh.get_problem(f, 1, dimension, ioh.ProblemClass.BBOB) for f in (21, 1)]
        best = fastest({"ours": one_by_one(problem.raw, points)} | {str(f): one_by_one(f, points) for f in both})
        ours, parts = (1e6 * t / len(points) for t in (best["ours"], sum(best[str(f)] for f in both)))
        print(f"| f21, f1, {dimension} | {ours:.1f} | {parts:.1f} | {ours / parts:.2f} |")


if __name__ == "__main__":
    main()

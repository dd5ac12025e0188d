"""The cost of recording: per evaluation over the bare `ioh` problem, and per run over the standard process pool.

Run with ``python -m benchmarks.recorder``. Repetitions of all variants are interleaved, so that changes in the
machine's speed affect them alike; the table gives medians. The reference is measured in the same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from polarbear.experiment import Limits, Recorder, Watch, WorkerPool

EVALUATIONS = 20_000
REPETITIONS = 21
CALLS = 5_000
ALLOWED = 0.5
"""Microseconds the recorder may add to a plain evaluation."""
PLAIN = ("evaluation limit", "no limit", "target", "seconds limit")
"""Variants in which nothing is watched and the optimizer is told what is recorded."""


class Bare:
    """The bare `ioh` problem, as the recorder takes problems."""

    def __init__(self, function: int, dimension: int) -> None:
        import ioh

        self.function = function
        self.raw = ioh.get_problem(function, 1, dimension, ioh.ProblemClass.BBOB)
        self.name, self.dimension, self.minimize = f"bbob-f{function}-d{dimension}", dimension, True
        self.lower, self.upper = np.full(dimension, -5.0), np.full(dimension, 5.0)
        self.optimum = self.raw.optimum.y

    def diagnose(self, x: object) -> None:
        pass


class Told(Bare):
    """The same, with a trial that tells and records the value: what problems with noise or constraints go through."""

    def trial(self, rng: np.random.Generator) -> Told:  # noqa: ARG002 - there is no chance in it
        return self

    def __call__(self, x: Any) -> tuple[float, float]:
        value = self.raw(x)
        return value, value

    def batch(self, points: Any) -> Any:
        raise NotImplementedError


def seconds_per_call(function: Callable[[Any], Any], points: list[Any]) -> float:
    """Mean seconds of one call over the points."""
    begun = time.perf_counter()
    for point in points:
        function(point)
    return (time.perf_counter() - begun) / len(points)


def variants(problem: Bare) -> dict[str, Callable[[], Callable[[Any], Any]]]:
    """Each way of calling the problem, made anew for each repetition."""
    many, noise = Limits(evaluations=10**9), np.random.default_rng(0)
    told = Told(problem.function, problem.dimension)

    def recorded(problem: Bare, limits: Limits, watch: Watch | None = None) -> Callable[[], Callable[[Any], Any]]:
        def make() -> Callable[[Any], Any]:
            recorder = Recorder(problem, limits, watch=watch, noise=noise)
            recorder.objective.expose(step_size=lambda: 1.0)
            recorder.start()
            return recorder.objective

        return make

    return {
        "bare": lambda: problem.raw,
        "evaluation limit": recorded(problem, many),
        "no limit": recorded(problem, Limits()),
        "target": recorded(problem, Limits(evaluations=10**9, target_precision=1e-300)),
        "seconds limit": recorded(problem, Limits(seconds=1e6)),
        "watched, 10/decade": recorded(problem, many, Watch(per_decade=10, on_improvement=True)),
        "watched, all": recorded(problem, many, Watch(every=1)),
        "a trial": recorded(told, many),
    }


def compare_evaluations(function: int, dimension: int) -> float:
    """Print what each variant costs; return the largest addition in microseconds."""
    problem = Bare(function, dimension)
    points = list(np.random.default_rng(0).uniform(-5, 5, (EVALUATIONS, dimension)))
    makers = variants(problem)
    times: dict[str, list[float]] = {name: [] for name in makers}
    for _ in range(REPETITIONS):
        for name, make in makers.items():
            times[name].append(seconds_per_call(make(), points) * 1e6)
    bare = statistics.median(times["bare"])
    print(f"\n{problem.name}: bare {bare:.3f} µs per evaluation")
    added = {}
    for name in list(makers)[1:]:
        added[name] = statistics.median(t - b for t, b in zip(times[name], times["bare"], strict=True))
        print(f"  {name:19} + {added[name]:.3f} µs   ratio {statistics.median(times[name]) / bare:.2f}")
    return max(added[name] for name in PLAIN)


def calls_per_second(executor: Executor) -> float:
    """How many tiny calls an executor completes in a second."""
    begun = time.perf_counter()
    futures = [executor.submit(abs, -i) for i in range(CALLS)]
    for future in futures:
        future.result()
    return CALLS / (time.perf_counter() - begun)


def compare_pools() -> None:
    """Print the throughput of tiny calls beside that of the standard pool."""
    with WorkerPool(2) as ours, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as standard:
        pools: dict[str, Executor] = {"WorkerPool": ours, "ProcessPoolExecutor": standard}
        rates: dict[str, list[float]] = {name: [] for name in pools}
        for pool in pools.values():
            calls_per_second(pool)  # start the workers
        for _ in range(5):
            for name, pool in pools.items():
                rates[name].append(calls_per_second(pool))
    medians = {name: statistics.median(rate) for name, rate in rates.items()}
    print("\ntiny calls per second, 2 workers")
    for name, rate in medians.items():
        print(f"  {name:20} {rate:8,.0f}   ratio {rate / medians['ProcessPoolExecutor']:.2f}")


def main() -> None:
    """Measure and print."""
    worst = max(compare_evaluations(function, dimension) for function in (1, 20) for dimension in (5, 30))
    print(f"\nthe recorder adds at most {worst:.3f} µs per plain evaluation; allowed: {ALLOWED} µs")
    compare_pools()


if __name__ == "__main__":
    main()

"""The overhead of many short runs: ``python -m benchmarks.throughput [RUNS]``.

10,000 runs on 4 workers, each of 10 evaluations that wait 5 ms: the share of the workers' time spent in the objective,
and the driver's peak memory, with our own pool and with Dask. The runs are committed to a study on disk. Then a million
runs that nobody executed are committed, which shows the driver's cost for large numbers of runs.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path

import numpy as np

from polarbear import store
from polarbear.experiment import DaskExecutor, Limits, Task, WorkerPool, run_tasks
from polarbear.optimizers import RandomSearch
from polarbear.problems import FunctionProblem
from polarbear.records import Outcome, Reason, Run, RunKey, Trajectory

WORKERS, EVALUATIONS, WAIT = 4, 10, 0.005


def waiting(x: np.ndarray) -> float:
    time.sleep(WAIT)
    return float(x @ x)


def tasks(runs: int) -> Iterator[Task]:
    problem = FunctionProblem(waiting, -1, 1, 5)
    for seed in range(runs):
        key = RunKey(problem.name, "random search", seed)
        yield Task(key, problem, RandomSearch(), Limits(evaluations=EVALUATIONS))


def measured(name: str, executor: Executor, runs: int) -> None:
    with tempfile.TemporaryDirectory() as folder, store.create(Path(folder) / "a.study", {}) as study:
        for _ in run_tasks(tasks(WORKERS), executor):  # so that all workers have started
            pass
        began, busy, sizes = time.perf_counter(), 0.0, []
        for count, run in enumerate(run_tasks(tasks(runs), executor), start=1):
            study.append(run)
            busy += run.outcome.seconds
            if count % max(1, runs // 10) == 0:
                sizes.append(peak())
        study.commit()
        seconds = time.perf_counter() - began
    share = busy / (WORKERS * seconds)
    print(
        f"| {name} | {runs:,} | {seconds:.0f} | {share:.1%} | {1000 * (WORKERS * seconds - busy) / runs:.2f} "
        f"| {sizes[0]:.0f} | {sizes[-1]:.0f} |",
        flush=True,
    )


def stored(runs: int) -> None:
    """Commit runs that are there already."""
    found = Trajectory([1, 3, 7], [0.0, 0.1, 0.2], [3.0, 2.0, 1.0], Outcome(Reason.BUDGET, 100, 0.5))
    print("\n| runs committed | seconds | driver (MB) |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, store.create(Path(folder) / "a.study", {}) as study:
        began = time.perf_counter()
        for count in range(1, runs + 1):
            study.append(Run(RunKey(f"bbob-f{count % 24}-i{count // 24 % 15}-d5", "CMA-ES", count // 360), found))
            if count % (runs // 4) == 0:
                print(f"| {count:,} | {time.perf_counter() - began:.0f} | {peak():.0f} |", flush=True)


def peak() -> float:
    """The driver's peak memory in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(
        "| executor | runs | seconds | share in the objective | overhead per run (ms) | driver after a tenth (MB) "
        "| driver at the end (MB) |\n|---|---|---|---|---|---|---|"
    )
    with WorkerPool(WORKERS) as pool:
        measured("own pool", pool, runs)
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        measured("Dask", DaskExecutor(client), runs)
    stored(1_000_000)


if __name__ == "__main__":
    main()

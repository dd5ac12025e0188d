"""The cost per run of restoring the process: ``python -m benchmarks.isolation``.

The reference is an empty call in a process pool, the minimum cost of any run in a worker.
"""

from __future__ import annotations

import time

from polarbear.experiment import WorkerPool
from polarbear.experiment.isolation import RestoredProcess
from polarbear.records import RunKey

CALLS = 2_000
REPETITIONS = 11
ALLOWED = 50.0
"""Microseconds."""


def restored(*, keep: bool) -> float:
    """Microseconds of processor time of a run that does nothing."""
    key, began = RunKey("instance", "algorithm", 1), time.process_time()
    for _ in range(CALLS):
        with RestoredProcess(key, keep=keep) as process:
            process.run(int)
    return (time.process_time() - began) / CALLS * 1e6


def called(pool: WorkerPool) -> float:
    """Microseconds of a call in one worker process."""
    began = time.perf_counter()
    for _ in range(CALLS):
        pool.submit(int).result()
    return (time.perf_counter() - began) / CALLS * 1e6


def main() -> None:
    """Print the table."""
    with WorkerPool(1) as pool:
        called(pool)
        rows = [(called(pool), restored(keep=False), restored(keep=True)) for _ in range(REPETITIONS)]
    call, worker, here = (min(column) for column in zip(*rows, strict=True))
    print("| | µs | ratio |\n|---|---|---|")
    print(f"| call of a worker process | {call:.0f} | 1.00 |")
    print(f"| resetting the process, in a worker (allowed: {ALLOWED:.0f}) | {worker:.0f} | {worker / call:.2f} |")
    print(f"| the same where the caller's generator is kept | {here:.0f} | {here / call:.2f} |")


if __name__ == "__main__":
    main()

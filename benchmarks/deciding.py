"""Share of its time that a race of thirty spends deciding if a run takes a second: ``python -m benchmarks.deciding``.

Runs are drawn from a known truth, so that only the race's own work is measured. 20 timepoints, joint elimination,
crossing resolution, α = 0.95, ε = 0.05, the default model, at most 300 instances, one core.
"""

from __future__ import annotations

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

import polarbear as pb
from polarbear.inference import GaussianProcess
from polarbear.simulate import prior_truth

ALGORITHMS, TIMEPOINTS, INSTANCES, WORKERS = 30, 20, 300, 2


def main() -> None:
    times = pb.log_times(100, 10_000, TIMEPOINTS)
    truth = prior_truth(GaussianProcess(time_scale="log"), times, ALGORITHMS, np.random.default_rng(1))
    for batches in ("doubling", "forecast"):
        race = pb.Race(
            truth.names,
            times=times,
            alpha=0.95,
            epsilon=0.05,
            elimination="joint",
            resolution="crossing",
            batches=batches,
        )
        deciding, slowest = 0.0, 0.0
        while requests := race.ask(INSTANCES):
            runs = [truth.run(request.key, request.until) for request in requests]
            began = time.perf_counter()
            race.tell(runs)
            slowest = max(slowest, time.perf_counter() - began)
            deciding += time.perf_counter() - began
        running = race.rounds[-1].runs / WORKERS
        print(
            f"{batches}: {len(race.rounds)} rounds, {race.rounds[-1].runs} runs of a second on {WORKERS} workers "
            f"take {running:.0f} s, deciding {deciding:.1f} s ({deciding / (running + deciding):.1%}), "
            f"at most {slowest:.1f} s a round; {len(race.pareto_set)} remain"
        )


if __name__ == "__main__":
    main()

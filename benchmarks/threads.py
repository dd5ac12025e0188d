"""What two threads gain: ``python -m benchmarks.threads``.

Wall-clock seconds of a fit with one thread and with two in turn, the fastest of several each, so that other work on the
machine counts as little as possible. n = 5 algorithms, P = 30 instances, 4,000 draws; T = 200, n = 7, P = 1,000 for the
independent model.
"""

from __future__ import annotations

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from benchmarks.models import DRAWS, MODELS, rankings
from polarbear.inference import IndependentDirichlet, Model, fit
from polarbear.rankings import ChoiceCounts

REPETITIONS = {100: 7, 200: 7, 1000: 3}


def fastest(counts: ChoiceCounts, model: Model) -> tuple[float, float]:
    """Seconds with one thread, and with two."""
    best = {1: np.inf, 2: np.inf}
    for repetition in range(REPETITIONS[counts.timepoints]):
        for threads in best:
            began = time.perf_counter()
            fit(counts, model=model, draws=DRAWS, rng=np.random.default_rng(repetition), threads=threads)
            best[threads] = min(best[threads], time.perf_counter() - began)
    return best[1], best[2]


def main() -> None:
    print("| model | T | one thread (s) | two threads (s) | ratio |\n|---|---|---|---|---|")
    cases = [("independent Dirichlet", IndependentDirichlet(), rankings(200, 7, 1000))]
    cases += [(name, model, rankings(t, 5, 30)) for t in (100, 1000) for name, (model, _) in MODELS.items()]
    for name, model, counts in cases:
        one, two = fastest(counts, model)
        print(f"| {name} | {counts.timepoints:,} | {one:.2f} | {two:.2f} | {one / two:.2f} |", flush=True)


if __name__ == "__main__":
    main()

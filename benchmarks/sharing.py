"""What a second process gains: ``python -m benchmarks.sharing``.

Wall-clock seconds of a fit by one process and by two in turn, the fastest of several each, so that other work on the
machine counts as little as possible; it needs two idle cores all the same. The helper process stays between fits, as in
a race. n = 5 algorithms, P = 30 instances, 4,000 draws; T = 200, n = 7, P = 1,000 for the independent model.
"""

from __future__ import annotations

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from benchmarks.models import DRAWS, MODELS, rankings
from polarbear.inference import IndependentDirichlet, Model, Workers, fit
from polarbear.rankings import ChoiceCounts

REPETITIONS = {100: 9, 200: 9, 1000: 3}
AIM = 1.6


def fastest(counts: ChoiceCounts, model: Model, two: Workers) -> tuple[float, float]:
    """Seconds of one process, and of two."""
    best = {1: np.inf, 2: np.inf}
    for repetition in range(REPETITIONS[counts.timepoints]):
        for number, workers in ((1, Workers()), (2, two)):
            began = time.perf_counter()
            fit(counts, model=model, draws=DRAWS, rng=np.random.default_rng(repetition), workers=workers)
            best[number] = min(best[number], time.perf_counter() - began)
    return best[1], best[2]


def start_up() -> float:
    """Seconds until a helper has answered for the first time."""
    counts = rankings(1, 5, 30)
    began = time.perf_counter()
    fit(counts, model=MODELS["random walk"][0], draws=1, rng=np.random.default_rng(0), workers=2)
    return time.perf_counter() - began


def main() -> None:
    cases = [("independent Dirichlet", IndependentDirichlet(), rankings(200, 7, 1000))]
    cases += [(name, model, rankings(t, 5, 30)) for t in (100, 1000) for name, (model, _) in MODELS.items()]
    print("| model | T | one process (s) | two processes (s) | ratio | aimed at |\n|---|---|---|---|---|---|")
    with Workers(2) as two:
        for name, model, counts in cases:
            one, both = fastest(counts, model, two)
            print(f"| {name} | {counts.timepoints:,} | {one:.3f} | {both:.3f} | {one / both:.2f} | {AIM} |", flush=True)
    print(f"\nStarting a helper takes {min(start_up() for _ in range(5)):.2f} s.")


if __name__ == "__main__":
    main()

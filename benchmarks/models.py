"""Seconds per fit of every model, and its memory: ``python -m benchmarks.models``.

n = 5 algorithms, P = 30 instances, 4,000 draws, one core, processor time, the slowest of 3 fits after a warm-up fit; at
other sizes, the default model also on all cores in wall-clock time, the slowest of 2. The rankings come from
log-ratings that follow random walks over time. Each fit that measures memory has its own process.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

from polarbear.inference import (
    BSpline,
    GaussianProcess,
    HierarchicalDirichlet,
    HilbertSpaceGaussianProcess,
    IndependentDirichlet,
    InstanceBootstrap,
    Model,
    RandomWalk,
    SparseGaussianProcess,
    fit,
)
from polarbear.rankings import ChoiceCounts, choice_counts

DRAWS = 4000
LARGE = 1000, 10, 30
"""T timepoints, n algorithms and P instances of the fits whose memory is measured."""
MODELS: dict[str, tuple[Model, str]] = {
    "independent Dirichlet": (IndependentDirichlet(), ""),
    "instance bootstrap": (InstanceBootstrap(), "0.3"),
    "hierarchical Dirichlet": (HierarchicalDirichlet(), "0.5"),
    "random walk": (RandomWalk(), "0.3"),
    "B-spline, K = T / 2": (BSpline(), "0.2"),
    "GP Matérn-3/2": (GaussianProcess(), "0.5; 5 at T=1,000"),
    "GP Matérn-5/2": (GaussianProcess("matern-5/2"), "0.5; 5 at T=1,000"),
    "GP squared exponential": (GaussianProcess("squared-exponential"), ""),
    "HSGP Matérn-3/2": (HilbertSpaceGaussianProcess(), "0.4"),
    "sparse GP Matérn-3/2, M = 10": (SparseGaussianProcess(), "0.2"),
}


def values(timepoints: int, algorithms: int, instances: int, seed: int = 0) -> np.ndarray:
    """(P, T, n) values ranked by a Plackett–Luce model whose log-ratings walk at random."""
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(timepoints, algorithms)) / np.sqrt(timepoints)
    mean = np.cumsum(steps, axis=0) + 0.7 * rng.normal(size=algorithms)
    return -(mean + rng.gumbel(size=(instances, timepoints, algorithms)))


def rankings(timepoints: int, algorithms: int, instances: int, seed: int = 0) -> ChoiceCounts:
    """Choice counts of such values."""
    return choice_counts(values(timepoints, algorithms, instances, seed))


def measured(
    counts: ChoiceCounts, model: Model, repetitions: int, clock: Callable[[], float] = time.process_time
) -> str:
    """Seconds of the slowest fit, smallest effective sample size, largest k-hat, and all methods that answered."""
    seconds, found = [], []
    for repetition in range(repetitions):
        start = clock()
        posterior = fit(counts, model=model, draws=DRAWS, rng=np.random.default_rng(repetition))
        seconds.append(clock() - start)
        found.append(posterior.diagnostics)
    methods = dict.fromkeys(method for one in found for method in one.method)
    ess, k_hat = (np.concatenate([getattr(one, name) for one in found]) for name in ("ess", "k_hat"))
    shape = f"k-hat {np.nanmax(k_hat):.2f}, " if not np.isnan(k_hat).all() else ""
    return f"{max(seconds):.2f} (ESS {ess.min():.0f}, {shape}{', '.join(methods)})"


def memory(name: str, size: tuple[int, int, int]) -> str:
    """A row of a fit to T timepoints, n algorithms and P instances: seconds, and the peak memory of this process.

    By /proc: what `resource` tells is at least what the process had that started this one.
    """
    cell = measured(rankings(*size), MODELS[name][0], 1)
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return f"| {name} | {cell} | {int(status['VmHWM'].split()[0]) / 1e6:.2f} |"


def main() -> None:
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    data = {t: rankings(t, 5, 30) for t in (20, 100, 1000)}
    print("| model | T = 20 (s) | T = 100 (s) | T = 1,000 (s) | at most, T = 100 (s) |")
    print("|---|---|---|---|---|")
    for name, (model, target) in MODELS.items():
        fit(data[20], model=model, draws=DRAWS, rng=np.random.default_rng(0))
        cells = [measured(data[t], model, 3 if t < 1000 else 1) for t in (20, 100)]
        cells.append(measured(data[1000], model, 1))
        print(f"| {name} | {' | '.join(cells)} | {target} |", flush=True)
    print(f"\n| size | instance bootstrap (s) | on {len(cores)} cores | random walk (s) |\n|---|---|---|---|")
    for t, n, p in ((100, 5, 10), (100, 5, 1000), (200, 7, 1000), (50, 10, 100), (20, 30, 100), (1000, 10, 30)):
        counts = rankings(t, n, p)
        alone, walk = (measured(counts, model, 1) for model in (InstanceBootstrap(), RandomWalk()))
        os.sched_setaffinity(0, cores)
        together = measured(counts, InstanceBootstrap(), 2, time.perf_counter)
        os.sched_setaffinity(0, {max(cores)})
        print(f"| T={t}, n={n}, P={p} | {alone} | {together} | {walk} |", flush=True)
    print("\n| one total order in 400 rankings, T=20, n=6 | seconds |\n|---|---|")
    agreed = choice_counts(np.tile(np.arange(6.0), (400, 20, 1)))
    for name, (model, _) in MODELS.items():
        print(f"| {name} | {measured(agreed, model, 1)} |", flush=True)
    print("\n| T = {:,}, n = {}, P = {} | seconds | peak memory (GB) |\n|---|---|---|".format(*LARGE))
    for name in MODELS:
        with multiprocessing.get_context("spawn").Pool(1) as process:
            print(process.apply(memory, (name, LARGE)), flush=True)


if __name__ == "__main__":
    main()

"""The time of our CMA-ES compared with `cma` and `cmaes`, and of expected weights compared with plain CMA-ES.

Run with ``python -m benchmarks.noisy``. Processor time of asking and telling whole generations, without the objective,
on a sphere with noise; repetitions of all variants are interleaved. Then the same for whole recorded runs on
`bbob-noisy`, for which the paper of RB-PEM reports ratios of 1.62 to 1.70 (appendix F.3).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import polarbear as pb
from polarbear.experiment import Limits, Task, execute
from polarbear.optimizers import Space
from polarbear.optimizers.noisy import CMAES, RBPEM
from polarbear.records import FloatArray

EVALUATIONS = 6000
REPETITIONS = 9
ALLOWED = 30.0
"""Microseconds per evaluation of our CMA-ES in 40 variables."""
ALLOWED_RATIO = 2.0
"""Of RB-PEM to plain CMA-ES."""
COMPARED = {
    "RB-PEM published": "ours, diagonal",
    "RB-PEM described, full": "ours, full",
    "RB-PEM described, diagonal": "ours, diagonal",
}
"""RB-PEM, and plain CMA-ES with the same covariance matrix."""
FUNCTIONS = (101, 108, 113, 117, 122, 128)
"""Of whole runs: moderate and severe noise, one peak and many."""
PLAIN: dict[str, Any] = {"active": False, "relative_sigma0": 0.3, "start": "center", "restart_strategy": "RESTART"}

Ask, Tell = Callable[[], Any], Callable[[Any, FloatArray], object]


def of_ours(optimizer: CMAES, dimension: int, seed: int) -> tuple[Ask, Tell]:
    """One of our optimizers."""
    box = np.full(dimension, 5.0)
    state = optimizer.init(Space(-box, box), np.random.default_rng(seed))
    return lambda: optimizer.ask(state)[0], lambda points, values: optimizer.tell(state, points, values)


def of_cma(dimension: int, seed: int, *, diagonal: bool) -> tuple[Ask, Tell]:
    """CMA-ES of the package `cma`."""
    import cma

    options = {"verbose": -9, "seed": seed + 1, "CMA_diagonal": diagonal, "bounds": [-5, 5], "maxiter": 10**9}
    strategy = cma.CMAEvolutionStrategy(np.zeros(dimension), 3.0, options)
    return strategy.ask, lambda points, values: strategy.tell(points, values.tolist())


def of_cmaes(dimension: int, seed: int, *, diagonal: bool) -> tuple[Ask, Tell]:
    """CMA-ES of the package `cmaes`, which asks for single points."""
    import cmaes

    made = cmaes.SepCMA if diagonal else cmaes.CMA
    bounds = np.tile([-5.0, 5.0], (dimension, 1))
    strategy = made(mean=np.zeros(dimension), sigma=3.0, bounds=bounds, seed=seed, n_max_resampling=1)
    return (
        lambda: [strategy.ask() for _ in range(strategy.population_size)],
        lambda points, values: strategy.tell(list(zip(points, values.tolist(), strict=True))),
    )


OURS: dict[str, CMAES] = {
    "ours, full": CMAES(**PLAIN),
    "ours, diagonal": CMAES(**PLAIN, diagonal=True, patience=80),
    "RB-PEM published": RBPEM.published(),
    "RB-PEM described, full": RBPEM.paper(),
    "RB-PEM described, diagonal": RBPEM(**PLAIN, diagonal=True, patience=80, mass="ranks"),
}
"""Our own."""


def makers(dimension: int) -> dict[str, Callable[[int], tuple[Ask, Tell]]]:
    """What is measured, by name."""
    libraries: dict[str, Callable[[int], tuple[Ask, Tell]]] = {
        "`cma`, full": lambda seed: of_cma(dimension, seed, diagonal=False),
        "`cma`, diagonal": lambda seed: of_cma(dimension, seed, diagonal=True),
        "`cmaes`, full": lambda seed: of_cmaes(dimension, seed, diagonal=False),
        "`cmaes`, diagonal": lambda seed: of_cmaes(dimension, seed, diagonal=True),
    }
    return {
        name: (lambda seed, optimizer=optimizer: of_ours(optimizer, dimension, seed))
        for name, optimizer in OURS.items()
    } | libraries


def microseconds(maker: Callable[[int], tuple[Ask, Tell]], seed: int) -> float:
    """Processor time per evaluation of one run."""
    rng = np.random.default_rng(seed)
    ask, tell = maker(seed)
    spent, evaluations = 0.0, 0
    while evaluations < EVALUATIONS:
        begun = time.process_time()
        points = ask()
        asked = time.process_time()
        values = np.square(points).sum(axis=1) + rng.standard_normal(len(points))
        evaluations += len(points)
        told = time.process_time()
        tell(points, values)
        spent += asked - begun + time.process_time() - told
    return spent / evaluations * 1e6


def whole_runs() -> dict[str, float]:
    """By which factor a recorded run of 2,000 evaluations in 40 variables takes longer than one of plain CMA-ES."""
    times: dict[tuple[str, int], float] = {}
    for _ in range(REPETITIONS):
        for function in FUNCTIONS:
            problem = pb.problems.BBOBNoisyProblem(function, 1, 40)
            for name, optimizer in OURS.items():
                task = Task(pb.RunKey(problem.name, name, 1), problem, optimizer, Limits(evaluations=2000))
                begun = time.process_time()
                execute(task)
                spent = time.process_time() - begun
                times[name, function] = min(spent, times.get((name, function), spent))
    return {
        name: statistics.median(times[name, function] / times[plain, function] for function in FUNCTIONS)
        for name, plain in COMPARED.items()
    }


def main() -> None:
    """Measure and print."""
    print("| d | | µs per evaluation | ratio to ours, full | to ours, diagonal |\n|---|---|---|---|---|")
    medians: dict[tuple[int, str], float] = {}
    for dimension in (10, 40):
        made = makers(dimension)
        times: dict[str, list[float]] = {name: [] for name in made}
        for seed in range(REPETITIONS):
            for name, maker in made.items():
                times[name].append(microseconds(maker, seed))
        middle = {name: statistics.median(values) for name, values in times.items()}
        medians |= {(dimension, name): value for name, value in middle.items()}
        for name, value in middle.items():
            ratios = (value / middle[reference] for reference in ("ours, full", "ours, diagonal"))
            print(f"| {dimension} | {name} | {value:.1f} | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |")
    dearest = max(medians[40, name] for name in ("ours, full", "ours, diagonal"))
    print(f"\nours takes {dearest:.1f} µs per evaluation in 40 variables; allowed: {ALLOWED:.0f} µs")
    for matrix in ("full", "diagonal"):
        others = min(medians[40, f"`{package}`, {matrix}"] for package in ("cma", "cmaes"))
        ratio = others / medians[40, f"ours, {matrix}"]
        print(f"with a {matrix} matrix, the faster of the two packages takes {ratio:.2f} times as long")
    for name, plain in COMPARED.items():
        ratio = medians[40, name] / medians[40, plain]
        print(f"{name} takes {ratio:.2f} times as long as plain CMA-ES ({plain}); allowed: {ALLOWED_RATIO:.0f}")
    for name, ratio in whole_runs().items():
        print(f"whole runs of {name} take {ratio:.2f} times as long as those of plain CMA-ES")


if __name__ == "__main__":
    main()

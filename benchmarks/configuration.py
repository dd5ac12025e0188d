"""Configurators compared: what each finds with the same number of runs, what it predicts, and what fresh runs show.

    python -m benchmarks.configuration --into FOLDER [--runs 1000] [--repeats 4] [--strategies race f-race]

Modular CMA-ES on six BBOB functions in five dimensions with 1,000 evaluations per run; the space has the modules of the
thesis' baseline without restarts, and the population size. Each search is a study in FOLDER, and so are the runs on
fresh instances that evaluate the best of its elites, so that the same command resumes after an interruption.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import polarbear as pb
from polarbear.configure import Configurator, Criterion, Space, spaces
from polarbear.records import log_times
from polarbear.study.configuration_result import promised_means

FUNCTIONS = (2, 8, 10, 15, 21, 22)
STRATEGIES = ("race", "bootstrap", "f-race", "t-race", "halving", "hyperband", "random")
MODULES = ("active", "elitist", "mirrored", "orthogonal", "sampler", "sequential_selection", "step_size_adaptation")
MODULES += ("threshold_convergence", "weights")
DIMENSION, BUDGET, FRESH = 5, 1000, 100
TIMES = log_times(10 * DIMENSION, BUDGET, 15)
LOSSES = ("area over the curve (mean AOCC loss)", "area over the logarithm of the budget", "final precision, log10")


def space() -> Space:
    """The modules but restarts, and the population size."""
    options = {"step_size_adaptation": ("CSA", "TPA", "MSR", "XNES", "MXNES", "LPXNES")}
    ready = spaces.modular_cmaes("baseline").space
    given = {name: options.get(name, tuple(ready[name].choices)) for name in MODULES}
    return spaces.of(pb.optimizers.ModularCMAES, given, population_size=(4, 40))


def searched(
    folder: Path, function: int, strategy: str, seed: int, *, runs: int, newcomers: str, workers: int
) -> Configurator:
    """The configurator after its search, which is a study in the folder."""
    instances = pb.problems.BBOB(functions=[function], dimensions=[DIMENSION], seed=seed)
    settings: dict[str, Any] = {"budget": runs, "strategy": strategy, "newcomers": newcomers, "seed": seed}
    configurator = Configurator(space(), times=TIMES, **settings)
    path = folder / f"f{function}-{strategy}-{seed}.study"
    pb.study.configure(configurator, instances, path, validate=2, workers=workers)
    return configurator


def valued(
    folder: Path, function: int, seed: int, found: dict[str, Configurator], workers: int
) -> dict[str, np.ndarray]:
    """(FRESH, 3): the `LOSSES` of each best on fresh runs; areas are of log10 precisions from -8 to 2 as 0 to 1."""
    entrants = {name: each.space.optimizer(each.configurations[each.elites[0]]) for name, each in found.items()}
    entrants["default"] = space().optimizer(space().default)
    instances = pb.problems.BBOB(functions=[function], dimensions=[DIMENSION], seed=1000 + seed)
    plan = pb.study.Plan(entrants, instances, draws=FRESH, budget=BUDGET, seed=10_000 + seed)
    path = folder / f"f{function}-fresh-{seed}.study"
    pb.study.run_plan(plan, path, workers=workers)
    loss = Criterion("mean-aocc")
    values: dict[str, list[tuple[float, ...]]] = {name: [] for name in entrants}
    with pb.store.open(path) as study:
        for run in study.runs():
            precisions = np.log10(np.maximum(run.trajectory.value_at(TIMES) - (run.optimum or 0.0), 1e-8))
            over_log_budget = float(np.mean(np.clip((precisions + 8) / 10, 0, 1)))
            values[run.key.algorithm].append((loss.terms(run, BUDGET)[0], over_log_budget, float(precisions[-1])))
    return {name: np.array(each) for name, each in values.items()}


PROMISES = ("the mean of its runs", "the promised mean, shrunk towards the others")


def promises(configurator: Configurator) -> tuple[float, float]:
    """The `PROMISES` of the best elite: the mean over the runs that chose it, and what the search promises."""
    criterion, best = Criterion("mean-aocc"), configurator.elites[0]
    names = dict.fromkeys((*configurator.elites, "default"))
    mean = float(configurator.criterion_terms([best], criterion)[..., 0].mean())
    return mean, promised_means(configurator, list(names), criterion)[best]


def report(
    losses: dict[tuple[int, int, str], np.ndarray],
    promised: dict[tuple[int, int, str], tuple[float, float]],
    runs: int,
) -> None:
    """Print the tables."""
    seeds = sorted({seed for _, seed, _ in losses})
    names = list(dict.fromkeys(name for _, _, name in losses))
    for column, what in enumerate(LOSSES):
        print(f"\n{what}, {runs} runs, {len(seeds)} searches each, {FRESH} fresh runs of each best elite\n")
        print("| | " + " | ".join(names) + " |\n|---|" + "---|" * len(names))
        means = np.array(
            [
                [[losses[function, seed, name][:, column].mean() for seed in seeds] for name in names]
                for function in FUNCTIONS
            ]
        )
        for function, row in zip(FUNCTIONS, means, strict=True):
            cells = (f"{each.mean():.3f} ± {each.std(ddof=1) / np.sqrt(len(seeds)):.3f}" for each in row)
            print(f"| f{function} | " + " | ".join(cells) + " |")
        print("| mean | " + " | ".join(f"{each:.3f}" for each in means.mean(axis=(0, 2))) + " |")
    print(
        "\nfresh loss minus two promises, median (and quartiles); and how often the best is better than the default\n"
    )
    print(f"| | {' | '.join(PROMISES)} | better than the default |\n|---|---|---|---|")
    for name in names[:-1]:
        keys = [(function, seed, name) for function in FUNCTIONS for seed in seeds]
        gaps = np.array([losses[key][:, 0].mean() - np.array(promised[key]) for key in keys])
        better = np.mean([losses[key][:, 0].mean() < losses[*key[:2], "default"][:, 0].mean() for key in keys])
        quartiles = np.quantile(gaps, (0.25, 0.5, 0.75), axis=0).T
        cells = " | ".join(f"{middle:+.4f} ({low:+.4f} to {high:+.4f})" for low, middle, high in quartiles)
        print(f"| {name} | {cells} | {better:.0%} of {len(keys)} |")


def main() -> None:
    """Search, value, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=4)
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=STRATEGIES)
    parser.add_argument("--newcomers", choices=("near", "modelled"), default="near")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    losses: dict[tuple[int, int, str], np.ndarray] = {}
    promised: dict[tuple[int, int, str], tuple[float, float]] = {}
    for seed in range(options.repeats):
        for function in FUNCTIONS:
            settings = {"runs": options.runs, "newcomers": options.newcomers, "workers": options.workers}
            found = {each: searched(options.into, function, each, seed, **settings) for each in options.strategies}
            for name, values in valued(options.into, function, seed, found, options.workers).items():
                losses[function, seed, name] = values
            for name, configurator in found.items():
                promised[function, seed, name] = promises(configurator)
            print(f"f{function}, seed {seed}: done", flush=True)
    report(losses, promised, options.runs)


if __name__ == "__main__":
    main()

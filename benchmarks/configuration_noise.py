"""The role of chance in comparing configurations: data and figures of docs/studies/configuration.md.

    python -m benchmarks.configuration_noise --into FOLDER [--figures FOLDER] [--workers 2] [--instance 1]

33 configurations of modular CMA-ES, namely eight elites of a search on each of four BBOB functions and the default, run
200 times on an instance of each function (Vermetten 2025, section 4.3.1, whose 33 are not listed). Everything is kept
in FOLDER, so that the same command resumes after an interruption.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import polarbear as pb
from benchmarks.configuration import space
from polarbear.configure import Configuration, Configurator, Criterion, contests
from polarbear.configure.proposals import time_weights
from polarbear.configure.resampling import decide_pairs, race_samples, sample_sizes
from polarbear.racing import Race
from polarbear.records import Run, log_times

FUNCTIONS = (8, 9, 15, 22)
DIMENSION, BUDGET, RUNS, ELITES, REPETITIONS = 5, 10_000, 500, 8, 200
TIMES = log_times(10 * DIMENSION, BUDGET, 15)
FIRST = (2, 5, 10, 20)
LOSS = Criterion("mean-aocc")
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999", "#8C510A")


def elites(folder: Path, function: int, workers: int) -> list[Configuration]:
    """The best eight configurations of a search on a function, those of the last iteration first."""
    instances = pb.problems.BBOB(functions=[function], dimensions=[DIMENSION], instances=[1])
    configurator = Configurator(space(), times=TIMES, budget=RUNS, strategy="f-race", elites=ELITES, seed=function)
    path = folder / f"search-f{function}.study"
    pb.study.configure(configurator, instances, path, validate=2, workers=workers)
    names = dict.fromkeys(name for each in reversed(configurator.iterations) for name in (*each.elites, *each.entrants))
    return [configurator.configurations[name] for name in names if name != "default"][:ELITES]


def record(folder: Path, instance: int, workers: int) -> dict[int, list[list[Run]]]:
    """For each function the 200 runs of each of the 33 configurations; elites are those of instance 1."""
    entrants = {"default": space().optimizer(space().default)}
    for function in FUNCTIONS:
        for rank, configuration in enumerate(elites(folder, function, workers), 1):
            entrants[f"f{function}-{rank}"] = space().optimizer(configuration)
    instances = pb.problems.BBOB(functions=list(FUNCTIONS), dimensions=[DIMENSION], instances=[instance])
    options: dict[str, Any] = {"budget": BUDGET, "target_precision": 1e-8, "seed": instance}
    plan = pb.study.Plan(entrants, instances, repetitions=REPETITIONS, **options)
    path = folder / f"noise-{instance}.study"
    pb.study.run_plan(plan, path, workers=workers)
    runs: dict[tuple[str, str], list[Run]] = {}
    with pb.store.open(path) as study:
        for run in study.runs():
            runs.setdefault((str(run.problem and run.problem.function), run.key.algorithm), []).append(run)
    return {function: [runs[str(function), name] for name in entrants] for function in FUNCTIONS}


def win_probabilities(values: np.ndarray) -> np.ndarray:
    """(33,) how often a run is better than one of another configuration, ties half, as a mean over log time.

    By Mann-Whitney's U from the ranks of all runs, as all configurations have as many.
    """
    size, runs, times = values.shape
    ranks = np.asarray(stats.rankdata(values.reshape(-1, times), axis=0)).reshape(values.shape)
    lost = (ranks.sum(axis=1) - runs * (runs + 1) / 2) / (runs**2 * (size - 1))
    return (1 - lost) @ time_weights(TIMES)


def race_over_time(recorded: list[list[Run]], first: int, seed: int) -> tuple[int, int]:
    """The configuration of the anytime Pareto set that is rated highest over the logarithm of time, and the runs.

    The race ends as the others once five or fewer are left, or 1,500 runs are spent.
    """
    names, rng = [str(index) for index in range(len(recorded))], np.random.default_rng(seed)
    options: dict[str, Any] = {"batches": "forecast", "batch": first, "smallest_batch": 5, "draws": 1000, "seed": seed}
    contest = contests.RaceContest(Race(names, times=TIMES[::3], alpha=0.95, largest_batch=20, **options))
    spent = 0
    while len(contest.race.pareto_set) > 5 and (requests := contest.ask()) and spent + len(requests) <= 1500:
        told = list[Run]()
        for request in requests:
            which, draw = int(request.key.algorithm), int(rng.integers(REPETITIONS))
            told.append(replace(recorded[which][draw], key=request.key))
        contest.tell(told)
        spent += len(told)
    return int(contest.survivors(1)[0]), spent


def procedures(rng: np.random.Generator) -> dict[str, tuple[contests.Rule, Callable[[int], Iterable[int]], int]]:
    """By name a rule, the steps from a first one on, and how many are left at least."""
    doubled, tripled = (partial(contests.geometric_steps, factor=factor) for factor in (2, 3))
    return {
        "means": (contests.keep_all, lambda first: (first,), 1),
        "t-race": (partial(contests.keep_by_t_test, level=0.05), count, 5),
        "F-race": (partial(contests.keep_by_friedman, level=0.05), count, 5),
        "halving, 2": (partial(contests.keep_share, eta=2), doubled, 1),
        "halving, 3": (partial(contests.keep_share, eta=3), tripled, 1),
        "credible set": (partial(contests.keep_credible, alpha=0.95, rng=rng), doubled, 1),
        "credible set, 99 %": (partial(contests.keep_credible, alpha=0.99, rng=rng), doubled, 1),
        "credible set, each run": (partial(contests.keep_credible, alpha=0.95, rng=rng), count, 1),
    }


def race_all(
    recorded: list[list[Run]], losses: np.ndarray, wins: np.ndarray, races: int, over_time: int
) -> dict[str, list[tuple[float, np.ndarray]]]:
    """By procedure, for each first step: mean samples, and (2, 3) mean and 95 % interval of both losses."""
    truth, found = losses.mean(axis=1), dict[str, list[tuple[float, np.ndarray]]]()
    rng = np.random.default_rng(7)

    def summarized(ends: list[tuple[int, int]]) -> tuple[float, np.ndarray]:
        chosen = np.array([end for end, _ in ends])
        lost = np.stack([truth[chosen] / truth.min() - 1, wins.max() - wins[chosen]])
        half = stats.bootstrap((lost,), np.mean, axis=-1, n_resamples=999, rng=rng, method="percentile")
        interval = half.confidence_interval
        return float(np.mean([spent for _, spent in ends])), np.stack([lost.mean(axis=1), interval.low, interval.high])

    for name, (rule, steps, leave) in procedures(rng).items():
        found[name] = [
            summarized([race_samples(losses, rule, steps(first), leave=leave, rng=rng) for _ in range(races)])
            for first in FIRST
        ]
    if over_time:
        ends = [race_over_time(recorded, FIRST[1], seed) for seed in range(over_time)]
        found["race over time"] = [summarized(ends)]
    return found


def draw_samples(losses: dict[int, np.ndarray], folder: Path, rng: np.random.Generator) -> None:
    """Figures 4.21, 4.22, 4.24 and 4.25 of the thesis, and the numbers that the page names."""
    figure, axes = plt.subplots(3, len(losses), figsize=(11, 7.5), layout="constrained")
    for (function, values), column in zip(losses.items(), axes.T, strict=True):
        found = sample_sizes(values, rng=rng)
        for shown, rows, color in zip(column, (found.loss, found.underestimation), COLORS, strict=False):
            low, middle, high = np.quantile(rows, (0.05, 0.5, 0.95), axis=1)
            shown.fill_between(found.sizes, low, high, color=color, alpha=0.25, linewidth=0)
            shown.plot(found.sizes, middle, color=color, linestyle="--")
            shown.plot(found.sizes, rows.mean(axis=1), color=color, marker="o")
            shown.axhline(0, color="0.6", linewidth=0.6)
            shown.set(xscale="log", xticks=found.sizes, xticklabels=found.sizes, xlabel="runs of each")
            shown.minorticks_off()
        print(f"f{function}: mean loss by {found.sizes} runs:", np.round(found.loss.mean(axis=1), 3))
        print(f"f{function}: mean underestimation:", np.round(found.underestimation.mean(axis=1), 3))
        decisions = decide_pairs(values, rng=rng)
        groups = np.array_split(np.argsort(decisions.difference), 12)
        middles = [float(np.median(decisions.difference[group])) for group in groups]
        for (name, wrong), color in zip(decisions.wrong.items(), COLORS, strict=False):
            dash = ":" if "normal" in name else "-"
            column[2].plot(middles, [wrong[group].mean() for group in groups], color=color, linestyle=dash, label=name)
            close = decisions.difference < 0.1
            print(f"f{function}: {name}: wrong {wrong.mean():.3f}, in pairs closer than 10 % {wrong[close].mean():.3f}")
        column[2].axhline(0.05, color="0.6", linewidth=0.6)
        column[2].set(xscale="log", xlabel="difference of true means")
        column[0].set_title(f"f{function}")
    for shown, label in zip(axes[:, 0], ("loss of the chosen", "underestimation", "wrong decisions"), strict=True):
        shown.set_ylabel(label)
    axes[2, 2].legend(fontsize=8, frameon=False)
    figure.savefig(folder / "configuration-samples.png", dpi=90)


def draw_races(results: dict[int, dict[str, list[tuple[float, np.ndarray]]]], folder: Path) -> None:
    """Figure 4.27 of the thesis with our races in it: loss against samples, by mean and by win probability."""
    figure, axes = plt.subplots(2, len(results), figsize=(11, 5.6), layout="constrained", sharex=True)
    for (function, found), column in zip(results.items(), axes.T, strict=True):
        for index, (name, points) in enumerate(found.items()):
            points = sorted(points, key=lambda each: each[0])  # more initial runs may need fewer in total
            spent = [samples for samples, _ in points]
            color = COLORS[index % len(COLORS)]
            for shown, row in zip(column, (0, 1), strict=True):
                mean, low, high = np.array([each[:, row] for _, each in points]).T
                ours = name.startswith(("credible", "race"))
                error = np.maximum([mean - low, high - mean], 0)  # all may be equal, but for rounding
                line = {"marker": "o" if ours else "s", "linestyle": "-" if ours else "--", "markersize": 3.5}
                shown.errorbar(spent, mean, error, color=color, linewidth=1.8 if ours else 0.9, label=name, **line)
                shown.set(xscale="log")
        column[0].set_title(f"f{function}")
        column[1].set_xlabel("runs")
    axes[0, 0].set_ylabel("loss in mean")
    axes[1, 0].set_ylabel("loss in win probability")
    axes[0, -1].legend(fontsize=7, frameon=False)
    figure.savefig(folder / "configuration-races.png", dpi=90)


def main() -> None:
    """Run, resample, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--figures", type=Path, default=Path())
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--instance", type=int, default=1, help="instance of the functions that configurations run on")
    parser.add_argument("--races", type=int, default=200, help="races of each procedure on samples")
    parser.add_argument("--over-time", type=int, default=0, help="races over time; each takes some ten seconds")
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    options.figures.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    recorded = record(options.into, options.instance, options.workers)
    losses = {
        function: np.array([[LOSS.terms(run, BUDGET)[0] for run in runs] for runs in all_runs])
        for function, all_runs in recorded.items()
    }
    rng = np.random.default_rng(0)
    draw_samples(losses, options.figures, rng)
    results: dict[int, dict[str, list[tuple[float, np.ndarray]]]] = {}
    for function, all_runs in recorded.items():
        values = np.array([[run.trajectory.value_at(TIMES) for run in runs] for runs in all_runs])
        results[function] = race_all(
            all_runs, losses[function], win_probabilities(values), options.races, options.over_time
        )
        print(f"\n| f{function} | runs, loss in mean, loss in win probability, from {FIRST} on |\n|---|---|")
        for name, points in results[function].items():
            cells = (f"{spent:.0f}: {each[0, 0]:.1%}, {each[0, 1]:.1%}" for spent, each in points)
            print(f"| {name} | " + " · ".join(cells) + " |", flush=True)
    draw_races(results, options.figures)


if __name__ == "__main__":
    main()

"""Computations of paper.py on the runs of noisy optimizers; equations and figures are those of Wang and Lu (2026)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

import polarbear as pb
from polarbear.optimizers.noisy.probe import rank_disagreement
from polarbear.records import FloatArray

BASELINE, BOOTSTRAP, SWITCH = "CMA-ES", "RB-PEM", "probe and switch"
MULTIPLES = (20, 50, 100, 200, 500)
"""Budgets, in evaluations per variable."""
FUNCTIONS = range(101, 131)
STEPS = 107
"""Its steps make ranks disagree, not its noise; the paper leaves it out of those whose ranks noise hides (figure 4)."""
FAMILIES = {
    "moderate (101–106)": (101, 106),
    "severe (107–121)": (107, 121),
    "severe, multimodal (122–130)": (122, 130),
}
NOISE = ("Gaussian", "uniform", "Cauchy")
"""The noise of functions 101, 102, 103, and so on in turn; the paper's table 7 takes whole families for one noise."""
KEYS = ["function", "dimension", "instance", "seed", "budget"]
DIAGNOSTICS = {
    "shape_distance": "distance of shapes",
    "drift": "drift",
    "scale_fit": "fit of the scale, R²",
}
"""Of figure 9, as its axes name them."""
LOGGED = ("generations", "probe", *DIAGNOSTICS)
DRAWS = 2000
SMALLEST = 1e-12


def frame(runs: Iterable[pb.Run], multiples: Sequence[int] = MULTIPLES) -> pl.DataFrame:
    """A row for each run and budget: log10 of what the recommended and the best point leave to the optimum."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        problem, logged = run.problem, run.parameters
        if logged is None:
            raise ValueError(f"{run.key.algorithm} on {run.key.instance} logged nothing; the plan needs a [log]")
        times = np.array(multiples) * problem.dimension
        last = np.maximum(np.searchsorted(logged.evaluations, times, side="right") - 1, 0)
        kept = {name: np.asarray(logged.values[name])[last] for name in LOGGED}
        for k, (budget, returned, best) in enumerate(
            zip(multiples, run.recommended_at(times), run.trajectory.value_at(times), strict=True)
        ):
            rows.append(
                {"algorithm": run.key.algorithm, "function": int(problem.function), "dimension": problem.dimension}
                | {"instance": str(problem.instance), "seed": run.key.seed, "budget": budget}
                | {"recommended": float(np.log10(max(returned - run.optimum, SMALLEST)))}
                | {"hindsight": float(np.log10(max(best - run.optimum, SMALLEST)))}
                | {name: float(values[k]) for name, values in kept.items()}
            )
    return pl.DataFrame(rows)


def show(title: str, head: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    """Print a table in Markdown."""
    print(f"\n{title}\n\n| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def percent(share: tuple[float, float, float]) -> str:
    """A share and its interval."""
    return f"{share[0]:.0%} ({share[1]:.0%} to {share[2]:.0%})"


def at(table: pl.DataFrame, budget: int | None = None, dimension: int | None = None) -> pl.DataFrame:
    """The rows of a budget and a dimension."""
    chosen = table if budget is None else table.filter(pl.col("budget") == budget)
    return chosen if dimension is None else chosen.filter(pl.col("dimension") == dimension)


def pairs(table: pl.DataFrame, algorithm: str, against: str, by: str) -> pl.DataFrame:
    """A row for each instance, seed and budget that both ran, and the `gain` of `algorithm` in log10."""
    one, two = (
        table.filter(pl.col("algorithm") == name).select(*KEYS, **{name_of: pl.col(by)}, probe="probe")
        for name, name_of in ((algorithm, "one"), (against, "two"))
    )
    return one.join(two, on=KEYS, suffix="_two").with_columns(gain=pl.col("two") - pl.col("one"))


def share_of_wins(gains: pl.DataFrame) -> tuple[float, float, float]:
    """The share of wins, ties half, and its 95 % interval; functions are resampled."""
    wins = gains.with_columns(win=(pl.col("gain").sign() + 1) / 2).group_by("function", maintain_order=True)
    return resampled(wins.agg(pl.col("win").mean())["win"].to_numpy(), np.mean)


def resampled(values: FloatArray, statistic: Any) -> tuple[float, float, float]:
    """A statistic of independent values (n,), such as `numpy.mean`, and its 95 % bootstrap interval."""
    drawn = np.random.default_rng(1).integers(len(values), size=(DRAWS, len(values)))
    low, high = np.quantile(statistic(values[drawn], axis=1), [0.025, 0.975])
    return float(statistic(values)), float(low), float(high)


def counts(gains: pl.DataFrame) -> tuple[int, int, int, float]:
    """Wins, losses and ties, and the p-value of a two-sided Wilcoxon signed-rank test (table 1)."""
    gain = gains["gain"].to_numpy()
    p = float(stats.wilcoxon(gain).pvalue) if np.any(gain != 0) else 1.0
    return int((gain > 0).sum()), int((gain < 0).sum()), int((gain == 0).sum()), p


def probes(dimension: int, instances: Sequence[int], population: int, sets: int) -> Iterator[tuple[int, int, float]]:
    """Function, instance, and P of candidate sets from the first search distribution (eq. 56), `sets` of each."""
    for function in FUNCTIONS:
        for instance in instances:
            trial = (
                pb.problems.BBOBNoisyProblem(function, instance, dimension)
                .build()
                .trial(np.random.default_rng([function, instance, population, 1]))
            )
            rng = np.random.default_rng([function, instance, population, 2])
            for _ in range(sets):
                points = np.clip(3 * rng.standard_normal((population, dimension)), -5, 5)
                first, second = trial.batch(points)[0], trial.batch(points)[0]
                yield function, instance, rank_disagreement(first, second)


def typical_probes() -> dict[int, float]:
    """The median P of each function: 20 sets of 32 candidates in 40 variables, as in figure 4."""
    found = pl.DataFrame(list(probes(40, [1], 32, 20)), schema=["function", "instance", "probe"], orient="row")
    return dict(found.group_by("function").agg(pl.col("probe").median()).sort("probe").iter_rows())


def noisy_functions(typical: dict[int, float]) -> tuple[list[int], float]:
    """The functions above the widest gap of P but `STEPS`, and how wide it is."""
    values = sorted(typical.values())
    gaps = np.diff(values)
    edge = int(np.argmax(gaps))
    return sorted(f for f, p in typical.items() if p > values[edge] and f != STEPS), float(gaps[edge])


def wilson(wins: float, count: int) -> tuple[float, float]:
    """The 95 % interval of Wilson of a share."""
    z = 1.959964
    center, spread = (wins + z * z / 2) / (count + z * z), z / (count + z * z)
    half = spread * np.sqrt(wins * (count - wins) / count + z * z / 4)
    return max(0.0, float(center - half)), min(1.0, float(center + half))


def area_under(scores: FloatArray, labels: FloatArray) -> float:
    """Of the receiver operating characteristic: the probability that a score with label 1 is above one with label 0."""
    positive, negative = scores[labels > 0], scores[labels <= 0]
    if not len(positive) or not len(negative):
        return float("nan")
    return float(stats.mannwhitneyu(positive, negative).statistic / len(positive) / len(negative))


def routing(probe: FloatArray, gain: FloatArray, threshold: float) -> tuple[float, float]:
    """Of taking RB-PEM where P is at least the threshold, else CMA-ES: how often that is better, and what it loses.

    Args:
        probe: (n,) P of each problem.
        gain: (n,) by how much RB-PEM is better, in log10.
        threshold: τ.

    Returns:
        The share of problems sent to the better one, ties half, and the mean regret in log10 to the better one.
    """
    taken = np.where(probe >= threshold, gain, -gain)
    return float((np.sign(taken) + 1).mean() / 2), float(np.maximum(-taken, 0).mean())


def best_threshold(probe: FloatArray, gain: FloatArray) -> float:
    """τ from 0 to 0.5 with the least regret; the middle of such."""
    grid = np.linspace(0, 0.5, 101)
    regrets = np.array([routing(probe, gain, threshold)[1] for threshold in grid])
    return float(np.median(grid[regrets <= regrets.min() + 1e-12]))


def mean_ranks(table: pl.DataFrame, algorithms: Sequence[str], by: str) -> pl.DataFrame:
    """The mean rank of each algorithm on each function, 1 the best, among instances that all have run."""
    among = table.filter(pl.col("algorithm").is_in(list(algorithms)))
    complete = among.filter(pl.len().over(KEYS) == len(algorithms))
    ranked = complete.with_columns(rank=pl.col(by).rank().over(KEYS))
    return ranked.group_by("function", "algorithm").agg(pl.col("rank").mean())


def against(table: pl.DataFrame, rival: str, by: str) -> pl.DataFrame:
    """RB-PEM's rows with its `gain` over a rival, of such runs as both made."""
    own = table.filter(pl.col("algorithm") == BOOTSTRAP)
    return own.join(pairs(table, BOOTSTRAP, rival, by).select(*KEYS, "gain"), on=KEYS)


def good_and_bad(table: pl.DataFrame, rival: str, by: str) -> list[tuple[str, float, float, float]]:
    """Each diagnostic's median where RB-PEM is better than a rival, where it is worse, and p (figure 9).

    The p-value is that of a one-sided Mann-Whitney test: is it larger in bad runs, or for the fit of the scale smaller?
    """
    joined = against(table, rival, by)
    rows: list[tuple[str, float, float, float]] = []
    for name in DIAGNOSTICS:
        good, bad = (
            joined.filter(side)[name].drop_nans().to_numpy() for side in (pl.col("gain") > 0, pl.col("gain") < 0)
        )
        worse = "greater" if name == "scale_fit" else "less"
        p = float(stats.mannwhitneyu(good, bad, alternative=worse).pvalue) if len(good) and len(bad) else float("nan")
        middle = [float(np.median(values)) if len(values) else float("nan") for values in (good, bad)]
        rows.append((f"{name} ({len(good)} and {len(bad)})", middle[0], middle[1], p))
    return rows

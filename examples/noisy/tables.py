"""Tables and figures of the study of noisy optimizers, judged by the points they recommend.

polarbear run examples/noisy/bbob_noisy.toml --into noisy.study --workers 2
python examples/noisy/tables.py noisy.study [folder for figures]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import polars as pl

import polarbear as pb
from polarbear import figures
from polarbear.rankings import Rankings
from polarbear.records import FloatArray

BASELINE = "CMA-ES"
MULTIPLES = (20, 50, 100, 200)
"""Budgets, in evaluations per variable."""
NOISE = ("Gaussian", "uniform", "Cauchy")
"""The noise of functions 101, 102, 103, and so on in turn."""
DRAWN = (
    "CMA-ES", "resampled", "UH-CMA-ES", "LRA-CMA-ES", "RB-PEM described", "RB-PEM published", "averaged", "growing",
)  # fmt: skip
"""The algorithms in figures."""
GRID = np.unique(np.geomspace(5, 200, 40))
DRAWS = 2000


def values(runs: Iterable[pb.Run], *, hindsight: bool) -> pl.DataFrame:
    """A row for each run and budget: the noise-free value less the optimum."""
    rows: list[dict[str, object]] = []
    for run in runs:
        problem = run.problem
        times = np.array(MULTIPLES) * problem.dimension
        reached = run.trajectory.value_at(times) if hindsight else run.recommended_at(times)
        rows.extend(
            {
                "algorithm": run.key.algorithm,
                "function": int(problem.function),
                "dimension": problem.dimension,
                "instance": f"{run.key.instance} {run.key.seed}",
                "budget": budget,
                "value": value - run.optimum,
            }
            for budget, value in zip(MULTIPLES, reached.tolist(), strict=True)
        )
    return pl.DataFrame(rows)


def against_baseline(table: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """How often each algorithm beats the baseline on the same instance, and by which factor; 95 % by functions."""
    keys = ["function", "dimension", "instance", "budget"]
    baseline = table.filter(pl.col("algorithm") == BASELINE).select(*keys, base="value")
    pairs = table.filter(pl.col("algorithm") != BASELINE).join(baseline, on=keys)
    pairs = pairs.with_columns(
        win=(pl.col("value") < pl.col("base")).cast(float) + 0.5 * (pl.col("value") == pl.col("base")).cast(float),
        gain=(pl.col("value").clip(1e-12) / pl.col("base").clip(1e-12)).log10(),
    )
    rng = np.random.default_rng(1)
    rows: list[dict[str, object]] = []
    for key, group in pairs.group_by("algorithm", *by, "budget", maintain_order=True):
        means = group.group_by("function").agg(pl.col("win").mean())["win"].to_numpy()
        low, high = np.quantile(means[rng.integers(len(means), size=(DRAWS, len(means)))].mean(axis=1), [0.025, 0.975])
        text = f"{means.mean():.0%} ({low:.0%} to {high:.0%}), {group['gain'].median():+.2f}"
        rows.append(dict(zip(["algorithm", *by, "budget"], key, strict=True)) | {"text": text})
    return pl.DataFrame(rows).pivot("budget", index=["algorithm", *by], values="text")


def show(title: str, table: pl.DataFrame) -> None:
    """Print a table in Markdown."""
    print(f"\n{title}\n")
    with pl.Config(
        tbl_formatting="ASCII_MARKDOWN", tbl_hide_column_data_types=True, tbl_hide_dataframe_shape=True,
        tbl_rows=-1, tbl_cols=-1, fmt_str_lengths=60, tbl_width_chars=200,
    ):  # fmt: skip
        print(table)


def rankings(runs: list[pb.Run], dimension: int, algorithms: tuple[str, ...]) -> Rankings:
    """The rankings of recommended points in a dimension; instances of a function are one group."""
    times = np.rint(GRID * dimension)
    chosen = [run for run in runs if run.problem.dimension == dimension and run.key.algorithm in algorithms]
    rows = {key: i for i, key in enumerate(dict.fromkeys((run.key.instance, run.key.seed) for run in chosen))}
    reached: FloatArray = np.full((len(rows), times.size, len(algorithms)), np.nan)
    labels: dict[str, int] = {}
    groups = np.zeros(len(rows), dtype=int)
    for run in chosen:
        row = rows[run.key.instance, run.key.seed]
        reached[row, :, algorithms.index(run.key.algorithm)] = run.recommended_at(times)
        groups[row] = labels.setdefault(run.problem.function, len(labels))
    return Rankings.of(reached, times=times, algorithms=algorithms, groups=groups)


def draw(runs: list[pb.Run], folder: Path) -> None:
    """Ratings over the budget in each dimension."""
    for dimension in sorted({run.problem.dimension for run in runs}):
        posterior = pb.inference.fit(
            rankings(runs, dimension, DRAWN),
            model=pb.inference.InstanceBootstrap(),
            draws=DRAWS,
            rng=np.random.default_rng(1),
        )
        path = folder / f"noisy-ratings-{dimension}.png"
        figures.rating_over_time(posterior).save(path)
        print(path)


def noise_of(functions: pl.Expr) -> pl.Expr:
    """The noise model of functions 101 to 130."""
    return ((functions - 101) % 3).replace_strict(dict(enumerate(NOISE)))


def tables(runs: list[pb.Run], report: Callable[[str, pl.DataFrame], None]) -> None:
    """All tables of the page."""
    recommended = values(runs, hindsight=False)
    report("Recommendations, by dimension", against_baseline(recommended, ["dimension"]))
    report("The best point in hindsight, by dimension", against_baseline(values(runs, hindsight=True), ["dimension"]))
    noise = recommended.with_columns(noise=noise_of(pl.col("function")))
    report("Recommendations, by noise", against_baseline(noise, ["noise"]))
    parity = recommended.with_columns(
        functions=pl.when(pl.col("function") % 2 == 1).then(pl.lit("odd")).otherwise(pl.lit("even"))
    )
    report("Recommendations, on odd and even functions", against_baseline(parity, ["functions"]))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    runs = list(pb.store.read(sys.argv[1]))
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    tables(runs, show)
    draw(runs, folder)

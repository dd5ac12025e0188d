"""How often methods recommend better points on tasks than CMA-ES does; table 1, figures 3 and 6.

polarbear run examples/noisy/tasks.toml --into tasks.study --workers 2
python examples/noisy/tasks.py tasks.study noisy-ranks-tasks.png      # the rows of tasks in figure 3
polarbear run examples/noisy/transfer.toml --into transfer.study --workers 2
python examples/noisy/tasks.py transfer.study noisy-transfer.png      # figure 6, of runs with both thresholds
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from paper_figures import estimates
from paper_numbers import BASELINE, SWITCH, counts, resampled, wilson
from scipy import stats

import polarbear as pb
from polarbear.figures import Figure, heat_map
from polarbear.figures.marks import Line, Mark
from polarbear.figures.panels import Axis, Entry, Key, Panel
from polarbear.figures.style import FAINT, SMALL, WIDE, looks
from polarbear.problems.suite.noisy_tasks import TASKS

PROBES = ("probe 0.12", "probe 0.22")
"""Probe and switch with the two thresholds of figure 6."""


def final(study: str) -> pl.DataFrame:
    """A row for each run: task, seed and algorithm, and the value without noise of what it recommends at its end."""
    rows = [
        {"task": run.problem.function, "seed": run.key.seed, "algorithm": run.key.algorithm}
        | {"value": float(run.recommended_at([run.outcome.evaluations])[0])}
        for run in pb.store.read(study)
    ]
    if not rows:
        raise ValueError(f"{study} has no runs yet; create some with polarbear run")
    return pl.DataFrame(rows)


def gain(table: pl.DataFrame, task: str, name: str) -> tuple[float, float, float]:
    """The mean by which recommended values are below those of CMA-ES with the same seeds, and its 95 % interval (t).

    Unit: the standard deviation of all runs on the task.
    """
    runs = table.filter(pl.col("task") == task)
    own, base = (runs.filter(pl.col("algorithm") == each).sort("seed")["value"].to_numpy() for each in (name, BASELINE))
    gains = (base - own) / runs["value"].to_numpy().std(ddof=1)
    half = stats.t.ppf(0.975, len(gains) - 1) * stats.sem(gains)
    return float(gains.mean()), float(gains.mean() - half), float(gains.mean() + half)


def transfer(table: pl.DataFrame) -> Figure:
    """Figure 6: what probe and switch gains over CMA-ES on each task, ordered by the gain with the first threshold."""
    tasks = sorted(set(table["task"]), key=lambda task: gain(table, task, PROBES[0])[0])
    styles = looks(list(PROBES))
    marks: list[Mark] = [Line(x=np.array([-0.5, len(tasks) - 0.5]), y=np.zeros(2), color=FAINT, width=1.0)]
    for k, name in enumerate(PROBES):
        values = np.array([gain(table, task, name) for task in tasks]).T
        marks += estimates(f"gain-{name}", np.arange(len(tasks)) + 0.2 * k - 0.1, values, algorithm=name)
    ticks = tuple(map(float, range(len(tasks))))
    panel = Panel(
        x=Axis(low=-0.5, high=len(tasks) - 0.5, ticks=ticks, texts=tuple(tasks)),
        y=Axis(label="gain over CMA-ES", grid=True),
        marks=tuple(marks),
    )
    return Figure(
        title="Two thresholds on tasks",
        alt="Gain of probe and switch over CMA-ES on each task, with two thresholds.",
        caption="Recommended points: mean gain in standard deviations of all runs on the task, with 95 % intervals.",
        width=WIDE + 2.0,
        height=3.4,
        panels=(panel,),
        looks=styles,
        key=Key(entries=tuple(Entry(text=n, algorithm=n, symbol="o") for n in PROBES), columns=2, size=SMALL),
    )


def ranking(table: pl.DataFrame) -> Figure:
    """Figure 3's tasks: the mean rank of each method, 1 the best, among runs with the same seed."""
    names, tasks = (list(dict.fromkeys(table[column])) for column in ("algorithm", "task"))
    whole = table.filter(pl.len().over("task", "seed") == len(names))
    ranks = whole.with_columns(rank=pl.col("value").rank().over("task", "seed"))
    means = ranks.group_by("task", "algorithm").agg(pl.col("rank").mean())
    values = np.full((len(names), len(tasks)), np.nan)
    for task, name, rank in means.iter_rows():
        values[names.index(name), tasks.index(task)] = rank
    return heat_map(values, names, tasks, label="mean rank", best="lowest", reverse=True, row_label="")


def table_1(table: pl.DataFrame) -> None:
    """Print table 1: wins / losses (ties) of probe and switch on each task, and p of a two-sided Wilcoxon test."""
    others = sorted(set(table["algorithm"]) - {SWITCH})
    print(f"\nTable 1: {SWITCH}\n\n| | {' | '.join(others)} |\n|{'---|' * (len(others) + 1)}")
    own = table.filter(pl.col("algorithm") == SWITCH).rename({"value": "own"}).drop("algorithm")
    for task in [task for task in TASKS if task in set(table["task"])]:
        cells: list[str] = []
        for name in others:
            rivals = table.filter((pl.col("algorithm") == name) & (pl.col("task") == task))
            both = own.join(rivals, on=["task", "seed"]).with_columns(gain=pl.col("value") - pl.col("own"))
            won, lost, tied, p = counts(both)
            cells.append(f"{won} / {lost} ({tied}), p = {p:.2g}")
        print(f"| {task} | {' | '.join(cells)} |")


def main(study: str, path: str = "") -> None:
    """Print the table, and draw a figure where a path is given for it: figure 6 of the two thresholds, else ranks."""
    table = final(study)
    if path:
        drawn = transfer if set(table["algorithm"]) <= {BASELINE, *PROBES} else ranking
        drawn(table).save(path)
    base = table.filter(pl.col("algorithm") == BASELINE).select("task", "seed", base="value")
    better, equal = pl.col("value") < pl.col("base"), pl.col("value") == pl.col("base")
    won = table.join(base, on=["task", "seed"]).with_columns(win=better.cast(float) + 0.5 * equal.cast(float))
    tasks = [task for task in TASKS if task in set(table["task"])]
    print(f"| | {' | '.join(tasks)} | all |\n|{'---|' * (len(tasks) + 2)}")
    for name in sorted(set(table["algorithm"]) - {BASELINE}):
        cells, shares = [], []
        for task in tasks:
            wins = won.filter((pl.col("task") == task) & (pl.col("algorithm") == name))["win"].to_numpy()
            if not len(wins):
                cells.append("")
                continue
            low, high = wilson(float(wins.sum()), len(wins))
            cells.append(f"{wins.sum():g} of {len(wins)} ({low:.0%} to {high:.0%})")
            shares.append(float(wins.mean()))
        share, low, high = resampled(np.array(shares), np.mean)
        print(f"| {name} | {' | '.join(cells)} | {share:.0%} ({low:.0%} to {high:.0%}) |")
    if SWITCH in set(table["algorithm"]):
        table_1(table)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])

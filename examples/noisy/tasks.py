"""How often the points that methods recommend on tasks are better than those of CMA-ES, with intervals.

polarbear run examples/noisy/tasks_adapting.toml --into tasks_adapting.study --workers 2
python examples/noisy/tasks.py tasks_adapting.study
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from paper_numbers import BASELINE, resampled, wilson

import polarbear as pb
from polarbear.problems.suite.noisy_tasks import TASKS


def final(study: str) -> pl.DataFrame:
    """A row for each run: task, seed and algorithm, and the value without noise of what it recommends at its end."""
    rows = [
        {"task": run.problem.function, "seed": run.key.seed, "algorithm": run.key.algorithm}
        | {"value": float(run.recommended_at([run.outcome.evaluations])[0])}
        for run in pb.store.read(study)
    ]
    return pl.DataFrame(rows)


def main(study: str) -> None:
    """Print the table."""
    table = final(study)
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


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])

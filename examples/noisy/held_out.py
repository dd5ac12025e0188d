"""Does a probe before PSA-CMA-ES pay off on problems that were not used to develop it? docs/studies/noisy.md

python examples/noisy/held_out.py held_out

Runs or resumes both parts of the test, and prints the tables and the verdicts. One process, some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from own_noise import held_out_functions
from paper_numbers import BASELINE, LOGGED, frame, pairs, resampled
from scipy import stats

import polarbear as pb
from polarbear.records import FloatArray
from polarbear.study import read_plan

OURS = "probe and PSA"
HYPOTHESES = (("growing", 50), ("growing", 100), (BASELINE, 100), ("PSA-CMA-ES", 100))
"""What it is said to recommend better points than, after how many evaluations per variable."""
LEVEL = 0.05
"""Of all tests together."""
BUDGETS = (20, 50, 100)
DIMENSIONS = (10, 20, 40)


def parts() -> dict[str, Sequence[object]]:
    """The problems: other instances of the functions it was proposed on, and other functions."""
    functions = pb.problems.BBOBNoisy(functions="101-130", dimensions=DIMENSIONS, instances="3-6")
    return {"instances": functions.grid(), "functions": held_out_functions(DIMENSIONS, (1, 2))}


def run(folder: Path, part: str, problems: Sequence[object]) -> pl.DataFrame:
    """The runs of a part, as `frame` has them."""
    algorithms = read_plan(Path(__file__).parent / "paper.toml").algorithms
    names = dict.fromkeys([OURS, *(against for against, _ in HYPOTHESES)])
    watch = pb.experiment.Watch(per_decade=10, parameters=LOGGED, recommendations=True)
    plan = pb.study.Plan({name: algorithms[name] for name in names}, problems, budget="100*d", seed=1, watch=watch)
    pb.study.run_plan(plan, folder / f"{part}.study")
    return frame(pb.store.read(folder / f"{part}.study"), BUDGETS)


def test(table: pl.DataFrame, against: str, budget: int) -> tuple[FloatArray, float]:
    """(n,) the share of wins on each function, ties half, and p of a two-sided Wilcoxon test that it is around 1/2."""
    gains = pairs(table, OURS, against, "recommended").filter(pl.col("budget") == budget)
    wins = gains.with_columns(win=(pl.col("gain").sign() + 1) / 2).group_by("function", maintain_order=True)
    shares = wins.agg(pl.col("win").mean())["win"].to_numpy()
    return shares, float(stats.wilcoxon(shares - 0.5).pvalue) if np.any(shares != 0.5) else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """p-values adjusted for their number (Holm, 1979)."""
    order = np.argsort(p)
    raised = np.maximum.accumulate([(len(p) - k) * p[i] for k, i in enumerate(order)])
    return np.minimum(raised, 1.0)[np.argsort(order)].tolist()


def main(folder: Path) -> None:
    """Run, test and print."""
    found = {part: run(folder, part, problems) for part, problems in parts().items()}
    tests = [(part, against, budget) for part in found for against, budget in HYPOTHESES]
    results = [test(found[part], against, budget) for part, against, budget in tests]
    adjusted = holm([p for _, p in results])
    print("| | better than | after | wins | functions with more wins, with fewer | p, Holm | |")
    print("|---|---|---|---|---|---|---|")
    for (part, against, budget), (shares, _), p in zip(tests, results, adjusted, strict=True):
        share, low, high = resampled(shares, np.mean)
        verdict = "not decided" if p > LEVEL else "holds" if share > 0.5 else "is refuted"
        more, fewer = int((shares > 0.5).sum()), int((shares < 0.5).sum())
        cells = f"{share:.0%} ({low:.0%} to {high:.0%}) | {more}, {fewer} | {p:.2g} | {verdict}"
        print(f"| other {part} | {against} | {budget} d | {cells} |")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))

"""Whether P(faster) of `polarbear switches` is calibrated: the table of docs/benchmarks.md.

    python -m benchmarks.switch_probability [--data FOLDER] [--times 20]

The recorded runs on a function in one dimension are treated as the population, so that it is known which policy is
faster. TIMES times, 7 and 8 runs of each algorithm are drawn from them with replacement: from the 7, the best policy
with one switch and the best single algorithm are chosen; from the 8, the probability that the former is faster is
computed. For contrast, 15 runs do both. FOLDER has hitting times of algorithms, one file ``NAME_hits.csv.gz`` each.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from polarbear.assess.comparisons.switching import _Runs
from polarbear.selectors import clustered_mean, reliability

TARGETS = 10.0 ** (2 - 0.2 * np.arange(51))
SEEN, UNSEEN, DRAWS = 7, 8, 200


def cells(folder: Path) -> Iterator[_Runs]:
    """The runs of each function and dimension on which an algorithm reaches 1e-8."""
    tables = {
        path.name.removesuffix("_hits.csv.gz"): pl.read_csv(path) for path in sorted(folder.glob("*_hits.csv.gz"))
    }
    known = {
        name: dict(table.group_by(["function", "dimension"], maintain_order=True)) for name, table in tables.items()
    }
    for cell in sorted(set.intersection(*map(set, known.values()))):
        own = {name: hitting_times(frames[cell]) for name, frames in known.items()}
        if able := {name: each for name, each in own.items() if np.isfinite(each[0][:, -1]).any()}:
            yield runs_of(able)


def runs_of(own: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> _Runs:
    """Runtimes and evaluations of each algorithm together."""
    hits, spent = ({name: each[k] for name, each in own.items()} for k in (0, 1))
    return _Runs.of(hits, spent, TARGETS)


def hitting_times(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Runtimes (runs, targets), inf where missed, and evaluations (runs,)."""
    hits, spent = [], []
    for _, run in rows.group_by(["instance", "run"], maintain_order=True):
        reached = run.drop_nulls("evals_to_target")
        at, value = (reached[name].to_numpy().astype(np.float64) for name in ("evals_to_target", "target_precision"))
        first = [at[value <= target * (1 + 1e-9)].min(initial=np.inf) for target in TARGETS]
        hits.append(first)
        spent.append(run["maxevals"][0])
    return np.array(hits, dtype=np.float64), np.array(spent, dtype=np.float64)


def drawn(runs: _Runs, size: int, rng: np.random.Generator) -> _Runs:
    """So many runs of each algorithm, with replacement."""
    own = {}
    for name, rows in runs.own.items():
        chosen = rows.start + rng.integers(rows.stop - rows.start, size=size)
        own[name] = runs.hits[chosen], runs.spent[chosen]
    return runs_of(own)


def tried(world: _Runs, rng: np.random.Generator, *, held_out: bool) -> tuple[float, float] | None:
    """P(faster), and whether it is; None if no policy with a switch is chosen, or nobody reaches the final target."""
    seen = drawn(world, SEEN if held_out else SEEN + UNSEEN, rng)
    if not np.isfinite(seen.erts[:, -1]).any():
        return None
    policies = seen.best(0), seen.best(1)
    if not policies[1].targets or policies[0] == policies[1]:
        return None
    told = drawn(world, UNSEEN, rng) if held_out else seen
    speed_up = world.speed_up(policies)
    return told.probability(policies, DRAWS, rng), (np.sign(speed_up - 1) + 1) / 2


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/coco_runs"))
    parser.add_argument("--times", type=int, default=20)
    given = parser.parse_args()
    worlds, rng = list(cells(given.data)), np.random.default_rng(1)
    print(f"{len(worlds)} functions in one dimension")
    for held_out in (True, False):
        found = [
            (number, *each)
            for number, world in enumerate(worlds)
            for _ in range(given.times)
            if (each := tried(world, rng, held_out=held_out))
        ]
        group, said, came = np.array(found).T
        print("\nheld out" if held_out else "\nchosen and judged by the same runs", f"({len(found)} policies)")
        for low, *bin_ in zip(np.arange(10) / 10, *_padded(said, came), strict=True):
            print(f"| {low:.1f} to {low + 0.1:.1f} | {bin_[0]:.2f} | {bin_[1]:.2f} | {int(bin_[2])} |")
        groups = np.unique(group, return_inverse=True)[1]
        print("stated minus observed", clustered_mean(said - came, groups), "means", said.mean(), came.mean())


def _padded(said: np.ndarray, came: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of ten bins, NaN where one is empty."""
    bins = reliability(said, came)
    columns = [np.full(10, np.nan) for _ in range(3)]
    where = np.minimum((bins.said * 10 + 1e-9).astype(int), 9)
    for column, values in zip(columns, bins, strict=True):
        column[where] = values
    columns[2] = np.nan_to_num(columns[2])
    return tuple(columns)


if __name__ == "__main__":
    main()

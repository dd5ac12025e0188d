"""Adaptive configurations of CMA-ES as their authors ran them: what was predicted, and what came of it.

    python -m benchmarks.adaptive_published --data FOLDER

FOLDER has ``overview_table_extended.csv`` and ``F*_table_50_50_exp.csv`` of the public data of Vermetten et al.'s study
(IOHprofiler thesis, section 5.2): one adaptive configuration of each function chosen by 25 runs of each of 1,536
configurations, and up to 50 chosen by 250 runs of some of them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.stats import spearmanr


class OneStage(NamedTuple):
    """Columns (functions,) of the first selection; gains are shares of the static configuration's evaluations."""

    functions: np.ndarray
    predicted: np.ndarray
    realised: np.ndarray
    significant: np.ndarray


class TwoStage(NamedTuple):
    """The adaptive configurations of a function: both parts, the target, and expected runtimes."""

    pairs: list[tuple[str, str]]
    targets: np.ndarray
    predicted: np.ndarray
    achieved: np.ndarray


def one_stage(folder: Path) -> OneStage:
    """The adaptive configurations chosen by 25 runs, and their gain beside the best of the static one and both parts.

    Whether the difference is significant is the authors' word; of which test, the data do not say.
    """
    table = pl.read_csv(folder / "overview_table_extended.csv")
    alone = np.min([table[name].to_numpy() for name in ("Mean static", "Mean part 1", "Mean part2")], axis=0)
    return OneStage(
        table["fid"].to_numpy(),
        1 - table["Adaptive"].to_numpy() / table["Static"].to_numpy(),
        1 - table["Mean split"].to_numpy() / alone,
        table["Statistically significant?"].to_numpy(),
    )


def two_stage(folder: Path) -> dict[int, TwoStage]:
    """By function the adaptive configurations that were chosen by 250 runs, and run."""
    found = dict[int, TwoStage]()
    for path in sorted(folder.glob("F*_table_50_50_exp.csv"), key=_function):
        table = pl.read_csv(path, schema_overrides={"C1": pl.String, "C2": pl.String})
        exponents = [float(each.removeprefix("10e")) for each in table["Splitpoint"]]  # "10e-0.6" is 10^-0.6
        predicted, achieved = (table[f"{word} ERT"].to_numpy() for word in ("Predicted", "Achieved"))
        pairs = list(zip(table["C1"], table["C2"], strict=True))
        found[_function(path)] = TwoStage(pairs, 10.0 ** np.array(exponents), predicted, achieved)
    return found


def _function(path: Path) -> int:
    return int(path.name.partition("_")[0].removeprefix("F"))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    folder = parser.parse_args().data
    first = one_stage(folder)
    print(
        f"one stage, {len(first.functions)} functions: median predicted gain {np.median(first.predicted):.1%} "
        f"({first.predicted.min():.1%} to {first.predicted.max():.1%}); realised above 0 on "
        f"{np.sum(first.realised > 0)}, significantly on {np.sum(first.significant & (first.realised > 0))}, "
        f"significantly below 0 on {np.sum(first.significant & (first.realised < 0))}"
    )
    print("\ntwo stages\n\n| | adaptive | achieved / predicted: median | Spearman |\n|---|---|---|---|")
    rows = dict[int, tuple[float, float]]()
    for function, each in two_stage(folder).items():
        rows[function] = (
            float(np.median(each.achieved / each.predicted)),
            float(spearmanr(each.predicted, each.achieved).statistic),
        )
        print(f"| f{function} | {len(each.pairs)} | {rows[function][0]:.2f} | {rows[function][1]:.2f} |")
    ratio, order = np.median(list(rows.values()), axis=0)
    print(f"| median | | {ratio:.2f} | {order:.2f} |")


if __name__ == "__main__":
    main()

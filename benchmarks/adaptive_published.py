"""Adaptive configurations of CMA-ES as run by their authors: what was predicted, and what was achieved.

    python -m benchmarks.adaptive_published --data FOLDER

FOLDER contains ``overview_table_extended.csv`` and ``F*_table_50_50_exp.csv`` from the public data of Vermetten et
al.'s study (IOHprofiler thesis, section 5.2): for each function, one adaptive configuration selected from 25 runs of
each of 1,536 configurations, and up to 50 selected from 250 runs of some of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
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


def coverage(found: Mapping[int, TwoStage], level: float = 0.9) -> dict[int, tuple[float, float, float]]:
    """By function, how often achieved / predicted is in an interval of that ratio on the other functions, and its ends.

    Each of the other functions counts the same.
    """
    told = dict[int, tuple[float, float, float]]()
    for function, own in found.items():
        ratios = [each.achieved / each.predicted for other, each in found.items() if other != function]
        weights = np.concatenate([np.full(each.size, 1 / each.size) for each in ratios])
        ends = ((1 - level) / 2, (1 + level) / 2)
        low, high = np.quantile(np.concatenate(ratios), ends, weights=weights, method="inverted_cdf").tolist()
        ratio = own.achieved / own.predicted
        told[function] = (float(np.mean((low <= ratio) & (ratio <= high))), low, high)
    return told


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
    for function, each in (found := two_stage(folder)).items():
        rows[function] = (
            float(np.median(each.achieved / each.predicted)),
            float(spearmanr(each.predicted, each.achieved).statistic),
        )
        print(f"| f{function} | {len(each.pairs)} | {rows[function][0]:.2f} | {rows[function][1]:.2f} |")
    ratio, order = np.median(list(rows.values()), axis=0)
    print(f"| median | | {ratio:.2f} | {order:.2f} |")
    held = coverage(found)
    covered, low, high = np.array(list(held.values())).T
    few = ", ".join(f"f{function} {share:.0%}" for function, (share, *_) in held.items() if share < 0.8)
    print(
        f"\n90 % intervals of the ratio on other functions, about {np.median(low):.2f} to {np.median(high):.2f}, "
        f"contain {covered.mean():.0%} of achieved ones; less than 80 %: {few}"
    )
    near = [np.mean(np.abs(each.achieved / each.predicted - 1) < 0.1) for each in found.values()]
    print(f"achieved within 10 % of predicted: {np.mean(near):.0%}, averaged over functions")


if __name__ == "__main__":
    main()

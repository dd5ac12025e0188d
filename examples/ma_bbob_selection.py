"""Selectors on the published MA-BBOB study: cross-validated, from BBOB to its affine combinations, and vice versa.

python examples/ma_bbob_selection.py --data FOLDER --into FOLDER

The data FOLDER has ``All_2d_info2.csv.gz`` and ``All_5d_info2.csv.gz`` of the public data of Vermetten et al.'s study
of MA-BBOB: features and the AUC of five optimizers on 1,000 combinations and on 24 × 5 BBOB instances. Each part is
stored as JSON, so that a second call resumes after an interruption; then the figures are drawn. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import polars as pl

from polarbear.selectors import KINDS, Cases, Evaluation, cross_validate, transfer

ALGORITHMS = ("DiagonalCMA", "DifferentialEvolution", "modcma", "modde", "RCobyla")
"""modde is L-SHADE."""
SETS = ("ela_meta", "ela_distr", "ela_level", "nbc", "disp", "ic")
LEFT_OUT = "ela_level.lda_qda_25"
"""As in the published study, which has 44 features."""
PARTS = ("by function", "by case", "BBOB to MA", "MA to BBOB")
COLOURS = dict(zip(KINDS, ("#0072B2", "#CC79A7", "#009E73", "#D55E00", "#999999", "#000000"), strict=True))


def read(data: Path, dimension: int, kind: str) -> tuple[Cases, np.ndarray]:
    """The cases of a dimension by ``ela`` features or the combinations' ``weights``, and which of them are BBOB's."""
    table = pl.read_csv(data / f"All_{dimension}d_info2.csv.gz")
    ela = [name for name in table.columns if name.startswith(tuple(f"{each}." for each in SETS)) and name != LEFT_OUT]
    names = ela if kind == "ela" else [f"W{i}" for i in range(24)]
    of_bbob = (table["kind"] == "BBOB").to_numpy()
    functions = [f"{kind} {number}" for kind, number in table.select("kind", "fid").iter_rows()]
    losses = {name: 1 - table[name].to_numpy() for name in ALGORITHMS}
    return Cases.of(losses, {name: table[name].to_numpy() for name in names}, functions=functions), of_bbob


def evaluate(cases: Cases, of_bbob: np.ndarray, part: str, seed: int) -> Evaluation:
    """One part of the study."""
    if part == "by function":
        return cross_validate(cases, split="function", seed=seed)
    if part == "by case":
        return cross_validate(cases, split="case", seed=seed)
    first, second = cases.among(of_bbob), cases.among(~of_bbob)
    return transfer(first, second, seed=seed) if part == "BBOB to MA" else transfer(second, first, seed=seed)


def results(data: Path, into: Path, seed: int) -> dict[str, dict]:
    """All parts, those that are there read."""
    found: dict[str, dict] = {}
    for dimension in (5, 2):
        for kind in ("ela", "weights"):
            cases, of_bbob = read(data, dimension, kind)
            for part in PARTS:
                name = f"{dimension}D {kind} {part}"
                path = into / f"{name}.json"
                if not path.exists():
                    evaluation = evaluate(cases, of_bbob, part, seed)
                    told = evaluation.as_dict()
                    told["regrets"] = {each: score.regrets.tolist() for each, score in evaluation.scores.items()}
                    path.write_text(json.dumps(told))
                found[name] = json.loads(path.read_text())
                said = ", ".join(
                    f"{each} {score['regret']:.4f} ({score['away']:.1%} others chosen)"
                    for each, score in found[name]["scores"].items()
                )
                print(f"{name}: {said}; shift {found[name]['shift']}, novel {found[name]['novel']:.1%}", flush=True)
    return found


def claims(data: Path) -> None:
    """How often modcma is best, and what it loses."""
    for dimension in (5, 2):
        cases, of_bbob = read(data, dimension, "ela")
        best = cases.losses.argmin(axis=1) == ALGORITHMS.index("modcma")
        lost = cases.losses[:, ALGORITHMS.index("modcma")] - cases.losses.min(axis=1)
        print(
            f"{dimension}D: modcma best on {best[of_bbob].mean():.1%} of BBOB, {best[~of_bbob].mean():.1%} of MA-BBOB; "
            f"it loses {lost.mean():.4f} on all, {lost[~of_bbob].mean():.4f} on MA-BBOB"
        )


def draw_differences(found: dict[str, dict], path: Path) -> None:
    """Mean regret beside the single best algorithm's, with intervals."""
    figure, panels = plt.subplots(2, 2, figsize=(10, 6), sharex="col", layout="constrained")
    for row, dimension in zip(panels, (5, 2), strict=True):
        for panel, kind in zip(row, ("ela", "weights"), strict=True):
            for number, part in enumerate(PARTS):
                scores = found[f"{dimension}D {kind} {part}"]["scores"]
                for shift, each in enumerate(KINDS[:-1]):
                    mean, low, high = scores[each]["beside single best"]
                    y = -number - 0.15 * (shift - 2)
                    panel.plot([low, high], [y, y], color=COLOURS[each], linewidth=1.5)
                    panel.plot(mean, y, "o", color=COLOURS[each], markersize=5, label=each if not number else None)
            panel.axvline(0, color="black", linewidth=0.8)
            panel.set_yticks(-np.arange(len(PARTS)), PARTS)
            panel.set_title(f"{dimension}D, by {'landscape features' if kind == 'ela' else 'weights'}", loc="left")
            panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[-1]:
        panel.set_xlabel("mean AUC lost relative to the single best (left is better)")
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_cumulative(found: dict[str, dict], path: Path) -> None:
    """Which share of functions loses at most how much, from BBOB to MA-BBOB by landscape features."""
    figure, panels = plt.subplots(1, 2, figsize=(10, 4), sharey=True, layout="constrained")
    for panel, dimension in zip(panels, (5, 2), strict=True):
        for each, regrets in found[f"{dimension}D ela BBOB to MA"]["regrets"].items():
            ordered = np.sort(regrets)
            style = {"linestyle": "--", "zorder": 3} if each == "single best" else {}
            panel.step(ordered, np.arange(1, ordered.size + 1) / ordered.size, color=COLOURS[each], label=each, **style)
        panel.set_xlim(-0.005, 0.4)
        panel.set_title(f"{dimension}D, BBOB to MA-BBOB", loc="left")
        panel.set_xlabel("AUC lost relative to the best algorithm of the function")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of functions")
    panels[0].set_ylim(0.4, 1.005)
    panels[1].legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Evaluate, tell, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    claims(options.data)
    found = results(options.data, options.into, options.seed)
    draw_differences(found, options.into / "selection-differences.png")
    draw_cumulative(found, options.into / "selection-cumulative.png")


if __name__ == "__main__":
    main()

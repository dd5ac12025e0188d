"""Per-run selection: data, numbers and figure of docs/studies/per-run-selection.md.

    python -m benchmarks.per_run_selection --into FOLDER [--quick] [--figures FOLDER] [--instances 10] [--runs 20]

Runs of CMA-ES on the 24 BBOB functions are branched after 30 d evaluations and continue with each of six algorithms for
170 d (Vermetten 2025, section 5.3). Selectors predict from what is known by then which one is best after 20 d, 70 d and
170 d. Everything is kept in FOLDER, so that the same command resumes after an interruption.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import polarbear as pb
from polarbear import store, study
from polarbear.landscape import run_features
from polarbear.optimizers import ModularCMAES, ModularDE, NLopt, Pymoo, ScipyMinimize
from polarbear.selectors import Cases, Evaluation, Interval, Kind, Score, clustered_mean, cross_validate, switch_points

DIMENSION, TARGET, FUNCTIONS = 5, 1e-8, 24
FIRST, BUDGETS = 30 * DIMENSION, (20 * DIMENSION, 70 * DIMENSION, 170 * DIMENSION)
POPULATION = 8
"""Of CMA-ES in 5 variables."""
SWARM = {"w": 0.7298, "c1": 1.49618, "c2": 1.49618, "adaptive": False, "pertube_best": False}
SECOND = {
    "elitist CMA-ES": ModularCMAES.anytime(elitist=True),
    "MLSL": NLopt(algorithm="GN_MLSL", local="LN_PRAXIS"),
    "BFGS": ScipyMinimize("BFGS"),
    "PSO": Pymoo(algorithm="PSO", population_size=40, options=SWARM),
    "DE": ModularDE(),
}
"""Beside them CMA-ES goes on as it is."""
PARAMETERS = (
    *("step_size", "largest_eigenvalue", "smallest_eigenvalue", "condition_number", "mean_distance"),
    *("ps_norm", "pc_norm"),
)
RATED = (
    *("stagnation", "gain", "pop_div", "pop_div:slope", "fit_div:slope"),
    *("step_size:last", "step_size:slope", "step_size:autocorrelation", "condition_number:last", "ps_norm:mean"),
    *("ela_meta.lin_simple.adj_r2", "ela_meta.quad_simple.adj_r2", "ela_meta.quad_w_interact.adj_r2"),
    *("ela_distr.skewness", "disp.ratio_mean_10", "ic.h_max", "nbc.nn_nb.sd_ratio", "nbc.nb_fitness.cor"),
)
"""The features that ratings have; forests have all of them. Chosen before there was a result."""
KINDS: tuple[Kind, ...] = ("ratings", "cautious forest", "regression forest", "single best")
SAYING = ("ratings", "regression forest")
"""Those whose chances differ: a cautious forest's are a forest's."""
FIELDS = [each.name for each in fields(Score)]
CONFIDENCES = (0.5, 0.8, 0.95)
COLORS = {"ratings": "#0072B2", "cautious forest": "#009E73", "regression forest": "#D55E00", "single best": "#000000"}


def record(folder: Path, size: argparse.Namespace) -> dict[int, Cases]:
    """The runs as cases, by budget of the second algorithm."""
    problems = pb.problems.BBOB(
        functions=list(range(1, size.functions + 1)),
        dimensions=[DIMENSION],
        instances=list(range(1, size.instances + 1)),
    )
    watch = pb.experiment.Watch(points="all", every=POPULATION, parameters=PARAMETERS)
    first = {"CMA-ES": ModularCMAES.anytime()}
    settings = {"budget": FIRST, "target_precision": TARGET, "watch": watch, "seed": 1}
    plan = study.Plan(first, problems, repetitions=size.runs, **settings)
    runs, branches = folder / "runs.study", folder / "branches.study"
    study.run_plan(plan, runs, workers=size.workers)
    left = {"at": [FIRST], "into": SECOND, "repeats": 1, "horizon": BUDGETS[-1]}
    print(study.branch(runs, branches, **left, workers=size.workers), flush=True)
    made = study.plan_branches(runs, **left)
    print(f"{made.skipped} runs were skipped, as they had ended")
    features = study.branch_features(runs, made, run_features, size=POPULATION)
    with store.open(branches) as kept:
        points = switch_points(kept.runs(), BUDGETS, features)["CMA-ES"]
    return {budget: points.cases(budget) for budget in BUDGETS}


def evaluated(cases: Cases, budget: int, split: str, size: argparse.Namespace) -> Evaluation:
    """Selectors on cases that they have not seen; kept."""
    whole = split == "function"
    folds = min(size.folds, len(set(cases.functions))) if whole else 5
    kinds: tuple[Kind, ...] = KINDS if whole else ("regression forest", "single best")
    path = size.into / f"evaluation-{budget}-{split}-{folds}-{len(cases.losses)}{'-separate' * size.separate}.npz"
    if not path.exists():
        found = cross_validate(cases, kinds, split=split, folds=folds, rated=RATED, separate=size.separate)
        arrays = {f"{kind}|{name}": np.array(getattr(found.scores[kind], name)) for kind in kinds for name in FIELDS}
        np.savez(path, novel=found.novel, **arrays)
    with np.load(path) as stored:
        scores = {kind: Score(*(_as_scored(stored[f"{kind}|{name}"]) for name in FIELDS)) for kind in kinds}
        return Evaluation(scores, None, float(stored["novel"]), cases)


def _as_scored(array: np.ndarray) -> Any:
    return tuple(array.tolist()) if array.dtype.kind == "U" else Interval(*array) if array.shape == (3,) else array


def chosen_at(evaluation: Evaluation, kind: Kind, confidence: float) -> np.ndarray:
    """(P,) regrets of a kind of selector that leaves the single best algorithm with such confidence."""
    cases, score, alone = evaluation.cases, evaluation.scores[kind], evaluation.scores["single best"]
    sure = score.probability >= confidence
    names = np.where(sure, np.array(score.looking), np.array(alone.chosen))
    columns = [cases.algorithms.index(name) for name in names.tolist()]
    return cases.losses[np.arange(len(columns)), columns] - cases.losses.min(axis=1)


def informed(cases: Cases) -> dict[str, float]:
    """Mean regrets of who knows the function, or the instance, and takes what is best there on average."""
    told = {}
    for name, labels in (("function", cases.functions), ("instance", cases.instances)):
        numbers = np.unique(np.array(labels), return_inverse=True)[1]
        sums = np.zeros((numbers.max() + 1, cases.losses.shape[1]))
        np.add.at(sums, numbers, cases.losses)
        best = sums.argmin(axis=1)[numbers]
        told[f"best of the {name}"] = float(
            (cases.losses[np.arange(len(best)), best] - cases.losses.min(axis=1)).mean()
        )
    return told


def summary(evaluation: Evaluation, leaking: dict[str, Evaluation]) -> dict[str, object]:
    """The numbers of the page for one budget."""
    cases, scores = evaluation.cases, evaluation.scores
    regrets = {kind: score.regrets for kind, score in scores.items()}
    regrets |= {f"{kind}, {level}": chosen_at(evaluation, kind, level) for kind in KINDS[:2] for level in CONFIDENCES}
    alone = regrets["single best"]
    told: dict[str, object] = {
        "best in": dict(zip(cases.algorithms, cases.best.mean(axis=0).round(3).tolist(), strict=True)),
        "mean regret of each": dict(
            zip(
                cases.algorithms,
                (cases.losses - cases.losses.min(axis=1, keepdims=True)).mean(axis=0).round(3).tolist(),
                strict=True,
            )
        ),
        "single best": sorted(set(scores["single best"].chosen)),
        "away": {kind: float(score.away.mean()) for kind, score in scores.items()},
        **informed(cases),
    }
    for name, each in regrets.items():
        by_function = np.bincount(cases.groups, weights=each - alone) / np.bincount(cases.groups)
        told[name + ":"] = {
            "regret": float(each.mean()),
            "ratio": float((10**-each).mean()),
            "gap closed": float(1 - each.mean() / alone.mean()),
            "beside single best": clustered_mean(each - alone, cases.groups),
            "functions not below": int((by_function <= 1e-12).sum()),
            "worst function": float(by_function.max()),
            "beside forest": clustered_mean(each - regrets["regression forest"], cases.groups),
        }
    told["log score"] = {kind: score.log_score for kind, score in scores.items()}
    told["log score of ratings beside"] = {
        kind: evaluation.beside("ratings", kind, "log_scores") for kind in ("regression forest", "single best")
    }
    told["forest by other splits"] = {
        split: [each.gap_closed("regression forest"), each.scores["regression forest"].log_score]
        for split, each in leaking.items()
    }
    told["reliability"] = {
        kind: [column.round(3).tolist() for column in evaluation.reliability(kind)] for kind in SAYING
    }
    return told


def draw(found: dict[int, Evaluation], path: Path) -> None:
    """Gap closed over the budget, chances as said and as they came true, and regrets by function."""
    figure = plt.figure(figsize=(11, 7), layout="constrained")
    places = figure.subplot_mosaic([["gap", "20", "170"], ["functions"] * 3])
    for kind in KINDS[:-1]:
        middles = [each.gap_closed(kind) for each in found.values()]
        alone = [each.scores["single best"].regret for each in found.values()]
        spans = [each.scores[kind].beside_single_best for each in found.values()]
        at = np.array(list(found)) / DIMENSION * 1.06 ** (KINDS.index(kind) - 1)
        low = [-span.high / regret for span, regret in zip(spans, alone, strict=True)]
        high = [-span.low / regret for span, regret in zip(spans, alone, strict=True)]
        places["gap"].vlines(at, low, high, color=COLORS[kind])
        places["gap"].plot(at, middles, "o-", color=COLORS[kind], label=kind)
    places["gap"].axhline(0, color="black", linewidth=0.8)
    places["gap"].set(xscale="log", xlabel="evaluations / d after the switch", ylabel="share of the gap closed")
    places["gap"].set_xticks([20, 70, 170], ["20", "70", "170"], minor=False)
    places["gap"].minorticks_off()
    places["gap"].legend(fontsize=8, loc="upper left")
    for name in ("20", "170"):
        each, axis = found[int(name) * DIMENSION], places[name]
        axis.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
        for kind in SAYING:
            said, came, number = each.reliability(kind)
            axis.scatter(said, came, s=12 + 500 * number / number.sum(), color=COLORS[kind], alpha=0.8)
        axis.set(xlim=(0, 1), ylim=(0, 1), xlabel="stated probability of being best", ylabel="share that was best")
        axis.set_title(f"{name} d")
    last = found[BUDGETS[1]]
    numbers = [int(label) for label in np.unique(np.array(last.cases.functions))]
    order = np.argsort(numbers)
    for kind, marker in zip(KINDS, "oDs_", strict=True):
        means = np.bincount(last.cases.groups, weights=last.scores[kind].regrets) / np.bincount(last.cases.groups)
        places["functions"].plot(
            np.arange(1, order.size + 1), means[order], marker, color=COLORS[kind], label=kind, markersize=7
        )
    places["functions"].set_xticks(np.arange(1, order.size + 1), [str(numbers[i]) for i in order])
    places["functions"].set(xlabel="held-out function", ylabel="mean regret, orders of magnitude")
    places["functions"].set_title(f"{BUDGETS[1] // DIMENSION} d")
    places["functions"].legend(ncols=4, fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Record, evaluate, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--figures", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--functions", type=int, default=FUNCTIONS)
    parser.add_argument("--instances", type=int, default=10)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--folds", type=int, default=12, help="two functions are left out at a time")
    parser.add_argument("--separate", action="store_true", help="a forest for each algorithm, as in the thesis")
    parser.add_argument("--quick", action="store_true", help="quick check, takes a minute")
    size = parser.parse_args()
    if size.quick:
        size.functions, size.instances, size.runs = min(size.functions, 6), 2, 2
    size.into.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    cases = record(size.into, size)
    print(f"data after {time.perf_counter() - begun:.0f} s", flush=True)
    found, told = dict[int, Evaluation](), dict[str, object]()
    for budget, each in cases.items():
        found[budget] = evaluated(each, budget, "function", size)
        leaking = {split: evaluated(each, budget, split, size) for split in ("instance", "case")}
        told[f"{budget // DIMENSION} d"] = summary(found[budget], leaking)
        print(f"{budget // DIMENSION} d after {time.perf_counter() - begun:.0f} s", flush=True)
    told["cases"] = len(each.losses)
    (size.into / "summary.json").write_text(json.dumps(told, indent=1))
    print(json.dumps(told, indent=1))
    figures = size.figures or size.into
    figures.mkdir(parents=True, exist_ok=True)
    draw(found, figures / "per-run-selection.png")


if __name__ == "__main__":
    main()

"""When to switch in mid-run: data, numbers and figures of docs/studies/when-to-switch.md.

    python -m benchmarks.when_to_switch --into FOLDER [--quick] [--figures FOLDER] [--workers 2] [--folds N]

Runs of CMA-ES, DE and PSO on the 24 BBOB functions are branched at eight points; each continues with its own optimizer
or with one of the others, five times (Vermetten 2025, section 5.4). Everything is kept in FOLDER, so that the same
command resumes after an interruption. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import polarbear as pb
from polarbear import store, study
from polarbear.optimizers import ModularCMAES, ModularDE, Pymoo
from polarbear.records import STAY, log_times
from polarbear.selectors import (
    SwitchEvaluation,
    SwitchPoints,
    cross_validate,
    evaluate_policy,
    save,
    switch_points,
    train_policy,
)

DIMENSION, HORIZON, TARGET = 5, 500, 1e-8
FUNCTIONS, POINTS, REPEATS = 24, 8, 5
AT = [int(at) for at in log_times(10 * DIMENSION, 500 * DIMENSION, POINTS)]
HORIZONS = (50, 100, 200, 350, HORIZON)
SWARM = {"w": 0.7298, "c1": 1.49618, "c2": 1.49618, "adaptive": False, "pertube_best": False}
OPTIMIZERS = {
    "CMA-ES": ModularCMAES.anytime(),
    "DE": ModularDE(),
    "PSO": Pymoo(algorithm="PSO", population_size=40, options=SWARM),
}
LANDSCAPE = (
    *("ela_meta.lin_simple.adj_r2", "ela_meta.quad_simple.adj_r2", "ela_meta.quad_w_interact.adj_r2"),
    *("ela_distr.skewness", "ela_distr.kurtosis", "disp.ratio_mean_10", "ic.h_max", "ic.m0"),
    *("nbc.nn_nb.sd_ratio", "nbc.nb_fitness.cor", "pca.expl_var_PC1.cov_x"),
)
RATED = (
    *("evaluations", "stagnation"),
    *(f"{name}@{size}" for size in (50, 250) for name in ("pop_div", "fit_div", "gain")),
    *(f"{name}@150" for name in LANDSCAPE),
)
"""The features that ratings have; forests have all of them. Chosen before there was a result."""
CONFIDENCE = 0.95
CAUTIOUS_FOLDS = 8
"""Of the functions, for cautious forests: each takes six times as long as a forest."""
CONFIDENCES = (0.5, 0.8, CONFIDENCE, 0.99)
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def record(folder: Path, size: argparse.Namespace) -> dict[str, SwitchPoints]:
    """The points by first optimizer, with what became of all branches and what was known."""
    problems = pb.problems.BBOB(
        functions=list(range(1, size.functions + 1)),
        dimensions=[DIMENSION],
        instances=list(range(1, size.instances + 1)),
    )
    watch = pb.experiment.Watch(points="all")
    settings = {"budget": AT[-1], "target_precision": TARGET, "watch": watch, "seed": 1}
    plan = study.Plan(OPTIMIZERS, problems, repetitions=size.runs, **settings)
    runs, branches = folder / "runs.study", folder / "branches.study"
    study.run_plan(plan, runs, workers=size.workers)
    left = {"at": AT, "repeats": size.repeats, "horizon": HORIZON}
    print(study.branch(runs, branches, **left, workers=size.workers))
    made = study.plan_branches(runs, **left)
    print(f"{made.skipped} points were skipped, as the run had ended")
    with store.open(branches) as kept:
        return switch_points(kept.runs(), HORIZONS, study.branch_features(runs, made))


@dataclass(frozen=True, slots=True, eq=False)
class Evaluated(SwitchEvaluation):
    """The evaluation, and (P,) the way that cautious forests choose."""

    cautious: np.ndarray


def choices_of_cautious_forests(points: SwitchPoints, path: Path) -> np.ndarray:
    """(P,) the way that cautious forests of benefits choose, trained without the functions of the points; kept."""
    if not path.exists():
        cases = points.cases(HORIZON, loss="benefit")
        folds = min(CAUTIOUS_FOLDS, len(set(cases.functions)))
        found = cross_validate(cases, ["cautious forest"], folds=folds, default=STAY, confidence=CONFIDENCE)
        np.save(path, [points.ways.index(way) for way in found.scores["cautious forest"].chosen])
    return np.load(path)


def shares_of_features(points: SwitchPoints) -> dict[str, dict[str, float]]:
    """By way, the share of each feature in the mean size of SHAP values of a forest, on functions left out of it."""
    from shap import TreeExplainer
    from sklearn.ensemble import RandomForestRegressor

    known = np.where(np.isfinite(points.known), points.known, np.nan_to_num(np.nanmean(points.known, axis=0)))
    labels = points.benefits()[:, :, points.horizons.tolist().index(HORIZON)].mean(axis=1)
    groups = points.groups
    fold = np.random.default_rng(0).permutation(groups.max() + 1)[groups] % CAUTIOUS_FOLDS
    told: dict[str, dict[str, float]] = {}
    for i, way in enumerate(points.ways[1:], 1):
        sizes = np.zeros(known.shape[1])
        for number in np.unique(fold):
            out = fold == number
            forest = RandomForestRegressor(random_state=0).fit(known[~out], labels[~out, i])
            sizes += np.abs(TreeExplainer(forest).shap_values(known[out])).sum(axis=0)
        told[way] = dict(zip(points.features, (sizes / sizes.sum()).tolist(), strict=True))
    return told


def evaluated(points: SwitchPoints, folder: Path, folds: int | None) -> Evaluated:
    """The evaluation, which is kept."""
    path = folder / f"evaluation-{points.first}-{folds or 'all'}-{points.values.shape[1]}.npz"
    names = ("chances", "looking", "sure", "forest", "constant")
    if not path.exists():

        def say(done: int, of: int) -> None:
            print(f"{points.first}: {done} of {of} folds", flush=True)

        found = evaluate_policy(points, HORIZON, features=RATED, folds=folds, progress=say)
        np.savez(path, **{name: getattr(found, name) for name in names})
        policy = train_policy(points, features=RATED, confidence=CONFIDENCE)
        save(policy.selector(HORIZON), folder / f"{points.first}.npz")
        shares = {name: float(band.mean[-1]) for name, band in policy.ratings.importance().items()}
        told = {"ratings": shares, **shares_of_features(points)}
        (folder / f"importance-{points.first}.json").write_text(json.dumps(told, indent=1))
    with np.load(path) as stored:
        cautious = choices_of_cautious_forests(points, path.with_name(f"cautious-{path.stem}.npy"))
        return Evaluated(points, HORIZON, **{name: stored[name] for name in names}, cautious=cautious)


def by_function(points: SwitchPoints, values: np.ndarray) -> np.ndarray:
    """(F,) means of values (P,) over the points of each function."""
    groups = points.groups
    return np.bincount(groups, weights=values) / np.bincount(groups)


def interval(means: np.ndarray) -> list[float]:
    """Mean over functions and a 95 % interval by resampling them."""
    drawn = np.random.default_rng(0).choice(means, (4000, means.size)).mean(axis=1)
    return [float(means.mean()), *np.quantile(drawn, (0.025, 0.975)).tolist()]


def policies(found: Evaluated) -> dict[str, np.ndarray]:
    """The way that each policy chooses at each point."""
    ways = found.points.ways
    chosen = {f"always {way}": np.full(len(found.looking), i) for i, way in enumerate(ways) if i}
    chosen["always, the best of the other functions"] = 1 + found.constant[:, 1:].argmax(axis=1)
    chosen["the best of the other functions, or staying"] = found.constant.argmax(axis=1)
    chosen["forest"] = found.forest.argmax(axis=1)
    chosen["cautious forest"] = found.cautious
    return chosen | {f"ratings, {level}": found.chosen(level) for level in CONFIDENCES}


def summary(found: Evaluated) -> dict[str, object]:
    """The numbers of the page for one first optimizer."""
    points, told = found.points, dict[str, object]()
    for name, chosen in policies(found).items():
        means = by_function(points, found.gains(chosen))
        told[name] = {
            "gain": interval(means),
            "switched": float((chosen > 0).mean()),
            "functions not below staying": int((means >= 0).sum()),
            "worst function": float(means.min()),
        }
    told["points"] = len(points.at)
    told["chosen by other repeats"] = interval(by_function(points, found.by_repeats))
    for i, way in enumerate(points.ways[1:], 1):
        errors = {"forest": found.forest, "constant": found.constant}
        of_way = {name: float(found.errors(predicted)[:, i].mean()) for name, predicted in errors.items()}
        single = float(points.noise()[:, -1, i].mean())
        told[f"squared error, to {way}"] = {
            **of_way,
            "attainable": float(found.attainable[:, i].mean()),
            "attainable for single repeats": single,
        }
        wins = points.wins()[:, :, i]
        told[f"log score, to {way}"] = {
            f"{horizon:g}": [
                log_score(found.chances[:, t, i], wins[:, t]),
                share_score(wins[:, t], points.groups),
            ]
            for t, horizon in enumerate(points.horizons)
        }
    return told


def together(found: dict[str, Evaluated]) -> dict[str, object]:
    """The gain of policies at the points of all first optimizers, by function."""
    names = np.concatenate([each.points.functions for each in found.values()])
    groups = np.unique(names, return_inverse=True)[1]
    told = dict[str, object]()
    for policy in [name for name in policies(next(iter(found.values()))) if name.split()[-1] not in OPTIMIZERS]:
        gains = np.concatenate([each.gains(policies(each)[policy]) for each in found.values()])
        means = np.bincount(groups, weights=gains) / np.bincount(groups)
        told[policy] = {"gain": interval(means), "functions not below staying": int((means >= 0).sum())}
    return told


def log_score(chances: np.ndarray, wins: np.ndarray) -> float:
    """Mean of -log of the chance of what happened, per repeat; low is good."""
    p = np.clip(chances, 1e-6, 1 - 1e-6)
    return float(-(wins * np.log(p) + (1 - wins) * np.log(1 - p)).mean())


def share_score(wins: np.ndarray, groups: np.ndarray) -> float:
    """The log score of saying everywhere how often the other functions' repeats were won."""
    said = np.array([wins[groups != group].mean() for group in groups])
    return log_score(said, wins)


def draw_errors(found: dict[str, Evaluated], folder: Path) -> None:
    """Squared errors by function, beside what is attainable."""
    figure, axes = plt.subplots(len(found), 1, figsize=(9, 2.5 * len(found)), sharex=True, layout="constrained")
    for axis, (first, each) in zip(np.atleast_1d(axes), found.items(), strict=True):
        shown = {"mean of the other functions": each.errors(each.constant), "forest": each.errors(each.forest)}
        shown["attainable"] = each.attainable
        numbers = np.arange(1, each.points.groups.max() + 2)
        for (name, values), color, marker in zip(shown.items(), COLORS, "so_", strict=False):
            means = by_function(each.points, values[:, 1:].mean(axis=1))
            order = np.argsort([int(name) for name in np.unique(each.points.functions)])
            axis.plot(numbers, means[order], marker, color=color, label=name, markersize=7)
        axis.set(ylabel="mean squared error", title=f"switching from {first}", yscale="log")
        axis.set_xticks(numbers, [str(number) for number in np.sort(np.unique(each.points.functions).astype(int))])
    np.atleast_1d(axes)[0].legend(ncols=3, fontsize=8)
    np.atleast_1d(axes)[-1].set_xlabel("held-out function")
    figure.savefig(folder / "when-to-switch-errors.png", dpi=110)


def draw_reliability(found: dict[str, Evaluated], folder: Path) -> None:
    """Chances of winning as they were said, and as they came true."""
    figure, axes = plt.subplots(1, len(found), figsize=(3.4 * len(found), 3.6), sharey=True, layout="constrained")
    edges = np.linspace(0, 1, 9)
    for axis, (first, each) in zip(np.atleast_1d(axes), found.items(), strict=True):
        axis.plot([0, 1], [0, 1], color="0.6", linewidth=0.8)
        for time, color in ((0, COLORS[0]), (len(HORIZONS) - 1, COLORS[1])):
            said, came = each.chances[:, time, 1:].ravel(), each.points.wins()[:, time, 1:].ravel()
            bins = np.digitize(said, edges[1:-1])
            for i in np.unique(bins):
                here = bins == i
                axis.plot(
                    said[here].mean(), came[here].mean(), "o", color=color, markersize=3 + 25 * here.mean() ** 0.5
                )
            axis.plot([], [], "o", color=color, label=f"within {HORIZONS[time]}")
        axis.set(title=f"from {first}", xlabel="stated probability of winning", xlim=(0, 1), ylim=(0, 1))
    np.atleast_1d(axes)[0].set_ylabel("share of repeats won")
    np.atleast_1d(axes)[0].legend(fontsize=8)
    figure.savefig(folder / "when-to-switch-reliability.png", dpi=110)


def draw_gains(found: dict[str, Evaluated], folder: Path) -> None:
    """Realised gains by function, beside staying."""
    figure, axes = plt.subplots(len(found), 1, figsize=(9, 2.5 * len(found)), sharex=True, layout="constrained")
    named = {
        "always, the best of the other functions": "v",
        "forest": "s",
        "cautious forest": "D",
        f"ratings, {CONFIDENCE}": "o",
    }
    for axis, (first, each) in zip(np.atleast_1d(axes), found.items(), strict=True):
        order = np.argsort([int(name) for name in np.unique(each.points.functions)])
        numbers, chosen = np.arange(1, order.size + 1), policies(each)
        axis.axhline(0, color="0.4", linewidth=0.8)
        best = by_function(each.points, each.by_repeats)[order]
        axis.bar(numbers, best, color="0.88", label="chosen by other repeats of the point")
        for (name, marker), color in zip(named.items(), COLORS, strict=False):
            means = by_function(each.points, each.gains(chosen[name]))[order]
            axis.plot(numbers, means, marker, color=color, label=name, markersize=6)
        axis.set(ylabel="mean benefit", title=f"switching from {first}; 0 is never switching")
        axis.set_xticks(numbers, [str(number) for number in np.sort(np.unique(each.points.functions).astype(int))])
    np.atleast_1d(axes)[0].legend(ncols=2, fontsize=8)
    np.atleast_1d(axes)[-1].set_xlabel("held-out function")
    figure.savefig(folder / "when-to-switch-gains.png", dpi=110)


def main() -> None:
    """Record, evaluate, print and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--figures", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--functions", type=int, default=FUNCTIONS)
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--folds", type=int, help="default one for each function")
    parser.add_argument("--quick", action="store_true", help="quick check, takes a few minutes")
    size = parser.parse_args()
    if size.quick:
        size.functions, size.instances, size.runs, size.repeats = min(size.functions, 6), 1, 1, 2
    size.into.mkdir(parents=True, exist_ok=True)
    found = {first: evaluated(points, size.into, size.folds) for first, points in record(size.into, size).items()}
    told = {first: summary(each) for first, each in found.items()}
    for first in found:
        shares: dict[str, dict[str, float]] = json.loads((size.into / f"importance-{first}.json").read_text())
        told[first]["features that decide"] = {
            name: dict(sorted(each.items(), key=lambda share: -share[1])[:5]) for name, each in shares.items()
        }
    told["all three"] = together(found)
    (size.into / "summary.json").write_text(json.dumps(told, indent=1))
    print(json.dumps(told, indent=1))
    figures = size.figures or size.into
    figures.mkdir(parents=True, exist_ok=True)
    draw_errors(found, figures)
    draw_reliability(found, figures)
    draw_gains(found, figures)


if __name__ == "__main__":
    main()

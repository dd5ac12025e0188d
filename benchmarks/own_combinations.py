"""Do selectors generalize from BBOB to affine combinations of our own? The numbers of docs/studies/selection.md.

    python -m benchmarks.own_combinations --into FOLDER [--functions 300] [--runs 10] [--variables 2000] [--workers 2]

Five optimizers run on 24 x 5 BBOB instances and on affine combinations of these functions (MA-BBOB) in five variables,
each with ``--variables`` evaluations per variable. Features are computed on Latin hypercube designs, so that no
published data are involved. Selectors are trained on one set and evaluated on the other, as well as by cross-validation
over combinations, for three budgets. Everything is kept in FOLDER, so that the same command resumes after an
interruption. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polarbear as pb
from polarbear import landscape, store, study
from polarbear.optimizers import CMAES, ModularCMAES, ModularDE, NLopt
from polarbear.protocols import ProblemSpec
from polarbear.selectors import SETS, Cases, cross_validate, transfer

DIMENSION, DESIGNS = 5, 5
OPTIMIZERS = {
    "modular CMA-ES": ModularCMAES(),
    "diagonal CMA-ES": CMAES(separable=True),
    "DE": ModularDE(),
    "L-SHADE": ModularDE.variant("L-SHADE"),
    "COBYLA": NLopt(algorithm="LN_COBYLA"),
}
"""As in the published study, by other packages."""
SHARES = (0.05, 0.25, 1.0)
"""Budgets, as shares of the whole."""
KINDS = ("ratings", "cautious forest", "regression forest", "classification forest")


def cases(
    specs: Sequence[ProblemSpec], folder: Path, name: str, budgets: Sequence[int], asked: argparse.Namespace
) -> list[Cases]:
    """Cases of problems for each budget; all runs and features are kept."""
    path = folder / f"{name}.study"
    plan = study.Plan(OPTIMIZERS, specs, repetitions=asked.runs, budget=budgets[-1], target_precision=1e-8, seed=1)
    print(study.run_plan(plan, path, workers=asked.workers), flush=True)
    settings = {"designs": DESIGNS, "points": 200 * DIMENSION, "sets": SETS, "path": folder / f"{name}-features"}
    found = landscape.instances(specs, **settings)
    with store.open(path) as kept:
        runs = list(kept.runs())
    made = [Cases.of_runs([found], runs, budget) for budget in budgets]
    if name == "bbob":
        return made
    return [replace(each, functions=each.instances) for each in made]  # each combination is a function of its own


def main() -> None:
    """Run, evaluate, tell."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--functions", type=int, default=300, help="combinations")
    parser.add_argument("--runs", type=int, default=10, help="of each optimizer on each problem")
    parser.add_argument("--variables", type=int, default=2000, help="evaluations per variable")
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    asked.into.mkdir(parents=True, exist_ok=True)
    budgets = [round(share * asked.variables * DIMENSION) for share in SHARES]
    bbob = pb.problems.BBOB(functions=range(1, 25), dimensions=[DIMENSION], instances=range(1, 6)).grid()
    affine = [pb.problems.MABBOB(DIMENSION, seed=1)[i] for i in range(asked.functions)]
    sets = [cases(specs, asked.into, name, budgets, asked) for name, specs in (("bbob", bbob), ("ma-bbob", affine))]
    told = {}
    print("\n| budget | | single best | " + " | ".join(KINDS) + " |\n|---|---|---|" + "---|" * len(KINDS))
    for budget, on_bbob, on_affine in zip(budgets, *sets, strict=True):
        parts = {
            "BBOB to combinations": transfer(on_bbob, on_affine, KINDS, seed=1),
            "combinations to BBOB": transfer(on_affine, on_bbob, KINDS, seed=1),
            "combinations left out": cross_validate(on_affine, KINDS, seed=1),
            "BBOB functions left out": cross_validate(on_bbob, KINDS, seed=1),
        }
        for part, found in parts.items():
            told[f"{budget} {part}"] = found.as_dict()
            cells = []
            for kind in KINDS:
                mean, low, high = found.scores[kind].beside_single_best
                cells.append(f"{mean:+.4f} ({low:+.4f} to {high:+.4f}), {found.scores[kind].away.mean():.0%}")
            alone = found.scores["single best"]
            shift = "" if found.shift is None else f", p = {found.shift:.3f}"
            print(f"| {budget:,} | {part}{shift} | {alone.regret:.4f}, {alone.chosen[0]} | {' | '.join(cells)} |")
    (asked.into / "evaluations.json").write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()

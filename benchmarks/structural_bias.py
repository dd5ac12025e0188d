"""The study of structural bias in docs/studies/structural-bias.md: 94 optimizers on f0, and verdicts.

Run with ``python -m benchmarks.structural_bias bias.study [page.md]``; it takes 12 minutes on two cores, resumes
after an interruption, and prints or writes the table.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from polarbear.bias import Verdict, judge_runs
from polarbear.optimizers import ModularCMAES, ModularDE, Nevergrad, RandomSearch, ScipyMinimize
from polarbear.optimizers import ScipyDifferentialEvolution as ScipyDE
from polarbear.optimizers import ScipyDualAnnealing as ScipyAnnealing
from polarbear.optimizers.adapters import modcma, modde
from polarbear.problems import RandomValues
from polarbear.store import read
from polarbear.study import Plan, run_plan

DIMENSION, REPETITIONS, BUDGET = 5, 100, "200*d"
DE_FIELDS = ("base_sampler", "mutation_base", "mutation_reference", "crossover", "bound_correction")
DE_FIELDS += ("adaptation_method_F", "adaptation_method_CR")
DE_FLAGS = ("oppositional_initialization", "mutation_use_weighted_F", "use_archive", "eigenvalue_crossover", "lpsr")
CMA_FIELDS = ("step_size_adaptation", "matrix_adaptation", "restart_strategy", "bound_correction", "center_placement")
CMA_FIELDS += ("sampler", "mirrored", "weights")
CMA_FLAGS = ("active", "elitist", "orthogonal", "sequential_selection", "threshold_convergence", "sample_sigma")
NEVERGRAD = (
    "RandomSearch",
    "OnePlusOne",
    "DE",
    "TwoPointsDE",
    "PSO",
    "CMA",
    "TBPSA",
    "SPSA",
    "LHSSearch",
    "NelderMead",
)
NEVERGRAD += ("ScrHammersleySearch", "CauchyOnePlusOne", "EDA", "ES", "Cobyla", "cGA")
SCIPY = ("Nelder-Mead", "Powell", "L-BFGS-B", "COBYLA")


def one_by_one(name: str, made: Any, options: dict[str, Any], fields: tuple[str, ...], flags: tuple[str, ...]) -> Any:
    """An optimizer as it comes, and with one option set at a time, by name."""
    default = made()
    yield name, default
    for field in fields:
        for value in options[field]:
            if value != getattr(default, field):
                yield f"{name} {field}={value}", made(**{field: value})
    yield from ((f"{name} {flag}", made(**{flag: True})) for flag in flags)


def optimizers() -> Iterator[tuple[str, Any]]:
    """All optimizers by name."""
    yield "random search", RandomSearch()
    yield from one_by_one("modDE", ModularDE, modde.OPTIONS, DE_FIELDS, DE_FLAGS)
    yield from one_by_one("modCMA", ModularCMAES, modcma.OPTIONS, CMA_FIELDS, CMA_FLAGS)
    yield from ((f"nevergrad {name}", Nevergrad(algorithm=name, budget=500)) for name in NEVERGRAD)
    yield from ((f"scipy {method}", ScipyMinimize(method=method)) for method in SCIPY)
    yield "scipy differential evolution", ScipyDE()
    yield "scipy dual annealing", ScipyAnnealing()


def row(verdict: Verdict) -> str:
    """A row of the table."""
    found = verdict.bias
    kind = f"{found.kind} ({found.probabilities[found.kind]:.0%})" if found.biased else ""
    tests = int(found.counts.sum())
    return f"| {verdict.algorithm} | {'yes' if found.biased else 'no'} | {tests} | {found.p_value:.1g} | {kind} |"


def main() -> None:
    """Run what is missing and write the table."""
    study = Path(sys.argv[1])
    suite = RandomValues(dimensions=(DIMENSION,))
    run_plan(Plan(dict(optimizers()), suite, repetitions=REPETITIONS, budget=BUDGET, draws=1, check=False), study)
    rows = [row(verdict) for verdict in judge_runs(read(study))]
    header = ["| optimizer | biased | tests | p | most like |", "|---|---|---|---|---|"]
    table = "\n".join([*header, *rows])
    print(table)
    print(f"{sum(' yes ' in each for each in rows)} of {len(rows)} are biased")
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(table + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

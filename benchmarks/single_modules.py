"""Table 4.4 of the thesis (Vermetten 2025) reproduced: the best single module of modular CMA-ES, and its default.

    python -m benchmarks.single_modules --into FOLDER [--repetitions 5] [--workers 2]

Both in the Python modcma, which the thesis used and whose PSR works, and in the C++ one, which
`optimizers.ModularCMAES` wraps: on the 24 BBOB functions in five dimensions, first instances, 50,000 evaluations.
Everything is kept in FOLDER, so that the same command resumes after an interruption.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from modcma import ModularCMAES
from scipy import stats

import polarbear as pb
from polarbear.assess.runtimes import first_hits
from polarbear.records import Run

DIMENSION, BUDGET = 5, 50_000
TARGETS = 10.0 ** (2 - np.arange(51) / 5)
PRINTED = {
    1: ("elitist", True, 247, 326),
    2: ("active", True, 1272, 1659),
    3: ("local_restart", "BIPOP", 38374, 44518),
    4: ("local_restart", "IPOP", 41746, 44613),
    5: ("step_size_adaptation", "m-xnes", 43, 63),
    6: ("elitist", True, 655, 904),
    7: ("step_size_adaptation", "tpa", 1312, 39199),
    8: ("base_sampler", "halton", 1186, 4544),
    9: ("base_sampler", "sobol", 959, 2470),
    10: ("active", True, 1309, 1729),
    11: ("active", True, 1162, 1749),
    12: ("base_sampler", "sobol", 2186, 2980),
    13: ("active", True, 1627, 2191),
    14: ("active", True, 601, 831),
    15: ("local_restart", "BIPOP", 30380, 43313),
    16: ("local_restart", "BIPOP", 8172, 34132),
    17: ("threshold_convergence", True, 12464, 26884),
    18: ("threshold_convergence", True, 15764, 33724),
    19: ("mirrored", "mirrored", 33567, 36688),
    20: ("threshold_convergence", True, 36482, 40691),
    21: ("local_restart", "IPOP", 38028, 40371),
    22: ("mirrored", "mirrored", 566, 8632),
    23: ("step_size_adaptation", "msr", 11060, 34433),
    24: ("local_restart", "IPOP", 42099, 44351),
}
"""By function the best module, its option, and the areas over the ECDF that the thesis prints of it and the default."""
IN_CPP = {"local_restart": "restart_strategy", "base_sampler": "sampler", "m-xnes": "MXNES"}
"""What C++ calls otherwise."""


@dataclass(frozen=True)
class PythonCMAES:
    """The CMA-ES of Python's modcma with one module changed; it never ends, as in the thesis."""

    module: str = ""
    option: str | bool = False

    @property
    def name(self) -> str:
        return f"Python {self.module} {self.option}" if self.module else "Python default"

    def __call__(self, problem: Any, rng: np.random.Generator) -> None:
        np.random.seed(rng.integers(2**32))  # noqa: NPY002 (modcma draws from the process' generator)
        changed = {self.module: self.option} if self.module else {}
        ModularCMAES(problem, problem.dimension, budget=BUDGET, target=-np.inf, **changed).run()


def in_cpp(module: str = "", option: str | bool = False) -> pb.optimizers.ModularCMAES:
    """The same in C++, by the name that its modules give it."""
    changed = {IN_CPP.get(module, module): IN_CPP.get(str(option), option)} if module else {}
    return pb.optimizers.ModularCMAES(**changed, name=f"C++ {module} {option}" if module else "C++ default")


def area(run: Run) -> float:
    """Evaluations to a target, mean of 51: the area over the ECDF."""
    hits = first_hits(run.trajectory.evaluations, run.trajectory.values - (run.optimum or 0.0), TARGETS)
    return float(np.minimum(hits, BUDGET).mean())


def main() -> None:
    """Run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    options.into.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    print("| | module | printed | Python | C++ | default, printed | Python | C++ |\n|---|" + "---|" * 7)
    pairs: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for function, (module, option, best, default) in PRINTED.items():
        entrants = [PythonCMAES(module, option), in_cpp(module, option), PythonCMAES(), in_cpp()]
        if function == 23:
            entrants.append(PythonCMAES("step_size_adaptation", "psr"))
        instances = pb.problems.BBOB(functions=[function], dimensions=[DIMENSION], instances=[1])
        size = {"repetitions": options.repetitions, "budget": BUDGET, "target_precision": 1e-8, "seed": 1}
        path = options.into / f"f{function}.study"
        pb.study.run_plan(pb.study.Plan(entrants, instances, **size), path, workers=options.workers)
        areas: defaultdict[str, list[float]] = defaultdict(list)
        with pb.store.open(path) as study:
            for run in study.runs():
                areas[run.key.algorithm].append(area(run))
        cells = {name: f"{np.mean(each):,.0f} ± {stats.sem(each):,.0f}" for name, each in areas.items()}
        names = [each.name for each in entrants]
        row = [best, cells[names[0]], cells[names[1]], default, cells[names[2]], cells[names[3]]]
        print(f"| f{function} | {module} {option} | " + " | ".join(map(str, row)) + " |", flush=True)
        for name in names[4:]:
            print(f"| f{function} | {name} | | {cells[name]} | | | | |", flush=True)
        for name, printed in zip(names[:4], (best, best, default, default), strict=True):
            language = name.split()[0]
            pairs[language].append((float(np.mean(areas[name])), float(printed)))
    for language, each in pairs.items():
        ratios = np.divide(*np.array(each).T)
        within = np.mean((ratios > 0.1) & (ratios < 10))
        print(f"\n{language}: median ratio to the printed {np.median(ratios):.2f}, within a factor of ten {within:.0%}")


if __name__ == "__main__":
    main()

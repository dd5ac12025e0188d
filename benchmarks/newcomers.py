"""Newcomers of a search compared: near elites, by the model of effects, at random, and SMAC where it is installed.

    python -m benchmarks.newcomers [--searches 20] [--budget 300]

The searches are on synthetic spaces whose best configuration is known: the loss is a sum of effects of options and
numbers, with interacting pairs in one of the spaces, and random effects of instances and runs. All use the strategy
"bootstrap".
"""

from __future__ import annotations

import argparse
import time
import zlib
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

import numpy as np

import polarbear as pb
from polarbear.configure import Configurator, Space, spaces
from polarbear.racing import Request

TIMES = np.array([10.0, 100.0, 1000.0])
MODULES = ("active", "elitist", "mirrored", "orthogonal", "sampler", "weights", "threshold_convergence")
SEARCHES: dict[str, dict[str, Any]] = {
    "near": {"strategy": "bootstrap", "newcomers": "near"},
    "modelled": {"strategy": "bootstrap", "newcomers": "modelled"},
    "anywhere (random)": {"strategy": "random"},
    "SMAC": {"strategy": "smac"},
}
Loss = Callable[[Mapping[str, Any]], float]


def space() -> Space:
    """Seven modules and two numbers."""
    return spaces.of(pb.optimizers.ModularCMAES, MODULES, population_size=(4, 40), c1=(0, 1))


def losses(searched: Space, seed: int, pairs: bool) -> Loss:
    """A loss of at least 0 in decades: by module up to 0.5 beside the best option, by number up to 0.6."""
    rng = np.random.default_rng([seed, 7])
    costs: dict[str, dict[Any, float]] = {}
    for name in MODULES:
        drawn = rng.uniform(0, 0.5, len(options := searched.options(name)))
        costs[name] = dict(zip(options, drawn - drawn.min(), strict=True))
    best = dict(zip(("c1", "population_size"), rng.uniform(0.1, 0.9, 2), strict=True))
    couples = [tuple(rng.choice(MODULES, 2, replace=False)) for _ in range(3 * pairs)]

    def loss(configuration: Mapping[str, Any]) -> float:
        found = sum(costs[name][configuration[name]] for name in MODULES)
        for name, at in best.items():
            if name in configuration:
                found += 0.6 * abs(float(searched.space[name].to_vector(configuration[name])) - at)
            else:
                found += 0.3
        for first, second in couples:  # the best option of only one of the two is bad
            found += 0.5 * ((costs[first][configuration[first]] == 0) != (costs[second][configuration[second]] == 0))
        return found

    return loss


def run_of(request: Request, level: float) -> pb.Run:
    """A run whose values fall by a decade per decade, with a luck of its own and an instance as hard for all."""
    own = zlib.crc32(request.key.algorithm.encode())
    instance, luck = (np.random.default_rng([request.key.seed, each]).normal() for each in (0, own))
    values = 10.0 ** (level + instance + 0.5 * luck - np.log10(TIMES))
    outcome = pb.Outcome(pb.Reason.BUDGET, int(TIMES[-1]), 0.5)
    return pb.Run(request.key, pb.Trajectory(TIMES.astype(int), np.zeros(3), values, outcome), optimum=0.0)


def found_by(settings: Mapping[str, Any], loss: Loss, budget: int, seed: int) -> float:
    """The true loss of the first elite of a search."""
    search = Configurator(space(), times=TIMES, budget=budget, seed=seed, **settings)
    while requests := search.ask():
        search.tell(run_of(each, loss(search.configurations[each.key.algorithm])) for each in requests)
    return loss(search.configurations[search.elites[0]])


def main() -> None:
    """Search and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=20)
    parser.add_argument("--budget", type=int, default=300)
    parser.add_argument("--only", nargs="+", choices=SEARCHES, default=[*SEARCHES])
    options = parser.parse_args()
    print("| | sums of effects | with pairs | processor seconds per search |\n|---|---|---|---|", flush=True)
    for name in options.only:
        if name == "SMAC" and find_spec("smac") is None:
            continue
        begun, cells = time.process_time(), list[str]()
        for pairs in (False, True):
            found = [
                found_by(SEARCHES[name], losses(space(), seed, pairs), options.budget, seed)
                for seed in range(options.searches)
            ]
            cells.append(f"{np.mean(found):.2f} ± {np.std(found, ddof=1) / len(found) ** 0.5:.2f}")
        each = (time.process_time() - begun) / (2 * options.searches)
        print(f"| {name} | {cells[0]} | {cells[1]} | {each:.1f} |", flush=True)
    defaults = [
        np.mean([losses(space(), seed, p)(space().default) for seed in range(options.searches)]) for p in (0, 1)
    ]
    print(f"| default | {defaults[0]:.2f} | {defaults[1]:.2f} | |")


if __name__ == "__main__":
    main()

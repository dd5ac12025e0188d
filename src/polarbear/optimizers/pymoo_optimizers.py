"""The evolutionary algorithms of pymoo, for one objective and for several.

How `pymoo` 0.6.2 is used:

- Whole generations are evaluated at once; with constraints point by point, as each point has its constraints' values.
- Its random state is seeded from the run's generator. Algorithms that draw from unseeded generators besides are left
  out, and so are ISRES and SRES on problems with constraints.
- Every start has a copy of the algorithm, as in `pymoo.optimize.minimize`: its operators are shared default arguments,
  which keep what they learn of a problem.
- Values above 1e100 count as 1e100: differences of infinite ones break its termination and its crowding distances.
- With one objective it stops where pymoo's own criterion of the algorithm says so, and starts again; with several it
  goes on until no new points can be found.
"""

from __future__ import annotations

import copy
import importlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.adapters import (
    check_taken,
    constraints,
    finite,
    global_generators,
    integers,
    named,
    objectives,
    seed_from,
)
from polarbear.optimizers.arguments import checked_keywords, did_you_mean, flag, number
from polarbear.optimizers.telemetry import expose, recommend

if TYPE_CHECKING:
    from polarbear.protocols import Objective, Traits
    from polarbear.records import FloatArray

_DIFFERENTIAL = ("variant", "CR", "F", "gamma")
_STRATEGY = ("n_offsprings", "rule", "phi", "gamma")
_COVARIANCE = ("sigma", "tolfun", "tolx", "restarts", "incpopsize")

SINGLE: dict[str, tuple[str, tuple[str, ...]]] = {
    "GA": ("ga", ("n_offsprings",)),
    "DE": ("de", ("n_offsprings", "variant", "CR", "F", "jitter", "prob_mut")),
    "PSO": (
        "pso", ("w", "c1", "c2", "adaptive", "initial_velocity", "max_velocity_rate", "pertube_best"),
    ),
    "EPPSO": ("pso_ep", ("topology", "init_V")),
    "CMAES": ("cmaes", (*_COVARIANCE, "bipop")),
    "BIPOPCMAES": ("cmaes", _COVARIANCE),
    "ES": ("es", _STRATEGY),
    "ISRES": ("isres", (*_STRATEGY, "alpha")),
    "SRES": ("sres", (*_STRATEGY, "PF")),
    "NelderMead": ("nelder", ()),
    "G3PCX": ("g3pcx", ("n_offsprings", "n_parents", "family_size")),
    "NicheGA": ("ga_niching", ("norm_niche_size", "norm_by_dim")),
}  # fmt: skip
"""The algorithms for one objective: their module in `pymoo.algorithms.soo.nonconvex`, and their options."""

MULTI: dict[str, tuple[str, tuple[str, ...]]] = {
    "NSGA2": ("nsga2", ("n_offsprings",)),
    "NSGA3": ("nsga3", ("n_offsprings",)),
    "UNSGA3": ("unsga3", ("n_offsprings",)),
    "MOEAD": ("moead", ("n_neighbors", "prob_neighbor_mating")),
    "ParallelMOEAD": ("moead", ("n_neighbors", "prob_neighbor_mating")),
    "SMSEMOA": ("sms", ("n_offsprings",)),
    "AGEMOEA": ("age", ("n_offsprings",)),
    "CTAEA": ("ctaea", ()),
    "GDE3": ("gde3", _DIFFERENTIAL),
    "NSDE": ("nsde", _DIFFERENTIAL),
    "NSDER": ("nsder", _DIFFERENTIAL),
}
"""The algorithms for several objectives: their module in `pymoo.algorithms.moo`, and their options."""

ALGORITHMS = SINGLE | MULTI

WITH_DIRECTIONS = frozenset({"NSGA3", "UNSGA3", "MOEAD", "ParallelMOEAD", "CTAEA", "NSDER"})
"""The algorithms whose population follows reference directions."""

UNCONSTRAINED = frozenset({"MOEAD", "ParallelMOEAD", "ISRES", "SRES"})
"""The algorithms that take no problems with constraints."""

LEFT_OUT = {
    **dict.fromkeys(
        ("PatternSearch", "DIRECT", "SPEA2", "CMOPSO", "MOPSO_CD"), "its runs cannot be repeated in pymoo 0.6.2"
    ),
    **dict.fromkeys(("RVEA", "NRBO"), "it has to know the number of generations"),
    **dict.fromkeys(("DNSGA2", "KGB"), "it is made for problems that change"),
    **dict.fromkeys(("RNSGA2", "RNSGA3", "PINSGA2"), "it is made for a user's preferences"),
    "AGEMOEA2": "it fails where all values are equal",
    "BRKGA": "it is made for random keys, and never returns with one variable",
    "SimpleCMAES": "CMAES is the same algorithm",
    "Optuna": "it needs another package",
    "RandomSearch": "see the optimizer random-search",
}
"""The algorithms of pymoo that are not offered, and why."""

MATINGS = 10
"""How often mating is tried for points that are new, with integer variables; pymoo's 100 take long in small spaces."""

DIRECTIONS = 100
"""How many reference directions there are at most, unless a population size is given."""


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class Pymoo:
    """An algorithm of pymoo, in the problem's box.

    Integer variables are rounded before they are evaluated. It recommends pymoo's optimum: with one objective the best
    point, with several (m, d) points, feasible ones if there are any. It exposes ``generation``, the number of the
    generation since it last started.

    Attributes:
        algorithm: Which one of `SINGLE` or `MULTI`; upper or lower case. The former take problems of one objective,
            the latter of several.
        population_size: Points per generation; None for pymoo's choice. The algorithms of `WITH_DIRECTIONS` take the
            greatest number of evenly spaced directions (Das and Dennis) up to it, or up to 100.
        options: The algorithm's own options.
        restarts: Whether to start again with a new population whenever the algorithm stops, endlessly; else the run
            ends then.
        name: What it is called; by default "pymoo", the algorithm, and what is given.

    Raises:
        TypeError: If a keyword is unknown or has the wrong type.
        ValueError: If the algorithm or an option is unknown; valid ones are listed.
    """

    requires: ClassVar = Extra("pymoo", "pymoo")
    one_at_a_time: ClassVar = True

    algorithm: str = "GA"
    population_size: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    restarts: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        for name, why in LEFT_OUT.items():
            if str(self.algorithm).lower() == name.lower():
                raise ValueError(f"algorithm is {self.algorithm!r}, which is left out: {why}")
        algorithm = named(self.algorithm, "algorithm", ALGORITHMS)
        valid = ALGORITHMS[algorithm][1]
        for key in self.options:
            if key not in valid:
                raise ValueError(f"{algorithm} has no option {key!r};{did_you_mean(str(key), valid)}")
        if algorithm == "CMAES" and not self.options.get("restarts"):
            for key in ("bipop", "incpopsize"):
                if self.options.get(key):
                    raise ValueError(
                        f"CMAES has no use for option {key!r} without its own restarts; give options such as "
                        f"{{'restarts': 9, {key!r}: {self.options[key]!r}}}, or take BIPOPCMAES"
                    )
        size = number(self.population_size, "population_size", 4, 10**6, whole=True)
        if size is not None and algorithm == "NelderMead":
            raise ValueError(f"population_size is {size!r}, which NelderMead has no use for; leave it out")
        checked = {"algorithm": algorithm, "population_size": size, "options": dict(self.options)}
        for key, value in (checked | {"restarts": flag(self.restarts, "restarts")}).items():
            object.__setattr__(self, key, value)
        if not self.name:
            given = [f"population_size={size}"] if size is not None else []
            given += [f"{key}={value}" for key, value in self.options.items()]
            given += [] if self.restarts else ["not-restarts"]
            object.__setattr__(self, "name", "-".join(["pymoo", algorithm, *given]))

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Evolve until the problem stops it, or until the algorithm stops and is not restarted.

        Raises:
            ImportError: `pymoo` is not installed.
            ValueError: The problem has the wrong number of objectives for the algorithm, or constraints that it
                cannot take.
        """
        check_taken(self, problem)
        optional("pymoo", "pymoo", "this optimizer")
        state: dict[str, Any] = {}
        expose(problem, generation=lambda: float(state["algorithm"].n_iter or 0))
        seen = _seen(problem)
        recommend(problem, lambda: _optimum(state["algorithm"], seen, single=self.algorithm in SINGLE))
        with global_generators():  # CMAES seeds NumPy's
            while True:
                before = seen.evaluations
                state["algorithm"] = algorithm = self._made(objectives(problem), seen.mask)
                with np.errstate(all="ignore"):
                    algorithm.setup(seen, seed=seed_from(rng), verbose=False)
                _run(algorithm, seen)
                if not self.restarts or seen.evaluations == before:
                    return

    def refuses(self, traits: Traits, dimension: int, /) -> str:  # noqa: ARG002 - other optimizers need it
        """Why it takes no problem of these traits and so many variables; empty if it takes them."""
        count, constrained = traits.objectives, traits.constraints
        others = ", ".join(sorted(set(SINGLE if count == 1 else MULTI) - (UNCONSTRAINED if constrained else set())))
        if (count == 1) != (self.algorithm in SINGLE):
            wanted = "one objective" if self.algorithm in SINGLE else "several objectives"
            told = f"pymoo's {self.algorithm} takes problems of {wanted}; the problem has {count}"
            return f"{told}; take one of {others}"
        if constrained and self.algorithm in UNCONSTRAINED:
            return f"pymoo's {self.algorithm} takes no constraints here; take one of {others}"
        return ""

    def _made(self, count: int, mask: Any) -> Any:
        """The algorithm for a number of objectives and a mask of integer variables, not yet set up."""
        kind = "soo.nonconvex" if self.algorithm in SINGLE else "moo"
        module = importlib.import_module(f"pymoo.algorithms.{kind}.{ALGORITHMS[self.algorithm][0]}")
        given: dict[str, Any] = dict(self.options)
        if self.algorithm in WITH_DIRECTIONS:
            given["ref_dirs"] = _directions(count, self.population_size or DIRECTIONS)
        elif self.population_size is not None:
            given["pop_size"] = self.population_size
        made = copy.deepcopy(getattr(module, self.algorithm)(**given))
        genetic = importlib.import_module("pymoo.algorithms.base.genetic").GeneticAlgorithm
        if mask is not None and isinstance(made, genetic):
            made.repair = made.initialization.repair = _rounding(mask)
            if made.mating is not None:
                made.mating.repair = made.repair
                made.mating.n_max_iterations = MATINGS
        if self.algorithm in MULTI:
            made.termination = importlib.import_module("pymoo.core.termination").NoTermination()
        return made


def _run(algorithm: Any, problem: Any) -> None:
    """Run an algorithm until it stops."""
    while algorithm.has_next():
        with np.errstate(all="ignore"):
            points = algorithm.infill()
        if points is not None:
            algorithm.evaluator.eval(problem, points, algorithm=algorithm)
        with np.errstate(all="ignore"):
            algorithm.advance(infills=points)


def _optimum(algorithm: Any, seen: Any, *, single: bool) -> FloatArray:
    """The best point (d,), or points (m, d) of a run; the box's centre before the first generation's end."""
    if algorithm.opt is None or not len(algorithm.opt):
        return (seen.xl + seen.xu) / 2
    points = rounded(np.array(algorithm.opt.get("X"), dtype=np.float64), seen.mask)
    return points[0] if single else points


def _seen(problem: Objective) -> Any:
    """The problem as pymoo sees it; its attributes `mask` and `evaluations` are for the caller."""
    core: Any = importlib.import_module("pymoo.core.problem")
    mask, constrained = integers(problem), constraints(problem)
    count = objectives(problem)

    class Seen(core.Problem):
        evaluations = 0

        def _evaluate(self, x: Any, out: dict[str, Any]) -> None:
            points = rounded(np.array(x, dtype=np.float64), mask)
            Seen.evaluations += len(points)
            if constrained is None:
                told = problem(points)
            else:
                rows = [(problem(point), np.array(constrained[1](point), dtype=np.float64)) for point in points]
                told = [value for value, _ in rows]
                out["G"] = finite([violation for _, violation in rows])
            out["F"] = finite(told).reshape(len(points), count)

    seen: Any = Seen(
        n_var=problem.dimension,
        n_obj=count,
        n_ieq_constr=constrained[0] if constrained else 0,
        xl=np.array(problem.lower, dtype=np.float64),
        xu=np.array(problem.upper, dtype=np.float64),
    )
    seen.mask = mask
    return seen


def rounded(points: FloatArray, mask: Any) -> FloatArray:
    """`points` (m, d) with the variables of `mask` (d,) rounded, if there is one."""
    if mask is not None:
        points[:, mask] = np.rint(points[:, mask])
    return points


def _rounding(mask: Any) -> Any:
    repair: Any = importlib.import_module("pymoo.core.repair").Repair

    class Rounding(repair):
        def _do(self, problem: Any, X: Any, **keywords: Any) -> Any:  # noqa: ARG002, N803 - pymoo's signature
            return rounded(np.array(X, dtype=np.float64), mask)

    return Rounding()


def _directions(count: int, size: int) -> FloatArray:
    """(n, k) reference directions in the unit simplex, evenly spaced, n at most `size` but no fewer than k."""
    partitions = 1
    while math.comb(partitions + count, count - 1) <= size:
        partitions += 1
    made = importlib.import_module("pymoo.util.ref_dirs").get_reference_directions
    return made("das-dennis", count, n_partitions=partitions)

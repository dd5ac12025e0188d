"""The evolutionary algorithms of pymoo, for one or several objectives.

How `pymoo` 0.6.2 is used:

- Whole generations are evaluated at once; with constraints, point by point, each with its constraint values.
- Its random state is seeded from the run's generator. Algorithms that also draw from unseeded generators are left out,
  and so are ISRES and SRES on problems with constraints.
- Every start uses a copy of the algorithm, as in `pymoo.optimize.minimize`: its operators are shared default arguments
  that remember problems.
- Values above 1e100 count as 1e100: differences of infinite ones break its termination and its crowding distances.
- With one objective, it stops by pymoo's own criterion for the algorithm and starts again; with several, it continues
  until it finds no new points.
"""

from __future__ import annotations

import copy
import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.archives import center_of
from polarbear.optimizers.generators import OwnGenerators, seed_from
from polarbear.optimizers.native import Continuable, Space, State, clip_values
from polarbear.optimizers.settings import check_options, choice_of, family
from polarbear.optimizers.transfer import known_points
from polarbear.protocols import Traits, WarmStart
from polarbear.records import FloatArray
from polarbear.validation import Flag, whole

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
"""The algorithms for one objective: their modules in `pymoo.algorithms.soo.nonconvex`, and their options."""

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
"""The algorithms for several objectives: their modules in `pymoo.algorithms.moo`, and their options."""

ALGORITHMS = SINGLE | MULTI

WITH_DIRECTIONS = frozenset({"NSGA3", "UNSGA3", "MOEAD", "ParallelMOEAD", "CTAEA", "NSDER"})
"""The algorithms whose population follows reference directions."""

UNCONSTRAINED = frozenset({"MOEAD", "ParallelMOEAD", "ISRES", "SRES"})
"""The algorithms that do not accept constraints."""

UNSAVABLE = frozenset({"CMAES", "BIPOPCMAES", "NelderMead", "G3PCX", "MOEAD"})
"""The algorithms whose states cannot be saved: they are generators, which cannot be pickled."""

LEFT_OUT = {
    **dict.fromkeys(
        ("PatternSearch", "DIRECT", "SPEA2", "CMOPSO", "MOPSO_CD"), "its runs cannot be repeated in pymoo 0.6.2"
    ),
    **dict.fromkeys(("RVEA", "NRBO"), "it needs the number of generations in advance"),
    **dict.fromkeys(("DNSGA2", "KGB"), "it is for dynamic problems"),
    **dict.fromkeys(("RNSGA2", "RNSGA3", "PINSGA2"), "it needs a user's preferences"),
    "AGEMOEA2": "it fails where all values are equal",
    "BRKGA": "it is for random keys, and never returns with one variable",
    "SimpleCMAES": "use CMAES, the same algorithm",
    "Optuna": "it needs another package",
    "RandomSearch": "use the optimizer random-search",
}
"""The algorithms of pymoo that are not offered, with the reasons."""

MATINGS = 10
"""Maximum number of mating attempts for new points with integer variables; pymoo's 100 take long in small spaces."""

DIRECTIONS = 100
"""Maximum number of reference directions, unless a population size is given."""


@dataclass(kw_only=True, eq=False)
class _State(State):
    """The state of a run.

    Attributes:
        rng: The random generator for starts.
        problem: The problem as pymoo sees it.
        algorithm: The algorithm of the current start.
        individuals: The individuals it is evaluating.
        points: (m, d) the points of those individuals.
        begun: Number of evaluations before the current start.
        generators: The global generators that its operators draw from.
    """

    rng: np.random.Generator
    problem: Any
    algorithm: Any = None
    individuals: Any = None
    points: Any = None
    begun: int = 0
    generators: OwnGenerators = field(default_factory=OwnGenerators)


@family("pymoo", "pymoo-{algorithm}", algorithms=("pymoo", "algorithm", lambda: ALGORITHMS))
class Pymoo(Continuable[_State]):
    """An algorithm of pymoo, in the problem's box.

    Integer variables are rounded before evaluation. The recommendation is pymoo's optimum: the best point or, with
    several objectives, (m, d) points, feasible ones if there are any. ``generation``, the number of the generation
    since the last start, is exposed.

    Attributes:
        algorithm: One of `SINGLE` or `MULTI`, in upper or lower case. The former accept problems of one objective, the
            latter of several.
        population_size: Points per generation; None for pymoo's choice. The algorithms of `WITH_DIRECTIONS` take the
            largest number of evenly spaced directions (Das and Dennis) up to it, or up to 100.
        options: The algorithm's own options.
        restarts: Whether to start again with a new population, endlessly, whenever the algorithm stops; otherwise the
            run ends.
        name: The optimizer's name; by default "pymoo", the algorithm, and the fields that differ from their defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    requires = Extra("pymoo", "pymoo")
    one_at_a_time = True
    takes_constraints = True

    algorithm: Annotated[str, choice_of(ALGORITHMS, left_out=LEFT_OUT)] = "GA"
    population_size: Annotated[int, whole(4, 10**6)] | None = None
    options: dict[str, Any] = field(default_factory=dict[str, Any], hash=False)
    restarts: Flag = True
    name: str = ""

    def __post_init__(self) -> None:
        check_options(self.options, self.algorithm, ALGORITHMS[self.algorithm][1])
        for key in ("bipop", "incpopsize"):
            if self.algorithm == "CMAES" and self.options.get(key) and not self.options.get("restarts"):
                raise ValueError(
                    f"CMAES uses option {key!r} only with its own restarts; give options such as "
                    f"{{'restarts': 9, {key!r}: {self.options[key]!r}}}, or use BIPOPCMAES"
                )
        if self.population_size is not None and self.algorithm == "NelderMead":
            raise ValueError(f"population_size is {self.population_size}, which NelderMead does not use; leave it out")

    def _init(self, space: Space, rng: np.random.Generator) -> _State:
        optional(*self.requires, "this optimizer")
        state = _State(space=space, rng=rng, problem=_problem(space))
        with state.generators:
            self._start(state)
        return state

    def _start(self, state: _State) -> None:
        traits = state.space.traits
        state.begun = state.evaluations
        state.algorithm = self.build(traits.objectives, traits.integer_mask)
        with np.errstate(all="ignore"):
            state.algorithm.setup(state.problem, seed=seed_from(state.rng), verbose=False)
        self._advance(state)

    def _warm(self, state: _State, start: WarmStart) -> None:
        """Replace the first points to evaluate by the latest known ones, including the best one."""
        points, values = known_points(start, state.space)
        individuals = np.atleast_1d(state.individuals)
        size = len(individuals)
        chosen = list(range(max(len(values) - size, 0), len(values)))
        if len(values) and (best := int(values.argmin())) not in chosen:
            chosen[0] = best
        for individual, index in zip(individuals, chosen, strict=False):
            individual.X, individual.F = points[index].copy(), clip_values(values[index : index + 1])
            individual.evaluated = {"F", "G", "H"}
        state.points = state.points[len(chosen) :]
        if not state.points:
            with state.generators, np.errstate(all="ignore"):
                state.algorithm.advance(infills=state.individuals)
                self._advance(state)

    def reseed(self, state: _State, rng: np.random.Generator) -> None:
        """Reseed the random states; the generation already asked for stays as it is."""
        state.algorithm.random_state = np.random.default_rng(seed_from(rng))
        state.generators.reseed(seed_from(rng))

    def _advance(self, state: _State) -> None:
        """Go on to the next points to evaluate, with a new start if the algorithm has stopped."""
        algorithm = state.algorithm
        with np.errstate(all="ignore"):
            while algorithm.has_next():
                state.individuals = algorithm.infill()
                if state.individuals is not None:
                    each = np.atleast_1d(state.individuals)
                    state.points = [individual.X for individual in each if not {"F", "G", "H"} <= individual.evaluated]
                    if state.points:
                        return
                algorithm.advance(infills=state.individuals)
        state.ended = not self.restarts or state.evaluations == state.begun
        if not state.ended:
            self._start(state)

    def _ask(self, state: _State) -> FloatArray:
        return round_integers(np.array(state.points, dtype=np.float64), state.space.traits.integer_mask)

    def _tell(self, state: _State, values: Any) -> None:
        algorithm, state.problem.answer = state.algorithm, {"F": clip_values(values).reshape(len(values), -1)}
        if state.constraints is not None:
            state.problem.answer["G"] = clip_values(state.constraints)
        with state.generators, np.errstate(all="ignore"):
            algorithm.evaluator.eval(state.problem, state.individuals, algorithm=algorithm)
            algorithm.advance(infills=state.individuals)
            self._advance(state)

    def running(self, state: _State) -> OwnGenerators:
        """The context of a run, which separates NumPy's and Python's global generators, as CMAES seeds them."""
        return state.generators

    def diagnostics(self, state: _State) -> dict[str, Callable[[_State], float]]:  # noqa: ARG002 - the protocol
        """A reader of ``generation``, the number of the generation since the last start."""
        return {"generation": lambda state: float(state.algorithm.n_iter or 0)}

    def recommendation(self, state: _State) -> FloatArray:
        """The best point (d,) or points (m, d) of a run; the box's centre until the first generation ends."""
        best, space = state.algorithm.opt, state.space
        if best is None or not len(best):
            return center_of(space)
        points = round_integers(np.array(best.get("X"), dtype=np.float64), space.traits.integer_mask)
        return points[0] if self.algorithm in SINGLE else points

    def warm_start(self, state: _State) -> WarmStart:
        """What another optimizer can start from: the best point and, once evaluated, the population."""
        population = state.algorithm.pop
        if not state.algorithm.is_initialized or population is None or not len(population):
            return super().warm_start(state)
        points, values = (np.array(population.get(key), dtype=np.float64) for key in "XF")
        if not values.size:
            return super().warm_start(state)
        values = values if state.space.traits.objectives > 1 else values[:, 0]
        return replace(super().warm_start(state), population=points, values=values)

    def save(self, state: _State) -> bytes:
        """A state as bytes.

        Raises:
            TypeError: If the algorithm is one of `UNSAVABLE`.
        """
        if self.algorithm in UNSAVABLE:
            raise TypeError(f"a state of {self.name} cannot be saved: pymoo runs {self.algorithm} as a generator")
        return super().save(state)

    def refuses(self, traits: Traits, dimension: int, /) -> str:  # noqa: ARG002 - other optimizers need it
        """The reason why it refuses problems of these traits and this dimension; empty if it accepts them."""
        single, constrained = traits.objectives == 1, traits.constraints > 0
        others = ", ".join(sorted(set(SINGLE if single else MULTI) - (UNCONSTRAINED if constrained else set())))
        if single != (self.algorithm in SINGLE):
            wanted = "several objectives" if single else "one objective"
            return (
                f"pymoo's {self.algorithm} takes problems with {wanted}; the problem has {traits.objectives}; "
                f"use one of {others}"
            )
        if constrained and self.algorithm in UNCONSTRAINED:
            return f"pymoo's {self.algorithm} does not accept constraints here; use one of {others}"
        return ""

    def build(self, objectives: int, mask: Any) -> Any:
        """The algorithm of pymoo, not yet set up.

        Args:
            objectives: Number of objectives.
            mask: (d,) mask of the integer variables; None if there are none.
        """
        kind = "soo.nonconvex" if self.algorithm in SINGLE else "moo"
        module = importlib.import_module(f"pymoo.algorithms.{kind}.{ALGORITHMS[self.algorithm][0]}")
        arguments: dict[str, Any] = dict(self.options)
        if self.algorithm in WITH_DIRECTIONS:
            arguments["ref_dirs"] = _directions(objectives, self.population_size or DIRECTIONS)
        elif self.population_size is not None:
            arguments["pop_size"] = self.population_size
        algorithm = copy.deepcopy(getattr(module, self.algorithm)(**arguments))
        genetic = importlib.import_module("pymoo.algorithms.base.genetic").GeneticAlgorithm
        if mask is not None and isinstance(algorithm, genetic):
            algorithm.repair = algorithm.initialization.repair = _rounding(mask)
            if algorithm.mating is not None:
                algorithm.mating.repair = algorithm.repair
                algorithm.mating.n_max_iterations = MATINGS
        if self.algorithm in MULTI:
            algorithm.termination = importlib.import_module("pymoo.core.termination").NoTermination()
        return algorithm


def _problem(space: Space) -> Any:
    """The problem as pymoo evaluates it, from the values told."""
    problem: Any = importlib.import_module("pymoo.core.problem").Problem

    class Told(problem):
        answer: dict[str, FloatArray]

        def _evaluate(self, x: Any, out: dict[str, Any]) -> None:  # noqa: ARG002 - pymoo's signature
            out.update(self.answer)

    traits = space.traits
    return Told(space.dimension, traits.objectives, traits.constraints, xl=space.lower, xu=space.upper)


def round_integers(points: FloatArray, mask: Any) -> FloatArray:
    """`points` (m, d) with the variables in `mask` (d,) rounded, if there is a mask."""
    if mask is not None:
        points[:, mask] = np.rint(points[:, mask])
    return points


def _rounding(mask: Any) -> Any:
    repair: Any = importlib.import_module("pymoo.core.repair").Repair

    class Rounding(repair):
        def _do(self, problem: Any, X: Any, **keywords: Any) -> Any:  # noqa: ARG002, N803 - pymoo's signature
            return round_integers(np.array(X, dtype=np.float64), mask)

    return Rounding()


def _directions(objectives: int, size: int) -> FloatArray:
    """(n, k) evenly spaced reference directions in the unit simplex, with n at most `size` but not below k."""
    partitions = 1
    while math.comb(partitions + objectives, objectives - 1) <= size:
        partitions += 1
    directions = importlib.import_module("pymoo.util.ref_dirs").get_reference_directions
    return directions("das-dennis", objectives, n_partitions=partitions)

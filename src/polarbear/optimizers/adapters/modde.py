"""Modular differential evolution (Vermetten, 2025, section 4.1.1), based on the package `modde`.

How `modde` 0.0.4 is used:

- It works in coordinates in which the box is [0, 1] in every variable: opposition within a generation mirrors each
  point between its own smallest and largest coordinate, which would leave a box of unequal sides.
- It has its own random state, seeded from the run's generator.
- It is given an object that looks like an `ioh` problem without optimum, bounds and budget.
- With a bound correction, all points are clipped to the box, which the Gaussian sampler and COTN occasionally miss.
- SHADE's memory takes differences of values: infinite values count as ±1e300.
- Crossover along eigenvectors has no effect on a single variable, where `modde` fails: it is left out there.
- Sobol points are drawn in powers of two, and the surplus is discarded: `scipy` warns of other numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from types import SimpleNamespace
from typing import Annotated, Any

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.native import Continuable, SingleObjective, Space, State
from polarbear.optimizers.settings import Size, differences, family, joined_name
from polarbear.optimizers.transfer import known_points
from polarbear.protocols import Traits, WarmStart
from polarbear.records import FloatArray
from polarbear.validation import Flag, Share, choice, chosen_word, real, whole

OPTIONS: dict[str, dict[str, str | None]] = {
    "base_sampler": {
        "UNIFORM": "uniform", "GAUSSIAN": "gaussian", "SOBOL": "sobol", "HALTON": "halton", "LHC": "LHC",
    },
    "mutation_base": {"RAND": "rand", "BEST": "best", "TARGET": "target"},
    "mutation_reference": {"NONE": None, "PBEST": "pbest", "BEST": "best", "RAND": "rand"},
    "crossover": {"BIN": "bin", "EXP": "exp"},
    "bound_correction": {
        "NONE": None, "SATURATE": "saturate", "UNIF_RESAMPLE": "unif_resample", "COTN": "COTN", "TOROIDAL": "toroidal",
        "MIRROR": "mirror", "HVB": "hvb", "EXPC_TARGET": "expc_target", "EXPC_CENTER": "expc_center", "EXPS": "exps",
    },
    "adaptation_method_F": {"NONE": None, "SHADE": "shade", "SHADE_MODIFIED": "shade_modified", "JDE": "jDE"},
    "adaptation_method_CR": {"NONE": None, "SHADE": "shade", "JDE": "jDE"},
}  # fmt: skip
"""The options of each module other than an on/off switch, with their names in `modde`."""

_SHADE: dict[str, Any] = {
    "mutation_base": "TARGET",
    "mutation_reference": "PBEST",
    "use_archive": True,
    "adaptation_method_F": "SHADE",
    "adaptation_method_CR": "SHADE",
}
_BEST_2: dict[str, Any] = {"mutation_reference": "BEST", "mutation_n_comps": 2}

VARIANTS: dict[str, dict[str, Any]] = {
    "L-SHADE": _SHADE | {"lpsr": True, "population_per_variable": 18},
    "SHADE": _SHADE | {"population_per_variable": 10},
    "DAS1": {"F": 0.8, "CR": 0.9, "population_per_variable": 10},
    "DAS2": {
        "mutation_base": "TARGET", "mutation_reference": "BEST", "F": 0.8, "CR": 0.9, "population_per_variable": 10,
    },
    "Qin1": {"F": 0.9, "CR": 0.9, "population_size": 50},
    "Qin2": {"F": 0.5, "CR": 0.3, "population_size": 50},
    "Qin3": {"mutation_reference": "BEST", "F": 0.5, "CR": 0.3, "population_size": 50},
    "Qin4": _BEST_2 | {"F": 0.5, "CR": 0.3, "population_size": 50},
    "Gamperle1": _BEST_2 | {"F": 0.45, "CR": 0.4, "population_per_variable": 2},
    "Gamperle2": _BEST_2 | {"F": 0.6, "CR": 0.9, "population_per_variable": 2},
    "jDE": {"adaptation_method_F": "JDE", "adaptation_method_CR": "JDE", "population_size": 100},
}  # fmt: skip
"""The variants of Vermetten (2025), table 4.3, by name."""

PRESETS: dict[str, dict[str, Any]] = {f"modular-de-{name.lower()}": fields for name, fields in VARIANTS.items()}
"""The variants by their names in study files."""

GREATEST = 1e300
"""Bound on absolute values; sums over any population stay finite."""


_FIRST, _OFFSPRING, _OPPOSITE = range(3)
"""The stages of a run: the initial population, offspring, or the mirror image of a generation is evaluated."""


class _Collector:
    """A substitute for an `ioh` problem that records the points (d,) at which `modde` evaluates it."""

    def __init__(self, dimension: int) -> None:
        self.meta_data = SimpleNamespace(n_variables=dimension)
        self.points: list[FloatArray] = []

    def __call__(self, u: FloatArray) -> float:
        self.points.append(np.array(u).ravel())
        return 0.0


@dataclass(kw_only=True, eq=False)
class _State(State):
    """The state of a run.

    Attributes:
        rng: The random generator for the seed of each start.
        parameters: `modde`'s parameters, including the population, since the last start.
        evolution: `modde`'s algorithm, which modifies the parameters.
        stage: The current stage, which determines what is evaluated.
        start: Number of evaluations before the current start.
        units: (m, d) the points asked for, in the unit cube.
        offspring: (d, m) the offspring, in `modde`'s layout.
        known: Points (m, d) of the initial population in the unit cube that are known already, and their values (m,).
    """

    rng: np.random.Generator
    parameters: Any = None
    evolution: Any = None
    stage: int = _FIRST
    start: int = 0
    units: Any = None
    offspring: Any = None
    known: Any = None

    def collect(self) -> None:
        """Ask for the points at which `modde` has evaluated the collector."""
        collector = attrgetter("_fitness_func")(self.evolution)
        self.units, collector.points = np.array(collector.points), []

    def vary(self) -> None:
        """Generate offspring."""
        self.stage = _OFFSPRING
        self.evolution.mutate()
        self.evolution.crossover()
        self.offspring = self.evolution.correct_bounds()
        self.units = np.array(self.offspring.T)

    def opposite(self) -> None:
        """Mirror the generation; `modde` is told the values later."""
        self.stage, population = _OPPOSITE, self.parameters.population
        used = self.parameters.used_budget
        self.evolution.oppositional_generation()
        self.parameters.population, self.parameters.used_budget = population, used
        self.collect()


@family("modular-de", presets=PRESETS)
class ModularDE(Continuable[_State], SingleObjective):
    """Differential evolution composed of modules; by default with `modde`'s own settings.

    `ModularDE.variant` gives the named variants of table 4.3. Options are words, in upper or lower case. Linear
    population size reduction, weighted F and the caps of jSO depend on the share of `budget` that is spent: with them,
    the runs with different budgets form a family A(b) of algorithms. Evaluations beyond the budget with which `modde`
    completes a generation are carried out; the problem ends the run.

    Attributes:
        base_sampler: The distribution of the initial population.
        oppositional_initialization: Whether half of the initial population mirrors the other half.
        mutation_base: The points to which differences are added.
        mutation_reference: The points towards which the base moves, by F times their difference from the target.
        mutation_n_comps: Number of differences, 1 or 2. In `modde` 0.0.4, two are the same difference taken twice.
        mutation_use_weighted_F: Whether F is lowered early and raised late in the budget.
        use_archive: Whether one end of a difference comes from an archive of replaced points.
        crossover: Binomial or exponential crossover.
        eigenvalue_crossover: Whether crossover takes place along the population's principal axes.
        bound_correction: How points outside the box are corrected; with NONE they are evaluated unchanged.
        adaptation_method_F: How F adapts. In `modde` 0.0.4, JDE redraws F with probability 0.9; in jDE's paper it is
            0.1.
        adaptation_method_CR: How CR adapts; the remark on JDE applies here too.
        use_jso_caps: Whether F and CR have upper limits early in the budget, as in jSO.
        lpsr: Whether the population shrinks linearly over the budget.
        oppositional_generation_probability: The probability that a generation is followed by its mirror image.
        F: Differential weight; its initial value if it adapts.
        CR: Crossover rate; its initial value if it adapts.
        population_size: Points per generation (λ), or in the first one; by default 10 per variable, or 18 with lpsr. It
            is at least 2, or with lpsr the number that a mutation needs, 2 to 7.
        population_per_variable: λ as a multiple of the dimension, in place of `population_size`.
        pbest_value: The share of the population that PBEST draws from, above 0; by default random up to 0.2.
        memory_size: Number of entries of SHADE's memory; by default 100.
        budget: Number of evaluations after which `modde` stops; by default 10,000 per variable.
        restarts: Whether to start again with a new population, endlessly, whenever it stops; otherwise the run ends.
        name: The optimizer's name; by default that of the closest variant, or "ModDE", and the fields that differ from
            it.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    requires = Extra("modde", "modde")
    one_by_one = True
    feasible_first = False

    base_sampler: Annotated[str, choice(*OPTIONS["base_sampler"])] = "UNIFORM"
    oppositional_initialization: Flag = False
    mutation_base: Annotated[str, choice(*OPTIONS["mutation_base"])] = "RAND"
    mutation_reference: Annotated[str, choice(*OPTIONS["mutation_reference"])] = "NONE"
    mutation_n_comps: Annotated[int, whole(1, 2)] = 1
    mutation_use_weighted_F: Flag = False  # noqa: N815 - the package's name
    use_archive: Flag = False
    crossover: Annotated[str, choice(*OPTIONS["crossover"])] = "BIN"
    eigenvalue_crossover: Flag = False
    bound_correction: Annotated[str, choice(*OPTIONS["bound_correction"])] = "SATURATE"
    adaptation_method_F: Annotated[str, choice(*OPTIONS["adaptation_method_F"])] = "NONE"  # noqa: N815 - the package's name
    adaptation_method_CR: Annotated[str, choice(*OPTIONS["adaptation_method_CR"])] = "NONE"  # noqa: N815 - the package's name
    use_jso_caps: Flag = False
    lpsr: Flag = False
    oppositional_generation_probability: Share = 0.0
    F: Annotated[float, real(ge=0, le=2)] = 0.5
    CR: Share = 0.5
    population_size: Annotated[int, whole(2, 10**6)] | None = None
    population_per_variable: Annotated[int, whole(1, 10**4)] | None = None
    pbest_value: Annotated[float, real(ge=1e-12, le=1)] | None = None  # modde interprets 0 as its default
    memory_size: Size | None = None
    budget: Annotated[int, whole(1, 10**15)] | None = None
    restarts: Flag = True
    name: str = ""

    @classmethod
    def variant(cls, name: str, **overrides: Any) -> ModularDE:
        """The variant `name` of Vermetten (2025), table 4.3, with `overrides`.

        Raises:
            ValueError: If there is no such variant; the message lists all of them.
        """
        return cls(**cls.merged(VARIANTS[chosen_word(name, "variant", tuple(VARIANTS))], overrides))

    @staticmethod
    def merged(preset: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a named variant, overridden by others; one kind of population size replaces the other."""
        resized = any(arguments.get(size) is not None for size in _SIZES)
        return {key: value for key, value in preset.items() if not (resized and key in _SIZES)} | dict(arguments)

    def __post_init__(self) -> None:
        if self.population_size is not None and self.population_per_variable is not None:
            raise ValueError(
                f"population_size is {self.population_size} and population_per_variable is "
                f"{self.population_per_variable}; give only one of them"
            )
        if self.population_size is not None and self.population_size < self._least_population():
            raise ValueError(f"population_size is {self.population_size}; {self._need()}")

    def _init(self, space: Space, rng: np.random.Generator) -> _State:
        state = _State(space=space, rng=rng)
        self._start(state)
        return state

    def _start(self, state: _State) -> None:
        """Start with a new population."""
        modde, dimension = optional(*self.requires, "this optimizer"), state.space.dimension
        state.parameters = parameters = modde.Parameters(**self.settings(dimension, int(state.rng.integers(2**31))))
        if self.base_sampler == "SOBOL":
            parameters.sampler = _in_powers_of_two(parameters.sampler)
        state.stage, state.start = _FIRST, state.evaluations
        state.known = np.empty((0, dimension)), np.empty(0, dtype=object)
        state.evolution = modde.ModularDE(_Collector(dimension), parameters=parameters)
        parameters.population = parameters.archive = parameters.sampler = None
        state.collect()

    def _warm(self, state: _State, start: WarmStart) -> None:
        """Take the latest points known as the initial population; missing ones are drawn and evaluated."""
        space, size = state.space, len(state.units)
        points, values = known_points(start, space)
        units = (points[-size:] - space.lower) / (space.upper - space.lower)
        state.known, state.units = (units, _clipped(values[-size:])), state.units[: size - len(units)]
        if not len(state.units):
            self._initialize(state, state.known[1][:0])

    def reseed(self, state: _State, rng: np.random.Generator) -> None:
        """Reseed the random state and redraw offspring that are not yet evaluated, with the same F and CR."""
        state.parameters.rng.seed(int(rng.integers(2**31)))
        if state.stage == _OFFSPRING and state.asked is None:
            state.vary()

    def _initialize(self, state: _State, values: Any) -> None:
        """Begin with the initial population: the points known already and those asked for."""
        units, known = state.known
        evolution, state.known = state.evolution, (units[:0], known[:0])
        evolution.initialize_custom_population(np.concatenate([units, state.units]).T, np.concatenate([known, values]))
        state.vary()

    def _ask(self, state: _State) -> FloatArray:
        space = state.space
        points = space.lower + state.units * (space.upper - space.lower)
        return points if self.bound_correction == "NONE" else np.clip(points, space.lower, space.upper)

    def _tell(self, state: _State, values: Any) -> None:
        evolution, parameters = state.evolution, state.parameters
        values = _clipped(values)
        if state.stage == _FIRST:
            self._initialize(state, values)
            return
        if state.stage == _OFFSPRING:
            parameters.used_budget += len(values)
            parameters.offspring = type(parameters.population)(state.offspring, values)
            evolution.select()
            if parameters.rng.uniform() < parameters.oppositional_generation_probability:
                state.opposite()
                return
            _adapt(parameters)
        else:
            evolution.fitness_func = _returning(values)
            evolution.oppositional_generation()
            del evolution.fitness_func
            parameters.used_budget += len(values)
            _adapt(parameters)
        if state.evaluations - state.start < parameters.budget:
            state.vary()
        elif self.restarts:
            self._start(state)
        else:
            state.ended = True

    def diagnostics(self, state: _State) -> dict[str, Callable[[_State], float]]:  # noqa: ARG002 - the protocol
        """Readers of ``population_size``, the population's means ``mean_F`` and ``mean_CR``, and ``spread``.

        The spread is the population's standard deviation in box widths, averaged over the variables; NaN while the
        initial population is being evaluated.
        """
        return {
            "population_size": lambda state: float(state.parameters.lambda_),
            "mean_F": lambda state: float(state.parameters.F.mean()),
            "mean_CR": lambda state: float(state.parameters.CR.mean()),
            "spread": _spread,
        }

    def warm_start(self, state: _State) -> WarmStart:
        """What another optimizer can start from: the best point and, once evaluated, the population."""
        population, space = state.parameters.population, state.space
        if population is None:
            return super().warm_start(state)
        points = space.lower + population.x.T * (space.upper - space.lower)
        return replace(super().warm_start(state), population=points, values=np.array(population.f, dtype=np.float64))

    def refuses(self, traits: Traits, dimension: int, /) -> str:
        """The reason why it refuses problems of these traits and this dimension; empty if it accepts them."""
        size = self._population_size(dimension)
        if size < self._least_population():
            return (
                f"population_per_variable is {self.population_per_variable}, which makes a population of {size} in "
                f"dimension {dimension}; {self._need()}"
            )
        return super().refuses(traits, dimension)

    def settings(self, dimension: int, seed: int) -> dict[str, Any]:
        """`modde`'s parameters, for the box [0, 1]^d.

        Args:
            dimension: Number of variables d.
            seed: The seed of its random state.
        """
        shared = vars(self).keys() - {"name", "restarts", *_SIZES}
        return {key: getattr(self, key) for key in shared} | {
            **{key: words[getattr(self, key)] for key, words in OPTIONS.items()},
            "d": dimension,
            "eigenvalue_crossover": self.eigenvalue_crossover and dimension > 1,
            "F": np.array([self.F]),
            "CR": np.array([self.CR]),
            "lambda_": self._population_size(dimension),
            "lb": np.zeros((dimension, 1)),
            "ub": np.ones((dimension, 1)),
            "seed": seed,
        }

    def _population_size(self, dimension: int) -> int:
        """The population size λ."""
        return self.population_size or dimension * (self.population_per_variable or (18 if self.lpsr else 10))

    def _least_population(self) -> int:
        """The smallest λ: 2, or with reduction the final size, which is what a mutation needs."""
        if not self.lpsr:
            return 2
        references = (self.mutation_base, self.mutation_reference).count("RAND")
        return 2 * self.mutation_n_comps + references + self.use_archive

    def _need(self) -> str:
        return f"{'with lpsr, this mutation' if self.lpsr else 'a mutation'} needs {self._least_population()} or more"

    def default_name(self) -> str:
        """The name of the closest variant, and the fields that differ from it."""
        changes = {name: differences(self, base) for name, base in ({"ModDE": {}} | VARIANTS).items()}
        kind = min(changes, key=lambda name: len(changes[name]))
        changed = changes[kind]
        if any(getattr(self, size) is not None for size in _SIZES):  # one size replaces the other
            changed = {key: value for key, value in changed.items() if key not in _SIZES or value is not None}
        return joined_name(kind, changed)


_SIZES = ("population_size", "population_per_variable")


def _clipped(values: FloatArray) -> Any:
    """(m,) values clipped to finite ones, in the type that `modde` expects."""
    return np.array(np.clip(values, -GREATEST, GREATEST).tolist(), dtype=object)


def _spread(state: _State) -> float:
    population = state.parameters.population
    return math.nan if population is None else float(population.x.std(axis=1).mean())


def _adapt(parameters: Any) -> None:
    """Adapt F and CR, counting no success if no value improved, as `modde` divides by the sum of improvements.

    Values are equal where they are clipped and where points are replaced by opposite ones.
    """
    improved = parameters.improved_individuals_idx
    if len(improved):
        rows = improved.tolist()
        if np.array_equal(parameters.old_population[rows].f, parameters.population[rows].f):
            parameters.improved_individuals_idx = improved[:0]
    parameters.adapt()


def _returning(values: Any) -> Callable[[FloatArray], float]:
    """A function that returns the values one after another."""
    remaining = iter(values)
    return lambda _: next(remaining)


def _in_powers_of_two(sampler: Callable[[int], FloatArray]) -> Callable[[int], FloatArray]:
    """A sampler (n) -> (n, d) that draws a power of two points from `sampler` and keeps the first n."""
    return lambda n: sampler(1 << (n - 1).bit_length())[:n]

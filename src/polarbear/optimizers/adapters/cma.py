"""The CMA-ES of N. Hansen's package `cma` (pycma), with each start as in its `fmin2`.

How `cma` 4.5 is used:

- It works in the problem's coordinates. The initial standard deviations are proportional to the box's widths, by its
  option `CMA_stds`, so that its step size is in box widths.
- It draws normal numbers from a separate random state. Some of its modules also call functions of `numpy.random` by
  name: during `ask` and `tell` these are bound to another state of its own, so that nobody else's draws change.
- Restarts are done here, as in `fmin2` except that they never end and draw from the run's generator. As there, options
  that follow from the population size keep the values of the first start.
- It does not support a single variable: then a second one is added, which the problem does not see.
- Constraints are handled by its `ConstrainedFitnessAL`, an augmented Lagrangian (Atamna, Auger and Hansen, 2017, as
  changed in `cma`), shared by all starts, as in its `fmin_con2`. A point's value and constraints cost one evaluation.
- It writes no files, prints nothing, and reads no signals file. NumPy's warnings are silenced within it: infinite and
  equal values make it divide by zero.
"""

from __future__ import annotations

import importlib
import math
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from operator import attrgetter
from typing import Annotated, Any, cast

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.distributions import Distributed, Distribution
from polarbear.optimizers.native import SingleObjective, Space, State, clip_values
from polarbear.optimizers.restarts import Restarts, Strategy
from polarbear.optimizers.settings import Size, check_options, family
from polarbear.optimizers.transfer import distribution_of
from polarbear.protocols import WarmStart
from polarbear.records import FloatArray
from polarbear.validation import Flag, choice, real, whole

STEP_SIZES = {
    "DEFAULT": True,
    "CSA": "CMAAdaptSigmaCSA",
    "TPA": "CMAAdaptSigmaTPA",
    "NONE": False,
}
"""The step-size adaptations and their classes in `cma`; DEFAULT is TPA from 300 variables on, otherwise CSA."""

OPTIONS = (
    "CMA_active", "CMA_active_injected", "CMA_cmean", "CMA_const_trace", "CMA_diagonal", "CMA_diagonal_decoding",
    "CMA_elitist", "CMA_injections_threshold_keep_len", "CMA_mirrors", "CMA_mirrormethod", "CMA_mu", "CMA_on",
    "CMA_rankmu", "CMA_rankone", "CMA_recombination_weights", "CMA_dampsvec_fac", "CMA_dampsvec_fade", "CMA_teststds",
    "CSA_dampfac", "CSA_damp_mueff_exponent", "CSA_disregard_length", "CSA_clip_length_value", "CSA_squared",
    "CSA_invariant_path", "TPA_dampfac", "stall_sigma_change_on_divergence_iterations", "conditioncov_alleviate",
    "eval_final_mean", "maxiter", "mean_shift_line_samples", "mindx", "minstd", "maxstd", "maxstd_boundrange",
    "pc_line_samples", "popsize_factor", "tolconditioncov", "tolfacupx", "tolupsigma", "tolflatfitness", "tolfun",
    "tolfunhist", "tolfunrel", "tolstagnation", "tolxstagnation", "tolx", "updatecovwait",
)  # fmt: skip
"""The options of `cma` that users can set."""

RESERVED = (
    "AdaptSigma", "BoundaryHandler", "bounds", "CMA_stds", "popsize", "integer_variables", "seed", "randn", "verbose",
    "verb_append", "verb_disp", "verb_disp_overwrite", "verb_filenameprefix", "verb_log", "verb_log_expensive",
    "verb_plot", "verb_time", "signals_filename", "ftarget", "maxfevals", "timeout", "termination_callback",
    "is_feasible", "fixed_variables", "scaling_of_variables", "transformation", "typical_x", "CMA_eigenmethod",
    "CMA_sampler", "CMA_sampler_options", "vv",
)  # fmt: skip
"""The remaining options: they are set by `PyCMA`'s arguments or the problem, or they hold functions."""


class _Box:
    """The problem's box as `cma` sees it: a single variable is joined by a second one, from 0 to 1.

    Attributes:
        lower: (d,) lower bounds, or (2,).
        upper: (d,) upper bounds, or (2,).
        integers: Indices of the integer variables.
    """

    def __init__(self, space: Space) -> None:
        single = space.dimension == 1
        self.lower = np.append(space.lower, 0.0) if single else space.lower
        self.upper = np.append(space.upper, 1.0) if single else space.upper
        mask = space.traits.integer_mask
        self.integers: list[int] = [] if mask is None else np.flatnonzero(mask).tolist()


_FIRST_MEAN, _GENERATION, _NOISE, _LAST_MEAN = range(4)
"""What is being evaluated: the first mean (elitist), a generation, some of its points again, or the last mean."""


class _Answer:
    """The value and constraint values of the current point, for the augmented Lagrangian."""

    value, violations = math.nan, ()

    def __call__(self, _: FloatArray) -> float:
        return self.value

    def constraints(self, _: FloatArray) -> Any:
        return self.violations


@dataclass(kw_only=True, eq=False)
class _State(State):
    """The state of a run.

    Attributes:
        box: The box as `cma` sees it.
        rng: The random generator for restarts.
        restarts: The settings of the current start.
        other: The random state that replaces NumPy's global functions within `cma`.
        settings: The options of the next start.
        longest: Maximum number of generations of a start without a limit of its own.
        lagrangian: `cma`'s augmented Lagrangian, if there are constraints.
        answer: The value and constraint values that the Lagrangian reads.
        es: `cma`'s evolution strategy.
        stage: The current stage, which determines what is evaluated.
        points: The points of the stage, in `cma`'s box.
        fitness: The value of each point of a generation, NaN where it is not yet known.
        pending: Indices of the points of a generation that are being evaluated.
        generations: Number of completed generations.
    """

    box: _Box
    rng: np.random.Generator
    restarts: Restarts
    other: np.random.RandomState
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    longest: float = math.inf
    lagrangian: Any = None
    answer: _Answer = field(default_factory=_Answer)
    es: Any = None
    stage: int = _GENERATION
    points: list[FloatArray] = field(default_factory=list[Any])
    fitness: list[float] = field(default_factory=list[float])
    pending: list[int] = field(default_factory=list[int])
    generations: int = 0


@family(
    "pycma",
    "pycma",
    presets={"pycma-bipop": {"restart_strategy": "BIPOP"}},
    restart_strategy="{}",
    step_size_adaptation="{}",
)
class PyCMA(Distributed[_State], SingleObjective):
    """CMA-ES of the package `cma`, from uniformly random points of the box, restarted with larger populations.

    Integer variables are rounded, with `cma`'s lower bounds on their standard deviations and its centring (Marty et
    al., 2024). All points lie in the box. With constraints it minimizes `cma`'s augmented Lagrangian, whose
    coefficients follow from each generation's best point; the recommendation may slightly violate the constraints.

    Attributes:
        restart_strategy: What follows the end of a start: IPOP restarts with twice the population, BIPOP with a large
            or a small one, RESTART with the same one; STOP ends the run. See `Restarts`.
        step_size_adaptation: One of `STEP_SIZES`.
        relative_sigma0: The initial step size as a fraction of the box's width in each variable.
        population_size: Points per generation, at least 3; by default 4 + ⌊3 ln d⌋.
        noise_evaluations: With noise handling, the maximum number of evaluations whose median is a point's value.
        noise_handling: Whether some points are reevaluated to measure the noise in their ranks and to raise the step
            size in response (UH-CMA-ES; Hansen et al., 2009, as changed in `cma`).
        options: Options of `cma` by their names there, see `OPTIONS`; strings may be expressions in N and popsize.
        name: The optimizer's name; by default "pycma" and the fields that differ from their defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    requires = Extra("cma", "cma")
    one_at_a_time = True
    one_by_one = True
    takes_constraints = True

    restart_strategy: Strategy = "IPOP"
    step_size_adaptation: Annotated[str, choice(*STEP_SIZES)] = "DEFAULT"
    relative_sigma0: Annotated[float, real(ge=1e-12, le=1.0)] = 0.2
    population_size: Annotated[int, whole(3, 10**6)] | None = None
    noise_evaluations: Size = 1
    noise_handling: Flag = False
    options: dict[str, Any] = field(default_factory=dict[str, Any], hash=False)
    name: str = ""

    def __post_init__(self) -> None:
        if reserved := next((key for key in self.options if key in RESERVED), ""):
            raise ValueError(f"option {reserved!r} of cma cannot be set: PyCMA's arguments or the problem determine it")
        check_options(self.options, "cma", OPTIONS)
        if self.noise_evaluations > 1 and not self.noise_handling:
            raise ValueError(
                f"noise_evaluations is {self.noise_evaluations}, but noise_handling is not True; set it to True, "
                "or leave noise_evaluations out"
            )

    def _init(self, space: Space, rng: np.random.Generator) -> _State:
        cma = optional(*self.requires, "this optimizer")
        box = _Box(space)
        normal, other = (np.random.RandomState(int(rng.integers(2**32))) for _ in range(2))
        state = _State(space=space, box=box, rng=rng, restarts=Restarts(self.restart_strategy, rng), other=other)
        state.settings = self.settings(box) | {"randn": normal.randn}
        with _own_draws(other):
            if space.traits.constraints:
                state.lagrangian = _lagrangian(cma, state.answer, len(box.lower))
                state.settings = {"tolstagnation": 0} | state.settings
            self._start(state)
        return state

    def _warm(self, state: _State, start: WarmStart) -> None:
        mean, step_size, covariance = distribution_of(start, state.space)
        deviations = np.sqrt(covariance.diagonal())
        if len(state.box.lower) > len(mean):  # the second variable beside a single one
            mean, deviations = np.append(mean, 0.5), np.append(deviations, 1.0)
        widths = state.box.upper - state.box.lower
        settings = state.settings | {"CMA_stds": widths * deviations}
        with _own_draws(state.other):
            self._start(state, (np.clip(mean, state.box.lower, state.box.upper), step_size, settings))

    def reseed(self, state: _State, rng: np.random.Generator) -> None:
        """Reseed both random states of `cma`; the generation already asked for stays as it is."""
        state.settings["randn"].__self__.seed(int(rng.integers(2**32)))
        state.other.seed(int(rng.integers(2**32)))

    def _start(self, state: _State, begin: tuple[FloatArray, float, dict[str, Any]] | None = None) -> None:
        """Begin a start of `cma` as `fmin2` does, or with a given mean, step size and options."""
        cma = optional(*self.requires, "this optimizer")
        if begin is None:
            x0 = state.rng.uniform(state.box.lower, state.box.upper)
            begin = x0, self.relative_sigma0 * state.restarts.step_size_factor, state.settings
        es = cma.CMAEvolutionStrategy(*begin)
        es.noise_handler = cma.NoiseHandler(es.N) if self.noise_handling else cma.NoiseHandler(es.N, 0)
        if self.noise_handling:
            es.opts["tolfacupx"] = math.inf
            es.noise_handler.maxevals = self.noise_evaluations
        _use_stable_keys(es)
        state.es, state.stage = es, _FIRST_MEAN
        if es.opts["CMA_elitist"] == "initial":
            state.points = [_mean(es)]
        else:
            self._advance(state)

    def _advance(self, state: _State) -> None:
        """Go on to the next generation or, if `cma` stops, to the evaluation of its mean and then the next start."""
        es = state.es
        if not es.stop():
            _sample(state)
        elif es.opts["eval_final_mean"] and state.stage != _LAST_MEAN:
            state.stage, state.points = _LAST_MEAN, [_mean(es)]
        else:
            self._restart(state)

    def _restart(self, state: _State) -> None:
        es, restarts = state.es, state.restarts
        if not restarts.population:
            state.settings, state.longest = dict(es.opts), es.opts["maxiter"]
        state.ended = not restarts.next(es.opts["popsize"], es.countevals)
        if not state.ended:
            state.settings["popsize"] = restarts.population
            state.settings["maxiter"] = min(state.longest, restarts.evaluations / restarts.population)
            self._start(state)

    def _ask(self, state: _State) -> FloatArray:
        points = np.array(state.points, dtype=np.float64)[:, : state.space.dimension]
        return np.repeat(points[state.pending], _repeats(state), axis=0) if state.stage == _GENERATION else points

    def _tell(self, state: _State, values: Any) -> None:
        with _own_draws(state.other):
            fitness = _fitness(state, values.tolist())
            if state.stage == _GENERATION:
                if _incomplete(state, fitness):
                    return
                state.es.evaluations_per_f_value = _repeats(state)
                state.es.tell(state.points, state.fitness)
                state.generations += 1
                if self.noise_handling and _reevaluation(state):
                    return
            elif state.stage == _NOISE:
                _measure_noise(state, fitness)
            else:
                _take_mean(state, fitness[0])
            if state.lagrangian is not None and state.stage in (_GENERATION, _NOISE):
                with warnings.catch_warnings():  # about equal values and coefficients that are not set yet
                    warnings.simplefilter("ignore")
                    state.lagrangian.update(state.es)
            self._advance(state)

    def _distribution(self, state: _State) -> Distribution:
        return _distribution(hasattr(state.es.adapt_sigma, "ps"))

    def diagnostics(self, state: _State) -> dict[str, Callable[[_State], float]]:
        """The readers of `Distribution.readers`, and ``generations``."""
        readers = super().diagnostics(state)
        readers["generations"] = lambda state: float(state.generations)
        return readers

    def settings(self, box: _Box) -> dict[str, Any]:
        """`cma`'s options for a box."""
        cma = optional(*self.requires, "this optimizer")
        adaptation = STEP_SIZES[self.step_size_adaptation]
        options: dict[str, Any] = {
            "AdaptSigma": getattr(cma.sigma_adaptation, adaptation) if isinstance(adaptation, str) else adaptation,
            "bounds": [box.lower.tolist(), box.upper.tolist()],
            "CMA_stds": box.upper - box.lower,
            "seed": np.nan,
            "verbose": -10,
        }
        if box.integers:
            options["integer_variables"] = box.integers
        if self.population_size is not None:
            options["popsize"] = self.population_size
        return options | self.options


_DRAWS = ("rand", "randn", "randint", "uniform", "seed")
"""The functions of `numpy.random` that `cma` calls by name."""


@contextmanager
def _own_draws(state: np.random.RandomState) -> Generator[None]:
    """A context in which NumPy issues no warnings and its global functions draw from `state`."""
    functions = cast("dict[str, Any]", vars(np.random))
    before = {name: functions[name] for name in _DRAWS}
    functions.update({name: getattr(state, name) for name in _DRAWS})
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        functions.update(before)


def _lagrangian(cma: Any, answer: _Answer, dimension: int) -> Any:
    """The augmented Lagrangian of a problem with constraints, without the log, for which `cma` creates a folder."""

    class Quiet(cma.constraints_handler.AugmentedLagrangian):
        def _init_(self) -> None:
            self.logging = 0
            super()._init_()  # pyright: ignore[reportUnknownMemberType]

    lagrangian = cma.ConstrainedFitnessAL(answer, answer.constraints, dimension=dimension, archives=False)
    vars(lagrangian)["_al"] = Quiet(dimension)
    return lagrangian


def _use_stable_keys(es: Any) -> None:
    """Make `cma` look up points by keys that are the same in every process, unlike Python's hashes of bytes."""
    archives = ("sent_solutions", "archive", "_injected_solutions_archive", "_round_integer_variables.archive")
    for archive in attrgetter(*archives)(es):
        if hasattr(archive, "key"):
            archive.key = _key


def _key(x: Any) -> int:
    if isinstance(x, int):
        return x
    if isinstance(x, np.ndarray):
        return int.from_bytes(blake2b(cast("FloatArray", x).tobytes(), digest_size=8).digest(), "big")
    return hash(tuple(x))


def _mean(es: Any) -> FloatArray:
    """The mean as a point to evaluate."""
    return es.to_phenotype(es.mean, copy=True, into_bounds=es.boundary_handler.repair, archive=es.sent_solutions)


def _repeats(state: _State) -> int:
    """Number of evaluations per point."""
    return int(state.es.noise_handler.evaluations) if state.stage in (_GENERATION, _NOISE) else 1


def _fitness(state: _State, values: list[float]) -> list[float]:
    """What `cma` minimizes at each point: the value or the augmented Lagrangian, and the median over reevaluations."""
    if state.lagrangian is not None and state.asked is not None:
        for row, violations in enumerate(clip_values(state.constraints).tolist()):
            state.answer.value, state.answer.violations = values[row], violations
            values[row] = float(state.lagrangian(np.resize(state.asked[row], len(state.box.lower))))
    repeats = _repeats(state)
    if repeats == 1:
        return values
    return [float(np.median(values[first : first + repeats])) for first in range(0, len(values), repeats)]


def _sample(state: _State) -> None:
    """Sample a generation as `cma`'s method `ask_and_eval` does."""
    es, mirrors = state.es, 0
    if es.opts["CMA_mirrormethod"] == 1:
        mirrors = importlib.import_module("cma.utilities.math").Mh.sround(es.sp.lam_mirr)
        vars(es)["_mirrormethod1_done"] = es.countiter
    es.mirrors_idx = np.arange(mirrors)
    state.stage, state.points = _GENERATION, es.ask(es.sp.popsize)
    state.fitness = [math.nan] * len(state.points)
    state.pending = list(range(len(state.points) - mirrors))


def _incomplete(state: _State, fitness: list[float]) -> bool:
    """Store the fitness of the pending points; return whether there are more to evaluate.

    These replace the points whose augmented Lagrangian is NaN; after them come the selective mirrors.
    """
    es, points = state.es, state.points
    for k, value in zip(state.pending, fitness, strict=True):
        state.fitness[k] = value
    if missing := [k for k in state.pending if math.isnan(state.fitness[k])]:
        for k in missing:
            points[k] = es.ask(1, es.mean, 1)[0]
        state.pending = missing
        return True
    last = len(points) - 1
    mirrored = [k for k in range(last + 1) if math.isnan(state.fitness[k])]
    if mirrored:
        es.mirrors_idx = np.argsort(state.fitness[: mirrored[0]])[-1 : -1 - len(mirrored) : -1]
        for k in mirrored:
            points[k] = es.get_mirror(points[es.mirrors_idx[last - k]])
        state.pending = mirrored
    return bool(mirrored)


def _reevaluation(state: _State) -> bool:
    """Choose points to evaluate again, slightly perturbed, as `NoiseHandler.reeval` does; return if there are any."""
    es, noise = state.es, state.es.noise_handler
    noise.fit, noise.fitre = list(state.fitness), list(state.fitness)
    noise.idx = noise.indices(state.fitness)
    state.stage = _NOISE
    state.points = [
        es.ask(1, state.points[k], noise.epsilon)[0] for k in noise.idx for _ in range(int(noise.evaluations))
    ]
    return bool(state.points)


def _measure_noise(state: _State, fitness: list[float]) -> None:
    """Adapt the step size and the number of evaluations to the noise in the ranks, as `cma`'s `fmin2` does."""
    es, noise = state.es, state.es.noise_handler
    for k, value in zip(noise.idx, fitness, strict=True):
        noise.fitre[k] = value
    noise.evaluations_just_done = len(state.points)
    noise.update_measure()
    es.sigma *= noise.treat()
    es.countevals += noise.evaluations_just_done
    if noise.maxevals > noise.minevals:
        es.more_to_write.append(noise.evaluations)
    es.sp.cmean = min(es.sp.cmean, 1.0)


def _take_mean(state: _State, value: float) -> None:
    es = state.es
    if state.stage == _FIRST_MEAN:
        es.f0 = value
    es.countevals += 1
    es.best.update(state.points, es.sent_solutions, [value], 1 if state.stage == _FIRST_MEAN else es.countevals)


def _distribution(has_path: bool) -> Distribution:
    paths: dict[str, Callable[[_State], FloatArray]] = {"pc": lambda state: state.es.pc}
    if has_path:
        paths["ps"] = lambda state: state.es.adapt_sigma.ps
    return Distribution(
        mean=lambda state: state.es.to_phenotype(state.es.mean)[: state.space.dimension],
        step_size=lambda state: state.es.sigma,
        axes=lambda state: np.sqrt(state.es.sm.variances) if state.es.D is None else np.asarray(state.es.D),
        covariance=_covariance,
        population_size=lambda state: state.es.popsize,
        paths=paths,
    )


def _covariance(state: _State) -> FloatArray:
    d = state.space.dimension
    scales = (np.asarray(state.es.sigma_vec.scaling) / (state.box.upper - state.box.lower))[:d]
    covariance = state.es.sm.covariance_matrix
    if covariance is None:  # diagonal
        covariance = np.diag(state.es.sm.variances)
    return np.asarray(covariance)[:d, :d] * np.outer(scales, scales)

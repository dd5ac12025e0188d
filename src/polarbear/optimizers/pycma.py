"""CMA-ES of N. Hansen's package `cma` (pycma), each start by its `fmin2`.

How `cma` 4.5 is used:

- It works in the problem's coordinates; initial standard deviations are in proportion to the box's widths, through its
  option `CMA_stds`, so that its step size is in box widths.
- Its normal numbers come from a random state of their own. Some of its modules also call functions of `numpy.random`
  by name: outside of evaluations these names stand for another state of its own, so that nobody else's draws change.
- Its restarts are ours, as `fmin2` would make them: they go on for ever and draw from the run's generator. As there,
  options that follow from the population size keep the values of the first start.
- Its code does not support one variable: then there is a second one, which the problem does not see.
- Constraints are handled by its `ConstrainedFitnessAL`, an augmented Lagrangian (Atamna, Auger and Hansen, 2017, as
  changed in `cma`), one for all starts, as in its `fmin_con2`. Value and constraints of a point are one evaluation.
- It writes no files and prints nothing, and reads no file of signals. NumPy's warnings are silenced in it: infinite and
  equal values make it divide by zero.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.adapters import Incumbent, OneObjective, Paired, check_taken, constraints, integers
from polarbear.optimizers.arguments import checked_keywords, did_you_mean, flag, number, option
from polarbear.optimizers.distributions import Distribution, expose_distribution
from polarbear.optimizers.restarts import STRATEGIES, Restarts

if TYPE_CHECKING:
    from polarbear.protocols import Objective
    from polarbear.records import FloatArray

STEP_SIZES = {
    "DEFAULT": True,
    "CSA": "CMAAdaptSigmaCSA",
    "TPA": "CMAAdaptSigmaTPA",
    "NONE": False,
}
"""The step-size adaptations, with `cma`'s classes; DEFAULT is TPA from 300 variables on, else CSA."""

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
"""The options of `cma` that can be given."""

ELSEWHERE = (
    "AdaptSigma", "BoundaryHandler", "bounds", "CMA_stds", "popsize", "integer_variables", "seed", "randn", "verbose",
    "verb_append", "verb_disp", "verb_disp_overwrite", "verb_filenameprefix", "verb_log", "verb_log_expensive",
    "verb_plot", "verb_time", "signals_filename", "ftarget", "maxfevals", "timeout", "termination_callback",
    "is_feasible", "fixed_variables", "scaling_of_variables", "transformation", "typical_x", "CMA_eigenmethod",
    "CMA_sampler", "CMA_sampler_options", "vv",
)  # fmt: skip
"""The options that cannot: the arguments of `PyCMA` or the problem set them, or they hold functions."""


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class PyCMA(OneObjective):
    """CMA-ES of the package `cma`, from uniformly random points of the box, restarted with larger populations.

    Variables that the problem says are integers are rounded, with `cma`'s lower bounds on their standard deviations
    and its centring (Marty et al., 2024). All points are in the box. With constraints it minimizes `cma`'s augmented
    Lagrangian, whose coefficients follow from each generation's best point; what it recommends may violate them a
    little.

    Attributes:
        restart_strategy: What to do when a run of `cma` has ended: IPOP starts again with twice the population, BIPOP
            now with a large and now with a small one, RESTART with the same; STOP ends then. See `Restarts`.
        step_size_adaptation: One of `STEP_SIZES`.
        relative_sigma0: The initial step size as a fraction of the box's width, in each variable.
        population_size: Points per generation, from 3; by default 4 + ⌊3 ln d⌋.
        noise_handling: Whether some points are evaluated again, to measure the noise in their ranks and to raise the
            step size where there is (UH-CMA-ES; Hansen et al., 2009, as changed in `cma`).
        noise_evaluations: With noise handling, up to how many evaluations of a point its value is the median of.
        options: Options of `cma` by their names there, see `OPTIONS`; strings may be expressions in N and popsize.
        name: What it is called; by default "pycma", and what differs from the defaults.

    Raises:
        TypeError: If a keyword is unknown or a value has the wrong type; valid ones are listed.
        ValueError: If an option is unknown or a number out of its range; valid ones are listed.
    """

    requires: ClassVar = Extra("cma", "cma")
    one_at_a_time: ClassVar = True

    restart_strategy: str = "IPOP"
    step_size_adaptation: str = "DEFAULT"
    relative_sigma0: float = 0.2
    population_size: int | None = None
    noise_handling: bool = False
    noise_evaluations: int = 1
    options: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    name: str = ""

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "restart_strategy": option(self.restart_strategy, "restart_strategy", STRATEGIES),
            "step_size_adaptation": option(self.step_size_adaptation, "step_size_adaptation", STEP_SIZES),
            "relative_sigma0": number(self.relative_sigma0, "relative_sigma0", 1e-12, 1.0),
            "population_size": number(self.population_size, "population_size", 3, 10**6, whole=True),
            "noise_handling": flag(self.noise_handling, "noise_handling"),
            "noise_evaluations": number(self.noise_evaluations, "noise_evaluations", 1, 10**6, whole=True),
            "options": dict(self.options),
        }
        for key in self.options:
            if key in ELSEWHERE:
                raise ValueError(f"option {key!r} of cma cannot be given: PyCMA's arguments or the problem set it")
            if key not in OPTIONS:
                raise ValueError(f"cma has no option {key!r};{did_you_mean(str(key), OPTIONS)}")
        if checked["noise_evaluations"] > 1 and not self.noise_handling:
            raise ValueError(f"noise_evaluations is {self.noise_evaluations}, but noise_handling is not True")
        for key, value in checked.items():
            object.__setattr__(self, key, value)
        if not self.name:
            object.__setattr__(self, "name", self._derived_name())

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Optimize until the problem stops it, or, with restart strategy STOP, until `cma` stops.

        It exposes what `expose_distribution` names, the paths as ``ps_norm`` (where CSA is used) and ``pc_norm``.
        """
        check_taken(self, problem)
        cma = optional("cma", "cma", "this optimizer")
        box = _Box(problem)
        normal, other = (np.random.RandomState(int(rng.integers(2**32))) for _ in range(2))
        objective = _Objective(problem, other)
        begin = _Beginning(problem, self.noise_evaluations)
        settings = self.settings(box) | {"randn": normal.randn}
        restarts, longest = Restarts(self.restart_strategy, rng), math.inf
        fitness, update = objective, None
        if constraints(problem) is not None:
            fitness = _constrained(cma, objective, len(box.lower))
            update = _silently(fitness.update)
            settings = {"tolstagnation": 0} | settings
        with objective:
            while True:
                start = rng.uniform(box.lower, box.upper)
                sigma0 = self.relative_sigma0 * restarts.step_size_factor
                noise = True if self.noise_handling else None
                done: Any = cma.fmin2(
                    fitness, start, sigma0, settings, noise_handler=noise, callback=update, init_callback=begin
                )
                strategy = done[1]
                if not restarts.population:
                    settings = dict(strategy.opts)
                    longest = settings["maxiter"]
                if not restarts.next(strategy.opts["popsize"], strategy.countevals):
                    return
                settings["popsize"] = restarts.population
                settings["maxiter"] = min(longest, restarts.evaluations / restarts.population)

    def settings(self, box: _Box) -> dict[str, Any]:
        """`cma`'s options in a box."""
        cma = optional("cma", "cma", "this optimizer")
        adaptation = STEP_SIZES[self.step_size_adaptation]
        given: dict[str, Any] = {
            "AdaptSigma": getattr(cma.sigma_adaptation, adaptation) if isinstance(adaptation, str) else adaptation,
            "bounds": [box.lower.tolist(), box.upper.tolist()],
            "CMA_stds": box.upper - box.lower,
            "seed": np.nan,
            "verbose": -10,
        }
        if box.whole:
            given["integer_variables"] = box.whole
        if self.population_size is not None:
            given["popsize"] = self.population_size
        return given | dict(self.options)

    def _derived_name(self) -> str:
        usual = {
            "restart_strategy": "IPOP",
            "step_size_adaptation": "DEFAULT",
            "relative_sigma0": 0.2,
            "population_size": None,
            "noise_evaluations": 1,
        }
        words = ("restart_strategy", "step_size_adaptation")
        parts = [
            getattr(self, key) if key in words else f"{key}={getattr(self, key)}"
            for key, value in usual.items()
            if getattr(self, key) != value
        ]
        parts += ["noise_handling"] if self.noise_handling else []
        return "-".join(["pycma", *parts, *(f"{key}={value}" for key, value in self.options.items())])


class _Box:
    """The problem's box as `cma` sees it: with a second variable, from 0 to 1, if there is one alone.

    Attributes:
        lower: (d,) lower ends, or (2,).
        upper: (d,) upper ends, or (2,).
        whole: Which variables take whole numbers only.
    """

    def __init__(self, problem: Objective) -> None:
        alone = problem.dimension == 1
        self.lower = np.append(problem.lower, 0.0) if alone else problem.lower
        self.upper = np.append(problem.upper, 1.0) if alone else problem.upper
        whole = integers(problem)
        self.whole = [] if whole is None else [int(i) for i in np.flatnonzero(whole)]


_DRAWS = ("rand", "randn", "randint", "uniform", "seed")
"""The functions of `numpy.random` that `cma` calls."""


class _Objective:
    """The problem, outside of which NumPy warns of nothing and draws from another random state.

    Args:
        problem: What is evaluated.
        state: The random state behind NumPy's global functions between evaluations.
    """

    def __init__(self, problem: Objective, state: np.random.RandomState) -> None:
        self._value, self._dimension = Incumbent(problem, "PyCMA"), problem.dimension
        self._paired: Paired | None = None
        if (found := constraints(problem)) is not None:
            self._paired = Paired(self._value, found[1], problem.dimension)
        self._outer = {name: getattr(np.random, name) for name in _DRAWS}
        self._inner = {name: getattr(state, name) for name in _DRAWS}
        self._warned = np.geterr()
        self._silent = np.errstate(all="ignore")

    def __enter__(self) -> None:
        self._silent.__enter__()
        _install(self._inner)

    def __exit__(self, *error: Any) -> None:
        _install(self._outer)
        self._silent.__exit__(*error)

    def __call__(self, x: FloatArray) -> float:
        return float(self._outside(self._paired or self._value, x))

    def violations(self, x: FloatArray) -> list[float]:
        """The c constraints' values at a point, <= 0 where they hold; asked for before the value or after."""
        return self._outside(cast("Paired", self._paired).violations, x).tolist()

    def _outside(self, evaluate: Callable[[FloatArray], Any], x: FloatArray) -> Any:
        _install(self._outer)
        try:
            with np.errstate(**self._warned):
                return evaluate(np.array(x[: self._dimension], dtype=np.float64))
        finally:
            _install(self._inner)


def _constrained(cma: Any, objective: _Objective, dimension: int) -> Any:
    """The augmented Lagrangian of a problem with constraints, which keeps no log: `cma`'s makes a folder at once."""

    class Quiet(cma.constraints_handler.AugmentedLagrangian):
        def _init_(self) -> None:
            self.logging = 0
            super()._init_()  # pyright: ignore[reportUnknownMemberType]

    fitness = cma.ConstrainedFitnessAL(objective, objective.violations, dimension=dimension, archives=False)
    vars(fitness)["_al"] = Quiet(dimension)
    return fitness


def _silently(update: Callable[[Any], None]) -> Callable[[Any], None]:
    """`update` without its warnings, of equal values and coefficients not set yet; nothing is evaluated in it."""

    def updated(strategy: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            update(strategy)

    return updated


def _install(functions: dict[str, Any]) -> None:
    cast("dict[str, Any]", vars(np.random)).update(functions)


class _Beginning:
    """What happens when a run of `cma` begins: it exposes the new state and is told the noise evaluations."""

    def __init__(self, problem: Objective, noise_evaluations: int) -> None:
        self._problem, self._evaluations = problem, noise_evaluations

    def __call__(self, strategy: Any) -> None:
        strategy.noise_handler.maxevals = self._evaluations if strategy.noise_handler.maxevals else 0
        expose_distribution(self._problem, _distribution(strategy, self._problem.dimension))


def _distribution(strategy: Any, dimension: int) -> Distribution:
    paths: dict[str, Callable[[], FloatArray]] = {"pc": lambda: strategy.pc}
    if hasattr(strategy.adapt_sigma, "ps"):
        paths["ps"] = lambda: strategy.adapt_sigma.ps
    return Distribution(
        mean=lambda: strategy.to_phenotype(strategy.mean)[:dimension],
        step_size=lambda: strategy.sigma,
        axes=lambda: np.sqrt(strategy.sm.variances) if strategy.D is None else np.asarray(strategy.D),
        population_size=lambda: strategy.popsize,
        paths=paths,
    )

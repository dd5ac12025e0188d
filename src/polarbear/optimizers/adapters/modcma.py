"""The modular CMA-ES of de Nobel et al. (2021, 2024), based on `modcma`'s C++ implementation.

How `modcma` is used:

- It works in coordinates in which the box has width 1 in every variable, as its bound correction COTN assumes: in a box
  of width 10, a tenth of CSA's points lay outside. Its repelling restarts and its threshold convergence assume a box of
  width 10; their constants are rescaled, so that they act as in [-5, 5]^d.
- It starts at the origin regardless of `center_placement`, and most draws of its UNIFORM restarts lie outside the box.
  Here the first centre follows `center_placement` too, and uniform centres are uniform in the box.
- Its `set_seed` keeps half of a pair of normal numbers from the previous run, which COTN would use; it is discarded.
- NATURAL_GRADIENT's initial matrix is the identity, so that the initial step size is the one given.
- When an adaptation breaks down and yields points that are not finite, it is restarted; these points are not
  evaluated.
- Settings that it would silently change are refused: an odd population of pairs, which it makes even, and more parents
  than points, where it takes half of the points; with SA and CMSA it would read beyond its memory for missing parents.
- Two of its step-size adaptations are faulty, see `FAULTY`; using them causes a warning.
- Its budget is out of reach: the problem ends the run.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from polarbear.optimizers.ask_tell import AskTell
from polarbear.optimizers.distributions import Distribution, axes_of, expose_distribution
from polarbear.optimizers.modcma_state import seed_modcma, set_covariance, transplant
from polarbear.optimizers.native import SingleObjective, check_suitable
from polarbear.optimizers.settings import differences, family, label
from polarbear.optimizers.telemetry import offer_warm_start
from polarbear.optimizers.transfer import distribution_of
from polarbear.protocols import Objective, Traits, WarmStart
from polarbear.records import FloatArray
from polarbear.validation import Flag, Reals, choice, real, whole

if TYPE_CHECKING:
    from modcma import c_maes

ENDLESS = 10**15
"""The budget passed to `modcma`. It is exact as a float, as its budget-dependent modules require."""

MADE_FOR_WIDTH = 10.0
"""The box width that `modcma`'s repelling restarts and threshold convergence assume."""

GREATEST_REPELLING_DIMENSION = 300
"""In higher dimensions the volumes in `modcma`'s repelling radius overflow, and it would reject all points."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "step_size_adaptation": ("CSA", "TPA", "MSR", "XNES", "MXNES", "LPXNES", "PSR", "SR", "SA"),
    "matrix_adaptation": (
        "COVARIANCE", "NONE", "MATRIX", "SEPARABLE", "CHOLESKY", "CMSA", "COVARIANCE_NO_EIGV", "NATURAL_GRADIENT",
    ),
    "restart_strategy": ("NONE", "STOP", "RESTART", "IPOP", "BIPOP"),
    "bound_correction": ("NONE", "MIRROR", "COTN", "UNIFORM_RESAMPLE", "SATURATE", "TOROIDAL", "RESAMPLE"),
    "center_placement": ("X0", "ZERO", "UNIFORM", "CENTER"),
    "sampler": ("UNIFORM", "SOBOL", "HALTON"),
    "sample_transformation": (
        "NONE", "GAUSSIAN", "SCALED_UNIFORM", "LAPLACE", "LOGISTIC", "CAUCHY", "DOUBLE_WEIBULL",
    ),
    "mirrored": ("NONE", "MIRRORED", "PAIRWISE"),
    "weights": ("DEFAULT", "EQUAL", "EXPONENTIAL"),
}  # fmt: skip
"""The options of each module other than an on/off switch, by their names in `modcma`."""

FAULTY = {
    "PSR": (
        "ranks the points with lists of half their number and reads beyond their ends: the step size "
        "hardly adapts, and runs cannot be repeated; use MSR, which also compares generations, or CSA"
    ),
    "SA": (
        "weights variables instead of points: the step size stays about 1 box width whatever the points' values, "
        "and runs cannot be repeated if parents outnumber the variables; use CSA, or LPXNES, which also draws step "
        "sizes for points"
    ),
}
"""Faults of two step-size adaptations in `modcma` 1.2.0, according to its source (``src/mutation.cpp``)."""

SHORT_MATRIX_NAMES = {
    "COV": "COVARIANCE",
    "MAT": "MATRIX",
    "SEP": "SEPARABLE",
    "CHO": "CHOLESKY",
    "NAT": "NATURAL_GRADIENT",
}
"""The names in table 2 of Wurth et al. (2026)."""

SWITCHES = (
    "active",
    "elitist",
    "orthogonal",
    "sequential_selection",
    "repelling_restart",
    "threshold_convergence",
    "sample_sigma",
)
"""The modules that are on/off switches."""

_Rate = Annotated[float, real(ge=0)]

_SIZING = ("mirrored", "weights", "population_size", "parents", "restart_strategy")
"""Fields that determine the numbers of points and parents, also after restarts."""
RATES = ("cs", "cc", "cmu", "c1", "damps", "acov")

BASELINE: dict[str, Any] = {
    "relative_sigma0": 0.2,
    "active": True,
    "repelling_restart": True,
    "threshold_convergence": False,
    "bound_correction": "COTN",
    "restart_strategy": "IPOP",
    "center_placement": "UNIFORM",
}
"""The anytime configuration of Wurth et al. (2026), appendix B."""


@family("modular-cmaes", presets={"modular-cmaes-anytime": BASELINE})
class ModularCMAES(SingleObjective):
    """CMA-ES composed of modules; by default with `modcma`'s own settings, which never restart.

    `ModularCMAES.anytime` is the configuration to race. Options are words, in upper or lower case; see `OPTIONS` for
    those of each module. `modcma` has a single random state per process, which every run reseeds: run one at a time in
    a process, as races and plans do. Some points may lie outside the box: TPA places probes there, and COTN lets points
    out while the step size exceeds the box.

    Attributes:
        step_size_adaptation: How the step size is adapted. Avoid PSR and SA: in `modcma` 1.2.0 they are faulty, see
            `FAULTY`, and some of their runs cannot be repeated.
        matrix_adaptation: How the covariance matrix is adapted; also COV, MAT, SEP, CHO, NAT. With a step-size
            adaptation other than CSA, `modcma` turns COVARIANCE into COVARIANCE_NO_EIGV, which is equivalent.
        restart_strategy: What follows convergence. STOP returns; NONE continues without a restart.
        bound_correction: How points outside the box are corrected.
        center_placement: Where to start and restart: at X0, at the origin (ZERO), in the box's CENTER, or at a UNIFORM
            point of the box.
        sampler: The source of random numbers.
        sample_transformation: The distribution of the random numbers.
        mirrored: Whether points are sampled in pairs.
        weights: Recombination weights.
        active: Whether bad points have negative weights in the adaptation; off without matrix adaptation.
        elitist: Whether the best points survive.
        orthogonal: Whether samples are orthogonalized.
        sequential_selection: Whether a generation ends at its first improvement.
        repelling_restart: Whether restarts avoid the regions where earlier ones ended; off above 300 variables.
        threshold_convergence: Whether steps have a minimum length. In `modcma` it decays with the budget; here the
            budget is unknown, and the length does not decay.
        sample_sigma: Whether each point has its own step size.
        relative_sigma0: The initial step size as a fraction of the box's width in each variable.
        population_size: Points per generation (λ0), at least 2; by default 4 + ⌊3 ln d⌋. With PAIRWISE it must be even,
            and the default is the next even number.
        parents: Number of points that take part in recombination (μ0), at most λ0; by default λ0 / 2, or λ0 / 4 with SA
            or CMSA.
        x0: (d,) the starting point, in the problem's coordinates; only with center_placement X0, where the default is
            the box's centre.
        cs: Learning rate of the step size; the default of this and the following fields is `modcma`'s.
        cc: Learning rate of the evolution path.
        cmu: Learning rate of the rank-μ update.
        c1: Learning rate of the rank-one update.
        damps: Damping of the step size.
        acov: Factor on the learning rates of the matrix.
        name: The optimizer's name; by default "CMA-ES", the step-size adaptation, and the differences from the anytime
            configuration; or "plain-CMA-ES" and the differences from the defaults, if they are fewer.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.

    Warns:
        UserWarning: If the step-size adaptation is one of `FAULTY`.
    """

    step_size_adaptation: Annotated[str, choice(*OPTIONS["step_size_adaptation"])] = "CSA"
    matrix_adaptation: Annotated[str, choice(*OPTIONS["matrix_adaptation"], **SHORT_MATRIX_NAMES)] = "COVARIANCE"
    restart_strategy: Annotated[str, choice(*OPTIONS["restart_strategy"])] = "NONE"
    bound_correction: Annotated[str, choice(*OPTIONS["bound_correction"])] = "NONE"
    center_placement: Annotated[str, choice(*OPTIONS["center_placement"])] = "X0"
    sampler: Annotated[str, choice(*OPTIONS["sampler"])] = "UNIFORM"
    sample_transformation: Annotated[str, choice(*OPTIONS["sample_transformation"])] = "GAUSSIAN"
    mirrored: Annotated[str, choice(*OPTIONS["mirrored"])] = "NONE"
    weights: Annotated[str, choice(*OPTIONS["weights"])] = "DEFAULT"
    active: Flag = False
    elitist: Flag = False
    orthogonal: Flag = False
    sequential_selection: Flag = False
    repelling_restart: Flag = False
    threshold_convergence: Flag = False
    sample_sigma: Flag = False
    relative_sigma0: Annotated[float, real(ge=1e-12, le=10.0)] = 0.2
    population_size: Annotated[int, whole(2, 10**6)] | None = None
    parents: Annotated[int, whole(1, 10**6)] | None = None
    x0: Reals | None = None
    cs: _Rate | None = None
    cc: _Rate | None = None
    cmu: _Rate | None = None
    c1: _Rate | None = None
    damps: _Rate | None = None
    acov: _Rate | None = None
    name: str = ""

    one_at_a_time = True
    ends_steps = True

    @classmethod
    def anytime(cls, **overrides: Any) -> ModularCMAES:
        """The anytime configuration of Wurth et al. (2026), appendix B, with `overrides`.

        The initial step size is 0.2 of the box's width, with active update, repelling restarts with doubled population
        (IPOP), COTN bound correction, uniform centres, and no threshold convergence.
        """
        return cls(**(BASELINE | overrides))

    def __post_init__(self) -> None:
        self._check_population()
        if self.x0 is not None and self.center_placement != "X0":
            raise ValueError(
                f"x0 is given, but center_placement is {self.center_placement}; "
                "leave x0 out, or set center_placement='X0'"
            )
        if fault := FAULTY.get(self.step_size_adaptation):
            message = f"step_size_adaptation is {self.step_size_adaptation!r}; in modcma 1.2.0 it {fault}"
            warnings.warn(message, UserWarning, stacklevel=1)  # the same place for all callers: shown once

    def _check_population(self) -> None:
        """Raise a ValueError for a population size that `modcma` would change, or that leaves it without parents."""
        size, parents = self.population_size, self.parents
        if size is None:
            return
        if parents is not None and parents > size:
            raise ValueError(f"parents is {parents}; it must be from 1 to {size}")
        if self.mirrored == "PAIRWISE" and size % 2:
            raise ValueError(f"population_size is {size}; with mirrored='PAIRWISE' it must be even")
        if self.quartering and parents is None and size < 4:
            raise ValueError(
                f"population_size is {size}; {self.quartering[0]} takes a quarter of it as parents, "
                "which leaves none: give 4 or more, or set parents"
            )

    @property
    def quartering(self) -> list[str]:
        """The modules that take a quarter of the points as parents."""
        return [module for module in ("SA", "CMSA") if module in (self.step_size_adaptation, self.matrix_adaptation)]

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Optimize until the problem stops the run or, with restart strategy STOP, until convergence.

        The parameters of `Distribution.readers` are exposed, with the paths ``ps_norm`` and, if the matrix adaptation
        has it, ``pc_norm``; all are in box widths. Exposed on request are ``eigenvalue_1``, ``ps_1``, ``pc_1``, ….

        Raises:
            ValueError: If the problem has several objectives, or `x0` or `parents` does not fit its dimension.
        """
        check_suitable(self, problem)
        self._run(self._begin(problem, rng), problem, rng)

    def run_from(self, problem: Objective, rng: np.random.Generator, start: WarmStart) -> None:
        """Optimize from another optimizer's warm start: m, σ and C, or the whole state of another `ModularCMAES`.

        After one with equal settings, the run continues bit for bit.
        """
        check_suitable(self, problem)
        if isinstance(start.optimizer, ModularCMAES):
            es = self._taken_over(problem, rng, start)
        else:
            mean, step_size, covariance = distribution_of(start, problem)
            es = self._begin(problem, rng, mean)
            es.p.adaptation.m, es.p.mutation.sigma = mean / (problem.upper - problem.lower), step_size
            set_covariance(es.p.adaptation, covariance)
        self._run(es, problem, rng)

    def reseed(self, state: c_maes.ModularCMAES, rng: np.random.Generator) -> None:  # noqa: ARG002 - the protocol
        """Reseed the random state of `modcma`; Sobol and Halton sequences continue."""
        seed_modcma(int(rng.integers(2**31)))

    def _begin(
        self, problem: Objective, rng: np.random.Generator, center: FloatArray | None = None
    ) -> c_maes.ModularCMAES:
        """`modcma`'s optimizer at the start of a run; the first centre (d,) is drawn if it is not given."""
        from modcma import c_maes

        seed_modcma(int(rng.integers(2**31)))
        return self._made(c_maes.ModularCMAES(self.settings(problem, rng, center)), problem)

    def _made(self, es: c_maes.ModularCMAES, problem: Objective) -> c_maes.ModularCMAES:
        """A new optimizer of `modcma` after corrections."""
        if self.repelling_restart:
            es.p.repelling.coverage *= _coverage_factor(problem.dimension)
        self._correct(es.p)
        return es

    def _taken_over(self, problem: Objective, rng: np.random.Generator, start: WarmStart) -> c_maes.ModularCMAES:
        """`modcma`'s optimizer with the state of another `ModularCMAES`; the same object if the settings are equal."""
        from modcma import c_maes

        other = start.optimizer
        equal = {name for name, value in vars(self).items() if value == getattr(other, name)} | {"name"}
        if len(equal) == len(vars(self)):
            return start.state
        mean, _, covariance = distribution_of(start, problem)
        es = self._made(c_maes.ModularCMAES(self.settings(problem, rng, mean)), problem)
        resized = not equal.issuperset(_SIZING) or self.quartering != other.quartering
        transplant(start.state.p, es.p, equal, covariance, resized=resized)
        return es

    def _run(self, es: c_maes.ModularCMAES, problem: Objective, rng: np.random.Generator) -> None:
        """Run generation by generation until the problem stops the run or it converges."""
        state, width = es.p, problem.upper - problem.lower
        box = (problem.lower / width, problem.upper / width)
        objective = _ScaledObjective(problem, width)
        expose_distribution(problem, distribution := _distribution(state.adaptation, width), state)
        offer_warm_start(problem, lambda: replace(distribution.warm_start(problem, state), optimizer=self, state=es))
        step_ended: Callable[[], None] | None = getattr(problem, "step_ended", None)
        going = True
        while going:
            if objective.broken:
                _declare_broken(state, (box[0] + box[1]) / 2)
                objective.broken = False
            if state.criteria.any():
                state.start(objective)
                self._correct(state)
                if self.center_placement == "UNIFORM":
                    state.adaptation.m = rng.uniform(*box)
            going = es.step(objective)
            if step_ended is not None:
                step_ended()

    def refuses(self, traits: Traits, dimension: int, /) -> str:
        """The reason why it refuses problems of these traits and this dimension; empty if it accepts them."""
        if self.x0 is not None and len(self.x0) != dimension:
            return f"x0 has length {len(self.x0)}; the problem has dimension {dimension}"
        population = self._population_size(dimension)
        if self.parents is not None and self.parents > population:
            return (
                f"parents is {self.parents}, but in dimension {dimension} the population has {population} points; "
                f"give at most {population} parents, or set population_size too"
            )
        return super().refuses(traits, dimension)

    def ask_tell(self, lower: ArrayLike, upper: ArrayLike, rng: np.random.Generator) -> AskTell:
        """An ask-and-tell interface in the box from `lower` to `upper`; use one at a time in a process."""
        return AskTell(self, lower, upper, rng)

    def _correct(self, state: c_maes.Parameters) -> None:
        """Set what `modcma` leaves unset or sets for another box; called at the start and after each restart."""
        for population in (state.pop, state.old_pop):  # uninitialized memory that sequential selection reads
            population.X, population.Y, population.Z = (np.zeros_like(population.X) for _ in range(3))
        if self.matrix_adaptation == "NATURAL_GRADIENT":  # it starts with identity / sigma0
            state.adaptation.A = state.adaptation.A_inv
        if self.threshold_convergence:
            state.mutation.threshold_convergence.init_threshold *= MADE_FOR_WIDTH

    def settings(
        self, problem: Objective, rng: np.random.Generator, center: FloatArray | None = None
    ) -> c_maes.parameters.Settings:
        """`modcma`'s settings for a problem, in coordinates in which the box has width 1.

        Args:
            problem: The problem.
            rng: The random generator for the first centre.
            center: (d,) the first centre, if it is known.
        """
        from modcma import c_maes

        modules = c_maes.parameters.Modules()
        for module in OPTIONS:
            name = "ssa" if module == "step_size_adaptation" else module
            options = cast("Any", type(getattr(modules, name)))
            setattr(modules, name, options.__members__[getattr(self, module)])
        for switch in SWITCHES:
            setattr(modules, switch, getattr(self, switch))
        lower, upper = problem.lower, problem.upper
        width = upper - lower
        rates = {rate: getattr(self, rate) for rate in RATES if getattr(self, rate) is not None}
        return c_maes.parameters.Settings(
            problem.dimension,
            modules,
            budget=ENDLESS,
            sigma0=self.relative_sigma0,
            lambda0=self.population_size,
            mu0=self.parents,
            lb=lower / width,
            ub=upper / width,
            x0=(self._first_center(problem, rng) if center is None else center) / width,
            **rates,
        )

    def _population_size(self, dimension: int) -> int:
        """The population size λ0 that `modcma` uses."""
        size = self.population_size or 4 + math.floor(3 * math.log(dimension))
        return size + size % 2 if self.mirrored == "PAIRWISE" else size

    def _first_center(self, problem: Objective, rng: np.random.Generator) -> FloatArray:
        if self.center_placement == "UNIFORM":
            return rng.uniform(problem.lower, problem.upper)
        if self.center_placement == "ZERO":
            return np.zeros(problem.dimension)
        if self.x0 is None:
            return (problem.lower + problem.upper) / 2
        return np.array(self.x0)

    def default_name(self) -> str:
        """The name by the differences from the anytime configuration or from the defaults, whichever are fewer."""
        plain, anytime = (differences(self, base, ["step_size_adaptation"]) for base in (None, BASELINE))
        kind, changed = ("CMA-ES", anytime) if len(anytime) <= len(plain) else ("plain-CMA-ES", plain)
        return "-".join([kind, self.step_size_adaptation, *(_label(*setting) for setting in changed.items())])


def _distribution(adaptation: Any, width: FloatArray) -> Distribution:
    """The search distribution as read from `modcma`'s parameters, for a box of the given width."""

    def path(name: str) -> Callable[[c_maes.Parameters], FloatArray]:
        return lambda state: np.asarray(getattr(state.adaptation, name))

    return Distribution(
        mean=lambda state: state.adaptation.m * width,
        step_size=lambda state: state.mutation.sigma,
        axes=lambda state: _axes(state.adaptation),
        covariance=lambda state: _covariance(state.adaptation),
        population_size=lambda state: state.lamb,
        paths={name: path(name) for name in ("ps", "pc") if hasattr(adaptation, name)},
    )


def _root(adaptation: Any) -> FloatArray | None:
    """(d, d) the matrix A of steps y = Az; None for the adaptations NONE and SEPARABLE."""
    return next((np.asarray(getattr(adaptation, name)) for name in ("A", "M") if hasattr(adaptation, name)), None)


def _axes(adaptation: Any) -> FloatArray:
    """(d,) the standard deviations of steps along their principal axes, at step size 1."""
    root, alone = _root(adaptation), getattr(adaptation, "d", None)
    return axes_of(root) if root is not None else np.ones(len(adaptation.m)) if alone is None else np.asarray(alone)


def _covariance(adaptation: Any) -> FloatArray:
    """(d, d) the covariance matrix of steps at step size 1."""
    root = _root(adaptation)
    return np.diag(np.square(_axes(adaptation))) if root is None else root @ root.T


def _label(field: str, value: Any) -> str:
    """One setting in a name: the option alone where it is unambiguous."""
    if field == "matrix_adaptation" and value != "NONE":
        return next((short for short, full in SHORT_MATRIX_NAMES.items() if full == value), value)
    unique = isinstance(value, str) and sum(value in valid for valid in OPTIONS.values()) == 1
    return value if unique else label(field, value)


class _ScaledObjective:
    """The problem in coordinates in which its box has width 1.

    A point that is not finite, because the adaptation has broken down numerically, is not evaluated: its value is +inf,
    and `broken` is set.
    """

    __slots__ = ("_factor", "_problem", "broken")

    def __init__(self, problem: Objective, width: FloatArray) -> None:
        self._problem = problem
        self._factor: Any = width[0] if (width == width[0]).all() else width
        self.broken = False

    def __call__(self, u: FloatArray) -> Any:
        with np.errstate(over="ignore"):
            point = u * self._factor
        if math.isfinite(sum(point.tolist())) or np.isfinite(point).all():  # a sum takes less time, but may overflow
            return self._problem(point)
        self.broken = True
        return math.inf


def _declare_broken(state: c_maes.Parameters, center: FloatArray) -> None:
    """Make `modcma` restart, as it does when it detects by itself that an adaptation has broken down."""
    state.mutation.sigma = math.nan
    state.criteria.update(state)
    if not np.isfinite(state.adaptation.m).all():
        state.adaptation.m = center


def _coverage_factor(dimension: int) -> float:
    """The factor by which `modcma`'s repelling radius in a box of width 1 corresponds to that in a box of width 10.

    The radius derives from volume / (sigma0 · coverage); volume and sigma0 are 10^d and 10 times smaller here.
    An infinite coverage makes the radius 0.
    """
    return math.inf if dimension > GREATEST_REPELLING_DIMENSION else MADE_FOR_WIDTH ** (1 - dimension)

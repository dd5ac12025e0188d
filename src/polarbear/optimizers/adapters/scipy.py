"""The optimizers of `scipy.optimize`, restarted endlessly.

Their warnings about precision loss or non-finite values are not shown; those of the problem are.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from dataclasses import field, replace
from typing import Annotated, Any, cast

import numpy as np

from polarbear.descriptions import plain_value
from polarbear.optimizers.adapters.callbacks import Callback, Restarted
from polarbear.optimizers.curvature import Curvature
from polarbear.optimizers.native import clip_values
from polarbear.optimizers.settings import check_options, family
from polarbear.optimizers.telemetry import offer_warm_start
from polarbear.optimizers.transfer import first_point, known_points
from polarbear.protocols import Objective, WarmStart, traits_of
from polarbear.records import FloatArray
from polarbear.validation import Checked, Flag, Positive, Share, choice, real, real_number, set_fields

_FINITE_DIFFERENCES = ("eps", "finite_diff_rel_step")

METHODS: dict[str, tuple[str, ...]] = {
    "Nelder-Mead": ("maxiter", "maxfev", "initial_simplex", "xatol", "fatol", "adaptive"),
    "Powell": ("xtol", "ftol", "maxiter", "maxfev", "direc"),
    "CG": ("maxiter", "gtol", "norm", *_FINITE_DIFFERENCES, "c1", "c2"),
    "BFGS": ("maxiter", "gtol", "norm", *_FINITE_DIFFERENCES, "xrtol", "c1", "c2", "hess_inv0"),
    "L-BFGS-B": ("maxcor", "ftol", "gtol", "maxfun", "maxiter", "maxls", *_FINITE_DIFFERENCES),
    "TNC": (
        "scale", "offset", "maxCGit", "eta", "stepmx", "accuracy", "minfev", "ftol", "xtol", "gtol", "rescale",
        "maxfun", *_FINITE_DIFFERENCES,
    ),
    "COBYLA": ("rhobeg", "tol", "maxiter", "catol", "f_target"),
    "COBYQA": ("maxfev", "maxiter", "f_target", "feasibility_tol", "initial_tr_radius", "final_tr_radius", "scale"),
    "SLSQP": ("maxiter", "ftol", *_FINITE_DIFFERENCES),
    "trust-constr": (
        "xtol", "gtol", "barrier_tol", "maxiter", "finite_diff_rel_step", "initial_constr_penalty",
        "initial_tr_radius", "initial_barrier_parameter", "initial_barrier_tolerance", "factorization_method",
    ),
}  # fmt: skip
"""The methods of `scipy.optimize.minimize` that need no derivatives from the user, with their options."""

UNBOUNDED = frozenset({"CG", "BFGS"})
"""The methods without bounds, which may evaluate points anywhere."""

CONSTRAINED = frozenset({"COBYLA", "COBYQA", "SLSQP", "trust-constr"})
"""The methods that accept constraints; the others ignore them."""

QUASI_NEWTON = frozenset({"BFGS", "L-BFGS-B"})
"""The methods that learn an inverse Hessian, which they can pass on to another optimizer."""

GREATEST = sys.float_info.max
"""Bound on values for local methods: no finite value exceeds it, so that the order of all values is preserved."""

_ENDLESS = 10**15

_Tolerance = Annotated[float, real(ge=0)]

_LEAST_POPULATION = 5
"""Smallest population of SciPy's differential evolution."""
_STRATEGIES = [
    f"{base}{kind}"
    for base in ("best1", "rand1", "randtobest1", "currenttobest1", "best2", "rand2")
    for kind in ("bin", "exp")
]


def _optimize(function: str, problem: Objective, objective: Callback, *args: Any, **keywords: Any) -> None:
    """Call a function of `scipy.optimize` in the problem's box, without the warnings of SciPy's own modules."""
    optimize: Any = importlib.import_module("scipy.optimize")
    keywords.setdefault("bounds", optimize.Bounds(problem.lower, problem.upper))
    if objective.constraints:
        keywords["constraints"] = optimize.NonlinearConstraint(objective.violations, -np.inf, 0.0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"scipy\.(optimize|_lib)\.")
        getattr(optimize, function)(*args, **keywords)


@family("scipy-minimize", "{method}", kw_only=False, algorithms=("scipy", "method", lambda: METHODS))
class ScipyMinimize(Restarted):
    """A local method of `scipy.optimize.minimize`, from a uniformly random point of the box.

    Methods that accept bounds are given the box; CG and BFGS do not and may leave it, and COBYLA and trust-constr may
    leave it a little on the way. Gradients are finite differences, whose evaluations count; where those of huge values
    lead to points with NaN, the method ends. Infinite values count as `GREATEST`: the difference of two of them is 0
    and not NaN, so that the methods notice the lack of progress. The methods of `CONSTRAINED` are given the problem's
    constraints.

    Attributes:
        method: One of `METHODS`, in upper or lower case.
        options: The method's own options.
        tol: The method's tolerance; None for its default.
        restarts: Whether to start again from a new random point, endlessly, whenever the method stops; otherwise the
            run ends when the method does.
        name: The optimizer's name; by default the method's name and the options given.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    method: Annotated[str, choice(*METHODS)] = "Nelder-Mead"
    options: dict[str, Any] = field(default_factory=dict[str, Any], hash=False)
    tol: _Tolerance | None = None
    restarts: Flag = True
    name: str = ""

    def __post_init__(self) -> None:
        check_options(self.options, self.method, METHODS[self.method])
        set_fields(self, options=plain_value(self.options))

    @property
    def constrained(self) -> bool:
        """Whether the method accepts constraints."""
        return self.method in CONSTRAINED

    def _search(
        self, objective: Callback, problem: Objective, rng: np.random.Generator, start: WarmStart | None
    ) -> None:
        x0 = first_point(start, problem, rng)
        options = dict(self.options)
        if self.method == "BFGS" and start is not None and start.covariance is not None:
            options["hess_inv0"] = _inverse_hessian(start)
        callback = _stop_at_standstill(x0) if self.method == "Powell" else None
        curvature = None
        if self.method in QUASI_NEWTON and hasattr(problem, "offer_warm_start"):
            curvature = Curvature(problem, options.get("hess_inv0"))
            callback = self._offer(curvature, objective, problem)

        def bounded(x: FloatArray) -> float:
            value = min(max(objective(x), -GREATEST), GREATEST)
            if curvature is not None:
                curvature.see(x, value)
            return value

        _optimize(
            "minimize",
            problem,
            objective,
            bounded,
            x0,
            method=self.method,
            tol=self.tol,
            callback=callback,
            options=options,
            **({"bounds": None} if self.method in UNBOUNDED else {}),
        )

    def _offer(self, curvature: Curvature, objective: Callback, problem: Objective) -> Any:
        """Offer a warm start from the best start so far; return the callback that SciPy calls in each iteration."""
        before = objective.curvature

        def best() -> Curvature:
            return curvature if before is None or curvature.value <= before.value else before

        def callback(*, intermediate_result: Any) -> None:
            curvature.iterate(intermediate_result.x, float(intermediate_result.fun))
            objective.curvature = best()

        def left() -> WarmStart:
            return replace(best().warm_start(objective.point), optimizer=self, state=best().matrix)

        offer_warm_start(problem, left)
        return callback


def _inverse_hessian(start: WarmStart) -> FloatArray:
    """(d, d) the inverse Hessian learned by another gradient-based search, or a CMA-ES's C with mean eigenvalue 1.

    C is the inverse Hessian up to scale (Hansen, tutorial, 1.3).
    """
    if isinstance(start.optimizer, ScipyMinimize):
        return np.asarray(start.state)
    covariance = np.asarray(start.covariance)
    return covariance * (len(covariance) / np.trace(covariance))


def _weight(value: Any, name: str) -> float | tuple[float, ...]:
    """A differential weight, or a range of weights."""
    if not isinstance(value, (tuple, list)):
        return real_number(value, name, ge=0, le=2)
    ends = cast("list[Any]", value)
    if len(ends) != 2:
        raise ValueError(f"{name} is {value!r}; it must be a number or a pair (low, high)")
    return tuple(real_number(end, name, ge=0, le=2) for end in ends)


@family("scipy-differential-evolution", "DE", presets={"scipy-DE": {}}, polish="polish={}", restarts="restarts={}")
class ScipyDifferentialEvolution(Restarted):
    """`scipy.optimize.differential_evolution` in the problem's box, with its integer variables and constraints.

    Attributes:
        strategy: How trial points are generated, such as ``"best1bin"``.
        maxiter: Maximum number of generations.
        popsize: Points per variable.
        tol: Relative tolerance of convergence.
        mutation: Differential weight, or a range (low, high) for dithering.
        recombination: Crossover probability.
        polish: Whether to end with L-BFGS-B from the best point.
        init: How the initial points are drawn, such as ``"latinhypercube"``.
        atol: Absolute tolerance of convergence.
        updating: ``"immediate"`` or ``"deferred"``.
        restarts: Whether to start again with new points, endlessly, whenever it stops.
        name: The optimizer's name; by default "DE" and the fields that differ from their defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    strategy: Annotated[str, choice(*_STRATEGIES)] = "best1bin"
    maxiter: Positive = 1000
    popsize: Positive = 15
    tol: _Tolerance = 0.01
    mutation: Annotated[float | tuple[float, float], Checked(_weight)] = (0.5, 1.0)
    recombination: Share = 0.7
    polish: Flag = True
    init: Annotated[str, choice("latinhypercube", "sobol", "halton", "random")] = "latinhypercube"
    atol: _Tolerance = 0.0
    updating: Annotated[str, choice("immediate", "deferred")] = "immediate"
    restarts: Flag = True
    name: str = ""

    @property
    def constrained(self) -> bool:
        """Always true: it accepts constraints."""
        return True

    def _search(
        self, objective: Callback, problem: Objective, rng: np.random.Generator, start: WarmStart | None
    ) -> None:
        arguments = _arguments(self) | {"rng": rng, "integrality": traits_of(problem).integer_mask}
        if start is not None and len(points := known_points(start, problem)[0]) >= _LEAST_POPULATION:
            arguments["init"] = points[-self.popsize * problem.dimension :]
        _optimize("differential_evolution", problem, objective, objective, **arguments)


@family("scipy-dual-annealing", "DualAnnealing", no_local_search="no_local_search={}", restarts="restarts={}")
class ScipyDualAnnealing(Restarted):
    """`scipy.optimize.dual_annealing` in the problem's box, from a uniformly random point of it.

    Values above 1e100, including infinite ones, count as 1e100: without a finite value SciPy gives up.

    Attributes:
        maxiter: Maximum number of iterations.
        initial_temp: The initial temperature, above 0.01.
        restart_temp_ratio: The fraction of the initial temperature at which it reanneals, between 0 and 1.
        visit: The parameter of the visiting distribution, from 1 to 3; higher values give heavier tails.
        accept: The parameter of the acceptance distribution, from -1e4 to -5; lower values accept less.
        no_local_search: Whether to omit the local search by L-BFGS-B.
        restarts: Whether to start again from a new random point, endlessly, whenever it stops.
        name: The optimizer's name; by default "DualAnnealing" and the fields that differ from their defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    maxiter: Positive = 1000
    initial_temp: Annotated[float, real(gt=0.01, le=5e4)] = 5230.0
    restart_temp_ratio: Annotated[float, real(gt=0, lt=1)] = 2e-5
    visit: Annotated[float, real(gt=1, le=3)] = 2.62
    accept: Annotated[float, real(gt=-1e4, le=-5)] = -5.0
    no_local_search: Flag = False
    restarts: Flag = True
    name: str = ""

    def _search(
        self, objective: Callback, problem: Objective, rng: np.random.Generator, start: WarmStart | None
    ) -> None:
        x0 = first_point(start, problem, rng)

        def bounded(x: FloatArray) -> float:
            return float(clip_values(objective(x)))

        _optimize("dual_annealing", problem, objective, bounded, x0=x0, rng=rng, maxfun=_ENDLESS, **_arguments(self))


def _arguments(optimizer: ScipyDifferentialEvolution | ScipyDualAnnealing) -> dict[str, Any]:
    return {key: value for key, value in vars(optimizer).items() if key not in ("restarts", "name")}


def _stop_at_standstill(start: FloatArray) -> Any:
    """A callback that ends a start of Powell's method when an iteration returns to the point of the previous one.

    SciPy would then search along the difference of the two points, which is zero, and fail. Its own criterion, based on
    values, misses this if the search along the sum of all steps moved the point in between.
    """
    last = start

    def callback(x: FloatArray) -> None:
        nonlocal last
        if np.array_equal(x, last):
            raise StopIteration
        last = x

    return callback

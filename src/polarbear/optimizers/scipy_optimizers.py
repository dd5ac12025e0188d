"""The optimizers of `scipy.optimize`, restarted so that they go on until they are stopped.

All recommend the best point evaluated. Their warnings, about precision lost or values that are not finite, are not
shown; those of the problem are.
"""

from __future__ import annotations

import importlib
import math
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.optimizers.adapters import Incumbent, OneObjective, Paired, constraints, finite, integers
from polarbear.optimizers.arguments import (
    as_plain,
    checked_keywords,
    did_you_mean,
    flag,
    number,
    plain_label,
    set_fields,
    told_name,
)
from polarbear.optimizers.telemetry import recommend

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polarbear.protocols import Objective
    from polarbear.records import FloatArray

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
"""The methods that know no bounds: they may evaluate anywhere."""

CONSTRAINED = frozenset({"COBYLA", "COBYQA", "SLSQP", "trust-constr"})
"""The methods that are given the problem's constraints; the others do not know of them."""

GREATEST = sys.float_info.max
"""What +inf counts as for local methods: no finite value is above it, so that the order of all values is kept."""


@checked_keywords
@dataclass(frozen=True)
class ScipyMinimize(OneObjective):
    """A local method of `scipy.optimize.minimize`, from a uniformly random point of the box.

    The box is given to the methods that take bounds: not CG and BFGS, which may leave it; COBYLA and trust-constr may
    leave it a little on the way. Gradients are finite differences, whose evaluations count; where those of huge values
    lead to points that are NaN, the method has ended. Infinite values count as `GREATEST`: differences of two of them
    are 0 and not NaN, so that the methods see that they get nowhere. The problem's constraints are given to the
    methods of `CONSTRAINED`.

    Attributes:
        method: Which one of `METHODS`; upper or lower case.
        options: The method's own options.
        tol: The method's tolerance; None for its default.
        restarts: Whether to start again from a new random point whenever the method stops, endlessly; else the
            run ends when the method does.
        name: What it is called; by default the method's name and the options given.

    Raises:
        TypeError: If a keyword is unknown or has the wrong type.
        ValueError: If the method or an option is unknown; valid ones are listed.
    """

    method: str = "Nelder-Mead"
    options: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)
    tol: float | None = None
    restarts: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        known = {method.lower(): method for method in METHODS}
        method = known.get(str(self.method).lower())
        if method is None:
            raise ValueError(f"method is {self.method!r};{did_you_mean(str(self.method), METHODS)}")
        for key in self.options:
            if key not in METHODS[method]:
                raise ValueError(f"{method} has no option {key!r};{did_you_mean(str(key), METHODS[method])}")
        options = {key: as_plain(value) for key, value in self.options.items()}
        set_fields(self, {"method": method, "options": options, "tol": number(self.tol, "tol", 0.0)})
        flag(self.restarts, "restarts")

    def _default_name(self) -> str:
        return told_name(self, self.method, "method")

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Minimize from random points until the problem stops it, or once without restarts."""
        optimize: Any = importlib.import_module("scipy.optimize")
        seen = _Seen(optimize, problem, self.name, constrained=self.method in CONSTRAINED)
        box = None if self.method in UNBOUNDED else optimize.Bounds(problem.lower, problem.upper)

        def objective(x: FloatArray) -> float:
            return min(max(seen.objective(x), -GREATEST), GREATEST)

        while True:
            before = seen.incumbent.evaluations
            start = rng.uniform(problem.lower, problem.upper)
            with _silence(), suppress(_BrokenDown):
                optimize.minimize(
                    objective,
                    start,
                    method=self.method,
                    bounds=box,
                    constraints=seen.constraints,
                    tol=self.tol,
                    callback=_Standstill(start) if self.method == "Powell" else None,
                    options=dict(self.options),
                )
            if not self.restarts or seen.incumbent.evaluations == before:
                return


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class ScipyDifferentialEvolution(OneObjective):
    """`scipy.optimize.differential_evolution` in the problem's box, with its integer variables and constraints.

    Attributes:
        strategy: How trial points are made, such as ``"best1bin"``.
        maxiter: Generations before it stops.
        popsize: Points per variable.
        tol: Relative tolerance of convergence.
        mutation: Differential weight, or a range (low, high) to dither in.
        recombination: Crossover probability.
        polish: Whether to end with L-BFGS-B from the best point.
        init: How the first points are drawn, such as ``"latinhypercube"``.
        atol: Absolute tolerance of convergence.
        updating: ``"immediate"`` or ``"deferred"``.
        restarts: Whether to start again with new points whenever it stops, endlessly.
        name: What it is called; by default "DE" and what differs from the defaults.

    Raises:
        TypeError: If a keyword is unknown; valid ones are listed.
        ValueError: If a number is out of its range, or a strategy unknown.
    """

    strategy: str = "best1bin"
    maxiter: int = 1000
    popsize: int = 15
    tol: float = 0.01
    mutation: float | tuple[float, float] = (0.5, 1.0)
    recombination: float = 0.7
    polish: bool = True
    init: str = "latinhypercube"
    atol: float = 0.0
    updating: str = "immediate"
    restarts: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        for key, valid in _DE_WORDS.items():
            value = getattr(self, key)
            if value not in valid:
                raise ValueError(f"{key} is {value!r};{did_you_mean(str(value), valid)}")
        for key in ("polish", "restarts"):
            flag(getattr(self, key), key)
        checked: dict[str, Any] = {
            "maxiter": number(self.maxiter, "maxiter", 1, whole=True),
            "popsize": number(self.popsize, "popsize", 1, whole=True),
            "tol": number(self.tol, "tol", 0.0),
            "atol": number(self.atol, "atol", 0.0),
            "recombination": number(self.recombination, "recombination", 0.0, 1.0),
        }
        if isinstance(self.mutation, (tuple, list)):
            checked["mutation"] = tuple(number(end, "mutation", 0.0, 2.0) for end in self.mutation)
            if len(checked["mutation"]) != 2:
                raise ValueError(f"mutation is {self.mutation!r}; it must be a number or a pair (low, high)")
        else:
            checked["mutation"] = number(self.mutation, "mutation", 0.0, 2.0)
        set_fields(self, checked)

    def _default_name(self) -> str:
        return told_name(self, "DE", labelled=plain_label)

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Evolve until the problem stops it, or once without restarts."""
        optimize: Any = importlib.import_module("scipy.optimize")
        own = {"restarts", "name"}
        settings = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in own}
        seen = _Seen(optimize, problem, self.name, constrained=True)
        settings |= {"constraints": seen.constraints, "integrality": integers(problem)}
        while True:
            before = seen.incumbent.evaluations
            box = optimize.Bounds(problem.lower, problem.upper)
            with _silence():
                optimize.differential_evolution(seen.objective, box, rng=rng, **settings)
            if not self.restarts or seen.incumbent.evaluations == before:
                return


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class ScipyDualAnnealing(OneObjective):
    """`scipy.optimize.dual_annealing` in the problem's box, from a uniformly random point of it.

    Values above 1e100, infinite ones among them, count as 1e100: where it finds no finite value, SciPy gives up.

    Attributes:
        maxiter: Iterations before it stops.
        initial_temp: The initial temperature, above 0.01.
        restart_temp_ratio: The share of the initial temperature at which it reanneals, between 0 and 1.
        visit: The visiting distribution's parameter, from 1 to 3; high values make heavier tails.
        accept: The acceptance distribution's parameter, from -1e4 to -5; low values accept less.
        no_local_search: Whether to leave out L-BFGS-B.
        restarts: Whether to start again from a new random point whenever it stops, endlessly.
        name: What it is called; by default "DualAnnealing" and what differs from the defaults.

    Raises:
        TypeError: If a keyword is unknown; valid ones are listed.
        ValueError: If a number is out of its range.
    """

    maxiter: int = 1000
    initial_temp: float = 5230.0
    restart_temp_ratio: float = 2e-5
    visit: float = 2.62
    accept: float = -5.0
    no_local_search: bool = False
    restarts: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "maxiter": number(self.maxiter, "maxiter", 1, whole=True),
            "initial_temp": number(self.initial_temp, "initial_temp", math.nextafter(0.01, 1.0), 5e4),
            "restart_temp_ratio": number(self.restart_temp_ratio, "restart_temp_ratio", 1e-300, 1.0 - 1e-16),
            "visit": number(self.visit, "visit", math.nextafter(1.0, 2.0), 3.0),
            "accept": number(self.accept, "accept", -1e4 + 1e-9, -5.0),
            "no_local_search": flag(self.no_local_search, "no_local_search"),
            "restarts": flag(self.restarts, "restarts"),
        }
        set_fields(self, checked)

    def _default_name(self) -> str:
        return told_name(self, "DualAnnealing", labelled=plain_label)

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Anneal until the problem stops it, or once without restarts."""
        optimize: Any = importlib.import_module("scipy.optimize")
        own = {"restarts", "name"}
        settings = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in own}
        seen = _Seen(optimize, problem, self.name, constrained=False)
        box = list(zip(problem.lower, problem.upper, strict=True))

        def objective(x: FloatArray) -> float:
            return float(finite(seen.objective(x)))

        while True:
            start = rng.uniform(problem.lower, problem.upper)
            with _silence():
                optimize.dual_annealing(objective, box, x0=start, rng=rng, maxfun=_ENDLESS, **settings)
            if not self.restarts:
                return


_ENDLESS = 10**15


class _Seen:
    """A problem as `scipy.optimize` takes it.

    Attributes:
        incumbent: What counts its evaluations.
        objective: What to minimize.
        constraints: What to give as constraints; empty if there are none, or if they are not wanted.
    """

    def __init__(self, optimize: Any, problem: Objective, name: str, *, constrained: bool) -> None:
        self.incumbent = Incumbent(problem, name)
        recommend(problem, self.incumbent.recommended)
        self.objective: Callable[[FloatArray], float] = self._value
        self.constraints: Any = ()
        found = constraints(problem) if constrained else None
        if found is not None:
            paired = Paired(self._value, found[1], problem.dimension)
            self.objective = paired
            self.constraints = optimize.NonlinearConstraint(paired.violations, -np.inf, 0.0)

    def _value(self, x: FloatArray) -> float:
        try:
            return self.incumbent(x)
        except ValueError:  # how a problem answers NaN
            if np.isnan(x).any():
                raise _BrokenDown from None
            raise


class _Standstill:
    """Ends a start of Powell's method when an iteration led back to where the one before had.

    SciPy would search along the difference next, which is zero, and fails there. Its own criterion, of values, misses
    that where the search along the sum of all steps moved the point in between.

    Args:
        start: (d,) where the first iteration begins.
    """

    __slots__ = ("_before",)

    def __init__(self, start: FloatArray) -> None:
        self._before = start

    def __call__(self, x: FloatArray) -> None:
        if np.array_equal(x, self._before):
            raise StopIteration
        self._before = x


class _BrokenDown(Exception):  # noqa: N818 - an end of a start, which leads to the next
    """A method asked for the value at a point that is NaN, as it does after differences of huge values."""


@contextmanager
def _silence() -> Generator[None]:
    """Without the warnings of SciPy's own modules."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"scipy\.(optimize|_lib)\.")
        yield


_DE_WORDS = {
    "strategy": tuple(
        f"{base}{kind}"
        for base in ("best1", "rand1", "randtobest1", "currenttobest1", "best2", "rand2")
        for kind in ("bin", "exp")
    ),
    "init": ("latinhypercube", "sobol", "halton", "random"),
    "updating": ("immediate", "deferred"),
}

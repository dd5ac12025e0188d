"""The optimizers of `scipy.optimize`, restarted so that they go on until they are stopped."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from polarbear.optimizers.arguments import checked_keywords, did_you_mean, flag, number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from polarbear.optimizers.protocol import Objective

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


@checked_keywords
@dataclass(frozen=True)
class ScipyMinimize:
    """A local method of `scipy.optimize.minimize`, from a uniformly random point of the box.

    The box is given to the methods that take bounds (not CG and BFGS, which may leave it). Gradients are finite
    differences, whose evaluations count.

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
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "options", dict(self.options))
        object.__setattr__(self, "tol", number(self.tol, "tol", 0.0))
        flag(self.restarts, "restarts")
        if not self.name:
            given = [f"{key}={value}" for key, value in self.options.items()]
            given += [f"tol={self.tol}"] if self.tol is not None else []
            given += [] if self.restarts else ["not-restarts"]
            object.__setattr__(self, "name", "-".join([method, *given]))

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Minimize from random points until the problem stops it, or once without restarts."""
        optimize: Any = importlib.import_module("scipy.optimize")
        box = None if self.method in UNBOUNDED else optimize.Bounds(problem.lower, problem.upper)
        while True:
            start = rng.uniform(problem.lower, problem.upper)
            optimize.minimize(problem, start, method=self.method, bounds=box, tol=self.tol, options=dict(self.options))
            if not self.restarts:
                return


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class ScipyDifferentialEvolution:
    """`scipy.optimize.differential_evolution` in the problem's box.

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
        for key, value in checked.items():
            object.__setattr__(self, key, value)
        if not self.name:
            usual = {entry.name: entry.default for entry in fields(self) if entry.name != "name"}
            given = [f"{key}={getattr(self, key)}" for key in usual if getattr(self, key) != usual[key]]
            object.__setattr__(self, "name", "-".join(["DE", *given]))

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Evolve until the problem stops it, or once without restarts."""
        optimize: Any = importlib.import_module("scipy.optimize")
        own = {"restarts", "name"}
        settings = {entry.name: getattr(self, entry.name) for entry in fields(self) if entry.name not in own}
        while True:
            optimize.differential_evolution(problem, optimize.Bounds(problem.lower, problem.upper), rng=rng, **settings)
            if not self.restarts:
                return


_DE_WORDS = {
    "strategy": tuple(
        f"{base}{kind}"
        for base in ("best1", "rand1", "randtobest1", "currenttobest1", "best2", "rand2")
        for kind in ("bin", "exp")
    ),
    "init": ("latinhypercube", "sobol", "halton", "random"),
    "updating": ("immediate", "deferred"),
}

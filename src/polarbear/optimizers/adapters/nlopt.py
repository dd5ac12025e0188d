"""The derivative-free algorithms of NLopt, restarted endlessly.

How `nlopt` 2.11 is used:

- An exception raised by the objective does not stop every algorithm: GN_CRS2_LM first evaluates its whole initial
  population with the exception pending. It is kept here, nothing is evaluated after it, and it is raised at the end.
- Values above 1e100 count as 1e100: with infinite ones GN_AGS crashes the process, GN_ORIG_DIRECT never returns, and
  the other variants of DIRECT fail.
- It has a single random state per process; every start reseeds it, from the run's generator alone.
- LN_NEWUOA_BOUND is left out: it can compute for minutes between two evaluations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.adapters.callbacks import Callback, Restarted
from polarbear.optimizers.generators import seed_from
from polarbear.optimizers.native import GREATEST, clip_values
from polarbear.optimizers.settings import Size, choice_of, family
from polarbear.optimizers.transfer import first_point, search_starts
from polarbear.protocols import Objective, Traits, WarmStart
from polarbear.records import FloatArray
from polarbear.validation import Checked, Flag, Share, folded, real

LOCAL = (
    "LN_BOBYQA", "LN_COBYLA", "LN_NELDERMEAD", "LN_NEWUOA", "LN_PRAXIS", "LN_SBPLX", "LN_AUGLAG", "LN_AUGLAG_EQ",
)  # fmt: skip
"""The local algorithms."""

DETERMINISTIC = (
    "GN_DIRECT", "GN_DIRECT_L", "GN_DIRECT_NOSCAL", "GN_DIRECT_L_NOSCAL", "GN_ORIG_DIRECT", "GN_ORIG_DIRECT_L",
    "GN_AGS", "GN_DIRECT_L_RAND_NOSCAL",
)  # fmt: skip
"""The global algorithms that draw no random numbers and ignore the starting point: they are not restarted.

GN_DIRECT_L_RAND_NOSCAL should draw random numbers, but equals GN_DIRECT_L_NOSCAL in `nlopt` 2.11.
"""

STOCHASTIC = (
    "GN_CRS2_LM", "GN_DIRECT_L_RAND", "GN_ESCH", "GN_ISRES", "GN_MLSL", "GN_MLSL_LDS",
)  # fmt: skip
"""The other global algorithms."""

ALGORITHMS = (*LOCAL, *DETERMINISTIC, *STOCHASTIC)
"""All algorithms offered, by NLopt's names."""

UNBOUNDED = frozenset({"LN_NEWUOA"})
"""The algorithms without bounds, which may evaluate points anywhere."""

CONSTRAINED = frozenset({
    "LN_COBYLA", "LN_AUGLAG", "LN_AUGLAG_EQ", "GN_ISRES", "GN_AGS", "GN_ORIG_DIRECT", "GN_ORIG_DIRECT_L",
})  # fmt: skip
"""The algorithms that accept constraints; the others ignore them."""

NESTED = frozenset({"LN_AUGLAG", "LN_AUGLAG_EQ", "GN_MLSL", "GN_MLSL_LDS"})
"""The algorithms that use a local one within."""

LINKED = frozenset({"GN_MLSL", "GN_MLSL_LDS"})
"""Multi-level single linkage, which starts from all known points."""

STARTLESS = frozenset({*DETERMINISTIC, "GN_DIRECT_L_RAND"})
"""The algorithms that ignore the starting point."""

WITH_POPULATION = frozenset({"GN_CRS2_LM", "GN_ISRES", "GN_ESCH", "GN_MLSL", "GN_MLSL_LDS"})
"""The algorithms that take a population size."""

LEAST_DIMENSION = {"LN_NEWUOA": 2}
GREATEST_DIMENSION = {"GN_AGS": 10}

_LEFT_OUT = {
    **dict.fromkeys(
        ("LN_NEWUOA_BOUND", "NEWUOA_BOUND"),
        "it may compute for minutes between two evaluations; use LN_BOBYQA",
    ),
    "G_MLSL": "use GN_MLSL, and set local to the local algorithm",
    "G_MLSL_LDS": "use GN_MLSL_LDS, and set local to the local algorithm",
    "AUGLAG": "use LN_AUGLAG, and set local to the local algorithm",
    "AUGLAG_EQ": "use LN_AUGLAG_EQ, and set local to the local algorithm",
}


def _aliases(names: Iterable[str]) -> dict[str, str]:
    """The algorithms by their names without the prefix LN or GN."""
    return {short: name for name in names if (short := name.partition("_")[2]) not in _LEFT_OUT}


def _algorithms(names: Iterable[str]) -> Checked:
    """A check for one of the given algorithms, with or without the prefix LN or GN."""
    choice = choice_of(names, _aliases(names), _LEFT_OUT)

    def check(value: Any, name: str) -> str:
        if isinstance(value, str) and folded(value).startswith(("ld", "gd")):
            raise ValueError(f"{name} is {value!r}, which needs derivatives; choose from: {', '.join(sorted(names))}")
        return choice.check(value, name)

    return Checked(check)


@family(
    "nlopt",
    "NLopt-{algorithm}",
    algorithms=("nlopt", "algorithm", lambda: _aliases(ALGORITHMS)),
    restarts="restarts={}",
)
class NLopt(Restarted):
    """A derivative-free algorithm of NLopt, from a uniformly random point of the box.

    All except LN_NEWUOA stay within the box. NLopt has a single random state per process, which every start reseeds: do
    not run two at a time in one process. The recommendation is the best point evaluated.

    Attributes:
        algorithm: One of `ALGORITHMS`, with or without the prefix LN or GN, in upper or lower case.
        local: The algorithm of `LOCAL` that GN_MLSL, GN_MLSL_LDS, LN_AUGLAG and LN_AUGLAG_EQ search with; None for
            NLopt's choice.
        xtol_rel: Relative tolerance in the variables at which it stops.
        ftol_rel: Relative tolerance in the value at which it stops.
        population_size: Points per generation; None for NLopt's choice.
        relative_step: The initial step as a fraction of the box's width; None for NLopt's choice.
        restarts: Whether to start again from a new random point, endlessly, whenever the algorithm stops; otherwise,
            and for the algorithms of `DETERMINISTIC`, the run ends.
        name: The optimizer's name; by default "NLopt", the algorithm, and the fields that differ from their defaults.

    Raises:
        ValueError: If an argument is unknown or has a wrong value; the message names it and lists what is valid.
    """

    requires = Extra("nlopt", "nlopt")

    algorithm: Annotated[str, _algorithms(ALGORITHMS)] = "LN_BOBYQA"
    local: Annotated[str, _algorithms([name for name in LOCAL if name not in NESTED])] | None = None
    xtol_rel: Share = 1e-12
    ftol_rel: Share = 0.0
    population_size: Size | None = None
    relative_step: Annotated[float, real(ge=1e-12, le=1.0)] | None = None
    restarts: Flag = True
    name: str = ""

    def __post_init__(self) -> None:
        for field, users in (("local", NESTED), ("population_size", WITH_POPULATION)):
            if getattr(self, field) is not None and self.algorithm not in users:
                raise ValueError(
                    f"{field} is {getattr(self, field)!r}, which {self.algorithm} does not use; leave it out, "
                    f"or use one of {', '.join(sorted(users))}"
                )

    @property
    def constrained(self) -> bool:
        """Whether the algorithm accepts constraints."""
        return self.algorithm in CONSTRAINED

    @property
    def deterministic(self) -> bool:
        """Whether all starts are identical."""
        return self.algorithm in DETERMINISTIC

    @property
    def starts_from_others(self) -> bool:
        """Whether it can start where another optimizer ended, which it cannot if it ignores the starting point."""
        return self.algorithm not in STARTLESS

    def refuses(self, traits: Traits, dimension: int, /) -> str:
        """The reason why it refuses problems of these traits and this dimension; empty if it accepts them."""
        for algorithm in filter(None, (self.algorithm, self.local)):
            low, high = LEAST_DIMENSION.get(algorithm, 1), GREATEST_DIMENSION.get(algorithm, dimension)
            if not low <= dimension <= high:
                limit = f"at least {low}" if dimension < low else f"at most {high}"
                return f"{algorithm} takes {limit} variables; the problem has {dimension}"
        return super().refuses(traits, dimension)

    def _search(
        self, objective: Callback, problem: Objective, rng: np.random.Generator, start: WarmStart | None
    ) -> None:
        nlopt = optional(*self.requires, "this optimizer")
        nlopt.srand(seed_from(rng))
        if start is not None and self.algorithm in LINKED:
            self._adopt(nlopt, objective, problem, start)
            start = start if start.best is None else replace(start, best=objective.point)
        x0 = first_point(start, problem, rng)
        opt = self._opt(nlopt, self.algorithm, problem)
        if self.population_size is not None:
            opt.set_population(self.population_size)
        if self.local is not None:
            opt.set_local_optimizer(self._opt(nlopt, self.local, problem))
        self._bound(opt, self.algorithm, problem)
        _minimize(nlopt, opt, x0, objective)

    def _adopt(self, nlopt: Any, objective: Callback, problem: Objective, start: WarmStart) -> None:
        """Search from some of the known points, which replace a first sample, as NLopt cannot be given one.

        The local search is the one that NLopt would use, with its tolerances.
        """
        local = self.local or "LN_COBYLA"
        for x0 in search_starts(start, problem):
            opt = self._opt(nlopt, local, problem)
            if self.local is None:
                opt.set_xtol_rel(1e-7)
                opt.set_ftol_rel(1e-15)
            self._bound(opt, local, problem)
            _minimize(nlopt, opt, x0, objective)

    def _bound(self, opt: Any, algorithm: str, problem: Objective) -> None:
        if algorithm not in UNBOUNDED:
            opt.set_lower_bounds(np.array(problem.lower, dtype=np.float64))
            opt.set_upper_bounds(np.array(problem.upper, dtype=np.float64))

    def _opt(self, nlopt: Any, algorithm: str, problem: Objective) -> Any:
        """An `nlopt.opt` with its tolerances and initial step."""
        opt = nlopt.opt(getattr(nlopt, algorithm), problem.dimension)
        opt.set_xtol_rel(self.xtol_rel)
        opt.set_ftol_rel(self.ftol_rel)
        if self.relative_step is not None:
            opt.set_initial_step(self.relative_step * (np.asarray(problem.upper) - np.asarray(problem.lower)))
        return opt


class _Guard:
    """A guard that keeps the first exception raised in a function that NLopt calls, and evaluates nothing after it.

    Args:
        opt: The `nlopt.opt`, which is told to stop.
    """

    def __init__(self, opt: Any) -> None:
        self._opt: Any = opt
        self._lower, self._upper = opt.get_lower_bounds(), opt.get_upper_bounds()
        self.error: BaseException | None = None

    def __call__(self, function: Callable[[FloatArray], Any], x: FloatArray, otherwise: float) -> Any:
        """The function's value at `x`, which rounding may put outside the box; `otherwise` after an exception."""
        if self.error is not None:
            return otherwise
        try:
            return function(np.clip(x, self._lower, self._upper))
        except BaseException as error:  # noqa: BLE001 - raised again once NLopt has returned
            self.error = error
            self._opt.force_stop()
            return otherwise

    def release(self) -> None:
        """Drop the `nlopt.opt`, which refers to this object where Python cannot see it."""
        self._opt = None


def _minimize(nlopt: Any, opt: Any, start: FloatArray, objective: Callback) -> None:
    """Run one start; exceptions of the objective are raised here, and reaching the rounding limit is a normal end."""
    guard = _Guard(opt)

    def value(x: FloatArray, _: FloatArray) -> float:
        return guard(lambda x: float(clip_values(objective(x))), x, GREATEST)

    def violation(i: int, x: FloatArray, _: FloatArray) -> float:
        return guard(lambda x: float(objective.violations(x)[i]), x, 0.0)

    def violations(result: FloatArray, x: FloatArray, _: FloatArray) -> None:
        result[:] = guard(objective.violations, x, 0.0)

    opt.set_min_objective(value)
    if opt.get_algorithm() == nlopt.GN_AGS:  # takes one constraint at a time
        for i in range(objective.constraints):
            opt.add_inequality_constraint(partial(violation, i), 0.0)
    elif objective.constraints:
        opt.add_inequality_mconstraint(violations, np.zeros(objective.constraints))
    try:
        opt.optimize(start)
    except (nlopt.RoundoffLimited, nlopt.ForcedStop):
        pass
    except (MemoryError, nlopt.runtime_error, nlopt.invalid_argument) as error:
        if guard.error is None:
            message = opt.get_errmsg() or type(error).__name__
            raise RuntimeError(f"NLopt's {opt.get_algorithm_name()} failed: {message}") from error
    finally:
        guard.release()
    if guard.error is not None:
        raise guard.error

"""The derivative-free algorithms of NLopt, restarted so that they go on until they are stopped.

How `nlopt` 2.11 is used:

- An exception raised by the objective stops not every algorithm: GN_CRS2_LM evaluates all of its first population
  first, with the exception pending. It is kept here, nothing is evaluated after it, and it is raised at the end.
- Values above 1e100 count as 1e100: with infinite ones GN_AGS crashes the process, GN_ORIG_DIRECT never returns, and
  the other variants of DIRECT fail.
- Its random state is one per process; every start seeds it anew, from the run's generator alone.
- LN_NEWUOA_BOUND is left out: it can compute for minutes between two evaluations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from polarbear.extras import Extra, optional
from polarbear.optimizers.adapters import (
    GREATEST,
    Incumbent,
    OneObjective,
    Paired,
    check_taken,
    constraints,
    finite,
    seed_from,
)
from polarbear.optimizers.arguments import checked_keywords, flag, number, option, plain_label, set_fields, told_name
from polarbear.optimizers.telemetry import recommend

if TYPE_CHECKING:
    from polarbear.protocols import Objective, Traits
    from polarbear.records import FloatArray

LOCAL = (
    "LN_BOBYQA", "LN_COBYLA", "LN_NELDERMEAD", "LN_NEWUOA", "LN_PRAXIS", "LN_SBPLX", "LN_AUGLAG", "LN_AUGLAG_EQ",
)  # fmt: skip
"""The local algorithms."""

DETERMINISTIC = (
    "GN_DIRECT", "GN_DIRECT_L", "GN_DIRECT_NOSCAL", "GN_DIRECT_L_NOSCAL", "GN_ORIG_DIRECT", "GN_ORIG_DIRECT_L",
    "GN_AGS", "GN_DIRECT_L_RAND_NOSCAL",
)  # fmt: skip
"""The global algorithms that draw no random numbers and ignore where they start: they are not restarted.

GN_DIRECT_L_RAND_NOSCAL should draw some, but is GN_DIRECT_L_NOSCAL in `nlopt` 2.11.
"""

STOCHASTIC = (
    "GN_CRS2_LM", "GN_DIRECT_L_RAND", "GN_ESCH", "GN_ISRES", "GN_MLSL", "GN_MLSL_LDS",
)  # fmt: skip
"""The other global algorithms."""

ALGORITHMS = (*LOCAL, *DETERMINISTIC, *STOCHASTIC)
"""All algorithms offered, by NLopt's names."""

UNBOUNDED = frozenset({"LN_NEWUOA"})
"""The algorithms that know no bounds: they may evaluate anywhere."""

CONSTRAINED = frozenset({
    "LN_COBYLA", "LN_AUGLAG", "LN_AUGLAG_EQ", "GN_ISRES", "GN_AGS", "GN_ORIG_DIRECT", "GN_ORIG_DIRECT_L",
})  # fmt: skip
"""The algorithms that are given the problem's constraints; the others do not know of them."""

NESTED = frozenset({"LN_AUGLAG", "LN_AUGLAG_EQ", "GN_MLSL", "GN_MLSL_LDS"})
"""The algorithms that search with another one."""

WITH_POPULATION = frozenset({"GN_CRS2_LM", "GN_ISRES", "GN_ESCH", "GN_MLSL", "GN_MLSL_LDS"})
"""The algorithms that take a population size."""

LEAST_DIMENSION = {"LN_NEWUOA": 2}
GREATEST_DIMENSION = {"GN_AGS": 10}

_LEFT_OUT = {
    "LNNEWUOABOUND": "it can compute for minutes between two evaluations; LN_BOBYQA replaces it",
    "NEWUOABOUND": "it can compute for minutes between two evaluations; LN_BOBYQA replaces it",
    "GMLSL": "give GN_MLSL, and the algorithm it searches with as local",
    "GMLSLLDS": "give GN_MLSL_LDS, and the algorithm it searches with as local",
    "AUGLAG": "give LN_AUGLAG, and the algorithm it searches with as local",
    "AUGLAGEQ": "give LN_AUGLAG_EQ, and the algorithm it searches with as local",
}
_SHORT = {
    name.partition("_")[2].replace("_", ""): name
    for name in ALGORITHMS
    if name.partition("_")[2].replace("_", "") not in _LEFT_OUT
}


@checked_keywords
@dataclass(frozen=True, kw_only=True)
class NLopt(OneObjective):
    """A derivative-free algorithm of NLopt, from a uniformly random point of the box.

    All but LN_NEWUOA keep to the box. NLopt has one random state per process, which every start seeds anew: do not
    run two at a time in one process. It recommends the best point evaluated.

    Attributes:
        algorithm: Which one of `ALGORITHMS`, with or without LN or GN; upper or lower case.
        local: The algorithm of `LOCAL` that GN_MLSL, GN_MLSL_LDS, LN_AUGLAG and LN_AUGLAG_EQ search with; None for
            NLopt's choice.
        xtol_rel: Relative tolerance in the variables at which it stops.
        ftol_rel: Relative tolerance in the value at which it stops.
        population_size: Points per generation; None for NLopt's choice.
        relative_step: The first step as a fraction of the box's width; None for NLopt's choice.
        restarts: Whether to start again from a new random point whenever it stops, endlessly; else the run ends
            then, as it does for algorithms that would do the same again.
        name: What it is called; by default "NLopt", the algorithm, and what differs from the defaults.

    Raises:
        TypeError: If a keyword is unknown or has the wrong type.
        ValueError: If an algorithm is unknown or a number out of its range, or an argument has no use for the
            algorithm; valid ones are listed.
    """

    requires: ClassVar = Extra("nlopt", "nlopt")

    algorithm: str = "LN_BOBYQA"
    local: str | None = None
    xtol_rel: float = 1e-12
    ftol_rel: float = 0.0
    population_size: int | None = None
    relative_step: float | None = None
    restarts: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        checked: dict[str, Any] = {
            "algorithm": _algorithm(self.algorithm, "algorithm", ALGORITHMS),
            "xtol_rel": number(self.xtol_rel, "xtol_rel", 0.0, 1.0),
            "ftol_rel": number(self.ftol_rel, "ftol_rel", 0.0, 1.0),
            "population_size": number(self.population_size, "population_size", 1, 10**6, whole=True),
            "relative_step": number(self.relative_step, "relative_step", 1e-12, 1.0),
            "restarts": flag(self.restarts, "restarts"),
        }
        if self.local is not None:
            checked["local"] = _algorithm(self.local, "local", [name for name in LOCAL if name not in NESTED])
        for what, users in (("local", NESTED), ("population_size", WITH_POPULATION)):
            if getattr(self, what) is not None and checked["algorithm"] not in users:
                raise ValueError(
                    f"{what} is {getattr(self, what)!r}, which {checked['algorithm']} has no use for; leave it out, "
                    f"or take one of {', '.join(sorted(users))}"
                )
        set_fields(self, checked)

    def _default_name(self) -> str:
        return told_name(self, f"NLopt-{self.algorithm}", "algorithm", labelled=plain_label)

    def __call__(self, problem: Objective, rng: np.random.Generator) -> None:
        """Minimize until the problem stops it, or until the algorithm ends and is not restarted.

        Raises:
            ImportError: `nlopt` is not installed.
            ValueError: The algorithm takes no problem of this dimension, or of several objectives.
            RuntimeError: NLopt fails.
        """
        check_taken(self, problem)
        nlopt = optional("nlopt", "nlopt", "this optimizer")
        incumbent = Incumbent(problem, self.name)
        recommend(problem, incumbent.recommended)
        constrained = constraints(problem) if self.algorithm in CONSTRAINED else None
        while True:
            before = incumbent.evaluations
            nlopt.srand(seed_from(rng))
            start = rng.uniform(problem.lower, problem.upper)
            opt = self._configured(nlopt, problem)
            if constrained is None:
                _minimize(nlopt, opt, start, incumbent)
            else:
                paired = Paired(incumbent, constrained[1], problem.dimension)
                _minimize(nlopt, opt, start, paired, (constrained[0], paired.violations))
            if not self.restarts or self.algorithm in DETERMINISTIC or incumbent.evaluations == before:
                return

    def _configured(self, nlopt: Any, problem: Objective) -> Any:
        """An `nlopt.opt` with all settings but the functions."""
        opt = nlopt.opt(getattr(nlopt, self.algorithm), problem.dimension)
        opt.set_xtol_rel(self.xtol_rel)
        opt.set_ftol_rel(self.ftol_rel)
        if self.population_size is not None:
            opt.set_population(self.population_size)
        width = np.asarray(problem.upper) - np.asarray(problem.lower)
        if self.relative_step is not None:
            opt.set_initial_step(self.relative_step * width)
        if self.local is not None:
            inner = nlopt.opt(getattr(nlopt, self.local), problem.dimension)
            inner.set_xtol_rel(self.xtol_rel)
            inner.set_ftol_rel(self.ftol_rel)
            if self.relative_step is not None:
                inner.set_initial_step(self.relative_step * width)
            opt.set_local_optimizer(inner)
        if self.algorithm not in UNBOUNDED:
            opt.set_lower_bounds(np.array(problem.lower, dtype=np.float64))
            opt.set_upper_bounds(np.array(problem.upper, dtype=np.float64))
        return opt

    def refuses(self, traits: Traits, dimension: int, /) -> str:
        """Why it takes no problem of these traits and so many variables; empty if it takes them."""
        for algorithm in filter(None, (self.algorithm, self.local)):
            low, high = LEAST_DIMENSION.get(algorithm, 1), GREATEST_DIMENSION.get(algorithm, dimension)
            if not low <= dimension <= high:
                limit = f"at least {low}" if dimension < low else f"at most {high}"
                return f"{algorithm} takes {limit} variables; the problem has {dimension}"
        return super().refuses(traits, dimension)


def _algorithm(name: Any, what: str, valid: Any) -> str:
    """NLopt's name of an algorithm, or an error that says why it is not offered."""
    folded = str(name).upper().replace("-", "").replace("_", "").replace(" ", "")
    if folded in _LEFT_OUT:
        raise ValueError(f"{what} is {name!r}, which is left out: {_LEFT_OUT[folded]}")
    if folded.startswith(("LD", "GD")):
        raise ValueError(f"{what} is {name!r}, which needs derivatives; valid are: {', '.join(sorted(valid))}")
    return option(name, what, valid, {short: full for short, full in _SHORT.items() if full in valid})


class _Bridge:
    """What NLopt calls: keeps the first exception, and evaluates nothing after it."""

    def __init__(self, opt: Any, objective: Callable[[FloatArray], float]) -> None:
        self._opt: Any = opt
        self._objective = objective
        self._lower, self._upper = opt.get_lower_bounds(), opt.get_upper_bounds()
        self.raised: BaseException | None = None

    def value(self, x: FloatArray, gradient: FloatArray) -> float:  # noqa: ARG002 - NLopt's signature
        return self._guarded(lambda: float(finite(self._objective(self._point(x)))), GREATEST)

    def violations(self, values: Callable[[FloatArray], FloatArray]) -> Callable[..., None]:
        """The function NLopt has all constraints' values written by."""

        def write(result: FloatArray, x: FloatArray, gradient: FloatArray) -> None:  # noqa: ARG001 - the same
            result[:] = self._guarded(lambda: values(self._point(x)), 0.0)

        return write

    def violation(self, values: Callable[[FloatArray], FloatArray], which: int) -> Callable[..., float]:
        """The function NLopt asks for one constraint's value."""

        def value(x: FloatArray, gradient: FloatArray) -> float:  # noqa: ARG001 - the same
            return self._guarded(lambda: float(values(self._point(x))[which]), 0.0)

        return value

    def _guarded(self, evaluate: Callable[[], Any], otherwise: float) -> Any:
        if self.raised is not None:
            return otherwise
        try:
            return evaluate()
        except BaseException as error:  # noqa: BLE001 - raised again once NLopt has returned
            self.raised = error
            self._opt.force_stop()
            return otherwise

    def _point(self, x: FloatArray) -> FloatArray:
        """A copy of `x` without the rounding error by which it may lie outside."""
        return np.clip(x, self._lower, self._upper)

    def release(self) -> None:
        """Let go of the `nlopt.opt`, which refers to this object where Python cannot see it."""
        self._opt = None


def _minimize(
    nlopt: Any,
    opt: Any,
    start: FloatArray,
    objective: Callable[[FloatArray], float],
    constrained: tuple[int, Callable[[FloatArray], FloatArray]] | None = None,
) -> None:
    """One start; what the objective raised is raised here, and the limits of rounding are an end like any other."""
    bridge = _Bridge(opt, objective)
    opt.set_min_objective(bridge.value)
    if constrained is not None:
        count, values = constrained
        if opt.get_algorithm() == nlopt.GN_AGS:  # takes them one by one only
            for which in range(count):
                opt.add_inequality_constraint(bridge.violation(values, which), 0.0)
        else:
            opt.add_inequality_mconstraint(bridge.violations(values), np.zeros(count))
    try:
        opt.optimize(start)
    except (nlopt.RoundoffLimited, nlopt.ForcedStop):
        pass
    except (MemoryError, nlopt.runtime_error, nlopt.invalid_argument) as error:
        if bridge.raised is None:
            said = opt.get_errmsg() or type(error).__name__
            raise RuntimeError(f"NLopt's {opt.get_algorithm_name()} failed: {said}") from error
    finally:
        bridge.release()
    if bridge.raised is not None:
        raise bridge.raised

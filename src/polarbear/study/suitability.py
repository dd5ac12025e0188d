"""Checks, before anything runs, that problems suit the optimizers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from polarbear import optimizers, problems
from polarbear.descriptions import FieldError, FieldPath
from polarbear.experiment.logging_schedule import Watch
from polarbear.extras import Extra, ExtraMissing
from polarbear.problems.suite import PROBLEMS
from polarbear.protocols import identity_of

MOST_BUILT = 100
"""Maximum number of problems that are built for a check."""
DRAWS = 16
"""Number of problems of an endless stream that are checked."""


class Unsuitable(FieldError):  # noqa: N818 - states what happened
    """A problem does not suit what is to run on it, or a package is missing; the message names them.

    Attributes:
        message: What does not suit what, or what is missing.
        algorithm: The name of the optimizer at fault; empty if a problem is.
    """

    def __init__(self, message: str, algorithm: str = "", where: FieldPath = ()) -> None:
        super().__init__(where, message)
        self.algorithm = algorithm

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.algorithm, self.where)


def check_pairs(entrants: Mapping[str, object], listed: Iterable[problems.ProblemSpec]) -> None:
    """Refuse optimizers that do not suit the problems they are to run on, or whose package is not installed.

    Only optimizers that are `optimizers.Particular` are asked. Of the problems with the same function, the one with the
    fewest variables is built, unless its specification has `traits`; each of polarbear's own suites has the same traits
    throughout and counts as one function. One problem of each stream of variations is built in any case. A problem that
    cannot be built here is skipped: its runs will report it.

    Args:
        entrants: Optimizers by name.
        listed: The problems' specifications.

    Raises:
        Unsuitable: If an optimizer refuses a problem, a problem cannot be varied as requested, or an optimizer or a
            suite needs a missing package.
    """
    for name, optimizer in entrants.items():
        _check_installed(optimizer, name, name)
    particular = {name: each for name, each in entrants.items() if isinstance(each, optimizers.Particular)}
    kinds: dict[Any, dict[int, problems.ProblemSpec]] = {}
    for problem in listed:
        _check_installed(problem, problem.name)
        if not (particular or isinstance(problem, problems.Variation)):
            continue
        dimension = getattr(problem, "dimension", None) or identity_of(problem).dimension
        kinds.setdefault(_kind(problem), {}).setdefault(dimension, problem)
    for sizes in islice(kinds.values(), MOST_BUILT):
        if (built := traits_and_dimension(sizes[min(sizes)])) is None:
            continue
        for dimension, problem in sizes.items():
            for name, optimizer in particular.items():
                if why := optimizer.refuses(built[0], dimension or built[1]):
                    mend = "leave one of the two out, or choose another"
                    raise Unsuitable(f"{name} cannot run on {problem.name}: {why}; {mend}", name)


def _kind(problem: problems.ProblemSpec) -> tuple[Any, ...]:
    """A key shared by problems with the same traits."""
    if isinstance(problem, problems.Variation):
        return problems.Variation, problem.stream.problem.name, problem.stream.label
    identity = identity_of(problem)
    of_one_suite = type(problem) in PROBLEMS.values() and identity.suite
    return type(problem), identity.suite, "" if of_one_suite else identity.function


def check_optima(listed: Sequence[problems.ProblemSpec], target_precision: float | None, watch: Watch | None) -> None:
    """Refuse a target precision, or a log of targets, for problems whose optimum is unknown.

    Of specifications that do not state it, one per function is built, with the smallest dimension. A problem that
    cannot be built here is skipped: its runs will report it.

    Raises:
        Unsuitable: If there is such a problem; the message begins with the setting.
    """
    settings = {"target_precision": target_precision, "targets_per_decade": watch and watch.targets_per_decade}
    asked = [(setting, value) for setting, value in settings.items() if value is not None]
    if asked and (unknown := _without_optimum(listed)):
        setting, value = asked[0]
        raise Unsuitable(
            f"{setting} is {value!r}, but the optimum of {unknown} is not known; leave {setting} out, or state the "
            "problem's optimum",
            where=(setting,),
        )


def _without_optimum(listed: Sequence[problems.ProblemSpec]) -> str:
    """The name of a problem whose optimum is unknown; empty if there is none."""
    silent: dict[tuple[str, str], tuple[int, problems.ProblemSpec]] = {}
    for problem in listed:
        if hasattr(problem, "optimum"):
            if getattr(problem, "optimum", None) is None:
                return problem.name
            continue
        identity = identity_of(problem)
        known = silent.get((identity.suite, identity.function))
        if known is None or identity.dimension < known[0]:
            silent[identity.suite, identity.function] = identity.dimension, problem
    return next((problem.name for _, problem in islice(silent.values(), MOST_BUILT) if _unknown(problem)), "")


def _unknown(problem: problems.ProblemSpec) -> bool:
    try:
        optimum = problem.build().optimum
    except Exception:  # noqa: BLE001 - its runs will report it, and it may be due to this machine only
        return False
    return optimum is None or not math.isfinite(optimum)


def first_problems(instances: problems.Instances) -> Iterable[problems.ProblemSpec]:
    """The problems of a distribution to check: all of a list, else the first few."""
    if isinstance(instances, problems.FiniteInstances):
        return instances.problems
    return (instances[draw] for draw in range(min(DRAWS, instances.size or DRAWS)))


def _check_installed(named: object, name: str, algorithm: str = "") -> None:
    extra = getattr(named, "requires", None)
    if isinstance(extra, Extra):
        try:
            extra.check(name)
        except ExtraMissing as error:
            raise Unsuitable(str(error), algorithm) from error


def traits_and_dimension(problem: Any) -> tuple[problems.Traits, int] | None:
    """A problem's traits and dimension, from its specification or the built problem; None if it cannot be built.

    Raises:
        Unsuitable: If a variation does not suit its problem, or the problem needs a missing package.
    """
    try:
        known = problem if isinstance(getattr(problem, "traits", None), problems.Traits) else problem.build()
        return problems.traits_of(known), int(known.dimension)
    except Exception as error:  # its runs will report it, and it may be due to this machine only
        if isinstance(problem, problems.Variation) and isinstance(error, (ValueError, ExtraMissing)):
            raise Unsuitable(f"{problem.name} cannot be made: {error}") from error
        return None

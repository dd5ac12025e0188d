"""Whether each optimizer takes the problems it is to run on, found out before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from polarbear import optimizers, problems
from polarbear.extras import Extra, ExtraMissing
from polarbear.problems.descriptions import PROBLEMS
from polarbear.records import Instance

MOST_BUILT = 100
"""Problems that are built at most to see what they are."""
DRAWS = 16
"""Problems of an endless stream that are looked at."""


class Unsuitable(ValueError):  # noqa: N818 - says what is the case
    """An optimizer does not take a problem it would run on, or a package is missing; the message names them."""


def check_pairs(entrants: Mapping[str, object], listed: Iterable[problems.ProblemSpec]) -> None:
    """Refuse optimizers that do not take the problems they are to run on, or whose package is not installed.

    Only optimizers that are `optimizers.Particular` are asked. Of problems of one function the one of the fewest
    variables is built, unless its specification has `traits`; a suite of polarbear's own has the same ones throughout,
    and counts as one function. A problem that cannot be built here is passed over: its runs tell.

    Args:
        entrants: Optimizers by name.
        listed: The problems' specifications.

    Raises:
        Unsuitable: If an optimizer refuses a problem, or an optimizer or a suite needs a package that is missing.
    """
    for name, one in entrants.items():
        _check_installed(one, name)
    asked = {name: one for name, one in entrants.items() if isinstance(one, optimizers.Particular)}
    kinds: dict[Any, dict[int, problems.ProblemSpec]] = {}
    for problem in listed:
        _check_installed(problem, problem.name)
        if not asked:
            continue
        parsed = Instance.parse(problem.name)
        one_kind = type(problem) in PROBLEMS.values() and parsed.suite
        kind = type(problem), parsed.suite, "" if one_kind else parsed.function
        kinds.setdefault(kind, {}).setdefault(getattr(problem, "dimension", None) or parsed.dimension, problem)
    for sizes in islice(kinds.values(), MOST_BUILT):
        told = _told(sizes[min(sizes)])
        if told is None:
            continue
        for dimension, problem in sizes.items():
            for name, optimizer in asked.items():
                if why := optimizer.refuses(told[0], dimension or told[1]):
                    mend = "leave one of the two out, or take another"
                    raise Unsuitable(f"{name} cannot run on {problem.name}: {why}; {mend}")


def first_problems(instances: problems.Instances) -> Iterable[problems.ProblemSpec]:
    """What to look at of a distribution: all problems of a list, else the first few."""
    if isinstance(instances, problems.FiniteInstances):
        return instances.problems
    return (instances[draw] for draw in range(min(DRAWS, instances.size or DRAWS)))


def _check_installed(one: object, name: str) -> None:
    extra = getattr(one, "requires", None)
    if isinstance(extra, Extra):
        try:
            extra.check(name)
        except ExtraMissing as error:
            raise Unsuitable(str(error)) from error


def _told(problem: Any) -> tuple[problems.Traits, int] | None:
    """A problem's traits and number of variables, as its specification or what is built tells; None if that fails."""
    try:
        known = problem if isinstance(getattr(problem, "traits", None), problems.Traits) else problem.build()
        return problems.traits_of(known), int(known.dimension)
    except Exception:  # noqa: BLE001 - an outcome of its runs, and maybe of this machine alone
        return None

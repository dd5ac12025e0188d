"""A run as a reader parsed it, before its repetition is numbered."""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from polarbear.records import (
    FloatArray,
    Instance,
    IntArray,
    Outcome,
    Parameters,
    Reason,
    Run,
    RunKey,
    Samples,
    Trajectory,
)

MOST = 2**53
"""Evaluations beyond this are damage: no computer makes as many, and timepoints could not tell them apart."""
LARGEST_DIMENSION = 10**9
UNKNOWN_SUITE = "unknown_suite"
"""The suite of data that name none, as IOHexperimenter calls it."""
_SUITES = {"BBOB": "bbob", "PBO": "pbo"}
"""Suites that IOHexperimenter and IOHanalyzer spell in another way than polarbear."""
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's control and format characters, halves of surrogate pairs, line and paragraph separators."""
_BELOW = 1e-6
"""How far a value may lie below the optimum, relatively to it where it is above 1: rounding, and old data's digits."""


_POSSIBLE: dict[str, tuple[type, float, float]] = {
    "evaluations": (int, 0, MOST),
    "invalid_evaluations": (int, 0, MOST),
    "seconds": (float, 0.0, sys.float_info.max),
    "message": (str, 0, 0),
    "traceback": (str, 0, 0),
}
"""The fields of an `Outcome`, and between what numbers are possible."""
_SPENT = {"evaluations": "evaluations_spent", "seconds": "seconds_spent"}
"""What tables call them, where they have columns of that name for single improvements."""


@dataclass(frozen=True, slots=True)
class ParsedRun:
    """A run as a file tells it.

    Attributes:
        instance: The instance's name.
        algorithm: The algorithm's name in the data.
        trajectory: Its best-so-far trajectory.
        seed: Which repetition, where the format tells it; otherwise repetitions are counted in the order of the files.
        target: As in `Run`.
        optimum: As in `Run`.
        parameters: As in `Run`.
        surpassable: Whether values below the optimum are possible: for two objectives it is that of a reference set.
        raw: Whether values are IOHprofiler's raw ones, before what makes the instance out of the function.
        solution: As in `Run`.
        samples: As in `Run`.
        identity: As in `Run`.
    """

    instance: str
    algorithm: str
    trajectory: Trajectory
    seed: int | None = None
    target: float | None = None
    optimum: float | None = None
    parameters: Parameters | None = None
    surpassable: bool = False
    raw: bool = False
    solution: FloatArray | None = None
    samples: Samples | None = None
    identity: Instance | None = None

    def named(self, suite: str) -> ParsedRun:
        """The run in this suite, if its own is unknown."""
        own = self.problem
        if own.suite != UNKNOWN_SUITE:
            return self
        name, identity = identified(suite, own.function, own.dimension, own.instance)
        return replace(self, instance=name, identity=identity)

    @property
    def problem(self) -> Instance:
        """As in `Run`."""
        return self.identity or Instance.parse(self.instance)

    def run(self, seed: int) -> Run:
        """The run with this seed."""
        key = RunKey(self.instance, self.algorithm, seed)
        known = self.target, self.optimum, self.parameters, self.solution, self.samples, self.identity
        return Run(key, self.trajectory, *known)


def checked(found: ParsedRun) -> ParsedRun:
    """A run of which everything is possible.

    Raises:
        ValueError: If something is not; the message names it.
    """
    _require_plain(found.instance, "the instance")
    _require_plain(found.algorithm, "the algorithm")
    if found.seed is not None and not -(2**63) <= found.seed < 2**63:
        raise ValueError(f"the seed is {found.seed}; it has to fit into 64 bits")
    for name, value in (("target", found.target), ("optimum", found.optimum)):
        if value is not None and not math.isfinite(value):
            raise ValueError(f"the {name} is {value}")
    if found.solution is not None and np.isnan(found.solution).any():
        raise ValueError("its best point holds NaN")
    require_possible(found.trajectory.outcome)
    if not found.surpassable:
        require_above(found.trajectory, found.optimum)
    return found


def require_possible(outcome: Outcome) -> None:
    """Check what a file tells of how a run ended.

    Raises:
        ValueError: If it is not possible, or missing.
    """
    for name, (kind, least, most) in _POSSIBLE.items():
        value = getattr(outcome, name)
        if not isinstance(value, kind):
            raise ValueError(f"its {_SPENT.get(name, name)} is {value!r}")  # noqa: TRY004 - what is wrong is the file
        if isinstance(value, int | float) and not least <= value <= most:
            raise ValueError(f"its {_SPENT.get(name, name)} is {value}")


def require_above(trajectory: Trajectory, optimum: float | None) -> None:
    """Check values against the lowest one there is, if that is known.

    Raises:
        ValueError: If one lies below it by more than rounding.
    """
    if optimum is not None and trajectory.best < optimum - _BELOW * max(1.0, abs(optimum)):
        raise ValueError(f"its best value is {trajectory.best:g}, which is below the optimum, {optimum:g}")


@lru_cache(maxsize=4096)
def _require_plain(name: str, what: str) -> None:
    if not name.strip():
        raise ValueError(f"the name of {what} is empty")
    hidden = [letter for letter in name if unicodedata.category(letter) in _HIDDEN]
    if hidden:
        raise ValueError(f"the name of {what}, {name!r}, holds {hidden[0]!a}, which nobody can see")


def number(found: Iterable[ParsedRun]) -> list[Run]:
    """Name each run; repetitions of an algorithm on an instance get the seeds 0, 1, 2, … in the order given.

    Seeds that a file tells are kept, and not given to others. A run that is told twice counts once.

    Raises:
        ValueError: If two different runs tell the same instance, algorithm and seed.
    """
    groups: defaultdict[tuple[str, str], list[ParsedRun]] = defaultdict(list)
    for one in found:
        groups[one.instance, one.algorithm].append(one)
    return [run for group in groups.values() for run in _numbered(group)]


def _numbered(group: Sequence[ParsedRun]) -> Iterable[Run]:
    told: dict[int, ParsedRun] = {}
    for one in group:
        if one.seed is None:
            continue
        first = told.setdefault(one.seed, one)
        if first is not one and first.run(one.seed) != one.run(one.seed):
            key = RunKey(one.instance, one.algorithm, one.seed)
            raise ValueError(f"the data hold more than one run of {key}; give each repetition a seed of its own")
    free = (seed for seed in range(len(group) + len(told)) if seed not in told)
    for one in group:
        if one.seed is None:
            yield one.run(next(free))
        elif told[one.seed] is one:
            yield one.run(one.seed)


def instance_name(suite: str, function: str, dimension: int, instance: str) -> str:
    """The standard name of an instance, such as ``"bbob-f3-i1-d5"``, as `identified` gives it."""
    return identified(suite, function, dimension, instance)[0]


@lru_cache(maxsize=1 << 14)
def identified(suite: str, function: str, dimension: int, instance: str) -> tuple[str, Instance]:
    """The standard name of an instance, that `Instance.parse` takes apart again, and the instance itself.

    Hyphens within the parts of the name become underscores where they would be taken for the ones between them.

    Raises:
        ValueError: If the dimension is impossible.
    """
    if not 0 <= dimension <= LARGEST_DIMENSION:
        raise ValueError(f"the dimension is {dimension}")
    suite = _SUITES.get(suite, suite) or UNKNOWN_SUITE
    _require_plain(suite, "the suite")
    problem = Instance(suite, function, dimension, instance or "1")
    named = replace(problem, instance=problem.instance.replace("-", "_"))
    if Instance.parse(named.name) != named:
        named = replace(named, suite=suite.replace("-", "_"), function=function.replace("-", "_"))
    return named.name, problem


def trajectory(
    evaluations: Sequence[int] | IntArray,
    values: Sequence[float] | FloatArray,
    *,
    spent: int,
    target: float | None = None,
    seconds: FloatArray | None = None,
) -> Trajectory:
    """The best-so-far trajectory of logged rows.

    Args:
        evaluations: (n,) from 1, in any order.
        values: (n,) the value at each, or the best until then; NaN and +inf count as nothing found.
        spent: Evaluations spent in all, where known; at least the largest of `evaluations`.
        target: The run ended because of it if it is reached, and otherwise because of its budget: its later fate is
            unknown.
        seconds: (n,) when, if known.

    Raises:
        ValueError: If `spent` or an evaluation is no count, or larger than can be counted.
    """
    if not 0 <= spent <= MOST:
        raise ValueError(f"it spent {spent} evaluations, which is no count or more than can be counted")
    at = np.asarray(evaluations, dtype=np.int64)
    if at.size and not 1 <= at.min() <= at.max() <= MOST:
        raise ValueError(f"evaluations from {at.min()} to {at.max()} are no counts from 1, or more than can be counted")
    value = np.asarray(values, dtype=np.float64)
    order = np.lexsort((value, at))
    at, value = at[order], np.where(np.isnan(value[order]), np.inf, value[order])
    best = np.minimum.accumulate(value)
    improves = value < np.concatenate(([np.inf], best))[:-1]
    when = np.zeros(at.size) if seconds is None else seconds[order]
    solved = target is not None and bool(best.size) and bool(best[-1] <= target)
    outcome = Outcome(
        Reason.TARGET if solved else Reason.BUDGET,
        evaluations=max(spent, int(at[-1]) if at.size else 0),
        seconds=float(when[-1]) if when.size else 0.0,
    )
    return Trajectory(at[improves], when[improves], value[improves], outcome)


def with_outcome(found: Trajectory, told: Mapping[str, Any]) -> Trajectory:
    """A trajectory with what a file tells of its `Outcome`, by the names of its fields.

    Raises:
        ValueError: If a value is not possible.
    """
    fields: dict[str, Any] = {}
    if told.get("reason") is not None:
        fields["reason"] = Reason(told["reason"])
    for name, kind in _TOLD.items():
        if told.get(name) is not None:
            fields[name] = kind(told[name])
    return replace(found, outcome=replace(found.outcome, **fields)) if fields else found


_TOLD = {"evaluations": int, "seconds": float, "message": str, "traceback": str, "invalid_evaluations": int}


@lru_cache(maxsize=4096)
def natural(text: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts text as people do: numbers within it by their size, however many digits they have."""
    parts: list[tuple[str, str]] = re.findall(r"0*([0-9]+)|([^0-9]+)", text)
    return tuple((len(digits), digits) if digits else (-1, other) for digits, other in parts)

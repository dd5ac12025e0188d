"""The common base of the readers of formats, and runs before their repetitions are numbered."""

from __future__ import annotations

import math
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from polarbear.store.formats.archives import Tree
from polarbear.store.formats.reports import Report

MOST = 2**53
"""Larger numbers of evaluations indicate damage: no computer makes as many, and float64 cannot distinguish them."""
LARGEST_DIMENSION = 10**9
UNKNOWN_SUITE = "unknown_suite"
"""The suite of data that do not name one, by IOHexperimenter's name for it."""
_SUITES = {"BBOB": "bbob", "PBO": "pbo"}
"""Suites that IOHexperimenter and IOHanalyzer spell differently."""
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode's control and format characters, surrogates, and line and paragraph separators."""
_BELOW = 1e-6
"""Tolerance by which a value may lie below the optimum, relative to its size if above 1, due to rounding."""
_OUTCOME: dict[str, tuple[type, float]] = {
    "evaluations": (int, MOST),
    "seconds": (float, sys.float_info.max),
    "message": (str, 0),
    "traceback": (str, 0),
    "invalid_evaluations": (int, MOST),
}
"""The types of an `Outcome`'s fields, and their largest possible numbers."""


class Reader:
    """Base of the readers, constructed from a tree of files and a report of what is skipped."""

    def __init__(self, tree: Tree, report: Report) -> None:
        self._tree, self._report = tree, report


@dataclass(frozen=True, slots=True)
class ParsedRun:
    """A run as a file describes it.

    Attributes:
        instance: The instance's name.
        algorithm: The algorithm's name in the data.
        trajectory: The run's best-so-far trajectory.
        seed: The number of the repetition, if the format stores it; otherwise repetitions are counted in file order.
        target: As in `Run`.
        optimum: As in `Run`.
        parameters: As in `Run`.
        surpassable: Whether values below the optimum are possible: for two objectives it is that of a reference set.
        raw: Whether values are IOHprofiler's raw ones, before the instance's transformation.
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
        """The run with the given suite, if its own is unknown."""
        problem = self.problem
        if problem.suite != UNKNOWN_SUITE:
            return self
        name, identity = identified(suite, problem.function, problem.dimension, problem.instance)
        return replace(self, instance=name, identity=identity)

    @property
    def problem(self) -> Instance:
        """As in `Run`."""
        return self.identity or Instance.parse(self.instance)

    def run(self, seed: int) -> Run:
        """The run with the given seed."""
        others = self.target, self.optimum, self.parameters, self.solution, self.samples, self.identity
        return Run(RunKey(self.instance, self.algorithm, seed), self.trajectory, *others)


def checked(run: ParsedRun) -> ParsedRun:
    """The run, if everything in it is valid.

    Raises:
        ValueError: If something is not valid; the message names it.
    """
    _require_plain(run.instance, "the instance")
    _require_plain(run.algorithm, "the algorithm")
    if run.seed is not None and not -(2**63) <= run.seed < 2**63:
        raise ValueError(f"the seed is {run.seed}; it must fit into 64 bits")
    for name, value in (("target", run.target), ("optimum", run.optimum)):
        if value is not None and not math.isfinite(value):
            raise ValueError(f"the {name} is {value}; it must be finite")
    if run.solution is not None and np.isnan(run.solution).any():
        raise ValueError("its best point contains NaN")
    for name, (kind, most) in _OUTCOME.items():
        value = getattr(run.trajectory.outcome, name)
        if not isinstance(value, kind) or (kind is not str and not 0 <= value <= most):
            # Tables have columns of evaluations and seconds for single improvements.
            column = f"{name}_spent" if name in {"evaluations", "seconds"} else name
            raise ValueError(f"its {column} is {value!r}")
    best, optimum = run.trajectory.best, run.optimum
    if not run.surpassable and optimum is not None and best < optimum - _BELOW * max(1.0, abs(optimum)):
        raise ValueError(f"its best value is {best:g}, which is below the optimum, {optimum:g}")
    return run


@lru_cache(maxsize=4096)
def _require_plain(name: str, what: str) -> None:
    if not name.strip():
        raise ValueError(f"the name of {what} is empty")
    hidden = [letter for letter in name if unicodedata.category(letter) in _HIDDEN]
    if hidden:
        raise ValueError(f"the name of {what}, {name!r}, contains the invisible character {hidden[0]!a}")


def number(parsed: Iterable[ParsedRun]) -> list[Run]:
    """Turn parsed runs into runs; repetitions of an algorithm on an instance get the seeds 0, 1, 2, … in order.

    Seeds that a file stores are kept and not given to others. Duplicates of a run count once.

    Raises:
        ValueError: If different runs have the same key.
    """
    groups: defaultdict[tuple[str, str], list[ParsedRun]] = defaultdict(list)
    for run in parsed:
        groups[run.instance, run.algorithm].append(run)
    return [run for group in groups.values() for run in _numbered(group)]


def _numbered(group: Sequence[ParsedRun]) -> Iterable[Run]:
    seeded: dict[int, ParsedRun] = {}
    for run in group:
        if run.seed is None:
            continue
        first = seeded.setdefault(run.seed, run)
        if first is not run and first.run(run.seed) != run.run(run.seed):
            key = RunKey(run.instance, run.algorithm, run.seed)
            raise ValueError(f"the data hold more than one run of {key}; give each repetition a seed of its own")
    free = (seed for seed in range(len(group) + len(seeded)) if seed not in seeded)
    for run in group:
        if run.seed is None:
            yield run.run(next(free))
        elif seeded[run.seed] is run:
            yield run.run(run.seed)


def instance_name(suite: str, function: str, dimension: int, instance: str) -> str:
    """The standard name of an instance, such as ``"bbob-f3-i1-d5"``, as `identified` returns it."""
    return identified(suite, function, dimension, instance)[0]


@lru_cache(maxsize=1 << 14)
def identified(suite: str, function: str, dimension: int, instance: str) -> tuple[str, Instance]:
    """The standard name of an instance, which `Instance.parse` can parse, and the instance itself.

    Hyphens within parts of the name become underscores where they would be mistaken for separators.

    Raises:
        ValueError: If the dimension is out of range.
    """
    if not 0 <= dimension <= LARGEST_DIMENSION:
        raise ValueError(f"the dimension is {dimension}; it must be from 0 to 10**9")
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
        evaluations: (n,) numbers of evaluations, from 1, in any order.
        values: (n,) the value at each, or the best until then; NaN and +inf count as nothing found.
        spent: Total number of evaluations spent, if known; at least the largest of `evaluations`.
        target: If it is reached, the run ended because of it, and otherwise because of its budget, as what would have
            followed is unknown.
        seconds: (n,) the time of each, if known.

    Raises:
        ValueError: If `spent` or an evaluation is not a count, or is too large to be counted.
    """
    if not 0 <= spent <= MOST:
        raise ValueError(f"it spent {spent} evaluations; it must be a count of at most 2**53")
    at = np.asarray(evaluations, dtype=np.int64)
    if at.size and not 1 <= at.min() <= at.max() <= MOST:
        raise ValueError(f"evaluations run from {at.min()} to {at.max()}; they must be counts from 1 to 2**53")
    value = np.asarray(values, dtype=np.float64)
    order = np.lexsort((value, at))
    at, value = at[order], np.where(np.isnan(value[order]), np.inf, value[order])
    improves = improving(value)
    when = np.zeros(at.size) if seconds is None else seconds[order]
    solved = target is not None and bool((value <= target).any())
    outcome = Outcome(
        Reason.TARGET if solved else Reason.BUDGET,
        evaluations=max(spent, int(at[-1]) if at.size else 0),
        seconds=float(when[-1]) if when.size else 0.0,
    )
    return Trajectory(at[improves], when[improves], value[improves], outcome)


def improving(values: FloatArray) -> NDArray[np.bool_]:
    """(n,) whether each value is lower than all before it."""
    return values < np.concatenate(([np.inf], np.minimum.accumulate(values)))[:-1]


def with_outcome(trajectory: Trajectory, fields: Mapping[str, Any]) -> Trajectory:
    """A trajectory with the fields of its `Outcome` that a file stores; ValueError if a value is invalid."""
    stored: dict[str, Any] = {
        name: kind(fields[name])
        for name, kind in (("reason", Reason), *((name, kind) for name, (kind, _) in _OUTCOME.items()))
        if fields.get(name) is not None
    }
    return replace(trajectory, outcome=replace(trajectory.outcome, **stored)) if stored else trajectory

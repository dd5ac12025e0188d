"""What readers find: runs whose repetitions are still to be numbered."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    Trajectory,
)

MOST = 2**62
"""Evaluations beyond this are damage."""


@dataclass(frozen=True, slots=True)
class Found:
    """A run as a file tells it.

    Attributes:
        instance: The instance's name.
        algorithm: The algorithm's name in the data.
        trajectory: Its best-so-far trajectory.
        seed: Which repetition, where the format tells it; otherwise repetitions are counted in the order of the files.
        target: As in `Run`.
        optimum: As in `Run`.
        parameters: As in `Run`.
    """

    instance: str
    algorithm: str
    trajectory: Trajectory
    seed: int | None = None
    target: float | None = None
    optimum: float | None = None
    parameters: Parameters | None = None

    def run(self, seed: int) -> Run:
        """The run with this seed."""
        key = RunKey(self.instance, self.algorithm, seed)
        return Run(key, self.trajectory, self.target, self.optimum, self.parameters)


def number(found: Iterable[Found]) -> list[Run]:
    """Name each run; repetitions of an algorithm on an instance get the seeds 0, 1, 2, … in the order given.

    Seeds that a file tells are kept, and not given to others. A run that is told twice counts once.

    Raises:
        ValueError: If two different runs tell the same instance, algorithm and seed.
    """
    groups: defaultdict[tuple[str, str], list[Found]] = defaultdict(list)
    for one in found:
        groups[one.instance, one.algorithm].append(one)
    return [run for group in groups.values() for run in _numbered(group)]


def _numbered(group: Sequence[Found]) -> Iterable[Run]:
    told: dict[int, Found] = {}
    for one in group:
        if one.seed is not None and told.setdefault(one.seed, one) != one:
            key = RunKey(one.instance, one.algorithm, one.seed)
            raise ValueError(f"the data hold more than one run of {key}; give each repetition a seed of its own")
    free = (seed for seed in range(len(group) + len(told)) if seed not in told)
    for one in group:
        if one.seed is None:
            yield one.run(next(free))
        elif told[one.seed] is one:
            yield one.run(one.seed)


def instance_name(suite: str, function: str, dimension: int, instance: str) -> str:
    """The standard name of an instance, such as ``"bbob-f3-i1-d5"``, that `Instance.parse` takes apart again.

    Hyphens within the parts become underscores where they would be taken for the ones between them.
    """
    suite, instance = suite or "unknown_suite", (instance or "1").replace("-", "_")
    named = Instance(suite, function, dimension, instance)
    if Instance.parse(named.name) != named:
        named = Instance(suite.replace("-", "_"), function.replace("-", "_"), dimension, instance)
    return named.name


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
        ValueError: If `spent` is beyond what can be counted.
    """
    if spent > MOST:
        raise ValueError(f"{spent} evaluations are more than can be counted")
    at = np.asarray(evaluations, dtype=np.int64)
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


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """A key that sorts text as people do: numbers within it by their size."""
    parts: list[str] = re.findall(r"\d+|\D+", text)
    return tuple((int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in parts)

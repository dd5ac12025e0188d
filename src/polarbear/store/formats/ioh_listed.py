"""The runs that an IOHprofiler JSON file lists, checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from polarbear.records import FloatArray, Instance

OWN = "polarbear"
"""The key under which `export` keeps what the format has no place for."""
UNUSABLE = (TypeError, KeyError, ValueError, AttributeError, OverflowError)
"""What is raised where a field is missing or of another kind."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run as a JSON file lists it.

    Attributes:
        instance: The instance's number.
        evaluations: Evaluations spent.
        best_at: The evaluation that found the best value; 0 if it is not told.
        best: The best value, exactly, as it was optimized; None if it is not told.
        solution: Its point, or the points that no other one dominates, as far as they are told.
        attributes: Numbers that were logged once.
        own: What `export` adds.
    """

    instance: str
    evaluations: int
    best_at: int
    best: float | None
    solution: FloatArray | None
    attributes: Mapping[str, float]
    own: Mapping[str, Any]


def listed_run(run: Any, attributes: Sequence[str], dimension: int, remark: Callable[[str], None]) -> ListedRun:
    """Check an entry of a list of runs.

    Args:
        run: The entry.
        attributes: Names of numbers that were logged once.
        dimension: Number of variables, 0 if it is not told.
        remark: Told of a best point that is none; the run is read without it.

    Raises:
        KeyError, TypeError, ValueError, AttributeError, OverflowError: If a field is missing or of another kind.
    """
    best, own = as_object(run.get("best")), as_object(run.get(OWN))
    told = {name: run.get(name) for name in attributes}
    return ListedRun(
        instance=str(run["instance"]),
        evaluations=int(run.get("evals") or 0),
        best_at=int(best.get("evals") or 0),
        best=None if best.get("y") is None else float(best["y"]),
        solution=_points(own.get("solution", best.get("x")), dimension, remark),
        attributes={name: float(value) for name, value in told.items() if isinstance(value, int | float)},
        own={
            **own,
            **{name: kind(own[name]) for name, kind in _OWN.items() if own.get(name) is not None},
        },
    )


def _points(given: Any, dimension: int, remark: Callable[[str], None]) -> FloatArray | None:
    """A point, or points, given as lists of numbers; None for an empty list, as the format has it of runs without."""
    if given is None or given == []:
        return None
    try:
        points = np.array(given, dtype=np.float64)
        if points.ndim in (1, 2) and points.shape[-1] == (dimension or points.shape[-1]) and not np.isnan(points).any():
            return points
    except (ValueError, TypeError, OverflowError):
        pass  # said below
    remark(f"the best point of a run is {given!r:.60}; it is read without one")
    return None


def as_object(content: Any) -> Mapping[str, Any]:
    """A JSON object; an empty one in place of anything else."""
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}


def _problem(told: list[Any]) -> Instance:
    suite, function, dimension, instance = told
    return Instance(str(suite), str(function), int(dimension), str(instance))


_OWN: dict[str, Callable[[Any], Any]] = {
    "instance": str,
    "problem": _problem,
    "seed": int,
    "target": float,
    "optimum": float,
}

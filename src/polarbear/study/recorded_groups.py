"""Recorded runs by the problems on which one race is held: by function and dimension, or pooled."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polarbear.assess.trials import function_label, in_order
from polarbear.records import Run

Pooled = Literal["function", "dimension"]
"""What runs are pooled over: races are then not held for each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedGroup:
    """Recorded runs on which one race is held.

    Attributes:
        suite: Their suite; empty if unknown or pooled.
        function: Their function's number or name; empty if pooled.
        dimension: Their number of variables; 0 if unknown or pooled.
        runs: The runs.
    """

    suite: str
    function: str
    dimension: int
    runs: tuple[Run, ...]

    @property
    def name(self) -> str:
        """Such as ``"bbob f3 in 5-D"``, or ``"all problems"``."""
        function = function_label(self.function) if self.function else ""
        parts = (self.suite, function, f"in {self.dimension}-D" if self.dimension else "")
        return " ".join(filter(None, parts)) or "all problems"

    @property
    def file(self) -> str:
        """A name for files, such as ``"bbob-f3-d5"``."""
        parts = (self.suite, f"f{self.function}" * bool(self.function), f"d{self.dimension}" * bool(self.dimension))
        return re.sub(r"[^\w.-]", "_", "-".join(filter(None, parts)) or "all")


def recorded_groups(runs: Sequence[Run], pooled: Collection[Pooled] = ()) -> list[RecordedGroup]:
    """Recorded runs by suite, function and dimension, in this order.

    Problems that name neither suite nor instance would each be a function of its own; they are always pooled.

    Args:
        runs: The runs.
        pooled: What not to divide by; suites are pooled where both functions and dimensions are.
    """
    groups: defaultdict[tuple[str, str, int], list[Run]] = defaultdict(list)
    for run in runs:
        problem = run.problem
        suite = "" if len(set(pooled)) == 2 else problem.suite
        identified = problem.suite or problem.instance
        function = problem.function if identified and "function" not in pooled else ""
        groups[suite, function, 0 if "dimension" in pooled else problem.dimension].append(run)
    ordered = sorted(groups, key=lambda where: in_order((*where, "")))
    return [RecordedGroup(*where, tuple(groups[where])) for where in ordered]


def usual_pooling(spec: Mapping[str, Any]) -> tuple[Pooled, ...]:
    """What runs of a study are pooled over: all, if a race drew its instances from one distribution; else nothing."""
    merged = (usual_pooling(source["spec"]) for source in spec.get("merged", ()))
    return ("function", "dimension") if "race" in spec or any(merged) else ()

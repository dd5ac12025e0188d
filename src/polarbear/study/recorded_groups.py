"""Recorded runs grouped for separate races: by function or group and dimension, or pooled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from polarbear.assess.trials import function_label, in_order
from polarbear.records import Run
from polarbear.study.instance_groups import Groups, assign_groups, file_name

Pooled = Literal["function", "dimension"]
"""The choices over which runs are pooled, so that races are not held for each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class RecordedGroup:
    """Recorded runs on which one race is held.

    Attributes:
        suite: The runs' suite; empty if unknown or pooled.
        function: The function's number or name; empty if pooled.
        dimension: Number of variables; 0 if unknown or pooled.
        runs: The runs.
        group: The group of instances; empty if runs are not divided by groups.
    """

    suite: str
    function: str
    dimension: int
    runs: tuple[Run, ...]
    group: str = ""

    @property
    def name(self) -> str:
        """The group's name, such as ``"bbob f3 in 5-D"`` or ``"all problems"``."""
        function = function_label(self.function) if self.function else ""
        parts = (self.suite, function, self.group, f"in {self.dimension}-D" if self.dimension else "")
        return " ".join(filter(None, parts)) or "all problems"

    @property
    def file(self) -> str:
        """A name for files, such as ``"bbob-f3-d5"``."""
        function, dimension = f"f{self.function}" * bool(self.function), f"d{self.dimension}" * bool(self.dimension)
        return file_name("-".join(filter(None, (self.suite, function, self.group, dimension))) or "all")


def recorded_groups(
    runs: Sequence[Run], pooled: Collection[Pooled] = (), groups: Groups | None = None
) -> list[RecordedGroup]:
    """Recorded runs by suite, function and dimension, in this order; or by groups of instances in place of functions.

    Problems that name neither suite nor instance would each be a separate function; they are always pooled.

    Args:
        runs: The runs.
        pooled: The choices to pool over; suites are pooled if both functions and dimensions are.
        groups: The group of each function or instance, by which functions are pooled.

    Raises:
        ValueError: If there are groups, and a run's problem has none.
    """
    pooling = {*pooled, *(["function"] if groups is not None else [])}
    assigned = assign_groups({run.key.instance: run.problem for run in runs}, groups) if groups is not None else {}
    order = {group: number for number, group in enumerate(dict.fromkeys(assigned.values()))}
    found: defaultdict[tuple[str, tuple[str, str, int]], list[Run]] = defaultdict(list)
    for run in runs:
        problem = run.problem
        suite = "" if len(pooling) == 2 else problem.suite
        identified = problem.suite or problem.instance
        function = problem.function if identified and "function" not in pooling else ""
        where = suite, function, 0 if "dimension" in pooling else problem.dimension
        found[assigned.get(run.key.instance, ""), where].append(run)
    ordered = sorted(found, key=lambda key: (order.get(key[0], 0), in_order((*key[1], ""))))
    return [RecordedGroup(*where, tuple(found[group, where]), group) for group, where in ordered]


def usual_pooling(spec: Mapping[str, Any]) -> tuple[Pooled, ...]:
    """The usual pooling of a study's runs: everything if a race drew instances from a distribution, else nothing."""
    merged = (usual_pooling(source["spec"]) for source in spec.get("merged", ()))
    return ("function", "dimension") if "race" in spec or any(merged) else ()

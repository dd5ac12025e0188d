"""Study files: races specified in TOML."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Discriminator, Field, Tag

from polarbear import inference, optimizers, problems
from polarbear.descriptions import FieldError, did_you_mean, errors_at
from polarbear.experiment.logging_schedule import Watch
from polarbear.racing import Race, RaceSettings
from polarbear.records import Axis, FloatArray, linear_times, log_times
from polarbear.study.files import (
    GRID,
    LIST,
    LogSection,
    Root,
    RunLimitsSection,
    Section,
    contents,
    read_file,
    section_of,
)
from polarbear.study.instance_groups import Groups, group_instances
from polarbear.study.race_runner import StopRules
from polarbear.study.suitability import first_problems, traits_and_dimension
from polarbear.validation import Checked, parse_number, real_number

GROUP = "group"
"""The name for dividing studies by groups of instances, besides the choices of their suite."""


def _timepoint(value: Any, name: str) -> float | str:
    """A number, or a multiple of the dimension."""
    if isinstance(value, str):
        parse_number(value, dimension=1)
        return value
    return real_number(value, name)


_Timepoint = Annotated[float | str, Checked(_timepoint)]


class TimesSection(Section):
    """A grid of timepoints."""

    first: _Timepoint
    """First timepoint, in evaluations or seconds, or a multiple of the number of variables, such as `"10*d"`."""
    last: _Timepoint
    """Last timepoint; no run goes further."""
    count: int
    """Number of timepoints; duplicates after rounding to whole evaluations are dropped."""
    spacing: Literal["log", "linear"] = "log"
    """Even spacing on a "log" or "linear" scale."""

    def grid(self, axis: Axis, dimension: int | None) -> FloatArray:
        """The timepoints on problems of the given dimension, which is None if there are several."""
        first, last = _numbers((self.first, self.last), dimension)
        return (log_times if self.spacing == "log" else linear_times)(first, last, self.count, axis)


def _numbers(timepoints: Iterable[float | str], dimension: int | None) -> list[float]:
    return [parse_number(each, dimension) if isinstance(each, str) else each for each in timepoints]


class RaceSection(section_of(RaceSettings)):
    """`[race]`: when algorithms are compared, and how relations are decided."""

    times: Annotated[
        Annotated[TimesSection, Tag(GRID)] | Annotated[list[_Timepoint], Tag(LIST)],
        Discriminator(lambda times: GRID if isinstance(times, dict) else LIST),
    ]
    """Timepoints: a grid, such as `{ first = 50, last = 10000, count = 50 }`, or a list of increasing numbers."""

    @property
    def per_dimension(self) -> bool:
        """Whether the timepoints depend on the number of variables."""
        times = self.times
        return any(isinstance(each, str) for each in (times if isinstance(times, list) else (times.first, times.last)))


class LimitsSection(section_of(StopRules, base=RunLimitsSection)):
    """`[limits]` of a race: when single runs and the race stop early."""

    @property
    def stop(self) -> StopRules:
        """When the race stops."""
        return StopRules(**self.model_dump(exclude={"target_precision", "timeout"}))


class _RaceSpec(Root):
    race: RaceSection
    """When algorithms are compared, and how relations are decided."""
    model: dict[str, Any] = Field(default_factory=dict[str, Any])
    """The temporal Plackett–Luce model: `model`, and that model's own fields."""

    def race_of(
        self,
        algorithms: Mapping[str, object] | Sequence[object],
        dimensions: Collection[int] = (),
        **changed: Any,
    ) -> Race:
        """A new race of algorithms on problems of the given dimensions, as described except for changed settings."""
        settings, times = self.race.model_dump(exclude={"times"}) | changed, self.race.times
        with errors_at("race", "times"):
            dimension = next(iter(dimensions)) if len(dimensions) == 1 else None
            grid = (
                np.array(_numbers(times, dimension))
                if isinstance(times, list)
                else times.grid(settings["axis"], dimension)
            )
        with errors_at("model"):
            model = inference.from_description({"model": "instance-bootstrap"} | self.model)
        with errors_at("race"):
            return Race(algorithms, times=grid, model=model, **settings)


class StudySpec(_RaceSpec):
    """A study file: `[race]`, `[instances]`, `[[algorithms]]`, and optionally `[model]`, `[limits]` and `[log]`."""

    instances: dict[str, Any]
    """Where problem instances come from: `suite`, and that suite's own fields (`polarbear suites` lists them)."""
    algorithms: Annotated[list[dict[str, Any]], Field(min_length=2)]
    """The algorithms: each with `optimizer`, that optimizer's own fields, and optionally a `name`."""
    limits: LimitsSection = LimitsSection()
    """When to stop single runs or the race early."""
    log: LogSection | None = None
    """Which parameters of the optimizers to log, and when."""

    def build_race(self) -> Race:
        """A new race as described."""
        dimensions = set[int]()
        if self.race.per_dimension:
            known = map(traits_and_dimension, first_problems(self.build_instances()))
            dimensions = {problem[1] for problem in known if problem}
        return self.race_of(built_algorithms(self.algorithms), dimensions)

    def build_instances(self) -> problems.Instances:
        """The distribution of problem instances as described."""
        with errors_at("instances"):
            return problems.from_description(self.instances)

    def parts(self, by: Sequence[str], groups: Groups | None = None) -> dict[str, StudySpec]:
        """The same race separately on each function, dimension, … or group of the suite.

        Args:
            by: The suite's choices to divide by, see the method `parts` of suites; ``"group"`` for groups.
            groups: The group of each function or instance, to divide by; see `group_instances`.

        Returns:
            Specifications by names such as ``"f3-d5"``, ``"separable"`` or ``"separable-d5"``, group by group.

        Raises:
            FieldError: If the suite cannot be divided by them; the error names the section of the study file.
        """
        suite = self.build_instances()
        choices = [each for each in by if each != GROUP]
        with errors_at("instances"):
            divided: dict[str, Any] = {"": suite}
            if choices:
                if (divide := getattr(suite, "parts", None)) is None:
                    raise ValueError(f"the suite {self.instances.get('suite')!r} has no {choices[0]} to divide by")
                divided = divide(choices)
            if groups is not None or GROUP in by:
                wanted: Groups = "known" if groups is None else groups
                grouped = {name: group_instances(part, wanted) for name, part in divided.items()}
                divided = {
                    "-".join(filter(None, (label, name))): parts[label]
                    for label in dict.fromkeys(label for parts in grouped.values() for label in parts)
                    for name, parts in grouped.items()
                    if label in parts
                }
        return {name: self.model_copy(update={"instances": problems.describe(part)}) for name, part in divided.items()}

    def run_settings(self) -> dict[str, Any]:
        """Arguments of `polarbear.study.race` for single runs: `target_precision`, `timeout`, and any `watch`."""
        watch = built_watch(self.log)
        limits = self.limits.model_dump(include={"target_precision", "timeout"})
        return limits | ({"watch": watch} if watch else {})


class RecordedSpec(_RaceSpec):
    """The part of a study file for a race on recorded runs: `[race]` and `[model]`; all else is ignored."""

    model_config = ConfigDict(extra="ignore")


def read_spec(path: str | Path) -> StudySpec:
    """Read and validate a study file.

    Raises:
        StudyFileError: If the file does not exist or is not TOML, or a field is unknown, missing or out of range; the
            message names the field and its line.
    """
    return read_file(path, StudySpec, _checked)


def read_parts(path: str | Path, by: Sequence[str], groups: Groups | None = None) -> dict[str, StudySpec]:
    """Read a study file as one race for each function, dimension, … or group of its suite.

    Args:
        path: The study file.
        by: The suite's choices to divide by, or ``"group"``; see `StudySpec.parts`.
        groups: The group of each function or instance, to divide by; `read_groups` reads it from a table.

    Raises:
        StudyFileError: As for `read_spec`, or if the suite has no such choice or an instance has no group.
    """
    return read_file(
        path, StudySpec, lambda spec: {name: _checked(part) for name, part in spec.parts(by, groups).items()}
    )


def _checked(spec: StudySpec) -> StudySpec:
    """The specification, after checking that everything it describes can be built."""
    spec.build_race()
    spec.build_instances()
    spec.run_settings()
    return spec


def read_recorded_spec(path: str | Path) -> RecordedSpec:
    """Read the part of a study file for a race on recorded runs; StudyFileError as for `read_spec`."""
    with contents(Path(path), RecordedSpec) as data:
        return RecordedSpec.model_validate(data)


def built_watch(log: LogSection | None) -> Watch | None:
    """The watch that `[log]` describes, if there is one; `FieldError` if it names no moment, or a parameter twice."""
    with errors_at("log"):
        return Watch(**log.model_dump()) if log else None


def built_algorithms(descriptions: Sequence[dict[str, Any]]) -> dict[str, optimizers.Optimizer]:
    """The optimizers that `[[algorithms]]` describes, by name.

    Raises:
        FieldError: If one of them cannot be constructed, or two have the same name.
    """
    built: dict[str, optimizers.Optimizer] = {}
    for position, description in enumerate(descriptions):
        with errors_at("algorithms", position):
            if "optimizer" not in description:
                called = f", {description['name']!r}," if "name" in description else ""
                raise FieldError(
                    (),
                    f"number {position + 1} of [[algorithms]]{called} does not say which optimizer;"
                    + did_you_mean("", optimizers.families()),
                )
            algorithm = optimizers.from_description(description)
            if algorithm.name in built:
                message = f"two algorithms are named {algorithm.name!r}; give names that differ"
                raise FieldError(("name",), message)
            built[algorithm.name] = algorithm
    return built

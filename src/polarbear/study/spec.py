"""Study files: a race written down in TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from polarbear import inference, optimizers, problems
from polarbear.descriptions import did_you_mean
from polarbear.race import Race
from polarbear.records import Axis, FloatArray, linear_times, log_times
from polarbear.study.racing import StopRules


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


class TimesSection(_Section):
    """A grid of timepoints."""

    first: float
    """First timepoint, in evaluations or seconds."""
    last: float
    """Last timepoint: how far runs go at most."""
    count: int
    """Number of timepoints; repeated whole numbers of evaluations are dropped."""
    spacing: Literal["log", "linear"] = "log"
    """Whether the grid is even on a log or a linear scale."""

    def grid(self, axis: Axis) -> FloatArray:
        """The timepoints."""
        return (log_times if self.spacing == "log" else linear_times)(self.first, self.last, self.count, axis)


class RaceSection(_Section):
    """`[race]`: when algorithms are compared, and how relations are decided."""

    times: TimesSection | list[float]
    """Timepoints: a grid, such as `{ first = 50, last = 10000, count = 50 }`, or a list of increasing numbers."""
    axis: Axis = "evaluations"
    """What timepoints are counted in: "evaluations" or "seconds"."""
    alpha: float = 0.99
    """Decision threshold in (0.5, 1]: a relation is decided once its posterior probability reaches it."""
    epsilon: float = 0.05
    """In [0, 0.5): win probabilities within 0.5 ± epsilon count as equivalent."""
    elimination: Literal["pointwise", "joint"] = "pointwise"
    """Eliminate an algorithm when another is better at each timepoint, or at all of them jointly."""
    resolution: Literal["strict", "crossing"] = "strict"
    """Sample a pair until every timepoint is decided, or only until it is clear that the two cross."""
    batch: int = 8
    """Problem instances in the first round."""
    smallest_batch: int = 8
    """Lower limit of the adaptive batch size."""
    largest_batch: int = 128
    """Upper limit of the adaptive batch size."""
    draws: int = 4000
    """Posterior draws."""
    precision: Annotated[float, Field(gt=0)] | None = None
    """Values that agree after rounding to multiples of this tie; without it only equal values tie."""
    seed: int = 0
    """Seed of the whole race."""


class LimitsSection(_Section):
    """`[limits]`: when single runs and the race stop early."""

    target_precision: Annotated[float, Field(ge=0)] | None = None
    """A run is solved, and ties with other solved runs, once it is this close to the known optimum."""
    timeout: Annotated[float, Field(gt=0)] | None = None
    """Wall-clock seconds after which one run is interrupted."""
    seconds: Annotated[float, Field(gt=0)] | None = None
    """Wall-clock limit of one call of `polarbear race`; it stops between rounds, `polarbear resume` goes on."""
    instances: Annotated[int, Field(gt=0)] | None = None
    """Stop once this many problem instances were drawn."""
    evaluations: Annotated[float, Field(gt=0)] | None = None
    """Stop once this many evaluations were spent in all."""

    @property
    def stop(self) -> StopRules:
        """When the race stops."""
        return StopRules(seconds=self.seconds, instances=self.instances, evaluations=self.evaluations)


class _RaceSpec(_Section):
    race: RaceSection
    """When algorithms are compared, and how relations are decided."""
    model: dict[str, Any] = {"model": "independent-dirichlet"}
    """The temporal Plackett–Luce model: `model`, and that model's own fields."""

    def race_of(self, algorithms: Sequence[object]) -> Race:
        """A fresh race of these algorithms, otherwise as described."""
        settings = self.race.model_dump(exclude={"times"})
        times = self.race.times
        return Race(
            algorithms,
            times=np.array(times) if isinstance(times, list) else times.grid(self.race.axis),
            model=inference.from_description(self.model),
            **settings,
        )


class StudySpec(_RaceSpec):
    """A study file: `[race]`, `[instances]`, `[[algorithms]]`, and where defaults do not do `[model]`, `[limits]`."""

    instances: dict[str, Any]
    """Where problem instances come from: `suite`, and that suite's own fields (`polarbear suites` lists them)."""
    algorithms: Annotated[list[dict[str, Any]], Field(min_length=2)]
    """The algorithms: each with `optimizer`, that optimizer's own fields, and a `name` if the default does not do."""
    limits: LimitsSection = LimitsSection()
    """When single runs and the race stop early."""

    def build_race(self) -> Race:
        """A fresh race as described."""
        return self.race_of([optimizers.from_description(algorithm) for algorithm in self.algorithms])

    def build_instances(self) -> problems.Instances:
        """The distribution of problem instances as described."""
        return problems.from_description(self.instances)


class RecordedSpec(_RaceSpec):
    """What a race on recorded runs takes from a study file: `[race]` and `[model]`; all else is passed over."""

    model_config = ConfigDict(extra="ignore")


class StudyFileError(ValueError):
    """A study file that cannot be used; the message names the file, the field and the mend."""


def read_spec(path: str | Path) -> StudySpec:
    """Read and check a study file.

    Raises:
        StudyFileError: If the file is not there, is not TOML, or a field is unknown, missing or out of range.
    """
    with _faults_in(Path(path)):
        spec = StudySpec.model_validate(_toml(path))
        spec.build_race()
        spec.build_instances()
        return spec


def read_recorded_spec(path: str | Path) -> RecordedSpec:
    """Read what a race on recorded runs takes from a study file; StudyFileError as for `read_spec`."""
    with _faults_in(Path(path)):
        return RecordedSpec.model_validate(_toml(path))


def _toml(path: str | Path) -> dict[str, Any]:
    return tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))


@contextmanager
def _faults_in(path: Path) -> Generator[None]:
    """Name the file in whatever is wrong with it."""
    try:
        yield
    except FileNotFoundError as error:
        raise StudyFileError(f"there is no study file at {path}") from error
    except IsADirectoryError as error:
        raise StudyFileError(f"{path} is a directory; to go on with a study, use: polarbear resume {path}") from error
    except ValidationError as error:
        faults = "; ".join(dict.fromkeys(_fault(fault) for fault in error.errors() if not _beside_the_point(fault)))
        raise StudyFileError(f"{path}: {faults}") from error
    except (ValueError, TypeError) as error:
        raise StudyFileError(f"{path}: {error}") from error


def _beside_the_point(fault: Any) -> bool:
    """Whether a fault blames a grid of timepoints for not being a list, or the other way round."""
    meant = "TimesSection" if isinstance(fault["input"], dict) else "list[float]"
    return "times" in fault["loc"] and fault["loc"][-1] in {"TimesSection", "list[float]"} and meant not in fault["loc"]


def _fault(fault: Any) -> str:
    where = [str(part) for part in fault["loc"] if part not in {"TimesSection", "list[float]"}]
    place = ".".join(where)
    if fault["type"] == "extra_forbidden":
        sections = {"race": RaceSection, "limits": LimitsSection, "times": TimesSection}
        section = sections[where[-2]] if len(where) > 1 else StudySpec
        return f"{place} is no field of a study file;{did_you_mean(where[-1], section.model_fields)}"
    if fault["type"] == "missing":
        return f"{place} is missing"
    return f"{place} is {fault['input']!r}: {fault['msg']}"

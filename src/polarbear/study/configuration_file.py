"""Configurators specified in TOML."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Discriminator, Field, Tag

from polarbear import problems
from polarbear.configure import Configurator, ConfiguratorSettings, Space, spaces
from polarbear.descriptions import errors_at
from polarbear.study.configuring import VALIDATE
from polarbear.study.files import GRID, LIST, Root, read_file, section_of
from polarbear.study.spec import TimesSection
from polarbear.study.suitability import first_problems, traits_and_dimension
from polarbear.validation import parse_number


class ConfigureSection(section_of(ConfiguratorSettings)):
    """`[configure]`: the budget, and how configurations are compared."""

    times: Annotated[
        Annotated[TimesSection, Tag(GRID)] | Annotated[list[float | str], Tag(LIST)],
        Discriminator(lambda times: GRID if isinstance(times, dict) else LIST),
    ]
    """Timepoints: a grid, such as `{ first = 50, last = "1000*d", count = 20 }`, or a list of increasing numbers."""
    validate_on: Annotated[int, Field(ge=2)] = VALIDATE
    """On how many fresh instances the configurations that are left are raced in the end."""


class ConfigureSpec(Root):
    """A configurator's file: `[configure]`, `[space]` and `[instances]`."""

    kind: ClassVar[str] = "configurator's file"
    about: ClassVar[str] = "configure"

    configure: ConfigureSection
    """The budget, and how configurations are compared."""
    space: dict[str, Any]
    """The space: `optimizer`, `modules` or `ranges`, and if need be `when` and `fixed`."""
    instances: dict[str, Any]
    """The problems: `suite`, and that suite's own fields (`polarbear suites` lists them)."""
    include: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    """Configurations to start with besides the default."""

    def build_instances(self) -> problems.Instances:
        """The problems as described."""
        with errors_at("instances"):
            return problems.from_description(self.instances)

    def build_space(self) -> Space:
        """The space as described."""
        with errors_at("space"):
            return spaces.from_description(self.space)

    def build(self) -> Configurator:
        """A new configurator as described."""
        stream, space = self.build_instances(), self.build_space()
        settings = self.configure.model_dump(exclude={"times", "validate_on"})
        known = {pair[1] for pair in map(traits_and_dimension, first_problems(stream)) if pair}
        dimension = known.pop() if len(known) == 1 else None
        times = self.configure.times
        with errors_at("configure", "times"):
            grid = (
                np.array([parse_number(each, dimension) if isinstance(each, str) else each for each in times])
                if isinstance(times, list)
                else times.grid("evaluations", dimension)
            )
        with errors_at("configure"):
            return Configurator(space, times=grid, include=self.include, **settings)


def read_configurator(path: str | Path) -> tuple[ConfigureSpec, Configurator]:
    """Read and validate a configurator's file; StudyFileError as for `read_spec`."""
    return read_file(path, ConfigureSpec, lambda spec: (spec, spec.build()))
